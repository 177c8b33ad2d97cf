"""Reductions over different axes of one domain, rewritten so that one walk serves them.

A nest that reduces x[a, b] over b has all of x in hand. A reduction of the same domain over a and b
is one of its row results. One over a takes its part of every row while it is there: each core gets
a partial result for its share of the rows, which a later stage adds up.

    sum over b      stays
    sum over a, b   becomes a sum over a of a sum over b
    sum over a      becomes a sum over the parts of partial sums over a
"""
from __future__ import annotations

from dataclasses import replace
from typing import Any, Dict, FrozenSet, Iterable, List, NamedTuple, Optional, Tuple

from tf_autofuse.loop.ir import PARTS, Dim, Load, LoopKernel, Param, Reduce, Store, Value

Frame = Tuple[FrozenSet[str], FrozenSet[str]]
"""Kept and reduced axes."""


def frame_of(loop: LoopKernel, value: Reduce) -> Frame:
    """The axes that the nest of a reduction keeps and reduces."""
    domain = frozenset(loop.value(value.operand).axes)
    if value.partial:
        return frozenset(value.over), domain - frozenset(value.over)
    return domain - frozenset(value.over), frozenset(value.over)


def reductions_below(loop: LoopKernel) -> Dict[str, FrozenSet[str]]:
    """For each value the reductions that it is computed from, without itself."""
    below: Dict[str, FrozenSet[str]] = {}
    reduces = {value.name for value in loop.body if isinstance(value, Reduce)}
    for value in loop.body:
        found = frozenset().union(*[below[arg] for arg in value.args])  # type: FrozenSet[str]
        below[value.name] = found | (reduces & set(value.args))
    return below


class _Choice(NamedTuple):
    """A frame, and the reductions of other frames that its nest takes along."""

    frame: Frame
    taken: Tuple[Reduce, ...]


def cross(loop: LoopKernel) -> LoopKernel:
    """`loop` with reductions of other frames taken along where that frees their nests of work."""
    reduces = [value for value in loop.body if isinstance(value, Reduce)]
    frames = list(dict.fromkeys(frame_of(loop, value) for value in reduces))
    if len(frames) < 2:
        return loop
    below = reductions_below(loop)
    best: Optional[_Choice] = None
    for frame in frames:
        taken = _taken(loop, frame, reduces, below)
        if taken and (best is None or len(taken) > len(best.taken)):
            best = _Choice(frame, taken)
    return loop if best is None else _Rewriter(loop, best).run()


def _taken(loop: LoopKernel, frame: Frame, reduces: List[Reduce],
           below: Dict[str, FrozenSet[str]]) -> Tuple[Reduce, ...]:
    """Reductions of other frames that a nest of `frame` can take along, all of a frame or none.

    What they and those of the nest wait for besides the nest is found in stages before it.
    """
    own = {value.name for value in reduces if frame_of(loop, value) == frame}
    stage = stages(loop, below)
    before = frozenset().union(*[below[name] for name in own]) - own
    if any(below[name] & own for name in before) or len({stage[name] for name in own}) > 1:
        return ()
    at = stage[min(own)]
    groups: Dict[Frame, List[Reduce]] = {}
    for value in reduces:
        other = frame_of(loop, value)
        if other != frame and other[0] | other[1] == frame[0] | frame[1]:
            groups.setdefault(other, []).append(value)
    return tuple(
        value for other, values in groups.items() for value in values
        if (other[1] > frame[1] or _crosses(loop, frame, other))
        and all(below[one.name] <= own | before and one.name not in before
                and _stage(loop, frame, below[one.name], stage) == at for one in values))


def stages(loop: LoopKernel, below: Dict[str, FrozenSet[str]]) -> Dict[str, int]:
    """The stage of each reduction: it comes after those of other frames that it waits for."""
    found: Dict[str, int] = {}
    for value in loop.body:
        if isinstance(value, Reduce):
            found[value.name] = _stage(loop, frame_of(loop, value), below[value.name], found)
    return found


def _stage(loop: LoopKernel, frame: Frame, waits_for: Iterable[str], found: Dict[str, int]) -> int:
    stage = 0
    for name in waits_for:
        other = loop.value(name)
        assert isinstance(other, Reduce)
        stage = max(stage, found[name] + (frame_of(loop, other) != frame))
    return stage


def _crosses(loop: LoopKernel, frame: Frame, other: Frame) -> bool:
    """Whether rows lie along the innermost axis, and the other reduction is over all rows."""
    inner = [axis for axis in loop.axes if axis in frame[0] | frame[1]][-1]
    return other[1] == frame[0] and inner in frame[1]


class _Rewriter:
    def __init__(self, loop: LoopKernel, choice: _Choice) -> None:
        self.loop, self.frame = loop, choice.frame
        self.taken = {value.name for value in choice.taken}
        self.body: List[Value] = []
        self.temps = list(loop.temps)
        self.stores = list(loop.stores)

    def run(self) -> LoopKernel:
        for value in self.loop.body:
            if value.name not in self.taken:
                self.body.append(value)
            else:
                assert isinstance(value, Reduce)
                self._rewrite(value)
        axes = self.loop.axes
        if any(PARTS in value.axes for value in self.body) and PARTS not in axes:
            axes += (PARTS,)
        return replace(self.loop, axes=axes, body=tuple(self.body), temps=tuple(self.temps),
                       stores=tuple(self.stores))

    def _rewrite(self, value: Reduce) -> None:
        """The reduction in two steps, the first of which belongs to the nest."""
        mean = value.op == "mean"
        first = replace(value, name=value.name + "_part", op="sum" if mean else value.op)
        last = replace(value, counted=value.over if mean else ())
        if frozenset(value.over) > self.frame[1]:
            kept = self.loop.value(value.operand).axes
            first = replace(first, over=self._ordered(self.frame[1]),
                            axes=tuple(a for a in kept if a not in self.frame[1]))
            last = replace(last, operand=first.name, over=tuple(
                axis for axis in value.over if axis not in self.frame[1]))
            self.body += [first, last]
        else:
            first = replace(first, axes=value.axes + (PARTS,))
            self.body += [first, self._temp(first)]
            self.body.append(replace(last, operand=self.body[-1].name, over=(PARTS,)))

    def _temp(self, value: Reduce) -> Load:
        """The load of what a nest has stored of partial results."""
        dims = tuple(Dim(axis) for axis in (PARTS,) + value.axes[:-1])
        number = len(self.temps)
        self.temps.append(Param("temp%d" % number, value.dtype))
        self.stores.append(Store(len(self.loop.outputs) + number, value.name, dims))
        return Load(value.name + "s", value.dtype, value.axes, value.origin,
                    len(self.loop.inputs) + number, dims)

    def _ordered(self, axes: Any) -> Tuple[str, ...]:
        return tuple(axis for axis in self.loop.axes if axis in axes)
