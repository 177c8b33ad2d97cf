"""Replacing a cluster by one `AutofusedKernel` node, with GE's own rewriter."""
from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Sequence, Set, Tuple

from tf_autofuse.autofuse.api import api_of, built_like
from tf_autofuse.cluster.clusterer import Cluster
from tf_autofuse.cluster.order import places
from tf_autofuse.cluster.told import is_size, told_shapes
from tf_autofuse.cluster.view import GraphView, ViewNode, read_attr
from tf_autofuse.errors import Unsupported
from tf_autofuse.ge.builder import GraphBuilder
from tf_autofuse.ge.reading import CONST_TYPES, dims_of
from tf_autofuse.ge.rewriter import ORIGINAL_NAMES, ORIGINAL_TYPES
from tf_autofuse.ge.tensor import TensorDesc
from tf_autofuse.ge.types import DataType, Format
from tf_autofuse.loop.source import TensorRef

FUSED_TYPE = "AutofusedKernel"


class FusedNode(NamedTuple):
    """What goes into the attributes of the fused node."""

    name: str
    kernel_class: str
    kernel_key: str
    spec: str
    host_library: str
    bundle_dir: str
    ticket: str = ""
    """Where the library will lie that is being built in the background; empty: it is there."""


def replace_cluster(
    graph: Any, view: GraphView, cluster: Cluster, fused: FusedNode, context: Any
) -> None:
    """Put the fused node into the graph; Unsupported (code REWRITE) when GE refuses.

    The order of the fused node's inputs and outputs is that of the lowered kernel.
    """
    ports = _outside_ports(cluster)
    cut = [edge for edge in _held_edges(view, cluster) if edge[2] not in cluster.lowered.inputs]
    for node, port, ref in cut:
        if port >= 0:
            ports[ref].remove((node.handle, port))
    told = _told_shapes(view, cluster)
    cut += _edges_to(view, cluster, told)
    for node, port, (name, out_port) in cut:
        graph.remove_edge(view.node(name).handle, out_port, node.handle, port)
    copies = _Copies(cluster, ports)
    try:
        _replace(graph, view, cluster, fused, context, ports, copies)
    except Exception:  # whatever GE raises: the operators stay, with all their edges
        for node, port, (name, out_port) in cut:
            if port >= 0:
                graph.add_data_edge(view.node(name).handle, out_port, node.handle, port)
            else:
                graph.add_control_edge(view.node(name).handle, node.handle)
        raise
    if cluster.copies:
        copies.connect(graph, fused)
    for node in told:
        graph.remove_node(node.handle)


def _told_shapes(view: GraphView, cluster: Cluster) -> List[ViewNode]:
    """Nodes that are gone with the cluster: they tell it shapes of tensors that it does not write.
    Each stands before those that it reads."""
    inside = {node.index for node in cluster.members}
    found: List[ViewNode] = []
    for index in reversed(told_shapes(view, inside)):
        makers = set(view.predecessors(index))
        if makers & inside or makers & {node.index for node in found}:
            found.append(view.nodes[index])
    return found[::-1]


def _edges_to(
    view: GraphView, cluster: Cluster, told: Sequence[ViewNode]
) -> List[Tuple[ViewNode, int, TensorRef]]:
    """Edges from members of a cluster to nodes that go with it."""
    inside = {node.name for node in cluster.members}
    return [(node, port, ref) for node in told for port, ref in enumerate(node.inputs)
            if ref is not None and ref[0] in inside]


def _held_edges(
    view: GraphView, cluster: Cluster
) -> List[Tuple[ViewNode, int, TensorRef]]:
    """Edges from what may wait for the kernel, which does not read it: constants that it holds,
    and shapes, which its tensors tell. Ports of control edges are -1."""
    found = []
    inside = [node.index for node in cluster.nodes]
    for node in cluster.members:
        for port, ref in enumerate(node.inputs):
            if ref is None:
                continue
            const = view.node(ref[0]).type in CONST_TYPES
            if view.node(ref[0]).controls_in if const else view.holds(node, ref, inside):
                found.append((node, port, ref))
        found += [(node, -1, (view.nodes[maker].name, -1)) for maker in node.controls_in
                  if is_size(view, maker)]
    waiting = _waiting(view, cluster, found)
    return [edge for edge in found if view.index[edge[2][0]] in waiting]


