"""The tiling structure and the tiling function of a kernel as plain C++, for host and chip."""
from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Dict, List, Optional, Sequence, Tuple

from tf_autofuse.kernel.ir import Kernel, Program, StorePart, walk_steps
from tf_autofuse.kernel.nest import table_names
from tf_autofuse.loop.ir import PARTS, Param, Store
from tf_autofuse.loop.ops import item_bytes
from tf_autofuse.platforms import Platform, platform
from tf_autofuse.tiling import form as form_of
from tf_autofuse.tiling import partial_results, rates, solve
from tf_autofuse.tiling.cpp_text import SOLVER
from tf_autofuse.tiling.model import NestTiling

NEST_FIELDS = ("ty", "tx", "pitch", "tasks", "parts", "depth", "kept", "region", "at")
PART_BYTES = 4
"""Room for an element of a partial result in workspace."""


@dataclass(frozen=True)
class Tiling:
    """A launch: the tiling structure, blocks, tiling key, and bytes of user workspace."""

    data: bytes
    blocks: int
    key: int
    workspace_bytes: int


def tiling_fields(kernel: Kernel) -> Tuple[str, ...]:
    """Names of the int64 fields of the tiling structure, in order."""
    fields = ["key"] + ["n%d" % i for i in range(len(_axes(kernel)))]
    fields += table_fields(kernel)
    for number in range(max(len(form.variants) for form in kernel.forms)):
        fields += ["%s%d" % (word, number) for word in NEST_FIELDS]
    temps = max(len(form.loop.temps) for form in kernel.forms)
    return tuple(fields + ["temp%d" % number for number in range(temps)])


def _axes(kernel: Kernel) -> Tuple[str, ...]:
    """The axes of all forms: those with a size of their own, which they share, and PARTS."""
    return max((form.loop.axes for form in kernel.forms), key=len)


def table_fields(kernel: Kernel) -> List[str]:
    """Fields that the numbers of the run-time table go to, in their order."""
    return table_names(kernel.loop)


_NOTES = {
    "key": "variants of all nests", "ty": "rows of a tile", "tx": "columns of a tile",
    "pitch": "elements from row to row", "tasks": "tiles of kept axes",
    "parts": "cores that share a task", "depth": "buffers of a queue",
    "kept": "tiles that a core keeps in UB",
    "temp": "where values between stages begin in workspace",
    "region": "bytes of one partial result", "at": "where those begin in workspace",
}


def print_struct(kernel: Kernel, name: str) -> str:
    """The tiling structure: axis sizes, run-time strides, and per nest the tile."""
    lines = ["struct %s {" % name]
    sizes = {"n%d" % at: "size of axis " + axis for at, axis in enumerate(_axes(kernel))}
    for field in tiling_fields(kernel):
        note = sizes.get(field) or _NOTES.get(field.rstrip("0123456789"), "")
        lines.append("  int64_t %s;%s" % (field, "  // " + note if note else ""))
    return "\n".join(lines + ["};"]) + "\n"


def tiling(kernel: Kernel, sizes: Dict[str, int], strides: Optional[Sequence[int]],
           cores: int, variants: bool = True) -> Tiling:
    """The launch for these sizes on `cores` cores, with the best variant of each nest.

    Without `variants`: key 0, which needs no workspace. ScheduleError when nothing fits.
    """
    form = kernel.at(sizes) if variants else kernel
    tilings, blocks = solve(form, sizes, cores, variants)
    return packed(kernel, sizes, strides, tilings, blocks, kernel.forms.index(form))


def packed(kernel: Kernel, sizes: Dict[str, int], strides: Optional[Sequence[int]],
           tilings: Sequence[NestTiling], blocks: int, number: int = 0) -> Tiling:
    """The launch of form `number` with these tilings, one for each of its nests."""
    form, key, at = kernel.forms[number], 0, 0
    values: Dict[str, int] = {}
    for nest, (programs, t) in enumerate(zip(form.variants, tilings)):
        key = key * len(programs) + t.variant
        region = _region(t, programs[0].nest.kept, sizes)
        found = (t.ty, t.tx, t.pitch, t.tasks, t.parts, t.depth, t.kept, region, at)
        values.update(("%s%d" % (word, nest), n) for word, n in zip(NEST_FIELDS, found))
        at += region * partials(programs)
    sizes = dict(sizes, **{PARTS: partial_results(form, tilings, blocks)})
    values.update(("n%d" % place, sizes[axis]) for place, axis in enumerate(_axes(kernel)))
    values.update(zip(table_fields(kernel), strides or ()))
    for temp, (param, store) in enumerate(_temps(form)):
        values["temp%d" % temp] = at
        at += _rounded(item_bytes(param.dtype), [sizes[axis] for axis in store.axes])
    values["key"] = key = key + first_key(kernel, number)
    row = [values.get(field, 0) for field in tiling_fields(kernel)]
    return Tiling(struct.pack("<%dq" % len(row), *row), blocks, key, at)


def first_key(kernel: Kernel, number: int) -> int:
    """The first tiling key of form `number`."""
    first = 0
    for form in kernel.forms[:number]:
        count = 1
        for programs in form.variants:
            count *= len(programs)
        first += count
    return first


def _temps(kernel: Kernel) -> List[Tuple[Param, Store]]:
    """The temporaries of the kernel with their stores."""
    stores = {store.output - len(kernel.loop.outputs): store for store in kernel.loop.stores}
    return [(param, stores[number]) for number, param in enumerate(kernel.loop.temps)]


