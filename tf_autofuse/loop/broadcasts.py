"""Which axis the operands of an element-wise operator share along one dim.

Sizes of run time that are not known to be equal may be a broadcast 1 each. The result then has an
axis of its own, as large as the largest of them, and loads along it have `maybe` dims. It knows
which axes it was made of: with one of these it is the same axis again.

    x [s] + y [t]            axis b of {s, t}: x [b?] + y [b?]
    f(x [s]) * y [t]         f(x [b?]) * y [b?]
    (x + y) [b] * x [s]      axis b
    (x + y) [b] * z [u]      axis c of {s, t, u}: (x [c?] + y [c?]) * z [c?]
"""
from __future__ import annotations

from typing import Any, Dict, FrozenSet, List, Sequence, Set, Tuple

from tf_autofuse.errors import Unsupported
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

    def _members(self, low: Any, axis: int) -> Set[int]:
        """The axes, by root, of which `axis` is the largest."""
        root = low.axes.root(axis)
        found = {low.axes.root(member) for members, made in self._made.items()
                 if low.axes.root(made) == root for member in members}
        return found or {root}

    def _largest(self, low: Any, axes: Sequence[int]) -> List[int]:
        """Those of `axes` that are as large as all of them together."""
        sizes = [{low.size(member) for member in self._members(low, axis)} for axis in axes]
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
