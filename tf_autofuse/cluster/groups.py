"""The groups of a clustering as an acyclic graph whose topological order survives merging.

Two groups may be merged when no path leads from one to the other through a third. The search for
such a path walks from both ends at once, one edge here and one edge there, and only through groups
that lie between the two in the order; so it costs what the emptier side costs. (After Pearce and
Kelly, "A dynamic topological sort algorithm for directed acyclic graphs", 2006.)
"""
from __future__ import annotations

from typing import Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Set

_SPACE = 1 << 40
"""Distance of neighbouring labels when they are dealt out: room for new neighbours between."""


class Gap(NamedTuple):
    """What must move when two groups without a path between them merge: all groups between them
    that `first` leads to (`behind`), or else all that lead to `second`. In topological order."""

    first: int
    second: int
    behind: bool
    moved: Sequence[int]


class GroupGraph:
    """Groups are numbered by one of their nodes; at the start every node is a group."""

    def __init__(self, order: Sequence[int], successors: Mapping[int, Iterable[int]]):
        """`order` is topological; edges against it (back edges of loops) do not count."""
        self._order = _Order(order)
        self._succ: Dict[int, Set[int]] = {group: set() for group in order}
        self._pred: Dict[int, Set[int]] = {group: set() for group in order}
        label = self._order.label
        for group in order:
            for target in successors[group]:
                if label.get(target, -1) > label[group]:
                    self._succ[group].add(target)
                    self._pred[target].add(group)

    def leads_to(self, first: int, second: int) -> bool:
        """Whether `second` reads what `first` makes, without a group between them."""
        return second in self._succ[first]

    def stands_before(self, one: int, other: int) -> bool:
        """Whether `one` stands before `other` in the order; then no path leads back."""
        return self._order.label[one] < self._order.label[other]

    def gap(self, first: int, second: int) -> Optional[Gap]:
        """None when a path leads from `first` to `second` through a third group.

        `first` stands before `second`.
        """
        ahead: Set[int] = set()
        back: Set[int] = set()
        walks = (self._walk(first, second, True, ahead, back),
                 self._walk(second, first, False, back, ahead))
        while True:
            for walk, behind, seen in zip(walks, (True, False), (ahead, back)):
                met = next(walk, None)
                if met:
                    return None
                if met is None:
                    moved = sorted(seen, key=self._order.label.__getitem__)
                    return Gap(first, second, behind, moved)

    def _walk(
        self, start: int, end: int, forward: bool, seen: Set[int], goal: Set[int]
    ) -> Iterator[bool]:
        """One item per edge: whether it leads to a group that the other walk has `seen`, or to its
        start from a third group."""
        label = self._order.label
        edges = self._succ if forward else self._pred
        low, high = sorted((label[start], label[end]))
        stack = [start]
        while stack:
            group = stack.pop()
            for near in edges[group]:
                if near in goal or (near == end and group != start):
                    yield True
                elif near not in seen and low < label[near] < high:
                    seen.add(near)
                    stack.append(near)
                yield False

    def between(self, first: int, second: int, most: int) -> Optional[Set[int]]:
        """The groups on paths from `first` to `second`; None when more than `most` have to be
        looked at."""
        label = self._order.label
        low, high = label[first], label[second]
        found: List[Set[int]] = []
        for start, edges in ((first, self._succ), (second, self._pred)):
            seen: Set[int] = set()
            stack = [start]
            while stack:
                for near in edges[stack.pop()]:
                    if near not in seen and low < label[near] < high:
                        seen.add(near)
                        stack.append(near)
                if len(seen) > most:
                    return None
            found.append(seen)
        return found[0] & found[1]

    def in_order(self, groups: Iterable[int]) -> List[int]:
        """`groups` in the topological order."""
        return sorted(groups, key=self._order.label.__getitem__)

    def cut(self, source: int, target: int) -> None:
        """Forget that `target` reads what `source` makes."""
        self._succ[source].discard(target)
        self._pred[target].discard(source)

    def merge(self, gap: Gap) -> int:
        """Make the two groups of `gap` one; its number, which is that of one of them."""
        stays, goes = (gap.second, gap.first) if gap.behind else (gap.first, gap.second)
        for group in gap.moved:
            self._order.move(group, stays, gap.behind)
            stays = group if gap.behind else stays
        keep, drop = gap.first, gap.second
        if self._degree(keep) < self._degree(drop):
            keep, drop = drop, keep
        if keep == goes:
            self._order.move(keep, gap.second if gap.behind else gap.first, gap.behind)
        self._order.remove(drop)
        self._take_over(keep, drop)
        return keep

    def _degree(self, group: int) -> int:
        return len(self._succ[group]) + len(self._pred[group])

    def _take_over(self, keep: int, drop: int) -> None:
        """Let all edges of `drop` end at `keep`."""
        for edges, reverse in ((self._succ, self._pred), (self._pred, self._succ)):
            for near in edges.pop(drop):
                reverse[near].discard(drop)
                if near != keep:
                    reverse[near].add(keep)
                    edges[keep].add(near)


class _Order:
    """A linked list whose labels grow along it."""

    def __init__(self, items: Sequence[int]):
        self.label: Dict[int, int] = {}
        self._next: Dict[Optional[int], Optional[int]] = {}
        self._last: Dict[Optional[int], Optional[int]] = {}
        for one, other in zip([None, *items], [*items, None]):
            self._next[one], self._last[other] = other, one
        self._deal()

    def _deal(self) -> None:
        """Give out labels anew."""
        item, label = self._next[None], _SPACE
        while item is not None:
            self.label[item] = label
            item, label = self._next[item], label + _SPACE

    def remove(self, item: int) -> None:
        before, after = self._last.pop(item), self._next.pop(item)
        self._next[before], self._last[after] = after, before
        del self.label[item]

    def move(self, item: int, anchor: int, behind: bool) -> None:
        """Put `item` right behind, or right before, `anchor`."""
        self.remove(item)
        before = anchor if behind else self._last[anchor]
        after = self._next[anchor] if behind else anchor
        self._next[before] = self._last[after] = item
        self._last[item], self._next[item] = before, after
        low = self.label[before] if before is not None else 0
        high = self.label[after] if after is not None else low + 2 * _SPACE
        self.label[item] = (low + high) // 2
        if not low < self.label[item] < high:
            self._deal()
