"""Attribute values: which Python types GE takes, and which of its own it hands out."""
from tf_autofuse.ge.proto import ge as proto

from .tensor import Tensor
from .types import DataType

_LISTS = {float: ("f", 3), bool: ("b", 4), int: ("i", 2), str: ("s", 1)}


def to_message(value):
    """The AttrDef of a Python value; ValueError for a type that GE does not take."""
    message = proto.AttrDef()
    if isinstance(value, str):
        message.s = value.encode()
    elif isinstance(value, float):
        message.f = value
    elif isinstance(value, bool):
        message.b = value
    elif isinstance(value, DataType):
        message.dt = int(value)
    elif isinstance(value, Tensor):
        message.t.CopyFrom(value._message)
    elif isinstance(value, int):
        message.i = value
    else:
        _set_list(message, value)
    return message


def _set_list(message, value):
    if not isinstance(value, list) or not value:
        raise ValueError("Unsupported attribute type: {}".format(type(value)))
    for kind, (field, number) in _LISTS.items():
        if all(isinstance(item, kind) for item in value):
            items = [item.encode() for item in value] if kind is str else value
            getattr(message.list, field).extend(items)
            message.list.val_type = number
            return
    raise ValueError("Unsupported attribute type: {}".format(type(value)))


def of_message(message):
    """The Python value; RuntimeError for a kind that GE cannot hand to Python."""
    kind = message.WhichOneof("value")
    if kind == "s":
        return message.s.decode()
    if kind in ("i", "f", "b"):
        return getattr(message, kind)
    if kind == "dt":
        return DataType(message.dt)
    if kind == "t":
        return Tensor(message.t)
    if kind == "list":
        return _list(message.list)
    raise RuntimeError("Unsupported attribute type: {}".format(kind))


def _list(values):
    for field, number in _LISTS.values():
        items = list(getattr(values, field))
        if items and values.val_type in (0, number):
            return [item.decode() for item in items] if field == "s" else items
    if values.val_type in (1, 2, 3, 4):
        return []
    raise RuntimeError("Unsupported attribute type: list")
