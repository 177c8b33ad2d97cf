"""A second form of CPU kernels whose operands may be broadcast.

A size that only the run decides may be that of the axis or 1, so such a load has a stride along
every axis, and a vector of it is gathered one by one; and results of operands whose sizes are not
known to be equal are loop nests of their own. Mostly nothing is broadcast. Then loads lie as their
axes do, what one tensor was loaded along is one axis, and neighbours are merged:

    %0 = load in0 [m0?, m2?]           %0 = load in0 [m0]
    %1 = load in1 [m0?, m2?]           %1 = load in1 [m0]
    %2 = mul %0 %1 [m0, m2]            %2 = mul %0 %1 [m0]
    %3 = load in2 [m1?, m3?]     ->    %3 = sub %0 %2 [m0]
    %4 = sub %3 %2 [m1, m3]            store out0 [m0] %2
    store out0 [m0, m2] %2             store out1 [m0] %3
    store out1 [m1, m3] %4             where in2 is in0, and the sizes are equal
"""
from __future__ import annotations

from dataclasses import replace
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

from tf_autofuse.errors import ScheduleError
from tf_autofuse.kernel.nest import build_nests, misfit, runtime_rows
from tf_autofuse.kernel.stage import staged
from tf_autofuse.loop.ir import (
    PARTS,
    Const,
    Count,
    Dim,
    Index,
    Load,
    LoopKernel,
    Map,
    Reduce,
    Store,
    Value,
    renamed,
)
from tf_autofuse.loop.merge import merge_axes
from tf_autofuse.loop.ops import INTS


class DenseForm(NamedTuple):
    """A kernel for operands that are as large as their axes. `products` says for each of its axes
    whose product it is, `equal` which axes have to be equal: axes of the kernel it was made of."""

    loop: LoopKernel
    products: Tuple[Tuple[str, ...], ...]
    equal: Tuple[Tuple[str, str], ...] = ()


def dense_form(loop: LoopKernel) -> Optional[DenseForm]:
    """The form for operands that are not broadcast; None if no operand may be."""
    rows = _broadcast_rows(loop)
    if not rows:
        return None
    body = [replace(value, dims=tuple(replace(dim, maybe=False, guest=False) for dim in value.dims))
            if isinstance(value, Load) and value.input in rows else value for value in loop.body]
    plain = replace(loop, body=tuple(body))
    return _joined(plain) or DenseForm(plain, tuple((axis,) for axis in loop.sized_axes))


def dense_test(loop: LoopKernel, form: DenseForm, size: Dict[str, str]) -> str:
    """A C++ expression over run-time strides and sizes: whether the form may run."""
    tests: List[str] = ["%s == %s" % (size[one], size[other]) for one, other in form.equal]
    rows = runtime_rows(loop)
    for number in sorted(_broadcast_rows(loop)):
        inner = ""
        for axis in reversed(rows[number].load.walked):
            tests.append("({0} == 1 || strides[{1}] == {2})".format(
                size[axis], rows[number].stride(axis), inner or "1"))
            inner = "%s%s" % (size[axis], inner and " * " + inner)
    return " && ".join(tests)


def _broadcast_rows(loop: LoopKernel) -> List[int]:
    """The inputs that have run-time strides for no other reason than a broadcast."""
    loads = [value for value in loop.body if isinstance(value, Load)]
    others = {load.input for load in loads if load.moved or load.at or any(
        dim.windows or dim.loose for dim in load.dims)}
    return sorted(set(runtime_rows(loop)) - others)


def _joined(loop: LoopKernel) -> Optional[DenseForm]:
    """The form with all axes joined that can be; None for a kernel that is not so simple."""
    simple = all(isinstance(value, (Load, Const, Count, Map, Reduce, Index)) for value in loop.body)
    loads = [value for value in loop.body if isinstance(value, Load)]
    if not simple or loop.temps or PARTS in loop.axes or any(
            load.moved or load.when or load.at for load in loads):
        return None
    same = _same_axes(loop)
    one = _with_axes(loop, same)
    if one is None:
        same = {axis: axis for axis in loop.axes}
        one = loop
    merged, groups = merge_axes(one)
    merged = staged(merged)
    if not _is_cut(merged):
        return None
    products = tuple(tuple(axis for axis, group in zip(one.axes, groups) if group == number)
                     for number in range(len(merged.sized_axes)))
    return DenseForm(merged, products,
                     tuple((axis, other) for axis, other in same.items() if axis != other))


