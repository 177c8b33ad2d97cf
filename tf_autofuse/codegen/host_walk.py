"""The loops of one walk of a nest: the innermost one is a vector loop.

Short runs along a reduced vector axis go into lanes that are added up when the walk ends: a sum
across a vector costs more than the run.
"""
from __future__ import annotations

from typing import Dict, List, Sequence

from tf_autofuse.codegen.host_ahead import AheadPrinter
from tf_autofuse.codegen.host_reduce import Accumulator
from tf_autofuse.kernel.nest import Nest, needed
from tf_autofuse.loop.ir import PARTS, Load, LoopKernel, Map, Place, Reduce, Value
from tf_autofuse.loop.ops import HEAVY

# Below how many elements a reduced run is short, and where it has costly math: that gains more from
# the longer vectors of the other form.
SHORT_RUN = 64
SHORT_COSTLY_RUN = 16


class WalkPrinter(AheadPrinter):
    """Prints walks over the axes inside one kept point of `nest`."""

    def __init__(self, loop: LoopKernel, nest: Nest, means: Dict[str, str]) -> None:
        super().__init__(loop, nest, means)
        self.parked: Dict[str, int] = {}  # values that are written to the place of a later store
        self.few = 0  # rows of fewer elements do not come to the walk one by one
        self.crosses: Sequence[int] = ()  # stores of partial results that the walk goes on with
        self.lane = ""  # the subscript of the lane that the current loop adds to

    def _walk(self, targets: List[str], reduces: List[Reduce], stores: Sequence[int]) -> None:
        values = needed(self.loop, targets, frozenset(self.known))
        walked = [self.by_name[t] for t in targets] + [self.loop.stores[n] for n in stores]
        deepest = max([self.nest.depth(item) for item in walked] + [self.outer - 1])
        lines: Dict[int, List[Value]] = {}
        for value in values:
            if not self.is_inline(value) and value.name not in self.known:
                lines.setdefault(max(self.nest.depth(value), self.outer - 1), []).append(value)
        self._level(self.outer - 1, lines, reduces, stores)
        short = self._short_run(deepest, lines, reduces, stores)
        if short:
            size = self.size[self.nest.order[deepest]]
            self.open("if (%s < %d) {" % (size, short))
            self._short_walk(deepest, lines, reduces, stores)
            self.close()
            self.open("if (%s >= %d) {" % (size, short))
        self._long_walk(deepest, lines, reduces, stores)
        if short:
            self.close()

    def _long_walk(self, deepest: int, lines: Dict[int, List[Value]], reduces: List[Reduce],
                   stores: Sequence[int]) -> None:
        """The loops of a walk down to `deepest`, where the vector loop is."""
        before, bound = deepest - 1, dict(self.bound)
        grouped = self._is_grouped(before, lines, reduces, stores)
        joined = grouped and self._begin_groups(before, lines[deepest], reduces)
        if joined:
            row = self.nest.order[before]
            lines = dict(lines)
            lines[deepest] = [v for v in lines[deepest] if row in v.axes]
        for depth in range(self.outer, deepest):
            if depth == before and grouped:
                self._grouped(depth, lines[deepest], reduces, joined)
            else:
                self._open_loop(self.nest.order[depth])
            self._level(depth, lines, reduces, stores)
        if deepest >= self.outer:
            self._vector_loop(deepest, lines, reduces, stores)
        for _ in range(self.outer, deepest):
            self.close()
        if joined:
            self._end_groups(reduces)
            self.stretch.pop(self.nest.inner)
            self.bound = bound

    def _short_run(self, deepest: int, lines: Dict[int, List[Value]], reduces: Sequence[Reduce],
                   stores: Sequence[int]) -> int:
        """Up to which length runs of the vector loop go into lanes; 0 for never."""
        if deepest < self.outer or self.nest.inner_kept:
            return 0
        axis, values = self.nest.order[deepest], lines.get(deepest, [])
        costly = self._is_costly(values)
        if not costly and not self._reduced_at(deepest, reduces):
            return 0
        halves = any(isinstance(v, Load) and self.is_half_run(v, axis) for v in values)
        if halves or any(self.is_packed(n, axis) for n in stores):
            return 0
        if costly:
            return 0 if self.few else SHORT_COSTLY_RUN
        return SHORT_RUN

    @staticmethod
    def _is_costly(values: Sequence[Value]) -> bool:
        return any(isinstance(v, Map) and v.op in HEAVY for v in values)

    def _reduced_at(self, depth: int, reduces: Sequence[Reduce]) -> List[Reduce]:
        return [v for v in reduces if self.nest.depth(self.by_name[v.operand]) == depth]

    def _short_walk(self, deepest: int, lines: Dict[int, List[Value]], reduces: List[Reduce],
                    stores: Sequence[int]) -> None:
        """The same loops for short runs: whole groups of RUN_LANES elements, then single ones. With
        costly math the last group is a whole one too, with lanes that do nothing."""
        inside = self._reduced_at(deepest, reduces)
        axis = self.nest.order[deepest]
        for value in inside:
            acc, at = Accumulator(value), self.index[value.name]
            self.put("%s lane%d[RUN_LANES];" % (acc.c_type, at))
            if acc.needs_flag:
                self.put("int32_t lane_nan%d[RUN_LANES] = {};" % at)
            self.put("for (int64_t l = 0; l < RUN_LANES; ++l) lane%d[l] = %s;" % (at, acc.start))
        for depth in range(self.outer, deepest):
            self._open_loop(self.nest.order[depth])
            self._level(depth, lines, reduces, stores)
        low, high = self._limits(axis)
        costly = self._is_costly(lines.get(deepest, ()))
        self.put("int64_t b = %s;" % low)
        last = "b < %s" if costly else "b + RUN_LANES <= %s"
        self.open("for (; %s; b += RUN_LANES) {" % (last % high))
        self._open_loop(axis, "#pragma omp simd", ("b", "b + RUN_LANES"))
        self.lane = "[%s - b]" % self.point[axis]
        if costly:
            self.open("if (%s < %s) {" % (self.point[axis], high))
        self._level(deepest, lines, reduces, stores)
        if costly:
            self.close()
        self.lane = ""
        self.close()
        self.close()
        if not costly:
            self._open_loop(axis, "", ("b", high))
            self._level(deepest, lines, reduces, stores)
            self.close()
        for _ in range(self.outer, deepest):
            self.close()
        self.open("if (%s >= %s) {" % (self.size[axis], "1" if costly else "RUN_LANES"))
        for value in inside:
            self._add_lanes(value)
        self.close()

    def _add_lanes(self, value: Reduce) -> None:
        """Joins halves of the lanes, which waits for three results in a row and not for eight."""
        acc, at = Accumulator(value), self.index[value.name]
        for part in (2, 4, 8):
            half = "RUN_LANES / %d" % part
            self.open("for (int64_t l = 0; l < %s; ++l) {" % half)
            slot, other = "lane%d[l]" % at, "lane%d[l + %s]" % (at, half)
            self.put("%s = %s;" % (slot, acc.vector_step(slot, other)))
            if acc.needs_flag:
                self.put("lane_nan%d[l] |= lane_nan%d[l + %s];" % (at, at, half))
            self.close()
        self.put("acc%d = %s;" % (at, acc.vector_step("acc%d" % at, "lane%d[0]" % at)))
        if acc.needs_flag:
            self.put("nan%d |= lane_nan%d[0];" % (at, at))

    def _level(self, depth: int, lines: Dict[int, List[Value]], reduces: Sequence[Reduce],
               stores: Sequence[int]) -> None:
        """Everything that happens at one depth of the walk, once per point."""
        self._ask_rows(depth, lines.get(depth, ()), [v for each in lines.values() for v in each])
        for value in lines.get(depth, ()):
            self.define(value)
            if value.name in self.parked:
                self.put("%s = %s;" % (self.place(self.parked[value.name]), self.var(value)))
        for reduction in reduces:
            if self.nest.depth(self.by_name[reduction.operand]) == depth:
                self._accumulate(reduction)
        for number in self.crosses:
            value = self._reduction(self.loop.stores[number].value)
            if self.nest.depth(self.by_name[value.operand]) == depth:
                self._cross(number, value)
        for number in stores:
            if max(self.nest.depth(self.loop.stores[number]), self.outer - 1) == depth:
                self.store(number)

    def _vector_loop(self, depth: int, lines: Dict[int, List[Value]], reduces: List[Reduce],
                     stores: Sequence[int]) -> None:
        """The innermost loop. Places that are none do not end it, but are looked for afterwards."""
        places = [v for v in lines.get(depth, ()) if isinstance(v, Place)]
        if not places:
            self._vectors(depth, lines, reduces, stores)
            return
        self.open("{")
        self.put("int64_t refusals = 0;")
        self.counts_refusals = True
        self._vectors(depth, lines, reduces, stores)
        self.counts_refusals = False
        self.open("if (refusals != 0) {")
        self._open_loop(self.nest.order[depth])
        for value in needed(self.loop, [v.name for v in places], frozenset(self.known)):
            if not self.is_inline(value):
                self.define(value)
        for _ in range(3):
            self.close()

    def _accumulate(self, value: Reduce) -> None:
        acc, at = Accumulator(value), self.index[value.name]
        other = self._operand(value)
        self.put("const %s x%d = %s;" % (acc.c_type, at, other))
        other = "x%d" % at
        if self._is_array(value):
            slot = "acc%d[%s - x0]" % (at, self.point[self.nest.inner])
            self.put("%s = %s;" % (slot, acc.combine(slot, other)))
            return
        slot, flag = "acc%d" % at, "nan%d" % at
        if self.lane:
            slot, flag = "lane%d%s" % (at, self.lane), "lane_nan%d%s" % (at, self.lane)
        self.put("%s = %s;" % (slot, acc.vector_step(slot, other)))
        if acc.needs_flag:
            self.put("%s |= %s != %s;" % (flag, other, other))

    def _begin_parts(self) -> None:
        """Partial results of this block as they are before the first row."""
        for number in [n for step in self.nest.passes for n in step.crosses]:
            store = self.loop.stores[number]
            axes = [axis for axis in store.axes if axis != PARTS]
            for axis in axes:
                self._open_loop(axis, limits=("0", self.size[axis]))
            start = Accumulator(self._reduction(store.value)).start
            self.put("%s = %s;" % (self.place(number), start))
            for _ in axes:
                self.close()

    def _cross(self, number: int, value: Reduce) -> None:
        """Takes a point into the partial result that this block finds for its rows."""
        acc, slot = Accumulator(value), self.place(number)
        other = acc.operand(self.wide(value.operand))
        self.put("%s = %s;" % (slot, acc.combine(slot, other)))

    def _roots(self, values: Sequence[Value], reduces: Sequence[Reduce],
               stores: Sequence[int]) -> List[str]:
        written = [self.loop.stores[n].value for n in (*stores, *self.crosses)]
        return [v.name for v in (*values, *reduces) if v.name in self.parked
                or isinstance(v, Reduce)] + written
