"""The ONNX dump of GE (`ge_onnx_*.pbtxt`): writing it, and reading what it keeps.

Missing at every level: types as attributes, bytes, functions, graphs, lists of types and tensors,
empty lists, the link from control-flow operators to their subgraphs. Level 1 keeps strings and
tensor data, level 2 drops them, level 3 keeps only names, types and edges.
"""

from __future__ import annotations

from typing import Any, Dict, Tuple

from tf_autofuse.ge.graph import GraphData
from tf_autofuse.ge.node import NodeData
from tf_autofuse.ge.proto import onnx
from tf_autofuse.ge.serialize import family
from tf_autofuse.ge.tensor import Tensor, TensorDesc
from tf_autofuse.ge.types import ONNX_OF, layout_name, type_text

LEVEL_ALL = 1
LEVEL_NO_DATA = 2
LEVEL_NO_DESC = 3
_IR_VERSION = 6
_FLOAT, _INT, _STRING, _GRAPH, _FLOATS, _INTS, _STRINGS = 1, 2, 3, 5, 6, 7, 8

_KEPT_NOTES = ("_input_name_key", "_input_name_value")
_NODE_LISTS = {
    _INTS: "dst_index input_i is_input_const output_i src_index workspace workspace_bytes".split(),
    _STRINGS: "dst_name input_name src_name".split(),
}
_DESC_NUMBERS = (
    "cmps_size cmps_tab_offset data_offset input_tensor output_tensor real_dim_cnt reuse_input"
    " size weight_size"
).split()

_Attrs = Dict[str, Tuple[int, Any]]  # name -> (AttributeProto type, value)


def graph_to_onnx(root: GraphData, level: int, producer: str) -> Any:
    """The ModelProto of a graph with all its subgraphs."""
    model = onnx.ModelProto(ir_version=_IR_VERSION, producer_name=producer)
    graphs = family(root)
    _graph(root, model.graph, level)
    for subgraph in graphs[1:]:
        node = model.graph.node.add(name=subgraph.name, op_type="subgraph")
        attribute = node.attribute.add(name="graph", type=_GRAPH)
        _graph(subgraph, attribute.g, level)
        for data, _ in subgraph.inputs:
            _end(data, attribute.g.input.add())
    return model


def _graph(graph: GraphData, target: Any, level: int) -> None:
    target.name = graph.name
    for node in graph.ordered():
        _node(node, target.node.add(), level)
    for node, _ in graph.outputs:
        _end(node, target.output.add())


def _end(node: NodeData, target: Any) -> None:
    """A graph end: the last type and the dims of all outputs in a row, as GE writes it."""
    target.name = node.name
    tensor = target.type.tensor_type
    tensor.shape.SetInParent()
    for desc in node.output_descs:
        tensor.elem_type = ONNX_OF.get(desc._dtype, 0)
        for dim in desc._dims:
            tensor.shape.dim.add(dim_value=dim)


def _node(node: NodeData, target: Any, level: int) -> None:
    target.name = node.name
    target.op_type = "ge:" + node.type
    target.input.extend(
        "" if edge is None else "{}:{}".format(edge[0].name, edge[1]) for edge in node.inputs
    )
    target.input.extend(producer.name + ":-1" for producer in node.in_controls)
    target.output.extend(
        "{}:{}".format(node.name, port) for port, users in enumerate(node.outputs) if users
    )
    if node.out_controls:
        target.output.append(node.name + ":-1")
    if level == LEVEL_NO_DESC:
        return
    attrs = _node_attrs(node, level == LEVEL_ALL)
    for name in sorted(attrs):
        _attribute(target.attribute.add(name=name), *attrs[name])


def _attribute(target: Any, kind: int, value: Any) -> None:
    target.type = kind
    field = {_FLOAT: "f", _INT: "i", _STRING: "s"}.get(kind)
    if field:
        setattr(target, field, value)
    else:
        getattr(target, {_FLOATS: "floats", _INTS: "ints", _STRINGS: "strings"}[kind]).extend(value)


def _node_attrs(node: NodeData, everything: bool) -> _Attrs:
    attrs: _Attrs = {}
    for key, value in node.attrs.items():
        if key in _KEPT_NOTES:
            _add(attrs, key, "", value, True)
        elif not key.startswith(("_ir_", "_output_name_", "_opt_input")):
            _add(attrs, key, "", value, everything)
    for kind, names in _NODE_LISTS.items():
        for name in names:
            attrs[name] = (kind, _raw_list(node, name))
    attrs["id"] = (_INT, node.id)
    attrs["stream_id"] = (_INT, node.raw.stream_id if node.raw is not None else 0)
    for kind_name, descs in (("input", node.input_descs), ("output", node.output_descs)):
        attrs[kind_name + "_desc_nums"] = (_INT, len(descs))
        for index, desc in enumerate(descs):
            _desc_attrs(attrs, kind_name + "_desc_", ":{}".format(index), desc, everything)
    return attrs