def _waiting(
    view: GraphView, cluster: Cluster, edges: Sequence[Tuple[ViewNode, int, TensorRef]]
) -> Set[int]:
    """Nodes that wait for members of the cluster, among all that the edges come from."""
    waits = {node.index: True for node in cluster.members}
    place = places(view)
    first = min(place[index] for index in waits)
    todo = [view.index[ref[0]] for _, _, ref in edges]
    entered: Set[int] = set()
    while todo:
        index = todo.pop()
        if index in waits or place.get(index, first) < first:
            continue
        makers = view.predecessors(index)
        if index in entered:
            waits[index] = any(waits.get(maker, False) for maker in makers)
            continue
        entered.add(index)
        todo += [index] + [maker for maker in makers if maker not in entered]
    return {index for index, found in waits.items() if found}


class _Copies:
    """What a kernel computes again stays outside of the boundary. Where only copies read an input
    of the kernel, the fused node first reads the result of a copy there."""

    def __init__(self, cluster: Cluster, ports: Dict[TensorRef, List[Tuple[Any, int]]]):
        self._nodes = [node for node in cluster.nodes if node.index in cluster.copies]
        self._inputs = cluster.lowered.inputs
        names = {node.name for node in self._nodes}
        replaced = [edges for ref, edges in ports.items() if ref[0] in names]
        self._ports = dict(ports)
        self._ports.update((ref, replaced[0]) for ref in self._inputs if ref not in ports)
        self._moved = {
            ref: node.handle.get_in_data_nodes_and_port_indexes(port)
            for node in self._nodes for port, ref in enumerate(node.inputs)
            if ref in self._inputs and ref not in ports
        }
        self._first = self._source(self._inputs[0])

    def ports(self, ref: TensorRef) -> List[Tuple[Any, int]]:
        """The (node, input port) pairs that stand for an input."""
        return self._ports[ref]

    def _source(self, ref: TensorRef) -> Tuple[Any, int]:
        handle, port = self._ports[ref][0]
        return handle.get_in_data_nodes_and_port_indexes(port)

    def connect(self, graph: Any, fused: FusedNode) -> None:
        """Let the fused node read and name what it should, and remove what nobody reads now."""
        producer, out_port = self._first
        node = next(
            reader for reader, _ in producer.get_out_data_nodes_and_port_indexes(out_port)
            if read_attr(reader, "autofuse_name") == fused.name)
        for port, ref in enumerate(self._inputs):
            if ref in self._moved:
                graph.remove_edge(*node.get_in_data_nodes_and_port_indexes(port), node, port)
                graph.add_data_edge(*self._moved[ref], node, port)
        for key, of in ((ORIGINAL_NAMES, "name"), (ORIGINAL_TYPES, "type")):
            more = [word for copy in self._nodes
                    for word in read_attr(copy.handle, key) or [getattr(copy, of)]]
            node.set_attr(key, list(node.get_attr(key)) + more)
        for copy in reversed(self._nodes):
            if not copy.handle.get_out_data_nodes_and_port_indexes(0):
                graph.remove_node(copy.handle)


