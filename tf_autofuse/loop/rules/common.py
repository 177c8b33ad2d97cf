"""What the rules share: operands, constants, and the width arithmetic is done in."""
from __future__ import annotations

from typing import Callable, Optional, Sequence

from tf_autofuse.errors import Unsupported
from tf_autofuse.loop.ops import ALL_FLOATS, MAP_OPS, NARROW_FLOATS
from tf_autofuse.loop.source import Operator

COMPARES = frozenset(("eq", "ne", "lt", "le", "gt", "ge"))


def args_of(low, op: Operator):
    """The lowered operands."""
    return [low.tensor(ref) for ref in op.inputs]


def apply(low, name: str, args: Sequence):
    """One scalar operation on operands that broadcast; 16-bit floats are widened if it rounds."""
    # Broadcast first, in the memory form: only a load can be re-read as a run-time broadcast.
    args, _ = low.broadcast(args)
    dtype = args[-1].dtype
    if dtype in NARROW_FLOATS and dtype not in MAP_OPS[name].dtypes:
        wide = low.map(name, [low.widen(arg) for arg in args])
        return low.cast(wide, dtype)
    if name in COMPARES:
        return low.map(name, args, "bool")
    return low.map(name, args)


def short(low, dim: Optional[int], most: int) -> bool:
    """Whether a dim is known to have at most `most` points."""
    return dim is None or 0 <= low.size(dim) <= most


def class_test(low, numbers, tensor, position: int):
    """Whether class `numbers` is the coordinate along a dim of `tensor`; both are broadcast.

    Where float32 has every class, int64 is compared in it: other numbers round to what is no class.
    """
    wide = numbers.dtype == "int64"
    if wide and short(low, tensor.dims[position], 1 << 24):
        index = low.cast(low.index(tensor, position, "int32"), "float32")
        return low.map("eq", [low.cast(numbers, "float32"), index], "bool")
    return low.map("eq", [numbers, low.index(tensor, position, numbers.dtype)], "bool")


def in_float32(low, args: Sequence, body: Callable):
    """Apply `body` to the widened args and round once to the dtype of the first."""
    args, _ = low.broadcast(args)
    return low.cast(body(*[low.widen(arg) for arg in args]), args[0].dtype)


def same_shape_in_float32(low, op: Operator, body: Callable):
    """`in_float32` for operators whose inputs must have one shape."""
    return in_float32(low, low.same_shape(args_of(low, op)), body)


def const(low, like, value: float):
    """`value` in the dtype of the tensor `like`, in which it must be exact."""
    return low.const(int(value) if like.dtype not in ALL_FLOATS else float(value), like.dtype)


def require(op: Operator, **wanted: float) -> None:
    """Unsupported unless the attributes have the wanted values or are absent."""
    for name, value in wanted.items():
        if op.attrs.get(name, value) != value:
            raise Unsupported("%s with %s" % (op.type, name), node=op.name, code="ATTR")


def channel(op: Operator, rank: int) -> int:
    """Position of the channel dim of `data_format`."""
    layout = op.attrs.get("data_format", "NHWC")
    if layout in ("NHWC", "ND") or rank < 3:
        return rank - 1
    if layout == "NCHW":
        return 1
    raise Unsupported("data_format %s" % layout, node=op.name, code="FORMAT")
