"""Kept points beside each other in memory, as the groups of a group normalization.

One group after the other walks over pieces of every line. All groups of a block are reduced at once
instead, in the order of memory: first along the outermost reduced axis alone, as the columns of a
matrix are, and then what belongs to a group is joined. What the last pass writes it writes in that
order, too, with what a group has found repeated for every column of it.
"""
from __future__ import annotations

from dataclasses import replace
from typing import List, Sequence, Tuple

from tf_autofuse.codegen.host_reduce import Accumulator
from tf_autofuse.codegen.host_rows import RowPrinter
from tf_autofuse.kernel.nest import Nest, Pass, needed
from tf_autofuse.loop.ir import Const, Count, Dim, Load, Map, Reduce, Value

# Arrays of what groups have found; more of them are not worth what they take of the caches.
MOST_FOUND = 4


class BesidePrinter(RowPrinter):
    """Prints nests; of kept points beside each other the first and the last pass all at once."""

    # Which passes

    def _first_at_once(self) -> bool:
        """Whether the first pass only reduces values of all points, and leaves none of them."""
        step = self.nest.passes[0]
        values = needed(self.loop, [self._reduction(name).operand for name in step.reduces])
        return (bool(self.nest.beside) and self.phases > 0 and bool(step.reduces)
                and not step.stores and not self._is_costly(values)
                and all(self._is_flat(value) for value in values))

    def _last_at_once(self) -> bool:
        """Whether the last pass only writes values of all points."""
        nest, last = self.nest, self.nest.passes[-1]
        stores = [self.loop.stores[n] for n in last.stores]
        return (self._first_at_once() and len(nest.passes) > 1 and not last.reduces
                and bool(stores) and all(store.axes == nest.axes for store in stores)
                and not self.places and len(self._found()) <= MOST_FOUND
                and all(self._is_flat(value) for value in self._written()))

    def _is_flat(self, value: Value) -> bool:
        if isinstance(value, Load):
            return value.walked == self.nest.axes and self.is_dense(value)
        return isinstance(value, (Const, Count, Map))

    def _written(self) -> List[Value]:
        """Values of the last pass that vary along the first reduced axis."""
        roots = [self.loop.stores[n].value for n in self.nest.passes[-1].stores]
        found, names = [], set(roots)
        for value in reversed(self.loop.body):
            if value.name in names and self.nest.reduced[0] in value.axes:
                found.append(value)
                names.update(value.args)
        return found[::-1]

    def _found(self) -> List[str]:
        """What these need that does not."""
        names = dict.fromkeys(arg for value in self._written() for arg in value.args)
        return [name for name in names if self.nest.reduced[0] not in self.by_name[name].axes
                and not self.is_inline(self.by_name[name])]

    def _apart(self) -> List[str]:
        """Kept axes outside of those beside each other: a block is at one point of them."""
        return [axis for axis in self.nest.outer_kept if axis not in self.nest.beside]

    # What is printed

    def _bring(self) -> None:
        nest = self.nest
        if self._first_at_once():
            beside = " * ".join(self.size[a] for a in nest.beside)
            after = nest.axes[nest.axes.index(nest.reduced[0]) + 1:]
            self.put("const int64_t x0 = 0, x1 = %s, piece = x1 / larger(1, %s);"
                     % (" * ".join(self.size[a] for a in after), beside))
            self.put("const bool at_once = split && p[CUT_ROWS] == %s && x1 <= MAX_TILE / 2;"
                     % beside)
            self.open("if (at_once && phase == 0) {")
            self._reduce_columns()
            self.put("return;")
            self.close()
            for name in self._found() if self._last_at_once() else ():
                value = self.by_name[name]
                self.put("%s each%d[MAX_TILE / 2];" % (self.c_type(value), self.index[name]))
            for axis in self._apart():
                self.put("const int64_t {0}_0 = {0};".format(self.point[axis]))
            self.open("if (!at_once) {")
            super()._bring()
            self.close()
        else:
            super()._bring()

    def _reduce_columns(self) -> None:
        step = self.nest.passes[0]
        columns = self._columns(step, 1)
        reduces = [columns._reduction(name) for name in step.reduces]
        for value in reduces:
            columns._declare(value)
            if value.name in self.means:
                columns._first_operand(value)
                columns.put("for (int64_t i = 0; i < x1; ++i) first{0}[i] = first{0}[i / piece * "
                            "piece];".format(self.index[value.name]))
        columns._walk([value.operand for value in reduces], reduces, ())
        columns.open("for (int64_t k = 0; k < x1; k += piece) {")
        for value in reduces:
            acc, at = Accumulator(value), self.index[value.name]
            columns.put("%s v%d = %s;" % (acc.c_type, at, acc.start))
            columns.put("for (int64_t i = k; i < k + piece; ++i) v%d = %s;"
                        % (at, acc.combine("v%d" % at, "acc%d[i]" % at)))
            columns.put("part%d[chunk * slab + o0 + k / piece] = v%d;" % (at, at))
        columns.close()
        self.lines += columns.lines

    def _walk(self, targets: List[str], reduces: List[Reduce], stores: Sequence[int]) -> None:
        last = self.nest.passes[-1]
        if not stores or stores != last.stores or not self._last_at_once():
            super()._walk(targets, reduces, stores)
            return
        self.open("if (at_once) {")
        for axis in self.nest.reduced[1:]:
            self._open_loop(axis)
        for value in needed(self.loop, self._found(), frozenset(self.known)):
            if not self.is_inline(value):
                self.define(value)
        for name in self._found():
            self.put("each%d[(o - o0) * piece + %s] = %s;" % (
                self.index[name], self._dense(self.nest.reduced[1:]), self.expr(name)))
        for _ in self.nest.reduced[1:]:
            self.close()
        self.close()
        self.open("else {")
        super()._walk(targets, reduces, stores)
        self.close()

    def _end_stream(self) -> None:
        if self._first_at_once() and self._last_at_once():
            self.open("if (at_once && phase == %d) {" % (len(self.nest.passes) - 1))
            self._write_rows()
            self.close()
        super()._end_stream()

    def _write_rows(self) -> None:
        last, row = self.nest.passes[-1], self.point[self.nest.reduced[0]]
        self.put("const int64_t most = MAX_TILE / 2 / larger(1, x1);")
        self.put("const int64_t joined = larger(1, smaller(most, r1 - r0));")
        for name in self._found():
            self.put("repeat(each%d, x1, joined);" % self.index[name])
        rows = self._columns(last, 0)
        for axis in self._apart():
            rows.put("const int64_t {0} = {0}_0;".format(self.point[axis]))
        rows._declare_stream("x1 * joined")
        rows.open("for (int64_t {0} = r0; {0} < r1; {0} += joined) {{".format(row))
        rows.put("const int64_t e = x1 * smaller(joined, r1 - %s);" % row)
        for name in self._found():
            rows.bound[name] = "each%d[%s]" % (self.index[name], self.point[self.nest.inner])
            rows.known.add(name)
        rows.stretch[self.nest.inner] = ("x0", "e")
        depth = len(rows.nest.order) - 1
        lines = [rows.by_name[value.name] for value in self._written()]
        rows._vectors(depth, {depth: lines}, [], last.stores)
        rows.close()
        rows._end_stream()
        self.lines += rows.lines

    def _columns(self, step: Pass, reduced: int) -> "BesidePrinter":
        """A printer of one pass in which all points of a row lie along the inner axis: `reduced`
        says whether it reduces along the axis outside of that."""
        nest, first, inner = self.nest, self.nest.reduced[0], self.nest.inner
        axes = nest.axes[:nest.axes.index(first) + 1] + (inner,)
        kept = tuple(axis for axis in axes if axis != first or not reduced)
        body: List[Value] = []
        for value in self.loop.body:
            value = replace(value, axes=_among(axes, value.axes))
            if isinstance(value, Load) and value.walked == nest.axes:
                value = replace(value, dims=tuple(Dim(axis) for axis in axes))
            if reduced and value.name in step.reduces:
                assert isinstance(value, Reduce)
                value = replace(value, over=(first,), axes=kept)
            body.append(value)
        stores = tuple(replace(store, dims=tuple(Dim(axis) for axis in axes))
                       if store.axes == nest.axes else store for store in self.loop.stores)
        flat = Nest(kept, (first,) * reduced, axes, (step,), nest.stage)
        loop = replace(self.loop, body=tuple(body), stores=stores)
        columns = BesidePrinter(loop, flat, self.number, self.means)
        columns.indent = self.indent
        columns.put("const int64_t %s = x1;" % self.size[inner])
        return columns


def _among(axes: Tuple[str, ...], some: Sequence[str]) -> Tuple[str, ...]:
    return tuple(axis for axis in some if axis in axes)
