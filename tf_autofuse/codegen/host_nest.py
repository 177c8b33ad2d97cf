"""One loop nest as a C++ function for the CPU.

Every value is a scalar in a register, computed in the outermost loop it varies with. Only
results of reductions along a kept vector axis live in small arrays, one element per point of a
tile. When the first reduced axis is cut into chunks, pass number n runs in phase n, and each
later phase starts by joining the partial results of all chunks.
"""
from __future__ import annotations

from typing import Dict, List, Sequence, Set

from tf_autofuse.codegen.host_cost import function_cost
from tf_autofuse.codegen.host_reduce import Accumulator
from tf_autofuse.codegen.host_walk import WalkPrinter
from tf_autofuse.kernel.nest import Nest, Pass, levels, needed
from tf_autofuse.loop.functions import REAL_FUNCTIONS
from tf_autofuse.loop.ir import PARTS, Load, LoopKernel, Map, Reduce, Value
from tf_autofuse.loop.ops import HEAVY

MAX_PHASES = 4


class NestPrinter(WalkPrinter):
    """Prints nest number `number` of `loop` as `static void nest<number>(...)`."""

    def __init__(self, loop: LoopKernel, nest: Nest, number: int, means: Dict[str, str]) -> None:
        super().__init__(loop, nest, means)
        self.number = number
        self.name = "nest%d" % number
        self.level = levels(loop)
        last = nest.passes[-1]
        phases = len(nest.passes) + (1 if last.reduces else 0)
        may_cut = bool(nest.reduced) and phases <= MAX_PHASES and not nest.crosses
        self.phases = phases if may_cut else 0
        self.joins = bool(self.phases and last.reduces)  # and nothing else in the last phase
        self.held = self._held_values()
        self.in_order = False  # whether rows of a block are walked one after the other
        self.places: Set[int] = set()  # stores whose memory keeps a value for the last pass
        reduces = any(step.reduces for step in nest.passes)
        self.tiled = nest.inner_kept and (reduces or bool(self.held))

    def _held_values(self) -> List[Value]:
        """Costly values along the kept inner axis alone: every row uses them, so a block computes
        them once. Those that only other held values use are not kept."""
        if not self.nest.inner_kept or not self.outer:
            return []
        roots = [self.loop.stores[n].value for p in self.nest.passes for n in p.stores + p.after]
        values = needed(self.loop, roots)
        costly: Set[str] = set()
        for value in values:
            dear = isinstance(value, Map) and value.op in HEAVY or set(value.args) & costly
            if dear and value.axes == (self.nest.inner,) and self.level[value.name] == 0:
                costly.add(value.name)
        users = {arg for v in values if v.name not in costly for arg in v.args} | set(roots)
        return [v for v in values if v.name in costly & users]

    def _hold(self) -> None:
        """The loop over the tile that computes the held values."""
        for value in self.held:
            self.put("%s held%d[MAX_TILE];" % (self.c_type(value), self.index[value.name]))
        self._open_loop(self.nest.inner, "#pragma omp simd")
        for value in needed(self.loop, [v.name for v in self.held]):
            if not self.is_inline(value):
                self.define(value)
        at = "[%s - x0]" % self.point[self.nest.inner]
        for value in self.held:
            self.put("held%d%s = %s;" % (self.index[value.name], at, self.expr(value.name)))
        self.close()
        for value in self.held:
            self.bound[value.name] = "held%d%s" % (self.index[value.name], at)
            self.known.add(value.name)

    def print(self) -> str:
        """The whole function."""
        self.open("static void %s(const AutofuseArgs* args, const AutofuseTiling* tiling, "
                  "int32_t phase, int64_t block) {" % self.name)
        self._prologue()
        if self.held:
            self._hold()
        self._begin_parts()
        if self.phases:
            self._bring()
        start = "" if self._many_rows() else "int64_t o = o0"
        self.open("for (%s; o < o1; ++o%s) {" % (start, self._advance()))
        self._passes()
        self.close()
        self._end_stream()
        self.close()
        return "\n".join(self.lines) + "\n"

    def _passes(self) -> None:
        for number, step in enumerate(self.nest.passes):
            self._pass(number, step)

    def _many_rows(self) -> bool:
        """Prints loops that take many rows at a time, if there are any: `o` is behind them then."""
        return False

    # The frame: which part of the nest a block is

    def _prologue(self) -> None:
        self.put("const int64_t* p = tiling->p + %d * CUT_PARAMS;" % self.number)
        stores = self.nest.stores
        self.declare_parameters([self.loop.stores[n].value for n in stores], stores)
        if PARTS in self.nest.axes:
            self.put("const int64_t %s = tiling->p[CUT_PARTS];" % self.size[PARTS])
        inner_kept, size = self.nest.inner_kept, self.size
        rows = " * ".join(size[a] for a in self.nest.outer_kept) or "1"
        self.put("const int64_t outer = %s;" % rows)
        if inner_kept:
            self.put("const int64_t tiles = ceil_div(%s, p[CUT_TILE]);" % size[self.nest.inner])
        if self.joins:
            self.put("if (phase == %d) block *= p[CUT_CHUNKS];" % (self.phases - 1))
        self.put("const int64_t chunk = block % p[CUT_CHUNKS];")
        self.put("const int64_t part = block / p[CUT_CHUNKS];")
        rows_at = "part / tiles" if inner_kept else "part"
        if self.nest.crosses:
            self.put("const int64_t %s = part;" % self.point[PARTS])
        self.put("const int64_t o0 = %s * p[CUT_ROWS];" % rows_at)
        self.put("const int64_t o1 = smaller(outer, o0 + p[CUT_ROWS]);")
        if inner_kept:
            self.put("const int64_t x0 = part % tiles * p[CUT_TILE];")
            self.put("const int64_t x1 = smaller(%s, x0 + p[CUT_TILE]);" % size[self.nest.inner])
        if self.nest.reduced:
            first = size[self.nest.reduced[0]]
            self.put("const int64_t r0 = chunk * p[CUT_CHUNK];")
            self.put("const int64_t r1 = smaller(%s, r0 + p[CUT_CHUNK]);" % first)
        self.put("const bool split = p[CUT_CHUNKS] > 1;")
        self._declare_stream()
        self._declare_pieces()
        self._partials()
        rest = "o0"
        for axis in reversed(self.nest.outer_kept):
            at, n = self.point[axis], size[axis]
            last = axis == self.nest.outer_kept[0]
            self.put("int64_t %s = %s;" % (at, rest if last else "%s %% %s" % (rest, n)))
            rest = "%s / %s" % (rest, n)

    def _partials(self) -> None:
        """Pointers to the partial results: [chunk][outer point][tile point], 8 bytes each."""
        if not self.phases:
            return
        inner = self.size[self.nest.inner] if self.nest.inner_kept else "1"
        self.put("char* const scratch = (char*)args->workspace + p[CUT_WORKSPACE];")
        self.put("const int64_t slab = outer * %s;" % inner)
        names = [name for p in self.nest.passes for name in p.reduces]
        for number, name in enumerate(names):
            kind = Accumulator(self._reduction(name)).c_type
            self.put("%s* const part%d = (%s*)(scratch + %d * p[CUT_CHUNKS] * slab * 8);"
                     % (kind, self.index[name], kind, number))

    def _advance(self) -> str:
        step = ""
        for axis in self.nest.outer_kept:
            at, n = self.point[axis], self.size[axis]
            carry = "%s = 0, %s" % (at, step) if step else ""
            step = "++%s == %s && (%s)" % (at, n, carry) if carry else "++%s" % at
        return ", (void)(%s)" % step if step else ""

    # Passes

    def _pass(self, number: int, step: Pass) -> None:
        reduces = [self._reduction(name) for name in step.reduces]
        targets = [value.operand for value in reduces]
        targets += [self.loop.stores[n].value for n in step.stores]
        targets += [self._reduction(self.loop.stores[n].value).operand for n in step.crosses]
        self.crosses = step.crosses
        self._outer_values(targets)
        for value in reduces:
            self._declare(value)
            if value.name in self.means:
                self._first_operand(value)
        self.parked = self._parked_values(number, targets)
        self.ahead = self._loads_ahead(number)
        guarded = self.phases > 0
        if guarded:
            self.open("if (!split || phase == %d) {" % number)
        self._walk(targets, reduces, step.stores)
        self._read_parked()
        if guarded:
            self.close()
        if reduces and guarded:
            self._exchange(number, reduces)
        for value in reduces:
            self._bind(value)
        self._after(number, step)

    def _loads_ahead(self, number: int) -> Sequence[Load]:
        """What the first pass of the next kept point will read, a row of memory each. The first
        pass behind it that computes functions asks for it: memory would wait meanwhile."""
        nest = self.nest
        if (not number or nest.inner_kept or nest.beside or nest.crosses or self.columns
                or self.in_order):
            return ()
        costly = [function_cost(self._along(step)) > 0 for step in nest.passes[:number + 1]]
        if not costly[number] or any(costly[:number]):
            return ()
        loads = {value.input: value for value in self._along(nest.passes[0])
                 if isinstance(value, Load) and value.walked == nest.kept + nest.reduced
                 and self.is_dense(value)}
        return list(loads.values())

    def _along(self, step: Pass) -> List[Value]:
        """Values that a pass computes along the innermost axis."""
        roots = [self._reduction(name).operand for name in step.reduces]
        roots += [self.loop.stores[n].value for n in step.stores]
        return [value for value in needed(self.loop, roots)
                if self.nest.depth(value) == len(self.nest.order) - 1]

    def _parked_values(self, number: int, targets: Sequence[str]) -> Dict[str, int]:
        """Costly values of this pass that the last pass needs again, with the store whose place in
        memory keeps them until then: softmax computes exp once. Only along a reduced inner axis
        or in turned rows, where what was written is still in the cache. A place belongs to one
        point of the nest: the last pass of one chunk must not write what another one reads."""
        last = self.nest.passes[-1]
        written = bool(self.columns) or self.in_order or not self.nest.inner_kept
        if not written or self.nest.passes[number] is last or last.reduces:
            return {}
        stored = {store.value for store in self.loop.stores}
        here = [v for v in needed(self.loop, targets, frozenset(self.known))
                if isinstance(v, Map) and v.op in HEAVY and v.op in REAL_FUNCTIONS
                and v.name not in stored]
        found: Dict[str, int] = {}
        for place in last.stores:
            store = self.loop.stores[place]
            dtype = self.loop.outputs[store.output].dtype
            used = {v.name for v in needed(self.loop, [store.value], frozenset(self.known))}
            fits = [v.name for v in here if v.name in used and v.name not in found
                    and tuple(v.axes) == tuple(store.axes) and v.dtype == dtype == "float32"]
            whole = set(store.axes) == set(self.nest.axes)
            if fits and whole and place not in self.places:
                found[fits[-1]] = place
                self.places.add(place)
        return found

    def _read_parked(self) -> None:
        """From now on the parked values come from memory."""
        for name, place in self.parked.items():
            self.bound[name] = self.place(place)
            self.known.add(name)
        self.parked = {}

    def _outer_values(self, targets: Sequence[str]) -> None:
        """Values that do not change inside the walk."""
        values = needed(self.loop, targets, frozenset(self.known))
        outer = [value for value in values if self.nest.depth(value) < self.outer]
        self._ask_rows(self.outer - 1, outer, values)
        for value in outer:
            if not self.is_inline(value):
                self.define(value)
                self.known.add(value.name)

    def _declare(self, value: Reduce) -> None:
        acc, at = Accumulator(value), self.index[value.name]
        if not self._is_array(value):
            self.put("%s acc%d = %s;" % (acc.c_type, at, acc.start))
            if acc.needs_flag:
                self.put("int32_t nan%d = 0;" % at)
            return
        self.put("%s acc%d[%s];" % (acc.c_type, at, self.room))
        self.put("for (int64_t i = 0; i < x1 - x0; ++i) acc%d[i] = %s;" % (at, acc.start))

    def _first_operand(self, value: Reduce) -> None:
        """What a variance subtracts from its operand: the first one of the kept point."""
        first, at = "first%d" % self.index[value.name], self.point[self.nest.inner]
        is_array = self._is_array(value)
        self.put("double %s%s = {};" % (first, "[%s]" % self.room if is_array else ""))
        self.open("if (%s > 0) {" % " * ".join(self.size[axis] for axis in value.over))
        for axis in value.over:
            self.put("const int64_t %s = 0;" % self.point[axis])
        if is_array:
            self._open_loop(self.nest.inner, "#pragma omp simd")
        for needs in needed(self.loop, [value.operand], frozenset(self.known)):
            if not self.is_inline(needs):
                self.define(needs)
        slot = "%s[%s - x0]" % (first, at) if is_array else first
        self.put("%s = finite_or_zero(%s);" % (slot, self.expr(value.operand)))
        if is_array:
            self.close()
        self.close()

    def _exchange(self, number: int, reduces: List[Reduce]) -> None:
        """Write this chunk's partial results, or join those of all chunks."""
        for value in reduces:
            self._settle(value)
        self.open("if (split && phase == %d) {" % number)
        for value in reduces:
            self._each_partial(value, "{part}[chunk * slab + {at}] = {acc};")
        self.put("continue;")
        self.close()
        self.open("if (split) {")
        for value in reduces:
            acc = Accumulator(value)
            join = acc.combine("{acc}", "{part}[c * slab + {at}]")
            self._each_partial(value, "{acc} = " + acc.start + ";")
            self.open("for (int64_t c = 0; c < p[CUT_CHUNKS]; ++c) {")
            self._each_partial(value, "{acc} = " + join + ";")
            self.close()
        self.close()

    def _settle(self, value: Reduce) -> None:
        acc, at = Accumulator(value), self.index[value.name]
        if acc.needs_flag and not self._is_array(value):
            self.put("if (nan%d) acc%d = __builtin_nan%s(\"\");"
                     % (at, at, "f" if acc.c_type == "float" else ""))

    def _each_partial(self, value: Reduce, form: str) -> None:
        at = self.index[value.name]
        names = {"part": "part%d" % at, "acc": "acc%d" % at, "at": "o"}
        if self.nest.inner_kept:
            names["at"] = "o * %s + x0" % self.size[self.nest.inner]
        if self._is_array(value):
            self.put("for (int64_t i = 0; i < x1 - x0; ++i)")
            names.update(acc="acc%d[i]" % at, at=names["at"] + " + i")
            form = "  " + form
        self.put(form.format(**names))

    def _bind(self, value: Reduce) -> None:
        """Make the finished reduction usable as a value."""
        acc, at = Accumulator(value), self.index[value.name]
        self.known.add(value.name)
        count = " * ".join(self.size[axis] for axis in self._counted(value))
        slot = "acc%d"
        if self._is_array(value):
            slot = "acc%%d[%s - x0]" % self.point[self.nest.inner]
        elif not self.phases:
            self._settle(value)
        if value.name in self.means:
            total = "sum_of_squares(%s, %s, %s, %s)" % (
                slot % at, slot.replace("acc", "first") % at,
                slot % self.index[self.means[value.name]], count)
            result = "(float)%s" % (
                "(%s / (double)(%s))" % (total, count) if value.op == "mean" else total)
        else:
            result = acc.result(slot % at, count)
        if self._is_array(value):
            self.bound[value.name] = result
        else:
            self.put("const %s %s = %s;" % (self.c_type(value), self.var(value), result))

    def _counted(self, value: Reduce) -> Sequence[str]:
        """The axes of all points that were accumulated: partial results have those of theirs."""
        load = self.by_name[value.operand]
        for store in self.loop.stores if self._is_part(load) else ():
            part = self.by_name[store.value]
            if isinstance(load, Load) and isinstance(part, Reduce) and part.partial and (
                    store.output - len(self.loop.outputs) == load.input - len(self.loop.inputs)):
                return part.over
        return value.counted or value.over

    def _after(self, number: int, step: Pass) -> None:
        """Values of the kept domain that the finished reductions allow, and their stores."""
        stores = [self.loop.stores[n].value for n in step.after]
        kept = self._needed_later(number)
        self._outer_values(stores + kept)
        inside = [v for v in stores + kept if self._is_array(self.by_name[v])]
        lead = "!split || (phase == %d && chunk == 0)" % (number + 1)
        if inside:
            self._tile_loop(number, step, [v for v in kept if v in inside], lead)
        outside = [n for n in step.after if self.loop.stores[n].value not in inside]
        if outside:
            self.open("if (%s) {" % (lead if self.phases else "true"))
            for store in outside:
                self.store(store)
            self.close()

    def _needed_later(self, number: int) -> List[str]:
        """Kept values of this level that later passes use, besides reductions themselves."""
        later = [t for p in self.nest.passes[number + 1:] for t in
                 [self.loop.stores[n].value for n in p.written]]
        return [v.name for v in needed(self.loop, later, frozenset(self.known))
                if self.level[v.name] == number + 1 and not isinstance(v, Reduce)
                and not set(v.axes) & set(self.nest.reduced)]

    def _tile_loop(self, number: int, step: Pass, kept: List[str], lead: str) -> None:
        for name in kept:
            self.put("%s tile%d[%s];" % (self.c_type(self.by_name[name]), self.index[name],
                                         self.room))
        stores = [n for n in step.after if self._is_array(self.by_name[self.loop.stores[n].value])]
        targets = kept + [self.loop.stores[n].value for n in stores]
        if self.phases and not kept:
            self.open("if (%s) {" % lead)
        at = self.point[self.nest.inner]
        self.put("#pragma omp simd")
        self.open("for (int64_t %s = x0; %s < x1; ++%s) {" % (at, at, at))
        for value in needed(self.loop, targets, frozenset(self.known)):
            if not self.is_inline(value):
                self.define(value)
        for name in kept:
            self.put("tile%d[%s - x0] = %s;" % (self.index[name], at, self.expr(name)))
        for store in stores:
            self.store(store)
        self.close()
        if self.phases and not kept:
            self.close()
        for name in kept:
            self.bound[name] = "tile%d[%s - x0]" % (self.index[name], at)
            self.known.add(name)
