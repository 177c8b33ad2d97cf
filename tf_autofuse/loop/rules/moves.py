"""Rules of operators that move elements: nothing is computed, parts are read in another order."""
from __future__ import annotations

from typing import Callable, Dict, List, Optional, Sequence, Tuple

from tf_autofuse.errors import Unsupported
from tf_autofuse.loop.moving import Part, take
from tf_autofuse.loop.source import Operator
from tf_autofuse.loop.windows import Window, walk


def numbers(op: Operator, port: int) -> Tuple[int, ...]:
    """Values of a constant input; Unsupported (code AXES_UNKNOWN) when it is not constant."""
    values = op.params.get(port)
    if values is None:
        raise Unsupported("input %d of %s is not constant" % (port, op.type), node=op.name,
                          code="AXES_UNKNOWN")
    return tuple(int(value) for value in values)


def position(op: Operator, axis: int, rank: int) -> int:
    """The dim that an axis means, from the end if it is negative."""
    if not -rank <= axis < rank:
        raise Unsupported("axis %d of a tensor of rank %d" % (axis, rank), node=op.name,
                          code="SHAPE")
    return axis % rank


def lower_transpose(low, op: Operator, _: str):
    """The same values with the dims in another order."""
    x = low.tensor(op.inputs[0])
    order = [position(op, axis, len(x.dims)) for axis in numbers(op, 1)]
    if sorted(order) != list(range(len(x.dims))):
        raise Unsupported("order %s is none" % order, node=op.name, code="SHAPE")
    return x._replace(dims=tuple(x.dims[place] for place in order))


def lower_slice(low, op: Operator, _: str):
    """size[i] elements from begin[i] on, all the rest where size[i] is -1."""
    x = low.tensor(op.inputs[0])
    pairs = list(zip(numbers(op, 1), numbers(op, 2)))
    windows = [Window("from", first, None if size < 0 else size) for first, size in pairs]
    return narrow(low, op, x, dict(enumerate(windows)), op.out_dims)


def lower_reverse(low, op: Operator, _: str):
    """Dims walked from their ends."""
    x = low.tensor(op.inputs[0])
    axes = [position(op, axis, len(x.dims)) for axis in numbers(op, 1)]
    windows = {place: Window("slice", None, None, -1) for place in axes}
    return narrow(low, op, x, windows, op.out_dims)


def lower_split(low, op: Operator, _: str):
    """Equal parts of one dim."""
    x = low.tensor(op.inputs[0])
    place = position(op, numbers(op, 0)[0], len(x.dims))
    return [narrow(low, op, x, {place: Window("part", number, op.outputs)}, op.out_dims)
            for number in range(op.outputs)]


def lower_split_v(low, op: Operator, _: str):
    """Parts of given sizes; one may be the rest."""
    x = low.tensor(op.inputs[0])
    sizes, place = numbers(op, 1), position(op, numbers(op, 2)[0], len(x.dims))
    whole = size_of(low, x.dims[place])
    if whole < 0 or any(size < -1 for size in sizes) or sizes.count(-1) > 1:
        raise Unsupported("parts %s of a dim of unknown size" % (sizes,), node=op.name,
                          code="AXES_UNKNOWN")
    rest = whole - sum(size for size in sizes if size >= 0)
    parts, first = [], 0
    for size in sizes:
        count = rest if size < 0 else size
        parts.append(narrow(low, op, x, {place: Window("from", first, count)}))
        first += count
    if first != whole:
        raise Unsupported("parts %s of %d" % (sizes, whole), node=op.name, code="SHAPE")
    return parts


def lower_unpack(low, op: Operator, _: str):
    """The tensors along one dim."""
    x = low.tensor(op.inputs[0])
    place = position(op, int(op.attrs.get("axis", 0)), len(x.dims))
    parts = []
    for number in range(op.outputs):
        part = narrow(low, op, x, {place: Window("pick", number)})
        parts.append(part._replace(dims=part.dims[:place] + part.dims[place + 1:]))
    return parts


