"""The axes of a lowering: which are one, and which are products of others.

An axis has a *token*: its size, or a negative symbol for a size of run time; equal symbols are
equal sizes. Unifying makes two axes one. Matching two lists of axes that walk the same elements
in row-major order (the dims before and after a reshape) cuts axes into parts, so that both lists
become the same list:

    [64, 1000] and [64, 10, 100]    the second axis is the product of two
    [2, 6] and [4, 3]               2, 2, 3: the second and the third axis are products
    [s, 64, 8] and [u, 512]         u = s, and 512 is the product
"""
from __future__ import annotations

from typing import Dict, List, Optional, Sequence, Set, Tuple

from tf_autofuse.errors import Unsupported


class AxisTable:
    """Axes by number. Raised `Unsupported` says what cannot be; the caller adds the operator.

    `measured` tells whether it matters how large the static sizes are, and not just which of them
    are equal.
    """

    def __init__(self) -> None:
        self.measured = False
        self._parent: List[int] = []
        self._token: List[int] = []
        self._parts: Dict[int, Tuple[int, ...]] = {}
        self._symbols: Dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._parent)

    def new(self, token: int) -> int:
        """An axis that is nobody else's yet."""
        self._parent.append(len(self._parent))
        self._token.append(token)
        return len(self._parent) - 1

    def root(self, axis: int) -> int:
        """The axis that stands for all that were unified with `axis`."""
        while self._parent[axis] != axis:
            self._parent[axis] = self._parent[self._parent[axis]]
            axis = self._parent[axis]
        return axis

    def size(self, axis: int) -> int:
        """Size of an axis, or the symbol that stands for all symbols found equal to its own."""
        return self.resolved(self._token[self.root(axis)])

    def resolved(self, token: int) -> int:
        """A size itself, and of a symbol what it was found equal to."""
        while token in self._symbols:
            token = self._symbols[token]
        return token

    def leaves(self, axis: int) -> List[int]:
        """The axes, outermost first, whose product `axis` is; itself when it was never cut."""
        root = self.root(axis)
        parts = self._parts.get(root)
        if parts is None:
            return [root]
        return [leaf for part in parts for leaf in self.leaves(part)]

    def unify(self, left: int, right: int) -> None:
        """Make two axes one."""
        keep, drop = self.root(left), self.root(right)
        if keep == drop:
            return
        sizes = (self.size(keep), self.size(drop))
        if min(sizes) >= 0 and sizes[0] != sizes[1]:
            raise Unsupported("dims %d and %d differ" % sizes, code="SHAPE")
        if keep in self._parts and drop in self._parts:
            self.match(self.leaves(keep), self.leaves(drop))
        elif drop in self._parts:
            keep, drop = drop, keep
        if keep in self._parts and drop in self.leaves(keep):
            raise Unsupported("a dim would be a part of itself", code="RESHAPE")
        self._parts.pop(drop, None)
        self._parent[drop] = keep
        self._token[keep] = max(sizes)
        if sizes[0] != sizes[1]:
            self._symbols[min(sizes)] = max(sizes)

    def match(self, left: Sequence[int], right: Sequence[int]) -> None:
        """Cut and unify the axes of two row-major walks over the same elements."""
        ours = [leaf for axis in left for leaf in self.leaves(axis)]
        theirs = [leaf for axis in right for leaf in self.leaves(axis)]
        for end in (-1, 0):
            while ours and theirs and self.size(ours[end]) == self.size(theirs[end]):
                self.unify(ours.pop(end), theirs.pop(end))
        if ours or theirs:
            self.measured = True
            _Cut(self, ours, theirs).run()

    def cut(self, axis: int, parts: Sequence[int]) -> None:
        """`axis`, which was never cut, is the product of `parts`."""
        if len(parts) == 1:
            self.unify(axis, parts[0])
        else:
            self._parts[self.root(axis)] = tuple(parts)


class _Cut:
    """One match: walks both lists from the innermost axis, cutting the larger at the smaller."""

    def __init__(self, table: AxisTable, left: List[int], right: List[int]):
        self._table = table
        self._sides = (left, right)
        self._sizes = tuple([table.size(axis) for axis in side] for side in self._sides)
        self._parts: Dict[int, List[int]] = {}
        if len(set(left + right)) != len(left + right):
            raise Unsupported("a dim would be a part of itself", code="RESHAPE")

    def run(self) -> None:
        left, right = self._sizes
        while left and right and min(left[-1], right[-1]) >= 0:
            self._cut_innermost()
        if left or right:
            self._join_rest()
        for axis, parts in self._parts.items():
            self._table.cut(axis, parts)

    def _cut_innermost(self) -> None:
        sizes = [side[-1] for side in self._sizes]
        small, large = min(sizes), max(sizes)
        if small == 0 or large % small:
            raise Unsupported("dims %d and %d have no common parts" % (small, large),
                              code="RESHAPE")
        part = self._table.new(small)
        for axes, rest in zip(self._sides, self._sizes):
            self._parts.setdefault(axes[-1], []).insert(0, part)
            rest[-1] //= small
            if rest[-1] == 1:
                axes.pop()
                rest.pop()

    def _join_rest(self) -> None:
        """The one axis left on a side, with a size of run time, is the product of the rest."""
        single = [number for number, axes in enumerate(self._sides)
                  if len(axes) == 1 and axes[0] not in self._parts]
        lone: Optional[int] = next((n for n in single if self._sizes[n][0] < 0), None)
        if lone is None or not self._sides[1 - lone]:
            raise Unsupported("run-time sizes do not tell which dims it merges or splits",
                              code="RESHAPE")
        pieces: List[int] = []
        for axis, size in zip(self._sides[1 - lone], self._sizes[1 - lone]):
            if axis in self._parts:
                piece = self._table.new(size)
                self._parts[axis].insert(0, piece)
            else:
                piece = axis
            pieces.append(piece)
        self._parts[self._sides[lone][0]] = pieces


def leads(after: Dict[int, Set[int]], first: int, second: int) -> bool:
    """Whether `second` stands behind `first`, or is it; `after` has the direct followers."""
    seen = {first}
    stack = [first]
    while stack:
        axis = stack.pop()
        if axis == second:
            return True
        stack.extend(after[axis] - seen)
        seen |= after[axis]
    return False


def topological(after: Dict[int, Set[int]]) -> List[int]:
    """All axes, each before its followers."""
    waiting = dict.fromkeys(after, 0)
    for followers in after.values():
        for axis in followers:
            waiting[axis] += 1
    order: List[int] = []
    ready = [axis for axis in after if waiting[axis] == 0]
    while ready:
        axis = ready.pop(0)
        order.append(axis)
        for follower in sorted(after[axis]):
            waiting[follower] -= 1
            if waiting[follower] == 0:
                ready.append(follower)
    return order
