"""The shape spec of a fused node, read from its text; the Python twin of csrc/core/shape_spec.h."""
from __future__ import annotations

from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

from tf_autofuse.errors import AutofuseError

STAGE = "shape spec"
Dim = Tuple[Optional[int], bool]  # (axis or None for always one, may also be 1)


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

    @classmethod
    def parse(cls, text: str) -> "SpecText":
        """Read `v1;axes=..;groups=..;in=..;out=..;`; AutofuseError for anything else."""
        try:
            version, axes, groups, ins, outs = text.rstrip(";").split(";")
            numbers = [int(word) for word in _value("groups", groups).split(",") if word]
            if version != "v1" or len(numbers) != int(_value("axes", axes)):
                raise ValueError(text)
            return cls(numbers, _tensors(_value("in", ins)), _tensors(_value("out", outs)))
        except ValueError:
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
            if any(maybe for _, maybe in dims):
                strides += self._strides(dims, shape, count)
        outputs = [
            [1 if axis is None else sizes[axis] for axis, _ in dims] for dims in self.outputs
        ]
        return Bound(merged, strides, outputs)

    def _axis_sizes(self, shapes: Sequence[Sequence[int]]) -> List[int]:
        if [len(shape) for shape in shapes] != [len(dims) for dims in self.inputs]:
            raise AutofuseError("ranks %s" % [len(shape) for shape in shapes], stage=STAGE)
        sizes: Dict[int, int] = {}
        for exact in (True, False):
            for dims, shape in zip(self.inputs, shapes):
                for (axis, maybe), size in zip(dims, shape):
                    if axis is not None and maybe is not exact and (exact or size != 1):
                        sizes.setdefault(axis, size)
        for number, (dims, shape) in enumerate(zip(self.inputs, shapes)):
            for place, ((axis, maybe), size) in enumerate(zip(dims, shape)):
                want = 1 if axis is None else sizes.get(axis, 1)
                if size != want and not (maybe and size == 1):
                    text = "input %d dim %d: %d, not %d" % (number, place, size, want)
                    raise AutofuseError(text, stage=STAGE)
        return [sizes.get(axis, 1) for axis in range(len(self.groups))]

    def _strides(self, dims: Sequence[Dim], shape: Sequence[int], count: int) -> List[int]:
        """Axes that may be broadcast are merged with no other, so the innermost dim counts."""
        strides, step = [0] * count, 1
        for (axis, maybe), size in reversed(list(zip(dims, shape))):
            broadcast = axis is None or (maybe and size == 1)
            if not broadcast and strides[self.groups[axis or 0]] == 0:
                strides[self.groups[axis or 0]] = step
            step *= size
        return strides


def _value(name: str, part: str) -> str:
    head, equals, value = part.partition("=")
    if head != name or not equals:
        raise ValueError(part)
    return value


def _tensors(text: str) -> List[List[Dim]]:
    return [_dims(word) for word in text.split("/")] if text else []


def _dims(text: str) -> List[Dim]:
    if text == "s":
        return []
    return [
        (None if word == "-" else int(word.rstrip("?")), word.endswith("?"))
        for word in text.split(".")
    ]