def lower_strided_slice(low, op: Operator, _: str):
    """Python's x[first:last:step, ..., new, index] from three lists and five bit masks."""
    x = low.tensor(op.inputs[0])
    windows: Dict[int, Window] = {}
    shape: List[Optional[int]] = []  # positions of x, None for a new dim
    for place, window in entries(op, len(x.dims)):
        if window is not None and place is not None:
            windows[place] = window
        if window is None or window.kind != "pick":
            shape.append(place)
    sizes: List[Optional[int]] = [None] * len(x.dims)
    for place, size in zip(shape, op.out_dims or ()):
        if place is not None:
            sizes[place] = size
    part = narrow(low, op, x, windows, sizes)
    return part._replace(
        dims=tuple(None if place is None else part.dims[place] for place in shape))


def entries(op: Operator, rank: int):
    """(dim of the operand or None for a new one, its window or None for all of it)"""
    firsts, lasts, steps = (numbers(op, port) for port in (1, 2, 3))

    def bit(name: str, number: int) -> bool:
        return bool(int(op.attrs.get(name, 0)) >> number & 1)

    count = len(firsts)
    used = [n for n in range(count) if not bit("new_axis_mask", n) or bit("ellipsis_mask", n)]
    dots = [n for n in range(count) if bit("ellipsis_mask", n)]
    given = len(used) - len(dots)
    if given > rank or len(dots) > 1 or 0 in steps:
        raise Unsupported("slice of %d dims of rank %d" % (given, rank), node=op.name,
                          code="SHAPE")
    place = 0
    entries: List[Tuple[Optional[int], Optional[Window]]] = []
    for n in range(count):
        if bit("ellipsis_mask", n):
            entries += [(place + i, None) for i in range(rank - given)]
            place += rank - given
        elif bit("new_axis_mask", n):
            entries.append((None, None))
        else:
            if bit("shrink_axis_mask", n):
                window = Window("pick", firsts[n])
            else:
                window = Window("slice", None if bit("begin_mask", n) else firsts[n],
                                None if bit("end_mask", n) else lasts[n], steps[n])
            entries.append((place, window))
            place += 1
    return entries + [(rest, None) for rest in range(place, rank)]


def narrow(low, op: Operator, x, windows: Dict[int, Window],
           sizes: Optional[Sequence[Optional[int]]] = None):
    """The parts of a tensor that windows take of its dims; a picked dim stays as one of size 1.

    `sizes` are what the graph knows of the sizes of the parts.
    """
    parts: Dict[int, Part] = {}
    dims = list(x.dims)
    for place, window in windows.items():
        whole = size_of(low, x.dims[place])
        size = _part_size(op, whole, window)
        if size is None:
            size = sizes[place] if sizes is not None else None
            size = low.new_symbol() if size is None else size
        if _takes_all(window, whole, size):
            continue
        axis = None if size == 1 else low.new_axis(size)
        if x.dims[place] is None:
            dims[place] = axis
        else:
            parts[place] = Part(axis, window)
    return take(low, x._replace(dims=tuple(dims)), parts)


def size_of(low, axis: Optional[int]) -> int:
    """Size of a dim, or its symbol."""
    return 1 if axis is None else low.size(axis)


def _part_size(op: Operator, whole: int, window: Window) -> Optional[int]:
    """Size of the part, None where it depends on the run time."""
    if window.kind == "pick":
        return 1
    if whole >= 0:
        try:
            return walk(whole, [window]).size
        except ValueError as error:
            raise Unsupported(str(error), node=op.name, code="SHAPE") from None
    if window.kind == "from" and window.last is not None:
        return window.last
    reverses = window == Window("slice", None, None, -1)
    return whole if reverses or _takes_all(window, whole, whole) else None


def _takes_all(window: Window, whole: int, size: int) -> bool:
    if window.kind in ("slice", "from"):
        ends = window.first in (None, 0) and (window.last is None or whole == size >= 0)
        return ends and window.step == 1
    return window.kind == "part" and window.last == 1


MOVES: Dict[str, Callable] = {
    "transpose": lower_transpose,
    "slice": lower_slice,
    "reverse": lower_reverse,
    "split": lower_split,
    "split_v": lower_split_v,
    "unpack": lower_unpack,
    "strided_slice": lower_strided_slice,
}
