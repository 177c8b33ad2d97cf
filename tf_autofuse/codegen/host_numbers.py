"""Numbers that are no part of a kernel's code (csrc/host/numbers.h).

Clusters of different sizes often differ in nothing but a factor that comes of the sizes: how many
points a mean has, or one over that. Their kernels are compiled once.
"""
from __future__ import annotations

import math
from typing import Dict, List, Sequence

from tf_autofuse.loop.ir import Const, LoopKernel, Map, Value
from tf_autofuse.loop.ops import FLOATS

_SMALLEST = 3
"""The compiler may make something of smaller counts, and of one over them."""

_NEAR = 2.0 ** -23
"""By how much of it a number in float32 may miss one over a count."""


def free_numbers(loop: LoopKernel) -> List[float]:
    """The numbers of a kernel, in order of their first use."""
    return list(dict.fromkeys(_free(loop).values()))


def number_places(loop: LoopKernel, numbers: Sequence[float]) -> Dict[str, int]:
    """The constants of `loop` that are among `numbers`, with their place there."""
    free = _free(loop)
    return {name: numbers.index(value) for name, value in free.items() if value in numbers}


def print_numbers(numbers: Sequence[float]) -> str:
    """The line that holds them."""
    words = ", ".join(number.hex() for number in numbers)
    return "AUTOFUSE_NUMBERS(%d, %s)\n" % (len(numbers), words)


def _free(loop: LoopKernel) -> Dict[str, float]:
    stored = {store.value for store in loop.stores}
    free = {value.name: float(value.value) for value in loop.body
            if isinstance(value, Const) and value.dtype in FLOATS and value.name not in stored
            and _may_be_of_size(float(value.value))}
    for value in loop.body:
        for name in () if _multiplies(value) else value.args:
            free.pop(name, None)
    return free


def _multiplies(value: Value) -> bool:
    return isinstance(value, Map) and value.op == "mul"


def _may_be_of_size(value: float) -> bool:
    """Whether a number looks like a count or one over a count."""
    if not math.isfinite(value) or value <= 0:
        return False
    whole = value if value >= 1 else 1 / value
    count = round(whole)
    return count >= _SMALLEST and abs(whole - count) <= _NEAR * count
