"""Values that tasks of a core, or tiles of a walk, have in common: held between them."""
from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence, Set, Tuple

from tf_autofuse.kernel.ir import SPLIT_VARIANTS, Loop, Step
from tf_autofuse.kernel.nest import Nest
from tf_autofuse.loop.ir import Load, LoopKernel, Map, Value

MAX_HELD = 3
"""Held scopes in a program: each takes a queue, and queues take events. So do partial results of
parts, which take the place of one."""


class Holding:
    """The held scopes of the program that a builder makes."""

    def __init__(self, builder: Any) -> None:
        self.builder = builder
        self.tasks: Dict[Tuple[str, ...], List[Step]] = {}
        self.steady = steady_axes(builder.loop, builder.nest)
        self.rows: List[Step] = []
        self.held: Set[str] = set()
        self.walks = 0

    def scope(self, value: Value) -> List[Step]:
        """The scope to compute `value` in: a held one if other tasks or tiles share it."""
        b, nest = self.builder, self.builder.nest
        if value.name in b.after_reduce:
            return b.scope
        if b.variant != "resident" and set(value.axes) & set(nest.reduced):
            return self.rows if self._is_steady(value) else b.scope
        axes = tuple(axis for axis in value.axes if axis in nest.kept)
        if b.variant in SPLIT_VARIANTS:  # a core has few tasks
            return b.scope
        if set(axes) == set(nest.kept) or b.y in axes:
            return b.scope
        if axes not in self.tasks and not self._room():
            return b.scope
        return self.tasks.setdefault(axes, [])

    def of_tasks(self) -> List[Loop]:
        """What tasks of a core have in common, few axes first."""
        return [Loop("hold", axes, tuple(steps))
                for axes, steps in sorted(self.tasks.items(), key=lambda item: len(item[0]))]

    def walk(self, body: Sequence[Step]) -> Loop:
        """A walk, along the axes of what its tiles have in common in the outer loops: rows that
        every row of tiles needs come from memory once."""
        axes = self.builder.nest.reduced
        axes = self.steady + tuple(axis for axis in axes if axis not in self.steady)
        holds: Tuple[Step, ...] = ()
        if self.rows:
            holds, self.walks = (Loop("hold", self.steady, tuple(self.rows)),), self.walks + 1
        self.rows, self.held = [], set()
        return Loop("walk", axes, holds + tuple(body))

    def _room(self) -> bool:
        held = len(self.tasks) + self.walks + bool(self.rows)
        return held + (self.builder.variant in SPLIT_VARIANTS) < MAX_HELD

    def _is_steady(self, value: Value) -> bool:
        b = self.builder
        walked = tuple(axis for axis in b.nest.reduced if axis in value.axes)
        if not self.steady or walked != self.steady or not (self.rows or self._room()):
            return False
        if isinstance(value, Load):
            fits = value.name not in b.kept_loads
        else:
            fits = isinstance(value, Map) and all(
                name in self.held or not set(b.by_name[name].axes) & set(walked)
                for name in value.operands)
        if fits:
            self.held.add(value.name)
        return fits


def steady_axes(loop: LoopKernel, nest: Nest) -> Tuple[str, ...]:
    """The walked axes of operands that all rows of a tile, which are walked too, have in common."""
    y: Optional[str] = nest.axes[-2] if len(nest.axes) > 1 else None
    if y not in nest.reduced or nest.crosses:
        return ()
    for value in loop.body:
        walked = tuple(axis for axis in nest.reduced if axis in value.axes)
        if isinstance(value, Load) and walked and y not in value.axes:
            return walked
    return ()
