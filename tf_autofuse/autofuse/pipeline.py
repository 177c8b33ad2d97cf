"""The pass over one graph: prepare, cluster, schedule, build, replace.

Any failure in one cluster leaves that cluster as it was, with a reason in the report. Only
`--strict=true` turns it into an error.
"""
from __future__ import annotations

import itertools
from typing import Any, List, Optional, Sequence, Tuple

from tf_autofuse import flags, interrupts
from tf_autofuse.autofuse import debug
from tf_autofuse.autofuse.api import is_host, is_legacy
from tf_autofuse.autofuse.kernels import KernelPlan, complete_bundle, plan_in_order, write_bundle
from tf_autofuse.autofuse.later import Builds
from tf_autofuse.autofuse.replace import FusedNode, replace_cluster
from tf_autofuse.autofuse.stages import dump_stage
from tf_autofuse.autofuse.told import fused_name, next_number, tell_fallbacks, tell_fused
from tf_autofuse.autofuse.traffic import TrafficModel, traffic_facts
from tf_autofuse.build import trace
from tf_autofuse.build.trace import span
from tf_autofuse.cluster.clusterer import Cluster, find_clusters
from tf_autofuse.cluster.lowering import lower_nodes
from tf_autofuse.cluster.view import GraphView, ViewNode
from tf_autofuse.errors import AutofuseError, BuildError, ScheduleError, Unsupported
from tf_autofuse.log import warn_once
from tf_autofuse.loop.sequence import on_demand
from tf_autofuse.report.model import RECORDER, KernelEntry, TensorEntry, UnfusedEntry

Planned = Tuple[Cluster, KernelPlan]


def fuse_graph(graph: Any, context: Any, for_chip: Optional[bool] = None) -> int:
    """Fuse what can be fused in the direct nodes of `graph`; the number of fused nodes.

    `context` is the PassContext of GE. With `for_chip`, by default for graphs of GE itself, what
    the chip has no instruction for stays unfused. Raises only with --strict=true.
    """
    dump_stage(graph, "AutofuseOptimize_Entry")
    with span("cluster", "pass", graph=graph.name):
        view = GraphView(graph)
        # The bridge to a GE without Python passes cannot move single edges.
        clustering = find_clusters(view, copies=not is_legacy(graph))
    alone = [
        UnfusedEntry(view.nodes[i].name, view.nodes[i].type, decision.code, decision.reason)
        for i, decision in sorted(clustering.alone.items())
    ]
    with Builds(is_host(graph)) as builds:
        planned = _plan_all(view, clustering.clusters, builds, alone)
        if not is_host(graph) if for_chip is None else for_chip:
            planned = _for_chip(view, planned, alone)
        planned = _readers_first(planned)
        built = builds.results(view, planned)
    count = 0
    with span("replace", "pass", graph=graph.name):
        for cluster, plan in planned:
            count += _finish(graph, view, cluster, plan, built, context, alone)
    RECORDER.unfused(alone)
    tell_fallbacks(alone)
    if flags.current().codegen_compile_debug:
        _keep_timeline()
    dump_stage(graph, "AutofuseOptimize_Exit")
    return count


def _keep_timeline() -> None:
    try:
        trace.write()
    except OSError as error:
        warn_once(("trace", str(error)), "no compile timeline: %s" % error)


def _plan_all(
    view: GraphView, clusters: Sequence[Cluster], builds: Builds, alone: List[UnfusedEntry]
) -> List[Planned]:
    """Plans of all clusters; each kernel begins to compile when it has been planned."""
    planned: List[Planned] = []
    for cluster in clusters:
        with span("plan", "pass", operators=" ".join(node.type for node in cluster.nodes)):
            plans = _plan(view, cluster, alone)
        for _, plan in plans:
            builds.start(plan)
        planned += plans
    return planned


def _plan(view: GraphView, cluster: Cluster, alone: List[UnfusedEntry]) -> List[Planned]:
    """Plans of a cluster; one that fits no schedule is cut in two until its parts do."""
    interrupts.check()
    try:
        return [_planned(cluster)]
    except ScheduleError as error:
        plan_again = _plan_plain if cluster.copies else _plan_halves
        return plan_again(view, cluster, error, alone)
    except AutofuseError as error:
        _leave(cluster, "INTERNAL", error, alone)
        return []


def _planned(cluster: Cluster, missing: str = "") -> Planned:
    """A cluster in the order of its plan, and the plan; `missing` as `plan_in_order` takes it."""
    lowered, plan = plan_in_order(cluster.lowered, missing)
    return (cluster._replace(lowered=lowered),
            debug.with_own_source(plan, _fused_name(cluster, plan)))


def _plan_plain(
    view: GraphView, cluster: Cluster, error: AutofuseError, alone: List[UnfusedEntry]
) -> List[Planned]:
    """Plans of a cluster without what it computes again, which stays in the graph for it."""
    nodes = cluster.members
    try:
        return _plan(view, Cluster(nodes, lower_nodes(view, nodes)), alone)
    except Unsupported:
        _leave(cluster, getattr(error, "code", "SCHEDULE"), error, alone)
        return []


def _plan_halves(
    view: GraphView, cluster: Cluster, error: AutofuseError, alone: List[UnfusedEntry]
) -> List[Planned]:
    """Cut a cluster, in topological order, so that its halves cannot wait for each other: in the
    order in which its outputs need it, so that few tensors go from half to half."""
    half = len(cluster.nodes) // 2
    nodes = _on_demand(view, cluster)
    if half < 2:
        return _plan_for_cpu(cluster, error, alone)
    parts: List[Planned] = []
    for part in (nodes[:half], nodes[half:]):
        try:
            parts += _plan(view, Cluster(part, lower_nodes(view, part)), alone)
        except Unsupported as refusal:
            parts += _plan_halves(view, Cluster(part, cluster.lowered), refusal, alone)
    return parts


