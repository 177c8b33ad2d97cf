"""The shape spec: how the run-time dims of a fused node's tensors bind its axes.

The C++ runtimes (csrc/core/shape_spec.h) read this text; kernels themselves only see merged axis
sizes and, for loads that are not simply dense, a table of strides. Grammar, for a kernel with three
axes of which the first two merged:

    v1;axes=3;groups=0,0,1;in=0.1.2/-.-.2/0?.1/s;out=0.1.2/s;

Dims are separated by `.`: `k` is axis k, `k?` axis k or 1, `-` is 1, `k*l` the product of two axes
(a dim that a reshape splits or merges); `s` is a scalar. `k!` is 1 or the size of axis k, which
other dims tell: a guest. If an axis has no points, nothing is read, and a guest may have any size
beside an axis of one. Windows (`loop.windows`) behind a dim of
an input say which part of it is walked. Sizes that no shape tells are fixed:

    v1;axes=3;groups=0,1,1;fixed=2:64;in=0[::-1].1*2[1:-1:1];out=0.1.2;

Intervals say how many coordinates of an axis lie before and behind those inside:

    v1;axes=1;groups=0;inside=0:2:3;in=0[2|3];out=0;
"""
from __future__ import annotations

import re
from typing import Dict, Iterable, List, NamedTuple, Sequence, Tuple

from tf_autofuse.loop.ir import Dim, Load, LoopKernel, whole_dims
from tf_autofuse.loop.windows import Window, parse_windows, walk


def shape_spec(kernel: LoopKernel, groups: Sequence[int]) -> str:
    """Spec text of an unmerged kernel whose axes went into merged axes `groups`."""
    index = {axis: str(i) for i, axis in enumerate(kernel.axes)}
    inputs = [_spell(dims, index) for dims in input_dims(kernel)]
    stores = sorted(kernel.stores, key=lambda store: store.output)
    outputs = [_spell(store.dims, index) for store in stores]
    fixed = ",".join("%s:%d" % (index[axis], size) for axis, size in kernel.fixed)
    inside = ",".join("%s:%d:%d" % ((index[value.axes[0]],) + interval)
                      for value, interval in zip(kernel.insides, kernel.intervals))
    return "v1;axes=%d;groups=%s;%s%sin=%s;out=%s;" % (
        len(kernel.axes),
        ",".join(str(group) for group in groups),
        "fixed=%s;" % fixed if fixed else "",
        "inside=%s;" % inside if inside else "",
        "/".join(inputs),
        "/".join(outputs),
    )


def input_dims(kernel: LoopKernel) -> List[Tuple[Dim, ...]]:
    """Layout of every input; each input is loaded exactly once."""
    found: Dict[int, Tuple[Dim, ...]] = {
        value.input: value.dims for value in kernel.body if isinstance(value, Load)
    }
    return [found[number] for number in range(len(kernel.inputs))]


def _spell(dims: Tuple[Dim, ...], index: Dict[str, str]) -> str:
    if not dims:
        return "s"
    return ".".join(
        "*".join("-" if dim.axis is None else index[dim.axis] for dim in factors)
        + "".join(map(str, factors[0].windows))
        + ("!" if factors[0].guest else "?" * factors[0].maybe)
        for factors in whole_dims(dims)
    )


def axis_sizes(kernel: LoopKernel, shapes: Sequence[Sequence[int]]) -> Dict[str, int]:
    """Axis sizes for given input shapes, by the rule the C++ runtimes follow.

    The agreed size of the exact dims; where an axis has only `maybe` dims, the one that is not 1.
    ValueError names the input and dim that does not fit.
    """
    exact: Dict[str, int] = dict(kernel.fixed)
    loose: Dict[str, int] = {}
    guests: List[Tuple[str, int, Tuple[int, int]]] = []
    products: List[Tuple[List[str], int, Tuple[int, int]]] = []
    for number, (dims, shape) in enumerate(zip(input_dims(kernel), shapes)):
        whole = whole_dims(dims)
        if len(whole) != len(shape):
            raise ValueError("input %d: rank %d, not %d" % (number, len(shape), len(whole)))
        for position, (factors, size) in enumerate(zip(whole, shape)):
            where = (number, position)
            part = _part_size(factors[0], int(size), where)
            if len(factors) > 1:
                products.append(([dim.axis or "" for dim in factors], part, where))
            elif factors[0].guest:
                guests.append((factors[0].axis or "", part, where))
            else:
                _bind(loose if factors[0].maybe else exact, factors[0], part, where)
    _solve(exact, products)
    for axis, size in loose.items():
        if size not in (1, exact.setdefault(axis, size)):
            raise ValueError("axis %s: %d cannot be broadcast to %d" % (axis, size, exact[axis]))
    sizes = {axis: exact[axis] for axis in kernel.axes}
    for axis, size, where in guests:
        if not is_welcome(size, sizes[axis], sizes.values()):
            raise ValueError("input %d dim %d: %d, not %d" % (where + (size, sizes[axis])))
    return sizes


def is_welcome(size: int, of_axis: int, sizes: Iterable[int]) -> bool:
    """Whether a guest may have a size: one, that of its axis, or beside an axis of one any size if
    nothing is read."""
    return size in (1, of_axis) or (of_axis == 1 and 0 in sizes)


