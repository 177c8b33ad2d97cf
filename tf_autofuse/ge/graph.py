"""Graph with the face of GE's Python package: no `add_node`, wrappers only, statuses as there."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Set, Tuple

from tf_autofuse.ge.attr import check_value, read_value
from tf_autofuse.ge.node import CONTROL_PORT, Node, NodeData
from tf_autofuse.ge.tensor import Shape, Tensor, TensorDesc
from tf_autofuse.ge.types import DumpFormat

__all__ = ["Graph", "Node", "Shape", "Tensor", "TensorDesc", "DumpFormat"]


class GraphData:
    """The nodes of one graph. Internal to `tf_autofuse.ge`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.nodes: Dict[str, NodeData] = {}
        self.attrs: Dict[str, Any] = {}
        # Subgraphs of every depth hang on the root, by name.
        self.subgraphs: Dict[str, "GraphData"] = {}
        self.root: "GraphData" = self
        self.inputs: List[Tuple[NodeData, int]] = []
        self.outputs: List[Tuple[NodeData, int]] = []
        self.raw: Any = None  # ModelDef with fields outside of this class (root only)
        self.graph_id = 0  # number in dump names (root only)
        self.ranked = False  # whether every node's `rank` is a valid topological order
        self._sorted = True
        self._last = -1
        self._serial = 0

    def next_serial(self) -> int:
        """A number no one got before; it sets apart nodes inserted at one place."""
        self._serial += 1
        return self._serial

    def append(self, node: NodeData) -> None:
        """Add a node at the end of the list; ValueError when its name is taken."""
        self._last += 1
        self.insert(node, (self._last,))

    def insert(self, node: NodeData, order: Tuple[int, ...]) -> None:
        """Add a node at the place `order`; ValueError when its name is taken."""
        if node.name in self.nodes:
            raise ValueError("two nodes are named {}".format(node.name))
        self._sorted = self._sorted and order == (self._last,)
        node.order = order
        node.graph = self
        self.nodes[node.name] = node

    def ordered(self) -> List[NodeData]:
        """All nodes in list order."""
        if not self._sorted:
            in_order = sorted(self.nodes.values(), key=lambda node: node.order)
            self.nodes = {node.name: node for node in in_order}
            self._sorted = True
        return list(self.nodes.values())

    def remove(self, node: NodeData) -> None:
        """Drop a node and all its edges; its wrappers go stale."""
        self.detach(node)
        self.drop_ends({node})

    def detach(self, node: NodeData) -> None:
        """Drop a node as `remove` does, one of many for which `drop_ends` is called later."""
        node.isolate()
        del self.nodes[node.name]
        node.graph = None

    def drop_ends(self, gone: Set[NodeData]) -> None:
        """Take nodes that are gone out of the ends of the graph."""
        self.inputs = [end for end in self.inputs if end[0] not in gone]
        self.outputs = [end for end in self.outputs if end[0] not in gone]

    def dissolve(self) -> None:
        """Drop all nodes and edges. Nodes and graph refer to each other: without this they stay
        until garbage collection finds them."""
        for node in self.nodes.values():
            node.inputs, node.outputs, node.in_controls, node.out_controls = [], [], [], []
            node.graph = None
        self.nodes, self.inputs, self.outputs = {}, [], []

    def owned_subgraphs(self) -> List["GraphData"]:
        """The subgraphs kept here: all of the model for the root, none for a subgraph."""
        return list(self.subgraphs.values())


