"""Loop kernels that need several stages, rewritten so that every nest is a simple one.

A reduction of row results, or of values that need reductions over other axes, waits until those
are there for all rows. What one stage finds and a later one needs goes through memory: the value
is stored as a temporary, and the later nest loads it. Nests of a stage begin when those of the
stages before have ended.
"""
from __future__ import annotations

from dataclasses import replace
from typing import Dict, FrozenSet, List, NamedTuple, Optional, Sequence, Set

from tf_autofuse.kernel.cross import Frame, cross, frame_of, reductions_below
from tf_autofuse.kernel.join import may_keep
from tf_autofuse.kernel.nest import needed
from tf_autofuse.loop.ir import Dim, Load, LoopKernel, Map, Param, Reduce, Store, Value, renamed
from tf_autofuse.loop.ops import item_bytes


class _Place(NamedTuple):
    """A nest: its axes and its stage."""

    frame: Frame
    stage: int

    @property
    def domain(self) -> FrozenSet[str]:
        return self.frame[0] | self.frame[1]


def staged(loop: LoopKernel) -> LoopKernel:
    """The kernel in stages; the same one if a nest can find each of its outputs by itself."""
    crossed = cross(loop)
    if crossed is loop and all(_is_simple(loop, store) for store in loop.stores):
        return loop
    return _Stager(crossed).run()


def _is_simple(loop: LoopKernel, store: Store) -> bool:
    """Whether all reductions of an output have the same axes, and it lies along these, too."""
    frames = {frame_of(loop, value) for value in needed(loop, [store.value])
              if isinstance(value, Reduce)}
    return not frames or len(frames) == 1 and all(
        frozenset(store.axes) in (kept, kept | over) for kept, over in frames)