def _part_size(dim: Dim, size: int, where: Tuple[int, int]) -> int:
    try:
        return walk(size, dim.windows).size
    except ValueError as error:
        raise ValueError("input %d dim %d: %s" % (where[0], where[1], error)) from None


def _solve(sizes: Dict[str, int], products: Sequence[Tuple[List[str], int, Tuple[int, int]]]):
    """Factors that follow from products, in as many rounds as it takes; then all are checked."""
    for _ in products:
        for axes, size, _ in products:
            unknown = [axis for axis in axes if axis not in sizes]
            rest = _product(sizes.get(axis, 1) for axis in axes)
            if len(unknown) == 1 and rest > 0:
                sizes[unknown[0]] = size // rest
    for axes, size, where in products:
        bound = _product(sizes.get(axis, -1) for axis in axes)
        if bound != size or not set(axes) <= set(sizes):
            raise ValueError("input %d dim %d: %d, not %d" % (where + (size, bound)))


def _product(sizes: Iterable[int]) -> int:
    total = 1
    for size in sizes:
        total *= size
    return total


def _bind(sizes: Dict[str, int], dim: Dim, size: int, where: Tuple[int, int]) -> None:
    if dim.axis is None:
        bound = 1
    elif dim.maybe and sizes.get(dim.axis, 1) == 1:
        bound = size
    else:
        bound = sizes.get(dim.axis, size)
    if size != bound and not (dim.maybe and size == 1):
        raise ValueError("input %d dim %d: %d, not %d" % (where[0], where[1], size, bound))
    if dim.axis is not None:
        sizes[dim.axis] = bound


class SpecDim(NamedTuple):
    """A dim as the spec has it: the product of `axes` (none: one element), windows of the whole;
    `maybe`: the size of the only axis, or 1; `guest`: which others tell."""

    axes: Tuple[int, ...]
    maybe: bool = False
    windows: Tuple[Window, ...] = ()
    guest: bool = False

    def size(self, sizes: Dict[int, int]) -> int:
        """The product; axes without a size count as 1."""
        return _product(sizes.get(axis, 1) for axis in self.axes)


class Spec(NamedTuple):
    """Merged axis of every axis, dims of inputs and outputs, fixed sizes by axis, and the axis of
    each interval with the coordinates before and behind."""

    groups: List[int]
    inputs: List[List[SpecDim]]
    outputs: List[List[SpecDim]]
    fixed: Dict[int, int]
    inside: List[Tuple[int, int, int]]


_FORM = re.compile(
    r"v1;axes=[0-9]{1,4};groups=[0-9,]*;(fixed=[0-9:,]*;)?(inside=[0-9:,]*;)?"
    r"in=[]0-9.?!*/s:|+of[-]*;out=[0-9.*/s-]*;?\Z"
)


def parse_spec(text: str) -> Spec:
    """Read a spec; ValueError when the text is none."""
    if not _FORM.match(text):  # int() takes more than digits
        raise ValueError(text)
    fields = dict(part.split("=") for part in text.rstrip(";").split(";")[1:])
    groups = [int(word) for word in fields["groups"].split(",") if word]
    if len(groups) != int(fields["axes"]):
        raise ValueError(text)
    pairs = [word.split(":") for word in fields.get("fixed", "").split(",") if word]
    fixed = {int(axis): int(size) for axis, size in pairs}
    inside = []
    for word in fields.get("inside", "").split(",") if "inside" in fields else []:
        axis, before, behind = (int(number) for number in word.split(":"))
        inside.append((axis, before, behind))
    return Spec(groups, _parse_tensors(fields["in"]), _parse_tensors(fields["out"]), fixed, inside)


def _parse_tensors(text: str) -> List[List[SpecDim]]:
    tensors = text.split("/") if text else []
    return [[] if word == "s" else list(map(_parse_dim, word.split("."))) for word in tensors]


def _parse_dim(word: str) -> SpecDim:
    found = re.match(r"(\d+(?:\*\d+)*|-)((?:\[[^\]]*\])*)([?!]?)$", word)
    if found is None:
        raise ValueError(word)
    axes = () if found.group(1) == "-" else tuple(map(int, found.group(1).split("*")))
    mark = found.group(3)
    return SpecDim(axes, bool(mark), parse_windows(found.group(2)), mark == "!")


def in_table(dims: Sequence[SpecDim]) -> bool:
    """Whether the elements of an input lie as only its row of the run-time table says."""
    axes = [axis for dim in dims for axis in dim.axes]
    return axes != sorted(axes) or any(dim.maybe or dim.windows for dim in dims)


def table_row(
    dims: Sequence[SpecDim], shape: Sequence[int], sizes: Sequence[int], groups: Sequence[int]
) -> List[int]:
    """Row of the run-time table for an input of `shape`, with the `sizes` of all axes: a stride for
    each merged axis, and the offset of the first point.

    Axes that were merged lie side by side, so that the innermost of them gives the stride.
    """
    strides = [0] * (max(groups) + 1 if groups else 0)
    offset, pitch = 0, 1
    for dim, size in reversed(list(zip(dims, shape))):
        at = walk(size, dim.windows)
        offset += at.start * pitch
        step = 0 if dim.maybe and size == 1 else at.step * pitch
        for axis in reversed(dim.axes):
            if strides[groups[axis]] == 0:
                strides[groups[axis]] = step
            step *= sizes[axis]
        pitch *= size
    return strides + [offset]
