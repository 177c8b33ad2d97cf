"""Rules of operators that read at coordinates which are computed: gathers, diagonals, reversals.

A coordinate that is none makes the kernel fail, as it makes TensorFlow's kernels.
"""
from __future__ import annotations

from typing import Callable, Dict, List, Optional, Sequence

import numpy as np

from tf_autofuse.errors import Unsupported
from tf_autofuse.loop.ops import INTS
from tf_autofuse.loop.placing import at_places
from tf_autofuse.loop.rules.common import args_of
from tf_autofuse.loop.rules.moves import narrow, numbers, position, size_of
from tf_autofuse.loop.source import Operator
from tf_autofuse.loop.windows import Window


def lower_gather(low, op: Operator, _: str):
    """x[..., indices, ...] along one dim; the first `batch_dims` dims of both are walked as one."""
    x, indices = args_of(low, op)
    place = position(op, numbers(op, 2)[0] if op.type == "GatherV2" else 0, len(x.dims))
    batch = int(op.attrs.get("batch_dims", 0))
    batch += len(indices.dims) if batch < 0 else 0
    if not 0 <= batch <= min(place, len(indices.dims)):
        raise Unsupported("%d batch dims" % batch, node=op.name, code="SHAPE")
    for left, right in zip(x.dims[:batch], indices.dims[:batch]):
        if size_of(low, left) != size_of(low, right):
            raise Unsupported("batch dims of unknown size", node=op.name, code="SIZE_UNKNOWN")
        low.unify(left, right)
    dims = x.dims[:place] + indices.dims[batch:] + x.dims[place + 1:]
    constant = low.constant(op.inputs[1])
    if constant is None:
        return _placed(low, op, x, place, indices, dims)
    if constant < 0:
        raise Unsupported("index %d" % constant, node=op.name, code="SHAPE")
    return narrow(low, op, x, {place: Window("pick", int(constant))})._replace(dims=dims)


def lower_gather_nd(low, op: Operator, _: str):
    """x at the coordinates that the last dim of the indices holds: one for each leading dim."""
    x, indices = args_of(low, op)
    count = size_of(low, indices.dims[-1]) if indices.dims else -1
    if not 0 < count <= len(x.dims):
        raise Unsupported("indices of unknown depth", node=op.name, code="SHAPE")
    last = len(indices.dims) - 1
    dims = indices.dims[:-1] + x.dims[count:]
    whole = x.dims
    for place in range(count):
        part = narrow(low, op, indices, {last: Window("pick", place)})
        part = part._replace(dims=part.dims[:-1])
        x = _placed(low, op, x._replace(dims=whole), place, part, dims)
    return x


def lower_diag_part(low, op: Operator, _: str):
    """The main diagonal of matrices; of a tensor of rank 2k, the elements whose first k coordinates
    are the others."""
    x = low.tensor(op.inputs[0])
    if op.type[-2:] in ("V2", "V3") and any(numbers(op, 1)):
        raise Unsupported("other diagonals than the main one", node=op.name, code="ATTR")
    rank = len(x.dims)
    half = rank // 2 if op.type == "DiagPart" else 1
    if not 0 < 2 * half <= rank:
        raise Unsupported("no matrices", node=op.name, code="SHAPE")
    first = rank - 2 * half
    for place in range(first, first + half):
        x = _diagonal(low, op, x, place, place + half)
    return x._replace(dims=x.dims[:rank - half])


def _diagonal(low, op: Operator, x, place: int, other: int):
    """x where the coordinate along the dim at `other` is that along the one at `place`."""
    rows, columns = size_of(low, x.dims[place]), size_of(low, x.dims[other])
    if min(rows, columns) < 1:
        raise Unsupported("matrices of unknown size, or empty ones", node=op.name, code="SHAPE")
    if rows > columns:
        x = narrow(low, op, x, {place: Window("from", 0, columns)})
    if x.dims[other] is None:
        return x
    if x.dims[place] is None:
        return narrow(low, op, x, {other: Window("pick", 0)})
    return x._replace(value=at_places(low, x, other, low.index(x, place, "int64")))


def lower_reverse_sequence(low, op: Operator, _: str):
    """The first `lengths[b]` elements of every row backwards, the others as they are."""
    x, lengths = args_of(low, op)
    along = position(op, int(op.attrs.get("seq_dim", 0)), len(x.dims))
    batch = position(op, int(op.attrs.get("batch_dim", 0)), len(x.dims))
    if along == batch or len(lengths.dims) != 1:
        raise Unsupported("rows along %d, lengths along %d" % (along, batch), node=op.name,
                          code="SHAPE")
    low.unify(x.dims[batch], lengths.dims[0])
    dims: List[Optional[int]] = [None] * len(x.dims)
    dims[batch] = x.dims[batch]
    lengths = low.cast(lengths, "int64")._replace(dims=tuple(dims))
    none = low.map("ge", [lengths, low.const(0, "int64")], "bool")
    lengths = low.map("require", [none, lengths])
    index = low.index(x, along, "int64")
    inside = low.map("lt", [index, lengths], "bool")
    last = low.map("sub", [lengths, low.const(1, "int64")])
    mirrored = low.map("sub", [last, index])
    return _placed(low, op, x, along, low.map("select", [inside, mirrored, index]), x.dims)


def _placed(low, op: Operator, x, place: int, indices, dims: Sequence[Optional[int]]):
    """x with the coordinates `indices` along the dim at `place`; `dims` are those of the result.

    What is computed is computed again for every index: only where there are not more of them.
    """
    if indices.dtype not in INTS:
        raise Unsupported("indices of %s" % indices.dtype, node=op.name, code="DTYPE")
    if x.dims[place] is None:
        raise Unsupported("gathers from one element", node=op.name, code="SHAPE")
    if low.node(x.value).kind != "load" and _more(low, dims, x.dims):
        raise Unsupported("would compute what is gathered for every index", node=op.name,
                          code="RECOMPUTE")
    value = at_places(low, x, place, low.cast(indices, "int64"))
    if value == x.value:
        raise Unsupported("gathers from what is the same everywhere", node=op.name, code="MOVE")
    return x._replace(value=value, dims=tuple(dims))


def _more(low, dims: Sequence[Optional[int]], others: Sequence[Optional[int]]) -> bool:
    """Whether a tensor of `dims` may have more elements than one of `others`."""
    ours, theirs = ([size_of(low, axis) for axis in axes] for axes in (dims, others))
    for size in list(ours):
        if size in theirs:
            ours.remove(size)
            theirs.remove(size)
    if any(size < 0 for size in ours + theirs):
        return True
    return int(np.prod(ours, dtype=np.int64)) > int(np.prod(theirs, dtype=np.int64))


GATHERS: Dict[str, Callable] = {
    "gather": lower_gather,
    "gather_nd": lower_gather_nd,
    "diag_part": lower_diag_part,
    "reverse_sequence": lower_reverse_sequence,
}
