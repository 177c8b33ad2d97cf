"""Pieces of a loop whose texts are the same but for the tensors that they read.

    if (in piece 0) { out0[i] = in0[i * s0_0] * 2; }         const float* in0 = from0[piece];
    else if (in piece 1) { out0[i] = in1[i * s1_0] * 2; }    const int64_t s0_0 = from1[piece];
    ...                                                      out0[i] = in0[i * s0_0] * 2;

The text of the first one is printed once for all, behind names for what it reads that come from
tables: the compiler needs no time for the others, and nothing is asked piece by piece.
"""
from __future__ import annotations

import re
from typing import Dict, List, NamedTuple, Sequence, Tuple

from tf_autofuse.codegen.host_scalar import MEMORY_TYPES
from tf_autofuse.loop.ir import Load, LoopKernel, Value

_NAME = re.compile(r"\b(in|s|v|w|run)([0-9]+)((?:_[0-9]+)?)\b")


class Piece(NamedTuple):
    """The text of a piece, and the names of what it reads, in order of their first use."""

    number: int
    lines: List[str]
    reads: Tuple[str, ...]


def alike(pieces: Sequence[Tuple[List[str], Sequence[Value]]], loop: LoopKernel,
          index: Dict[str, int]) -> List[List[Piece]]:
    """Groups of the pieces, of which the text and the values of its own are given. `index` has the
    numbers of values in the text."""
    groups: Dict[Tuple[str, ...], List[Piece]] = {}
    for number, (lines, own) in enumerate(pieces):
        values = {str(index[value.name]) for value in own}
        inputs = {str(value.input): MEMORY_TYPES[loop.sources[value.input].dtype]
                  for value in own if isinstance(value, Load)}
        names: Dict[str, str] = {}

        def common(match: "re.Match[str]", names: Dict[str, str] = names,
                   values=values, inputs=inputs) -> str:
            word, digits, tail = match.groups()
            if digits not in (inputs if word in ("in", "s") else values):
                return match.group()
            kind = inputs[digits] if word == "in" else word
            return names.setdefault(match.group(), "<%s %d%s>" % (kind, len(names), tail))

        text = tuple(_NAME.sub(common, line) for line in lines)
        reads = tuple(name for name in names if name[0] in "is")
        groups.setdefault(text, []).append(Piece(number, lines, reads))
    return list(groups.values())