def _replace(graph, view, cluster, fused, context, ports, copies) -> None:
    api = api_of(graph)
    if context is None and api.can_fuse is not None:  # with a context the rewriter asks itself
        verdict = api.can_fuse([node.handle for node in cluster.members])
        if not verdict.ok:
            raise Unsupported(verdict.reason, node=fused.name, code="REWRITE")
    ports = {ref: edges for ref, edges in ports.items() if edges}
    # The rewriter wants every outside input of the cluster in the boundary, also constants that
    # the kernel holds itself; those become Data nodes that nothing reads.
    unread = [ref for ref in ports if ref not in cluster.lowered.inputs]
    order = list(dict.fromkeys(cluster.lowered.inputs)) + unread
    boundary = api.SubgraphBoundary()
    for number, ref in enumerate(order):
        _expect(boundary.add_input(number, api.SubgraphInput(copies.ports(ref))), fused)
    for number, (name, port) in enumerate(cluster.lowered.outputs):
        output = api.SubgraphOutput(view.node(name).handle, port)
        _expect(boundary.add_output(number, output), fused)
    replace = api.SubgraphRewriter.replace
    try:
        with built_like(graph, _replacement(view, cluster, fused, order)) as replacement:
            if context is None:
                _expect(replace(boundary, replacement) or 0, fused)
            else:
                replace(boundary, replacement, context=context)
    except RuntimeError as error:
        raise Unsupported(str(error), node=fused.name, code="REWRITE") from error


def _expect(status: int, fused: FusedNode) -> None:
    if status != 0:
        raise Unsupported("boundary status %d" % status, node=fused.name, code="REWRITE")


def _outside_ports(cluster: Cluster) -> Dict[TensorRef, List[Tuple[Any, int]]]:
    """Outside tensors of a cluster and the (node, input port) pairs that read them."""
    inside = {node.name for node in cluster.members}
    ports: Dict[TensorRef, List[Tuple[Any, int]]] = {}
    for node in cluster.members:
        for port, ref in enumerate(node.inputs):
            if ref is not None and ref[0] not in inside:
                ports.setdefault(ref, []).append((node.handle, port))
    return ports


def _replacement(view: GraphView, cluster: Cluster, fused: FusedNode, order) -> GraphBuilder:
    builder = GraphBuilder(fused.name + "_replacement")
    for number, ref in enumerate(order):
        desc = host_desc(view.descs[ref])
        builder.add_op("x%d" % number, "Data", outputs=[desc], attrs={"index": number})
    inputs = [("x%d" % order.index(ref), 0) for ref in cluster.lowered.inputs]
    outputs = cluster.lowered.outputs
    builder.add_op(
        fused.name,
        FUSED_TYPE,
        inputs=inputs,
        outputs=[host_desc(view.descs[ref]) for ref in outputs],
        attrs=_attributes(view, cluster, fused),
    )
    results = [(fused.name, number) for number in range(len(outputs))]
    builder.add_op("Node_Output", "NetOutput", inputs=results)
    return builder


def _attributes(view: GraphView, cluster: Cluster, fused: FusedNode) -> Dict[str, Any]:
    types = [int(view.descs[ref].data_type) for ref in cluster.lowered.outputs]
    waiting = {
        "ticket": fused.ticket,
        "input_tensors": ["%s:%d" % ref for ref in cluster.lowered.inputs],
    }
    return {
        **(waiting if fused.ticket else {}),
        "output_tensors": ["%s:%d" % ref for ref in cluster.lowered.outputs],
        "kernel_key": fused.kernel_key,
        "kernel_class": fused.kernel_class,
        "autofuse_name": fused.name,
        "spec": fused.spec,
        "host_library": fused.host_library,
        "bundle_dir": fused.bundle_dir,
        "output_dtypes": types,
        "vector_cores": _granted_cores(cluster),
        "op_names": [node.name for node in cluster.nodes],
        "op_types": [node.type for node in cluster.nodes],
    }


def _granted_cores(cluster: Cluster) -> int:
    """What the user set as `_op_vectorcore_num` on all members; 0 when nothing is set."""
    text = str(read_attr(cluster.nodes[0].handle, "_op_vectorcore_num") or "")
    return int(text) if text.isdigit() else 0


def host_desc(desc: Any) -> TensorDesc:
    """A host copy of a tensor description, with its origin shape and format."""
    copy = TensorDesc(dims_of(desc.shape), Format(int(desc.format)), DataType(int(desc.data_type)))
    copy.set_origin_shape(dims_of(desc.origin_shape))
    copy.set_origin_format(Format(int(desc.origin_format)))
    return copy
