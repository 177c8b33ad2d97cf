"""Loads, scalar values and stores of a CPU kernel, one C++ statement each."""
from __future__ import annotations

from typing import Callable, Dict, List, NamedTuple, Sequence, Set

from tf_autofuse.codegen.host_loose import loose_values
from tf_autofuse.codegen.host_reduce import Accumulator
from tf_autofuse.codegen.host_rough import rough_values
from tf_autofuse.codegen.host_scalar import (
    MEMORY_TYPES,
    VALUE_TYPES,
    constant,
    map_expression,
    wide_expression,
    widen,
)
from tf_autofuse.codegen.host_signs import logs_of_fractions, powers_to_one
from tf_autofuse.kernel.nest import Row, needed, runtime_rows, table_names
from tf_autofuse.loop.ir import (
    Const,
    Count,
    Index,
    Inside,
    Load,
    LoopKernel,
    Map,
    Place,
    Reduce,
    Value,
)
from tf_autofuse.loop.ops import NARROW_FLOATS


def inside_test(point: str, inside: Inside) -> str:
    """Whether a coordinate lies in the interval."""
    return "({0} >= low{1}) & ({0} < high{1})".format(point, inside.number)


class Near(NamedTuple):
    """Elements that are neighbours: the one at point p is `pointer`[`place` % p]."""

    pointer: str
    place: str


