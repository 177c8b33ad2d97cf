"""For people who look into kernels: what the debug folder holds, and kernels of one's own from it.

With ``codegen_compile_debug`` every kernel has a folder under ``--debug_dir`` with all its stages:
the operators as a graph (``graph_<name>.pbtxt`` opens in Netron, ``.air`` holds everything), loop
and kernel IR, Ascend C and C++, the tiling, and how the compiler ran. A source that was edited
there is taken in the place of the generated one where ``replace_kernel`` matches.
"""

from __future__ import annotations

import os
import re
from typing import Any, Dict, List, Optional, Sequence

from tf_autofuse import flags, paths
from tf_autofuse.autofuse.kernels import ASCENDC_FILE, HOST_FILE, KernelPlan, debug_root
from tf_autofuse.autofuse.replace import host_desc
from tf_autofuse.build import compile_log
from tf_autofuse.cluster.clusterer import Cluster
from tf_autofuse.cluster.view import GraphView, ViewNode, read_attr
from tf_autofuse.errors import AutofuseError
from tf_autofuse.ge.builder import GraphBuilder
from tf_autofuse.ge.graph import Graph
from tf_autofuse.ge.onnxdump import LEVEL_ALL, graph_to_onnx
from tf_autofuse.ge.reading import CONST_TYPES
from tf_autofuse.ge.tensor import TensorDesc
from tf_autofuse.ge.textformat import to_text
from tf_autofuse.log import get_logger, warn_once
from tf_autofuse.ops import OPS

RECOVER_FOLDER = "subgraph_recover"
LOG = get_logger("pass")
_NOT_IN_NAMES = re.compile(r"[^\w.-]")


def with_own_source(plan: KernelPlan, title: str) -> KernelPlan:
    """The plan, with sources from the debug folder where ``replace_kernel`` matches its key or
    its `title` (the name of the fused node without its number)."""
    pattern = flags.current().replace_kernel
    if not pattern or not (re.search(pattern, plan.key) or re.search(pattern, title)):
        return plan
    folder = os.path.join(debug_root(), plan.key)
    if not os.path.isdir(folder):
        text = "{} is not replaced: there is no folder {}"
        warn_once(("replace", folder), text.format(title, folder))
        return plan
    files = dict(plan.files)
    for name in (HOST_FILE, ASCENDC_FILE):
        path = os.path.join(folder, name)
        if name in files and os.path.isfile(path):
            try:
                files[name] = paths.read_text(path)
            except (OSError, ValueError) as error:
                warn_once(("replace", path), "{} is not taken: {}".format(path, error))
    changed = [name for name in sorted(files) if files[name] != plan.files[name]]
    if not changed:
        return plan
    LOG.warning("%s runs %s of %s", title, " and ".join(changed), folder)
    return plan._replace(files=files, folder=folder)


def begin(view: GraphView, cluster: Cluster, name: str) -> Optional[Graph]:
    """The operators of a cluster, if they are to be kept; to be called while they are there."""
    current = flags.current()
    if not (current.codegen_compile_debug or current.subgraph_recover):
        return None
    try:
        return subgraph(view, cluster, name)
    except (AutofuseError, RuntimeError) as error:  # nothing of this may stop the fusing
        warn_once(("debug", str(error)), "no graph of {} is kept: {}".format(name, error))
        return None


def end(graph: Optional[Graph], plan: KernelPlan, library: str, tiling: Sequence[str],
        folder: str) -> None:  # fmt: skip
    """Write what the flags ask for once the cluster is fused."""
    if graph is None:
        return
    current = flags.current()
    try:
        if current.subgraph_recover:
            os.makedirs(RECOVER_FOLDER, exist_ok=True)
            graph.save_to_air(os.path.join(RECOVER_FOLDER, _file_name(graph) + ".air"))
        if current.codegen_compile_debug:
            _keep_stages(folder, graph, plan, library, tiling)
    except OSError as error:
        warn_once(("debug", str(error)), "stages are not kept: {}".format(error))


def _file_name(graph: Graph) -> str:
    return _NOT_IN_NAMES.sub("_", graph.name)


def _keep_stages(
    folder: str, graph: Graph, plan: KernelPlan, library: str, tiling: Sequence[str]
) -> None:
    """Kernels of equal structure share a folder and have a graph each."""
    base = os.path.join(folder, "graph_" + _file_name(graph))
    graph.save_to_air(base + ".air")
    _write(base + ".pbtxt", to_text(graph_to_onnx(graph._graph, LEVEL_ALL, "tf_autofuse")))
    lines = list(tiling) or ["chosen at run time by the tiling function"]
    _write(os.path.join(folder, "tiling.txt"), "\n".join(lines) + "\n")
    _write(os.path.join(folder, "build.log"), _build_log(plan.key, library))


def subgraph(view: GraphView, cluster: Cluster, name: str) -> Graph:
    """The operators of a cluster as a graph of their own, with Data nodes for what they read."""
    made = GraphBuilder(name)
    inside = {node.name for node in cluster.nodes}
    for node in cluster.nodes:
        for ref in node.inputs:
            if ref is not None and ref[0] not in inside:
                inside.add(ref[0])
                _outside(view, made, ref[0])
    for node in cluster.nodes:
        made.add_op(node.name, node.type, inputs=list(node.inputs),
                    outputs=_descs(view, node), attrs=_attributes(node))  # fmt: skip
    made.add_op("NetOutput", "NetOutput", inputs=list(cluster.lowered.outputs))
    return made.build()


def _outside(view: GraphView, made: GraphBuilder, name: str) -> None:
    """A tensor that the cluster reads: a constant with its value, anything else as Data."""
    node = view.node(name)
    value = view.constant(node) if node.type in CONST_TYPES else None
    if value is not None:
        made.add_op(name, "Const", outputs=_descs(view, node), attrs={"value": value})
    else:
        made.add_op(name, "Data", outputs=_descs(view, node))


def _descs(view: GraphView, node: ViewNode) -> List[TensorDesc]:
    return [host_desc(view.descs[(node.name, port)]) for port in range(len(node.outputs))]


def _attributes(node: Any) -> Dict[str, Any]:
    """What lowering reads of an operator, as far as GE hands it out."""
    found = {key: read_attr(node.handle, key) for key in OPS[node.type].attrs}
    return {key: value for key, value in found.items() if value is not None and value != []}


def _build_log(key: str, library: str) -> str:
    lines: List[str] = ["library {}".format(library or "built by GE")]
    for record in compile_log():
        if record.label == key:
            how = "from the cache" if record.cached else "built"
            lines.append("{} in {:.3f} s".format(how, record.seconds))
            lines += [record.said] if record.said else []
    return "\n".join(lines).rstrip() + "\n"


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
