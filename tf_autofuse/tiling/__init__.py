"""Variant, tile sizes and block count of each nest, from axis sizes, core count and UB bytes.

`solve` is the Python mirror of the C++ that `tiling.cpp` prints: both run the same steps on the
same integers. Among the tiles that fit UB, those that give every core the same work and cost the
fewest cycles win; the variants of a nest compete by the same cost.
"""
from __future__ import annotations

from typing import Dict, List, Optional, Sequence, Tuple

from tf_autofuse.errors import ScheduleError
from tf_autofuse.kernel.ir import (
    SPLIT_VARIANTS,
    CopyIn,
    CopyOut,
    Kernel,
    Program,
    Step,
    Sync,
    walk_steps,
)
from tf_autofuse.kernel.layout import UNIT, layout
from tf_autofuse.kernel.vector import ITEM_BYTES
from tf_autofuse.loop.ir import PARTS
from tf_autofuse.platforms import Platform, platform
from tf_autofuse.tiling.cost import FINE, costs
from tf_autofuse.tiling.kept import solve_kept
from tf_autofuse.tiling.model import (
    CUTS,
    FOLD_COLUMNS,
    MAX_ROWS,
    ROW_CUTS,
    SPLIT_WAVES,
    WAITING,
    Extents,
    Form,
    NestTiling,
    Rates,
    ceil,
    longest,
    most_rows,
    up,
    widest,
)
from tf_autofuse.tiling.price import groups_of, priced
from tf_autofuse.tiling.strips import solve_strips


def rates(chip: Platform) -> Rates:
    """Copy rates (1/4096 cycles per byte) and the price of a SyncAll."""
    return Rates(round(FINE / chip.load.rate), round(FINE / chip.store.rate),
                 round(16 * FINE / chip.gm_rate), round(16 * FINE / chip.l2_rate),
                 round(chip.sync_cycles * FINE))


def form(program: Program, chip: Platform) -> Form:
    """The constraint and the cost of `program`."""
    place = layout(program)
    once, twice = place.total(0).parts(), place.total(1).parts()
    steps = list(walk_steps(program.steps))
    smallest = min([ITEM_BYTES[b.dtype] for b in program.buffers if b.dtype != "mask"] or [4])
    cost = costs(program, chip)
    groups = cost.task + cost.walk + cost.gather + cost.served
    lines = [n for line in groups for n in line.values()]
    nest = program.nest
    loads = [(step.input, step.dims) for step in steps
             if isinstance(step, CopyIn) and set(step.axes).issuperset(nest.axes)]
    return Form(
        once, tuple(b - a for a, b in zip(once, twice)), place.kept.parts(),
        chip.block_bytes // min(smallest, 4),
        program.y is not None, program.y in nest.kept, program.x in nest.kept,
        program.variant == "resident", program.variant in SPLIT_VARIANTS,
        nest.crosses and program.variant == "stream",
        sum(isinstance(s, Sync) for s in steps), max([loads.count(load) for load in loads] + [0]),
        sum(_partials(program, steps).values()), cost.row_wise, tuple(lines))


def _partials(program: Program, steps: Sequence[Step]) -> Dict[int, int]:
    """Bytes per column of each partial result of reductions over kept axes, by output."""
    return {step.output: ITEM_BYTES[program.buffer(step.src).dtype] for step in steps
            if isinstance(step, CopyOut) and PARTS in step.axes}


def fits(program: Program, chip: Platform) -> bool:
    """Whether a tile of one short row fits UB."""
    f = form(program, chip)
    return longest(f.weights(1, 1), 1, chip.ub_bytes) >= UNIT


def check_fits(kernel: Kernel) -> None:
    """ScheduleError when not even one short row fits UB by the first program of some nest, which
    runs for all sizes."""
    chip = platform(kernel.platform)
    for programs in kernel.variants:
        if not fits(programs[0], chip):
            raise ScheduleError("the buffers of one short row need more than the %d bytes of UB"
                                % chip.ub_bytes, stage="schedule")


def solve(kernel: Kernel, sizes: Dict[str, int], cores: int,
          variants: bool = True) -> Tuple[List[NestTiling], int]:
    """Tiling of every nest and the number of blocks to launch.

    Without `variants` each nest takes its first program.
    """
    chip = platform(kernel.platform)
    tilings: List[NestTiling] = []
    sizes = dict(sizes, **{PARTS: 1})
    for programs in kernel.variants:
        found: List[Tuple[Form, NestTiling]] = []
        for number, program in enumerate(programs if variants else programs[:1]):
            f = form(program, chip)
            solver = solve_strips if f.strips else solve_kept if f.keeps else solve_form
            one = solver(f, extents(program, sizes), cores, chip.ub_bytes, rates(chip), number)
            found += [(f, one)] if one is not None else []
        if not found:
            raise ScheduleError("no tile of nest %d fits UB" % programs[0].number, stage="tiling")
        best = _chosen(found)
        tilings.append(best)
        if programs[0].nest.crosses:
            sizes[PARTS] = groups_of(best.tasks, best.parts, cores)
    return tilings, max([1] + [min(cores, t.tasks * t.parts) for t in tilings])


