"""Programs in which several cores share the walk of one task.

Each walk is a phase: every part walks over its share and stores a partial result in workspace.
After all cores have met, the next phase combines the parts and goes on; a last one writes what is
known when the walks have ended.
"""
from __future__ import annotations

from typing import Dict, List, Optional, Sequence, Tuple

from tf_autofuse.errors import ScheduleError
from tf_autofuse.kernel.ir import Accumulate, Compute, LoadPart, Loop, Step, StorePart, Sync
from tf_autofuse.kernel.nest import needed
from tf_autofuse.loop.ir import PARTS, Load, Value
from tf_autofuse.schedule.builder import Builder
from tf_autofuse.schedule.follow import Follower, Key
from tf_autofuse.schedule.online import Walk


class SplitBuilder(Builder):
    """Steps of the variants `split` and `shared`."""

    def build(self) -> Tuple[Step, ...]:
        steps: List[Step] = []
        self.walks = self.plan()
        self.numbers: Dict[Tuple[int, Key], int] = {}
        for number, walk in enumerate(self.walks):
            self._restart()
            self._gather(self.targets(walk.step), number)
            self._store_parts(number, *self.walk(walk))
            steps.append(self.phase())
            if walk.step.reduces:
                steps.append(Sync())
        after = [number for walk in self.walks for number in walk.step.after]
        return tuple(steps) + ((self.ended(after),) if after else ())

    def phase(self) -> Step:
        """What every part does in the walk that `scope` holds."""
        return Loop("split", self.nest.kept, tuple(self.scope))

    def ended(self, after: Sequence[int]) -> Step:
        """The stores of what is known when the walks have ended."""
        self._restart()
        targets = [self.loop.stores[number].value for number in after]
        self._gather(targets, len(self.walks))
        self.values(targets, lambda value: True)
        for number in after:
            self.store(number)
        return Loop("block", self.nest.kept, tuple(self.scope))

    def _restart(self) -> None:
        self.scope, self.home, self.spread = [], {}, {}

    def _gather(self, targets: Sequence[str], ended: int) -> None:
        """Combine the partial results of the first walks that `targets` use, directly or through
        kept values."""
        done = frozenset(name for walk in self.walks[:ended] for name in walk.step.reduces)
        used = set(targets)
        for value in needed(self.loop, targets, done):
            used.update(value.args)
        for number, walk in enumerate(self.walks[:ended]):
            wanted = [name for name in walk.step.reduces if name in used]
            if any(name in walk.follows for name in wanted):
                self._gather_walk(number, walk)
            else:
                for name in wanted:
                    self._gather_plain(number, name)

    def _gather_plain(self, number: int, name: str) -> None:
        value = self.by_name[name]
        total = self.accumulator(value, lanes=False)
        piece, load = self._piece(number, ("plain", name), self.dtype_of(total))
        scratch = self.new(self.dtype_of(piece), self.shape_of(piece))
        self.scope.append(Loop("parts", (), (
            load, Accumulate(self.fold(name), total, piece, scratch),
        )))
        self.home[name] = self.mean(value, total)

    def _gather_walk(self, number: int, walk: Walk) -> None:
        """All partial results of a walk in which reductions follow others."""
        follower = Follower(self, walk)
        totals = {name: self.accumulator(self.by_name[name], lanes=False)
                  for name in walk.step.reduces if name not in walk.follows}
        follower.begin()
        block, kept, spread = self.scope, dict(self.home), dict(self.spread)
        self.scope, pieces = [], {}
        keys = [("plain", name) for name in totals] + follower.keys()
        for key in keys:
            dtype = self.dtype_of(totals[key[1]]) if key[0] == "plain" else "float32"
            pieces[key], load = self._piece(number, key, dtype)
            self.scope.append(load)
        follower.combine(totals, pieces)
        block.append(Loop("parts", (), tuple(self.scope)))
        self.scope, self.home, self.spread = block, kept, spread
        for name, total in totals.items():
            self.home[name] = self.mean(self.by_name[name], total)
        for name, total in follower.totals().items():
            self.home[name] = self.mean(self.by_name[name], total)

    def _piece(self, number: int, key: Key, dtype: str) -> Tuple[str, LoadPart]:
        piece = self.new(dtype, "p" + self.shape(self.nest.kept), "VECIN")
        return piece, LoadPart(piece, self.numbers[number, key], self.nest.kept)

    def _store_parts(self, number: int, accs: Dict[str, str], follower: Follower) -> None:
        for name, acc in accs.items():
            value = self.by_name[name]
            if set(value.axes) != set(self.nest.kept):
                raise ScheduleError("a partial result that does not vary with all kept axes",
                                    node=name, stage="schedule")
            self._store_part(number, ("plain", name), self.whole(value, acc))
        for key in follower.carried:
            self._store_part(number, key, follower.ended(key))

    def _store_part(self, number: int, key: Key, source: str) -> None:
        out = self.new(self.dtype_of(source), self.shape_of(source), "VECOUT")
        if key[0] != "plain" or not self.retarget(source, out, final=True):
            self.scope.append(Compute("muls", out, (source,), 1))
        place = self.numbers.setdefault((number, key), len(self.numbers))
        self.scope.append(StorePart(out, place, self.nest.kept))


class StripBuilder(SplitBuilder):
    """`split` and `shared` of a nest with reductions over its kept axes: a core has a strip of
    columns, one tile wide, of a group of rows. What the strip has in common for all rows, partial
    results over the rows among it, stays in UB."""

    def build(self) -> Tuple[Step, ...]:
        self.strip: Optional[List[Step]] = []
        return super().build()

    def hold(self, value: Value) -> List[Step]:
        own = set(value.axes) & set(self.nest.kept) or value.name in self.after_reduce
        return self.scope if own or self.strip is None else self.strip

    def keeps(self, value: Load) -> bool:
        return set(value.axes) == set(self.nest.axes)

    def walk(self, walk: Walk) -> Tuple[Dict[str, str], Follower]:
        accs, follower = self.begin(walk)
        self.tile(walk, accs, follower)
        return accs, follower

    def phase(self) -> Step:
        block = Loop("block", self.nest.kept, tuple(self.scope))
        strip, self.strip = self.strip or [], []
        return self.crossing.inside(
            Loop("strips", (PARTS,) + self.nest.reduced, tuple(strip) + (block,)))

    def ended(self, after: Sequence[int]) -> Step:
        self.strip = None
        return super().ended(after)
