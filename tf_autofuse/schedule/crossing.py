"""Steps of reductions over the kept axes of a nest: partial results of the rows of each core.

Where rows are resident, what a core has found so far stays in UB and is written when it has done
its rows; so it is where a core has a strip of columns only. A stream has parts of rows: what was
found so far for such a part comes from memory, and goes back there.
"""
from __future__ import annotations

from typing import Any, Dict, List

from tf_autofuse.kernel.ir import Accumulate, Compute, CopyIn, Fill, Loop, Step
from tf_autofuse.loop.ir import PARTS, Dim, Reduce
from tf_autofuse.loop.ops import REDUCE_OPS
from tf_autofuse.schedule.expand import MEMORY, reduced_type, register_type

_COMBINE = {"sum": "add", "prod": "mul", "max": "max", "min": "min"}


class Crossing:
    """Emits, through a builder, what surrounds the tasks of a core, and what each of them does."""

    def __init__(self, builder: Any) -> None:
        self.builder = builder
        self.accs: Dict[int, str] = {}

    def operand(self, number: int) -> str:
        """The value that the partial result of a store is reduced from."""
        return self._value(number).operand

    def around(self, block: Loop) -> Loop:
        """What a core does: begin, take all its rows, write what it has found."""
        b = self.builder
        if b.variant == "resident":
            return self.inside(Loop("core", (PARTS,), (block,)))
        before: List[Step] = []
        b.scope = before
        for step in b.nest.passes:
            for number in step.crosses:
                b.put_out(number, self._identity(number))
        return Loop("core", (PARTS,), (Loop("walk", b.nest.reduced, tuple(before)), block))

    def inside(self, loop: Loop) -> Loop:
        """`loop` with partial results that stay in UB meanwhile: begun before, written after."""
        b = self.builder
        # The buffers are there already: their tasks have been made before what comes before them.
        before = [Fill(acc, self._start(number)) for number, acc in self.accs.items()]
        after: List[Step] = []
        b.scope = after
        for number, acc in self.accs.items():
            b.origin = self._value(number).origin
            b.put_out(number, acc)
        self.accs = {}
        return Loop(loop.kind, loop.axes, tuple(before) + loop.body + tuple(after))

    def take(self, number: int) -> None:
        """The part of a tile in the partial result of a store."""
        b, value = self.builder, self._value(number)
        b.origin = value.origin
        if b.variant != "stream":
            self.accs[number] = self._new(number)
            self._fold(number, self.accs[number])
            return
        store, register = b.loop.stores[number], register_type(value.dtype, value.name)
        memory, shape = MEMORY[value.dtype], self._shape(number)
        old = b.new(memory, shape, "VECIN")
        source = store.output - len(b.loop.outputs) + len(b.loop.inputs)
        b.scope.append(CopyIn(old, source, tuple(Dim(axis) for axis in store.axes)))
        if memory != register:
            wide = b.new(register, shape)
            b.scope.append(Compute("cast", wide, (old,)))
            old = wide
        acc = self._identity(number)
        self._fold(number, acc)
        total = b.new(register, shape)
        b.scope.append(Compute(_COMBINE[b.fold(value.name)], total, (acc, old)))
        b.put_out(number, total)

    def _fold(self, number: int, acc: str) -> None:
        b, value = self.builder, self._value(number)
        shape = b.shape(b.nest.axes)
        scratch = "" if shape == b.shape_of(acc) else b.new(b.dtype_of(acc), shape)
        b.scope.append(Accumulate(b.fold(value.name), acc, b.operand(value.operand, shape),
                                  scratch))

    def _identity(self, number: int) -> str:
        acc = self._new(number)
        self.builder.scope.append(Fill(acc, self._start(number)))
        return acc

    def _start(self, number: int) -> Any:
        value = self._value(number)
        return REDUCE_OPS[value.op].identity(value.dtype)

    def _new(self, number: int) -> str:
        value = self._value(number)
        self.builder.origin = value.origin
        return self.builder.new(reduced_type(value), self._shape(number))

    def _shape(self, number: int) -> str:
        return self.builder.shape(self._value(number).axes)

    def _value(self, number: int) -> Reduce:
        return self.builder.by_name[self.builder.loop.stores[number].value]
