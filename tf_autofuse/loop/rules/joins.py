"""Rules that put tensors side by side: each point of the result belongs to one of them."""
from __future__ import annotations

from typing import Callable, Dict, List, Sequence

from tf_autofuse.errors import Unsupported
from tf_autofuse.loop.moving import Part, guard, take
from tf_autofuse.loop.ops import ALL_FLOATS
from tf_autofuse.loop.rules.common import args_of, class_test
from tf_autofuse.loop.rules.moves import narrow, numbers, position, size_of
from tf_autofuse.loop.source import Operator
from tf_autofuse.loop.windows import Window


def lower_concat(low, op: Operator, where: str):
    """Tensors behind each other along one dim; `where` the input that says which stands."""
    pieces = args_of(low, op)
    (axis,) = numbers(op, 0 if where == "first" else len(pieces))
    return join(low, op, pieces, position(op, axis, len(pieces[0].dims)))


def lower_pack(low, op: Operator, _: str):
    """Tensors of one shape along a new dim."""
    pieces = low.same_shape(args_of(low, op))
    rank = len(pieces[0].dims) + 1
    place = position(op, int(op.attrs.get("axis", 0)), rank)
    pieces = [x._replace(dims=x.dims[:place] + (None,) + x.dims[place:]) for x in pieces]
    return join(low, op, pieces, place)


def lower_pad(low, op: Operator, _: str):
    """A constant around a tensor."""
    x = low.tensor(op.inputs[0])
    ends = numbers(op, 1)
    value = op.params.get(2, (0,)) if op.type == "PadV2" else (0,)
    if op.type == "PadV2" and 2 not in op.params:
        raise Unsupported("pads with what is not constant", node=op.name, code="AXES_UNKNOWN")
    kind = float if x.dtype in ALL_FLOATS else bool if x.dtype == "bool" else int
    return surround(low, op, x, ends, low.const(kind(value[0]), x.dtype))


def surround(low, op: Operator, x, ends: Sequence[int], around):
    """So many coordinates before and behind every dim, where the value is `around`."""
    places = [place for place in range(len(x.dims)) if ends[2 * place] or ends[2 * place + 1]]
    inside = []
    for place in places:
        before, behind = ends[2 * place:2 * place + 2]
        size = size_of(low, x.dims[place])
        whole = size + before + behind
        if size < 0:
            whole = op.out_dims[place] if op.out_dims is not None else low.new_symbol()
        x, here = shifted(low, op, x, place, low.new_axis(whole), before, behind)
        inside.append(here)
    for here in inside:
        x = low.map("select", [here, x, around])
    return x


def lower_mirror_pad(low, op: Operator, _: str):
    """A tensor continued by its own reflection, with or without the outermost elements."""
    x = low.tensor(op.inputs[0])
    ends = numbers(op, 1)
    skip = {"REFLECT": 1, "SYMMETRIC": 0}.get(str(op.attrs.get("mode")))
    if skip is None:
        raise Unsupported("mirror mode %s" % op.attrs.get("mode"), node=op.name, code="ATTR")
    for place in range(len(x.dims)):
        before, behind = ends[2 * place:2 * place + 2]
        size = size_of(low, x.dims[place])
        if not (before or behind):
            continue
        if size < max(before, behind) + skip:
            raise Unsupported("reflects a dim of unknown size, or all of it", node=op.name,
                              code="SIZE_UNKNOWN")
        first, last = before - 1 + skip, size - 1 - skip
        left = backwards(low, op, x, place, first, first - before)
        right = backwards(low, op, x, place, last, last - behind)
        x = join(low, op, [left, x, right], place)
    return x


def lower_one_hot(low, op: Operator, _: str):
    """One value where a new coordinate is the index, another elsewhere."""
    x = low.tensor(op.inputs[0])
    (depth,) = numbers(op, 1)
    rank = len(x.dims) + 1
    place = position(op, int(op.attrs.get("axis", -1)), rank)
    kind = op.attrs["dst_dtype"]
    python = float if kind in ALL_FLOATS else bool if kind == "bool" else int
    if depth < 0 or 2 not in op.params or 3 not in op.params:
        raise Unsupported("depth or values are not constant", node=op.name, code="AXES_UNKNOWN")
    on, off = (low.const(python(op.params[port][0]), kind) for port in (2, 3))
    wide = "int32" if x.dtype == "int32" else "int64"
    x = low.cast(x, wide)
    axis = None if depth == 1 else low.new_axis(depth)
    x = x._replace(dims=x.dims[:place] + (None,) + x.dims[place:])
    along = x._replace(dims=(None,) * place + (axis,) + (None,) * (rank - 1 - place))
    return low.map("select", [class_test(low, x, along, place), on, off])


def backwards(low, op: Operator, x, place: int, first: int, last: int):
    """Elements from `first` down to behind `last`."""
    if first == last:
        return narrow(low, op, x, {place: Window("slice", 0, 0, 1)})
    window = Window("slice", first, None if last < 0 else last, -1)
    return narrow(low, op, x, {place: window})


def join(low, op: Operator, pieces: Sequence, place: int):
    """Tensors behind each other along the dim at `place`."""
    if len({len(piece.dims) for piece in pieces}) != 1:
        raise Unsupported("tensors of different rank", node=op.name, code="SHAPE")
    for piece in pieces[1:]:
        for at, (left, right) in enumerate(zip(pieces[0].dims, piece.dims)):
            if at != place:
                low.unify(left, right)
    sizes = [size_of(low, piece.dims[place]) for piece in pieces]
    if min(sizes) < 0:
        raise Unsupported("joins parts of unknown size", node=op.name, code="SIZE_UNKNOWN")
    total, first = sum(sizes), 0
    if total in sizes:
        return pieces[sizes.index(total)]
    axis = low.new_axis(total)
    parts: List = []
    for piece, size in zip(pieces, sizes):
        if size:
            parts.append(shifted(low, op, piece, place, axis, first, total - first - size))
        first += size
    result = parts[-1][0]
    for part, inside in reversed(parts[:-1]):
        result = low.map("select", [inside, part, result])
    return result


def shifted(low, op: Operator, x, place: int, axis: int, before: int, behind: int):
    """(x along `axis` with so many coordinates before and behind it, where it is)"""
    inside = low.inside(axis, before, behind, len(x.dims), place)
    if x.dims[place] is None:
        x = x._replace(dims=x.dims[:place] + (axis,) + x.dims[place + 1:])
    else:
        x = take(low, x, {place: Part(axis, Window("pad", before, behind))})
    return guard(low, x, inside, place), inside


JOINS: Dict[str, Callable] = {
    "concat": lower_concat,
    "pack": lower_pack,
    "pad": lower_pad,
    "mirror_pad": lower_mirror_pad,
    "one_hot": lower_one_hot,
}
