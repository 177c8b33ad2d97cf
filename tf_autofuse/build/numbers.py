"""Numbers in host kernels (csrc/host/numbers.h): those that differ in nothing else share a compile.

The text of a kernel has them in one line. `shared_text` is the text that all such kernels share, and
`exchange` writes the numbers of one of them into a library of that text.
"""
from __future__ import annotations

import re
import struct
from typing import List, Tuple

from ..errors import BuildError

_LINE = re.compile(r"^AUTOFUSE_NUMBERS\(\d+, ([^()]*)\)$", re.MULTILINE)
_COMMENTS = re.compile(r"\A(?://.*\n)+")
_MARK = b"autofuse: numbers".ljust(24, b"\0")  # as in csrc/host/numbers.h


def shared_text(source: str) -> Tuple[str, List[float]]:
    """What kernels that differ in their numbers alone have in common, and the numbers of this one.

    Without numbers, or where they cannot be read (somebody edited them), the text is the source.
    """
    found = _LINE.findall(source)
    try:
        (line,) = found
        numbers = [float.fromhex(word) for word in line.split(", ")]
    except (ValueError, OverflowError):
        return source, []
    text = _COMMENTS.sub("", source)  # they show the numbers, too
    return text.replace(line, ", ".join(["0"] * len(numbers)), 1), numbers


def exchange(library: bytes, numbers: List[float]) -> bytes:
    """A library of the shared text with `numbers` in it; BuildError where it has no place for them.
    """
    if library.count(_MARK) != 1:
        raise BuildError("the library of a kernel has no single place for its numbers")
    data = struct.pack("=%dd" % len(numbers), *numbers)
    start = library.index(_MARK) + len(_MARK)
    return library[:start] + data + library[start + len(data):]
