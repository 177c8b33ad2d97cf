"""The shape spec of a fused node, read from its text; the Python twin of csrc/core/shape_spec.h."""
from __future__ import annotations

import re
from typing import Dict, List, NamedTuple, Sequence, Tuple

from tf_autofuse.errors import AutofuseError

STAGE = "shape spec"
_FORM = re.compile(
    r"v1;axes=[0-9]{1,4};groups=[0-9,]*;(fixed=[0-9:,]*;)?in=[0-9.?*/s-]*;out=[0-9.*/s-]*;?\Z"
)


class Dim(NamedTuple):
    """The product of `axes` (none: always 1); `maybe`: the size of the only axis, or 1."""

    axes: Tuple[int, ...]
    maybe: bool

    def size(self, sizes: Dict[int, int]) -> int:
        """The product; axes without a size count as 1."""
        total = 1
        for axis in self.axes:
            total *= sizes.get(axis, 1)
        return total


class Bound(NamedTuple):
    """What run-time shapes make of a spec: merged sizes, run-time strides, output shapes."""

    sizes: List[int]
    strides: List[int]
    outputs: List[List[int]]


class SpecText(NamedTuple):
    """Dims of every input and output, and the merged axis of every axis."""

    groups: List[int]
    inputs: List[List[Dim]]
    outputs: List[List[Dim]]
    fixed: Dict[int, int]

    @classmethod
    def parse(cls, text: str) -> "SpecText":
        """Read the form that `loop.spec` describes; AutofuseError for anything else."""
        try:
            if not _FORM.match(text):  # int() takes more than digits
                raise ValueError(text)
            version, *parts = text.rstrip(";").split(";")
            fields = dict(part.split("=") for part in parts)
            numbers = [int(word) for word in fields["groups"].split(",") if word]
            if version != "v1" or len(numbers) != int(fields["axes"]):
                raise ValueError(text)
            pairs = [word.split(":") for word in fields.get("fixed", "").split(",") if word]
            fixed = {int(axis): int(size) for axis, size in pairs}
            return cls(numbers, _tensors(fields["in"]), _tensors(fields["out"]), fixed)
        except (ValueError, KeyError):
            raise AutofuseError("cannot read %r" % text, stage=STAGE) from None

    def bind(self, shapes: Sequence[Sequence[int]]) -> Bound:
        """AutofuseError names the input and dim that does not fit."""
        sizes = self._axis_sizes(shapes)
        count = max(self.groups) + 1 if self.groups else 0
        merged = [1] * count
        for axis, group in enumerate(self.groups):
            merged[group] *= sizes[axis]
        strides: List[int] = []
        for dims, shape in zip(self.inputs, shapes):
            if any(dim.maybe for dim in dims):
                strides += self._strides(dims, shape, count)
        outputs = [
            [dim.size(dict(enumerate(sizes))) for dim in dims] for dims in self.outputs
        ]
        return Bound(merged, strides, outputs)

    def _axis_sizes(self, shapes: Sequence[Sequence[int]]) -> List[int]:
        if [len(shape) for shape in shapes] != [len(dims) for dims in self.inputs]:
            raise AutofuseError("ranks %s" % [len(shape) for shape in shapes], stage=STAGE)
        sizes: Dict[int, int] = dict(self.fixed)
        pairs = [pair for dims, shape in zip(self.inputs, shapes) for pair in zip(dims, shape)]
        for exact in (True, False):
            for dim, size in pairs:
                if len(dim.axes) == 1 and dim.maybe is not exact and (exact or size != 1):
                    sizes.setdefault(dim.axes[0], size)
        for _ in pairs:
            for dim, size in pairs:
                unknown = [axis for axis in dim.axes if axis not in sizes]
                if len(dim.axes) > 1 and len(unknown) == 1 and dim.size(sizes) > 0:
                    sizes[unknown[0]] = size // dim.size(sizes)
        for number, (dims, shape) in enumerate(zip(self.inputs, shapes)):
            for place, (dim, size) in enumerate(zip(dims, shape)):
                want = dim.size(sizes)
                if size != want and not (dim.maybe and size == 1):
                    text = "input %d dim %d: %d, not %d" % (number, place, size, want)
                    raise AutofuseError(text, stage=STAGE)
        return [sizes.get(axis, 1) for axis in range(len(self.groups))]

    def _strides(self, dims: Sequence[Dim], shape: Sequence[int], count: int) -> List[int]:
        """Axes that may be broadcast are merged with no other, so the innermost dim counts."""
        strides, step = [0] * count, 1
        for dim, size in reversed(list(zip(dims, shape))):
            broadcast = not dim.axes or (dim.maybe and size == 1)
            if not broadcast and strides[self.groups[dim.axes[0]]] == 0:
                strides[self.groups[dim.axes[0]]] = step
            step *= size
        return strides


def _tensors(text: str) -> List[List[Dim]]:
    return [_dims(word) for word in text.split("/")] if text else []


def _dims(text: str) -> List[Dim]:
    if text == "s":
        return []
    return [
        Dim(() if word == "-" else tuple(int(part) for part in word.rstrip("?").split("*")),
            word.endswith("?"))
        for word in text.split(".")
    ]
