"""Copies of moved and of guarded tiles: where their elements lie is said by the run-time table."""
from __future__ import annotations

from typing import Any, List, Optional, Sequence

from tf_autofuse.kernel.ir import CopyIn
from tf_autofuse.kernel.layout import MOVED, apart, beside
from tf_autofuse.kernel.nest import Row
from tf_autofuse.loop.ir import Load


def print_moved(printer: Any, step: CopyIn, kind: str) -> List[str]:
    """The lines that load the tile of `step`, whose elements have the C++ type `kind`."""
    return _Move(printer, step, kind).lines()


class _Walk:
    """How the elements of an input lie in GM."""

    def __init__(self, printer: Any, number: int, walked: Sequence[str]) -> None:
        self.printer, self.number, self.walked = printer, number, walked
        self.row: Optional[Row] = printer.table.get(number)

    def stride(self, axis: str) -> str:
        """C++ for the elements from one coordinate of `axis` to the next."""
        if self.row is None:
            return self.printer.sizes(self.walked[self.walked.index(axis) + 1:])
        if axis == self.row.unit_axis:
            return "1"
        return "t.s%d_%d" % (self.number, self.row.axes.index(axis))

    def first(self) -> str:
        """C++ for the offset of the first element of the tile."""
        terms = [] if self.row is None else ["t.o%d" % self.number]
        for axis in self.printer.kernel.loop.sized_axes:
            if axis in self.walked:
                point, stride = self.printer.point(axis), self.stride(axis)
                terms.append(point if stride == "1" else "%s * %s" % (point, stride))
        return " + ".join(terms) or "0"


class _Move:
    def __init__(self, printer: Any, step: CopyIn, kind: str) -> None:
        self.printer, self.step, self.kind = printer, step, kind
        self.program = printer.program
        self.shape = printer.buffer(step.dst).shape
        self.target = printer.name(step.dst)
        walked = [dim.axis for dim in step.dims if dim.axis is not None]
        self.walk = _Walk(printer, step.input, walked)

    def lines(self) -> List[str]:
        source = "in%dGm, %s" % (self.step.input, self.walk.first())
        rows = "rows" if self.shape == "yx" else "1"
        count = {"yx": "cols", "x": "cols", "y": "rows", "1": "1"}[self.shape]
        pitch = "pitch" if self.shape == "yx" else "0"
        line = "0"
        if self.shape == "yx" and self.program.y in self.walk.walked:
            line = self.walk.stride(self.program.y)
        how = apart(self.step, self.shape, self.program.y, self.program.x)
        if self.step.when or self.step.at:
            return self._guarded("%s, %s, %s, %s, %s, %s" % (
                self.target, source, rows, count, pitch, line))
        if not how:
            return ["%s(%s, %s, %s, %s, %s, %s);" % (
                self.printer.helper("LoadLines"), self.target, source, rows, count, pitch, line)]
        along = self.program.y if self.shape == "y" else self.program.x
        if not self.printer.pads:
            return ["%s(%s, %s, %s, %s, %s, %s, %s);" % (
                self.printer.helper("LoadApart"), self.target, source, rows, count, pitch, line,
                self.walk.stride(along))]
        return self._scratch(how) + ["%s<%s>(%s, %s, %s, %s, %s, %s, %s, %sBlocks, %sPlaces);" % (
            self.printer.helper("LoadApart"), "true" if how == "together" else "false",
            self.target, source, rows, count, pitch, line, self.walk.stride(along), self.target,
            self.target)]

    def _guarded(self, tile: str) -> List[str]:
        """The part of a tile that lies inside of all intervals."""
        ends = {True: ["0", "rows" if self.shape == "yx" else "1"],
                False: ["0", {"yx": "cols", "x": "cols", "y": "rows", "1": "1"}[self.shape]]}
        tests = []
        around = beside(self.program, self.step)
        for number, axis in self.step.when:
            point = self.printer.point(axis)
            if axis in around:
                last = "%s + %s" % (point, "rows" if axis == self.program.y else "cols")
                tests.append("%s > t.low%d && %s < t.high%d" % (last, number, point, number))
                continue
            if axis not in (self.program.y, self.program.x):
                tests.append("%s >= t.low%d && %s < t.high%d" % (point, number, point, number))
                continue
            pair = ends[axis == self.program.y and self.shape == "yx"]
            pair[0] = "Larger(t.low%d - %s, %s)" % (number, point, pair[0])
            pair[1] = "Smaller(t.high%d - %s, %s)" % (number, point, pair[1])
        (top, bottom), (left, right) = ends[True], ends[False]
        if tests:
            bottom = "(%s ? %s : 0)" % (" && ".join(tests), bottom)
        name, ends_of_tile = "LoadInside", "%s, %s, %s, %s" % (top, bottom, left, right)
        if self.step.at:
            name, ends_of_tile = "LoadPlaced", "%s, %s" % (ends_of_tile, self._places())
        return ["%s(%s, %s);" % (self.printer.helper(name), tile, ends_of_tile)]

    def _places(self) -> str:
        """The input with the coordinates, where that of the first row is and how far the next one,
        the elements from one coordinate to the next, and how many coordinates there are."""
        at = self.step.at
        assert at is not None
        load = next(v for v in self.printer.kernel.loop.body
                    if isinstance(v, Load) and v.input == at.input)
        walk = _Walk(self.printer, at.input, load.walked)
        rows = self.shape == "yx" and self.program.y in load.walked
        following = walk.stride(self.program.y) if rows else "0"
        return "in%dGm, %s, %s, t.s%d_%d, %s" % (
            at.input, walk.first(), following, self.step.input,
            self.printer.kernel.loop.axes.index(at.axis), self.printer.size(at.axis))

    def item(self) -> int:
        """Bytes of an element that is gathered."""
        return {"float": 4, "int32_t": 4}.get(self.kind, 2)

    def _scratch(self, how: str) -> List[str]:
        room = str(MOVED * 32 // self.item())
        if how == "together":
            room += " + column * %d" % (MOVED * 4 // self.item())
        return [
            "AscendC::LocalTensor<%s> %sBlocks = %s;" % (
                self.kind, self.target, self.printer.scratch("blocks", self.kind, room)),
            "AscendC::LocalTensor<int32_t> %sPlaces = %s;" % (
                self.target, self.printer.scratch("places", "int32_t", str(MOVED))),
        ]
