"""Lowering rules of operators that only change the dims of a tensor: nothing is computed.

    Reshape [a, 1, b] -> [a, b]        dims of size 1 come and go
    BroadcastTo, Tile [1, b] -> [a, b] an axis appears along which the value does not change

A broadcast costs nothing inside a kernel; it is refused where the kernel would have to write it.
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


def lower_reshape(low, op: Operator, _: str):
    """A reshape that only adds or drops dims of size 1; the other dims keep their order."""
    x = low.tensor(op.inputs[0])
    axes = [axis for axis in x.dims if axis is not None]
    sizes = [size for size in _out_dims(op) if size != 1]
    if len(axes) != len(sizes) or any(low.size(a) != s for a, s in zip(axes, sizes)):
        raise Unsupported("merges or splits dims", node=op.name, code="RESHAPE")
    left = iter(axes)
    dims = tuple(None if size == 1 else next(left) for size in _out_dims(op))
    return x._replace(dims=dims)


def lower_broadcast(low, op: Operator, _: str):
    """Dims of size 1 (or missing in front) become as large as the result says."""
    x = low.tensor(op.inputs[0])
    sizes = _out_dims(op)
    missing = len(sizes) - len(x.dims)
    dims: List[Optional[int]] = []
    for position, size in enumerate(sizes):
        axis = x.dims[position - missing] if position >= missing else None
        if axis is None:
            dims.append(None if size == 1 else low.new_axis(size))
        elif low.size(axis) == size:
            dims.append(axis)
        else:
            raise Unsupported("repeats a dim that is not 1", node=op.name, code="RESHAPE")
    return x._replace(dims=tuple(dims))


VIEW_RULES: Dict[str, Callable] = {
    "same": lower_same,
    "reshape": lower_reshape,
    "broadcast": lower_broadcast,
}