def _is_cut(loop: LoopKernel) -> bool:
    """Whether nests find what is stored."""
    try:
        nests = build_nests(loop)
    except ScheduleError:
        return False
    return not loop.temps and all(misfit(loop, nest) is None for nest in nests)


def _same_axes(loop: LoopKernel) -> Dict[str, str]:
    """For each axis the first one that a tensor is loaded along at the same place."""
    loads = {value.input: value for value in loop.body if isinstance(value, Load)}
    same = {axis: axis for axis in loop.axes}

    def first(axis: str) -> str:
        return axis if same[axis] == axis else first(same[axis])

    for number, other in loop.repeats:
        # Where these are of one size each, the elements lie alike, however dims were merged.
        for one, two in zip(loads[number].walked, loads[other].walked):
            low, high = sorted((first(one), first(two)), key=loop.axes.index)
            same[high] = low
    return {axis: first(axis) for axis in loop.axes}


def _with_axes(loop: LoopKernel, same: Dict[str, str]) -> Optional[LoopKernel]:
    """The kernel along the axes that `same` names; None where two axes of a value would be one, or
    stand in another order."""
    axes = tuple(axis for axis in loop.axes if same[axis] == axis)

    def along(names: Sequence[str]) -> Tuple[str, ...]:
        found = {same[name] for name in names}
        if len(found) != len(names):
            raise ScheduleError("two axes are one")
        return tuple(axis for axis in axes if axis in found)

    def lying(dims: Tuple[Dim, ...]) -> Tuple[Dim, ...]:
        found = tuple(dim if dim.axis is None else replace(dim, axis=same[dim.axis])
                      for dim in dims)
        walked = tuple(dim.axis for dim in found if dim.axis is not None)
        if along(walked) != walked:
            raise ScheduleError("axes in two orders")
        return found

    body = _Distinct({other: first for first, other in loop.repeats})
    try:
        for value in loop.body:
            value = replace(value, axes=along(value.axes))
            if isinstance(value, Load):
                value = replace(value, dims=lying(value.dims))
            elif isinstance(value, Count):
                value = replace(value, over=along(value.over))
            elif isinstance(value, Reduce):
                value = replace(value, over=along(value.over), counted=along(value.counted))
            body.add(value)
        stores = [Store(store.output, body.names[store.value], lying(store.dims), store.stage)
                  for store in loop.stores]
    except ScheduleError:
        return None
    return replace(loop, axes=axes, body=tuple(body.values.values()), stores=tuple(stores))


class _Distinct:
    """Values, each once; `names` has the name under which a value is found now."""

    def __init__(self, repeats: Dict[int, int]) -> None:
        self.values: Dict[str, Value] = {}
        self.names: Dict[str, str] = {}
        self._repeats = repeats
        self._known: Dict[str, str] = {}

    def add(self, value: Value) -> None:
        self.names[value.name] = value.name
        value = self._folded(renamed(value, self.names))
        # repr keeps 0.0 and -0.0 apart.
        key = repr(replace(value, name="", origin=""))
        name = self.names[value.name] = self._known.setdefault(key, value.name)
        if name == value.name:
            self.values[name] = value

    def _folded(self, value: Value) -> Value:
        """x < x, by which a kernel makes zeros in the shape of x, is false."""
        if isinstance(value, Load):
            return replace(value, input=self._repeats.get(value.input, value.input))
        args = [self.values[name] for name in value.args]
        if isinstance(value, Reduce) and not set(value.over) <= set(args[0].axes):
            raise ScheduleError("reduces what does not vary")
        if not isinstance(value, Map):
            return value
        first = args[0]
        if value.op == "lt" and first is args[-1]:
            return Const(value.name, "bool", (), value.origin, False)
        if value.op == "cast" and isinstance(first, Const) and first.dtype == "bool":
            number = bool(first.value) if value.dtype == "bool" else (
                int(first.value) if value.dtype in INTS else float(first.value))
            return Const(value.name, value.dtype, (), value.origin, number)
        varying = {axis for arg in args for axis in arg.axes}
        return replace(value, axes=tuple(axis for axis in value.axes if axis in varying))
