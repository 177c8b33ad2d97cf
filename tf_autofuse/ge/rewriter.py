"""Replacing a cluster by another graph, as GE's SubgraphRewriter does it.

Nothing of the graph changes unless the whole replacement can be made. The time goes with the size
of the cluster and its edges, not with the size of the graph.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence, Set, Tuple

from tf_autofuse.ge.graph import Graph, GraphData
from tf_autofuse.ge.node import Node, NodeData
from tf_autofuse.ge.order import place_new_nodes, rank_nodes, successors
from tf_autofuse.ge.types import STATUS_FAILED, STATUS_SUCCESS

if TYPE_CHECKING:
    from tf_autofuse.ge.passes import PassContext

ORIGINAL_NAMES = "_datadump_original_op_names"
ORIGINAL_TYPES = "_datadump_original_op_types"
PASS_NAME = "pass_name"
NOOP_IN = "noop_in_"
NOOP_OUT = "noop_out_"

_Edge = Tuple[NodeData, int]


class SubgraphInput:
    """One input of a cluster: the input ports of its nodes that read the same outside tensor."""

    def __init__(self, node_inputs: Sequence[Tuple[Node, int]] = ()) -> None:
        self._ports: List[Tuple[Node, int]] = []
        for node, index in node_inputs:
            self.add_input(node, index)

    def add_input(self, node: Node, index: int) -> int:
        """Add input port `index` of a cluster node; a bad port only shows in `replace`."""
        self._ports.append((node, index))
        return STATUS_SUCCESS


class SubgraphOutput:
    """One output of a cluster: an output port of one of its nodes."""

    def __init__(self, node: Optional[Node] = None, out_index: int = 0) -> None:
        self._port = None if node is None else (node, out_index)

    def set_output(self, node: Node, out_index: int) -> int:
        """Name the output port; a bad port only shows in `replace`."""
        self._port = (node, out_index)
        return STATUS_SUCCESS


class SubgraphBoundary:
    """Inputs and outputs of a cluster by index; all methods return a status, 0 for success."""

    def __init__(self) -> None:
        self._inputs: Dict[int, SubgraphInput] = {}
        self._outputs: Dict[int, SubgraphOutput] = {}

    def add_input(self, index: int, subgraph_input: SubgraphInput) -> int:
        """Set input `index`; 4294967295 when the index is used."""
        if index in self._inputs or index < 0:
            return STATUS_FAILED
        self._inputs[index] = subgraph_input
        return STATUS_SUCCESS

    def add_output(self, index: int, subgraph_output: SubgraphOutput) -> int:
        """Set output `index`; 4294967295 when the index is used."""
        if index in self._outputs or index < 0:
            return STATUS_FAILED
        self._outputs[index] = subgraph_output
        return STATUS_SUCCESS


class _Refused(Exception):
    """The boundary and the replacement do not fit; the graph is untouched."""


class SubgraphRewriter:
    """Puts a graph in the place of a cluster."""

    @staticmethod
    def replace(
        boundary: SubgraphBoundary,
        replacement: Graph,
        *,
        context: "Optional[PassContext]" = None,
    ) -> Optional[int]:
        """Replace the cluster within `boundary` by a copy of `replacement`.

        Boundary input i is the Data with attribute index i, output i is input i of NetOutput.
        Without `context`: a status, 0 or 4294967295, nothing raised. With it: None, RuntimeError
        on failure, also checked by `can_fuse`, and the new nodes carry the pass name.
        """
        try:
            _Replacement(boundary, replacement, context).run()
        except _Refused as refusal:
            if context is None:
                return STATUS_FAILED
            raise RuntimeError(str(refusal)) from None
        return STATUS_SUCCESS if context is None else None


class _Replacement:
    """One call of `replace`: looks at everything first, then changes the graph."""

    def __init__(self, boundary: SubgraphBoundary, replacement: Graph, context: Any) -> None:
        self.context = context
        self.sources = [_source(port) for port in _by_index(boundary._inputs, "input")]
        self.results = [_result(port) for port in _by_index(boundary._outputs, "output")]
        if not self.results:
            raise _Refused("the boundary has no output")
        self.graph: GraphData = self.results[0][0].graph
        self.cluster = self._collect(boundary)
        self.template = replacement._graph
        self.data, self.net_output, self.bodies = _read_template(self.template)
        self._check_counts()
        if context is not None:
            self._check_fusible()
        self.names = self._new_names()

    def _collect(self, boundary: SubgraphBoundary) -> List[NodeData]:
        """Nodes between the boundary's outputs and inputs, the outputs first."""
        cut: Set[_Edge] = set()
        for subgraph_input in boundary._inputs.values():
            cut.update((node._node, port) for node, port in subgraph_input._ports)
        found: Dict[NodeData, None] = {}
        queue = [node for node, _ in self.results]
        for node in queue:  # grows while it is walked
            if node in found:
                continue
            if node.type in ("Data", "NetOutput") or node.graph is not self.graph:
                raise _Refused("the boundary does not enclose the cluster: it reaches " + node.name)
            found[node] = None
            for port, edge in enumerate(node.inputs):
                if edge is not None and (node, port) not in cut:
                    queue.append(edge[0])
        for node, _ in cut:
            if node not in found:
                raise _Refused("{} reads an input but leads to no output".format(node.name))
        return list(found)

    def _check_counts(self) -> None:
        for what, want, got in (
            ("inputs", len(self.sources), len(self.data)),
            ("outputs", len(self.results), len(self.net_output.inputs)),
        ):
            if want != got:
                raise _Refused("the boundary has {} {}, the replacement {}".format(want, what, got))
        for name in self.template.subgraphs:
            if name == self.graph.root.name or name in self.graph.root.subgraphs:
                raise _Refused("a graph named {} is already there".format(name))

    def _check_fusible(self) -> None:
        from tf_autofuse.ge.passes import can_fuse

        if not self.context.get_pass_name():
            raise _Refused("the context has no pass name")
        answer = can_fuse([Node(node) for node in self.cluster])
        if not answer.ok:
            raise _Refused(answer.reason)

    def _new_names(self) -> Dict[NodeData, str]:
        """`<name>_<replaced node names>_<counter>`; the counter makes it unique."""
        replaced = "_".join(node.name for node in self.cluster)
        names: Dict[NodeData, str] = {}
        for node in self.bodies:
            stem = "{}_{}_".format(node.name, replaced)
            free = (stem + str(count) for count in itertools.count())
            names[node] = next(name for name in free if not self._taken(name))
        return names

    def _taken(self, name: str) -> bool:
        taken = self.graph.nodes
        return name in taken or NOOP_IN + name in taken or NOOP_OUT + name in taken

    def run(self) -> None:
        """Change the graph."""
        ranked = rank_nodes(self.graph)
        last = max(self.cluster, key=lambda node: node.order)
        after = max(node.rank for node in self.cluster) if ranked else ()
        new = self._add_nodes(last.order)
        first_in, first_out = self._move_controls(new)
        self._move_outputs(dict(zip(self.bodies, new)))
        self._remove_cluster()
        self.graph.root.subgraphs.update(self.template.subgraphs)
        if ranked:
            chain = [first_in] + _topological(new) + [first_out]
            place_new_nodes(self.graph, [node for node in chain if node is not None], after)

    def _add_nodes(self, order: Tuple[int, ...]) -> List[NodeData]:
        names, types = self._original_ops()
        copies: Dict[NodeData, NodeData] = {}
        for node in self.bodies:
            copy = _copy_node(node, self.names[node])
            copy.attrs[ORIGINAL_NAMES] = list(names)
            copy.attrs[ORIGINAL_TYPES] = list(types)
            if self.context is not None:
                copy.attrs[PASS_NAME] = [self.context.get_pass_name()]
            self.graph.insert(copy, order + (self.graph.next_serial(),))
            copies[node] = copy
        for node, copy in copies.items():
            for port, edge in enumerate(node.inputs):
                if edge is not None:
                    producer, producer_port = self._outside_or_copy(edge, copies)
                    copy.link(port, producer, producer_port)
            for producer in node.in_controls:
                if producer in copies:
                    copy.link_control(copies[producer])
        return list(copies.values())

    def _original_ops(self) -> Tuple[List[str], List[str]]:
        """Names and types of the framework's operators in the cluster."""
        names: List[str] = []
        types: List[str] = []
        for node in self.cluster:
            names.extend(node.attrs.get(ORIGINAL_NAMES) or [node.name])
            types.extend(node.attrs.get(ORIGINAL_TYPES) or [node.type])
        return names, types

    def _outside_or_copy(self, edge: _Edge, copies: Dict[NodeData, NodeData]) -> _Edge:
        """Where an edge end of the replacement lies in the graph."""
        if edge[0] in self.data:
            return self.sources[self.data[edge[0]]]
        return copies[edge[0]], edge[1]

    def _move_outputs(self, copies: Dict[NodeData, NodeData]) -> None:
        cluster = set(self.cluster)
        for (node, port), edge in zip(self.results, self.net_output.inputs):
            if edge is None:
                continue
            producer, producer_port = self._outside_or_copy(edge, copies)
            for consumer, in_port in list(node.outputs[port]):
                if consumer not in cluster:
                    consumer.unlink(in_port)
                    consumer.link(in_port, producer, producer_port)

    def _move_controls(self, new: List[NodeData]) -> Tuple[Optional[NodeData], Optional[NodeData]]:
        """Put NoOps between the new nodes and those that wait for or hold up the cluster.

        The old edges stay until their nodes go: GE bridges them then.
        """
        if not new:
            return None, None
        inside = set(self.cluster)
        before = _unique(src for node in self.cluster for src in node.in_controls)
        after = _unique(dst for node in self.cluster for dst in node.out_controls)
        before = [node for node in before if node not in inside]
        after = [node for node in after if node not in inside]
        noop_in = self._add_noop(NOOP_IN + new[0].name) if before else None
        noop_out = self._add_noop(NOOP_OUT + new[0].name) if after else None
        for node in new:
            if noop_in is not None:
                node.link_control(noop_in)
            if noop_out is not None:
                noop_out.link_control(node)
        for source in before:
            noop_in.link_control(source)  # type: ignore[union-attr]
        for target in after:
            target.link_control(noop_out)  # type: ignore[arg-type]
        return noop_in, noop_out

    def _add_noop(self, name: str) -> NodeData:
        node = NodeData(name, "NoOp")
        node.id = len(self.graph.nodes)
        self.graph.append(node)
        return node

    def _remove_cluster(self) -> None:
        """Remove cluster nodes nobody reads any more, consumers first."""
        inside, gone = set(self.cluster), set()
        queue = list(self.cluster)
        for node in queue:  # grows while it is walked
            if node.graph is None or any(node.outputs):
                continue
            producers = [edge[0] for edge in node.inputs if edge is not None and edge[0] in inside]
            _bridge_controls(node)
            self.graph.detach(node)
            gone.add(node)
            queue.extend(producers)
        self.graph.drop_ends(gone)


