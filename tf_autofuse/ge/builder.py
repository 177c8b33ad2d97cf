"""Make a Graph on the host; GE's own face has no way to add a node."""

from __future__ import annotations

import functools
from typing import Any, Dict, List, Optional, Sequence, Tuple

from tf_autofuse.errors import IRError
from tf_autofuse.ge.attr import check_value
from tf_autofuse.ge.graph import Graph, GraphData
from tf_autofuse.ge.node import Node, NodeData
from tf_autofuse.ge.tensor import TensorDesc
from tf_autofuse.ge.types import Format

STAGE = "build graph"
InputRef = Optional[Tuple[str, int]]

#: Attributes of a fused node as csrc/ge/op_proto.h declares them: GE's runtime counts places.
AUTOFUSED_ATTRS = ("kernel_key", "spec", "bundle_dir", "output_dtypes", "autofuse_name",
                   "vector_cores")  # fmt: skip

# Prototype notes GE keeps on a node (0 = required, 1 = optional, 2 = dynamic input; outputs: 0, 1).
_PROTOTYPES: Dict[str, Tuple[Tuple[str, int], Tuple[str, int], Tuple[str, ...]]] = {
    "Data": (("x", 0), ("y", 0), ("index",)),
    "Const": (("", 0), ("y", 0), ("value",)),
    "NetOutput": (("x", 2), ("y", 1), ()),
    "AutofusedKernel": (("x", 2), ("y", 1), AUTOFUSED_ATTRS),
}


class GraphBuilder:
    """Collects operators in any order, then connects them.

    A `Data` operator without inputs gets GE's unconnected input described like its output.
    """

    def __init__(self, name: str = "graph") -> None:
        self._graph = GraphData(name)
        self._edges: List[Tuple[NodeData, Sequence[InputRef], Sequence[str]]] = []
        self._wanted_descs: List[Tuple[NodeData, int]] = []

    def add_op(
        self,
        name: str,
        type: str,
        *,
        inputs: Sequence[InputRef] = (),
        controls: Sequence[str] = (),
        outputs: Sequence[TensorDesc] = (),
        attrs: Optional[Dict[str, Any]] = None,
        input_descs: Optional[Sequence[TensorDesc]] = None,
        output_attrs: Optional[Sequence[Dict[str, Any]]] = None,
    ) -> Node:
        """Add an operator; `inputs` are (producer, port) or None, and may name later operators.

        Without `input_descs` an input is described like its producer's output. `output_attrs`
        holds attributes of the output descriptions, one dict an output. An origin shape that was
        not set becomes the shape. IRError for a name used twice or an attribute GE does not take.
        """
        node = NodeData(name, type)
        node.id = len(self._graph.nodes)
        try:
            self._graph.append(node)
            if attrs:
                node.attrs = {key: check_value(value) for key, value in attrs.items()}
            node.output_descs = [_filled(desc) for desc in outputs]
            for index, extra in enumerate(output_attrs or ()):
                if extra:
                    checked = {key: check_value(value) for key, value in extra.items()}
                    desc = node.output_descs[index]
                    desc._attrs = dict(desc._attrs or {}, **checked)
        except ValueError as error:
            raise IRError(str(error), node=name, stage=STAGE) from None
        node.outputs = [[] for _ in outputs]
        if type == "Data" and not inputs:
            inputs = (None,)
            input_descs = input_descs or outputs
        if input_descs is not None:
            node.input_descs = [_filled(desc) for desc in input_descs]
        self._edges.append((node, tuple(inputs), tuple(controls)))
        return Node(node)

    def build(self) -> Graph:
        """Connect everything; IRError naming the node whose input does not exist."""
        graph = self._graph
        for node, inputs, controls in self._edges:
            self._connect(node, inputs)
            for name in controls:
                node.link_control(self._producer(node, name))
            if node.type in _PROTOTYPES:
                _note_prototype(node)
        self._edges = []
        for node in graph.nodes.values():
            if node.type == "Data":
                graph.inputs.extend((node, port) for port in range(len(node.outputs)))
            elif node.type == "NetOutput":
                graph.outputs.extend(edge for edge in node.inputs if edge is not None)
        return Graph._wrap(graph)

    def _producer(self, node: NodeData, name: str) -> NodeData:
        producer = self._graph.nodes.get(name)
        if producer is None:
            raise IRError("input {} names no node".format(name), node=node.name, stage=STAGE)
        return producer

    def _connect(self, node: NodeData, inputs: Sequence[InputRef]) -> None:
        node.inputs = [None] * len(inputs)
        given = node.input_descs
        if given and len(given) != len(inputs):
            raise IRError(
                "{} input_descs for {} inputs".format(len(given), len(inputs)), node.name, STAGE
            )
        for port, ref in enumerate(inputs):
            if ref is None:
                if len(node.input_descs) == port:
                    node.input_descs.append(_unconnected())
                continue
            producer = self._producer(node, ref[0])
            if not 0 <= ref[1] < len(producer.outputs):
                raise IRError("input {}:{} names no output".format(*ref), node.name, STAGE)
            if len(node.input_descs) == port:
                node.input_descs.append(producer.output_descs[ref[1]].copy())
            node.link(port, producer, ref[1])


def _filled(desc: TensorDesc) -> TensorDesc:
    new = desc.copy()
    if new._origin_dims is None:
        new._origin_dims = new._dims
    return new


def _unconnected() -> TensorDesc:
    from tf_autofuse.ge.types import DataType

    return TensorDesc([], Format.FORMAT_RESERVED, DataType.DT_UNDEFINED)


def _note_prototype(node: NodeData) -> None:
    """Set the attributes GE derives from an operator's prototype, unless they are there."""
    attrs = tuple(name for name in _PROTOTYPES[node.type][2] if name in node.attrs)
    for key, value in _notes(node.type, len(node.inputs), len(node.outputs), attrs):
        if key not in node.attrs:
            node.attrs[key] = list(value)


@functools.lru_cache(maxsize=1024)
def _notes(
    type: str, inputs: int, outputs: int, attrs: Sequence[str]
) -> List[Tuple[str, List[Any]]]:
    """The notes on a node with that many ports and those of the prototype's attributes."""
    (in_name, in_kind), (out_name, out_kind), _ = _PROTOTYPES[type]
    notes: Dict[str, List[Any]] = {}
    if in_name:
        names = _port_names(in_name, in_kind == 2, inputs)
        notes.update(_input_name_key=sorted(names))
        notes.update(_input_name_value=[names.index(name) for name in sorted(names)])
        notes.update(_ir_inputs_key=[in_name], _ir_inputs_value=[in_kind])
    names = _port_names(out_name, out_kind == 1, outputs)
    notes.update(_output_name_key=sorted(names))
    notes.update(_output_name_value=[names.index(name) for name in sorted(names)])
    notes.update(_ir_outputs_key=[out_name], _ir_outputs_value=[out_kind])
    notes.update(_ir_attr_names=list(attrs))
    return [(key, value) for key, value in notes.items() if value]


def _port_names(name: str, dynamic: bool, count: int) -> List[str]:
    return ["{}{}".format(name, port) for port in range(count)] if dynamic else [name][:count]