def _plan_for_cpu(
    cluster: Cluster, error: AutofuseError, alone: List[UnfusedEntry]
) -> List[Planned]:
    """The plan of a cluster that is too small to cut and too large for the buffers of the chip: the
    CPU has none."""
    try:
        if isinstance(error, ScheduleError):
            return [_planned(cluster, error.message)]
    except ScheduleError:
        pass
    _leave(cluster, getattr(error, "code", "SCHEDULE"), error, alone)
    return []


def _on_demand(view: GraphView, cluster: Cluster) -> Tuple[ViewNode, ...]:
    inside = {node.index: node for node in cluster.nodes}
    makers = {index: [maker for maker in view.predecessors(index) if maker in inside]
              for index in inside}
    ends = [view.index[name] for name, _ in cluster.lowered.outputs]
    order = on_demand([index for index in ends if index in inside] + list(inside), makers)
    return tuple(inside[index] for index in order)


def _for_chip(
    view: GraphView, planned: Sequence[Planned], alone: List[UnfusedEntry]
) -> List[Planned]:
    """The plans that have a kernel for the chip."""
    found: List[Planned] = []
    for cluster, plan in planned:
        if not plan.missing:
            found.append((cluster, plan))
            continue
        error = ScheduleError(plan.missing.strip())
        if cluster.copies:
            found += _for_chip(view, _plan_plain(view, cluster, error, alone), alone)
        else:
            _leave(cluster, "SCHEDULE", error, alone)
    return found


def _readers_first(planned: Sequence[Planned]) -> List[Planned]:
    """Kernels that compute an operator again before the kernel it belongs to: replacing that one
    takes the operator out of the graph, with its edges."""
    home = {node.index: n for n, (cluster, _) in enumerate(planned) for node in cluster.members}
    later = [{home[index] for index in cluster.copies if index in home} for cluster, _ in planned]
    waiting = [0] * len(planned)
    for number in itertools.chain.from_iterable(later):
        waiting[number] += 1
    ready = [number for number, count in enumerate(waiting) if not count]
    for number in ready:  # grows while it is walked
        for other in sorted(later[number]):
            waiting[other] -= 1
            if not waiting[other]:
                ready.append(other)
    return [planned[number] for number in ready]


def _finish(graph, view, cluster, plan, built, context, alone) -> int:
    library = built.libraries[plan.key]
    if isinstance(library, BuildError):
        _leave(cluster, "BUILD", library, alone)
        return 0
    try:
        folder = write_bundle(plan)
        if not is_host(graph):
            complete_bundle(folder, plan.spec)
        name = _fused_name(cluster, plan, next_number())
        ticket = library if plan.key in built.waiting else ""
        fused = FusedNode(name, plan.kernel_class, plan.key, plan.spec, library, folder, ticket)
        # These read the nodes, which are gone afterwards.
        traffic = TrafficModel(traffic_facts(view, cluster), plan.loop)
        part = debug.begin(view, cluster, fused.name)
        replace_cluster(graph, view, cluster, fused, context)
    except OSError as error:
        _leave(cluster, "BUILD", error, alone)
        return 0
    except Exception as error:  # also whatever GE raises; the cluster stays, the others go on
        _leave(cluster, getattr(error, "code", "INTERNAL"), error, alone)
        return 0
    entry = _entry(view, cluster, fused, plan.source_file)
    RECORDER.fused(entry, traffic)
    if part is not None:
        shapes = [tensor.shape for tensor in entry.inputs]
        known = all(dim is not None for shape in shapes for dim in shape)
        tiling = traffic(shapes).tiling if known else ()  # type: ignore[arg-type]
        debug.end(part, plan, library, tiling, folder)
    tell_fused(fused.name, entry.op_names)
    return 1


def _leave(cluster: Cluster, code: str, error: Exception, alone: List[UnfusedEntry]) -> None:
    if flags.current().strict:
        if isinstance(error, AutofuseError):
            raise error
        text = "%s: %s" % (type(error).__name__, error)
        raise AutofuseError(text, node=cluster.nodes[0].name, stage="fuse") from error
    warn_once((code, str(error)), "%d operators stay unfused: %s" % (len(cluster.own), error))
    alone += [UnfusedEntry(node.name, node.type, code, str(error)) for node in cluster.own]


def _fused_name(cluster: Cluster, plan: KernelPlan, *number: str) -> str:
    return fused_name(plan.kernel_class, [node.type for node in cluster.nodes], *number)


def _entry(
    view: GraphView, cluster: Cluster, fused: FusedNode, source_file: str
) -> KernelEntry:
    lowered = cluster.lowered
    return KernelEntry(
        name=fused.name,
        key=fused.kernel_key,
        op_names=tuple(node.name for node in cluster.nodes),
        op_types=tuple(node.type for node in cluster.nodes),
        inputs=tuple(_tensor(view, ref) for ref in lowered.inputs),
        outputs=tuple(_tensor(view, ref) for ref in lowered.outputs),
        gm_bytes=None,
        gm_bytes_unfused=None,
        gm_lower_bound=None,
        source="%s/%s" % (fused.bundle_dir, source_file),
        calls=0,
    )


def _tensor(view: GraphView, ref) -> TensorEntry:
    info = view.infos[ref]
    shape = tuple(None if dim < 0 else dim for dim in info.dims or ())
    name = ref[0] if ref[1] == 0 else "%s:%d" % ref
    return TensorEntry(name, info.dtype, shape)