def _bridge_controls(node: NodeData) -> None:
    """Keep "before" and "after" of a node that goes: its sources control what it controlled."""
    if not node.out_controls:
        return
    producers = [edge[0] for edge in node.inputs if edge is not None] + node.in_controls
    for producer in _unique(producers):
        linked = set(producer.out_controls)
        for consumer in node.out_controls:
            if consumer not in linked:
                consumer.link_control(producer)
                linked.add(consumer)


def _by_index(entries: Dict[int, Any], what: str) -> List[Any]:
    if sorted(entries) != list(range(len(entries))):
        raise _Refused("the boundary's {} indices have a gap".format(what))
    return [entries[index] for index in range(len(entries))]


def _source(subgraph_input: SubgraphInput) -> _Edge:
    """The one outside output behind all ports of a boundary input."""
    edges = set()
    for node, port in subgraph_input._ports:
        data = _live(node)
        edge = data.inputs[port] if 0 <= port < len(data.inputs) else None
        if edge is None:
            raise _Refused("input {} of {} is not connected".format(port, data.name))
        edges.add(edge)
    if len(edges) != 1:
        raise _Refused("a boundary input needs ports that read one and the same output")
    return edges.pop()


def _result(subgraph_output: SubgraphOutput) -> _Edge:
    if subgraph_output._port is None:
        raise _Refused("a boundary output names no port")
    node, port = subgraph_output._port
    data = _live(node)
    if not 0 <= port < len(data.outputs):
        raise _Refused("{} has no output {}".format(data.name, port))
    return data, port


