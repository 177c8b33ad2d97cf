"""Attribute values: what Python may set, what it reads back, and their protobuf form.

A node keeps an attribute either as the Python value itself (str, float, bool, DataType, Tensor,
int, or a non-empty list of one of these but Tensor) or, for kinds the Python face cannot express,
as the `AttrDef` message it came in. Nothing is lost between reading a file and writing it.
"""

from __future__ import annotations

import struct
from typing import Any, Dict

from tf_autofuse.ge.proto import LIST_KINDS
from tf_autofuse.ge.tensor import Tensor, TensorDesc
from tf_autofuse.ge.types import (
    DATA_TYPE_OF_PROTO,
    PROTO_OF,
    DataType,
    Format,
    format_of_layout,
    layout_name,
)

#: GE's notes about operator prototypes; their lists carry no `val_type` in files.
BOOKKEEPING = frozenset(
    (
        "_input_name_key",
        "_input_name_value",
        "_output_name_key",
        "_output_name_value",
        "_opt_input",
        "_ir_attr_names",
        "_ir_inputs_key",
        "_ir_inputs_value",
        "_ir_outputs_key",
        "_ir_outputs_value",
        "_src_out_peer_index_for_ge_txt_load",
    )
)

# Descriptor attributes that only repeat what the fields of TensorDesc say.
_DERIVED = frozenset(
    (
        "format_for_int",
        "origin_format",
        "origin_format_for_int",
        "origin_shape",
        "origin_shape_initialized",
    )
)

_FLOAT32 = struct.Struct("f")
_SCALAR_TYPES = (str, int, bool, DataType, Tensor)


def _float32(value: float) -> float:
    try:
        return _FLOAT32.unpack(_FLOAT32.pack(value))[0]
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def check_value(value: Any) -> Any:
    """`value` as GE would store it (floats rounded to 32 bits); ValueError for other types.

    Types are matched exactly: a numpy scalar, a tuple, bytes, None, an empty or a mixed list is
    refused, as GE's binding does.
    """
    kind = type(value)
    if kind is float:
        return _float32(value)
    if kind in _SCALAR_TYPES:
        return value
    if kind is list:
        return _check_list(value)
    raise ValueError("Unsupported attribute type: {}".format(kind.__name__))


def _check_list(values: list) -> list:
    if not values:
        raise ValueError("Unsupported attribute type: empty list")
    kind = type(values[0])
    if any(type(item) is not kind for item in values):
        raise ValueError("Unsupported attribute type: list of mixed types")
    if kind is float:
        return [_float32(item) for item in values]
    if kind is DataType:  # GE takes the enum for a plain integer here
        return [int(item) for item in values]
    if kind in (int, bool, str):
        return list(values)
    raise ValueError("Unsupported attribute type: list of {}".format(kind.__name__))


def read_value(stored: Any) -> Any:
    """What `get_attr` gives for a stored value; RuntimeError for kinds Python cannot express."""
    kind = type(stored)
    if kind is list:
        return list(stored)
    if kind is float or kind in _SCALAR_TYPES:
        return stored
    if stored.WhichOneof("value") == "list":
        return _read_list(stored.list)
    raise RuntimeError("Unsupported attribute type")


def _read_list(message: Any) -> list:
    name = LIST_KINDS[message.val_type] if message.val_type < len(LIST_KINDS) else ""
    if name == "VT_LIST_DATA_TYPE":
        return [DataType(item) for item in message.dt]
    if name in ("VT_LIST_NONE", "VT_LIST_STRING"):
        return [item.decode("utf-8", "replace") for item in message.s] or list(message.i)
    for wanted, field in (("INT", "i"), ("FLOAT", "f"), ("BOOL", "b")):
        if name == "VT_LIST_" + wanted:
            return list(getattr(message, field))
    raise RuntimeError("Unsupported attribute type")


def _decode_text(raw: bytes, message: Any) -> Any:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return message


def from_proto(message: Any, key: str = "") -> Any:
    """The stored form of an AttrDef; the message itself where Python has no such value."""
    kind = message.WhichOneof("value")
    if kind == "list":
        return _list_from_proto(message, key)
    if kind == "s":
        return _decode_text(message.s, message)
    if kind in ("i", "f", "b"):
        return getattr(message, kind)
    if kind == "dt" and message.dt in DataType._value2member_map_:
        return DataType(message.dt)
    if kind == "t":
        return tensor_from_proto(message.t)
    return message


