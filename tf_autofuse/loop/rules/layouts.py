"""Rules of operators that are moves of blocks: images and batches, rolls, and what undoes moves."""
from __future__ import annotations

from itertools import product
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from tf_autofuse.errors import Unsupported
from tf_autofuse.loop.placing import at_places
from tf_autofuse.loop.rules.common import apply, args_of, const
from tf_autofuse.loop.rules.indexed import index_type
from tf_autofuse.loop.rules.joins import backwards, join, shifted, surround
from tf_autofuse.loop.rules.moves import entries, narrow, numbers, position, size_of
from tf_autofuse.loop.source import Operator
from tf_autofuse.loop.windows import Walk, Window, walk

_MOST_BLOCKS = 16


def lower_roll(low, op: Operator, _: str):
    """Elements moved along dims, those that leave at one end coming in at the other."""
    x = low.tensor(op.inputs[0])
    for shift, axis in zip(numbers(op, 1), numbers(op, 2)):
        x = _rolled(low, op, x, position(op, axis, len(x.dims)), shift)
    return x


def _rolled(low, op: Operator, x, place: int, shift: int):
    size = size_of(low, x.dims[place])
    if size < 0:
        raise Unsupported("rolls a dim of unknown size", node=op.name, code="SIZE_UNKNOWN")
    first = -shift % max(size, 1)
    if first == 0:
        return x
    parts = [narrow(low, op, x, {place: Window("from", first, None)}),
             narrow(low, op, x, {place: Window("from", 0, first)})]
    return join(low, op, parts, place)


def lower_cross(low, op: Operator, _: str):
    """The cross product of vectors of three elements along the last dim."""
    a, b = low.same_shape(args_of(low, op))
    last = len(a.dims) - 1
    if last < 0 or size_of(low, a.dims[last]) != 3:
        raise Unsupported("vectors of unknown size", node=op.name, code="SHAPE")
    first, second = ([_rolled(low, op, x, last, -by) for x in (a, b)] for by in (1, 2))
    products = [apply(low, "mul", pair) for pair in ((first[0], second[1]),
                                                     (second[0], first[1]))]
    return apply(low, "sub", products)


def _blocks_of(op: Operator) -> int:
    if op.attrs.get("data_format", "NHWC") != "NHWC":
        raise Unsupported("data_format %s" % op.attrs["data_format"], node=op.name, code="FORMAT")
    return int(op.attrs["block_size"])


def _reordered(low, x, cut: Sequence[int], order: Sequence[int], joined: Sequence[int]):
    """x with the dims `cut`, then in another order, then with the dims `joined`."""
    x = low.reshape(x, cut)
    return low.reshape(x._replace(dims=tuple(x.dims[place] for place in order)), joined)


def _product(low, first: int, second: int) -> int:
    """The size that is a product, or a symbol."""
    known = min(first, second) >= 0
    return first * second if known else first if second == 1 else low.new_symbol()


def lower_depth_to_space(low, op: Operator, _: str):
    """The channels of a pixel become a square of pixels."""
    x = low.tensor(op.inputs[0])
    block = _blocks_of(op)
    n, h, w, c = (size_of(low, axis) for axis in x.dims)
    rest = c // (block * block)
    result = (n, _product(low, h, block), _product(low, w, block), rest)
    return _reordered(low, x, (n, h, w, block, block, rest), (0, 1, 3, 2, 4, 5), result)


def lower_space_to_depth(low, op: Operator, _: str):
    """A square of pixels becomes the channels of one."""
    x = low.tensor(op.inputs[0])
    block = _blocks_of(op)
    n, h, w, c = (size_of(low, axis) for axis in x.dims)
    h, w = _quotient(op, h, block), _quotient(op, w, block)
    cut = (n, h, block, w, block, c)
    return _reordered(low, x, cut, (0, 1, 3, 2, 4, 5), (n, h, w, block * block * c))


def _quotient(op: Operator, size: int, block: int) -> int:
    if size < 0 or size % block:
        raise Unsupported("blocks of %d in a dim of %d" % (block, size), node=op.name,
                          code="SIZE_UNKNOWN")
    return size // block


def _blocks(op: Operator) -> Tuple[Tuple[int, ...], Tuple[int, ...]]:
    """Sizes of the blocks along the dims behind the batch; padding or crops along all dims."""
    if "block_size" in op.attrs:  # the form for images
        return (int(op.attrs["block_size"]),) * 2, (0, 0) + numbers(op, 1)
    return numbers(op, 1), (0, 0) + numbers(op, 2)


