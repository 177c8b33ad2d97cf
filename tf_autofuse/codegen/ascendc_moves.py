"""Copies of moved tiles: where their elements lie is said by the run-time table."""
from __future__ import annotations

from typing import Any, List

from tf_autofuse.kernel.ir import CopyIn
from tf_autofuse.kernel.layout import MOVED, apart
from tf_autofuse.kernel.nest import Row


def print_moved(printer: Any, step: CopyIn, kind: str) -> List[str]:
    """The lines that load the tile of `step`, whose elements have the C++ type `kind`."""
    return _Move(printer, step, kind).lines()


class _Move:
    def __init__(self, printer: Any, step: CopyIn, kind: str) -> None:
        self.printer, self.step, self.kind = printer, step, kind
        self.row: Row = printer.table[step.input]
        self.program = printer.program
        self.shape = printer.buffer(step.dst).shape
        self.target = printer.name(step.dst)

    def stride(self, axis: str) -> str:
        if axis == self.row.unit_axis:
            return "1"
        return "t.s%d_%d" % (self.step.input, self.row.axes.index(axis))

    def lines(self) -> List[str]:
        axes = [axis for axis in self.row.axes if axis in self.row.load.axes]
        terms = ["t.o%d" % self.step.input]
        for axis in axes:
            point, stride = self.printer.point(axis), self.stride(axis)
            terms.append(point if stride == "1" else "%s * %s" % (point, stride))
        source = "in%dGm, %s" % (self.step.input, " + ".join(terms))
        rows = "rows" if self.shape == "yx" else "1"
        count = {"yx": "cols", "x": "cols", "y": "rows", "1": "1"}[self.shape]
        pitch = "pitch" if self.shape == "yx" else "0"
        line = self.stride(self.program.y) if self.shape == "yx" else "0"
        how = apart(self.step, self.shape, self.program.y, self.program.x)
        if not how:
            return ["%s(%s, %s, %s, %s, %s, %s);" % (
                self.printer.helper("LoadLines"), self.target, source, rows, count, pitch, line)]
        along = self.program.y if self.shape == "y" else self.program.x
        return self._scratch(how) + ["%s<%s>(%s, %s, %s, %s, %s, %s, %s, %sBlocks, %sPlaces);" % (
            self.printer.helper("LoadApart"), "true" if how == "together" else "false",
            self.target, source, rows, count, pitch, line, self.stride(along), self.target,
            self.target)]

    def item(self) -> int:
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
