"""GE's Python face over `ge::Graph`, for a GE that has none of its own.

`csrc/ge/python_bridge.cc` calls `run` with handles of the graph and of the pass context. Graphs are
rewritten with what the C++ interface has: nodes and edges, no rewriter.
"""
from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Sequence, Tuple

from tf_autofuse.ge.passes import FuseCheckResult, PassContext, registered_passes
from tf_autofuse.ge.plugins import load_plugins
from tf_autofuse.ge.tensor import Tensor, TensorDesc
from tf_autofuse.ge.types import DataType, Format

ORIGINAL_NAMES = "_datadump_original_op_names"
ORIGINAL_TYPES = "_datadump_original_op_types"
SAME_ON_ALL = ("_user_stream_label", "_super_kernel_scope", "_super_kernel_options",
               "_op_aicore_num", "_op_vectorcore_num", "deterministic")  # fmt: skip


def run(handle: Any, context: Any) -> bool:
    """Run the plug-ins' passes on a graph and its subgraphs; False when one of them failed."""
    load_plugins()
    root = Graph(handle)
    return all(
        _run_pass(descriptor, graph, context)
        for graph in [root] + root.get_all_subgraphs()
        for descriptor in registered_passes()
    )


def _run_pass(descriptor: Any, graph: "Graph", context: Any) -> bool:
    said = PassContext(descriptor.name)
    try:
        result = descriptor.cls().run(graph, said)
    except Exception as error:  # the pass lets one out only when it is told to be strict
        context.set_error("{}: {}".format(descriptor.name, error))
        return False
    if said.get_error_message():
        context.set_error(said.get_error_message())
    return result is None or result is True or (result is not False and result == 0)


class Node:
    """A node as passes see it."""

    def __init__(self, handle: Any, graph: Any) -> None:
        self._handle, self._graph = handle, graph

    @property
    def name(self) -> str:
        """Name, unique in the graph; RuntimeError once the node has left it."""
        return self._handle.name()

    @property
    def type(self) -> str:
        """Operator type."""
        return self._handle.type()

    def _wrap(self, handle: Any) -> "Node":
        return Node(handle, self._graph)

    def get_inputs_size(self) -> int:
        """Number of input ports."""
        return self._handle.inputs_size()

    def get_outputs_size(self) -> int:
        """Number of output ports."""
        return self._handle.outputs_size()

    def get_in_control_nodes(self) -> List["Node"]:
        """Nodes that must run before this one."""
        return [self._wrap(handle) for handle in self._handle.in_controls()]

    def get_out_control_nodes(self) -> List["Node"]:
        """Nodes that must run after this one."""
        return [self._wrap(handle) for handle in self._handle.out_controls()]

    def get_in_data_nodes_and_port_indexes(self, in_index: int) -> Tuple["Node", int]:
        """Producer of an input; RuntimeError when it is not connected."""
        edge = self._handle.input(in_index)
        if edge is None:
            raise RuntimeError("input {} of {} is not connected".format(in_index, self.name))
        return self._wrap(edge[0]), edge[1]

    def get_out_data_nodes_and_port_indexes(self, out_index: int) -> List[Tuple["Node", int]]:
        """Consumers of an output with their input ports."""
        return [(self._wrap(node), port) for node, port in self._handle.consumers(out_index)]

    def has_attr(self, attr_name: str) -> bool:
        """Whether the attribute is there."""
        return self._handle.has_attr(attr_name)

    def get_attr(self, attr_name: str) -> Any:
        """Value of an attribute; RuntimeError when missing or of a kind Python cannot hold."""
        value = self._handle.attr(attr_name)
        if not isinstance(value, tuple):
            return value
        if value[0] == "dtype":
            return DataType(value[1])
        return Tensor._make(_desc(value[1]), value[2])

    def get_input_desc(self, index: int) -> TensorDesc:
        """A copy of an input's description."""
        return _desc(self._handle.input_desc(index))

    def get_output_desc(self, index: int) -> TensorDesc:
        """A copy of an output's description."""
        return _desc(self._handle.output_desc(index))

    def get_output_attr(self, attr_name: str, index: int) -> Any:
        """This GE keeps none that Python could read."""
        raise RuntimeError("no attribute {}".format(attr_name))


class Graph:
    """A graph as passes see it."""

    def __init__(self, handle: Any) -> None:
        self._handle = handle

    @property
    def name(self) -> str:
        """Name of the graph."""
        return self._handle.name()

    def get_direct_nodes(self) -> List[Node]:
        """Nodes of this graph without those of its subgraphs."""
        return [Node(handle, self._handle) for handle in self._handle.nodes()]

    def get_all_subgraphs(self) -> List["Graph"]:
        """Subgraphs of every depth."""
        return [Graph(handle) for handle in self._handle.subgraphs()]

    def save_to_air(self, path: str) -> None:
        """Write the graph as a binary ModelDef; RuntimeError when GE cannot."""
        self._handle.save(path)

    def dump_to_file(self, format: Any = None, suffix: str = "") -> None:
        """This GE dumps by itself only."""


def _desc(raw: Any) -> TensorDesc:
    dims, fmt, dtype, origin_dims, origin_fmt = raw
    desc = TensorDesc(dims, Format(fmt), DataType(dtype))
    return desc.set_origin_shape(origin_dims).set_origin_format(Format(origin_fmt))


def _raw(desc: TensorDesc) -> Tuple[List[int], int, int, List[int], int]:
    return (list(desc.shape), int(desc.format), int(desc.data_type), list(desc.origin_shape),
            int(desc.origin_format))  # fmt: skip