def _chosen(found: Sequence[Tuple[Form, NestTiling]]) -> NestTiling:
    """The tiling to take, of programs with one."""
    # To read inputs once is worth more than the model knows: others read them, too.
    f, best = min(found, key=lambda item: (item[0].reads, item[1].cost))
    cheapest = min((t for _, t in found), key=lambda t: t.cost)
    # But where only cores that share tasks can, they wait for each other once more for it.
    alone = any(g.reads == f.reads and not g.split for g, _ in found)
    return cheapest if not alone and WAITING * cheapest.cost < 2 * best.cost else best


def partial_results(kernel: Kernel, tilings: Sequence[NestTiling], blocks: int) -> int:
    """The size of PARTS: groups of the rows of a nest whose reductions cross them."""
    return next((groups_of(t.tasks, t.parts, blocks) for t, nest in zip(tilings, kernel.nests)
                 if nest.crosses), 1)


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
        longest = widest(f, w, n, rows, ub) if rows <= MAX_ROWS else 0
        if f.has_y and not f.y_kept and f.x_kept:
            column = widest(f, w, n, n.ny, ub) if n.ny <= MAX_ROWS else 0
            longest = max(min(longest, FOLD_COLUMNS), column)
        if f.crosses:
            longest = min(longest, FOLD_COLUMNS)
        whole = f.resident and not f.x_kept
        if longest < (n.nx if whole else min(UNIT, n.nx)):
            continue
        best: Optional[NestTiling] = None
        cuts = CUTS - 1 if f.y_kept and not (f.resident or f.split) else 1
        for cut in range(CUTS if f.x_kept else cuts):
            tx = _width(f, n, cores, min(n.nx, longest), cut, most_rows(f, w, n, rows, longest, ub))
            ty = most_rows(f, w, n, rows, tx, ub)
            found = _balance(f, n, cores, depth, ty, tx, r, variant)
            if found is not None and (best is None or found.cost < best.cost):
                best = found
        if best is not None:
            return best
    return None


def _width(f: Form, n: Extents, cores: int, top: int, cut: int, ty: int) -> int:
    """Columns of candidate `cut`: `top`, or the axis in more, equal cuts."""
    top = max(1, top)
    count, unit = ceil(n.nx, top) + cut, UNIT
    if cut == 0:
        return top
    if cut == CUTS - 1:
        lines = max(1, n.outer * (ceil(n.ny, ty) if f.y_kept else 1))
        waves = ceil(lines * ceil(n.nx, top), cores)
        count, unit = max(1, ceil(n.nx, top), waves * cores // lines), UNIT // 2
    return max(1, min(top, up(ceil(n.nx, count), unit)))


def _balance(f: Form, n: Extents, cores: int, depth: int, ty: int, tx: int, r: Rates,
             variant: int) -> Optional[NestTiling]:
    """Fewer rows where that evens out the work of the cores; for a split, the parts."""
    across = ceil(n.nx, tx) if f.x_kept else 1
    lines = max(1, n.outer * across)
    tasks = max(1, n.outer * across * (ceil(n.ny, ty) if f.y_kept else 1))
    best: Optional[NestTiling] = None
    cuts = ROW_CUTS if f.y_kept and f.has_y else (1,)
    if not f.split:
        rows = ty
        if f.y_kept:
            allowed = max(1, ceil(tasks, cores) * cores // lines)
            rows = max(1, min(ty, ceil(n.ny, allowed)))
        for times in cuts if f.partials else (1,):
            found = priced(f, n, cores, depth, min(ty, rows * times), tx, 1, r, variant)
            if found is not None and (best is None or found.cost < best.cost):
                best = found
        return best
    for cut in cuts:
        top = min(ty, ceil(n.ny, cut)) if f.y_kept else ty
        for waves in SPLIT_WAVES:
            found = _shared(f, n, cores, depth, max(1, top), tx, waves, r, variant)
            if found is not None and (best is None or found.cost + found.cost // 32 < best.cost):
                best = found
    return best


def _shared(f: Form, n: Extents, cores: int, depth: int, ty: int, tx: int, waves: int, r: Rates,
            variant: int) -> Optional[NestTiling]:
    """Cores that share tasks, each with `waves` parts."""
    across = ceil(n.nx, tx) if f.x_kept else 1
    parts = waves * cores // max(1, n.outer * across * (ceil(n.ny, ty) if f.y_kept else 1))
    if parts < 2:
        return None
    if f.has_y and not f.y_kept:
        each = max(1, ceil(n.around * ceil(n.ny, ty), parts))
        ty = max(1, min(ty, ceil(n.ny * n.around, parts * each)))
    elif not f.x_kept:
        each = max(1, ceil(n.around * ceil(n.nx, tx), parts))
        tx = max(1, min(tx, up(ceil(n.nx * n.around, parts * each), UNIT)))
    return priced(f, n, cores, depth, ty, tx, parts, r, variant)
