"""A reduction of a reduction is one reduction over the axes of both.

    sum over b of (mean over c of x)   =   (mean over b and c of x) * size of b

A loss is the mean of every row first and the sum over the rows then; as one reduction it is one
walk, and rounds less.
"""
from __future__ import annotations

from typing import Any, NamedTuple, Optional, Tuple

from tf_autofuse.loop.ops import ALL_FLOATS, INTS

SAME = frozenset(("sum", "max", "min", "prod", "all", "any"))


class Folded(NamedTuple):
    """Reduce `value` by `op` over the axes `over` and multiply by `factor`, and by sizes of run
    time, the `symbols`; if one of these is 0, the result is 0."""

    op: str
    value: int
    over: Tuple[int, ...]
    factor: int
    symbols: Tuple[int, ...] = ()


def fold_reduction(low: Any, op: str, inner: Any, over: Tuple[int, ...]) -> Optional[Folded]:
    """The reduction `op` over `over` of the node `inner` of a lowering, where that is a reduction
    itself; None where the two are not one.

    A sum of means needs the number of means. Of static sizes none may be 0: the mean of nothing is
    NaN, the sum of nothing 0.
    """
    if inner.kind != "reduce":
        return None
    both = tuple(inner.data) + over
    (value,) = inner.args
    if op == inner.op and (op in SAME or op == "mean" and inner.dtype in ALL_FLOATS):
        return Folded(op, value, both, 1)
    if {op, inner.op} != {"sum", "mean"} or inner.dtype in INTS:
        return None
    factor, symbols = 1, ()  # type: int, Tuple[int, ...]
    for axis in over if op == "sum" else inner.data:
        size = low.size(axis)
        if size == 0 or size < 0 and op != "sum":
            return None
        factor *= max(size, 1)
        symbols += (size,) if size < 0 else ()
    low.axes.measured |= factor > 1
    exact = 1 << (52 if inner.dtype == "float64" else 24)
    return Folded("mean", value, both, factor, symbols) if factor <= exact else None