def _live(node: Node) -> NodeData:
    if node._node.graph is None:
        raise _Refused("{} has been removed from its graph".format(node._node.name))
    return node._node


def _read_template(graph: GraphData) -> Tuple[Dict[NodeData, int], NodeData, List[NodeData]]:
    """(Data nodes with their boundary index, NetOutput, all others) of a replacement."""
    data: Dict[NodeData, int] = {}
    net_outputs: List[NodeData] = []
    bodies: List[NodeData] = []
    for node in graph.ordered():
        if node.type == "Data":
            data[node] = node.attrs.get("index", -1)
        elif node.type == "NetOutput":
            net_outputs.append(node)
        else:
            bodies.append(node)
    if len(net_outputs) != 1:
        raise _Refused("the replacement needs one NetOutput, it has {}".format(len(net_outputs)))
    if sorted(data.values()) != list(range(len(data))):
        raise _Refused("the replacement's Data nodes need the indices 0 to n-1")
    return data, net_outputs[0], bodies


def _copy_node(node: NodeData, name: str) -> NodeData:
    copy = NodeData(name, node.type)
    copy.attrs = {
        key: list(value) if type(value) is list else value for key, value in node.attrs.items()
    }
    copy.inputs = [None] * len(node.inputs)
    copy.outputs = [[] for _ in node.outputs]
    copy.input_descs = [desc.copy() for desc in node.input_descs]
    copy.output_descs = [desc.copy() for desc in node.output_descs]
    copy.subgraph_names = list(node.subgraph_names)
    copy.id = node.id
    copy.raw = node.raw
    return copy


def _topological(nodes: List[NodeData]) -> List[NodeData]:
    """`nodes` with every producer before its consumers (edges among them only)."""
    done: Dict[NodeData, None] = {}
    inside = set(nodes)

    for root in nodes:
        stack = [(root, False)]
        while stack:
            node, leaving = stack.pop()
            if leaving:
                done.setdefault(node, None)
            elif node not in done:
                stack.append((node, True))
                stack.extend((near, False) for near in successors(node) if near in inside)
    return list(reversed(list(done)))


def _unique(nodes: Any) -> List[NodeData]:
    return list(dict.fromkeys(nodes))
