"""Nodes: the data of one operator, and the light wrapper that passes hold.

A wrapper refers to the data weakly in GE's sense: each call makes a new wrapper, two wrappers of
one node are not equal, and all of them raise RuntimeError once the node left its graph.
"""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple

from tf_autofuse.ge.attr import check_value, read_value
from tf_autofuse.ge.tensor import TensorDesc

CONTROL_PORT = -1


class NodeData:
    """One operator of a graph with its edges. Internal to `tf_autofuse.ge`."""

    __slots__ = (
        "name",
        "type",
        "attrs",
        "inputs",
        "outputs",
        "in_controls",
        "out_controls",
        "input_descs",
        "output_descs",
        "subgraph_names",
        "graph",
        "id",
        "order",
        "rank",
        "raw",
    )

    def __init__(self, name: str, type: str) -> None:
        self.name = name
        self.type = type
        self.attrs: Dict[str, Any] = {}
        # One (producer, its output port) or None for every input port.
        self.inputs: List[Optional[Tuple["NodeData", int]]] = []
        # For every output port its (consumer, its input port) pairs in the order of linking.
        self.outputs: List[List[Tuple["NodeData", int]]] = []
        self.in_controls: List["NodeData"] = []
        self.out_controls: List["NodeData"] = []
        self.input_descs: List[TensorDesc] = []
        self.output_descs: List[TensorDesc] = []
        self.subgraph_names: List[str] = []
        self.graph: Any = None  # the GraphData it belongs to
        self.id = 0
        self.order: Tuple[int, ...] = ()  # place in the graph's node list
        self.rank: Tuple[int, ...] = ()  # place in a topological order, kept by `rewriter`
        self.raw: Any = None  # OpDef with fields outside of this class, never changed

    def link(self, port: int, producer: "NodeData", producer_port: int) -> None:
        """Connect the unconnected input `port` to an output of `producer`."""
        self.inputs[port] = (producer, producer_port)
        producer.outputs[producer_port].append((self, port))

    def unlink(self, port: int) -> None:
        """Disconnect input `port`."""
        edge = self.inputs[port]
        if edge is not None:
            edge[0].outputs[edge[1]].remove((self, port))
            self.inputs[port] = None

    def link_control(self, producer: "NodeData") -> None:
        """Add a control edge from `producer`."""
        self.in_controls.append(producer)
        producer.out_controls.append(self)

    def unlink_control(self, producer: "NodeData") -> None:
        """Remove one control edge from `producer`."""
        self.in_controls.remove(producer)
        producer.out_controls.remove(self)

    def isolate(self) -> None:
        """Remove every edge of the node."""
        for port in range(len(self.inputs)):
            self.unlink(port)
        for consumers in self.outputs:
            for consumer, port in list(consumers):
                consumer.unlink(port)
        for producer in list(self.in_controls):
            self.unlink_control(producer)
        for consumer in list(self.out_controls):
            consumer.unlink_control(self)


