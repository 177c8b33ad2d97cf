"""A serialized GraphDef cut into its nodes and the rest, so that what is untouched keeps its bytes.

Parsing and writing a NodeDef again may reorder its attributes; cutting along the protobuf wire
format does not, and it leaves the function library unparsed.
"""

from __future__ import annotations

from typing import Any, List, Sequence, Tuple

from tf_autofuse.errors import IRError
from tf_autofuse.ge.plaintext import varint

NODE_FIELD = 1  # GraphDef.node
LIBRARY_FIELD = 2  # GraphDef.library
NODE_OP_FIELD = 2  # NodeDef.op
_LENGTH_DELIMITED = 2
_FIXED_BYTES = {1: 8, 5: 4}  # wire type -> size


def split(data: bytes) -> Tuple[List[bytes], bytes, List[bytes]]:
    """(NodeDefs, all other fields as they stand, function libraries); IRError if cut short."""
    nodes: List[bytes] = []
    rest: List[bytes] = []
    libraries: List[bytes] = []
    position = 0
    while position < len(data):
        start = position
        tag, position = _varint(data, position)
        field, wire_type = tag >> 3, tag & 7
        body, position = _skip(data, position, wire_type)
        if field == NODE_FIELD:
            nodes.append(data[body:position])
            continue
        rest.append(data[start:position])
        if field == LIBRARY_FIELD:
            libraries.append(data[body:position])
    return nodes, b"".join(rest), libraries


def node_op(node: bytes) -> bytes:
    """The operator of a serialized NodeDef; empty when it has none."""
    position = 0
    while position < len(node):
        tag, position = _varint(node, position)
        body, position = _skip(node, position, tag & 7)
        if tag >> 3 == NODE_OP_FIELD:
            return node[body:position]
    return b""


def join(nodes: List[bytes], rest: bytes) -> bytes:
    """The GraphDef of these NodeDefs and other fields."""
    parts: List[bytes] = []
    for node in nodes:
        parts += (b"\x0a", varint(len(node)), node)
    return b"".join(parts) + rest


def library(functions: Sequence[Any]) -> bytes:
    """A library field with these FunctionDefs, to append to the rest: library fields add up."""
    field = b""
    for function in functions:
        raw = function.SerializeToString()
        field += b"\x0a" + varint(len(raw)) + raw
    return b"\x12" + varint(len(field)) + field if field else b""


def _skip(data: bytes, position: int, wire_type: int) -> Tuple[int, int]:
    """Where the value at `position` has its content, and where it ends."""
    if wire_type == 0:
        return position, _varint(data, position)[1]
    if wire_type == _LENGTH_DELIMITED:
        size, body = _varint(data, position)
    else:
        size, body = _FIXED_BYTES.get(wire_type, len(data) + 1), position
    if body + size > len(data):
        raise _damaged(position)
    return body, body + size


def _varint(data: bytes, position: int) -> Tuple[int, int]:
    value = shift = 0
    while position < len(data) and shift < 70:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
    raise _damaged(position)


def _damaged(position: int) -> IRError:
    return IRError(
        "the GraphDef is cut short or damaged at byte {}".format(position), stage="import"
    )
