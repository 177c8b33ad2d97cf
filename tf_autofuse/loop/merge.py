"""Axis merging: neighbours that every tensor walks as one become one axis.

    in0 [a0, a1], in1 [a2], value [a0, a1, a2]   ->   in0 [m0], in1 [m1], value [m0, m1]

Two neighbours merge when every domain, load, store and reduction has both or neither, none of
them is a `maybe` axis, and every load steps from one to the other as if they were one. Fewer axes
mean longer vectors and one kernel for more ranks. What windows did to a load is left to the
run-time table; only marks of them stay.
"""
from __future__ import annotations

from dataclasses import replace
from typing import Any, Dict, List, Set, Tuple

from tf_autofuse.loop.ir import Count, Dim, Load, LoopKernel, Place, Reduce, Store, Value


def merge_axes(kernel: LoopKernel) -> Tuple[LoopKernel, Tuple[int, ...]]:
    """The merged kernel, and for each old axis the index of the new axis it became part of.

    A kernel with axes keeps at least one. Loads and stores lose their dims of size 1: layout is
    dense, so such a dim carries nothing once the sizes are bound.
    """
    groups: List[int] = []
    for index in range(len(kernel.axes)):
        joined = index > 0 and _mergeable(kernel, kernel.axes[index - 1], kernel.axes[index])
        groups.append(groups[-1] if joined else (groups[-1] + 1 if groups else 0))
    names = {axis: "m%d" % group for axis, group in zip(kernel.axes, groups)}
    merged = LoopKernel(
        kernel.inputs,
        kernel.outputs,
        _rename(kernel.axes, names),
        tuple(_rename_value(value, names) for value in kernel.body),
        tuple(Store(s.output, s.value, _rename_dims(s.dims, names)) for s in kernel.stores),
        repeats=kernel.repeats,
    )
    return merged, tuple(groups)


def _mergeable(kernel: LoopKernel, left: str, right: str) -> bool:
    if {left, right} & set(kernel.maybe_axes):
        return False
    return all((left in axes) == (right in axes) for axes in _axis_sets(kernel)) and all(
        _side_by_side(value.dims, left, right)
        for value in kernel.body if isinstance(value, Load) and value.moved
    )


def _side_by_side(dims: Tuple[Dim, ...], left: str, right: str) -> bool:
    """Whether the two axes of a load lie like one: the left one in its steps, the right whole."""
    places = [place for place, dim in enumerate(dims) if dim.axis in (left, right)]
    if not places:
        return True
    first, second = dims[places[0]], dims[places[-1]]
    return (
        first.axis == left
        and all(dim.axis is None for dim in dims[places[0] + 1:places[-1]])
        and not first.loose
        and second.plain
    )


def _axis_sets(kernel: LoopKernel) -> List[Set[str]]:
    sets: List[Set[str]] = []
    for value in kernel.body:
        sets.append(set(value.axes))
        if isinstance(value, (Count, Reduce)):
            sets.append(set(value.over))
        if isinstance(value, Place):
            sets.append({value.axis})
    sets += [set(store.axes) for store in kernel.stores]
    return [axes for axes in sets if axes]


def _rename(axes: Tuple[str, ...], names: Dict[str, str]) -> Tuple[str, ...]:
    return tuple(dict.fromkeys(names[axis] for axis in axes))


def _rename_dims(dims: Tuple[Dim, ...], names: Dict[str, str]) -> Tuple[Dim, ...]:
    return tuple(dict.fromkeys(
        replace(dim, axis=names[dim.axis], windows=(), joined=False)
        for dim in dims if dim.axis is not None
    ))


def _rename_value(value: Value, names: Dict[str, str]) -> Value:
    changes: Dict[str, Any] = {"axes": _rename(value.axes, names)}
    if isinstance(value, Load):
        changes["dims"] = _rename_dims(value.dims, names)
        changes["at"] = tuple((names[axis], place) for axis, place in value.at)
    if isinstance(value, Place):
        changes["axis"] = names[value.axis]
    if isinstance(value, (Count, Reduce)):
        changes["over"] = _rename(value.over, names)
    return replace(value, **changes)
