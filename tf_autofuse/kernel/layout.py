"""Where the buffers of a program lie in UB, as sizes that grow with the tile.

All loads of one scope lie in one slab of a queue, so that a scope needs one event however many
inputs it has. Outputs follow one another through one queue. Everything else lies in one arena.
"""
from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Dict, List, Optional, Tuple

from tf_autofuse.kernel.ir import (
    Broadcast,
    Buffer,
    Compute,
    CopyIn,
    Finish,
    LoadPart,
    Loop,
    Program,
    Step,
    walk_steps,
)
from tf_autofuse.kernel.vector import ITEM_BYTES, VECTOR_OPS
from tf_autofuse.loop.ir import unit_axis

UNIT = 128
"""Buffers hold multiples of this many elements: 256 bytes of the smallest compared type."""

LANE_BYTES = 256
MOVED = 64
"""Columns of a tile that are gathered at a time, from blocks of 32 bytes or more."""

PIECES = 384
"""Elements that buffers of several parts have more room for than buffers of one."""

MATH_SCRATCH = max(op.scratch for op in VECTOR_OPS.values())


@dataclass(frozen=True)
class Extent:
    """Bits per element of a tile, a row and a column, vector registers per row, and bytes."""

    tile: int = 0
    row: int = 0
    column: int = 0
    lanes: int = 0
    fixed: int = 0

    def __add__(self, other: "Extent") -> "Extent":
        return Extent(*[a + b for a, b in zip(self.parts(), other.parts())])

    def parts(self) -> Tuple[int, int, int, int, int]:
        return (self.tile, self.row, self.column, self.lanes, self.fixed)

    def union(self, other: "Extent") -> "Extent":
        """At least as large as both."""
        return Extent(*[max(a, b) for a, b in zip(self.parts(), other.parts())])

    def times(self, count: int) -> "Extent":
        return Extent(*[a * count for a in self.parts()])


@dataclass(frozen=True)
class Queue:
    """A queue; `double` ones have as many buffers as the tiling says, the others one."""

    name: str
    position: str
    double: bool
    extent: Extent


@dataclass(frozen=True)
class Layout:
    """`homes`: queue and offset of each queue buffer; `slots`: offset of each slot in the arena.

    `scratch` holds the offsets of scratch by its use, where the program needs it. `kept` is the
    room of one tile of all KEPT buffers, whose `homes` are offsets in it.
    """

    queues: Tuple[Queue, ...]
    homes: Dict[str, Tuple[str, Extent]]
    slots: Dict[int, Extent]
    scratch: Dict[str, Extent]
    arena: Extent
    kept: Extent = Extent()

    def total(self, depth: int) -> Extent:
        """UB of the program with `depth` buffers in each double queue."""
        total = self.arena
        for queue in self.queues:
            total = total + queue.extent.times(depth if queue.double else 1)
        return total


def item_bits(dtype: str) -> int:
    """Bits of an element in UB; a mask takes two, which keeps its buffers aligned."""
    return 2 if dtype == "mask" else 8 * ITEM_BYTES[dtype]


