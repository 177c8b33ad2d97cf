"""Tile sizes and block counts of a kernel, from axis sizes, core count and UB bytes.

The constraint per program is linear in the buffers: with `ty` rows of `pitch` elements,

    yx * (ty * pitch + UNIT) + x * (pitch + UNIT) + y * (ty + UNIT) + fixed <= ub bytes

where yx, x and y are bytes per element over all buffers of that shape, and UNIT covers rounding up
to the granularity of compares. `solve` is the Python mirror of the C++ that `tiling.cpp` prints.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, List, Tuple

from tf_autofuse.errors import ScheduleError
from tf_autofuse.kernel.ir import Broadcast, Compute, Kernel, Program, walk_steps
from tf_autofuse.kernel.vector import ITEM_BYTES
from tf_autofuse.platforms import Platform, platform

UNIT = 128
"""Buffers hold multiples of this many elements: 256 bytes of the smallest compared type."""

LANE_BYTES = 256
TANH_BYTES = 4096
MAX_ROWS = 4095
MAX_ROW_PITCH = 2040
"""Longest pitch (elements) that row-wise instructions reach: 255 blocks of 8 float32."""


@dataclass(frozen=True)
class Coefficients:
    """What the tiling of one program depends on; sizes in bytes, `pitch` in elements."""

    yx: int
    x: int
    y: int
    fixed: int
    pitch: int
    y_kept: bool
    x_kept: bool
    has_y: bool
    row_wise: bool


@dataclass(frozen=True)
class NestTiling:
    """Rows and columns of a tile, elements from row to row, and the number of block tiles."""

    ty: int
    tx: int
    pitch: int
    tasks: int


def coefficients(program: Program) -> Coefficients:
    """The constraint of `program`."""
    weight = {"yx": 0, "x": 0, "y": 0, "1": 0, "lanes": 0}
    seen = set()
    for buffer in program.buffers:
        if buffer.slot in seen:
            continue
        seen.add(buffer.slot)
        copies = 1 if buffer.position == "VECCALC" else program.queue_depth
        weight[buffer.shape] += copies * item_bytes(buffer.dtype)
    steps = list(walk_steps(program.steps))
    columns = [s for s in steps if isinstance(s, Broadcast) and _shape(program, s.src) == "y"]
    tanh = any(isinstance(s, Compute) and s.op == "tanh" for s in steps)
    lanes = len({b.slot for b in program.buffers if b.shape == "lanes"})
    y = weight["y"] + lanes * LANE_BYTES + (32 if columns else 0)
    fixed = weight["1"] * UNIT + (TANH_BYTES if tanh else 0)
    fixed += (weight["yx"] + weight["x"] + weight["y"] + 32) * UNIT
    smallest = min([item_bytes(b.dtype) for b in program.buffers if b.dtype != "mask"] or [4])
    row_wise = any(isinstance(s, Broadcast) for s in steps) or lanes > 0
    return Coefficients(
        weight["yx"], weight["x"], y, fixed, 32 // min(smallest, 4),
        program.y in program.nest.kept, program.x in program.nest.kept, program.y is not None,
        row_wise,
    )


def item_bytes(dtype: str) -> int:
    """Bytes of an element; a mask counts as one byte, which covers its bits and rounding."""
    return 1 if dtype == "mask" else ITEM_BYTES[dtype]


def _shape(program: Program, name: str) -> str:
    return program.buffer(name).shape


def solve(kernel: Kernel, sizes: Dict[str, int], cores: int) -> Tuple[List[NestTiling], int]:
    """Tiling of every program and the number of blocks to launch.

    Raises ScheduleError when not even one short row of a program fits UB.
    """
    room = program_ub(kernel, platform(kernel.platform))
    tilings = [solve_program(program, sizes, cores, room) for program in kernel.programs]
    return tilings, max([1] + [min(cores, tiling.tasks) for tiling in tilings])


def program_ub(kernel: Kernel, chip: Platform) -> int:
    """Bytes of UB for each program: the buffers of all programs are there at the same time."""
    return chip.ub_bytes // len(kernel.programs) // 32 * 32


def solve_program(program: Program, sizes: Dict[str, int], cores: int,
                  ub_bytes: int) -> NestTiling:
    """Tiling of one program that may use `ub_bytes`; see `solve`."""
    c, room = _room(program, ub_bytes)
    nx = sizes[program.x] if program.x is not None else 1
    ny = sizes[program.y] if program.y is not None else 1
    outer = 1
    for axis in program.nest.kept:
        outer *= sizes[axis] if axis not in (program.x, program.y) else 1
    ty, tx = _tile(c, nx, ny, outer, cores, room)
    tasks = outer
    tasks *= _ceil(ny, ty) if c.y_kept else 1
    tasks *= _ceil(nx, tx) if c.x_kept else 1
    return NestTiling(ty, tx, _up(tx, c.pitch), tasks)


def check_fits(kernel: Kernel) -> None:
    """ScheduleError when not even one short row of some program fits its share of UB."""
    for program in kernel.programs:
        _room(program, program_ub(kernel, platform(kernel.platform)))


def _room(program: Program, ub_bytes: int) -> Tuple[Coefficients, int]:
    """The constraint, and the bytes left for tiles."""
    c = coefficients(program)
    room = ub_bytes - c.fixed
    if room < c.y + (c.yx + c.x) * UNIT:
        raise ScheduleError("the buffers of one short row need more than the %d bytes of UB"
                            % ub_bytes, stage="schedule")
    return c, room


def _tile(c: Coefficients, nx: int, ny: int, outer: int, cores: int, room: int) -> Tuple[int, int]:
    longest = (room - c.y) // max(1, c.yx + c.x) // UNIT * UNIT
    tx = max(1, min(nx, longest))
    pitch = _up(tx, c.pitch)
    ty = 1
    if c.has_y and tx >= nx and not (c.row_wise and pitch > MAX_ROW_PITCH):
        rows = (room - c.x * pitch) // (c.yx * pitch + c.y)
        ty = max(1, min(ny, rows, MAX_ROWS))
    if c.y_kept:
        ty = max(1, min(ty, _ceil(outer * ny, cores)))
    if c.x_kept and outer * (_ceil(ny, ty) if c.y_kept else 1) < cores:
        lines = outer * (ny if c.y_kept else 1)
        tx = min(tx, max(UNIT, _up(_ceil(lines * nx, cores), UNIT)))
    return ty, tx


def _ceil(a: int, b: int) -> int:
    return -(-a // b)


def _up(a: int, b: int) -> int:
    return _ceil(a, b) * b