class Node:
    """A node as passes see it; never constructed directly."""

    __slots__ = ("_node",)

    def __init__(self, data: NodeData) -> None:
        if type(data) is not NodeData:
            raise RuntimeError("a Node cannot be constructed directly")
        self._node = data

    def _alive(self) -> NodeData:
        data = self._node
        if data.graph is None:
            raise RuntimeError("the node has been removed from its graph")
        return data

    @property
    def name(self) -> str:
        """Name, unique in the graph."""
        return self._alive().name

    @property
    def type(self) -> str:
        """Operator type."""
        return self._alive().type

    def __repr__(self) -> str:
        data = self._node
        return "Node({}, {}{})".format(data.name, data.type, "" if data.graph else ", removed")

    def __copy__(self) -> None:
        raise RuntimeError("a Node cannot be copied")

    def __deepcopy__(self, memo: Any) -> None:
        raise RuntimeError("a Node cannot be copied")

    def get_inputs_size(self) -> int:
        """Number of input ports, unconnected ones included."""
        return len(self._alive().inputs)

    def get_outputs_size(self) -> int:
        """Number of output ports."""
        return len(self._alive().outputs)

    def get_in_control_nodes(self) -> List["Node"]:
        """Nodes that must run before this one."""
        return [Node(data) for data in self._alive().in_controls]

    def get_out_control_nodes(self) -> List["Node"]:
        """Nodes that must run after this one."""
        return [Node(data) for data in self._alive().out_controls]

    def get_in_data_nodes_and_port_indexes(self, in_index: int) -> Tuple["Node", int]:
        """Producer of input `in_index` and its output port; RuntimeError when unconnected."""
        data = self._alive()
        edge = data.inputs[in_index] if 0 <= in_index < len(data.inputs) else None
        if edge is None:
            raise RuntimeError("input {} of {} is not connected".format(in_index, data.name))
        return Node(edge[0]), edge[1]

    def get_out_data_nodes_and_port_indexes(self, out_index: int) -> List[Tuple["Node", int]]:
        """Consumers of output `out_index` with their input ports; [] when there is no such port."""
        outputs = self._alive().outputs
        if not 0 <= out_index < len(outputs):
            return []
        return [(Node(data), port) for data, port in outputs[out_index]]

    def has_attr(self, attr_name: str) -> bool:
        """Whether the attribute is there."""
        return attr_name in self._alive().attrs

    def get_attr(self, attr_name: str) -> Any:
        """Value of an attribute; RuntimeError when missing or of a kind Python cannot express."""
        return _get(self._alive().attrs, attr_name)

    def set_attr(self, attr_name: str, value: Any) -> None:
        """Set an attribute; ValueError for a type GE does not take (see `check_value`)."""
        self._alive().attrs[attr_name] = check_value(value)

    def _desc(self, kind: str, index: int) -> TensorDesc:
        data = self._alive()
        descs = data.input_descs if kind == "input" else data.output_descs
        if not 0 <= index < len(descs):
            raise RuntimeError("{} has no {} {}".format(data.name, kind, index))
        return descs[index]

    def get_input_desc(self, index: int) -> TensorDesc:
        """A copy of an input's description."""
        return self._desc("input", index).copy()

    def get_output_desc(self, index: int) -> TensorDesc:
        """A copy of an output's description."""
        return self._desc("output", index).copy()

    def update_input_desc(self, index: int, tensor_desc: TensorDesc) -> None:
        """Replace an input's description."""
        old = self._desc("input", index)
        self._node.input_descs[index] = _updated(old, tensor_desc)

    def update_output_desc(self, index: int, tensor_desc: TensorDesc) -> None:
        """Replace an output's description; the consumers' input descriptions stay."""
        old = self._desc("output", index)
        self._node.output_descs[index] = _updated(old, tensor_desc)

    def get_input_attr(self, attr_name: str, index: int) -> Any:
        """Attribute of an input's description; RuntimeError when missing."""
        return _get(self._desc("input", index)._attrs or {}, attr_name)

    def get_output_attr(self, attr_name: str, index: int) -> Any:
        """Attribute of an output's description; RuntimeError when missing."""
        return _get(self._desc("output", index)._attrs or {}, attr_name)

    def set_input_attr(self, attr_name: str, index: int, value: Any) -> None:
        """Set an attribute of an input's description."""
        _set(self._desc("input", index), attr_name, value)

    def set_output_attr(self, attr_name: str, index: int, value: Any) -> None:
        """Set an attribute of an output's description."""
        _set(self._desc("output", index), attr_name, value)


def _get(attrs: Dict[str, Any], name: str) -> Any:
    if name not in attrs:
        raise RuntimeError("no attribute {}".format(name))
    return read_value(attrs[name])


def _set(desc: TensorDesc, name: str, value: Any) -> None:
    if desc._attrs is None:
        desc._attrs = {}
    desc._attrs[name] = check_value(value)


def _updated(old: TensorDesc, new: TensorDesc) -> TensorDesc:
    desc = new.copy()
    if desc._origin_dims is None:
        desc._origin_dims = old._origin_dims
    if desc._attrs is None and old._attrs:
        desc._attrs = dict(old._attrs)
    return desc
