"""Lowering rules of operators that only change the dims of a tensor: nothing is computed.

    Reshape [a, 1, b] -> [a, b]        dims of size 1 come and go
    Reshape [a, b * c] -> [a * b, c]   axes are products of others (`loop.axes`)
    BroadcastTo, Tile [1, b] -> [a, b] an axis appears along which the value does not change
    Tile [b] -> [a * b]                the same, as the outer part of a dim
"""
from __future__ import annotations

from typing import Callable, Dict, List, Optional

from tf_autofuse.errors import Unsupported
from tf_autofuse.loop.source import Operator


def _out_dims(op: Operator):
    if op.out_dims is None:
        raise Unsupported("the result has unknown rank", node=op.name, code="RANK")
    return op.out_dims


def lower_same(low, op: Operator, _: str):
    """The tensor itself."""
    return low.tensor(op.inputs[0])


def lower_each(low, op: Operator, _: str):
    """Every tensor as it is."""
    return [low.tensor(ref) for ref in op.inputs]


def lower_ensure_shape(low, op: Operator, _: str):
    """The tensor itself, where its known dims leave nothing to be found out at run time."""
    x = low.tensor(op.inputs[0])
    wanted = op.attrs.get("shape")
    if wanted is None:  # an unknown rank, or a scalar: nobody asks for that
        raise Unsupported("no dims to ensure", node=op.name, code="ATTR")
    sizes = [1 if axis is None else low.size(axis) for axis in x.dims]
    if len(sizes) != len(wanted) or any(w not in (-1, s) for w, s in zip(wanted, sizes)):
        raise Unsupported("the shape must be looked at", node=op.name, code="SHAPE")
    return x


def lower_reshape(low, op: Operator, _: str):
    """Other dims over the same elements: dims are split and merged, those of 1 come and go."""
    return low.reshape(low.tensor(op.inputs[0]), _out_dims(op))


def lower_broadcast(low, op: Operator, _: str):
    """Dims become as large as the result says: those of size 1, or missing in front, and others
    by repeating them."""
    x = low.tensor(op.inputs[0])
    sizes = _out_dims(op)
    missing = len(sizes) - len(x.dims)
    dims: List[Optional[int]] = []
    repeats = False
    for position, size in enumerate(sizes):
        axis = x.dims[position - missing] if position >= missing else None
        if axis is None:
            dims.append(None if size == 1 else low.new_axis(size))
            continue
        whole = low.size(axis)
        if whole != size:
            if min(size, whole) <= 0 or size % whole:
                raise Unsupported("repeats a dim of unknown size", node=op.name, code="RESHAPE")
            dims.append(low.new_axis(size // whole))
            repeats = True
        dims.append(axis)
    x = x._replace(dims=tuple(dims))
    return low.reshape(x, sizes) if repeats else x


VIEW_RULES: Dict[str, Callable] = {
    "same": lower_same,
    "each": lower_each,
    "ensure_shape": lower_ensure_shape,
    "reshape": lower_reshape,
    "broadcast": lower_broadcast,
}
