"""The predicted cost of a tile, from the cost lines of a program."""
from __future__ import annotations

from typing import Optional

from tf_autofuse.kernel.layout import PIECES, UNIT
from tf_autofuse.tiling.model import (
    IDLE_SHARE,
    LANES,
    PIECE_BLOCK,
    Extents,
    Form,
    NestTiling,
    Rates,
    ceil,
    up,
)


def priced(f: Form, n: Extents, cores: int, depth: int, ty: int, tx: int, parts: int, r: Rates,
            variant: int) -> Optional[NestTiling]:
    """The tiling with this tile and at most `parts` parts, with its cost."""
    walks = 1
    if not f.resident and not f.strips:
        walks = n.around * (1 if f.y_kept or not f.has_y else ceil(n.ny, ty))
        walks *= 1 if f.x_kept else ceil(n.nx, tx)
    if f.split and not f.strips:
        parts = min(parts, walks)
        if parts < 2:
            return None
    tasks = n.outer * (ceil(n.nx, tx) if f.x_kept else 1) * (ceil(n.ny, ty) if f.y_kept else 1)
    groups = groups_of(tasks, parts, cores) if f.partials else tasks
    most = ceil(groups * parts, cores) * ceil(tasks, max(1, groups))
    cost = _cost(f, r, min(ty, n.ny), min(tx, n.nx), min(cores, groups * parts), most,
                 ceil(walks, parts), depth, parts)
    # Partial results are written, and read by a later stage.
    cost += 2 * groups * n.nx * n.around * f.partials * r.l2 // 16
    # Bandwidth alone does not ask for all cores, other work of theirs does.
    cost += cost // max(1, IDLE_SHARE * most * cores) * (most * cores - tasks * parts)
    kept = ceil(tasks, groups) if f.strips else ceil(walks, parts)
    return NestTiling(ty, tx, up(tx, f.pitch), tasks, parts, depth, kept if f.keeps else 0, cost,
                      variant)


def groups_of(tasks: int, parts: int, cores: int) -> int:
    """Groups that the tasks of a nest with partial results over rows are dealt out to, each to
    `parts` cores."""
    return min(tasks, max(1, cores // parts))


def _cost(f: Form, r: Rates, rows: int, cols: int, busy: int, most: int, walks: int, depth: int,
          parts: int) -> int:
    """Predicted 1/4096 cycles of the core with the most tasks, `most`, while `busy` cores work."""
    shared = busy * r.gm // 16
    load, store = max(r.load, shared), max(r.store, shared)
    served = max(r.load, busy * r.l2 // 16)
    calls = min(rows, ceil(cols, LANES))
    piece = max(1, (rows if f.y_kept else 1) * (cols if f.x_kept else 1))
    at_once = (up(piece, UNIT) + PIECES) // up(piece, PIECE_BLOCK)
    pipes, moved = [0, (f.row_wise[0] + f.row_wise[1] * walks) * calls, 0], 0
    for at in range(12):
        head, row, column, element = f.lines[4 * at:4 * at + 4]
        amount = row * rows + column * cols + element * rows * cols
        scope, pipe = (at // 3, at % 3) if at < 9 else (at - 9, 0)
        times = (1, walks, parts)[scope]
        rate = (load, 1, store)[pipe] if at < 9 else served
        pipes[pipe] += head * (1, walks, ceil(parts, at_once))[scope] + amount * rate * times
        moved += amount * times if pipe != 1 and at < 9 else 0
    if f.keeps and (walks > 1 or f.strips):  # only the first walk loads while it computes
        unit = pipes[0] + max(pipes[1], pipes[2])
    elif not f.keeps and depth > 1 and most * walks > 1:
        # Loads and stores share global memory however well they overlap.
        unit = max(max(pipes), moved * shared)
    else:
        unit = sum(pipes)
    return most * unit + f.syncs * r.sync
