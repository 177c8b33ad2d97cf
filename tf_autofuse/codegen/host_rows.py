"""Many rows of a nest at a time.

Rows of a few elements go through the nest side by side, one in each lane of a vector. Rows that add
to partial results of the columns go in groups, so that these are loaded and stored once for a
group.
"""
from __future__ import annotations

from dataclasses import replace
from typing import Dict, List, Sequence

from tf_autofuse.codegen.host_groups import GROUP_ROWS, GROUP_VALUES
from tf_autofuse.codegen.host_nest import NestPrinter
from tf_autofuse.codegen.host_pieces import NO_PIECES
from tf_autofuse.codegen.host_reduce import Accumulator
from tf_autofuse.codegen.host_stages import staged_values
from tf_autofuse.codegen.host_walk import SHORT_RUN
from tf_autofuse.kernel.nest import Nest, needed
from tf_autofuse.loop.ir import Const, Count, Load, LoopKernel, Map, Reduce, Value
from tf_autofuse.loop.ops import REFUSING

# Rows below this size are computed side by side, and those with costly math or with a maximum,
# which looks for NaN in every lane.
FEW = 9
FEW_COSTLY = 16
KNOWN_FEW = (8, 4)

# From how many partial results of columns on several rows go into them together: fewer stay in the
# first-level cache, and one row after the other is the order in which memory delivers fastest.
WIDE_ROW = 2048


