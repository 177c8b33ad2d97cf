"""Scalar operations of the loop IR: what each means, in numpy, and which types it takes.

Rounding arithmetic never happens in 16-bit floats: a float16 or bfloat16 operator is lowered to
cast-up, the operation in float32, cast-down. Only `EXACT` operations run in the narrow types.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Dict, FrozenSet, Union

import numpy as np

from tf_autofuse.loop.functions import INT_FUNCTIONS, REAL_FUNCTIONS, count_bits, require, wide

Scalar = Union[bool, int, float]

FLOATS = frozenset(("float32", "float64"))
NARROW_FLOATS = frozenset(("float16", "bfloat16"))
ALL_FLOATS = FLOATS | NARROW_FLOATS
INTS = frozenset(("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"))
BOOL = frozenset(("bool",))
NUMBERS = FLOATS | INTS
ANY = ALL_FLOATS | INTS | BOOL
_BYTES = {"bool": 1, "bfloat16": 2}


def item_bytes(dtype: str) -> int:
    """Bytes of one element in global memory."""
    return _BYTES.get(dtype) or np.dtype(dtype).itemsize


@dataclass(frozen=True)
class MapOp:
    """`dtypes`: operand types allowed. `result`: 'same' as the operands, or 'bool'."""

    arity: int
    dtypes: FrozenSet[str]
    result: str
    numpy: Callable


def maximum(a, b, narrow: bool = False):
    """Larger of a and b; NaN wins. On a tie (0.0, -0.0) the second, in 16-bit floats the first.

    The tie rule is that of Eigen's packet max, which TensorFlow's kernels run.
    """
    return _pick(a, b, np.greater(a, b), narrow)


def minimum(a, b, narrow: bool = False):
    """Smaller of a and b; NaN and ties as in `maximum`."""
    return _pick(a, b, np.less(a, b), narrow)


def _pick(a, b, first, narrow: bool):
    picked = np.where(first | np.equal(a, b) if narrow else first, a, b)
    if picked.dtype.kind != "f":
        return picked
    return np.where(np.isnan(a), a, np.where(np.isnan(b), b, picked))


MAP_OPS: Dict[str, MapOp] = {
    "neg": MapOp(1, ALL_FLOATS | INTS, "same", np.negative),
    "abs": MapOp(1, ALL_FLOATS | INTS, "same", np.abs),
    "sqrt": MapOp(1, FLOATS, "same", np.sqrt),
    "add": MapOp(2, NUMBERS, "same", np.add),
    "sub": MapOp(2, NUMBERS, "same", np.subtract),
    "mul": MapOp(2, NUMBERS, "same", np.multiply),
    "div": MapOp(2, FLOATS, "same", np.divide),
    "max": MapOp(2, ALL_FLOATS | INTS, "same", maximum),
    "min": MapOp(2, ALL_FLOATS | INTS, "same", minimum),
    "eq": MapOp(2, ANY, "bool", np.equal),
    "ne": MapOp(2, ANY, "bool", np.not_equal),
    "lt": MapOp(2, ALL_FLOATS | INTS, "bool", np.less),
    "le": MapOp(2, ALL_FLOATS | INTS, "bool", np.less_equal),
    "gt": MapOp(2, ALL_FLOATS | INTS, "bool", np.greater),
    "ge": MapOp(2, ALL_FLOATS | INTS, "bool", np.greater_equal),
    "and": MapOp(2, BOOL, "bool", np.logical_and),
    "or": MapOp(2, BOOL, "bool", np.logical_or),
    "not": MapOp(1, BOOL, "bool", np.logical_not),
    "select": MapOp(3, ANY, "same", np.where),
    "require": MapOp(2, ANY, "same", require),
    "cast": MapOp(1, ANY, "any", lambda x: x),
    "bitcast": MapOp(1, ALL_FLOATS | INTS, "any", lambda x: x),
}
MAP_OPS.update(
    (name, MapOp(arity, FLOATS, "same", wide(function)))
    for name, (arity, function) in REAL_FUNCTIONS.items()
)
MAP_OPS.update(
    (name, MapOp(arity, INTS, "same", function))
    for name, (arity, function) in INT_FUNCTIONS.items()
)
MAP_OPS["next_after"] = MapOp(2, FLOATS, "same", np.nextafter)
MAP_OPS["count_bits"] = MapOp(1, INTS, "any", count_bits)
"""`select` takes a bool condition and two operands of the result type, `require` a bool and the
result, without which the kernel fails. `count_bits` gives uint8. `bitcast` keeps the bits and goes
between types of one size."""

DIVISIONS = frozenset(("trunc_div", "trunc_mod", "floor_div", "int_floor_mod"))
REFUSING = DIVISIONS | frozenset(("require",))
"""Operations that may make a kernel fail."""

_LIGHT_FUNCTIONS = frozenset(("floor", "ceil", "rint", "trunc", "sign", "mul_no_nan"))
HEAVY = (frozenset(REAL_FUNCTIONS) - _LIGHT_FUNCTIONS) | frozenset(
    ("sqrt", "div", "trunc_div", "trunc_mod", "floor_div", "int_floor_mod", "int_pow")
)
"""Operations worth storing rather than computing again for every row."""


@dataclass(frozen=True)
class ReduceOp:
    """`identity(dtype)` is what an empty reduction gives."""

    dtypes: FrozenSet[str]
    numpy: Callable
    identity: Callable[[str], Scalar]


def _lowest(dtype: str) -> Scalar:
    if dtype in ALL_FLOATS:
        return float("-inf")
    return False if dtype == "bool" else int(np.iinfo(dtype).min)


def _highest(dtype: str) -> Scalar:
    if dtype in ALL_FLOATS:
        return float("inf")
    return True if dtype == "bool" else int(np.iinfo(dtype).max)


REDUCE_OPS: Dict[str, ReduceOp] = {
    "sum": ReduceOp(NUMBERS, np.sum, lambda dtype: 0),
    "mean": ReduceOp(FLOATS | frozenset(("int64", "uint64")), np.sum, lambda dtype: 0),
    "prod": ReduceOp(NUMBERS, np.prod, lambda dtype: 1),
    "max": ReduceOp(ALL_FLOATS | INTS, np.max, _lowest),
    "min": ReduceOp(ALL_FLOATS | INTS, np.min, _highest),
    "all": ReduceOp(BOOL, np.logical_and.reduce, lambda dtype: True),
    "any": ReduceOp(BOOL, np.logical_or.reduce, lambda dtype: False),
}
"""Sums and products of float32 are accumulated wider than float32 or in a blocked order. A mean is
the sum divided by the number of points, rounded once; over no points it is NaN. A mean of integers
is truncated; over no points it is 0."""
