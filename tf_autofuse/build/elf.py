"""A look at a shared library before it is opened: the loader crashes on one that was cut short."""

from __future__ import annotations

import os
import struct

_SHARED = 3
_LOAD = 1
_HEADER = struct.Struct("=4sBB10xHHIQQQIHHHHHH")
_SEGMENT = struct.Struct("=IIQQQQQQ")
_MAX_SEGMENTS = 64


def why_no_library(path: str) -> str:
    """Why a file is no whole 64-bit ELF shared library; empty when it looks like one.

    All that the loader maps must lie inside the file. OSError when it cannot be read.
    """
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        head = file.read(_HEADER.size)
        if len(head) < _HEADER.size or head[:5] != b"\x7fELF\x02":
            return "it is no 64-bit ELF file"
        values = _HEADER.unpack(head)
        kind, start, item, count = values[3], values[7], values[11], values[12]
        sections_end = values[8] + values[13] * values[14]
        if kind != _SHARED or item != _SEGMENT.size or not 0 < count <= _MAX_SEGMENTS:
            return "it is no shared library"
        file.seek(start)
        table = file.read(item * count)
    if len(table) < item * count or sections_end > size:
        return "it is cut short"
    for number in range(count):
        what, _, offset, _, _, stored, _, _ = _SEGMENT.unpack_from(table, item * number)
        if what == _LOAD and offset + stored > size:
            return "it is cut short"
    return ""
