"""Which tasks one core has to run, on chips whose short rows are written by the scalar unit."""
from __future__ import annotations

from typing import Any, List, Sequence, Tuple

from tf_autofuse.kernel.ir import CopyOut, Program, walk_steps
from tf_autofuse.kernel.layout import task_order
from tf_autofuse.kernel.vector import ITEM_BYTES

LINE_BYTES = 64
"""A line of the scalar unit's cache: two cores that write to one of them overwrite each other."""


def group_lines(printer: Any) -> List[str]:
    """C++ that sets `group`, the number of tasks that must run on one core, from 1 on.

    Lines of the cache are shared only by tasks of a group where a store may be shorter than a
    block; else tasks are apart anyway.
    """
    program: Program = printer.program
    stores = [step for step in walk_steps(program.steps) if isinstance(step, CopyOut)]
    lines: List[str] = []
    for step in stores:
        condition, group = _few(printer, step), _group(printer, program, step)
        if group:
            printer.helper("TaskGroup")
            line = "%sgroup = %s;" % ("if (%s) " % condition if condition else "", group)
            lines += [line] if line not in lines else []
    return lines


def _few(printer: Any, step: CopyOut) -> str:
    """C++ for whether some row of the store has less than a block; empty if that is plain."""
    buffer = printer.buffer(step.src)
    axis = {"y": printer.program.y, "1": None}.get(buffer.shape, printer.program.x)
    if axis is None:
        return ""
    return "HasFew(%s, %s, %d)" % (printer.size(axis), printer.step(axis),
                                   printer.chip.block_bytes // ITEM_BYTES[buffer.dtype])


def _group(printer: Any, program: Program, step: CopyOut) -> str:
    """C++ for the tasks whose output fills whole lines; empty when there is one task only."""
    order, across = task_order(program), "1"
    if not order:
        return ""
    if program.x in order and program.y in order:
        if order[-1] != program.x:
            return "tasks + 1"
        order, across = order[:-1], printer.tiles(program.x)
    if step.axes[:len(order)] != order:
        return "tasks + 1"
    line = LINE_BYTES // ITEM_BYTES[printer.buffer(step.src).dtype]
    count = _lines_of(printer, line, order, step.axes[len(order):])
    return "TaskGroup(group, %s)" % (count if across == "1" else "%s * %s" % (across, count))


def _lines_of(printer: Any, line: int, order: Tuple[str, ...], rest: Sequence[str]) -> str:
    axis = order[-1]
    size, tile, inner = printer.size(axis), printer.step(axis), printer.sizes(rest)
    whole = "LinesOf(%d, %s * %s)" % (line, tile, inner)
    if len(order) == 1 or tile == "1":
        return whole
    ragged = "%s * LinesOf(%d, %s * %s)" % (printer.tiles(axis), line, size, inner)
    return "(%s %% %s == 0 ? %s : %s)" % (size, tile, whole, ragged)
