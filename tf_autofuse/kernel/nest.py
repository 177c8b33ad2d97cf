"""How the stores of a loop kernel are grouped into loop nests, and each nest into passes.

A nest computes some stores for every point of its *kept* axes. For one kept point it walks the
*reduced* axes once per pass: pass 0 accumulates the reductions that need only inputs, pass 1 those
that need results of pass 0, and so on (softmax: maximum, sum, quotient). A value that a later pass
needs again over the reduced axes is computed again from the inputs.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, FrozenSet, Iterable, List, NamedTuple, Optional, Sequence, Tuple, Union

from tf_autofuse.errors import ScheduleError
from tf_autofuse.loop.ir import PARTS, Load, LoopKernel, Reduce, Store, Value, unit_axis


@dataclass(frozen=True)
class Pass:
    """One walk over the reduced axes (all axes of the nest when nothing is reduced).

    `reduces` are accumulated and `stores` (numbers of `LoopKernel.stores`) written during the
    walk; the stores `after` write values of the kept domain when it has ended. The stores `crosses`
    write partial results: their reductions, over the kept axes, go on from point to point.
    """

    reduces: Tuple[str, ...]
    stores: Tuple[int, ...]
    after: Tuple[int, ...]
    crosses: Tuple[int, ...] = ()

    @property
    def written(self) -> Tuple[int, ...]:
        """All its stores, by number."""
        return self.stores + self.after + self.crosses


@dataclass(frozen=True)
class Nest:
    """`kept` and `reduced` axes in kernel order and the passes for one kept point.

    A nest begins when those of all stages before it have ended.
    """

    kept: Tuple[str, ...]
    reduced: Tuple[str, ...]
    axes: Tuple[str, ...]
    passes: Tuple[Pass, ...]
    stage: int = 0

    @property
    def crosses(self) -> bool:
        """Whether it has reductions over its kept axes."""
        return any(step.crosses for step in self.passes)

    @property
    def stores(self) -> Tuple[int, ...]:
        """All its stores, by number."""
        return tuple(n for step in self.passes for n in step.written)

    @property
    def inner(self) -> str:
        """The last axis in memory order, the one vectors run along; empty for a scalar kernel."""
        return self.axes[-1] if self.axes else ""

    @property
    def inner_kept(self) -> bool:
        return self.inner in self.kept

    @property
    def outer_kept(self) -> Tuple[str, ...]:
        """Kept axes that are loops outside of everything else."""
        return tuple(a for a in self.kept if a != self.inner)

    @property
    def beside(self) -> Tuple[str, ...]:
        """Those of `outer_kept` that lie between the first and the last reduced axis in memory."""
        if not self.reduced or self.inner_kept:
            return ()
        return tuple(a for a in self.outer_kept
                     if self.axes.index(a) > self.axes.index(self.reduced[0]))

    @property
    def walk(self) -> Tuple[str, ...]:
        """Axes of the loops inside one kept point, outermost first."""
        return self.reduced + ((self.inner,) if self.inner_kept else ())

    @property
    def order(self) -> Tuple[str, ...]:
        return self.outer_kept + self.walk

    def depth(self, value: Union[Value, Store]) -> int:
        """Index in `order` of the innermost loop that it varies with; -1 for none."""
        return max([self.order.index(axis) for axis in value.axes] or [-1])


def needed(
    loop: LoopKernel, roots: Iterable[str], stop: FrozenSet[str] = frozenset()
) -> List[Value]:
    """Values that `roots` are computed from, in body order; `stop` values are not entered."""
    wanted = set(roots)
    found = []
    for value in reversed(loop.body):
        if value.name in wanted and value.name not in stop:
            found.append(value)
            wanted.update(value.args)
    return found[::-1]


def levels(loop: LoopKernel) -> Dict[str, int]:
    """Number of reductions on the longest way to each value, its own included."""
    level: Dict[str, int] = {}
    for value in loop.body:
        above = max([level[a] for a in value.args] or [0])
        level[value.name] = above + (1 if isinstance(value, Reduce) else 0)
    return level


def build_nests(loop: LoopKernel) -> Tuple[Nest, ...]:
    """Group the stores of `loop` into nests, in order of stages.

    Stores of one stage with the same reduced and kept axes share a nest; a store without
    reductions joins a nest that walks exactly its axes, if possible one that has its values.
    Raises ScheduleError when one value needs reductions over different sets of axes, or needs a
    reduction of something that lacks a reduced axis.
    """
    groups: Dict[_Key, List[int]] = {}
    plain: List[int] = []
    for number, store in enumerate(loop.stores):
        key = _key(loop, store)
        if key is None:
            plain.append(number)
        else:
            groups.setdefault(key, []).append(number)
    for number in plain:
        store = loop.stores[number]
        hosts = [key for key in groups
                 if set(key[0] + key[1]) == set(store.axes) and key[2] == store.stage]
        # Nests of stages have values of their own: the host is the one that has those of the store.
        hosts.sort(key=lambda key: not _share(loop, groups[key], number))
        key = hosts[0] if hosts else (_in_order(loop, store.axes), (), store.stage)
        groups.setdefault(key, []).append(number)
    nests = [build_nest(loop, *key, stores=stores) for key, stores in groups.items()]
    return tuple(sorted(nests, key=lambda nest: nest.stage))


_Key = Tuple[Tuple[str, ...], Tuple[str, ...], int]
"""Kept axes, reduced axes, stage."""


def _share(loop: LoopKernel, stores: Sequence[int], guest: int) -> bool:
    """Whether a store needs a value that other ones need, too."""
    values = {v.name for v in needed(loop, [loop.stores[n].value for n in stores])}
    return any(v.name in values for v in needed(loop, [loop.stores[guest].value]))


def _key(loop: LoopKernel, store: Store) -> Optional[_Key]:
    """The nest of a store; None where it needs no reduction."""
    value = loop.value(store.value)
    if isinstance(value, Reduce) and value.partial:
        over = set(loop.value(value.operand).axes) - set(value.over)
        return value.over, _in_order(loop, over), store.stage
    reduced = _reduced_axes(loop, store.value)
    kept = [axis for axis in store.axes if axis not in reduced]
    return (_in_order(loop, kept), reduced, store.stage) if reduced else None


def _reduced_axes(loop: LoopKernel, root: str) -> Tuple[str, ...]:
    sets = {frozenset(v.over) for v in needed(loop, [root]) if isinstance(v, Reduce)}
    if len(sets) > 1:
        names = " and ".join(sorted("/".join(sorted(s)) for s in sets))
        raise ScheduleError("depends on reductions over different axes: " + names, node=root,
                            stage="schedule")
    return _in_order(loop, next(iter(sets))) if sets else ()


def _in_order(loop: LoopKernel, axes: Iterable[str]) -> Tuple[str, ...]:
    """`axes` in the order of loops: parts are outside of what each of them holds."""
    return (PARTS,) * (PARTS in axes) + tuple(a for a in loop.sized_axes if a in axes)


def build_nest(loop: LoopKernel, kept: Tuple[str, ...], reduced: Tuple[str, ...], stage: int,
               stores: List[int]) -> Nest:
    """The nest of some stores of `loop`, by number."""
    level = levels(loop)
    crossing = [n for n in stores if _is_partial(loop, loop.stores[n].value)]
    stores = [n for n in stores if n not in crossing]
    reach = {n: level[loop.value(loop.stores[n].value).args[0]] for n in crossing}
    reach.update((n, level[loop.stores[n].value]) for n in stores)
    roots = [loop.stores[n].value for n in reach]
    reduces = [v for v in needed(loop, roots) if isinstance(v, Reduce) and not v.partial]
    passes = []
    for number in range(max(reach.values()) + 1):
        inside = [n for n in stores if reach[n] == number
                  and (not reduced or set(loop.stores[n].axes) & set(reduced))]
        after = [n for n in stores if reduced and max(reach[n], 1) == number + 1
                 and not set(loop.stores[n].axes) & set(reduced)]
        here = [v.name for v in reduces if level[v.name] == number + 1]
        crosses = [n for n in crossing if reach[n] == number]
        if here or inside or crosses:
            passes.append(Pass(tuple(here), tuple(inside), tuple(after), tuple(crosses)))
    axes = _in_order(loop, set(kept + reduced))
    return Nest(kept, reduced, axes, tuple(passes), stage)


def _is_partial(loop: LoopKernel, name: str) -> bool:
    value = loop.value(name)
    return isinstance(value, Reduce) and value.partial


class Misfit(NamedTuple):
    """Why a nest cannot find what it shall: a code of `cluster.reasons`, a sentence, the value."""

    code: str
    message: str
    node: str


def misfit(loop: LoopKernel, nest: Nest) -> Optional[Misfit]:
    """What a nest would have to walk other axes for: an output that lies along neither its kept nor
    all its axes, or a reduction of a value that lacks one. None for a nest that can be built."""
    stores = [loop.stores[n] for step in nest.passes for n in step.stores + step.after]
    crosses = [loop.stores[n] for step in nest.passes for n in step.crosses]
    for store in stores:
        if set(store.axes) not in (set(nest.kept), set(nest.axes)):
            return Misfit("OUTPUT_DOMAIN", "an output is smaller than the loop", store.value)
    by_name = {value.name: value for value in loop.body}
    for value in needed(loop, [store.value for store in stores + crosses]):
        if isinstance(value, Reduce) and set(by_name[value.operand].axes) != set(nest.axes):
            return Misfit("REDUCE_DOMAIN", "reduces a value smaller than the loop", value.name)
    return None


@dataclass(frozen=True)
class Row:
    """The row of a load in the run-time table, which begins at number `start`."""

    load: Load
    start: int
    axes: Tuple[str, ...]

    def stride(self, axis: str) -> int:
        """Place of the stride along an axis."""
        return self.start + self.axes.index(axis)

    @property
    def offset(self) -> int:
        """Place of the offset of the first point."""
        return self.start + len(self.axes)

    def names(self) -> List[str]:
        """A name for every number of the row."""
        number = self.load.input
        return ["s%d_%d" % (number, at) for at in range(len(self.axes))] + ["o%d" % number]

    @property
    def unit_axis(self) -> Optional[str]:
        """The axis along which the elements are neighbours, as far as the structure tells."""
        return unit_axis(self.load.dims)


def runtime_rows(loop: LoopKernel) -> Dict[int, Row]:
    """Rows of the run-time table by input."""
    rows: Dict[int, Row] = {}
    start = 0
    for load in loop.runtime_loads:
        rows[load.input] = Row(load, start, loop.sized_axes)
        start += len(rows[load.input].names())
    return rows


def table_names(loop: LoopKernel) -> List[str]:
    """A name for every number of the run-time table: rows, then the ends of intervals."""
    found = [name for row in runtime_rows(loop).values() for name in row.names()]
    for number in range(len(loop.insides)):
        found += ["low%d" % number, "high%d" % number]
    return found
