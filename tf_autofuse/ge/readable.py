"""The readable dump: one line an operator, as GE prints it (lossy, see the reader's limits).

Control edges, shapes and types are not printed; only attributes the operator's prototype declares.
"""

from __future__ import annotations

import re
from typing import Any, Dict, List

from tf_autofuse.ge.graph import GraphData
from tf_autofuse.ge.node import NodeData
from tf_autofuse.ge.tensor import Tensor
from tf_autofuse.ge.types import DataType, type_text

_EDGE_ITEMS = 3  # items shown on each side of the gap of a long tensor
_DYNAMIC_INPUT = 2


def render(root: GraphData) -> str:
    """The readable text of `root` and of the subgraphs its nodes name, breadth first."""
    order = [root]
    for graph in order:  # grows while it is walked
        names = [name for node in graph.ordered() for name in node.subgraph_names]
        known = graph.root.subgraphs
        order.extend(known[name] for name in names if name in known and known[name] not in order)
    return "\n".join(_GraphText(graph).text() for graph in order)


class _GraphText:
    def __init__(self, graph: GraphData) -> None:
        self.graph = graph
        self.rets = 0
        self.refs: Dict[Any, str] = {}  # (node, port) -> name of an output of a node with several

    def text(self) -> str:
        lines = ['graph("{}"):'.format(self.graph.name)]
        result = ""
        for node in self.graph.ordered():
            if node.type == "NetOutput":
                result = self._return(node)
            else:
                lines.extend(self._node(node))
        return "\n".join(lines + ["", "  return ({})".format(result)]) + "\n"

    def _ref(self, edge: Any) -> str:
        return "%" + self.refs.get(edge, edge[0].name)

    def _return(self, node: NodeData) -> str:
        ends = [self._ref(edge) for edge in node.inputs if edge is not None]
        if len(ends) == 1:
            return ends[0]
        return ", ".join("output_{}={}".format(index, end) for index, end in enumerate(ends))

    def _node(self, node: NodeData) -> List[str]:
        parts = []
        names = _input_names(node)
        inputs = [
            "{}={}".format(names[port], self._ref(edge))
            for port, edge in enumerate(node.inputs)
            if edge is not None
        ]
        if inputs:
            parts.append("inputs = ({})".format(", ".join(inputs)))
        attrs = _attrs(node)
        if attrs:
            parts.append("attrs = {{{}}}".format(", ".join(attrs)))
        head = "  %{} : [#users={}] = Node[type={}] ({})"
        lines = [head.format(node.name, len(node.outputs), node.type, ", ".join(parts))]
        if len(node.outputs) > 1:
            lines.extend(self._element(node, port) for port in range(len(node.outputs)))
        return lines

    def _element(self, node: NodeData, port: int) -> str:
        name = "ret_{}".format(self.rets) if self.rets else "ret"
        self.rets += 1
        self.refs[node, port] = name
        users = len(node.outputs[port])
        return "  %{} : [#users={}] = get_element[node=%{}]({})".format(
            name, users, node.name, port
        )


def _input_names(node: NodeData) -> List[str]:
    """What each input port is called: by the prototype, else by its number."""
    names = ["_input_{}".format(port) for port in range(len(node.inputs))]
    declared = dict(zip(_list(node, "_ir_inputs_key"), _list(node, "_ir_inputs_value")))
    ports = zip(_list(node, "_input_name_key"), _list(node, "_input_name_value"))
    for name, port in ports:
        if port >= len(names):
            continue
        stem, number = re.match(r"(.*?)(\d*)$", name).groups()  # type: ignore[union-attr]
        if declared.get(name, _DYNAMIC_INPUT) != _DYNAMIC_INPUT:
            names[port] = name
        elif number and declared.get(stem) == _DYNAMIC_INPUT:
            names[port] = "{}_{}".format(stem, number)
    return names


def _list(node: NodeData, key: str) -> list:
    value = node.attrs.get(key)
    return value if type(value) is list else []


def _attrs(node: NodeData) -> List[str]:
    texts = ["_graph_{}: %{}".format(i, name) for i, name in enumerate(node.subgraph_names)]
    for key in _list(node, "_ir_attr_names"):
        if node.attrs.get(key, "") != "":  # GE leaves out empty strings
            texts.append("{}: {}".format(key, _value(node.attrs[key])))
    return texts


def _value(value: Any) -> str:
    kind = type(value)
    if kind is bool:
        return "true" if value else "false"
    if kind is float:
        return "{:.6f}".format(value)
    if kind is str:
        return '"{}"'.format(value)
    if kind is DataType:
        return type_text(value)
    if kind is list:
        return "{{{}}}".format(", ".join(_value(item) for item in value))
    if kind is Tensor:
        return _tensor(value)
    if kind is int:
        return str(value)
    return _message(value)


def _message(message: Any) -> str:
    """Kinds that only messages hold; a kind without a spelling gives nothing."""
    kind = message.WhichOneof("value")
    if kind == "list_list_int":
        rows = [list(row.list_i) for row in message.list_list_int.list_list_i if row.list_i]
        return _value(rows)
    if kind == "list" and message.list.dt:
        return _value([DataType(number) for number in message.list.dt])
    if kind in ("s", "bt"):
        return '"{}"'.format(getattr(message, kind).decode("utf-8", "replace"))
    return "{}" if kind == "list" else ""


def _tensor(tensor: Tensor) -> str:
    try:
        items = tensor.numpy().reshape(-1)
    except ValueError:
        return "[]"
    if len(items) <= 2 * _EDGE_ITEMS:
        return "[{}]".format(" ".join(_item(item) for item in items))
    head = " ".join(_item(item) for item in items[:_EDGE_ITEMS])
    tail = " ".join(_item(item) for item in items[-_EDGE_ITEMS:])
    return "[{} ... {}]".format(head, tail)


def _item(item: Any) -> str:
    return "{:.6f}".format(item) if item.dtype.kind == "f" else str(item)
