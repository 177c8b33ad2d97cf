"""Parts of lowered tensors: a view of a computed value is computed from views of what it reads.

    y = f(x), z = y[1:-1]    ->    z = f(x[1:-1])

The values of `z` are those of `y` with other loads. What does not vary along a dim that the view
changes is shared between the two.
"""
from __future__ import annotations

from typing import Any, Dict, NamedTuple, Optional, Tuple

from tf_autofuse.errors import Unsupported
from tf_autofuse.loop.ops import REFUSING
from tf_autofuse.loop.windows import Walk, Window, narrow


class Part(NamedTuple):
    """The axis (None: one element) that replaces another one, and the window that it walks."""

    axis: Optional[int]
    window: Window


WHOLE = Window("slice")


def take(low: Any, tensor: Any, parts: Dict[int, Part]) -> Any:
    """The tensor with the dims at some positions replaced by parts of them; Unsupported (code
    MOVE) where its values cannot be computed for the part alone."""
    wanted = {
        low.axes.root(tensor.dims[position]): part
        for position, part in parts.items() if tensor.dims[position] is not None
    }
    dims = tuple(
        parts[position].axis if position in parts else axis
        for position, axis in enumerate(tensor.dims)
    )
    value = Taker(low).value(tensor.value, wanted)
    return tensor._replace(value=value, dims=dims)


class Taker:
    """Computes values along other axes, or parts of axes, than they have."""

    def __init__(self, low: Any):
        self._low = low
        self._known: Dict[Tuple[int, Tuple[int, ...]], int] = {}

    def value(self, index: int, parts: Dict[int, Part]) -> int:
        """The value with the axes in `parts` (by root) replaced."""
        node = self._low.node(index)
        parts = self._varying(node, parts)
        if not parts:
            return index
        key = (index, tuple(sorted(parts)))
        if key not in self._known:
            self._known[key] = self._make(node, parts)
        return self._known[key]

    def _varying(self, node: Any, parts: Dict[int, Part]) -> Dict[int, Part]:
        """The parts of axes that a value varies along."""
        table = self._low.axes
        found = {}
        for axis in node.axes:
            root = table.root(axis)
            if root in parts:
                found[root] = parts[root]
            elif any(set(table.leaves(axis)) & set(table.leaves(other)) for other in parts):
                raise Unsupported("takes part of a dim that a reshape cuts", node=node.origin,
                                  code="MOVE")
        return found

    def _make(self, node: Any, parts: Dict[int, Part]) -> int:
        low = self._low
        if node.kind == "load":
            return self._load(node, parts)
        if node.kind == "index":
            return self._index(node, parts)
        if node.kind == "inside":
            return self._inside(node, parts)
        if node.kind == "place":  # an index that nobody looks at may be wrong, too
            raise Unsupported("takes part of what was gathered", node=node.origin, code="MOVE")
        if node.kind == "reduce":
            over = {low.axes.root(axis) for axis in node.data}
            parts = {axis: part for axis, part in parts.items() if axis not in over}
        args = tuple(self.value(arg, parts) for arg in node.args)
        return low.append(node._replace(args=args, axes=self._axes(node, parts)))

    def _axes(self, node: Any, parts: Dict[int, Part]) -> Tuple[int, ...]:
        replaced = [self._part(axis, parts).axis for axis in node.axes]
        return tuple(axis for axis in replaced if axis is not None)

    def _part(self, axis: Optional[int], parts: Dict[int, Part]) -> Part:
        root = None if axis is None else self._low.axes.root(axis)
        return parts.get(root, Part(axis, WHOLE))  # type: ignore[arg-type]

    def _load(self, node: Any, parts: Dict[int, Part]) -> int:
        dims = []
        when = tuple(self.value(guard, parts) for guard in node.args)
        for axis, maybe, windows in node.data[1]:
            part = self._part(axis, parts)
            if part.window is not WHOLE:
                if maybe:
                    raise Unsupported("takes part of a dim that may be broadcast",
                                      node=node.origin, code="RUNTIME_BROADCAST")
                windows = windows + (part.window,)
            dims.append((part.axis, maybe, windows))
        if any(self._low.node(guard).kind == "const" for guard in when):
            raise Unsupported("takes one element of a dim that was padded", node=node.origin,
                              code="MOVE")
        return self._low.load_again(node, tuple(dims), when)

    def _index(self, node: Any, parts: Dict[int, Part]) -> int:
        """first + step * coordinate"""
        low = self._low
        part = self._part(node.data, parts)
        first = part.window.first or 0
        if part.window.kind not in ("slice", "from") or first < 0 or part.axis is None or (
                part.window.step < 0 and part.window.first is None):
            raise Unsupported("takes part of a coordinate", node=node.origin, code="MOVE")
        index = node._replace(axes=(part.axis,), data=part.axis)
        for op, number in (("mul", part.window.step), ("add", first)):
            constant = node._replace(kind="const", axes=(), data=number)
            args = (low.append(index), low.append(constant))
            index = node._replace(kind="map", op=op, args=args, data=None, axes=index.axes)
        return low.append(index)

    def _inside(self, node: Any, parts: Dict[int, Part]) -> int:
        """The interval in the coordinates of the part."""
        axis, before, behind = node.data
        part, size = self._part(axis, parts), self._low.size(axis)
        if size < 0:
            raise Unsupported("takes part of a padded dim of unknown size", node=node.origin,
                              code="MOVE")
        at = narrow(Walk(size, low=before, high=size - behind), part.window)
        first, last = at.inside
        if part.axis is None:
            return self._low.append(node._replace(kind="const", axes=(), data=first < last))
        data = (part.axis, first, at.size - last)
        return self._low.append(node._replace(axes=(part.axis,), data=data))



def guard(low: Any, tensor: Any, inside: Any, position: int) -> Any:
    """The tensor with loads that read nothing where `inside` is false, a condition along the dim
    at `position`: those that walk along the dim, or all if none does."""
    axis = low.axes.root(tensor.dims[position])
    varies = axis in {low.axes.root(a) for a in low.node(tensor.value).axes}
    value = _Guard(low, inside.value, axis, varies).value(tensor.value)
    return tensor._replace(value=value)


class _Guard:
    def __init__(self, low: Any, inside: int, axis: int, varying: bool):
        self._low, self._inside, self._axis, self._varying = low, inside, axis, varying
        self._known: Dict[int, int] = {}

    def value(self, index: int) -> int:
        """The value with its loads guarded."""
        if index not in self._known:
            self._known[index] = self._make(index)
        return self._known[index]

    def _make(self, index: int) -> int:
        low = self._low
        node = low.node(index)
        if node.kind == "load":
            walks = self._axis in {low.axes.root(axis) for axis in node.axes}
            if self._varying and not walks:
                return index
            return low.load_again(node, node.data[1], node.args + (self._inside,))
        args = tuple(self.value(arg) for arg in node.args)
        if args == node.args:
            return index
        if node.op in REFUSING or node.kind == "place":
            raise Unsupported("%s may fail where there is nothing to read" % (node.op or node.kind),
                              node=node.origin, code="MOVE")
        axes = node.axes
        if self._axis not in {low.axes.root(axis) for axis in axes}:
            axes = axes + (self._axis,)
        return low.append(node._replace(args=args, axes=axes))