class SubgraphInput:
    """Input ports of nodes of the cluster that read one outside tensor."""

    def __init__(self, node_inputs: Sequence[Tuple[Node, int]] = ()) -> None:
        self.ports = list(node_inputs)


class SubgraphOutput(NamedTuple):
    """An output port of a node of the cluster."""

    node: Node
    out_index: int


class SubgraphBoundary:
    """Inputs and outputs of a cluster by index; a status, 0 for success."""

    def __init__(self) -> None:
        self.inputs: Dict[int, SubgraphInput] = {}
        self.outputs: Dict[int, SubgraphOutput] = {}

    def add_input(self, index: int, subgraph_input: SubgraphInput) -> int:
        """Set an input."""
        self.inputs[index] = subgraph_input
        return 0

    def add_output(self, index: int, subgraph_output: SubgraphOutput) -> int:
        """Set an output."""
        self.outputs[index] = subgraph_output
        return 0


def can_fuse(nodes: Sequence[Node]) -> FuseCheckResult:
    """Whether nodes of one graph may become one: equal user controls, no cycle."""
    for key in SAME_ON_ALL:
        values = {str(node.get_attr(key)) if node.has_attr(key) else "" for node in nodes}
        if len(values) > 1:
            return FuseCheckResult(False, "the nodes differ in " + key)
    inside = {node.name for node in nodes}
    waiting = [node for member in nodes for node in _after(member) if node.name not in inside]
    seen = {node.name for node in waiting}
    while waiting:
        for node in _after(waiting.pop()):
            if node.name in inside:
                return FuseCheckResult(False, "fusing would close a cycle through " + node.name)
            if node.name not in seen:
                seen.add(node.name)
                waiting.append(node)
    return FuseCheckResult(True, "")


def _after(node: Node) -> List[Node]:
    ports = range(node.get_outputs_size())
    data = [n for port in ports for n, _ in node.get_out_data_nodes_and_port_indexes(port)]
    return data + node.get_out_control_nodes()


class SubgraphRewriter:
    """Puts one fused node in the place of a cluster."""

    @staticmethod
    def replace(boundary: SubgraphBoundary, replacement: Any, *, context: Any = None) -> None:
        """`replacement` is a host graph of Data, one fused node and NetOutput.

        RuntimeError when GE refuses a step; the old nodes go last, so that they still compute what
        was not moved by then.
        """
        cluster = _cluster(boundary)
        graph = cluster[0]._graph
        (body,) = [n for n in replacement.get_direct_nodes() if n.type not in _ENDS]
        made = _add(graph, body, cluster, context)
        inside = {node.name for node in cluster}
        _connect(graph, made, body, boundary)
        for number in sorted(boundary.outputs):
            _move(graph, made, number, boundary.outputs[number], inside)
        for node in cluster:
            for before in node._handle.in_controls():
                if before.name() not in inside:
                    graph.add_control_edge(before, made)
            for after in node._handle.out_controls():
                if after.name() not in inside:
                    graph.add_control_edge(made, after)
        for node in cluster:
            graph.remove_node(node._handle)


_ENDS = ("Data", "NetOutput")


def _cluster(boundary: SubgraphBoundary) -> List[Node]:
    """Nodes between the boundary's outputs and its inputs, the outputs first."""
    cut = {(node.name, port) for item in boundary.inputs.values() for node, port in item.ports}
    waiting = [boundary.outputs[number].node for number in sorted(boundary.outputs)]
    found: Dict[str, Node] = {}
    while waiting:
        node = waiting.pop(0)
        if node.name in found:
            continue
        found[node.name] = node
        for port in range(node.get_inputs_size()):
            edge = node._handle.input(port)
            if edge is not None and (node.name, port) not in cut:
                waiting.append(Node(edge[0], node._graph))
    return list(found.values())


def _add(graph: Any, body: Any, cluster: Sequence[Node], context: Any) -> Any:
    attrs = {key: body.get_attr(key) for key in body._node.attrs if not key.startswith("_")}
    attrs[ORIGINAL_NAMES] = [node.name for node in cluster]
    attrs[ORIGINAL_TYPES] = [node.type for node in cluster]
    for key in SAME_ON_ALL:
        if cluster[0].has_attr(key):
            attrs[key] = cluster[0].get_attr(key)
    if context is not None:
        attrs["pass_name"] = [context.get_pass_name()]
    inputs = [_raw(body.get_input_desc(i)) for i in range(body.get_inputs_size())]
    outputs = [_raw(body.get_output_desc(i)) for i in range(body.get_outputs_size())]
    name = "{}_{}".format(body.name, "_".join(node.name for node in cluster))
    return graph.add_fused(name, inputs, outputs, attrs)


def _connect(graph: Any, made: Any, body: Any, boundary: SubgraphBoundary) -> None:
    for port in range(body.get_inputs_size()):
        data, _ = body.get_in_data_nodes_and_port_indexes(port)
        reader, at = boundary.inputs[data.get_attr("index")].ports[0]
        source, source_port = reader._handle.input(at)
        graph.add_data_edge(source, source_port, made, port)


def _move(graph: Any, made: Any, number: int, output: SubgraphOutput, inside: Any) -> None:
    old = output.node._handle
    for reader, at in old.consumers(output.out_index):
        if reader.name() not in inside:
            graph.remove_edge(old, output.out_index, reader, at)
            graph.add_data_edge(made, number, reader, at)
