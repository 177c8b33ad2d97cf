"""Reading graph dumps: proto text, .air and, as far as it goes, the ONNX form."""

from __future__ import annotations

import os
import re
from typing import Any, Dict, List, Optional, Tuple

from tf_autofuse.errors import DumpError, IRError
from tf_autofuse.ge.graph import Graph, GraphData
from tf_autofuse.ge.node import NodeData
from tf_autofuse.ge.proto import ge, onnx
from tf_autofuse.ge.serialize import (
    STAGE,
    family,
    model_to_graph,
    read_air,
    read_bytes,
    split_input,
)
from tf_autofuse.ge.tensor import TensorDesc
from tf_autofuse.ge.textformat import bytes_text, parse_text
from tf_autofuse.ge.types import DataType, Format, format_of_layout

_FLOAT, _INT, _STRING, _FLOATS, _INTS, _STRINGS = 1, 2, 3, 6, 7, 8
_DATA_TYPES = dict(DataType.__members__, DT_BFLOAT16=DataType.DT_BF16)
# Attributes of the ONNX form that describe edges and descriptors rather than the operator.
_STRUCTURE = re.compile(
    r"((input|output)_desc_.*|dst_(index|name)|src_(index|name)|(input|output)_i|input_name"
    r"|is_input_const|workspace(_bytes)?|stream_id|id)$"
)
_PORT = re.compile(r"[0-9]{1,9}\Z")
# A file may name few ports of many. What it claims is believed in proportion to what it describes,
# so that a short text cannot ask for endless memory.
_PORTS, _PORTS_PER_ENTRY = 4096, 64
_TENSOR_PARTS = ("_desc_dtype", "_desc_layout", "_desc_shape", "_desc_device_type", "_data")


def read_dump(path: str) -> Graph:
    """The graph in a ge_proto_*.txt, ge_onnx_*.pbtxt or .air file.

    The ONNX form gives what it holds: at level 3 names, types and edges only, and never which
    subgraph belongs to which operator. DumpError with path and line for a damaged file or one of
    another kind; OSError when it cannot be read.
    """
    if path.endswith(".air"):
        return _numbered(read_air(path), path)
    name = os.path.basename(path)
    if name.startswith("ge_readable"):
        raise DumpError("a readable dump cannot be read back", path=path, line=1)
    text = _read_text(path)
    try:
        if name.endswith(".pbtxt"):
            return _numbered(_onnx_to_graph(parse_text(text, onnx.ModelProto(), path)), path)
        return _numbered(model_to_graph(parse_text(text, ge.ModelDef(), path)), path)
    except IRError as error:
        line = _line_of_node(text, error.node)
        raise DumpError(error.message, path=path, line=line, node=error.node) from None


def _numbered(data: GraphData, path: str) -> Graph:
    found = re.search(r"_graph_(\d+)_", os.path.basename(path))
    data.graph_id = int(found.group(1)) if found else 0
    return Graph._wrap(data)


def _read_text(path: str) -> str:
    raw = read_bytes(path)
    if not raw.strip():
        raise DumpError("the file is empty", path=path, line=1)
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise DumpError("not text: {}".format(error.reason), path=path, line=line) from None


def _line_of_node(text: str, node: str) -> int:
    """1-based line where `node` is described, the end of the file when nobody is named."""
    place = text.find("name: {}\n".format(bytes_text(node))) if node else -1
    return text.count("\n", 0, place) + 1 if place >= 0 else text.count("\n") or 1


def _onnx_to_graph(model: Any) -> GraphData:
    if not model.HasField("graph"):
        raise IRError("the model holds no graph", stage=STAGE)
    root = _onnx_graph(model.graph)
    for node in model.graph.node:
        if node.op_type == "subgraph" and node.attribute:
            subgraph = _onnx_graph(node.attribute[0].g)
            subgraph.root = root
            root.subgraphs[subgraph.name] = subgraph
    for graph in family(root):
        graph.outputs = [
            edge
            for node in graph.nodes.values()
            if node.type == "NetOutput"
            for edge in node.inputs
            if edge is not None
        ]
    return root


