"""Tilings of nests with reductions over their kept axes in which groups of cores share rows."""
from __future__ import annotations

from typing import Optional

from tf_autofuse.kernel.layout import UNIT
from tf_autofuse.tiling.model import (
    KEPT_CUTS,
    MAX_ROWS,
    STRIP_TASKS,
    Extents,
    Form,
    NestTiling,
    Rates,
    ceil,
    fits_ub,
    most_rows,
    up,
    widest,
)
from tf_autofuse.tiling.price import groups_of, priced


def solve_strips(f: Form, n: Extents, cores: int, ub: int, r: Rates,
                 variant: int) -> Optional[NestTiling]:
    """The best tiling: rows in groups, columns in strips, a strip of a group for each core."""
    if n.nx == 0 or n.ny == 0 or n.outer == 0:
        return None
    best: Optional[NestTiling] = None
    for depth in (2, 1):
        top = widest(f, f.weights(depth, 1 if f.keeps else 0), n, 1, ub)
        for cut in KEPT_CUTS if top >= UNIT // 2 else ():
            tx = min(n.nx, top, up(ceil(n.nx, cut), UNIT // 2))
            parts = ceil(n.nx, tx)
            if parts < 2 or f.keeps and parts > cores:
                continue
            for tasks in STRIP_TASKS if f.keeps else (1,):
                ty = _rows(f, n, cores, ub, depth, tx, tasks)
                kept = ceil(n.outer * ceil(n.ny, ty), groups_of(n.outer * ceil(n.ny, ty), parts,
                                                                cores))
                if not fits_ub(f, f.weights(depth, kept if f.keeps else 0), ty, tx, ub):
                    continue
                found = priced(f, n, cores, depth, ty, tx, parts, r, variant)
                if found is not None and (best is None or found.cost < best.cost):
                    best = found
    return best


def _rows(f: Form, n: Extents, cores: int, ub: int, depth: int, tx: int, tasks: int) -> int:
    """Rows of a tile so that each group has `tasks` of them, or as few as UB allows."""
    groups = max(1, cores // ceil(n.nx, tx))
    if not f.keeps:
        most = n.outer * ceil(n.ny, most_rows(f, f.weights(depth), n, 1, tx, ub))
        tasks = max(tasks, ceil(most, groups))
    return min(MAX_ROWS, ceil(n.ny, max(1, groups * tasks // n.outer)))
