"""Rows that go into the accumulators of a tile together.

Accumulators along a kept vector axis are arrays with one element per point of a tile. Eight rows go
into them at a time, so that an accumulator is loaded and stored once for eight rows.

Memory delivers eight short rows slower than one long run. Rows of less than a tile are therefore
joined: as many as fill a tile are walked as if they were one, each with accumulators of its own,
which are added up when the walk has ended. What repeats from row to row lies in memory as often.
"""
from __future__ import annotations

from typing import Dict, List, Optional, Sequence

from tf_autofuse.codegen.host_pieces import PiecePrinter
from tf_autofuse.codegen.host_reduce import Accumulator
from tf_autofuse.kernel.nest import Nest, needed
from tf_autofuse.loop.ir import Load, LoopKernel, Map, Reduce, Value
from tf_autofuse.loop.ops import item_bytes

# Rows that go into the accumulators of a tile together, when a row is at most that many values.
GROUP_ROWS = 8
GROUP_VALUES = 6

# Arrays of what repeats from row to row; more of them are not worth what they take of the caches.
MOST_REPEATED = 2


class GroupPrinter(PiecePrinter):
    """Prints loops over rows that take several rows at a time."""

    def __init__(self, loop: LoopKernel, nest: Nest, means: Dict[str, str]) -> None:
        super().__init__(loop, nest)
        self.means = means  # variances, with their means
        self.outer = len(nest.outer_kept)
        self.grouping = True  # whether rows may go into accumulators in groups
        self.room = "MAX_TILE"  # elements of an array along the kept inner axis

    def _is_grouped(self, depth: int, lines: Dict[int, List[Value]], reduces: Sequence[Reduce],
                    stores: Sequence[int]) -> bool:
        """Whether several rows can be added to the accumulators of a tile in one go."""
        return (self.grouping and depth >= self.outer
                and bool(reduces) and not stores and not lines.get(depth)
                and self.nest.order[depth] in self.nest.reduced
                and all(self._is_array(v) for v in reduces)
                and all(self.nest.depth(self.by_name[v.operand]) == depth + 1 for v in reduces)
                and len(lines.get(depth + 1, ())) <= GROUP_VALUES)

    def _repeated(self, row: str, lines: Sequence[Value]) -> Optional[List[str]]:
        """What the values of a row use that is the same in all rows; None where rows do not lie
        behind each other."""
        found: List[str] = []
        for value in lines:
            if row not in value.axes:
                continue
            if not isinstance(value, Map) and not self._is_dense(value, row):
                return None
            found += [arg for arg in value.args if self.nest.inner in self.by_name[arg].axes
                      and row not in self.by_name[arg].axes]
        found = list(dict.fromkeys(found))
        fixed = all(not set(self.by_name[name].axes) & set(self.nest.reduced) for name in found)
        return found if fixed and len(found) <= MOST_REPEATED else None

    def _is_dense(self, value: Value, row: str) -> bool:
        """Whether a load reads rows that lie behind each other."""
        return (isinstance(value, Load) and self.is_dense(value)
                and value.walked[-2:] == (row, self.nest.inner))

    def _begin_groups(self, depth: int, lines: List[Value], reduces: Sequence[Reduce]) -> bool:
        """Opens a block with room for joined rows; False where rows cannot be joined."""
        row = self.nest.order[depth]
        repeated = self._repeated(row, lines)
        if repeated is None:
            return False
        inner, low, high = self.nest.inner, *self._limits(row)
        self.open("{")
        self.put("const int64_t span = x1 - x0;")
        widest = max(item_bytes(v.dtype) for v in lines if isinstance(v, Load))
        self.put("const int64_t joined = joined_rows(span, %s, %s - %s, %d);"
                 % (self.size[inner], high, low, widest))
        arrays = {name: "each%d" % self.index[name] for name in repeated}
        if repeated:
            self._repeat(arrays)
        for value in reduces:
            self.put("repeat(acc%d, span, joined);" % self.index[value.name])
            if value.name in self.means:
                self.put("repeat(first%d, span, joined);" % self.index[value.name])
        self.bound.update((name, "%s[%s - x0]" % (array, self.point[inner]))
                          for name, array in arrays.items())
        return True

    def _repeat(self, arrays: Dict[str, str]) -> None:
        """Arrays of values of one row, by name, as often as rows are joined."""
        inner = self.nest.inner
        for name, array in arrays.items():
            self.put("%s %s[%s];" % (self.c_type(self.by_name[name]), array, self.room))
        self._open_loop(inner, "#pragma omp simd")
        for value in needed(self.loop, arrays, frozenset(self.known)):
            if not self.is_inline(value):
                self.define(value)
        for name, array in arrays.items():
            self.put("%s[%s - x0] = %s;" % (array, self.point[inner], self.expr(name)))
        self.close()
        for array in arrays.values():
            self.put("repeat(%s, span, joined);" % array)

    def _end_groups(self, reduces: Sequence[Reduce]) -> None:
        """Adds up the accumulators of joined rows and closes the block."""
        self.open("for (int64_t k = joined; k > 1;) {")
        self.put("const int64_t rest = (k + 1) / 2;")
        for value in reduces:
            acc, array = Accumulator(value), "acc%d" % self.index[value.name]
            self.put("#pragma omp simd")
            self.put("for (int64_t i = 0; i < (k - rest) * span; ++i)")
            self.put("  %s[i] = %s;" % (array, acc.combine(
                array + "[i]", array + "[rest * span + i]")))
        self.put("k = rest;")
        self.close()
        self.close()

    def _grouped(self, depth: int, lines: List[Value], reduces: Sequence[Reduce],
                 joined: bool) -> None:
        """Rows in groups, each accumulator loaded and stored once for a group; then opens the loop
        over the rows that are left."""
        row, inner = self.nest.order[depth], self.nest.inner
        low, high = self._limits(row)
        count = "%d * joined" % GROUP_ROWS if joined else str(GROUP_ROWS)
        if joined:
            self.stretch[inner] = ("x0", "x0 + span * joined")
        group = "g%d" % self.index[reduces[0].name]
        self.put("int64_t %s = %s;" % (group, low))
        self.open("for (; {0} + {1} <= {2}; {0} += {1}) {{".format(group, count, high))
        self._open_loop(inner, "#pragma omp simd")
        for total in reduces:
            acc, at = Accumulator(total), self.index[total.name]
            self.put("%s t%d = acc%d[%s - x0];" % (acc.c_type, at, at, self.point[inner]))
        for number in range(GROUP_ROWS):
            self.open("{")
            self.put("const int64_t %s = %s + %d%s;" % (
                self.point[row], group, number, " * joined" * joined))
            for value in lines:
                self.define(value)
            for total in reduces:
                acc, at = Accumulator(total), self.index[total.name]
                other = self._operand(total)
                self.put("t%d = %s;" % (at, acc.combine("t%d" % at, other)))
            self.close()
        for total in reduces:
            at = self.index[total.name]
            self.put("acc%d[%s - x0] = t%d;" % (at, self.point[inner], at))
        self.close()
        self.close()
        if not joined:
            self._open_loop(row, "", (group, high))
            return
        self.open("for (int64_t {0} = {1}; {0} < {2}; {0} += joined) {{".format(
            self.point[row], group, high))
        self.put("const int64_t e = x0 + span * smaller(joined, %s - %s);"
                 % (high, self.point[row]))
        self.stretch[inner] = ("x0", "e")

    def _operand(self, value: Reduce) -> str:
        """What is added to the accumulator at the current point."""
        text = Accumulator(value).operand(self.wide(value.operand))
        if value.name not in self.means:
            return text
        at = "[%s - x0]" % self.point[self.nest.inner] if self._is_array(value) else ""
        return "square(%s - first%d%s)" % (text, self.index[value.name], at)