class RowPrinter(NestPrinter):
    """Prints nests; many rows at a time where that is faster."""

    def __init__(self, loop: LoopKernel, nest: Nest, number: int, means: Dict[str, str]) -> None:
        super().__init__(loop, nest, number, means)
        self.few = self._few()
        self.adds_rows = False  # whether the walk adds up rows that lie behind each other

    def _many_rows(self) -> bool:
        if self.few:
            self._rows_side_by_side()
            return True
        together = self._may_go_together()
        if together:
            self._rows_together()
        return together

    def _few(self) -> int:
        """Below how many elements rows are computed side by side; 0 for never."""
        nest = self.nest
        if len(nest.kept) != 1 or nest.inner_kept or nest.reduced != (nest.inner,) or nest.crosses:
            return 0
        reduces = [self._reduction(name) for step in nest.passes for name in step.reduces]
        values = needed(self.loop, [value.operand for value in reduces])
        dear = self._is_costly(values) or any(Accumulator(value).needs_flag for value in reduces)
        return FEW_COSTLY if dear else FEW

    def _rows_side_by_side(self) -> None:
        """Rows of a few elements go through the nest many at a time, one in each lane. Where only
        reductions come out the compiler knows the usual numbers of columns and keeps all in
        registers; with results of every point, too, it finds a slower form. Sums of values that
        need no other row are found as the rows lie in memory."""
        nest, rows = self.nest, self._block_printer()
        size = self.size[nest.inner]
        rows.adds_rows = rows._only_adds()
        known = rows.adds_rows or rows._only_reduces()
        self.put("int64_t o = o0;")
        if not rows.adds_rows and self._are_vectors():
            self._rows_in_order()
        few = str(self.few) if self.few > FEW or not rows.adds_rows else "ADDED_COLUMNS"
        self.open("if (%s < %s%s && !split) {" % (
            size, few, " && %s > 1" % size if rows.adds_rows else ""))
        if known:
            self.open("const auto side = [&](auto columns) __attribute__((always_inline)) {")
            self.put("const int64_t %s = columns;" % size)
        self.open("for (; o + SIDE_ROWS <= o1; o += SIDE_ROWS) {")
        rows.indent = self.indent
        rows.put("const int64_t x0 = o, x1 = o + SIDE_ROWS;")
        if not rows.adds_rows:
            rows._turn_rows(size)
        rows._passes()
        for number in sorted(rows.columns):
            rows.put("turn_columns(turned_out%d, %s, out%d + o * %s);"
                     % (number, size, self.loop.stores[number].output, size))
        self.lines += rows.lines
        self.close()
        if known:
            self.close()
            self.lines[-1] += ";"
            for number in KNOWN_FEW:
                self.put("if ({0} == {1}) side(Columns<{1}>());".format(size, number))
            self.put("side(%s);" % size)
        self.put("%s = o;" % self.point[nest.kept[0]])
        self.close()

    def _block_printer(self) -> RowPrinter:
        """A printer of all passes over a block of rows, with what is found of a row in arrays."""
        nest = self.nest
        turned = replace(nest, axes=nest.reduced + nest.kept)
        rows = RowPrinter(self.loop, turned, self.number, self.means)
        rows.phases, rows.grouping, rows.room = 0, False, "SIDE_ROWS"
        rows.streamed = ()
        if rows.pieces.axis == turned.order[-1]:
            rows.pieces = NO_PIECES
        return rows

    def _only_reduces(self) -> bool:
        """Whether turned rows are all that is read, and reductions all that is found."""
        step = self.nest.passes[0]
        values = needed(self.loop, [self._reduction(name).operand for name in step.reduces])
        return (len(self.nest.passes) == 1 and not step.stores
                and all(self._lies_in_rows(v) for v in values if isinstance(v, Load)))

    # Sums of rows

    def _only_adds(self) -> bool:
        """Whether these reductions are sums of values that depend on nothing but dense rows."""
        reduces = [self._reduction(name) for name in self.nest.passes[0].reduces]
        joined = [value.operand for value in reduces]
        return (self._only_reduces() and self._are_flat(needed(self.loop, joined), joined)
                and not {value.name for value in reduces} & set(self.means)
                and all(Accumulator(value).adds_floats for value in reduces))

    def _declare(self, value: Reduce) -> None:
        if self.adds_rows:
            self.put("double acc%d[SIDE_ROWS];" % self.index[value.name])
        else:
            super()._declare(value)

    def _walk(self, targets: List[str], reduces: List[Reduce], stores: Sequence[int]) -> None:
        if self.adds_rows:
            self._add_rows(reduces)
        elif self.in_order:
            self._walk_in_order(targets, reduces, stores)
        else:
            super()._walk(targets, reduces, stores)

    def _add_rows(self, reduces: Sequence[Reduce]) -> None:
        """Sums of the rows of a block, a part of it at a time, so that memory is read steadily."""
        size = self.size[self.nest.reduced[0]]
        self.put("const int64_t some = added_rows(%s);" % size)
        self.open("for (int64_t k = 0; k < SIDE_ROWS; k += some) {")
        joined = sorted({value.operand for value in reduces})
        for name in joined:
            self.put("float flat%d[ADDED];" % self.index[name])
        self._flat_loop(joined, "x0 + k", "some")
        for value in reduces:
            self.put("add_rows(flat%d, some, %s, acc%d + k);" % (
                self.index[value.operand], size, self.index[value.name]))
        self.close()

    def _flat_loop(self, names: Sequence[str], first: str, count: str) -> None:
        """Computes values of `count` rows from row `first` on as the rows lie in memory."""
        kept, inner = self.nest.kept[0], self.nest.reduced[0]
        self.open("{")
        self.put("const int64_t %s = %s;" % (self.point[kept], first))
        self._open_loop(inner, "#pragma omp simd", ("0", "%s * %s" % (self.size[inner], count)))
        for value in needed(self.loop, names):
            if not self.is_inline(value):
                self.define(value)
        for name in names:
            self.put("flat%d[%s] = %s;" % (self.index[name], self.point[inner], self.expr(name)))
        self.close()
        self.close()

    # Rows that are vectors

    def _are_vectors(self) -> bool:
        """Whether rows can be walked as they lie, for sums and maxima of float32."""
        steps = self.nest.passes
        stores = [self.loop.stores[n] for step in steps for n in step.written]
        roots = [self._reduction(name).operand for step in steps for name in step.reduces]
        values = needed(self.loop, roots + [store.value for store in stores])
        outputs = {store.output for store in stores}
        return (max(outputs) < len(self.loop.outputs)
                and all(self.loop.outputs[n].dtype == "float32" for n in outputs)
                and all(self._is_plain(value) for value in values))

    def _is_plain(self, value: Value) -> bool:
        if isinstance(value, Reduce):
            return (value.dtype == "float32" and value.name not in self.means
                    and (Accumulator(value).adds_floats or value.op == "max"))
        if isinstance(value, Load):
            return value.dtype == "float32" and self.is_dense(value)
        return isinstance(value, Count) or (
            isinstance(value, (Const, Map)) and value.dtype in ("float32", "bool"))

    def _rows_in_order(self) -> None:
        rows, size = self._block_printer(), self.size[self.nest.inner]
        rows.in_order = True
        self.open("if (ROWS_ARE_VECTORS && %s == ROW_LANES && !split) {" % size)
        self.put("const int64_t %s = ROW_LANES;" % size)
        self.open("for (; o + SIDE_ROWS <= o1; o += SIDE_ROWS) {")
        rows.indent = self.indent
        rows.put("const int64_t x0 = o, x1 = o + SIDE_ROWS;")
        rows._passes()
        self.lines += rows.lines
        self.close()
        self.close()

    def _walk_in_order(self, targets: Sequence[str], reduces: Sequence[Reduce],
                       stores: Sequence[int]) -> None:
        """One row of a block after the other; what is reduced waits until all of them are there."""
        kept, inner = self.nest.kept[0], self.nest.reduced[0]
        joined = sorted({value.operand for value in reduces})
        self.open("{")
        for name in joined:
            self.put("float flat%d[SIDE_ROWS * ROW_LANES];" % self.index[name])
        self._open_loop(kept)
        self._open_loop(inner, "#pragma omp simd", ("0", self.size[inner]))
        for value in needed(self.loop, targets, frozenset(self.known)):
            if not self.is_inline(value):
                self.define(value)
            if value.name in self.parked:
                self.put("%s = %s;" % (self.place(self.parked[value.name]), self.var(value)))
        for name in joined:
            self.put("flat%d[(%s - x0) * ROW_LANES + %s] = %s;" % (
                self.index[name], self.point[kept], self.point[inner], self.expr(name)))
        for number in stores:
            self.store(number)
        self.close()
        self.close()
        for value in reduces:
            form = "max_rows(flat%d, acc%d);" if value.op == "max" else (
                "add_rows(flat%d, SIDE_ROWS, ROW_LANES, acc%d);")
            self.put(form % (self.index[value.operand], self.index[value.name]))
        self.close()

    # Rows that are turned

    def _turn_rows(self, size: str) -> None:
        """Rows of this block, turned; and room for results that are turned back."""
        kept, inner = self.nest.kept[0], self.nest.reduced[0]
        slot = "[%s * SIDE_ROWS + %s - x0]" % (self.point[inner], self.point[kept])
        stores = [n for step in self.nest.passes for n in step.stores]
        reduces = [self._reduction(name) for step in self.nest.passes for name in step.reduces]
        roots = [self.loop.stores[n].value for n in stores] + [v.operand for v in reduces]
        values = needed(self.loop, roots)
        loads = [v for v in values if isinstance(v, Load) and self._lies_in_rows(v)]
        joined = sorted({v.operand for v in reduces})
        if not stores and len(joined) < len(loads) and self._are_flat(values, joined):
            for name in joined:
                self._turn_value(self.by_name[name], size)
            self.bound.update((n, "turned%d%s" % (self.index[n], slot)) for n in joined)
            self.known.update(joined)
            loads = []
        for load in loads:
            at = self.index[load.name]
            self.put("float turned%d[TURN_COLUMNS * SIDE_ROWS];" % at)
            self.put("turn_rows(in%d + o * %s, %s, turned%d);" % (load.input, size, size, at))
            self.runs[load.name] = "turned%d%s" % (at, slot)
        for number in stores:
            store = self.loop.stores[number]
            if (store.axes == (kept, inner) and store.output < len(self.loop.outputs)
                    and self.loop.outputs[store.output].dtype == "float32"):
                self.put("float turned_out%d[TURN_COLUMNS * SIDE_ROWS];" % number)
                self.columns[number] = "turned_out%d%s" % (number, slot)

    def _lies_in_rows(self, load: Load) -> bool:
        """Whether a load of the rows reads dense float32."""
        return (load.axes == (self.nest.kept[0], self.nest.reduced[0]) and not load.when
                and load.input not in self.rows and load.dtype == "float32")

    def _are_flat(self, values: Sequence[Value], joined: Sequence[str]) -> bool:
        """Whether `values` of a row do not ask where in the row they are, and are float32 where
        they are `joined`."""
        return all(isinstance(v, (Const, Count, Map))
                   or isinstance(v, Load) and self._lies_in_rows(v) for v in values) and all(
            self.by_name[n].dtype == "float32" for n in joined)

    def _turn_value(self, value: Value, size: str) -> None:
        """A value of several loads is computed as the rows lie in memory, and turned then."""
        at = self.index[value.name]
        self.put("float flat%d[TURN_COLUMNS * SIDE_ROWS], turned%d[TURN_COLUMNS * SIDE_ROWS];"
                 % (at, at))
        self._flat_loop([value.name], "x0", "SIDE_ROWS")
        self.put("turn_rows(flat%d, %s, turned%d);" % (at, size, at))

    # Rows of a nest that crosses them

    def _may_go_together(self) -> bool:
        """Whether the rows of a nest go into partial results of its columns in groups. A maximum
        looks for NaN in every row and waits for the one before: that gains nothing."""
        nest, loop = self.nest, self.loop
        if not nest.crosses or len(nest.passes) != 1 or len(nest.outer_kept) != 1:
            return False
        step = nest.passes[0]
        values = needed(loop, self._row_targets())
        halves = any(isinstance(v, Load) and self.is_half_run(v, nest.inner) for v in values)
        plain = all(isinstance(v, (Const, Count, Load))
                    or isinstance(v, Map) and v.op not in REFUSING for v in values)
        walked = [v for v in values if not self.is_inline(v)]
        adds = not any(Accumulator(self._reduction(loop.stores[n].value)).needs_flag
                       for n in step.crosses)
        return (plain and adds and not halves and not step.stores and len(walked) <= GROUP_VALUES
                and not set(step.reduces) & set(self.means)
                and not staged_values(loop, values, frozenset(self.known)))

    def _row_targets(self) -> List[str]:
        """What the reductions of the only pass take from a row."""
        step = self.nest.passes[0]
        names = list(step.reduces) + [self.loop.stores[n].value for n in step.crosses]
        return list(dict.fromkeys(self._reduction(name).operand for name in names))

    def _rows_together(self) -> None:
        """Groups of rows, each of which has accumulators of its own."""
        nest = self.nest
        step, row = nest.passes[0], self.point[nest.outer_kept[0]]
        reduces = [self._reduction(name) for name in step.reduces]
        columns = " * ".join(self.size[axis] for axis in nest.reduced)
        self.put("int64_t o = o0;")
        self.open("if (%s >= %d && %s > %d) {" % (
            self.size[nest.inner], SHORT_RUN, columns, WIDE_ROW // len(step.crosses)))
        self.open("for (; o + {0} <= o1; o += {0}) {{".format(GROUP_ROWS))
        rows = RowPrinter(self.loop, nest, self.number, self.means)
        rows.indent = self.indent
        for value in reduces:
            rows._group_accumulators(value)
        rows._group_loop(reduces, step.crosses)
        rows.open("for (int64_t r = 0; r < %d; ++r) {" % GROUP_ROWS)
        rows.put("const int64_t %s = o + r;" % row)
        for value in reduces:
            acc, at = Accumulator(value), self.index[value.name]
            rows.put("%s acc%d = row%d[r];" % (acc.c_type, at, at))
            if acc.needs_flag:
                rows.put("const int32_t nan%d = row_nan%d[r];" % (at, at))
        for value in reduces:
            rows._bind(value)
        rows._after(0, step)
        rows.close()
        self.lines += rows.lines
        self.close()
        self.put("%s = o;" % row)
        self.close()

    def _group_accumulators(self, value: Reduce) -> None:
        acc, at = Accumulator(value), self.index[value.name]
        for r in range(GROUP_ROWS):
            self.put("%s acc%d_%d = %s;" % (acc.c_type, at, r, acc.start))
            if acc.needs_flag:
                self.put("int32_t nan%d_%d = 0;" % (at, r))

    def _group_loop(self, reduces: Sequence[Reduce], crosses: Sequence[int]) -> None:
        """The loop over the columns of a group, and what it leaves of each row."""
        nest = self.nest
        clauses = ""
        for value in reduces:
            for r in range(GROUP_ROWS):
                clauses += self._clause(value).replace(")", "_%d)" % r)
        for axis in nest.reduced[:-1]:
            self._open_loop(axis)
        self._open_loop(nest.inner, "#pragma omp simd" + clauses)
        totals = [(number, self._reduction(self.loop.stores[number].value)) for number in crosses]
        for number, value in totals:
            self.put("%s t%d = %s;" % (Accumulator(value).c_type, number, self.place(number)))
        for r in range(GROUP_ROWS):
            self._group_row(r, reduces)
            for number, value in totals:
                acc = Accumulator(value)
                other = acc.operand(self.wide(value.operand))
                self.put("t%d = %s;" % (number, acc.combine("t%d" % number, other)))
            self.close()
        for number, _ in totals:
            self.put("%s = t%d;" % (self.place(number), number))
        for _ in nest.reduced:
            self.close()
        for value in reduces:
            acc, at = Accumulator(value), self.index[value.name]
            self._put_rows("%s row%d" % (acc.c_type, at), "acc%d" % at)
            if acc.needs_flag:
                self._put_rows("int32_t row_nan%d" % at, "nan%d" % at)

    def _group_row(self, r: int, reduces: Sequence[Reduce]) -> None:
        """Opens a block that takes an element of row r of a group into the results of that row."""
        self.open("{")
        self.put("const int64_t %s = o + %d;" % (self.point[self.nest.outer_kept[0]], r))
        for value in needed(self.loop, self._row_targets()):
            if not self.is_inline(value):
                self.define(value)
        for total in reduces:
            acc, at = Accumulator(total), self.index[total.name]
            other, slot = "x%d" % at, "acc%d_%d" % (at, r)
            self.put("const %s %s = %s;" % (acc.c_type, other, self._operand(total)))
            self.put("%s = %s;" % (slot, acc.vector_step(slot, other)))
            if acc.needs_flag:
                self.put("nan%d_%d |= %s != %s;" % (at, r, other, other))

    def _put_rows(self, array: str, name: str) -> None:
        names = ", ".join("%s_%d" % (name, r) for r in range(GROUP_ROWS))
        self.put("const %s[] = {%s};" % (array, names))