class _Stager:
    def __init__(self, loop: LoopKernel) -> None:
        self.loop = loop
        self.by_name = {value.name: value for value in loop.body}
        self.below = reductions_below(loop)
        self.stored_parts = {store.output - len(loop.outputs) + len(loop.inputs): store.value
                             for store in loop.stores if store.output >= len(loop.outputs)}
        self.place: Dict[str, _Place] = {}
        for value in loop.body:
            if isinstance(value, Load) and value.input in self.stored_parts:
                part = self.stored_parts[value.input]
                self.below[value.name] = self.below[part] | {part}
            else:
                found = [self.below[arg] for arg in value.args]
                self.below[value.name] = self.below[value.name].union(*found)
            if isinstance(value, Reduce):
                self.place[value.name] = self._place_reduce(value)
        self.stores: Dict[_Place, List[Store]] = {}
        self.temps: Dict[str, int] = {}
        self.params = list(loop.temps)

    def run(self) -> LoopKernel:
        for store in self.loop.stores:
            if store.output >= len(self.loop.outputs):
                self.stores.setdefault(self.place[store.value], []).append(store)
            elif self.below[store.value] or isinstance(self.by_name[store.value], Reduce):
                self.stores.setdefault(self._home(store.value, store.axes), []).append(store)
        for store in self.loop.stores:
            if not any(store in stores for stores in self.stores.values()):
                self.stores.setdefault(self._host(frozenset(store.axes), 0), []).append(store)
        self._join()
        self._find_temps()
        body: List[Value] = []
        stores: List[Store] = []
        for number, place in enumerate(sorted(self.stores, key=lambda p: p.stage)):
            self._emit(number, place, body, stores)
        return replace(self.loop, body=tuple(body), temps=tuple(self.params),
                       stores=tuple(sorted(stores, key=lambda store: store.output)))

    # Where reductions and stores are computed

    def _place_reduce(self, value: Reduce) -> _Place:
        frame, stage = frame_of(self.loop, value), 0
        for name in self.below[value.name]:
            before = self.place[name]
            stage = max(stage, before.stage + (before.frame != frame))
        return _Place(frame, stage)

    def _all_below(self, name: str) -> FrozenSet[str]:
        own = frozenset((name,)) if isinstance(self.by_name[name], Reduce) else frozenset()
        return self.below[name] | own

    def _last(self, name: str, axes: Sequence[str], whole: bool) -> Optional[_Place]:
        """The nest of the last reductions of a value, if it can store that (with `whole`, also for
        all points of its walk) for `axes`."""
        places = [self.place[other] for other in self._all_below(name)]
        stage = max(place.stage for place in places)
        last = {place for place in places if place.stage == stage}
        place = next(iter(last))
        fits = [place.frame[0]] + ([place.domain] if whole else [])
        return place if len(last) == 1 and frozenset(axes) in fits else None

    def _home(self, name: str, axes: Sequence[str]) -> _Place:
        """The nest that stores a value which needs reductions."""
        last = self._last(name, axes, True)
        if last is not None:
            return last
        stage = 1 + max(self.place[other].stage for other in self._all_below(name))
        return self._host(frozenset(axes), stage)

    def _host(self, axes: FrozenSet[str], stage: int) -> _Place:
        """A nest of at least this stage that walks `axes`; an element-wise one if there is none."""
        places = list(self.place.values()) + list(self.stores)
        fits = [place for place in places if place.domain == axes and place.stage >= stage]
        return min(fits, key=lambda p: p.stage) if fits else _Place((axes, frozenset()), stage)

    def _join(self) -> None:
        """Element-wise stores go to a nest that may keep their axes (see `kernel.join`) and reads
        what they read."""
        for guest in [place for place in self.stores if not place.frame[1]]:
            for host in self.stores:
                inner = next((a for a in reversed(self.loop.axes) if a in host.domain), "")
                if (may_keep(*host.frame, inner, guest.frame[0]) and host != guest
                        and host.stage >= guest.stage
                        and self._reads(host) & self._reads(guest)):
                    self.stores[host] += self.stores.pop(guest)
                    break

    def _reads(self, place: _Place) -> FrozenSet[str]:
        """What a nest loads: inputs, and what earlier nests have found."""
        foreign = frozenset(self._foreign(place))
        values = needed(self.loop, [store.value for store in self.stores[place]], foreign)
        return foreign.union(value.name for value in values if isinstance(value, Load))

    # What goes through memory

    def _find_temps(self) -> None:
        """Adds stores of temporaries to earlier nests, from the last stage to the first."""
        stage = max(place.stage for place in self.stores)
        while stage >= 0:
            for place in [p for p in self.stores if p.stage == stage]:
                for name in self._foreign(place):
                    self._add_temp(name)
            stage -= 1

    def _add_temp(self, name: str) -> None:
        if name in self.temps:
            return
        value = self.by_name[name]
        number = self.temps[name] = len(self.params)
        self.params.append(Param("temp%d" % number, value.dtype))
        home = self._last(name, value.axes, False)
        assert home is not None
        store = Store(len(self.loop.outputs) + number, name, tuple(map(Dim, value.axes)))
        self.stores.setdefault(home, []).append(store)

    def _foreign(self, place: _Place) -> List[str]:
        """Values of earlier nests that a nest needs, in body order."""
        roots = {store.value for store in self.stores[place]}
        found: Set[str] = set()
        seen: Set[str] = set()
        todo = list(roots)
        while todo:
            name = todo.pop()
            if name in seen:
                continue
            seen.add(name)
            if self._is_foreign(name, place):
                found.add(self._narrowest(name, place))
            else:
                todo += self.by_name[name].args
        return [value.name for value in self.loop.body if value.name in found]

    def _narrowest(self, name: str, place: _Place) -> str:
        """What a value was before casts to wider types."""
        value = self.by_name[name]
        while isinstance(value, Map) and value.op == "cast":
            inner = self.by_name[value.operands[0]]
            wider = item_bytes(inner.dtype) >= item_bytes(value.dtype)
            if wider or not self._is_foreign(inner.name, place):
                break
            value = inner
        return value.name

    def _is_foreign(self, name: str, place: _Place) -> bool:
        value, below = self.by_name[name], self._all_below(name)
        if not below or any(self.place[other] == place for other in below):
            return False
        if isinstance(value, Load):
            return False
        return self._last(name, value.axes, False) is not None

    # Writing the stages

    def _emit(self, number: int, place: _Place, body: List[Value], stores: List[Store]) -> None:
        """The values of one nest under names of its own, and its stores."""
        given = frozenset(self._foreign(place))
        roots = [store.value for store in self.stores[place]]
        tail = "_n%d" % number if number else ""
        values = needed(self.loop, roots, given)
        names = {name: name + tail for name in given}
        for value in self.loop.body:
            if value.name in given:
                at = self.temps[value.name]
                body.append(Load(value.name + tail, value.dtype, value.axes, value.origin,
                                 len(self.loop.inputs) + at, tuple(map(Dim, value.axes))))
        for value in values:
            names[value.name] = value.name + tail
            body.append(renamed(value, names))
        stores += [replace(store, value=names[store.value], stage=place.stage)
                   for store in self.stores[place]]
