"""Elementary functions whose operand is known not to be above 0.

e^x needs no limit above there, and the logarithm of 1 + e^x, as losses have it, no care for large
arguments (csrc/host/loose_math.h).
"""
from __future__ import annotations

from typing import Dict, FrozenSet

from tf_autofuse.loop.ir import Const, LoopKernel, Map, Value

Names = Dict[str, Value]


def powers_to_one(loop: LoopKernel) -> FrozenSet[str]:
    """Names of e^x in float32 where x is not above 0."""
    by_name: Names = {value.name: value for value in loop.body}
    return frozenset(value.name for value in loop.body
                     if isinstance(value, Map) and value.op == "exp" and value.dtype == "float32"
                     and _not_above(by_name[value.args[0]], by_name))


def logs_of_fractions(loop: LoopKernel) -> FrozenSet[str]:
    """Names of log1p(e^x) in float32 where x is not above 0."""
    powers = powers_to_one(loop)
    return frozenset(value.name for value in loop.body
                     if isinstance(value, Map) and value.op == "log1p"
                     and value.dtype == "float32" and value.args[0] in powers)


def _not_above(value: Value, names: Names) -> bool:
    """Whether a value is 0, below, or NaN: -x of an x that is not below 0, or x >= 0 ? -x : x. That
    x - max(x) is, too, is no gain: g++ makes two selections of one whose result it sums in double.
    """
    if not isinstance(value, Map):
        return False
    args = [names[name] for name in value.args]
    if value.op == "cast":
        return _not_above(args[0], names)
    if value.op == "neg":
        return _not_below(args[0], names)
    if value.op != "select":
        return False
    test, negative, same = args
    return (isinstance(test, Map) and test.op in ("ge", "gt") and test.args[0] == same.name
            and _is_zero(names[test.args[1]])
            and isinstance(negative, Map) and negative.op == "neg"
            and negative.args[0] == same.name)


def _not_below(value: Value, names: Names) -> bool:
    """Whether a value is 0, above, or NaN: |x|, or the larger one of it or 0 and another."""
    if not isinstance(value, Map):
        return _is_zero(value)
    if value.op == "abs":
        return True
    return value.op == "max" and any(_not_below(names[name], names) for name in value.args)


def _is_zero(value: Value) -> bool:
    return isinstance(value, Const) and value.value == 0