def _raw_list(node: NodeData, name: str) -> list:
    values = getattr(node.raw, name) if node.raw is not None else ()
    return [item.encode("utf-8") if isinstance(item, str) else int(item) for item in values]


def _add(attrs: _Attrs, key: str, suffix: str, value: Any, everything: bool) -> None:
    """One attribute, under as many names as GE gives it; kinds it leaves out give none."""
    name = key + suffix
    kind = type(value)
    if kind is list:
        _add_list(attrs, name, value, everything)
    elif kind is Tensor:
        _add_tensor(attrs, name, value, everything)
    elif kind is float:
        attrs[name] = (_FLOAT, value)
    elif kind in (int, bool):
        attrs[name] = (_INT, int(value))
    elif kind is str:
        if everything:
            attrs[name] = (_STRING, value.encode("utf-8", "surrogateescape"))
    elif hasattr(value, "WhichOneof"):
        _add_message(attrs, name, value, everything)


def _add_list(attrs: _Attrs, name: str, values: list, everything: bool) -> None:
    kind = type(values[0])
    if kind is float:
        attrs[name] = (_FLOATS, values)
    elif kind is not str:
        attrs[name] = (_INTS, [int(item) for item in values])
    elif everything:
        attrs[name] = (_STRINGS, [item.encode("utf-8", "surrogateescape") for item in values])


def _add_message(attrs: _Attrs, name: str, message: Any, everything: bool) -> None:
    kind = message.WhichOneof("value")
    if kind == "s" and everything:
        attrs[name] = (_STRING, message.s)
    elif kind == "list_list_int":
        for row, values in enumerate(message.list_list_int.list_list_i):
            if values.list_i:
                attrs["{}_{}".format(name, row)] = (_INTS, list(values.list_i))


def _add_tensor(attrs: _Attrs, name: str, tensor: Tensor, everything: bool) -> None:
    desc = tensor._desc
    attrs[name + "_desc_dtype"] = (_STRING, desc._dtype.name.encode())
    attrs[name + "_desc_layout"] = (_STRING, layout_name(desc._format).encode())
    attrs[name + "_desc_device_type"] = (_STRING, _device(desc))
    if desc._dims:
        attrs[name + "_desc_shape"] = (_INTS, desc._dims)
    if everything:
        attrs[name + "_data"] = (_STRING, tensor._bytes)


def _desc_attrs(attrs: _Attrs, prefix: str, suffix: str, desc: TensorDesc, full: bool) -> None:
    values: _Attrs = {
        "cmps_tab": (_STRING, desc._raw.cmps_tab.encode() if desc._raw is not None else b""),
        "device_type": (_STRING, _device(desc)),
        "dtype": (_STRING, type_text(desc._dtype).encode()),
        "layout": (_STRING, layout_name(desc._format).encode()),
        "origin_dtype": (_STRING, b"DT_UNDEFINED"),
        "origin_layout": (_STRING, layout_name(desc._origin_format).encode()),
        "origin_shape": (_INTS, desc._origin_dims or ()),
        "shape": (_INTS, desc._dims),
        "attr_format_for_int": (_INT, int(desc._format)),
        "attr_origin_format_for_int": (_INT, int(desc._origin_format)),
    }
    for name in _DESC_NUMBERS:
        values[name] = (_INT, int(getattr(desc._raw, name)) if desc._raw is not None else 0)
    if full:
        spelled = layout_name(desc._origin_format).replace("FORMAT_", "")
        values["attr_origin_format"] = (_STRING, spelled.encode())
    if desc._origin_dims is not None:
        values["attr_origin_shape_initialized"] = (_INT, 1)
    if desc._origin_dims:
        values["attr_origin_shape"] = (_INTS, desc._origin_dims)
    for name, value in values.items():
        attrs[prefix + name + suffix] = value
    for key, value in (desc._attrs or {}).items():
        _add(attrs, prefix + "attr_" + key, suffix, value, full)


def _device(desc: TensorDesc) -> bytes:
    return desc._raw.device_type.encode() if desc._raw is not None else b"NPU"
