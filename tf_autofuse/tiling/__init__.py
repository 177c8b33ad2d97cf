"""Variant, tile sizes and block count of each nest, from axis sizes, core count and UB bytes.

`solve` is the Python mirror of the C++ that `tiling.cpp` prints: both run the same steps on the
same integers. Among the tiles that fit UB, those that give every core the same work and cost the
fewest cycles win; the variants of a nest compete by the same cost.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, List, Optional, Tuple

from tf_autofuse.errors import ScheduleError
from tf_autofuse.kernel.ir import Kernel, Program, Sync, walk_steps
from tf_autofuse.kernel.layout import LANE_BYTES, UNIT, layout
from tf_autofuse.kernel.vector import ITEM_BYTES
from tf_autofuse.platforms import Platform, platform
from tf_autofuse.tiling.cost import FINE, costs

MAX_ROWS = 4095
LANES = 64
"""Elements of a vector register that the cost of row-wise calls reckons with."""

FOLD_COLUMNS = 1024
"""Widest tile of a column reduction: the tile must have rows enough to fold them by halves."""

CUTS = 5
"""Tile widths tried: the widest, up to three more cuts, and one that fills the cores."""

SPLIT_WAVES = (4, 2, 1)
"""Shares of a split per core that are tried. More of them leave less idle time, so that fewer must
be cheaper by an eighth."""


@dataclass(frozen=True)
class Form:
    """What the tiling of one program depends on.

    `once` and `double` are UB bits per element of a tile, a row and a column, registers per row
    and bytes: of everything that is there once, and of the buffers of which there are `depth`.
    """

    once: Tuple[int, ...]
    double: Tuple[int, ...]
    pitch: int
    has_y: bool
    y_kept: bool
    x_kept: bool
    resident: bool
    split: bool
    syncs: int
    row_wise: Tuple[int, int]
    lines: Tuple[int, ...]

    def weights(self, depth: int) -> Tuple[int, ...]:
        """UB weights with `depth` buffers in each double queue."""
        return tuple(a + depth * b for a, b in zip(self.once, self.double))

    def values(self) -> List[int]:
        """All fields as integers, in the order of the C++ structure."""
        flags = (self.has_y, self.y_kept, self.x_kept, self.resident, self.split)
        return (list(self.once) + list(self.double) + [self.pitch] + [int(f) for f in flags]
                + [self.syncs] + list(self.row_wise) + list(self.lines))


@dataclass(frozen=True)
class Rates:
    """The chip in the units of the cost: cycles of 1/4096, `gm` per core that reads."""

    load: int
    store: int
    gm: int
    sync: int


@dataclass(frozen=True)
class NestTiling:
    """Rows and columns of a tile, elements from row to row, the number of tasks and of parts that
    share a task, buffers per double queue, and the predicted cost in 1/4096 cycles."""

    ty: int
    tx: int
    pitch: int
    tasks: int
    parts: int
    depth: int
    cost: int
    variant: int = 0


@dataclass(frozen=True)
class Extents:
    """Sizes of a nest: tile axes, the other kept axes and the other reduced axes."""

    nx: int
    ny: int
    outer: int
    around: int


def rates(chip: Platform) -> Rates:
    """Copy rates (1/4096 cycles per byte) and the price of a SyncAll."""
    return Rates(round(FINE / chip.load.rate), round(FINE / chip.store.rate),
                 round(16 * FINE / chip.gm_rate), round(chip.sync_cycles * FINE))


def form(program: Program, chip: Platform) -> Form:
    """The constraint and the cost of `program`."""
    place = layout(program)
    once, twice = place.total(0).parts(), place.total(1).parts()
    steps = list(walk_steps(program.steps))
    smallest = min([ITEM_BYTES[b.dtype] for b in program.buffers if b.dtype != "mask"] or [4])
    cost = costs(program, chip)
    lines = [n for line in cost.task + cost.walk + cost.gather for n in line.values()]
    nest = program.nest
    return Form(
        once, tuple(b - a for a, b in zip(once, twice)), chip.block_bytes // min(smallest, 4),
        program.y is not None, program.y in nest.kept, program.x in nest.kept,
        program.variant == "resident", program.variant == "split",
        sum(isinstance(s, Sync) for s in steps), cost.row_wise, tuple(lines))


def fits(program: Program, chip: Platform) -> bool:
    """Whether a tile of one short row fits UB."""
    return _longest(form(program, chip).weights(1), 1, chip.ub_bytes) >= UNIT


def check_fits(kernel: Kernel) -> None:
    """ScheduleError when not even one short row of some program fits UB."""
    chip = platform(kernel.platform)
    for program in kernel.programs:
        if not fits(program, chip):
            raise ScheduleError("the buffers of one short row need more than the %d bytes of UB"
                                % chip.ub_bytes, stage="schedule")


def solve(kernel: Kernel, sizes: Dict[str, int], cores: int,
          variants: bool = True) -> Tuple[List[NestTiling], int]:
    """Tiling of every nest and the number of blocks to launch.

    Without `variants` each nest takes its first program.
    """
    chip = platform(kernel.platform)
    tilings = []
    for programs in kernel.variants:
        best: Optional[NestTiling] = None
        for number, program in enumerate(programs if variants else programs[:1]):
            f = form(program, chip)
            found = solve_form(f, extents(program, sizes), cores, chip.ub_bytes, rates(chip),
                               number)
            # To read inputs once is worth more than the model knows: others read them, too.
            if found is not None and (best is None or f.resident or found.cost < best.cost):
                best = found
        if best is None:
            raise ScheduleError("no tile of nest %d fits UB" % programs[0].number, stage="tiling")
        tilings.append(best)
    return tilings, max([1] + [min(cores, t.tasks * t.parts) for t in tilings])


def extents(program: Program, sizes: Dict[str, int]) -> Extents:
    """The sizes of a nest as its tiling sees them."""
    tile = (program.x, program.y)
    outer = around = 1
    for axis in program.nest.kept:
        outer *= sizes[axis] if axis not in tile else 1
    for axis in program.nest.reduced:
        around *= sizes[axis] if axis not in tile else 1
    return Extents(sizes[program.x] if program.x is not None else 1,
                   sizes[program.y] if program.y is not None else 1, outer, around)


def solve_form(f: Form, n: Extents, cores: int, ub: int, r: Rates,
               variant: int) -> Optional[NestTiling]:
    """The best tiling of one program; None when it cannot run these sizes."""
    if f.resident and (n.nx == 0 or n.ny == 0):
        return None
    for depth in (2, 1):
        w = f.weights(depth)
        rows = n.ny if f.resident and f.has_y and not f.y_kept else 1
        longest = _longest(w, rows, ub) if rows <= MAX_ROWS else 0
        if f.has_y and not f.y_kept and f.x_kept:
            longest = min(longest, FOLD_COLUMNS)
        whole = f.resident and not f.x_kept
        if longest < (n.nx if whole else UNIT):
            continue
        best: Optional[NestTiling] = None
        for cut in range(CUTS if f.x_kept else 1):
            tx = _width(f, n, cores, min(n.nx, longest), cut, _rows(f, w, n, rows, longest, ub))
            ty = _rows(f, w, n, rows, tx, ub)
            found = _balance(f, n, cores, depth, ty, tx, r, variant)
            if found is not None and (best is None or found.cost < best.cost):
                best = found
        if best is not None:
            return best
    return None


def _longest(w: Tuple[int, ...], rows: int, ub: int) -> int:
    """Columns of the widest tile with `rows` rows, a multiple of UNIT; 0 for none."""
    room = (ub - w[4]) * 8 - w[2] * (rows + UNIT - 1) - w[3] * rows * LANE_BYTES * 8
    room -= (w[0] + w[1]) * (UNIT - 1)
    return max(0, room) // max(1, w[0] * rows + w[1]) // UNIT * UNIT


def _width(f: Form, n: Extents, cores: int, top: int, cut: int, ty: int) -> int:
    """Columns of candidate `cut`: `top`, or the axis in more, equal cuts."""
    top = max(1, top)
    count, unit = _ceil(n.nx, top) + cut, UNIT
    if cut == 0:
        return top
    if cut == CUTS - 1:
        lines = max(1, n.outer * (_ceil(n.ny, ty) if f.y_kept else 1))
        waves = _ceil(lines * _ceil(n.nx, top), cores)
        count, unit = max(1, _ceil(n.nx, top), waves * cores // lines), UNIT // 2
    return max(1, min(top, _up(_ceil(n.nx, count), unit)))


def _rows(f: Form, w: Tuple[int, ...], n: Extents, least: int, tx: int, ub: int) -> int:
    """Most rows of `tx` columns that fit UB."""
    pitch = _up(tx, f.pitch)
    if least > 1 or not f.has_y:
        return least
    room = (ub - w[4]) * 8 - w[1] * _up(pitch, UNIT) - (w[0] + w[2]) * (UNIT - 1)
    rows = room // max(1, w[0] * pitch + w[2] + w[3] * LANE_BYTES * 8)
    return max(1, min(n.ny, rows, MAX_ROWS))


def _balance(f: Form, n: Extents, cores: int, depth: int, ty: int, tx: int, r: Rates,
             variant: int) -> Optional[NestTiling]:
    """Fewer rows where that evens out the work of the cores; for a split, the parts."""
    across = _ceil(n.nx, tx) if f.x_kept else 1
    tasks = max(1, n.outer * across * (_ceil(n.ny, ty) if f.y_kept else 1))
    if not f.split:
        if f.y_kept:
            allowed = max(1, _ceil(tasks, cores) * cores // max(1, n.outer * across))
            ty = max(1, min(ty, _ceil(n.ny, allowed)))
        return _priced(f, n, cores, depth, ty, tx, 1, r, variant)
    best: Optional[NestTiling] = None
    for waves in SPLIT_WAVES:
        parts, rows, cols = waves * cores // tasks, ty, tx
        if parts < 2:
            continue
        if f.has_y and not f.y_kept:
            each = max(1, _ceil(n.around * _ceil(n.ny, ty), parts))
            rows = max(1, min(ty, _ceil(n.ny * n.around, parts * each)))
        elif not f.x_kept:
            each = max(1, _ceil(n.around * _ceil(n.nx, tx), parts))
            cols = max(1, min(tx, _up(_ceil(n.nx * n.around, parts * each), UNIT)))
        found = _priced(f, n, cores, depth, rows, cols, parts, r, variant)
        if found is not None and (best is None or found.cost + found.cost // 8 < best.cost):
            best = found
    return best


def _priced(f: Form, n: Extents, cores: int, depth: int, ty: int, tx: int, parts: int, r: Rates,
            variant: int) -> Optional[NestTiling]:
    """The tiling with this tile and at most `parts` parts, with its cost."""
    walks = 1
    if not f.resident:
        walks = n.around * (1 if f.y_kept or not f.has_y else _ceil(n.ny, ty))
        walks *= 1 if f.x_kept else _ceil(n.nx, tx)
    if f.split:
        parts = min(parts, walks)
        if parts < 2:
            return None
    tasks = n.outer * (_ceil(n.nx, tx) if f.x_kept else 1) * (_ceil(n.ny, ty) if f.y_kept else 1)
    cost = _cost(f, r, min(ty, n.ny), min(tx, n.nx), tasks * parts, _ceil(walks, parts), cores,
                 depth, parts)
    return NestTiling(ty, tx, _up(tx, f.pitch), tasks, parts, depth, cost, variant)


def _cost(f: Form, r: Rates, rows: int, cols: int, units: int, walks: int, cores: int,
          depth: int, parts: int) -> int:
    """Predicted 1/4096 cycles of the core with the most work."""
    shared = min(cores, units) * r.gm // 16
    load, store = max(r.load, shared), max(r.store, shared)
    calls = min(rows, _ceil(cols, LANES))
    pipes, moved = [0, (f.row_wise[0] + f.row_wise[1] * walks) * calls, 0], 0
    for at in range(9):
        head, row, column, element = f.lines[4 * at:4 * at + 4]
        amount = row * rows + column * cols + element * rows * cols
        times = (1, walks, parts)[at // 3]
        pipes[at % 3] += (head + amount * (load, 1, store)[at % 3]) * times
        moved += amount * times if at % 3 != 1 else 0
    most = _ceil(units, cores)
    overlap = depth > 1 and most * walks > 1
    # Loads and stores share global memory however well they overlap.
    unit = max(max(pipes), moved * shared) if overlap else sum(pipes)
    return most * unit + f.syncs * r.sync


def _ceil(a: int, b: int) -> int:
    return -(-a // b)


def _up(a: int, b: int) -> int:
    return _ceil(a, b) * b
