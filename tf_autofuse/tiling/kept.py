"""Tilings of programs that keep tiles in UB."""
from __future__ import annotations

from typing import Optional, Tuple

from tf_autofuse.kernel.layout import UNIT
from tf_autofuse.tiling.model import (
    FOLD_COLUMNS,
    KEPT_CUTS,
    MAX_ROWS,
    NARROW,
    Extents,
    Form,
    NestTiling,
    Rates,
    ceil,
    fits_ub,
    longest,
    most_rows,
    up,
)
from tf_autofuse.tiling.price import priced


def solve_kept(f: Form, n: Extents, cores: int, ub: int, r: Rates,
               variant: int) -> Optional[NestTiling]:
    """The best tiling of a program that keeps tiles in UB: the walk is cut into equal tiles."""
    best: Optional[NestTiling] = None
    if n.nx == 0 or n.ny == 0 or n.around == 0:
        return None
    for depth in (2, 1):
        for cut in KEPT_CUTS:
            found = _kept_tile(f, n, cores, ub, depth, cut, r, variant)
            if found is not None and (best is None or found.cost < best.cost):
                best = found
        if best is not None:
            return best
    return None


def _kept_tile(f: Form, n: Extents, cores: int, ub: int, depth: int, cut: int, r: Rates,
               variant: int) -> Optional[NestTiling]:
    """The tiling with `cut` tiles along the walked tile axis."""
    y_walked = f.has_y and not f.y_kept
    ty, tx = 1, n.nx
    if y_walked:
        ty = min(MAX_ROWS, ceil(n.ny, cut))
    elif not f.x_kept:
        tx = min(n.nx, up(ceil(n.nx, cut), UNIT))
    walks = n.around * (ceil(n.ny, ty) if y_walked else 1) * (1 if f.x_kept else ceil(n.nx, tx))
    parts = kept = 1
    for _ in range(2):
        tasks = n.outer * (ceil(n.nx, tx) if f.x_kept else 1) * (n.ny if f.y_kept else 1)
        parts = min(cores // max(1, tasks), walks) if f.split else 1
        if parts < (2 if f.split else 1):
            return None
        kept = ceil(walks, parts)
        if f.x_kept and y_walked:
            tx = min(tx, FOLD_COLUMNS)
        if not fits_ub(f, f.weights(depth, kept), ty, tx, ub):
            tx = _narrow(f, f.weights(depth, kept), ty, ub) if f.x_kept else 0
            if tx == 0:
                return None
    if not fits_ub(f, f.weights(depth, ceil(walks, parts)), ty, tx, ub):
        return None
    if not f.split:
        ty, tx = _spread(f, n, cores, ub, depth, kept, ty, tx)
    return priced(f, n, cores, depth, ty, tx, parts, r, variant)


def _narrow(f: Form, w: Tuple[int, ...], ty: int, ub: int) -> int:
    """Columns of a tile that is cut along its kept axis; 0 when not even a narrow one fits."""
    most = longest(w, ty, ub)
    if most >= UNIT:
        return most
    for tx in NARROW:
        if fits_ub(f, w, ty, tx, ub):
            return tx
    return 0


def _spread(f: Form, n: Extents, cores: int, ub: int, depth: int, kept: int, ty: int,
            tx: int) -> Tuple[int, int]:
    """The kept axis of the tile cut so that all cores have work."""
    if f.y_kept and f.has_y:
        across = ceil(n.nx, tx) if f.x_kept else 1
        ty = most_rows(f, f.weights(depth, kept), n, 1, tx, ub)
        lines = max(1, n.outer * across)
        allowed = max(1, ceil(lines * ceil(n.ny, ty), cores) * cores // lines)
        return max(1, min(ty, ceil(n.ny, allowed))), tx
    if f.x_kept:
        lines = max(1, n.outer)
        count = max(ceil(n.nx, tx), ceil(lines * ceil(n.nx, tx), cores) * cores // lines)
        tx = max(1, min(tx, up(ceil(n.nx, count), UNIT // 2)))
    return ty, tx
