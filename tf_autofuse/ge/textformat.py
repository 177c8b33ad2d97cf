"""Protobuf text as GE's C++ library prints it, byte for byte.

The printer of the Python library spells floats its own way and its escapes changed over time, so
dumps are printed here. Reading uses the Python library, with the line kept in the error.
"""

from __future__ import annotations

import math
import struct
from typing import Callable, Dict, List

from google.protobuf import text_format
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError

from tf_autofuse.errors import DumpError
from tf_autofuse.ge import plaintext
from tf_autofuse.ge.plaintext import is_repeated

_ESCAPES = {10: "\\n", 13: "\\r", 9: "\\t", 34: '\\"', 39: "\\'", 92: "\\\\"}
_BYTE_TEXT = [
    _ESCAPES.get(byte) or (chr(byte) if 32 <= byte < 127 else "\\{:03o}".format(byte))
    for byte in range(256)
]
# Spelling of bytes outside the table above, for str.translate on latin-1 text.
_TRANSLATE = {byte: text for byte, text in enumerate(_BYTE_TEXT) if text != chr(byte)}


def float_text(value: float) -> str:
    """A 32-bit float as C++ protobuf prints it: six digits if they suffice, else nine."""
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    short = "{:.6g}".format(value)
    try:
        same = struct.pack("f", float(short)) == struct.pack("f", value)
    except OverflowError:  # the six digits lie above the largest float
        same = False
    return short if same else "{:.9g}".format(value)


def bytes_text(value) -> str:
    """A quoted, C-escaped string or bytes value."""
    raw = value.encode("utf-8") if isinstance(value, str) else value
    return '"' + raw.decode("latin-1").translate(_TRANSLATE) + '"'


_SCALAR_TEXT: Dict[int, Callable] = {
    FieldDescriptor.CPPTYPE_INT32: str,
    FieldDescriptor.CPPTYPE_INT64: str,
    FieldDescriptor.CPPTYPE_UINT32: str,
    FieldDescriptor.CPPTYPE_UINT64: str,
    FieldDescriptor.CPPTYPE_FLOAT: float_text,
    FieldDescriptor.CPPTYPE_BOOL: lambda value: "true" if value else "false",
    FieldDescriptor.CPPTYPE_STRING: bytes_text,
}


def _is_map(field) -> bool:
    message = field.message_type
    return message is not None and message.GetOptions().map_entry


class _Printer:
    def __init__(self) -> None:
        self.lines: List[str] = []
        self._kinds: Dict[str, tuple] = {}

    def _kind(self, field) -> tuple:
        """(is map, is repeated, scalar printer or None for a message), looked up once a field."""
        kind = self._kinds.get(field.full_name)
        if kind is None:
            scalar = _SCALAR_TEXT.get(field.cpp_type)
            if field.cpp_type == FieldDescriptor.CPPTYPE_ENUM:
                names = field.enum_type.values_by_number
                scalar = lambda number: names[number].name if number in names else str(number)  # noqa: E731
            kind = self._kinds[field.full_name] = (_is_map(field), is_repeated(field), scalar)
        return kind

    def message(self, message, indent: str) -> None:
        for field, value in message.ListFields():
            is_map, repeated, scalar = self._kind(field)
            if is_map:
                self._map(field.name, value, indent)
                continue
            for item in value if repeated else (value,):
                if scalar is None:
                    self._nested(field.name, item, indent)
                else:
                    self.lines.append("{}{}: {}".format(indent, field.name, scalar(item)))

    def _nested(self, name: str, value, indent: str) -> None:
        self.lines.append("{}{} {{".format(indent, name))
        self.message(value, indent + "  ")
        self.lines.append(indent + "}")

    def _map(self, name: str, value, indent: str) -> None:
        for key in sorted(value):
            self.lines.append("{}{} {{".format(indent, name))
            self.lines.append("{}  key: {}".format(indent, bytes_text(key)))
            self._nested("value", value[key], indent + "  ")
            self.lines.append(indent + "}")


def to_text(message) -> str:
    """`message` as text, fields by number, map entries by key."""
    printer = _Printer()
    printer.message(message, "")
    return "".join(line + "\n" for line in printer.lines)


_MAX_REASON = 300  # the reason may quote a word as long as the file


def parse_text(text: str, message, path: str = ""):
    """Fill `message` from `text` and return it; DumpError with `path` and line when damaged."""
    try:
        message.ParseFromString(plaintext.encode(text, message.DESCRIPTOR))
        return message
    except (plaintext.NotPlain, DecodeError):
        message.Clear()
    try:
        return text_format.Parse(text, message)
    except text_format.ParseError as error:
        line = error.GetLine() or 0
        reason = str(error).split(" : ", 1)[-1]
        raise DumpError(reason[:_MAX_REASON], path=path, line=line) from None
    except RecursionError:
        raise DumpError("messages are nested too deeply", path=path) from None
    except (ValueError, TypeError, OverflowError) as error:
        raise DumpError(str(error)[:_MAX_REASON], path=path) from None