def _list_from_proto(message: Any, key: str) -> Any:
    values = message.list
    if (values.val_type == 0) != (key in BOOKKEEPING):
        return message
    if values.s and values.val_type in (0, 1):
        texts = [_decode_text(item, None) for item in values.s]
        return message if None in texts else texts
    if values.i and values.val_type in (0, 2):
        return list(values.i)
    if values.f and values.val_type == 3:
        return list(values.f)
    if values.b and values.val_type == 4:
        return list(values.b)
    return message


_LIST_FIELDS = {str: ("s", 1), int: ("i", 2), float: ("f", 3), bool: ("b", 4)}


def to_proto(stored: Any, target: Any, key: str = "") -> None:
    """Write a stored value into the AttrDef `target`."""
    kind = type(stored)
    if kind is str:
        target.s = stored.encode("utf-8", "surrogateescape")
    elif kind is bool:
        target.b = stored
    elif kind is int:
        target.i = stored
    elif kind is float:
        target.f = stored
    elif kind is DataType:
        target.dt = int(stored)
    elif kind is Tensor:
        tensor_to_proto(stored, target.t)
    elif kind is list:
        _list_to_proto(stored, target.list, key)
    else:
        target.CopyFrom(stored)


def _list_to_proto(values: list, target: Any, key: str) -> None:
    target.SetInParent()
    if not values:
        return
    field, number = _LIST_FIELDS[type(values[0])]
    if field == "s":
        values = [item.encode("utf-8", "surrogateescape") for item in values]
    getattr(target, field).extend(values)
    if key not in BOOKKEEPING:
        target.val_type = number


def attrs_from_proto(entries: Any) -> Dict[str, Any]:
    """All entries of a protobuf attribute map in stored form."""
    return {key: from_proto(entries[key], key) for key in entries}


def attrs_to_proto(attrs: Dict[str, Any], entries: Any) -> None:
    """Write stored attributes into a protobuf attribute map."""
    for key, value in attrs.items():
        to_proto(value, entries[key], key)


def tensor_from_proto(message: Any) -> Tensor:
    """A TensorDef message as Tensor."""
    return Tensor._make(desc_from_proto(message.desc), message.data)


def tensor_to_proto(tensor: Tensor, target: Any) -> None:
    """Write `tensor` into the TensorDef message `target`."""
    desc_to_proto(tensor._desc, target.desc)
    target.data = tensor._bytes


def desc_from_proto(message: Any) -> TensorDesc:
    """A TensorDescriptor message as TensorDesc."""
    desc = TensorDesc.__new__(TensorDesc)
    desc._dims = tuple(message.shape.dim)
    desc._format = format_of_layout(message.layout)
    desc._dtype = DATA_TYPE_OF_PROTO[message.dtype]
    entries = message.attr
    desc._origin_dims = tuple(entries["origin_shape"].list.i) if "origin_shape" in entries else None
    if desc._origin_dims is None and _initialized(entries):
        desc._origin_dims = ()
    desc._origin_format = (
        format_of_layout(entries["origin_format"].s.decode("ascii", "replace"))
        if "origin_format" in entries
        else Format.FORMAT_RESERVED
    )
    extra = [key for key in entries if key not in _DERIVED]
    desc._attrs = {key: from_proto(entries[key], key) for key in extra} or None
    desc._raw = message
    return desc


def _initialized(entries: Any) -> bool:
    return "origin_shape_initialized" in entries and entries["origin_shape_initialized"].b


def desc_to_proto(desc: TensorDesc, target: Any) -> None:
    """Write `desc` into the TensorDescriptor message `target`, with GE's derived attributes."""
    if desc._raw is not None:
        target.CopyFrom(desc._raw)
        target.ClearField("attr")
        target.ClearField("shape")
    else:
        target.device_type = "NPU"
    target.dtype = PROTO_OF[desc._dtype]
    target.shape.SetInParent()
    target.shape.dim.extend(desc._dims)
    target.layout = layout_name(desc._format)
    entries = target.attr
    bare = desc._raw is not None and not desc._raw.attr  # some writers leave the notes out
    if not bare:
        _write_derived(desc, entries)
    if desc._attrs:
        attrs_to_proto(desc._attrs, entries)


def _write_derived(desc: TensorDesc, entries: Any) -> None:
    entries["format_for_int"].i = int(desc._format)
    entries["origin_format"].s = layout_name(desc._origin_format).encode("ascii")
    entries["origin_format_for_int"].i = int(desc._origin_format)
    entries["origin_shape_initialized"].b = desc._origin_dims is not None
    if desc._origin_dims is not None:
        origin = entries["origin_shape"].list
        origin.i.extend(desc._origin_dims)
        origin.val_type = 2