def _rounded(size: int, counts: Sequence[int]) -> int:
    for count in counts:
        size *= count
    return -(-size // 32) * 32


def partials(programs: Sequence[Program]) -> int:
    """Partial results that the programs of a nest keep in workspace."""
    return len({step.number for program in programs for step in walk_steps(program.steps)
                if isinstance(step, StorePart)})


def _region(t: NestTiling, kept: Sequence[str], sizes: Dict[str, int]) -> int:
    if t.parts < 2:
        return 0
    return _rounded(PART_BYTES * t.parts, [sizes[axis] for axis in kept])


def tiling_data(
    kernel: Kernel, sizes: Dict[str, int], strides: Optional[Sequence[int]], cores: int
) -> Tuple[bytes, int]:
    """The tiling structure for key 0, and the number of blocks to launch."""
    launch = tiling(kernel, sizes, strides, cores, variants=False)
    return launch.data, launch.blocks


def print_tiling(kernel: Kernel, name: str, function: str) -> str:
    """C++ of `int32_t function(sizes, strides, cores, name*, AutofuseLaunch*)`; 0 is success.

    It computes what `tiling` does; only <stdint.h> is needed.
    """
    chip = platform(kernel.platform)
    lines = ["#include <stdint.h>", "", print_struct(kernel, name), SOLVER]
    for number, form in enumerate(kernel.forms):
        lines += _tables(form, number, chip)
    r = rates(chip)
    lines += ["static const TilingRates kRates = {%d, %d, %d, %d, %d};" % (
        r.load, r.store, r.gm, r.l2, r.sync), ""]
    lines += ["int32_t %s(const int64_t* sizes, const int64_t* strides, int64_t cores, %s* t,"
              % (function, name), "    AutofuseLaunch* launch) {",
              "  *launch = AutofuseLaunch{1, 0, 0};"]
    if kernel.thin:  # no form fills all fields
        lines.append("  *t = %s{};" % name)
        lines += ["  t->n%d = 1;" % n for n, axis in enumerate(_axes(kernel)) if axis == PARTS]
    count = len(kernel.loop.sized_axes)
    lines += ["  t->n%d = sizes[%d];" % (i, i) for i in range(count)]
    lines += ["  t->%s = strides[%d];" % (field, i)
              for i, field in enumerate(table_fields(kernel))]
    for number in range(len(kernel.thin), 0, -1):
        test = " && ".join("%s == 1" % _size(kernel, a) for a in kernel.thin[number - 1].ones)
        lines.append("  if (%s) {" % test)
        lines += ["  " + line for line in _solved(kernel, number, chip)] + ["  }"]
    return "\n".join(lines + _solved(kernel, 0, chip) + ["}"]) + "\n"


def _tables(kernel: Kernel, number: int, chip: Platform) -> List[str]:
    """What the tilings of the programs of form `number`, `kernel`, depend on."""
    lines: List[str] = []
    for nest, programs in enumerate(kernel.variants):
        lines.append("static const TilingForm %s[] = {" % _table(number, nest))
        for program in programs:
            values = [str(v) for v in form_of(program, chip).values()]
            lines.append("    {  // " + program.variant)
            for begin, end in ((0, 15), (15, 27), (27, 39), (39, 51), (51, 63), (63, 75)):
                lines.append("        %s," % ", ".join(values[begin:end]))
            lines.append("    },")
        lines.append("};")
    return lines


def _table(number: int, nest: int) -> str:
    return "kThin%dForms%d" % (number, nest) if number else "kForms%d" % nest


def _solved(kernel: Kernel, number: int, chip: Platform) -> List[str]:
    """The launch of form `number`, to its end."""
    form = kernel.forms[number]
    lines: List[str] = []
    for nest in range(len(form.variants)):
        lines += _nest(form, nest, _table(number, nest), chip.ub_bytes)
    for temp, (param, store) in enumerate(_temps(form)):
        lines += ["  t->temp%d = launch->workspace_bytes;" % temp,
                  "  launch->workspace_bytes += tiling_up(%s, 32);" % " * ".join(
                      [_size(form, axis) for axis in store.axes] + [str(item_bytes(param.dtype))])]
    lines += ["  launch->key += %d;" % first_key(kernel, number)] * bool(number)
    return lines + ["  t->key = launch->key;", "  return 0;"]


def _nest(kernel: Kernel, number: int, table: str, ub: int) -> List[str]:
    programs = kernel.variants[number]
    program, nest = programs[0], programs[0].nest

    def product(names: Sequence[str]) -> str:
        return " * ".join(_size(kernel, a) for a in names) or "1"

    tile = (program.x, program.y)
    x, y = (_size(kernel, a) if a else "1" for a in tile)
    outer = product([a for a in nest.kept if a not in tile])
    around = product([a for a in nest.reduced if a not in tile])
    copies = ["    t->%s%d = best.%s;" % (field, number, field) for field in NEST_FIELDS[:7]]
    return [
        "  {",
        "    const TilingExtents n = {%s, %s, %s, %s};" % (x, y, outer, around),
        "    TilingChoice best = {};",
        "    if (!tiling_best(%s, %d, kRates, n, cores, %d, &best)) return 1;"
        % (table, len(programs), ub),
    ] + copies + [
        "    t->region%d = tiling_region(best.parts, %s);" % (number, product(nest.kept)),
        "    t->at%d = launch->workspace_bytes;" % number,
        "    tiling_add(launch, best, %d, t->region%d * %d, cores);"
        % (len(programs), number, partials(programs)),
    ] + ["    %s = tiling_groups(best.tasks, best.parts, cores);" % _size(kernel, PARTS)
         for _ in range(nest.crosses)] + ["  }"]


def _size(kernel: Kernel, axis: str) -> str:
    return "t->n%d" % kernel.loop.axes.index(axis)