class ValuePrinter:
    """Lines of one C++ function over the axes of `loop`.

    Axis number k has the size `n<k>` and the coordinate `i<k>`; value number k is `v<k>`. Values
    in `bound` are read through another expression, those in `known` need no definition. `runs` says
    where a load lies already: the float form of a narrow one, or an element of a turned row.
    """

    def __init__(self, loop: LoopKernel) -> None:
        self.loop = loop
        self.by_name: Dict[str, Value] = {v.name: v for v in loop.body}
        self.index = {v.name: i for i, v in enumerate(loop.body)}
        self.size = {axis: "n%d" % i for i, axis in enumerate(loop.axes)}
        self.point = {axis: "i%d" % i for i, axis in enumerate(loop.axes)}
        self.rows = runtime_rows(loop)
        self.table = table_names(loop)
        self.partial_types = _partial_types(loop)
        self.rough = rough_values(loop)
        self.loose = loose_values(loop) - self.rough
        self.fractions = logs_of_fractions(loop)
        self.to_one = powers_to_one(loop)
        self.numbers: Dict[str, int] = {}  # constants that are no part of the code
        self.known: Set[str] = set()
        self.bound: Dict[str, str] = {}
        self.runs: Dict[str, str] = {}
        self.near: Dict[str, Near] = {}  # how loads lie in the loop at hand
        self.ahead: Sequence[Load] = ()  # what runs ask of memory for the next kept point
        self.columns: Dict[int, str] = {}  # where stores of short rows wait until they are whole
        self.reused: Dict[int, int] = {}  # outputs that may lie where an input lies
        self.counts_refusals = False  # places of a vector loop are looked at when it has ended
        self.lines: List[str] = []
        self.indent = 0

    def put(self, text: str) -> None:
        margin = "" if text.startswith("#") else "  " * self.indent
        self.lines.append(margin + text)

    def open(self, text: str) -> None:
        self.put(text)
        self.indent += 1

    def close(self) -> None:
        self.indent -= 1
        self.put("}")

    def declare_parameters(self, roots: Sequence[str], stores: Sequence[int]) -> None:
        """Sizes, run-time strides, numbers and pointers used by the values `roots` and by `stores`.
        """
        for number, axis in enumerate(self.loop.sized_axes):
            self.put("const int64_t %s = args->sizes[%d];" % (self.size[axis], number))
        values = needed(self.loop, roots)
        self._declare_numbers(values)
        for value in values:
            if isinstance(value, Inside):
                for name in ("low%d" % value.number, "high%d" % value.number):
                    place = self.table.index(name)
                    self.put("const int64_t %s = args->strides[%d];" % (name, place))
            if isinstance(value, Count):
                points = " * ".join(self.size[axis] for axis in value.over) or "1"
                kind = self.c_type(value)
                self.put("const %s %s = (%s)(%s);" % (kind, self.var(value), kind, points))
            if isinstance(value, Place):  # nowhere to read from
                size = self.size[value.axis]
                tests = "".join(" && %s > 0" % self.size[axis] for axis in value.axes)
                self.put("if (%s <= 0%s) return note_refused(0, 0);" % (size, tests))
        loads = [v for v in values if isinstance(v, Load)]
        for load in sorted(loads, key=lambda load: load.input):
            number = load.input
            if number >= len(self.loop.inputs):
                self._declare_temp("const ", "in%d" % number, number - len(self.loop.inputs))
                continue
            kind = MEMORY_TYPES[self.loop.inputs[number].dtype]
            row = self.rows.get(number)
            shift = " + args->strides[%d]" % row.offset if row and load.moved else ""
            self.put("const %s* %sin%d = (const %s*)args->inputs[%d]%s;"
                     % (kind, self.restricted(number), number, kind, number, shift))
            if row:
                self._declare_row(row)
        for number in sorted({self.loop.stores[n].output for n in stores}):
            if number >= len(self.loop.outputs):
                self._declare_temp("", "out%d" % number, number - len(self.loop.outputs))
                continue
            kind = MEMORY_TYPES[self.loop.outputs[number].dtype]
            alone = "" if number in self.reused else "__restrict__ "
            self.put("%s* %sout%d = (%s*)args->outputs[%d];" % (kind, alone, number, kind, number))

    def restricted(self, number: int) -> str:
        """What tells the compiler that nothing is written where an input lies."""
        return "" if number in self.reused.values() else "__restrict__ "

    def _declare_numbers(self, values: Sequence[Value]) -> None:
        """Constants that are no part of the code."""
        for value in values:
            if value.name in self.numbers:
                kind = self.c_type(value)
                self.put("const %s %s = (%s)numbers.values[%d];"
                         % (kind, self.var(value), kind, self.numbers[value.name]))

    def _declare_temp(self, const: str, name: str, number: int) -> None:
        """A pointer to a temporary, which lies in workspace."""
        kind = self._temp_type(number)
        self.put("%s%s* __restrict__ %s = (%s%s*)((char*)args->workspace + "
                 "tiling->p[CUT_TEMPS + %d]);" % (const, kind, name, const, kind, number))

    def _temp_type(self, number: int) -> str:
        return self.partial_types.get(number) or MEMORY_TYPES[self.loop.temps[number].dtype]

    def _declare_row(self, row: Row) -> None:
        """What the values of a load use of the run-time table."""
        axes = set(row.load.walked).union(axis for axis, _ in row.load.at) - {row.unit_axis}
        used = {"s%d_%d" % (row.load.input, self.loop.axes.index(axis)) for axis in axes}
        for place, name in enumerate(row.names(), row.start):
            if name in used:
                self.put("const int64_t %s = args->strides[%d];" % (name, place))

    def is_inline(self, value: Value) -> bool:
        """Constants are written where they are used; counts are found at the head."""
        return isinstance(value, (Const, Count))

    def c_type(self, value: Value) -> str:
        if isinstance(value, Load) and self._is_part(value):
            return self.partial_types[value.input - len(self.loop.inputs)]
        return VALUE_TYPES[value.dtype]

    def _is_part(self, value: Value) -> bool:
        """Whether a value is the load of a partial result, as wide as it was accumulated."""
        return isinstance(value, Load) and (
            value.input - len(self.loop.inputs) in self.partial_types)

    def var(self, value: Value) -> str:
        return "v%d" % self.index[value.name]

    def expr(self, name: str) -> str:
        """How other statements read the value."""
        value = self.by_name[name]
        if isinstance(value, Const) and name not in self.numbers:
            return constant(value.value, value.dtype)
        return self.bound.get(name, self.var(value))

    def wide(self, name: str) -> str:
        """The value as float if it is a narrow float, else as `expr` has it."""
        value = self.by_name[name]
        if value.dtype not in NARROW_FLOATS:
            return self.expr(name)
        if isinstance(value, Const):
            return constant(value.value, "float32")
        if name in self.bound or isinstance(value, Reduce):
            return widen(self.expr(name), value.dtype)
        return "w%d" % self.index[name]

    def define(self, value: Value) -> None:
        """The statement that computes `value`."""
        wides = [self.wide(name) for name in value.args]
        if value.name in self.runs and value.dtype not in NARROW_FLOATS:
            text = self.runs[value.name]
        elif isinstance(value, Load):
            text = self._guarded(value, self._element(value))
            text += " != 0" if value.dtype == "bool" and not self._is_part(value) else ""
        elif isinstance(value, Inside):
            text = inside_test(self.point[value.axes[0]], value)
        elif isinstance(value, Index):
            text = "(%s)%s" % (self.c_type(value), self.point[value.axes[0]])
        elif isinstance(value, Place):
            text = "%s(%s, %s)" % ("nearest_place" if self.counts_refusals else "place",
                                   self.expr(value.operand), self.size[value.axis])
        elif value.name in self.rough:
            form = "_to_one" * (value.name in self.to_one)
            text = "rough_%s%s(%s)" % (_op(value), form, wides[0])
        elif value.name in self.loose:
            text = "loose_%s(%s)" % (_op(value), wides[0])
        elif value.name in self.fractions:
            text = "loose_log1p_of_fraction(%s)" % wides[0]
        elif value.name in self.to_one:
            text = "exp_to_one(%s)" % wides[0]
        else:
            dtypes = [self.by_name[name].dtype for name in value.args]
            text = map_expression(_op(value), [self.expr(n) for n in value.args], wides, dtypes,
                                  value.dtype)
        self.put("const %s %s = %s;" % (self.c_type(value), self.var(value), text))
        if isinstance(value, Place) and self.counts_refusals:
            self.put("refusals |= %s != %s;" % (self.var(value), self.expr(value.operand)))
        if value.dtype in NARROW_FLOATS:
            text = self.runs.get(value.name) or wide_expression(
                _op(value), wides, self.var(value), value.dtype)
            text = self.var(value) if self._is_part(value) else text
            self.put("const float w%d = %s;" % (self.index[value.name], text))

    def store(self, number: int) -> None:
        """The statement that writes store number `number` at the current point."""
        self.put("%s = %s;" % (self.place(number), self.stored(number)))

    def stored(self, number: int) -> str:
        """What store number `number` writes."""
        return self.expr(self.loop.stores[number].value)

    def place(self, number: int) -> str:
        """Where store number `number` writes at the current point."""
        if number in self.columns:
            return self.columns[number]
        store = self.loop.stores[number]
        return "out%d[%s]" % (store.output, self._dense(store.axes))

    def is_dense(self, load: Load) -> bool:
        """Whether its axes alone tell where a load reads, and it reads at every point."""
        return not load.when and not load.at and load.input not in self.rows

    # Runs and blocks along a vector loop; see csrc/host/chunk.h

    def is_half_run(self, value: Load, axis: str) -> bool:
        """Whether a load reads float16 from consecutive places along `axis`, all of them there."""
        row = self.rows.get(value.input)
        if value.dtype != "float16" or value.when:
            return False
        if value.name in self.near:
            return True
        if row is not None:
            return value.moved and row.unit_axis == axis
        return value.axes[-1:] == (axis,)

    def is_packed(self, number: int, axis: str) -> bool:
        """Whether a store writes rounded floats to consecutive places along `axis`."""
        store = self.loop.stores[number]
        value = self.by_name[store.value]
        return (value.dtype == "float16" and isinstance(value, Map) and value.op == "cast"
                and self.by_name[value.args[0]].dtype == "float32" and value.name not in self.bound
                and tuple(store.axes[-1:]) == (axis,) and value.axes[-1:] == (axis,))

    def unpacked(self, number: int) -> str:
        """What the store writes, before it is rounded to float16."""
        return self.expr(self.by_name[self.loop.stores[number].value].args[0])

    def widen_run(self, value: Load, axis: str) -> None:
        """A buffer with the floats of elements s to e of the load."""
        self._widen(value, axis, "CHUNK", "s", "halves_to_floats(%s, %s, e - s);")

    def widen_block(self, value: Load, axis: str) -> None:
        """A buffer with the floats of the block of the load that begins with element c."""
        self._widen(value, axis, "BLOCK", "c", "block_to_floats(%s, %s);")

    def _widen(self, value: Load, axis: str, room: str, start: str, call: str) -> None:
        run = "run%d" % self.index[value.name]
        self.put("AF_BUFFER float %s[%s];" % (run, room))
        near = self.near.get(value.name)
        place = "%s + %s" % (near.pointer, near.place % start) if near else "in%d + %s" % (
            value.input, self._from(axis, lambda: self._load_offset(value), start))
        self.put(call % (place, run))
        self.runs[value.name] = "%s[%s - %s]" % (run, self.point[axis], start)

    def narrow_run(self, number: int, axis: str) -> None:
        """Writes elements s to e of the store."""
        self.put("floats_to_halves(packed%d, %s, e - s);"
                 % (number, self.target(number, axis, "s")))

    def target(self, number: int, axis: str, start: str = "c") -> str:
        """The address of element `start` of the store."""
        store = self.loop.stores[number]
        offset = self._from(axis, lambda: self._dense(store.axes), start)
        return "out%d + %s" % (store.output, offset)

    def memory_type(self, number: int) -> str:
        """The C++ type of an output that is store number `number`."""
        return MEMORY_TYPES[self.loop.outputs[self.loop.stores[number].output].dtype]

    def _from(self, axis: str, offset_of: Callable[[], str], start: str) -> str:
        """The offset of element `start` along `axis`."""
        point, self.point[axis] = self.point[axis], start
        offset = offset_of()
        self.point[axis] = point
        return offset

    def _dense(self, axes: Sequence[str]) -> str:
        """Row-major offset of the current point in a dense tensor over `axes`."""
        text = ""
        for axis in axes:
            inner = "(%s)" % text if " " in text else text
            text = "%s * %s + %s" % (inner, self.size[axis], self.point[axis]) if text else (
                self.point[axis])
        return text or "0"

    def _element(self, value: Load) -> str:
        """What a load reads at the current point."""
        near = self.near.get(value.name)
        if near:
            return "%s[%s]" % (near.pointer, near.place % self.point[value.walked[-1]])
        return "in%d[%s]" % (value.input, self._load_offset(value))

    def _load_offset(self, value: Load) -> str:
        row = self.rows.get(value.input)
        if row is None:
            return self._dense(value.walked)
        terms = [self.point[axis] if axis == row.unit_axis else
                 "%s * s%d_%d" % (self.point[axis], value.input, self.loop.axes.index(axis))
                 for axis in value.walked]
        terms += ["%s * s%d_%d" % (self.expr(name), value.input, self.loop.axes.index(axis))
                  for axis, name in value.at]
        return " + ".join(terms) or "0"

    def _guarded(self, value: Load, text: str) -> str:
        """`text`, or 0 where the load reads nothing."""
        tests = [self.expr(name) for name in value.when]
        return "(%s ? %s : 0)" % (" & ".join(tests), text) if tests else text


def _partial_types(loop: LoopKernel) -> Dict[int, str]:
    """C++ types of the temporaries that hold partial results: those of their accumulators."""
    by_name = {value.name: value for value in loop.body}
    found = {}
    for store in loop.stores:
        value = by_name[store.value]
        if isinstance(value, Reduce) and value.partial:
            found[store.output - len(loop.outputs)] = Accumulator(value).c_type
    return found


def _op(value: Value) -> str:
    return value.op if isinstance(value, Map) else ""
