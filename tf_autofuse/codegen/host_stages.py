"""Long elementary functions of one loop that wait for each other.

A core has some hundred instructions in flight. Two polynomials that follow each other are more than
that for one vector, so that the second one waits where it could work on the next vector. The first
one then gets a loop of its own, which leaves its values in a small buffer.

A logarithm of 1 + e^x with x <= 0, as losses have it, needs no care for large arguments.

Functions of whole vectors (csrc/host/lanes.h) are called for buffers: between loops over a block,
whose buffers stay in registers, or between the loops of stages.
"""
from __future__ import annotations

from typing import Dict, FrozenSet, List, Sequence

from tf_autofuse.kernel.nest import needed
from tf_autofuse.loop.ir import Const, LoopKernel, Map, Place, Value
from tf_autofuse.loop.ops import REFUSING

_LONG = frozenset("elu erf erfc exp expm1 log log1p sigmoid softplus tanh".split())
_LANES = frozenset("erf erfc tanh".split())

# Values of a loop with functions of whole vectors, up to which it goes in blocks: with more, a core
# does not look ahead to the next block.
_BLOCK_VALUES = 8


def staged_values(loop: LoopKernel, values: Sequence[Value], known: FrozenSet[str]) -> List[Value]:
    """Those of the values of a vector loop that get a loop of their own, in order."""
    if _refuse(values):
        return []
    long = [v for v in values if isinstance(v, Map) and v.op in _LONG and v.dtype == "float32"]
    waited = {before.name for value in long
              for before in needed(loop, value.args, known)}
    return [value for value in long if value.name in waited]


def lane_values(values: Sequence[Value], rough: FrozenSet[str]) -> List[Value]:
    """Those of the values of a vector loop that are functions of whole vectors, in order; `rough`
    are functions of other polynomials."""
    if _refuse(values):
        return []
    return [v for v in values if isinstance(v, Map) and v.op in _LANES and v.dtype == "float32"
            and v.name not in rough]


def have_much_around(values: Sequence[Value]) -> bool:
    """Whether a loop of these values with functions of whole vectors goes by stages."""
    return sum(not isinstance(value, Const) for value in values) > _BLOCK_VALUES


def _refuse(values: Sequence[Value]) -> bool:
    return any(isinstance(v, Place) or isinstance(v, Map) and v.op in REFUSING for v in values)


def logs_of_fractions(loop: LoopKernel) -> FrozenSet[str]:
    """Names of log1p(e^x) in float32 where x is not above 0."""
    by_name = {value.name: value for value in loop.body}
    found = []
    for value in loop.body:
        if isinstance(value, Map) and value.op == "log1p" and value.dtype == "float32":
            power = by_name[value.args[0]]
            if isinstance(power, Map) and power.op == "exp" and (
                    _is_not_positive(by_name[power.args[0]], by_name)):
                found.append(value.name)
    return frozenset(found)


def _is_not_positive(value: Value, by_name: Dict[str, Value]) -> bool:
    """-|x|, or x >= 0 ? -x : x."""
    if not isinstance(value, Map):
        return False
    args = [by_name[name] for name in value.args]
    if value.op == "neg":
        return isinstance(args[0], Map) and args[0].op == "abs"
    if value.op != "select":
        return False
    test, negative, same = args
    return (isinstance(test, Map) and test.op in ("ge", "gt") and test.args[0] == same.name
            and _is_zero(by_name[test.args[1]])
            and isinstance(negative, Map) and negative.op == "neg"
            and negative.args[0] == same.name)


def _is_zero(value: Value) -> bool:
    return isinstance(value, Const) and value.value == 0
