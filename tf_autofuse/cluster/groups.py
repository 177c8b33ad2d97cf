"""The groups of a clustering as an acyclic graph whose topological order survives merging.

Two groups may be merged when no path leads from one to the other through a third. The search for
such a path walks from both ends at once, one edge here and one edge there, and only through groups
that lie between the two in the order; so it costs what the emptier side costs. (After Pearce and
Kelly, "A dynamic topological sort algorithm for directed acyclic graphs", 2006.)
"""
from __future__ import annotations

from typing import Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Set

_SPACE = 1 << 40
"""Distance of neighbouring labels at first: room for new neighbours in between."""


class Gap(NamedTuple):
    """What must move when two groups without a path between them merge: all groups between them
    that `first` leads to (`behind`), or else all that lead to `second`."""

    first: int
    second: int
    behind: bool
    moved: Sequence[int]


class GroupGraph:
    """Groups are numbered by their nodes; at the start every node is one."""

    def __init__(self, order: Sequence[int], successors: Mapping[int, Sequence[int]]):
        """`order` is topological; edges against it (back edges of loops) do not count."""
        self._label: Dict[int, int] = {group: i * _SPACE for i, group in enumerate(order)}
        self._next: Dict[int, Optional[int]] = dict(zip(order, list(order[1:]) + [None]))
        self._before: Dict[int, Optional[int]] = dict(zip(order, [None] + list(order[:-1])))
        self._succ: Dict[int, Set[int]] = {group: set() for group in order}
        self._pred: Dict[int, Set[int]] = {group: set() for group in order}
        for group in order:
            for target in successors[group]:
                if self._label.get(target, -1) > self._label[group]:
                    self._succ[group].add(target)
                    self._pred[target].add(group)

    def leads_to(self, first: int, second: int) -> bool:
        """Whether `second` reads what `first` makes, without a group between them."""
        return second in self._succ[first]

    def in_order(self, one: int, other: int) -> bool:
        """Whether `one` stands before `other`, so that no path leads back."""
        return self._label[one] < self._label[other]

    def gap(self, first: int, second: int) -> Optional[Gap]:
        """None when a path leads from `first` to `second` through a third group.

        `first` stands before `second`.
        """
        ahead: Set[int] = {second}
        back: Set[int] = {first}
        forward = self._walk(first, self._succ, ahead, back)
        backward = self._walk(second, self._pred, back, ahead)
        while True:
            met = next(forward, None)
            if met is None:
                return Gap(first, second, True, self._sorted(ahead - {second}))
            if met:
                return None
            met = next(backward, None)
            if met is None:
                return Gap(first, second, False, self._sorted(back - {first}))
            if met:
                return None

    def _walk(
        self, start: int, edges: Dict[int, Set[int]], seen: Set[int], goal: Set[int]
    ) -> Iterator[bool]:
        """One item per edge: whether it ends at a group that the other walk has reached.

        The two ends themselves are in `seen`, and their common edge is passed over.
        """
        ends = (start, next(iter(seen)))
        low, high = sorted(self._label[end] for end in ends)
        stack = [start]
        while stack:
            group = stack.pop()
            for near in edges[group]:
                if near in goal and not (group == start and near in ends):
                    yield True
                elif near not in seen and low < self._label[near] < high:
                    seen.add(near)
                    stack.append(near)
                yield False

    def _sorted(self, groups: Set[int]) -> List[int]:
        return sorted(groups, key=self._label.__getitem__)

    def merge(self, gap: Gap) -> int:
        """Make the two groups of `gap` one; its number, which is that of one of them."""
        place = gap.second if gap.behind else gap.first
        for group in gap.moved:
            self._unlist(group)
        if gap.behind:
            self._insert(place, gap.moved, self._next[place])
        else:
            self._insert(self._before[place], gap.moved, place)
        keep, drop = gap.first, gap.second
        if self._degree(keep) < self._degree(drop):
            keep, drop = drop, keep
        if keep != place:
            self._swap(keep, place)
        self._unlist(drop)
        self._take_over(keep, drop)
        return keep

    def _degree(self, group: int) -> int:
        return len(self._succ[group]) + len(self._pred[group])

    def _take_over(self, keep: int, drop: int) -> None:
        for edges, reverse in ((self._succ, self._pred), (self._pred, self._succ)):
            for near in edges.pop(drop):
                reverse[near].discard(drop)
                if near != keep:
                    reverse[near].add(keep)
                    edges[keep].add(near)
            edges[keep].discard(drop)

    # ---- the order: a linked list with labels --------------------------------------------------

    def _swap(self, one: int, other: int) -> None:
        """Let `one` stand where `other` stands, which leaves the list."""
        self._unlist(one)
        before = self._before[other]
        label = self._label[other]
        self._unlist(other)
        self._link(before, one, self._next[before] if before is not None else self._first())
        self._label[one] = label

    def _first(self) -> Optional[int]:
        return next((g for g, before in self._before.items() if before is None), None)

    def _unlist(self, group: int) -> None:
        before, after = self._before.pop(group, None), self._next.pop(group, None)
        if before is not None:
            self._next[before] = after
        if after is not None:
            self._before[after] = before

    def _link(self, before: Optional[int], group: int, after: Optional[int]) -> None:
        self._before[group], self._next[group] = before, after
        if before is not None:
            self._next[before] = group
        if after is not None:
            self._before[after] = group

    def _insert(
        self, before: Optional[int], groups: Sequence[int], after: Optional[int]
    ) -> None:
        """Put `groups` between two neighbours, at equal distances."""
