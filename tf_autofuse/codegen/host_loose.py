"""Which elementary functions have an operand that was rounded before.

A float32 that an operation has rounded is half a unit off, so that a result within one unit of the
exact one is not to be had. Such a function takes a form whose errors are at most TensorFlow's own
(csrc/host/loose_math.h); one of an input, or of an input whose sign was changed, does not.
"""
from __future__ import annotations

import math
from typing import Dict, FrozenSet, Set

from tf_autofuse.loop.ir import Const, LoopKernel, Map, Reduce, Value
from tf_autofuse.loop.ops import ALL_FLOATS

LOOSE_FUNCTIONS = frozenset(("tanh", "erf", "erfc"))
_EXACT = frozenset("neg abs max min select cast bitcast require".split())


def loose_values(loop: LoopKernel) -> FrozenSet[str]:
    """Names of float32 values of LOOSE_FUNCTIONS of a rounded operand."""
    by_name: Dict[str, Value] = {value.name: value for value in loop.body}
    rounded: Set[str] = set()
    for value in loop.body:
        if _is_rounded(value, by_name, rounded):
            rounded.add(value.name)
    return frozenset(value.name for value in loop.body
                     if isinstance(value, Map) and value.op in LOOSE_FUNCTIONS
                     and value.dtype == "float32" and value.args[0] in rounded)


def _is_rounded(value: Value, by_name: Dict[str, Value], rounded: Set[str]) -> bool:
    """Whether a value is no exact function of inputs; `rounded` are those before it."""
    if isinstance(value, Reduce):
        return value.op not in ("max", "min")
    if not isinstance(value, Map) or value.dtype not in ALL_FLOATS:
        return False
    exact = value.op in _EXACT or value.op == "mul" and any(
        _is_power_of_two(by_name[name]) for name in value.args)
    return not exact or any(name in rounded for name in value.args)


def _is_power_of_two(value: Value) -> bool:
    return isinstance(value, Const) and abs(math.frexp(value.value)[0]) == 0.5