def _onnx_graph(message: Any) -> GraphData:
    graph = GraphData(message.name)
    messages = [node for node in message.node if node.op_type != "subgraph"]
    described = sum(len(node.output) + len(node.attribute) for node in messages)
    ports = _PORTS + _PORTS_PER_ENTRY * described
    for node in messages:
        try:
            made, ports = _onnx_node(node, ports)
            graph.append(made)
        except (ValueError, TypeError, AttributeError) as error:
            raise IRError(str(error), node=node.name, stage=STAGE) from None
    for node in messages:
        _onnx_link(graph, node)
    graph.inputs = [(node, 0) for node in graph.nodes.values() if node.type == "Data"]
    return graph


def _onnx_node(message: Any, ports: int) -> Tuple[NodeData, int]:
    """The node, and what it leaves of the number of inputs and outputs that a graph may have."""
    kind = message.op_type
    node = NodeData(message.name, kind[3:] if kind.startswith("ge:") else kind)
    values = {item.name: _onnx_value(item) for item in message.attribute}
    node.id = values.get("id") or 0
    used = [split_input(text)[1] for text in message.output]
    least = max([int(port) + 1 for port in used if _PORT.match(port)] or [0])
    counts = [_onnx_count(values, "input", 0), _onnx_count(values, "output", least)]
    ports -= sum(counts)
    if ports < 0:
        raise ValueError("it claims {} inputs and {} outputs".format(*counts))
    node.input_descs = _onnx_descs(values, "input", counts[0])
    node.output_descs = _onnx_descs(values, "output", counts[1])
    node.outputs = [[] for _ in node.output_descs]
    tensors = {key[: -len("_desc_dtype")] for key in values if key.endswith("_desc_dtype")}
    parts = {key + part for key in tensors for part in _TENSOR_PARTS}
    node.attrs = {
        key: value
        for key, value in values.items()
        if value is not None and key not in parts and not _STRUCTURE.match(key)
    }
    return node, ports


def _onnx_value(item: Any) -> Any:
    """An attribute in stored form; None for an empty list or a graph."""
    if item.type == _INT:
        return item.i
    if item.type == _FLOAT:
        return item.f
    if item.type == _STRING:
        return item.s.decode("utf-8", "replace")
    if item.type == _STRINGS:
        return [text.decode("utf-8", "replace") for text in item.strings] or None
    if item.type in (_INTS, _FLOATS):
        return list(item.ints if item.type == _INTS else item.floats) or None
    return None


def _onnx_count(values: Dict[str, Any], kind: str, least: int) -> int:
    return max(int(values.get(kind + "_desc_nums") or 0), least)


def _onnx_descs(values: Dict[str, Any], kind: str, count: int) -> List[TensorDesc]:
    return [_onnx_desc(values, kind + "_desc_{}:" + str(index)) for index in range(count)]


def _onnx_desc(values: Dict[str, Any], key: str) -> TensorDesc:
    data_type = _DATA_TYPES.get(values.get(key.format("dtype"), ""), DataType.DT_UNDEFINED)
    layout = values.get(key.format("layout"))
    fmt = format_of_layout(layout) if layout else Format.FORMAT_ND
    desc = TensorDesc(values.get(key.format("shape")) or [], fmt, data_type)
    if values.get(key.format("attr_origin_shape_initialized")):
        desc.set_origin_shape(values.get(key.format("origin_shape")) or [])
    return desc


def _onnx_link(graph: GraphData, message: Any) -> None:
    node = graph.nodes[message.name]
    data = [text for text in message.input if split_input(text)[1] != "-1"]
    while len(node.input_descs) < len(data):
        node.input_descs.append(TensorDesc([], Format.FORMAT_ND, DataType.DT_UNDEFINED))
    node.inputs = [None] * len(node.input_descs)
    port = 0
    for text in message.input:
        edge = _onnx_edge(graph, node, text)
        if edge is not None and edge[1] < 0:
            node.link_control(edge[0])
            continue
        if edge is not None:
            node.link(port, edge[0], edge[1])
        port += 1


def _onnx_edge(graph: GraphData, node: NodeData, text: str) -> Optional[Tuple[NodeData, int]]:
    if not text:
        return None
    name, port = split_input(text)
    producer = graph.nodes.get(name)
    if producer is None:
        raise IRError("input {} names no node".format(text), node=node.name, stage=STAGE)
    if port == "-1":
        return producer, -1
    if not _PORT.match(port) or int(port) >= len(producer.outputs):
        raise IRError("input {} names no output".format(text), node=node.name, stage=STAGE)
    return producer, int(port)
