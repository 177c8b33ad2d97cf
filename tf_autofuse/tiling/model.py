"""What the tiling of a nest is found from, and what it is: forms, rates, extents, tilings."""
from __future__ import annotations

from dataclasses import dataclass
from typing import List, Tuple

from tf_autofuse.kernel.layout import LANE_BYTES, UNIT

MAX_ROWS = 4095
LANES = 64
"""Elements of a vector register that the cost of row-wise calls reckons with."""

PIECE_BLOCK = 8
"""Elements of a block of partial results that the cost of gathering them reckons with."""

FOLD_COLUMNS = 1024
"""Widest tile of a column reduction: the tile must have rows enough to fold them by halves."""

IDLE_SHARE = 2
"""One in so many parts of the time of idle cores counts as cost."""

WAITING = 3
"""Halves of the cost of another program that one may cost in which only cores that share a task
read it once."""

NARROW = (UNIT // 2, UNIT // 4)
"""Columns of tiles that stay in UB where wider ones do not fit."""

KEPT_CUTS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
"""Numbers of tiles along a walked axis that are tried where tiles stay in UB."""

STRIP_TASKS = (1, 2, 4, 8)
"""Tiles of a group of rows that are tried where a core keeps them."""

ROW_CUTS = (1, 2, 4, 8, 16)
"""Numbers of tasks along the kept axis of a tile that are tried for a split, and multiples of the
rows of a core where more of them leave fewer partial results."""

CUTS = 5
"""Tile widths tried: the widest, up to three more cuts, and one that fills the cores."""

SPLIT_WAVES = (4, 2, 1)
"""Shares of a split per core that are tried. More of them leave less idle time, so that fewer must
be cheaper by a thirty-second part."""


@dataclass(frozen=True)
class Form:
    """What the tiling of one program depends on.

    `once`, `double` and `kept` are UB bits per element of a tile, a row and a column, registers per
    row and bytes: of everything that is there once, of the buffers of which there are `depth`, and
    of those of which there is one for each tile that a core keeps. `reads` is how often an input
    is read at most.
    """

    once: Tuple[int, ...]
    double: Tuple[int, ...]
    kept: Tuple[int, ...]
    pitch: int
    has_y: bool
    y_kept: bool
    x_kept: bool
    resident: bool
    split: bool
    crosses: bool
    syncs: int
    reads: int
    partials: int
    row_wise: Tuple[int, int]
    lines: Tuple[int, ...]

    @property
    def strips(self) -> bool:
        """Whether groups of cores share the rows of a nest with partial results over rows."""
        return self.split and self.partials > 0

    @property
    def keeps(self) -> bool:
        """Whether there are KEPT buffers."""
        return any(self.kept)

    def weights(self, depth: int, kept: int = 0) -> Tuple[int, ...]:
        """UB weights with `depth` buffers in each double queue and `kept` tiles that stay."""
        return tuple(a + depth * b + kept * c
                     for a, b, c in zip(self.once, self.double, self.kept))

    def values(self) -> List[int]:
        """All fields as integers, in the order of the C++ structure."""
        flags = (self.has_y, self.y_kept, self.x_kept, self.resident, self.split,
                 self.crosses)
        return (list(self.once) + list(self.double) + list(self.kept) + [self.pitch]
                + [int(f) for f in flags] + [self.syncs, self.reads, self.partials]
                + list(self.row_wise) + list(self.lines))


@dataclass(frozen=True)
class Rates:
    """The chip in the units of the cost: cycles of 1/4096, `gm` and `l2` 16 for each core that
    reads."""

    load: int
    store: int
    gm: int
    l2: int
    sync: int


@dataclass(frozen=True)
class NestTiling:
    """Rows and columns of a tile, elements from row to row, the number of tasks and of parts that
    share a task, buffers per double queue, tiles that a core keeps, and the predicted cost in
    1/4096 cycles."""

    ty: int
    tx: int
    pitch: int
    tasks: int
    parts: int
    depth: int
    kept: int
    cost: int
    variant: int = 0


@dataclass(frozen=True)
class Extents:
    """Sizes of a nest: tile axes, the other kept axes and the other reduced axes."""

    nx: int
    ny: int
    outer: int
    around: int


def longest(w: Tuple[int, ...], rows: int, ub: int) -> int:
    """Columns of the widest tile with `rows` rows, a multiple of UNIT; 0 for none."""
    room = (ub - w[4]) * 8 - w[2] * (rows + UNIT - 1) - w[3] * rows * LANE_BYTES * 8
    return max(0, room) // max(1, w[0] * rows + w[1]) // UNIT * UNIT


def widest(f: Form, w: Tuple[int, ...], n: Extents, rows: int, ub: int) -> int:
    """Columns of the widest tile with `rows` rows: the whole axis if it fits."""
    return max(n.nx if fits_ub(f, w, rows, n.nx, ub) else 0, longest(w, rows, ub))


def fits_ub(f: Form, w: Tuple[int, ...], rows: int, cols: int, ub: int) -> bool:
    """Whether a tile fits UB."""
    pitch = up(cols, f.pitch)
    bits = w[0] * up(rows * pitch, UNIT) + w[1] * up(pitch, UNIT) + w[2] * up(rows, UNIT)
    return bits + w[3] * rows * LANE_BYTES * 8 <= (ub - w[4]) * 8


def most_rows(f: Form, w: Tuple[int, ...], n: Extents, least: int, tx: int, ub: int) -> int:
    """Most rows of `tx` columns that fit UB."""
    pitch = up(tx, f.pitch)
    if least > 1 or not f.has_y:
        return least
    room = (ub - w[4]) * 8 - w[1] * up(pitch, UNIT) - (w[0] + w[2]) * (UNIT - 1)
    rows = room // max(1, w[0] * pitch + w[2] + w[3] * LANE_BYTES * 8)
    return max(1, min(n.ny, rows, MAX_ROWS))


def ceil(a: int, b: int) -> int:
    return -(-a // b)


def up(a: int, b: int) -> int:
    return ceil(a, b) * b
