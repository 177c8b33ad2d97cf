"""When kernels are built: beside the pass, or while the model runs (`--async_compile=true`).

The node of a kernel that is built while the model runs carries a ticket, the path where its library
will lie. TensorFlow runs the cluster's operators as they were until the ticket is published.
"""
from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Sequence, Set, Tuple, Union

from tf_autofuse import flags
from tf_autofuse.autofuse.kernels import HOST_FILE, KernelPlan
from tf_autofuse.build import HostBuilds, background, compile_many, host_kernel_path
from tf_autofuse.cluster.clusterer import Cluster
from tf_autofuse.cluster.view import GraphView, read_attr
from tf_autofuse.errors import BuildError, BuildStopped
from tf_autofuse.ge.reading import CONST_TYPES
from tf_autofuse.locks import ForkLock
from tf_autofuse.log import warn_once
from tf_autofuse.report.model import RECORDER, UnfusedEntry
from tf_autofuse.runtime import tf_op
from tf_autofuse.runtime.host import load_kernel

_lock = ForkLock()
_known: Set[str] = set()  # tickets of this process


class Built(NamedTuple):
    """`libraries`: path or error per kernel key; `waiting`: keys whose library is not there yet."""

    libraries: Dict[str, Union[str, BuildError]]
    waiting: Set[str]


class Builds:
    """The host kernels of a graph: those that are planned compile while others are planned.

    Each library is opened and stays open, so that the model runs even when its file is gone by the
    time TensorFlow makes the operator. On a CANN host nothing is built: GE launches the NPU build
    instead.
    """

    def __init__(self, wanted: bool) -> None:
        self._wanted = wanted
        self._at_once = wanted and not flags.current().async_compile
        self._builds = HostBuilds(check=load_kernel)

    def start(self, plan: KernelPlan) -> None:
        """Begin with a kernel that has been planned."""
        if self._at_once:
            self._builds.start(plan.key, plan.files[HOST_FILE])

    def results(self, view: GraphView, planned: Sequence[Tuple[Cluster, KernelPlan]]) -> Built:
        """The libraries of all plans."""
        if not self._wanted:
            return Built({plan.key: "" for _, plan in planned}, set())
        if not self._at_once:
            return build_later(view, planned)
        sources = {plan.key: plan.files[HOST_FILE] for _, plan in planned}
        return Built(self._builds.results(sorted(sources.items())), set())

    def __enter__(self) -> "Builds":
        return self

    def __exit__(self, *error: Any) -> None:
        self._builds.__exit__(*error)


def build_later(view: GraphView, planned: Sequence[Tuple[Cluster, KernelPlan]]) -> Built:
    """Build in the background what is not in the cache; what cannot wait is built now."""
    sources = {plan.key: plan.files[HOST_FILE] for _, plan in planned}
    at_once = {plan.key for cluster, plan in planned if not _can_wait(view, cluster)}
    paths: Dict[str, Union[str, BuildError]] = {}
    waiting: Dict[str, str] = {}
    for key in sorted(set(sources) - at_once):
        try:
            path, there = host_kernel_path(sources[key])
        except BuildError as error:
            paths[key] = error
            continue
        if there:
            at_once.add(key)
        else:
            waiting[key] = paths[key] = path
    for key, path in waiting.items():
        nodes = [node for cluster, plan in planned if plan.key == key for node in cluster.nodes]
        _request(key, sources[key], path, [(node.name, node.type) for node in nodes])
    ready = compile_many([(key, sources[key]) for key in sorted(at_once)], check=load_kernel)
    return Built(dict(paths, **ready), set(waiting))


def _can_wait(view: GraphView, cluster: Cluster) -> bool:
    """Whether the kernel's inputs and constants are all that the operators read."""
    given = set(cluster.lowered.inputs)
    inside = {node.name for node in cluster.nodes}
    outside = [
        ref for node in cluster.nodes for ref in node.inputs
        if ref is not None and ref not in given and ref[0] not in inside
    ]
    makers = [view.node(name) for name, _ in outside]
    return all(
        node.type in CONST_TYPES and not read_attr(node.handle, "_autofuse_fed")
        for node in makers
    )


def _request(key: str, source: str, ticket: str, nodes: List[Tuple[str, str]]) -> None:
    with _lock:
        if ticket in _known:
            return
        _known.add(ticket)
    background.run_later(_build, key, source, ticket, nodes)


def _build(key: str, source: str, ticket: str, nodes: List[Tuple[str, str]]) -> None:
    """Build one kernel and publish its ticket; a failure leaves the operators as they are."""
    try:
        library: Any = compile_many([(key, source)], check=load_kernel)[key]
    except Exception as error:  # a thread has nobody to raise it to
        library = error
    if library == ticket:
        tf_op.publish_ticket(ticket)
        return
    if isinstance(library, BuildStopped):  # the process ends
        return
    reason = str(library) if isinstance(library, Exception) else "the cache has moved"
    warn_once(("BUILD", reason), "%d operators stay unfused: %s" % (len(nodes), reason))
    RECORDER.unfused([UnfusedEntry(name, kind, "BUILD", reason) for name, kind in nodes])
