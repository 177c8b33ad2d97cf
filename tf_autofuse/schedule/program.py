"""The vector programs of a loop nest, one for each variant."""
from __future__ import annotations

from typing import FrozenSet, Tuple

from tf_autofuse.kernel.ir import SPLIT_VARIANTS, Program
from tf_autofuse.kernel.nest import Nest
from tf_autofuse.loop.ir import PARTS, LoopKernel
from tf_autofuse.schedule.builder import Builder
from tf_autofuse.schedule.slots import assign_slots, numbered
from tf_autofuse.schedule.split import SplitBuilder, StripBuilder


def build_program(loop: LoopKernel, nest: Nest, number: int, variant: str,
                  lacks: FrozenSet[str] = frozenset()) -> Program:
    """A program of nest `number` without the instructions `lacks`, as far as others can stand in.

    ScheduleError when the vector core cannot run it.
    """
    shares = StripBuilder if nest.crosses else SplitBuilder
    kind = shares if variant in SPLIT_VARIANTS else Builder
    builder = kind(loop, nest, number, variant, lacks)
    steps = builder.build()
    buffers, steps = numbered(number, assign_slots(builder.buffers, steps), steps)
    return Program(nest, number, _template(nest), variant, builder.y, builder.x, buffers, steps)


def variants_of(nest: Nest, sync: bool) -> Tuple[str, ...]:
    """The variants worth having for a nest; `sync`: the cores of the chip can wait for others."""
    found = ["stream"]
    rows = len(nest.reduced) == 1 and nest.reduced[0] in nest.axes[-2:]
    plain = not any(step.reduces for step in nest.passes)
    if rows and (len(nest.passes) > 1 or nest.crosses or plain):
        found.append("resident")
    if PARTS in nest.axes:  # partial results are few
        return tuple(found)
    if nest.crosses:
        return tuple(found) + (("split", "shared") if nest.reduced == (nest.inner,) else ())
    if nest.reduced and sync:
        found.append("split")
    if len(nest.passes) > 1:
        found.append("kept")
        found += ["shared"] if sync else []
    return tuple(found)


def _template(nest: Nest) -> str:
    if not nest.reduced:
        return "pointwise"
    kinds = "".join("r" if axis in nest.reduced else "a" for axis in nest.axes)
    return kinds if nest.kept else "full"
