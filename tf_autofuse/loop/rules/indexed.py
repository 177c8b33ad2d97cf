"""Rules of coordinates and labels: bands, diagonals, ranks, buckets, layouts, products by label."""
from __future__ import annotations

from typing import Callable, Dict

import numpy as np

from tf_autofuse.errors import Unsupported
from tf_autofuse.loop.ops import FLOATS
from tf_autofuse.loop.rules.common import args_of, class_test, const, short
from tf_autofuse.loop.source import Operator

_MOST_BOUNDARIES = 64
_LONGEST_ROW = 256


def _coordinates(low, x):
    """Row and column numbers of the matrices in `x`."""
    rank = len(x.dims)
    kind = index_type(low, x.dims)
    return low.index(x, rank - 2, kind), low.index(x, rank - 1, kind)


def index_type(low, dims) -> str:
    """An integer type that holds the coordinates along all `dims`."""
    return "int32" if all(0 <= _size(low, axis) < 2 ** 31 for axis in dims) else "int64"


def _size(low, axis) -> int:
    return 1 if axis is None else low.size(axis)


def lower_band_part(low, op: Operator, _: str):
    """x within `lower` diagonals below and `upper` above the main one (negative: all), else 0."""
    x = low.tensor(op.inputs[0])
    bounds = [low.constant(ref) for ref in op.inputs[1:3]]
    if len(bounds) != 2 or None in bounds or len(x.dims) < 2:
        raise Unsupported("the band is not constant", node=op.name, code="ATTR")
    row, column = _coordinates(low, x)
    keep = None
    for count, axis, terms in zip(bounds, x.dims[-2:], ((row, column), (column, row))):
        size = _size(low, axis)
        if count < 0:
            continue
        if count > max(size, 0):  # an error of the model, unless the size is large enough
            raise Unsupported("a band wider than the matrix", node=op.name, code="SHAPE")
        limit = low.const(int(count), row.dtype)
        near = low.map("le", [low.map("sub", terms), limit], "bool")
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
    most = low.constant(op.inputs[2]) if len(op.inputs) > 2 else op.attrs["k"]
    if most is not None and short(low, x.dims[1], 1 << 30):
        kind = "int32"
        k = low.const(max(0, min(int(most), 1 << 30)), kind)
    else:
        k = low.tensor(op.inputs[2]) if most is None else low.const(int(most), kind)
    row = targets._replace(dims=targets.dims + (None,))
    chosen = class_test(low, row, x, 1)
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


def lower_bound(low, op: Operator, side: str):
    """How many of a row's sorted values are below (`lower`) or not above (`upper`) each value."""
    row, values = args_of(low, op)
    if len(row.dims) != 2 or len(values.dims) != 2:
        raise Unsupported("%s of other ranks than 2" % op.type, node=op.name, code="SHAPE")
    if not 0 <= _size(low, row.dims[1]) <= _LONGEST_ROW:
        raise Unsupported("a row that is better searched", node=op.name, code="SHAPE")
    low.unify(row.dims[0], values.dims[0])
    row = row._replace(dims=(row.dims[0], None, row.dims[1]))
    values = values._replace(dims=values.dims + (None,))
    if side == "lower":
        found = low.map("lt", [row, values], "bool")
    else:
        found = low.map("not", [low.map("lt", [values, row], "bool")])
    return low.reduce("sum", low.cast(found, op.attrs["dst_dtype"]), [2], False)


def lower_dim_map(low, op: Operator, _: str):
    """The position that a dim of one layout has in another."""
    (x,) = args_of(low, op)
    source, target = (op.attrs.get(name, default) for name, default in (
        ("src_format", "NHWC"), ("dst_format", "NCHW")))
    count = low.const(len(source), x.dtype)
    negative = low.map("lt", [x, const(low, x, 0)], "bool")
    x = low.map("select", [negative, low.map("add", [x, count]), x])
    result = const(low, x, target.index(source[0]))
    for position, letter in enumerate(source[1:], 1):
        here = low.map("eq", [x, const(low, x, position)], "bool")
        result = low.map("select", [here, const(low, x, target.index(letter)), result])
    return result


def lower_einsum(low, op: Operator, _: str):
    """A product of at most two tensors, summed over labels; matrix products stay what they are."""
    terms, _, result = str(op.attrs.get("equation", "")).replace(" ", "").partition("->")
    labels = terms.split(",")
    args = args_of(low, op)
    order = max(labels, key=len)
    plain = len(labels) == len(args) <= 2 and "." not in terms and all(
        _within(text, order) for text in labels + [result])
    if not plain or any(len(set(t)) != len(t) or len(t) != len(a.dims)
                        for t, a in zip(labels, args)):
        raise Unsupported("equation %s" % op.attrs.get("equation"), node=op.name, code="ATTR")
    sizes: Dict[str, int] = {}
    spread = []
    for text, arg in zip(labels, args):
        axes = dict(zip(text, arg.dims))
        for label, axis in axes.items():
            if sizes.setdefault(label, _size(low, axis)) != _size(low, axis):
                raise Unsupported("sizes of %s differ" % label, node=op.name, code="SHAPE")
        spread.append(low.widen(arg._replace(dims=tuple(axes.get(label) for label in order))))
    product = spread[0] if len(spread) == 1 else low.map("mul", spread)
    over = [position for position, label in enumerate(order) if label not in result]
    return low.cast(low.reduce("sum", product, over, False), args[0].dtype)


def _within(text: str, order: str) -> bool:
    """Whether the labels of `text` are some of `order`, in that order."""
    rest = iter(order)
    return all(label in rest for label in text)


INDEXED: Dict[str, Callable] = {
    "band_part": lower_band_part,
    "set_diag": lower_set_diag,
    "in_top_k": lower_in_top_k,
    "bucketize": lower_bucketize,
    "bound": lower_bound,
    "dim_map": lower_dim_map,
    "einsum": lower_einsum,
}
