"""Axes of one point taken out of a loop kernel.

    %1 = load in0 [m0, m1]             %1 = load in0 [m1]
    %2 = sum %1 over m0 [m1]     ->    store out0 [m1] %1
    store out0 [m1] %2                 store out1 [m1] %1
    store out1 [m0, m1] %1

What is left finds the same numbers where these axes have the size 1: a reduction of one element is
that element (TensorFlow's is, too: it does not add it to zero), a broadcast along such an axis is
nothing, and the coordinate along it is 0.
"""
from __future__ import annotations

from dataclasses import replace
from typing import AbstractSet, Dict, List, Optional, Tuple

from tf_autofuse.loop.ir import (
    Const,
    Count,
    Dim,
    Index,
    Inside,
    Load,
    LoopKernel,
    Place,
    Reduce,
    Value,
    renamed,
)


def without_axes(loop: LoopKernel, ones: AbstractSet[str]) -> Optional[LoopKernel]:
    """The merged kernel `loop` where each of the axes `ones` has one point.

    Its axes keep their names and places, and so do the rows of the run-time table; nothing varies
    along `ones` any more. None where an interval or a computed place along one of them is asked
    for, or elements are neighbours along one of them as only the run-time table tells.
    """
    if any(_needs(value, ones) for value in loop.body):
        return None
    names: Dict[str, str] = {}
    body: List[Value] = []
    for value in loop.body:
        names[value.name] = value.name
        thin = replace(renamed(value, names), axes=_left(value.axes, ones))
        if isinstance(thin, Load):
            thin = replace(thin, dims=_left_dims(thin.dims, ones))
        elif isinstance(thin, Index) and not thin.axes:
            thin = Const(thin.name, thin.dtype, (), thin.origin, 0)
        elif isinstance(thin, Count):
            thin = replace(thin, over=_left(thin.over, ones))
        elif isinstance(thin, Reduce):
            thin = replace(thin, over=_left(thin.over, ones))
            if not thin.over:
                names[value.name] = thin.operand
                continue
        body.append(thin)
    stores = [replace(store, value=names[store.value], dims=_left_dims(store.dims, ones))
              for store in loop.stores]
    return replace(loop, body=tuple(body), stores=tuple(stores))


def _needs(value: Value, ones: AbstractSet[str]) -> bool:
    if isinstance(value, Load) and value.moved:
        return bool(value.dims) and value.dims[-1].axis in ones
    if isinstance(value, Inside):
        return bool(ones & set(value.axes))
    return isinstance(value, Place) and value.axis in ones


def _left(axes: Tuple[str, ...], ones: AbstractSet[str]) -> Tuple[str, ...]:
    return tuple(axis for axis in axes if axis not in ones)


def _left_dims(dims: Tuple[Dim, ...], ones: AbstractSet[str]) -> Tuple[Dim, ...]:
    return tuple(dim for dim in dims if dim.axis not in ones)
