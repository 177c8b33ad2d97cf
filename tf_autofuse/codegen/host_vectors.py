"""The vector loop of a walk.

A plain one runs over a whole row. With float16 in memory, or with results that are stored past the
caches, a row goes through in blocks of one cache line of floats: what the elements of a block are
read from and go to are small arrays that the compiler keeps in vector registers, so that whole
vectors can be converted and stored by instructions it does not emit itself. The rest of a row is a
plain loop.

Functions of whole vectors go into blocks as well. Sums along the row do not, nor do long functions
that wait for each other or have much work around them: there float16 is converted, and a function
computed, for runs of some hundred elements at a time.
"""
from __future__ import annotations

from functools import partial
from typing import Dict, List, Optional, Sequence, Tuple

from tf_autofuse.codegen.host_memory import MemoryPrinter
from tf_autofuse.codegen.host_reduce import Accumulator
from tf_autofuse.codegen.host_stages import have_much_around, lane_values, staged_values
from tf_autofuse.kernel.nest import needed
from tf_autofuse.loop.ir import Load, Map, Reduce, Value


class VectorPrinter(MemoryPrinter):
    """Prints vector loops inside one kept point of `nest`."""

    def _level(self, depth: int, lines: Dict[int, List[Value]], reduces: Sequence[Reduce],
               stores: Sequence[int]) -> None:
        """Everything that happens at one depth of the walk, once per point."""
        raise NotImplementedError

    def _roots(self, values: Sequence[Value], reduces: Sequence[Reduce],
               stores: Sequence[int]) -> List[str]:
        """Names of what a level with these values is there for."""
        raise NotImplementedError

    def _reduction(self, name: str) -> Reduce:
        value = self.by_name[name]
        assert isinstance(value, Reduce)
        return value

    def _vectors(self, depth: int, lines: Dict[int, List[Value]], reduces: List[Reduce],
                 stores: Sequence[int]) -> None:
        """The vector loop, in the form that its memory and its math want."""
        axis = self.nest.order[depth]
        values = lines.get(depth, [])
        loads = [v for v in values if isinstance(v, Load) and self.is_half_run(v, axis)]
        packed = [n for n in stores if self.is_packed(n, axis)]
        lanes = lane_values(values, self.rough)
        waiting = staged_values(self.loop, values, frozenset(self.known))
        staged = [v for v in values if v in lanes or v in waiting]
        sums = self.counts_refusals or not all(self._is_array(v) for v in reduces)
        long = bool(waiting) or have_much_around(values)
        if staged and (sums or long) or sums and (loads or packed):
            self._chunks(depth, lines, reduces, stores, loads, packed, staged)
            return
        if lanes:
            self.put("#if AF_HAS_LANES")
            self._blocks(depth, lines, reduces, stores, loads, packed, lanes)
            self.put("#else")
        if loads or packed or not sums and any(n in self.streamed for n in stores):
            self._blocks(depth, lines, reduces, stores, loads, packed)
        elif self.ahead:
            self._open_runs(axis)
            self._open_loop(axis, self._simd(reduces), ("s", "e"))
            self._level(depth, lines, reduces, stores)
            self.close()
            self.close()
        else:
            self._open_loop(axis, self._simd(reduces))
            self._level(depth, lines, reduces, stores)
            self.close()
        if lanes:
            self.put("#endif")

    def _blocks(self, depth: int, lines: Dict[int, List[Value]], reduces: List[Reduce],
                stores: Sequence[int], loads: Sequence[Load], packed: Sequence[int],
                lanes: Sequence[Value] = ()) -> None:
        """The loop over a row in blocks, and the plain loop for what is left of it."""
        axis = self.nest.order[depth]
        low, high = self._limits(axis)
        streamed = [n for n in stores if n in self.streamed]
        test = ""
        if streamed:
            at = self._from(axis, lambda: self._dense(self.loop.stores[streamed[0]].axes), low)
            test = "stream && at_block(%s)" % at
        self.open("{")
        self.put("int64_t c = %s;" % low)
        if loads or packed or lanes:
            self.put("const bool past = %s;" % (test or "false"))
            self.open("for (; c + BLOCK <= %s; c += BLOCK) {" % high)
        else:
            self.open("if (%s) for (; c + BLOCK <= %s; c += BLOCK) {" % (test, high))
        self._block(depth, lines, reduces, stores, loads, packed, lanes, streamed)
        self.close()
        if lanes:
            self._part(depth, lines, reduces, stores, lanes, high, bool(loads or packed))
        else:
            # A few elements of float16 are not worth a vector loop.
            self._open_loop(axis, "" if loads or packed else self._simd(reduces), ("c", high))
            self._level(depth, lines, reduces, stores)
            self.close()
        self.close()

    def _part(self, depth: int, lines: Dict[int, List[Value]], reduces: Sequence[Reduce],
              stores: Sequence[int], lanes: Sequence[Value], high: str, narrow: bool) -> None:
        """The block from element c on, of which only a part is there."""
        axis = self.nest.order[depth]
        self.open("if (c < %s) {" % high)
        self.put("const int32_t left = (int32_t)(%s - c);" % high)
        for value in lanes:
            self._open_stage(value, "BLOCK")
            self._stage(value, axis, lines[depth], "c", ("c", "c + BLOCK"), part=True)
            self._close_stage(value, axis, "c", "BLOCK")
        if narrow:
            self._open_loop(axis, "", ("c", high))
            self._level(depth, lines, reduces, stores)
            self.close()
        else:
            self._masked_level(depth, lines, reduces, stores, "c")
        self._end_runs(lanes)
        self.close()

    def _masked_level(self, depth: int, lines: Dict[int, List[Value]], reduces: Sequence[Reduce],
                      stores: Sequence[int], start: str) -> None:
        """The loop over those elements of a block that are there."""
        axis = self.nest.order[depth]
        self._open_loop(axis, self._simd(reduces), (start, start + " + BLOCK"))
        self.open("if (kLanes[%s - %s] < left) {" % (self.point[axis], start))
        self._level(depth, lines, reduces, stores)
        self.close()
        self.close()

    def _block(self, depth: int, lines: Dict[int, List[Value]], reduces: List[Reduce],
               stores: Sequence[int], loads: Sequence[Load], packed: Sequence[int],
               lanes: Sequence[Value], streamed: Sequence[int]) -> None:
        """One block, from element c on."""
        axis = self.nest.order[depth]
        for load in loads:
            self.widen_block(load, axis)
        for value in lanes:
            self._open_stage(value, "BLOCK")
            self._stage(value, axis, lines[depth], "c", ("c", "c + BLOCK"))
            self._close_stage(value, axis, "c", "BLOCK")
        kept = sorted({*packed, *streamed})
        for number in kept:
            kind = "float" if number in packed else self.memory_type(number)
            self.put("AF_BUFFER %s block%d[BLOCK];" % (kind, number))
        self._open_loop(axis, self._simd(reduces), ("c", "c + BLOCK"))
        self._level(depth, lines, reduces, [n for n in stores if n not in kept])
        for number in kept:
            self.put("block%d[%s - c] = %s;" % (
                number, self.point[axis],
                self.unpacked(number) if number in packed else self.stored(number)))
        self.close()
        for number in kept:
            call = "%%s(block%d, %s);" % (number, self.target(number, axis))
            past, plain = ("stream_halves", "block_to_halves") if number in packed else (
                "stream_block", "copy_block")
            if number in streamed and (loads or packed or lanes):
                self.put("if (past) " + call % past)
                self.put("else " + call % plain)
            else:
                self.put(call % (past if number in streamed else plain))
        self._end_runs([*loads, *lanes])

    def _chunks(self, depth: int, lines: Dict[int, List[Value]], reduces: List[Reduce],
                stores: Sequence[int], loads: Sequence[Load], packed: Sequence[int],
                staged: Sequence[Value]) -> None:
        """Loops over runs: float16 is converted, long functions are computed, one after another."""
        axis = self.nest.order[depth]
        self._open_runs(axis)
        for value in loads:
            self.widen_run(value, axis)
        for number in packed:
            self.put("AF_BUFFER float packed%d[CHUNK];" % number)
        lanes = lane_values(staged, self.rough)
        if lanes:
            self.put("const int64_t b = whole_blocks(s, e);")
            self.put("const int32_t left = (int32_t)(e - b);")
        for long in staged:
            self._open_stage(long, "CHUNK")
            self._stage(long, axis, lines[depth], "s", ("s", "b" if long in lanes else "e"))
            if long in lanes:
                self.open("if (left > 0) {")
                self._stage(long, axis, lines[depth], "s", ("b", "b + BLOCK"), part=True)
                self.close()
            self._close_stage(long, axis, "s", "e - s")
        parts = bool(lanes) and not reduces and not loads and not packed
        self._open_loop(axis, self._simd(reduces), ("s", "b" if parts else "e"))
        self._level(depth, lines, reduces, [n for n in stores if n not in packed])
        for number in packed:
            self.put("packed%d[%s - s] = %s;" % (number, self.point[axis], self.unpacked(number)))
        self.close()
        if parts:
            self.open("if (left > 0) {")
            self._masked_level(depth, lines, reduces, stores, "b")
            self.close()
        for number in packed:
            self.narrow_run(number, axis)
        self._end_runs([*loads, *staged])
        self.close()

    def _open_runs(self, axis: str) -> None:
        """The loop over runs s to e, in which memory is asked for the same run of the next kept
        point."""
        low, high = self._limits(axis)
        row = " * ".join(self.size[each] for each in self.nest.reduced)
        if self.ahead:
            self.put("const bool ahead = !split && o + 1 < o1 && %s <= AHEAD;" % row)
        self.open("for (int64_t s = %s; s < %s; s += CHUNK) {" % (low, high))
        self.put("const int64_t e = smaller(%s, s + CHUNK);" % high)
        for load in self.ahead:
            there = self._from(axis, partial(self._dense, load.walked), "k")
            self.put("if (ahead) for (int64_t k = s; k < e; k += LINE / (int64_t)sizeof(*in%d))"
                     % load.input)
            self.put("  __builtin_prefetch(in%d + %s + %s);" % (load.input, there, row))

    def _open_stage(self, value: Value, room: str) -> None:
        self.put("AF_BUFFER float staged%d[%s];" % (self.index[value.name], room))

    def _stage(self, value: Value, axis: str, values: Sequence[Value], start: str,
               limits: Tuple[str, str], part: bool = False) -> None:
        """A loop that leaves a value, or the operand of a function of whole vectors, in the buffer
        that begins with element `start`. Where only a part of a block is there the rest becomes 0:
        what is read as a whole vector has to be stored as one."""
        here = {v.name for v in values}
        wanted = value.args[0] if lane_values([value], self.rough) else value.name
        self._open_loop(axis, "#pragma omp simd", limits)
        if part:
            self.put("float operand = 0.0f;")
            self.open("if (kLanes[%s - %s] < left) {" % (self.point[axis], limits[0]))
        for each in needed(self.loop, [wanted], frozenset(self.known)):
            if each.name in here:
                self.define(each)
        if part:
            self.put("operand = %s;" % self.expr(wanted))
            self.close()
        self.put("staged%d[%s - %s] = %s;" % (self.index[value.name], self.point[axis], start,
                                              "operand" if part else self.expr(wanted)))
        self.close()

    def _close_stage(self, value: Value, axis: str, start: str, count: str) -> None:
        """Calls the function, and lets the loops behind read its results."""
        at = self.index[value.name]
        if lane_values([value], self.rough):
            assert isinstance(value, Map)
            form = "loose_" * (value.name in self.loose)
            self.put("run_%s%s(staged%d, %s);" % (form, value.op, at, count))
        self.runs[value.name] = "staged%d[%s - %s]" % (at, self.point[axis], start)

    def _end_runs(self, values: Sequence[Value]) -> None:
        for value in values:
            del self.runs[value.name]

    def _limits(self, axis: str) -> Tuple[str, str]:
        """Where the loop over an axis of the walk begins and ends in this block."""
        if axis == self.nest.inner and self.nest.inner_kept:
            return "x0", "x1"
        if self.nest.reduced and axis == self.nest.reduced[0]:
            return "r0", "r1"
        return "0", self.size[axis]

    def _open_loop(self, axis: str, pragma: str = "",
                   limits: Optional[Tuple[str, str]] = None) -> None:
        if pragma:
            self.put(pragma)
        low, high = limits or self._limits(axis)
        self.open("for (int64_t {0} = {1}; {0} < {2}; ++{0}) {{".format(
            self.point[axis], low, high))

    def _simd(self, reduces: Sequence[Reduce]) -> str:
        counted = " reduction(|:refusals)" * self.counts_refusals
        return "#pragma omp simd" + "".join(self._clause(v) for v in reduces) + counted

    def _clause(self, value: Reduce) -> str:
        acc, at = Accumulator(value), self.index[value.name]
        if self._is_array(value):
            return ""
        flag = " reduction(|:nan%d)" % at if acc.needs_flag else ""
        return " reduction(%s:acc%d)%s" % (acc.clause, at, flag)

    def _is_array(self, value: Value) -> bool:
        return self.nest.inner_kept and self.nest.inner in value.axes
