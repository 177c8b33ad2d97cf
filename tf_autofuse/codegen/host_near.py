"""Vector loops over tensors that may be broadcast along them, as only the run knows.

    for (i ...) out0[i] = in0[i * s0] + in1[i];

A stride that is 1 or 0 leaves the compiler nothing but to gather. So there are two loops: one where
all strides are 1, and one in stretches, for which a tensor that is broadcast fills a buffer.
"""
from __future__ import annotations

from functools import partial
from typing import Dict, List, Sequence, Tuple

from tf_autofuse.codegen.host_scalar import MEMORY_TYPES
from tf_autofuse.codegen.host_values import Near
from tf_autofuse.codegen.host_vectors import VectorPrinter
from tf_autofuse.kernel.nest import Nest
from tf_autofuse.loop.ir import Load, LoopKernel, Reduce, Value


class NearPrinter(VectorPrinter):
    """Prints vector loops along which tensors may be broadcast."""

    def __init__(self, loop: LoopKernel, nest: Nest) -> None:
        super().__init__(loop, nest)
        self.stretch: Dict[str, Tuple[str, str]] = {}  # of an axis, that the loop is in

    def _limits(self, axis: str) -> Tuple[str, str]:
        return self.stretch.get(axis) or super()._limits(axis)

    def _vectors(self, depth: int, lines: Dict[int, List[Value]], reduces: List[Reduce],
                 stores: Sequence[int]) -> None:
        """The vector loop, with what may be broadcast along it as neighbours. Where a tensor is, it
        goes in stretches, and a buffer has its element as often as a stretch is long."""
        axis = self.nest.order[depth]
        loads = [value for value in lines.get(depth, ())
                 if isinstance(value, Load) and self._may_repeat(value, axis)]
        if not loads or axis in self.stretch:
            super()._vectors(depth, lines, reduces, stores)
            return
        ones = ["s%d_%d == 0" % (load.input, self.loop.axes.index(axis)) for load in loads]
        self.open("if (%s) {" % " || ".join(ones))
        self._far(depth, lines, reduces, stores, loads)
        self.close()
        self.open("else {")
        for load in loads:
            first = self._from(axis, partial(self._load_offset, load), "0")
            self.near[load.name] = Near("in%d" % load.input, first + " + %s")
        super()._vectors(depth, lines, reduces, stores)
        for load in loads:
            del self.near[load.name]
        self.close()

    def _far(self, depth: int, lines: Dict[int, List[Value]], reduces: List[Reduce],
             stores: Sequence[int], loads: Sequence[Load]) -> None:
        """The vector loop in stretches; some of the loads are broadcast along it."""
        axis = self.nest.order[depth]
        low, high = self._limits(axis)
        for load in loads:
            self._spread(load, axis, low, high)
        self.open("for (int64_t q = %s; q < %s; q += SPREAD) {" % (low, high))
        self.put("const int64_t q1 = smaller(%s, q + SPREAD);" % high)
        for load in loads:
            at, number = self.index[load.name], load.input
            self.put("const %s* %snear%d = in%d_is_one ? spread%d : in%d + (%s);" % (
                MEMORY_TYPES[load.dtype], self.restricted(number), at, number, at, number,
                self._from(axis, partial(self._load_offset, load), "q")))
            self.near[load.name] = Near("near%d" % at, "%s - q")
        self.stretch[axis] = ("q", "q1")
        super()._vectors(depth, lines, reduces, stores)
        del self.stretch[axis]
        for load in loads:
            del self.near[load.name]
        self.close()

    def _may_repeat(self, load: Load, axis: str) -> bool:
        """Whether a load may be broadcast along the axis of a vector loop, and its elements are
        neighbours if it is not."""
        return (not (load.moved or load.when or load.at)
                and load.walked[-1:] == (axis,)
                and any(dim.maybe and dim.axis == axis for dim in load.dims)
                and load.dtype != "bool")

    def _spread(self, load: Load, axis: str, low: str, high: str) -> None:
        """A buffer with the element of a load that is broadcast."""
        at, number = self.index[load.name], load.input
        self.put("AF_BUFFER %s spread%d[SPREAD];" % (MEMORY_TYPES[load.dtype], at))
        self.put("const bool in%d_is_one = s%d_%d == 0;" % (
            number, number, self.loop.axes.index(axis)))
        self.put("if (in%d_is_one && %s < %s) repeat(in%d[%s], smaller(%s - %s, SPREAD), spread%d);"
                 % (number, low, high, number,
                    self._from(axis, partial(self._load_offset, load), low), high, low, at))
