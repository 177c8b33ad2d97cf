"""The tiling structure and the tiling function of a kernel as plain C++, for host and chip."""
from __future__ import annotations

import struct
from typing import Dict, List, Optional, Sequence, Tuple

from tf_autofuse.kernel.ir import Kernel
from tf_autofuse.kernel.nest import runtime_inputs
from tf_autofuse.platforms import platform
from tf_autofuse.tiling import MAX_ROW_PITCH, MAX_ROWS, UNIT, coefficients, program_ub, solve


def tiling_fields(kernel: Kernel) -> Tuple[str, ...]:
    """Names of the int64 fields of the tiling structure, in order."""
    axes = range(len(kernel.loop.axes))
    fields = ["n%d" % i for i in axes]
    fields += ["s%d_%d" % (number, i) for number in runtime_inputs(kernel.loop) for i in axes]
    for number in range(len(kernel.programs)):
        fields += ["%s%d" % (word, number) for word in ("ty", "tx", "pitch", "tasks")]
    return tuple(fields)


def print_struct(kernel: Kernel, name: str) -> str:
    """The tiling structure: axis sizes, run-time strides, and per nest the tile."""
    lines = ["struct %s {" % name]
    lines += ["  int64_t %s;" % field for field in tiling_fields(kernel)]
    return "\n".join(lines + ["};"]) + "\n"


def tiling_data(
    kernel: Kernel, sizes: Dict[str, int], strides: Optional[Sequence[int]], cores: int
) -> Tuple[bytes, int]:
    """The tiling structure filled for these sizes, and the number of blocks to launch."""
    tilings, blocks = solve(kernel, sizes, cores)
    values = [sizes[axis] for axis in kernel.loop.axes] + list(strides or ())
    for tiling in tilings:
        values += [tiling.ty, tiling.tx, tiling.pitch, tiling.tasks]
    return struct.pack("<%dq" % len(values), *values), blocks


_FUNCTIONS = """\
static inline int64_t tile_ceil(int64_t a, int64_t b) { return (a + b - 1) / b; }
static inline int64_t tile_up(int64_t a, int64_t b) { return tile_ceil(a, b) * b; }
static inline int64_t tile_min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t tile_max(int64_t a, int64_t b) { return a < b ? b : a; }
"""


def print_tiling(kernel: Kernel, name: str, function: str) -> str:
    """C++ of `int32_t function(sizes, strides, cores, name*, int64_t* blocks)`; 0 is success.

    It computes what `tiling.solve` does; only <stdint.h> is needed.
    """
    lines = ["#include <stdint.h>", "", print_struct(kernel, name), _FUNCTIONS]
    lines += ["int32_t %s(const int64_t* sizes, const int64_t* strides, int64_t cores, %s* t,"
              % (function, name), "    int64_t* blocks) {", "  *blocks = 1;"]
    count = len(kernel.loop.axes)
    lines += ["  t->n%d = sizes[%d];" % (i, i) for i in range(count)]
    fields = [f for f in tiling_fields(kernel) if f.startswith("s")]
    lines += ["  t->%s = strides[%d];" % (field, i) for i, field in enumerate(fields)]
    for number in range(len(kernel.programs)):
        lines += _solve(kernel, number)
    return "\n".join(lines + ["  return 0;", "}"]) + "\n"


def _solve(kernel: Kernel, number: int) -> List[str]:
    program, c = kernel.programs[number], coefficients(kernel.programs[number])
    axes = kernel.loop.axes
    nx, ny = (str("t->n%d" % axes.index(a)) if a else "1" for a in (program.x, program.y))
    outer = [a for a in program.nest.kept if a not in (program.x, program.y)]
    room = program_ub(kernel, platform(kernel.platform)) - c.fixed
    rows_kept = "tile_ceil(ny, ty)" if c.y_kept else "1"
    lines = [
        "  {",
        "    const int64_t nx = %s, ny = %s;" % (nx, ny),
        "    const int64_t outer = %s;" % (
            " * ".join("t->n%d" % axes.index(a) for a in outer) or "1"),
        "    int64_t tx = tile_max(1, tile_min(nx, %d));"
        % ((room - c.y) // max(1, c.yx + c.x) // UNIT * UNIT),
        "    int64_t ty = 1;",
    ]
    if c.has_y:
        reach = " && tile_up(tx, %d) <= %d" % (c.pitch, MAX_ROW_PITCH) if c.row_wise else ""
        lines += [
            "    if (tx >= nx%s) {" % reach,
            "      const int64_t pitch = tile_up(tx, %d);" % c.pitch,
            "      const int64_t rows = (%d - %d * pitch) / (%d * pitch + %d);"
            % (room, c.x, c.yx, c.y),
            "      ty = tile_max(1, tile_min(tile_min(ny, rows), %d));" % MAX_ROWS,
            "    }",
        ]
    if c.y_kept:
        lines.append("    ty = tile_max(1, tile_min(ty, tile_ceil(outer * ny, cores)));")
    if c.x_kept:
        lines += [
            "    if (outer * %s < cores) {" % rows_kept,
            "      const int64_t share = tile_up(tile_ceil(outer * %s * nx, cores), %d);"
            % ("ny" if c.y_kept else "1", UNIT),
            "      tx = tile_min(tx, tile_max(%d, share));" % UNIT,
            "    }",
        ]
    tasks = ["outer"] + ([rows_kept] if c.y_kept else [])
    tasks += ["tile_ceil(nx, tx)"] if c.x_kept else []
    lines += ["    t->ty%d = ty;" % number, "    t->tx%d = tx;" % number,
              "    t->pitch%d = tile_up(tx, %d);" % (number, c.pitch),
              "    t->tasks%d = %s;" % (number, " * ".join(tasks)),
              "    *blocks = tile_max(*blocks, tile_min(cores, t->tasks%d));" % number, "  }"]
    return lines
