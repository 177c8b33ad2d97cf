"""How often a program asks for each of its inputs, and how often these must come from memory.

Cores that want the same row at about the same time get it from L2 but for the first, if the input
fits the share of L2 that `platforms` states. What one core asks for again counts again. The twin
counts the same of a run.
"""
from __future__ import annotations

from typing import Dict, List, NamedTuple, Sequence, Tuple

from tf_autofuse.kernel.ir import CopyIn, Kernel, Loop, Program, Step
from tf_autofuse.kernel.layout import task_order
from tf_autofuse.loop.ir import PARTS
from tf_autofuse.loop.ops import item_bytes
from tf_autofuse.tiling import partial_results
from tf_autofuse.tiling.model import NestTiling
from tf_autofuse.tiling.price import groups_of


class Times(NamedTuple):
    """Bytes requested and bytes fetched, over the bytes of the input."""

    requested: float
    fetched: float

    def plus(self, other: "Times") -> "Times":
        return Times(self.requested + other.requested, self.fetched + other.fetched)


def input_times(program: Program, t: NestTiling, sizes: Dict[str, int],
                blocks: int) -> Dict[int, Times]:
    """Input number to times; an input that the program does not load is not in it."""
    found: Dict[int, Times] = {}
    counter = _Counter(program, t, dict({PARTS: 1}, **sizes), blocks)
    counter.steps(program.steps, "", found)
    return found


class _Counter:
    def __init__(self, program: Program, t: NestTiling, sizes: Dict[str, int],
                 blocks: int) -> None:
        self.program, self.t, self.blocks = program, t, max(1, blocks)
        self.order = task_order(program)
        step = {program.y: t.ty, program.x: t.tx}
        self.tiles = {axis: max(1, -(-size // step.get(axis, 1))) for axis, size in sizes.items()}

    def steps(self, steps: Sequence[Step], scope: str, found: Dict[int, Times]) -> None:
        for step in steps:
            if isinstance(step, Loop):
                inside = scope == "walk" and step.kind == "hold"
                self.steps(step.body, "rows" if inside else step.kind, found)
            elif isinstance(step, CopyIn):
                none = Times(0.0, 0.0)
                times = self._times(step.axes, scope)
                found[step.input] = found.get(step.input, none).plus(times)
                if step.at is not None:  # the cache of the scalar unit serves other readers
                    times, known = self._times(step.at.axes, scope), found.get(step.at.input, none)
                    found[step.at.input] = Times(known.requested + times.requested,
                                                 max(known.fetched, times.fetched))

    def _times(self, axes: Sequence[str], scope: str) -> Times:
        if scope == "rows":
            return self._held_in_walk(axes)
        if scope == "strips":
            return self._in_strips()
        return self._held(axes) if scope == "hold" else self._loaded(axes, scope)

    def _loaded(self, axes: Sequence[str], scope: str) -> Times:
        """A load in every task, or in every step of the walk."""
        per_core = self._again(axes)
        walks = 1
        if scope == "walk":
            walks = self._count(a for a in self.program.nest.reduced if a not in axes)
        requested = self._count(a for a in self.order if a not in axes) * walks
        return Times(requested, min(requested, per_core * max(1, -(-walks // self.t.parts))))

    def _in_strips(self) -> Times:
        """A load of a strip of columns for each group of rows."""
        parts = self.t.parts
        groups = groups_of(self.t.tasks, parts, self.blocks)
        each = -(-groups * parts // self.blocks)  # strips of a core, which are neighbours
        return Times(groups, min(groups, -(-each // parts)))

    def _held(self, axes: Sequence[str]) -> Times:
        """A load where the coordinates of `axes` change between tasks of a core."""
        places = [self.order.index(axis) for axis in axes if axis in self.order]
        inside = self._count(self.order[max(places) + 1:] if places else self.order)
        loads = 0
        for core in range(self.blocks):
            first = self.t.tasks * core // self.blocks
            last = self.t.tasks * (core + 1) // self.blocks - 1
            loads += last // inside - first // inside + 1 if last >= first else 0
        requested = loads / float(self._count(self.order[i] for i in places))
        return Times(requested, min(1.0, requested))

    def _held_in_walk(self, axes: Sequence[str]) -> Times:
        """A load where the walk, or the share of a part, comes to other coordinates of `axes`."""
        reduced = self.program.nest.reduced
        inside = self._count(a for a in reduced if a not in axes)
        walks, parts = self._count(reduced), self.t.parts
        loads = 0
        for part in range(parts):
            first, last = walks * part // parts, walks * (part + 1) // parts - 1
            loads += last // inside - first // inside + 1 if last >= first else 0
        each = loads / float(max(1, walks // inside))
        requested = each * self._count(a for a in self.order if a not in axes)
        return Times(requested, min(requested, float(self._again(axes))))

    def _again(self, axes: Sequence[str]) -> int:
        """How many tasks of one core, which are neighbours, work on the same tile of an input."""
        run, times = max(1, -(-self.t.tasks * self.t.parts // self.blocks)), 1
        for axis in reversed(self.order):
            if axis not in axes:
                times *= min(run, self.tiles[axis])
            run = -(-run // self.tiles[axis])
        return times

    def _count(self, axes) -> int:
        count = 1
        for axis in axes:
            count *= self.tiles[axis]
        return count


def bytes_read(program: Program, t: NestTiling, sizes: Dict[str, int], blocks: int,
               once: Sequence[int], l2_served: int) -> List[Tuple[float, float]]:
    """(requested, fetched) bytes of each input; `once` are the bytes of each, `l2_served` is the
    largest input that L2 serves."""
    times = input_times(program, t, sizes, blocks)
    rows = []
    for number, size in enumerate(once):
        got = times.get(number, Times(0.0, 0.0))
        fetched = got.fetched if size <= l2_served else got.requested
        rows.append((got.requested * size, fetched * size))
    return rows


def temp_bytes(kernel: Kernel, tilings: Sequence[NestTiling], sizes: Dict[str, int], blocks: int,
               l2_served: int) -> Tuple[int, int]:
    """(requested, fetched) bytes of what goes from stage to stage, which is written and read: L2
    keeps what fits the share that it serves."""
    sizes = dict(sizes, **{PARTS: partial_results(kernel, tilings, blocks)})
    requested = fetched = 0
    for store in kernel.loop.stores:
        number = store.output - len(kernel.loop.outputs)
        if number >= 0:
            size = item_bytes(kernel.loop.temps[number].dtype)
            for axis in store.axes:
                size *= sizes[axis]
            requested += 2 * size
            fetched += 2 * size if size > l2_served else 0
    return requested, fetched
