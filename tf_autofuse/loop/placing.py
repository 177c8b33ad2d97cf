"""Lowered tensors at computed coordinates: a gather from a computed value is computed from gathers
of what it reads.

    y = f(x), z = y[places]    ->    z = f(x[places])
"""
from __future__ import annotations

from typing import Any, Dict, Tuple

from tf_autofuse.errors import Unsupported
from tf_autofuse.loop.ops import REFUSING
from tf_autofuse.loop.windows import Window

_ALL = Window("from", 0, None)


def at_places(low: Any, tensor: Any, position: int, places: Any) -> int:
    """The value of `tensor` where the coordinate along the dim at `position` is that of the int64
    tensor `places`; Unsupported (code MOVE) where it cannot be computed there alone."""
    axis = tensor.dims[position]
    placed = low.place(places, axis)
    return _Placer(low, low.axes.root(axis), placed.value).value(tensor.value)


class _Placer:
    def __init__(self, low: Any, axis: int, place: int):
        self._low, self._axis, self._place = low, axis, place
        self._known: Dict[int, int] = {}

    def value(self, index: int) -> int:
        """The value at the place; itself if it does not vary along the axis."""
        if index not in self._known:
            node = self._low.node(index)
            self._known[index] = self._make(node) if self._varies(node) else index
        return self._known[index]

    def _varies(self, node: Any) -> bool:
        table = self._low.axes
        if self._axis in {table.root(axis) for axis in node.axes}:
            return True
        leaves = set(table.leaves(self._axis))
        if any(leaves & set(table.leaves(axis)) for axis in node.axes):
            raise self._refused(node, "gathers along a dim that a reshape cuts")
        return False

    def _make(self, node: Any) -> int:
        low = self._low
        if node.kind == "load":
            return self._load(node)
        if node.kind == "index":
            place = low.node(self._place)
            if node.dtype == place.dtype:
                return self._place
            return low.append(node._replace(kind="map", op="cast", args=(self._place,),
                                            axes=place.axes, data=None))
        if node.kind not in ("map", "reduce") or node.op in REFUSING:
            raise self._refused(node, "gathers from what may read nothing, or fail")
        args = tuple(self.value(arg) for arg in node.args)
        axes = self._axes(node)
        if node.kind == "reduce":
            over = {low.axes.root(axis) for axis in node.data}
            if over & {low.axes.root(axis) for axis in axes}:
                raise self._refused(node, "gathers along an axis that is reduced")
        return low.append(node._replace(args=args, axes=axes))

    def _axes(self, node: Any) -> Tuple[int, ...]:
        kept = [axis for axis in node.axes if self._low.axes.root(axis) != self._axis]
        return tuple(dict.fromkeys(kept + list(self._low.node(self._place).axes)))

    def _load(self, node: Any) -> int:
        low = self._low
        args = [low.node(arg) for arg in node.args]
        if any(self._varies(arg) for arg in args):
            raise self._refused(node, "gathers from what was gathered or padded")
        layout = []
        for axis, maybe, windows in node.data[1]:
            if axis is not None and low.axes.root(axis) == self._axis:
                if maybe:
                    raise Unsupported("gathers along a dim that may be broadcast",
                                      node=node.origin, code="RUNTIME_BROADCAST")
                windows = windows or (_ALL,)
            layout.append((axis, maybe, windows))
        return low.load_again(node, tuple(layout), node.args + (self._place,))

    @staticmethod
    def _refused(node: Any, text: str) -> Unsupported:
        return Unsupported(text, node=node.origin, code="MOVE")