class Graph:
    """A graph as passes see it."""

    __slots__ = ("_graph",)

    def __init__(self, name: str = "graph") -> None:
        self._graph = GraphData(name)

    @classmethod
    def _wrap(cls, data: GraphData) -> "Graph":
        graph = cls.__new__(cls)
        graph._graph = data
        return graph

    def __copy__(self) -> None:
        raise RuntimeError("a Graph cannot be copied")

    def __deepcopy__(self, memo: Any) -> None:
        raise RuntimeError("a Graph cannot be copied")

    def __str__(self) -> str:
        return self.dump_to_stream(DumpFormat.kReadable)

    def __repr__(self) -> str:
        return "Graph({}, {} nodes)".format(self._graph.name, len(self._graph.nodes))

    @property
    def name(self) -> str:
        """Name of the graph."""
        return self._graph.name

    def dissolve(self) -> None:
        """Drop all nodes, when the graph is not needed any more: their memory is free at once."""
        self._graph.dissolve()

    def get_direct_nodes(self) -> List[Node]:
        """Nodes of this graph without those of its subgraphs."""
        return [Node(data) for data in self._graph.ordered()]

    def get_all_nodes(self) -> List[Node]:
        """Nodes of this graph and of the subgraphs it keeps."""
        nodes = self.get_direct_nodes()
        for subgraph in self._graph.owned_subgraphs():
            nodes.extend(Node(data) for data in subgraph.ordered())
        return nodes

    def find_node_by_name(self, name: str) -> Node:
        """The direct node of that name; RuntimeError when there is none."""
        data = self._graph.nodes.get(name)
        if data is None:
            raise RuntimeError("graph {} has no node {}".format(self._graph.name, name))
        return Node(data)

    def get_attr(self, key: str) -> Any:
        """An attribute of the graph; RuntimeError when missing."""
        if key not in self._graph.attrs:
            raise RuntimeError("graph {} has no attribute {}".format(self._graph.name, key))
        return read_value(self._graph.attrs[key])

    def set_attr(self, key: str, value: Any) -> None:
        """Set an attribute of the graph; ValueError for a type GE does not take."""
        self._graph.attrs[key] = check_value(value)

    def _member(self, node: Node) -> NodeData:
        data = node._alive()
        if data.graph is not self._graph:
            raise RuntimeError("{} is not a node of graph {}".format(data.name, self._graph.name))
        return data

    def remove_node(self, node: Node) -> None:
        """Remove a direct node and its edges; neighbours are not reconnected."""
        self._graph.remove(self._member(node))

    def add_data_edge(self, src_node: Node, src_port: int, dst_node: Node, dst_port: int) -> None:
        """Connect an output to an unconnected input; RuntimeError otherwise. No cycle check."""
        source, target = self._member(src_node), self._member(dst_node)
        if not 0 <= src_port < len(source.outputs):
            raise RuntimeError("{} has no output {}".format(source.name, src_port))
        if not 0 <= dst_port < len(target.inputs):
            raise RuntimeError("{} has no input {}".format(target.name, dst_port))
        if target.inputs[dst_port] is not None:
            raise RuntimeError("input {} of {} is connected".format(dst_port, target.name))
        target.link(dst_port, source, src_port)
        self._keep_ranks(source, target)

    def add_control_edge(self, src_node: Node, dst_node: Node) -> None:
        """Add a control edge; neither duplicates nor cycles are looked for."""
        source, target = self._member(src_node), self._member(dst_node)
        target.link_control(source)
        self._keep_ranks(source, target)

    def _keep_ranks(self, source: NodeData, target: NodeData) -> None:
        """Ranks outlive a new edge that goes along them."""
        self._graph.ranked = self._graph.ranked and source.rank < target.rank

    def remove_edge(self, src_node: Node, src_port: int, dst_node: Node, dst_port: int) -> None:
        """Remove one edge; ports -1, -1 name a control edge. RuntimeError when it is not there."""
        source, target = self._member(src_node), self._member(dst_node)
        if src_port == CONTROL_PORT and dst_port == CONTROL_PORT:
            if source not in target.in_controls:
                raise RuntimeError("no control edge {} -> {}".format(source.name, target.name))
            target.unlink_control(source)
            return
        inputs = target.inputs
        if not 0 <= dst_port < len(inputs) or inputs[dst_port] != (source, src_port):
            raise RuntimeError(
                "no edge {}:{} -> {}:{}".format(source.name, src_port, target.name, dst_port)
            )
        target.unlink(dst_port)

    def get_all_subgraphs(self) -> List["Graph"]:
        """Subgraphs of every depth (of the root graph; a subgraph keeps none itself)."""
        return [Graph._wrap(data) for data in self._graph.owned_subgraphs()]

    def get_subgraph(self, name: str) -> Optional["Graph"]:
        """The subgraph of that name or None."""
        data = self._graph.subgraphs.get(name)
        return None if data is None else Graph._wrap(data)

    def add_subgraph(self, subgraph: "Graph") -> None:
        """Keep `subgraph` here; RuntimeError when its name is that of this graph or of another."""
        data = subgraph._graph
        if data.name == self._graph.name or data.name in self._graph.subgraphs:
            raise RuntimeError("a graph named {} is already there".format(data.name))
        data.root = self._graph
        self._graph.subgraphs[data.name] = data

    def remove_subgraph(self, name: str) -> None:
        """Drop the subgraph of that name; RuntimeError when there is none."""
        if name not in self._graph.subgraphs:
            raise RuntimeError("graph {} has no subgraph {}".format(self._graph.name, name))
        self._graph.subgraphs.pop(name).root = None  # type: ignore[assignment]

    def dump_to_stream(self, format: DumpFormat = DumpFormat.kReadable) -> str:
        """The text of a dump without weights (readable, proto text) or attributes (onnx)."""
        from tf_autofuse.ge import dump

        return dump.render(self, format)

    def dump_to_file(self, format: DumpFormat = DumpFormat.kReadable, suffix: str = "") -> None:
        """Write `dump_to_stream` under GE's file name into GE's dump directory."""
        from tf_autofuse.ge import dump

        dump.write(self, format, suffix, self.dump_to_stream(format))

    def save_to_air(self, path: str) -> None:
        """Write the graph as a binary ModelDef; OSError when the file cannot be written."""
        from tf_autofuse.ge.serialize import graph_to_model

        with open(path, "wb") as file:
            file.write(graph_to_model(self._graph).SerializeToString())

    def load_from_air(self, path: str) -> None:
        """Replace the content by that of a binary ModelDef; RuntimeError when it is unreadable."""
        from tf_autofuse.errors import AutofuseError
        from tf_autofuse.ge.serialize import read_air

        try:
            self._graph = read_air(path)
        except (AutofuseError, OSError) as error:
            raise RuntimeError("cannot load {}: {}".format(path, error)) from error
