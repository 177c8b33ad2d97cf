"""Programs in which several cores share the walk of one task.

Each pass is a phase: every part walks over its share and stores a partial result in workspace.
After all cores have met, the next phase combines the parts and goes on; a last one writes what is
known when the walks have ended.
"""
from __future__ import annotations

from typing import List, Sequence, Tuple

from tf_autofuse.errors import ScheduleError
from tf_autofuse.kernel.ir import Accumulate, Compute, LoadPart, Loop, Step, StorePart, Sync
from tf_autofuse.kernel.nest import needed
from tf_autofuse.loop.ir import Value
from tf_autofuse.schedule.builder import Builder, reduce_step


class SplitBuilder(Builder):
    """Steps of the variant `split`. Nothing is held: a core has few tasks."""

    def hold(self, value: Value) -> List[Step]:
        return self.scope

    def build(self) -> Tuple[Step, ...]:
        steps: List[Step] = []
        for step in self.nest.passes:
            self._restart()
            self._gather(self.targets(step))
            for name, acc in self.walk(step).items():
                self._store_part(self.by_name[name], self.whole(self.by_name[name], acc))
            steps.append(Loop("split", self.nest.kept, tuple(self.scope)))
            if step.reduces:
                steps.append(Sync())
        after = [number for step in self.nest.passes for number in step.after]
        if after:
            self._restart()
            targets = [self.loop.stores[number].value for number in after]
            self._gather(targets)
            self.values(targets, lambda value: True)
            for number in after:
                self.store(number)
            steps.append(Loop("block", self.nest.kept, tuple(self.scope)))
        return tuple(steps)

    def _restart(self) -> None:
        self.scope, self.home, self.spread = [], {}, {}

    def _reduces(self) -> List[str]:
        """Reductions of the nest; the place of one is the number of its partial result."""
        return [name for step in self.nest.passes for name in step.reduces]

    def _gather(self, targets: Sequence[str]) -> None:
        """Combine the partial results that `targets` use, directly or through kept values."""
        done = frozenset(self._reduces())
        used = set(targets)
        for value in needed(self.loop, targets, done):
            used.update(value.args)
        for number, name in enumerate(self._reduces()):
            if name not in used:
                continue
            value = self.by_name[name]
            total = self.accumulator(value, lanes=False)
            piece = self.new(self.dtype_of(total), self.shape_of(total), "VECIN")
            self.scope.append(Loop("parts", (), (
                LoadPart(piece, number, value.axes),
                Accumulate(reduce_step(value), total, piece),
            )))
            self.home[name] = self.mean(value, total)

    def _store_part(self, value: Value, source: str) -> None:
        if set(value.axes) != set(self.nest.kept):
            raise ScheduleError("a partial result that does not vary with all kept axes",
                                node=value.name, stage="schedule")
        out = self.new(self.dtype_of(source), self.shape_of(source), "VECOUT")
        if not self.retarget(source, out, final=True):
            self.scope.append(Compute("muls", out, (source,), 1))
        self.scope.append(StorePart(out, self._reduces().index(value.name), value.axes))