def lower_batch_to_space(low, op: Operator, _: str):
    """Blocks of the batch become blocks along the dims behind it, which are then cropped."""
    x = low.tensor(op.inputs[0])
    blocks, crops = _blocks(op)
    sizes = [size_of(low, axis) for axis in x.dims]
    count, dims = len(blocks), sizes[1:]
    batch = sizes[0]
    for block in blocks:
        batch = _quotient(op, batch, block) if batch >= 0 else batch
    batch = batch if batch >= 0 else low.new_symbol()
    order = [count]
    for place in range(count):
        order += [count + 1 + place, place]
    order += range(2 * count + 1, count + 1 + len(dims))
    spread = [_product(low, size, block) for size, block in zip(dims, blocks)]
    x = _reordered(low, x, list(blocks) + [batch] + dims, order,
                   [batch] + spread + dims[count:])
    windows = {place: Window("slice", crops[2 * place], -crops[2 * place + 1] or None)
               for place in range(1, count + 1) if any(crops[2 * place:2 * place + 2])}
    return narrow(low, op, x, windows, op.out_dims)


def lower_space_to_batch(low, op: Operator, _: str):
    """Padding, and then blocks of the dims behind the batch become blocks of the batch."""
    x = low.tensor(op.inputs[0])
    blocks, ends = _blocks(op)
    x = surround(low, op, x, ends + (0, 0) * (len(x.dims) - 1 - len(blocks)), const(low, x, 0))
    sizes = [size_of(low, axis) for axis in x.dims]
    for size, block in zip(sizes[1:], blocks):
        _quotient(op, size, block)
    pieces: List = []
    for firsts in product(*map(range, blocks)):
        if len(pieces) == _MOST_BLOCKS:
            raise Unsupported("more than %d blocks" % _MOST_BLOCKS, node=op.name, code="SHAPE")
        piece = narrow(low, op, x, {
            place: Window("slice", first, None, block)
            for place, (first, block) in enumerate(zip(firsts, blocks), 1)})
        pieces.append(piece._replace(dims=(None,) + piece.dims))
    whole = join(low, op, pieces, 0)
    parts = [size_of(low, axis) for axis in whole.dims]
    return low.reshape(whole, [_product(low, parts[1], parts[0])] + parts[2:])


def lower_matrix_diag(low, op: Operator, _: str):
    """Matrices with the last dim as their main diagonals, and another value around them."""
    x = low.tensor(op.inputs[0])
    rows = columns = 0
    around: Any = 0
    if op.type != "MatrixDiag":
        if any(numbers(op, 1)):
            raise Unsupported("other diagonals than the main one", node=op.name, code="ATTR")
        (rows,), (columns,) = numbers(op, 2), numbers(op, 3)
        around = op.params[4][0] if 4 in op.params else None
    size = size_of(low, x.dims[-1])
    rows, columns = (size if count < 1 else count for count in (rows, columns))
    if around is None or min(rows, columns) != size or size < 0:
        raise Unsupported("matrices of unknown size or value", node=op.name, code="SIZE_UNKNOWN")
    dims = [x.dims[-1], x.dims[-1]]
    own = 0 if rows == size else 1
    other = rows if own else columns
    dims[1 - own] = None if other == 1 else low.new_axis(other)
    whole = x._replace(dims=x.dims[:-1] + tuple(dims))
    dims[1 - own] = None
    x = x._replace(dims=x.dims[:-1] + tuple(dims))
    rank = len(whole.dims)
    kind = index_type(low, whole.dims)
    here = low.map("eq", [low.index(whole, place, kind) for place in (rank - 2, rank - 1)], "bool")
    return low.map("select", [here, x, const(low, x, around)])._replace(dims=whole.dims)


def lower_diag(low, op: Operator, _: str):
    """A tensor with x where the second half of the coordinates is the first half, else 0."""
    x = low.tensor(op.inputs[0])
    rank = len(x.dims)
    others = [None if axis is None else low.new_axis(low.size(axis)) for axis in x.dims]
    whole = x._replace(dims=x.dims + tuple(others))
    result = x._replace(dims=x.dims + (None,) * rank)
    kind = index_type(low, whole.dims)
    for place in range(rank):
        here = low.map("eq", [low.index(whole, at, kind) for at in (place, place + rank)], "bool")
        result = low.map("select", [here, result, const(low, x, 0)])
    return result._replace(dims=whole.dims)


