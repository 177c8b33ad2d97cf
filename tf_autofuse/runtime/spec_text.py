"""The shape spec of a fused node, read from its text; the Python twin of csrc/core/shape_spec.h."""
from __future__ import annotations

from typing import Dict, List, NamedTuple, Sequence, Tuple

from tf_autofuse.errors import AutofuseError
from tf_autofuse.loop.spec import SpecDim, in_table, is_welcome, parse_spec, table_row
from tf_autofuse.loop.windows import walk

STAGE = "shape spec"


class Bound(NamedTuple):
    """What run-time shapes make of a spec: merged sizes, run-time table, output shapes."""

    sizes: List[int]
    strides: List[int]
    outputs: List[List[int]]


class SpecText(NamedTuple):
    """As `loop.spec.Spec`, with what it means for given shapes."""

    groups: List[int]
    inputs: List[List[SpecDim]]
    outputs: List[List[SpecDim]]
    fixed: Dict[int, int]
    inside: List[Tuple[int, int, int]]

    @classmethod
    def parse(cls, text: str) -> "SpecText":
        """Read the form that `loop.spec` describes; AutofuseError for anything else."""
        try:
            return cls(*parse_spec(text))
        except ValueError:
            raise AutofuseError("cannot read %r" % text, stage=STAGE) from None

    def bind(self, shapes: Sequence[Sequence[int]]) -> Bound:
        """AutofuseError names the input and dim that does not fit."""
        sizes = self._axis_sizes(shapes)
        count = max(self.groups) + 1 if self.groups else 0
        merged = [1] * count
        for axis, group in enumerate(self.groups):
            merged[group] *= sizes[axis]
        table: List[int] = []
        for dims, shape in zip(self.inputs, shapes):
            if in_table(dims):
                table += table_row(dims, shape, sizes, self.groups)
        for axis, before, behind in self.inside:
            table += [before, sizes[axis] - behind]
        outputs = [
            [dim.size(dict(enumerate(sizes))) for dim in dims] for dims in self.outputs
        ]
        return Bound(merged, table, outputs)

    def _axis_sizes(self, shapes: Sequence[Sequence[int]]) -> List[int]:
        if [len(shape) for shape in shapes] != [len(dims) for dims in self.inputs]:
            raise AutofuseError("ranks %s" % [len(shape) for shape in shapes], stage=STAGE)
        sizes: Dict[int, int] = dict(self.fixed)
        places = [(dim, size, "input %d dim %d" % (number, place))
                  for number, (dims, shape) in enumerate(zip(self.inputs, shapes))
                  for place, (dim, size) in enumerate(zip(dims, shape))]
        pairs = [(dim, _part_size(dim, size, where)) for dim, size, where in places]
        for exact in (True, False):
            for dim, size in pairs:
                tells = len(dim.axes) == 1 and dim.maybe is not exact and not dim.guest
                if tells and (exact or size != 1):
                    sizes.setdefault(dim.axes[0], size)
        for _ in pairs:
            for dim, size in pairs:
                unknown = [axis for axis in dim.axes if axis not in sizes]
                if len(dim.axes) > 1 and len(unknown) == 1 and dim.size(sizes) > 0:
                    sizes[unknown[0]] = size // dim.size(sizes)
        found = [sizes.get(axis, 1) for axis in range(len(self.groups))]
        for (dim, size), (_, _, where) in zip(pairs, places):
            want = dim.size(sizes)
            fits = is_welcome(size, want, found) if dim.guest else dim.maybe and size == 1
            if size != want and not fits:
                raise AutofuseError("%s: %d, not %d" % (where, size, want), stage=STAGE)
        return found


def _part_size(dim: SpecDim, size: int, where: str) -> int:
    try:
        return walk(size, dim.windows).size
    except ValueError as error:
        raise AutofuseError("%s: %s" % (where, error), stage=STAGE) from None
