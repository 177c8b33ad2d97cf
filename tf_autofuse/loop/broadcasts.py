"""Which axis the operands of an element-wise operator share along one dim.

Sizes of run time that are not known to be equal may be a broadcast 1 each. The result then has an
axis of its own, as large as the largest of them, and loads along it have `maybe` dims. It knows
which axes it was made of: with one of these it is the same axis again.

    x [s] + y [t]            axis b of {s, t}: x [b?] + y [b?]
    f(x [s]) * y [t]         f(x [b?]) * y [b?]
    (x + y) [b] * x [s]      axis b
    (x + y) [b] * z [u]      axis c of {s, t, u}: (x [c?] + y [c?]) * z [c?]

A reshape to the shape of one of the operands has as many elements as the result, so nothing was
repeated along its dims: the axis is that of the operand.

    reshape((x + y) [b], [s])          x [s] + y [s?]
"""
from __future__ import annotations

from typing import Any, Dict, FrozenSet, List, Optional, Sequence, Set, Tuple

from tf_autofuse.errors import Unsupported
from tf_autofuse.loop.finish import GUEST
from tf_autofuse.loop.moving import WHOLE, Part, Taker

Operands = Sequence[Tuple[int, Any]]
"""Numbers of operands, and the axis that each of them has along a dim."""


class Broadcasts:
    """The axes of a lowering that stand for the largest of several sizes.

    Methods take the lowering `low`: it owns this, and objects that own each other are not freed
    while a pass keeps garbage collection off.
    """

    def __init__(self) -> None:
        self._made: Dict[FrozenSet[int], int] = {}
        self._hosts: List[Tuple[int, Set[int]]] = []  # a settled axis, the sizes that tell its own

    def join(self, low: Any, args: List[Any], position: int, here: Operands) -> int:
        """One axis for the operands that vary along `position`; `args` become what has it."""
        first = here[0][1]
        tokens = {low.size(axis) for _, axis in here}
        if len(tokens) == 1:
            for _, axis in here[1:]:
                low.unify(first, axis)
            return first
        known = sorted(token for token in tokens if token >= 0)
        if len(known) > 1:
            sizes = " and ".join(str(size) for size in known)
            raise low.refused("SHAPE", "dims %s differ" % sizes)
        exact = [axis for _, axis in here if low.size(axis) in known]
        if not known:
            exact = self._largest(low, [axis for _, axis in here])
        axis = exact[0] if exact else self._new(low, [axis for _, axis in here])
        for number, other in here:
            if other in exact:
                low.unify(axis, other)
            else:
                args[number] = _widened(low, args[number], position, axis)
        return axis

    def name_sizes(self, low: Any, dims: Sequence[Optional[int]],
                   sizes: Optional[Sequence[int]]) -> None:
        """Axes of a result that were made here have the `sizes` by which the graph knows them."""
        if not self._made or sizes is None or len(sizes) != len(dims):
            return
        made = {low.axes.root(axis) for axis in self._made.values()}
        for axis, size in zip(dims, sizes):
            if axis is not None and low.axes.root(axis) in made and size < 0:
                low.unify(axis, low.new_axis(size))

    def settle(self, low: Any, before: Sequence[int], after: Sequence[int]) -> None:
        """A reshape from the axes `before` to `after`: those of a broadcast are those of its
        operands that are asked for. The others are guests, which the launch refuses if they are
        larger; but for a tensor without elements, which has as many whatever its other dims."""
        pairs = list(zip(before, after))
        if len(before) != len(after) or not all(
                low.size(new) == low.size(old) or self._sizes(low, new) <= self._sizes(low, old)
                for old, new in pairs):
            return
        for old, new in pairs:
            if low.size(old) != low.size(new):
                self._hosts.append((old, self._sizes(low, new)))
                low.axes.unify(old, new)

    def kind(self, low: Any, axis: int, size: int) -> int:
        """What a load is along `axis`, where its dim of `size` may be broadcast."""
        if size == low.size(axis):
            return False
        hosts = {low.axes.resolved(host) for other, sizes in self._hosts for host in sizes
                 if low.axes.root(other) == low.axes.root(axis)}
        return GUEST if hosts and size not in hosts else True

    def _members(self, low: Any, axis: int) -> Set[int]:
        """The axes, by root, of which `axis` is the largest."""
        size = low.size(axis)
        found = {low.axes.root(member) for members, made in self._made.items()
                 if low.size(made) == size for member in members}
        return found or {low.axes.root(axis)}

    def _sizes(self, low: Any, axis: int) -> Set[int]:
        """The sizes of which that of `axis` is the largest."""
        return {low.size(member) for member in self._members(low, axis)}

    def _largest(self, low: Any, axes: Sequence[int]) -> List[int]:
        """Those of `axes` that are as large as all of them together."""
        sizes = [self._sizes(low, axis) for axis in axes]
        return [axis for axis, own in zip(axes, sizes) if own == set().union(*sizes)]

    def _new(self, low: Any, axes: Sequence[int]) -> int:
        """The axis that is as large as all of `axes` together."""
        members = frozenset().union(  # type: FrozenSet[int]
            *[self._members(low, axis) for axis in axes])
        if members not in self._made:
            self._made[members] = low.new_axis(low.new_symbol())
        return self._made[members]


def _widened(low: Any, tensor: Any, position: int, axis: int) -> Any:
    """The tensor along `axis`, which is as large as its dim at `position` or broadcasts it."""
    old = tensor.dims[position]
    dims = tuple(axis if place == position else other for place, other in enumerate(tensor.dims))
    value = _Widener(low).value(tensor.value, {low.axes.root(old): Part(axis, WHOLE)})
    return tensor._replace(value=value, dims=dims)


class _Widener(Taker):
    """Computes values from loads whose dims may be broadcast."""

    def _load(self, node: Any, parts: Dict[int, Part]) -> int:
        layout = []
        for axis, maybe, windows in node.data[1]:
            part = self._part(axis, parts)
            if part.axis != axis and windows:
                raise self._refused(node, "a part of %s")
            layout.append((part.axis, maybe or part.axis != axis, windows))
        when = tuple(self.value(guard, parts) for guard in node.args)
        return self._low.load_again(node, tuple(layout), when)

    def _index(self, node: Any, parts: Dict[int, Part]) -> int:
        raise self._refused(node, "a coordinate of %s")

    def _inside(self, node: Any, parts: Dict[int, Part]) -> int:
        raise self._refused(node, "a padded dim of %s")

    def _refused(self, node: Any, text: str) -> Unsupported:
        said = "a run-time size decides whether %s is broadcast" % (text % node.origin)
        return self._low.refused("RUNTIME_BROADCAST", said)