def lower_strided_slice_grad(low, op: Operator, _: str):
    """Zeros of a given shape with the gradient where the slice was taken."""
    (dy,) = args_of(low, op)
    shape = numbers(op, 0)
    dims: List[Optional[int]] = [None] * len(shape)
    windows: Dict[int, Window] = {}
    rest = list(dy.dims)
    for place, window in entries(op, len(shape)):
        axis = None if window is not None and window.kind == "pick" else rest.pop(0)
        if place is not None:
            dims[place] = axis
        if place is not None and window is not None:
            windows[place] = window
    dy = dy._replace(dims=tuple(dims))
    for place, window in windows.items():
        dy = _put_back(low, op, dy, place, shape[place], walk(shape[place], [window]))
    return dy


def _put_back(low, op: Operator, dy, place: int, size: int, at: Walk):
    """Along one dim of `size`: dy where `at` walks, else 0."""
    if at.size == size:
        return dy if at.step == 1 or size == 1 else _reversed(low, op, dy, place)
    if at.size == 0:
        raise Unsupported("the gradient of nothing", node=op.name, code="SHAPE")
    if at.size > 1 and at.step < 0:
        dy = _reversed(low, op, dy, place)
    start = min(at.start, at.start + at.step * (at.size - 1))
    axis = low.new_axis(size)
    if at.size == 1 or abs(at.step) == 1:
        dy, inside = shifted(low, op, dy, place, axis, start, size - start - at.size)
    else:
        dy, inside = _spread(low, op, dy, place, axis, Walk(at.size, start, abs(at.step)))
    return low.map("select", [inside, dy, const(low, dy, 0)])


def _reversed(low, op: Operator, x, place: int):
    return narrow(low, op, x, {place: Window("slice", None, None, -1)})


def _spread(low, op: Operator, x, place: int, axis: int, at: Walk):
    """(x with its elements where `at` walks along `axis`, where they are)"""
    if low.node(x.value).kind != "load":
        raise Unsupported("would compute the gradient for every element", node=op.name,
                          code="RECOMPUTE")
    dims = x.dims[:place] + (axis,) + x.dims[place + 1:]
    zero, pitch, last = (low.const(n, "int64") for n in (0, at.step, at.size - 1))
    index = low.index(x._replace(dims=dims), place, "int64")
    index = low.map("sub", [index, low.const(at.start, "int64")])
    there = low.map("min", [low.map("max", [low.map("trunc_div", [index, pitch]), zero]), last])
    inside = low.map("eq", [low.map("mul", [there, pitch]), index], "bool")
    return x._replace(value=at_places(low, x, place, there), dims=dims), inside


def lower_mirror_pad_grad(low, op: Operator, _: str):
    """The gradient without its borders, to which they are added back where they came from."""
    dy = low.tensor(op.inputs[0])
    ends = numbers(op, 1)
    skip = {"REFLECT": 1, "SYMMETRIC": 0}.get(str(op.attrs.get("mode")))
    for place in range(len(dy.dims)):
        before, behind = ends[2 * place:2 * place + 2]
        if before or behind:
            dy = _fold(low, op, dy, place, before, behind, skip)
    return dy


def _fold(low, op: Operator, dy, place: int, before: int, behind: int, skip: Optional[int]):
    whole = size_of(low, dy.dims[place])
    size = whole - before - behind
    if skip is None or whole < 0 or size < max(2, max(before, behind) + skip):
        raise Unsupported("a reflection of unknown size", node=op.name, code="SIZE_UNKNOWN")
    x = narrow(low, op, dy, {place: Window("from", before, size)})
    borders = ((before - 1, before, skip), (whole - 1, behind, size - skip - behind))
    for first, count, start in borders:
        if count:
            part = backwards(low, op, dy, place, first, first - count)
            part, inside = shifted(low, op, part, place, x.dims[place], start,
                                   size - start - count)
            x = low.map("select", [inside, apply(low, "add", [x, part]), x])
    return x


LAYOUTS: Dict[str, Callable] = {
    "roll": lower_roll,
    "cross": lower_cross,
    "depth_to_space": lower_depth_to_space,
    "space_to_depth": lower_space_to_depth,
    "batch_to_space": lower_batch_to_space,
    "space_to_batch": lower_space_to_batch,
    "matrix_diag": lower_matrix_diag,
    "diag": lower_diag,
    "strided_slice_grad": lower_strided_slice_grad,
    "mirror_pad_grad": lower_mirror_pad_grad,
}
