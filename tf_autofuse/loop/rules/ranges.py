"""Rules of sequences: arithmetic ones, and running sums and products of short rows."""
from __future__ import annotations

from typing import Callable, Dict

from tf_autofuse.errors import Unsupported
from tf_autofuse.loop.ops import ALL_FLOATS
from tf_autofuse.loop.rules.common import args_of, const
from tf_autofuse.loop.rules.moves import numbers, position, size_of
from tf_autofuse.loop.source import Operator

_LONGEST_ROW = 32


def lower_range(low, op: Operator, _: str):
    """start + i * delta for a size that is known."""
    dtype = op.attrs["dst_dtype"]
    kind = float if dtype in ALL_FLOATS else int
    if not {0, 2} <= set(op.params) or op.out_dims is None or op.out_dims[0] < 0:
        raise Unsupported("a range of unknown size", node=op.name, code="SIZE_UNKNOWN")
    start, delta = (low.const(kind(op.params[port][0]), dtype) for port in (0, 2))
    index = _coordinates(low, start, op.out_dims[0])
    steps = low.map("mul", [low.cast(index, low.widen(start).dtype), low.widen(delta)])
    return low.cast(low.map("add", [low.widen(start), steps]), dtype)


def lower_lin_space(low, op: Operator, _: str):
    """A known number of values from start to stop; the last one is stop."""
    start, stop = args_of(low, op)
    (count,) = numbers(op, 2)
    if start.dims or stop.dims or count < 1:
        raise Unsupported("ends that are no scalars", node=op.name, code="SHAPE")
    if count == 1:
        return start._replace(dims=(None,))
    step = low.map("div", [low.map("sub", [stop, start]), const(low, start, count - 1)])
    index = _coordinates(low, start, count)
    value = low.map("add", [start, low.map("mul", [step, low.cast(index, start.dtype)])])
    last = low.map("eq", [index, low.const(count - 1, index.dtype)], "bool")
    return low.map("select", [last, stop, value])


def _coordinates(low, like, size: int):
    axis = None if size == 1 else low.new_axis(size)
    return low.index(like._replace(dims=(axis,)), 0, "int32")


def lower_cumulative(low, op: Operator, name: str):
    """Sums or products of all elements of a row up to each: only of rows so short that every
    element may be computed from the whole row."""
    x = low.tensor(op.inputs[0])
    rank = len(x.dims)
    place = position(op, numbers(op, 1)[0], rank)
    size = size_of(low, x.dims[place])
    if not 0 <= size <= _LONGEST_ROW:
        raise Unsupported("a row that is better scanned", node=op.name, code="SHAPE")
    nothing = 0 if name == "sum" else 1
    exclusive = bool(op.attrs.get("exclusive", False))
    if x.dims[place] is None:
        return const(low, x, nothing)._replace(dims=x.dims) if exclusive else x
    dims = list(x.dims)
    dims[place] = low.new_axis(size)
    along, here = low.index(x, place, "int32"), low.index(
        x._replace(dims=tuple(dims)), place, "int32")
    # The dim that is reduced stands in front.
    term = low.widen(x)._replace(dims=(x.dims[place],) + x.dims[:place] + (None,) + (
        x.dims[place + 1:]))
    along = along._replace(dims=(x.dims[place],) + (None,) * rank)
    here = here._replace(dims=(None,) + here.dims)
    order = [here, along] if op.attrs.get("reverse", False) else [along, here]
    taken = low.map("lt" if exclusive else "le", order, "bool")
    term = low.map("select", [taken, term, const(low, term, nothing)])
    return low.cast(low.reduce(name, term, [0], False), x.dtype)


RANGES: Dict[str, Callable] = {
    "range": lower_range,
    "lin_space": lower_lin_space,
    "cumulative": lower_cumulative,
}
