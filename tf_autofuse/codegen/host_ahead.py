"""Asks memory for rows at computed coordinates (tf.gather) some rows before they are read.

Rows that lie anywhere in a large table are found by no prefetching of the processor, and a core
looks ahead over two or three of them alone. What computes a coordinate is cheap: it is computed
once more, for a later point of the same loops.
"""
from __future__ import annotations

from functools import partial
from typing import List, Sequence, Set

from tf_autofuse.codegen.host_cost import function_cost
from tf_autofuse.codegen.host_groups import GroupPrinter
from tf_autofuse.kernel.nest import needed
from tf_autofuse.loop.ir import Const, Load, Map, Place, Value
from tf_autofuse.loop.ops import REFUSING


class AheadPrinter(GroupPrinter):
    """Prints questions for rows above the vector loop that reads them."""

    def _ask_rows(self, depth: int, here: Sequence[Value], later: Sequence[Value]) -> None:
        """Asks for those rows that the loads `later` read at places that are computed `here`: in
        the loop over kept points, or in the first one inside of it."""
        nest, places = self.nest, {value.name for value in here if isinstance(value, Place)}
        if (not places or nest.beside or depth not in (self.outer - 1, self.outer)
                or depth + 1 >= len(nest.order)):
            return
        inside = depth >= self.outer
        axes = list(nest.outer_kept) + ([nest.order[depth]] if inside else [])
        loads = [v for v in later if isinstance(v, Load) and self._is_far_row(v, places)]
        chain = needed(self.loop, [name for load in loads for _, name in load.at])
        if not loads or not axes or not all(map(self._is_cheap, chain)):
            return
        self.open("if (%s) {" % " || ".join(sorted({self._is_far(load) for load in loads})))
        self._go_ahead(axes, inside)
        for axis in axes:
            self.put("const int64_t %s = %s;" % (self.point[axis], self._ahead(axis)))
        for value in chain:
            if isinstance(value, Place):
                self.put("const int64_t %s = nearest_place(%s, %s);" % (
                    self.var(value), self.expr(value.operand), self.size[value.axis]))
            elif not self.is_inline(value):
                self.define(value)
        low, high = self._limits(nest.order[-1])
        for load in loads:
            at = self._from(nest.order[-1], partial(self._load_offset, load), low)
            self.put("ask_row(in%d + %s, %s - %s);" % (load.input, at, high, low))
        self.close()
        self.close()

    def _is_far_row(self, load: Load, places: Set[str]) -> bool:
        row = self.rows.get(load.input)
        return (not load.when and row is not None and row.unit_axis == self.nest.order[-1]
                and load.input < len(self.loop.inputs)
                and any(name in places for _, name in load.at))

    def _is_cheap(self, value: Value) -> bool:
        """Whether a value may be computed twice, without a word where it cannot be computed."""
        if value.name in self.bound or value.name in self.runs:
            return False
        if isinstance(value, Map):
            return not function_cost([value]) and value.op not in REFUSING
        return isinstance(value, (Const, Place)) or (
            isinstance(value, Load) and not value.when and not value.at)

    def _is_far(self, load: Load) -> str:
        """Whether a table is too large for the caches, as a C++ expression."""
        axis = load.at[0][0]
        return "is_far(%s * s%d_%d * (int64_t)sizeof(*in%d))" % (
            self.size[axis], load.input, self.loop.axes.index(axis), load.input)

    def _ahead(self, axis: str) -> str:
        return "a%d" % self.loop.axes.index(axis)

    def _go_ahead(self, axes: List[str], inside: bool) -> None:
        """The coordinates some points later, and the test that there is such a point."""
        kept, last = axes[:-1] if inside else axes, axes[-1]
        for axis in axes:
            self.put("int64_t %s = %s%s;" % (
                self._ahead(axis), self.point[axis], " + ROWS_AHEAD" * (axis == last)))
        tests = ["%s < %s" % (self._ahead(kept[0]), self.size[kept[0]])] if kept else []
        if inside:
            low, high = self._limits(last)
            tests.append("%s < %s" % (self._ahead(last), high))
            if kept:
                self.put("if ({0} >= {2}) {0} += {1} - {2}, ++{3};".format(
                    self._ahead(last), low, high, self._ahead(kept[-1])))
        for outer, axis in reversed(list(zip(kept, kept[1:]))):
            self.put("for (; {0} >= {1}; {0} -= {1}) ++{2};".format(
                self._ahead(axis), self.size[axis], self._ahead(outer)))
        self.open("if (%s) {" % " && ".join(tests))
