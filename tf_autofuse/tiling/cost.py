"""What a program costs per tile, as integers: the numbers the tiling function compares.

Cycles are counted in units of 1/4096. For each pipe (load, vector, store) and each scope (once per
task, once per walked tile) the cost is linear in the tile: head, per row, per column, per element.
For the copies the last three are bytes. Where parts are gathered, the last three count for each
part, heads for as many parts as are taken at a time.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, List, Set, Tuple

from tf_autofuse.kernel.ir import (
    Accumulate,
    Broadcast,
    Compute,
    CopyIn,
    CopyOut,
    Fill,
    Finish,
    LoadPart,
    Loop,
    Program,
    Step,
    StorePart,
)
from tf_autofuse.kernel.layout import apart
from tf_autofuse.kernel.vector import ITEM_BYTES
from tf_autofuse.loop.ir import PARTS
from tf_autofuse.platforms import Platform

FINE = 4096
_FOLD_LEVELS = 6
"""Steps of a fold by halves of a usual tile."""

_SCALAR_READ = 200.0
"""Cycles in which the vector unit waits for the scalar unit to read one element [guess]."""


@dataclass(frozen=True)
class Line:
    """`head + row * rows + column * columns + element * rows * columns`."""

    head: int = 0
    row: int = 0
    column: int = 0
    element: int = 0

    def __add__(self, other: "Line") -> "Line":
        return Line(self.head + other.head, self.row + other.row, self.column + other.column,
                    self.element + other.element)

    def values(self) -> Tuple[int, int, int, int]:
        return (self.head, self.row, self.column, self.element)


@dataclass(frozen=True)
class Costs:
    """Load, vector and store lines per task, per walked tile, and per part that is gathered.

    `served` are the loads that L2 serves: operands that several tasks have in common, partial
    results, and what the same core has loaded before. `row_wise` are the heads (per task, per
    walk) of vector work that is called once for each row or once for each register of columns,
    whichever is less.
    """

    task: Tuple[Line, Line, Line]
    walk: Tuple[Line, Line, Line]
    gather: Tuple[Line, Line, Line]
    served: Tuple[Line, Line, Line]
    row_wise: Tuple[int, int]


def costs(program: Program, chip: Platform) -> Costs:
    """The cost of `program`; what it holds between tasks, and what a core does once for its rows,
    is left out."""
    sums: Dict[str, List[Line]] = {scope: [Line()] * 5 for scope in ("block", "walk", "parts")}
    _sum(program, chip, program.steps, "block", sums, set())
    task, walk, parts = sums["block"], sums["walk"], sums["parts"]
    return Costs((task[0], task[1], task[2]), (walk[0], walk[1], walk[2]),
                 (parts[0], parts[1], parts[2]), (task[4], walk[4], parts[4]),
                 (task[3].head, walk[3].head))


def _sum(program: Program, chip: Platform, steps: Tuple[Step, ...], scope: str,
         sums: Dict[str, List[Line]], loaded: Set[int]) -> None:
    for step in steps:
        if isinstance(step, Loop):
            if step.kind in ("core", "strips"):
                blocks = tuple(s for s in step.body if isinstance(s, Loop) and s.kind == "block")
                _sum(program, chip, blocks, scope, sums, loaded)
            elif step.kind != "hold":
                inner = step.kind if step.kind in ("walk", "parts") else scope
                _sum(program, chip, step.body, inner, sums, loaded)
        elif isinstance(step, LoadPart):
            sums[scope][4] += _copy(program, step.dst, chip.load.head)
        elif isinstance(step, CopyIn):
            served = (step.input in loaded or PARTS in step.axes
                      or not set(step.axes).issuperset(program.nest.kept))
            line, gathers = _load(program, chip, step)
            sums[scope][4 if served else 0] += line
            sums[scope][1] += gathers
            sums[scope][3] += Line(gathers.head)
            loaded.add(step.input)
        elif isinstance(step, (CopyOut, StorePart)):
            sums[scope][2] += _copy(program, step.src, chip.store.head)
        else:
            line, calls = _vector(program, chip, step)
            sums[scope][1] += line
            sums[scope][3] += Line(calls)


def _load(program: Program, chip: Platform, step: CopyIn) -> Tuple[Line, Line]:
    """Cost of a copy, and of what the vector unit does for it."""
    buffer = program.buffer(step.dst)
    kind = apart(step, buffer.shape, program.y, program.x)
    if step.at is not None:  # every row is a copy, and its place is read twice
        row = Line(0, round((chip.load.head + 2 * _SCALAR_READ) * FINE))
        return _copy(program, step.dst, 0) + row, Line()
    if not kind:
        return _copy(program, step.dst, chip.load.head), Line()
    # A block is the least that moves; each call waits for the other unit.
    bytes_each = chip.block_bytes if kind == "single" else ITEM_BYTES[buffer.dtype]
    head = (chip.load.head + _SCALAR_READ) * (2 if kind == "single" else 1)
    return _shaped(buffer.shape, head, bytes_each), _call(program, chip, "copy", step.dst)


def _copy(program: Program, name: str, head: float) -> Line:
    buffer = program.buffer(name)
    return _shaped(buffer.shape.lstrip("p"), head, ITEM_BYTES[buffer.dtype])


def _shaped(shape: str, head: float, per_element: int) -> Line:
    return Line(
        round(head * FINE) + (per_element if shape == "1" else 0),
        per_element * 64 if shape == "lanes" else per_element if shape == "y" else 0,
        per_element if shape == "x" else 0,
        per_element if shape == "yx" else 0,
    )


def _vector(program: Program, chip: Platform, step: Step) -> Tuple[Line, int]:
    """Cost of a vector step, and the head of its row-wise calls."""
    if isinstance(step, Fill):
        return _call(program, chip, "fill", step.dst), 0
    if isinstance(step, Compute):
        kept = step.dst if program.buffer(step.dst).dtype != "mask" else step.srcs[0]
        return _call(program, chip, step.op, kept), 0
    if isinstance(step, Broadcast):
        if program.buffer(step.src).shape == "1":
            return _call(program, chip, "fill", step.dst) + Line(round(_SCALAR_READ * FINE)), 0
        line = _call(program, chip, "copy", step.dst)
        return line, line.head
    if isinstance(step, Accumulate):
        line = _call(program, chip, "add", step.src)
        if program.buffer(step.dst).shape == "lanes" and program.y is not None:
            return line, line.head
        return line + Line(line.head * _FOLD_LEVELS if step.scratch else 0), 0
    if isinstance(step, Finish):
        if step.blocks:  # once for each row, and once for 8 of them
            cost = chip.cost("block_reduce")
            return Line(round(2 * cost.head * FINE), round(cost.rate * 9 / 8 * FINE)), 0
        cost = chip.cost("lane_reduce")
        return Line(round(cost.head * FINE), round(cost.rate * FINE)), 0
    return Line(), 0


def _call(program: Program, chip: Platform, op: str, name: str) -> Line:
    """One instruction on the buffer."""
    buffer, cost = program.buffer(name), chip.cost(op)
    per_element = round(cost.per_element(ITEM_BYTES.get(buffer.dtype, 4)) * FINE)
    return _shaped(buffer.shape.lstrip("p"), cost.head, per_element)
