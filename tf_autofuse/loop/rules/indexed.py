"""Rules that compare coordinates: bands and diagonals of matrices, ranks, buckets."""
from __future__ import annotations

from typing import Callable, Dict

import numpy as np

from tf_autofuse.errors import Unsupported
from tf_autofuse.loop.ops import FLOATS
from tf_autofuse.loop.rules.common import args_of, const
from tf_autofuse.loop.source import Operator

_MOST_BOUNDARIES = 64


def _coordinates(low, x):
    """Row and column numbers of the matrices in `x`."""
    rank = len(x.dims)
    return low.index(x, rank - 2, "int64"), low.index(x, rank - 1, "int64")


def _size(low, axis) -> int:
    return 1 if axis is None else low.size(axis)


def lower_band_part(low, op: Operator, _: str):
    """x within `lower` diagonals below and `upper` above the main one (negative: all), else 0."""
    x = low.tensor(op.inputs[0])
    bounds = [low.constant(ref) for ref in op.inputs[1:3]]
    if None in bounds or len(x.dims) < 2:
        raise Unsupported("the band is not constant", node=op.name, code="ATTR")
    row, column = _coordinates(low, x)
    keep = None
    for count, axis, terms in zip(bounds, x.dims[-2:], ((row, column), (column, row))):
        size = _size(low, axis)
        if count < 0:
            continue
        if count > max(size, 0):  # an error of the model, unless the size is large enough
            raise Unsupported("a band wider than the matrix", node=op.name, code="SHAPE")
        near = low.map("le", [low.map("sub", terms), low.const(int(count), "int64")], "bool")
        keep = near if keep is None else low.map("and", [keep, near])
    return x if keep is None else low.map("select", [keep, x, const(low, x, 0)])


def lower_set_diag(low, op: Operator, _: str):
    """x with its main diagonals replaced."""
    x, diagonal = (low.tensor(ref) for ref in op.inputs[:2])
    if len(op.inputs) > 2 and low.constant(op.inputs[2]) != 0:
        raise Unsupported("other diagonals than the main one", node=op.name, code="ATTR")
    if len(diagonal.dims) != len(x.dims) - 1 or len(x.dims) < 2:
        raise Unsupported("one diagonal a matrix is wanted", node=op.name, code="SHAPE")
    rows, columns = (_size(low, axis) for axis in x.dims[-2:])
    if min(rows, columns) < 0:
        raise Unsupported("matrices of unknown size", node=op.name, code="SHAPE")
    for left, right in zip(x.dims[:-2], diagonal.dims[:-1]):
        low.unify(left, right)
    row, column = _coordinates(low, x)
    if rows <= columns:
        low.unify(x.dims[-2], diagonal.dims[-1])
        diagonal = diagonal._replace(dims=diagonal.dims + (None,))
    else:
        low.unify(x.dims[-1], diagonal.dims[-1])
        diagonal = diagonal._replace(dims=diagonal.dims[:-1] + (None, diagonal.dims[-1]))
    return low.map("select", [low.map("eq", [row, column], "bool"), diagonal, x])


def lower_in_top_k(low, op: Operator, _: str):
    """Whether fewer than k classes are likelier than the target; no for what is not finite."""
    x, targets = args_of(low, op)[:2]
    if len(x.dims) != 2 or len(targets.dims) != 1:
        raise Unsupported("%s of other ranks than 2 and 1" % op.type, node=op.name, code="SHAPE")
    low.unify(x.dims[0], targets.dims[0])
    kind = targets.dtype
    k = low.tensor(op.inputs[2]) if len(op.inputs) > 2 else low.const(int(op.attrs["k"]), kind)
    row = targets._replace(dims=targets.dims + (None,))
    chosen = low.map("eq", [row, low.index(x, 1, kind)], "bool")
    picked = low.map("select", [chosen, x, const(low, x, 0)])
    target = low.reduce("sum", picked, [1], True)
    better = low.cast(low.map("gt", [x, target], "bool"), kind)
    few = low.map("lt", [low.reduce("sum", better, [1], False), k], "bool")
    finite = low.map("lt", [low.map("abs", [x]), const(low, x, float("inf"))], "bool")
    whole = low.map("and", [low.reduce("any", chosen, [1], False),
                            low.reduce("all", finite, [1], False)])
    return low.map("and", [few, whole])


def lower_bucketize(low, op: Operator, _: str):
    """Number of boundaries that are not above x, compared as TensorFlow compares x with a float."""
    x = low.tensor(op.inputs[0])
    boundaries = op.attrs.get("boundaries", ())
    if not 0 < len(boundaries) <= _MOST_BOUNDARIES:
        raise Unsupported("%d boundaries" % len(boundaries), node=op.name, code="ATTR")
    if x.dtype not in FLOATS:
        x = low.cast(x, "float32")
    total = None
    for boundary in boundaries:
        bound = low.const(float(np.float32(boundary)), x.dtype)
        above = low.map("not", [low.map("lt", [x, bound], "bool")])
        count = low.cast(above, "int32")
        total = count if total is None else low.map("add", [total, count])
    return total


INDEXED: Dict[str, Callable] = {
    "band_part": lower_band_part,
    "set_diag": lower_set_diag,
    "in_top_k": lower_in_top_k,
    "bucketize": lower_bucketize,
}
