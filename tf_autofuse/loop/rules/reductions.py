"""Rules of reductions. Sums of float16 and bfloat16 run in float32."""
from __future__ import annotations

from typing import Callable, Dict, List, Sequence

import numpy as np

from tf_autofuse.errors import Unsupported
from tf_autofuse.loop.ops import ALL_FLOATS, INTS, REDUCE_OPS
from tf_autofuse.loop.rules.common import args_of, channel, const, short
from tf_autofuse.loop.source import Operator


def lower_reduce(low, op: Operator, name: str):
    """Reduction over constant axes."""
    x = low.tensor(op.inputs[0])
    return _reduce(low, name, x, _positions(op, len(x.dims)), _keep(op))


def _keep(op: Operator) -> bool:
    return bool(op.attrs.get("keep_dims", False))


def _positions(op: Operator, rank: int) -> List[int]:
    if op.axes is None:
        raise Unsupported("reduction axes are not constant", node=op.name, code="AXES_UNKNOWN")
    if any(not -rank <= axis < rank for axis in op.axes):
        raise Unsupported("reduction axis out of range", node=op.name, code="SHAPE")
    return sorted({axis % rank for axis in op.axes}) if rank else []


def _reduce(low, name: str, x, positions: Sequence[int], keep_dims: bool):
    if name in ("max", "min", "all", "any"):
        return low.reduce(name, x, positions, keep_dims)
    wide = low.widen(x)
    if name == "mean" and x.dtype in INTS:
        wide = low.cast(x, "uint64" if x.dtype.startswith("u") else "int64")
    return low.cast(low.reduce(name, wide, positions, keep_dims), x.dtype)


def lower_euclidean_norm(low, op: Operator, _: str):
    """Square root of the sum of squares; for integers of the wrapped sum, truncated."""
    x = low.tensor(op.inputs[0])
    wide = low.widen(x)
    squares = low.map("mul", [wide, wide])
    total = low.reduce("sum", squares, _positions(op, len(x.dims)), _keep(op))
    if x.dtype not in ALL_FLOATS:
        total = low.cast(total, "float64")
    return low.cast(low.map("sqrt", [total]), x.dtype)


def lower_l2_loss(low, op: Operator, _: str):
    """Half the sum of squares of everything."""
    (x,) = args_of(low, op)
    wide = low.widen(x)
    half = low.map("mul", [low.map("mul", [wide, wide]), const(low, wide, 0.5)])
    return low.cast(low.reduce("sum", half, range(len(x.dims)), False), x.dtype)


def lower_arg(low, op: Operator, name: str):
    """First index of the largest (`max`) or smallest value. A NaN is never chosen.

    As in TensorFlow, nothing is beyond the finite limits: among infinities of the wrong sign, or
    where all are NaN, the index is 0.
    """
    (x,) = args_of(low, op)[:1]
    if op.axes is None or len(op.axes) != 1:
        raise Unsupported("the axis is not constant", node=op.name, code="AXES_UNKNOWN")
    (position,) = _positions(op, len(x.dims))
    if x.dtype == "bool":
        x = low.cast(x, "uint8")
    start = low.const(REDUCE_OPS[name].identity(x.dtype), x.dtype)
    number = x
    if x.dtype in ALL_FLOATS:
        number = low.map("select", [low.map("eq", [x, x], "bool"), x, start])
    best = low.reduce(name, number, [position], True)
    result = target = op.attrs["dst_dtype"]
    if target == "int64" and short(low, x.dims[position], 1 << 31):
        target = "int32"
    index = low.index(x, position, target)
    none = low.const(int(np.iinfo(target).max), target)
    chosen = low.map("eq", [number, best], "bool")
    if x.dtype in ALL_FLOATS:
        chosen = low.map("and", [chosen, low.map("ne", [number, start], "bool")])
    first = low.reduce("min", low.map("select", [chosen, index, none]), [position], False)
    missing = low.map("eq", [first, none], "bool")
    return low.cast(low.map("select", [missing, low.const(0, target), first]), result)


def lower_bias_add_grad(low, op: Operator, _: str):
    """Sum over every dim but the channel."""
    x = low.tensor(op.inputs[0])
    kept = channel(op, len(x.dims))
    positions = [p for p in range(len(x.dims)) if p != kept]
    return _reduce(low, "sum", x, positions, False)


REDUCTIONS: Dict[str, Callable] = {
    "reduce": lower_reduce,
    "euclidean_norm": lower_euclidean_norm,
    "l2_loss": lower_l2_loss,
    "arg": lower_arg,
    "bias_add_grad": lower_bias_add_grad,
}