def buffer_extent(buffer: Buffer) -> Extent:
    """The size of one buffer."""
    bits = item_bits(buffer.dtype)
    if of_parts(buffer):
        one = replace(buffer, shape=buffer.shape[1:])
        return buffer_extent(one) + Extent(fixed=bits * PIECES // 8)
    if buffer.shape == "lanes":
        return Extent(lanes=1)
    if buffer.shape == "lane":
        return Extent(fixed=LANE_BYTES)
    if buffer.shape == "1":
        return Extent(fixed=bits * UNIT // 8)
    return Extent(**{{"yx": "tile", "x": "row", "y": "column"}[buffer.shape]: bits})


def of_parts(buffer: Buffer) -> bool:
    """Whether a buffer holds a tile of each of several parts."""
    return buffer.shape.startswith("p")


def scope_loads(program: Program, steps: Tuple[Step, ...]) -> List[Step]:
    """The loads into the queue of a scope: those that stand directly in it."""
    return [step for step in steps if isinstance(step, (CopyIn, LoadPart))
            and program.buffer(step.dst).position == "VECIN"]


_QUEUES = {"walk": "walkIn", "parts": "partsIn", "strips": "stripIn"}


def layout(program: Program) -> Layout:
    """The places of all buffers of `program`."""
    queues: Dict[str, Queue] = {}
    homes: Dict[str, Tuple[str, Extent]] = {}
    held = 0
    for loop in walk_steps(program.steps):
        if not isinstance(loop, Loop):
            continue
        name = _QUEUES.get(loop.kind, "blockIn")
        if loop.kind == "hold":
            name, held = "heldIn%d" % held, held + 1
        slab = Extent()
        for load in scope_loads(program, loop.body):
            homes[load.dst] = (name, slab)  # type: ignore[union-attr]
            slab = slab + buffer_extent(program.buffer(load.dst))  # type: ignore[union-attr]
        if slab != Extent():
            old = queues[name].extent if name in queues else Extent()
            double = loop.kind not in ("hold", "strips", "parts")
            queues[name] = Queue(name, "VECIN", double, slab.union(old))
    out = kept = Extent()
    for buffer in program.buffers:
        if buffer.position == "VECOUT":
            homes[buffer.name] = ("out", Extent())
            out = out.union(buffer_extent(buffer))
        elif buffer.position == "KEPT":
            homes[buffer.name] = ("kept", kept)
            kept = kept + buffer_extent(buffer)
    if out != Extent():
        queues["out"] = Queue("out", "VECOUT", True, out)
    slots, scratch, arena = _arena(program)
    return Layout(tuple(queues.values()), homes, slots, scratch, arena, kept)


def _arena(program: Program) -> Tuple[Dict[int, Extent], Dict[str, Extent], Extent]:
    arena = Extent()
    slots: Dict[int, Extent] = {}
    for buffer in sorted(program.buffers, key=lambda b: b.slot):
        if buffer.position == "VECCALC" and buffer.slot not in slots:
            slots[buffer.slot] = arena
            arena = arena + buffer_extent(buffer)
    scratch: Dict[str, Extent] = {}
    if needs_column(program):
        scratch["column"] = arena
        arena = arena + Extent(column=256, fixed=256)
    if needs_math(program):
        scratch["math"] = arena
        arena = arena + Extent(fixed=MATH_SCRATCH)
    kinds = [apart(step, program.buffer(step.dst).shape, program.y, program.x)
             for step in walk_steps(program.steps) if isinstance(step, CopyIn)]
    if any(kinds):
        scratch["places"] = arena
        scratch["blocks"] = arena + Extent(fixed=4 * MOVED)
        arena = scratch["blocks"] + Extent(column=32 * MOVED if "together" in kinds else 0,
                                           fixed=32 * MOVED)
    return slots, scratch, arena


def apart(step: CopyIn, shape: str, y: Optional[str], x: Optional[str]) -> str:
    """How the elements of a moved tile of `shape` are no neighbours in GM: `single` if each one
    lies for itself, `together` if those of a column are neighbours; empty if those of a row are."""
    along = {"yx": x, "x": x, "y": y}.get(shape)
    unit = unit_axis(step.dims)
    if not step.moved or along is None or along == unit:
        return ""
    return "together" if shape == "yx" and unit == y else "single"


def beside(program: Program, step: CopyIn) -> List[str]:
    """Axes of the tile that the buffer of a load lacks, but intervals have: it is loaded if a row,
    or a column, of the tile is inside."""
    shape = program.buffer(step.dst).shape
    lacks = [axis for axis, word in ((program.y, "y"), (program.x, "x")) if word not in shape]
    return [axis for _, axis in step.when if axis in lacks]


def needs_column(program: Program) -> bool:
    """Whether some column is spread over a tile, or found by blocks, which takes a block per row
    of scratch."""
    return any(isinstance(s, Broadcast) and program.buffer(s.src).shape == "y"
               or isinstance(s, Finish) and s.blocks for s in walk_steps(program.steps))


def needs_math(program: Program) -> bool:
    """Whether an instruction wants scratch of its own."""
    return any(isinstance(s, Compute) and VECTOR_OPS[s.op].scratch > 0
               for s in walk_steps(program.steps))


def task_order(program: Program) -> Tuple[str, ...]:
    """Kept axes in the order tasks count them, outermost first.

    The innermost axis comes first when something is held for its coordinate.
    """
    kept = program.nest.kept
    for step in walk_steps(program.steps):
        if isinstance(step, Loop) and step.kind == "hold" and program.x in step.axes and (
                program.x in kept):
            return tuple(a for a in step.axes) + tuple(a for a in kept if a not in step.axes)
    return kept
