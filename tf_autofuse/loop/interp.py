"""Numpy interpreter of the loop IR: the definition of what a kernel computes.

bfloat16 has no numpy type: at the boundary it is a uint16 array of the bit patterns, inside a
float32 array that holds only bfloat16 values.
"""
from __future__ import annotations

from contextlib import contextmanager
from typing import Any, Dict, Iterator, List, Optional, Sequence

import numpy as np

from tf_autofuse.loop.functions import trunc_div
from tf_autofuse.loop.ir import (
    PARTS,
    Const,
    Count,
    Index,
    Inside,
    Load,
    LoopKernel,
    Map,
    Place,
    Reduce,
    Store,
    Value,
    whole_dims,
)
from tf_autofuse.loop.ops import INTS, MAP_OPS, NARROW_FLOATS, REDUCE_OPS
from tf_autofuse.loop.spec import SpecDim, table_row

_INSIDE: Dict[str, str] = {"bfloat16": "float32"}


@contextmanager
def extended() -> Iterator[None]:
    """Inside, float64 is taken, computed and given as numpy's longdouble: a reference for it.

    Of no use for operations that look at bits, and no more exact where longdouble is a double.
    """
    _INSIDE["float64"] = "longdouble"
    try:
        yield
    finally:
        del _INSIDE["float64"]


def storage_dtype(dtype: str) -> np.dtype:
    """numpy type of a tensor in memory (bfloat16: uint16)."""
    return np.dtype("uint16" if dtype == "bfloat16" else dtype)


def compute_dtype(dtype: str) -> np.dtype:
    """numpy type of a value inside the interpreter (bfloat16: float32)."""
    return np.dtype(_INSIDE.get(dtype, dtype))


def decode(array: np.ndarray, dtype: str) -> np.ndarray:
    """Memory form to interpreter form."""
    if dtype != "bfloat16":
        return array
    return (array.astype(np.uint32) << 16).view(np.float32)


def _loaded(array: np.ndarray, dtype: str) -> np.ndarray:
    return decode(array, dtype).astype(compute_dtype(dtype), copy=False)


def encode(array: np.ndarray, dtype: str) -> np.ndarray:
    """Interpreter form to memory form; float32 is rounded to nearest even for bfloat16."""
    if dtype != "bfloat16":
        return array.astype(compute_dtype(dtype))
    bits = np.ascontiguousarray(array, np.float32).view(np.uint32)
    rounded = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    coded = np.where(np.isnan(array), np.uint16(0x7FC0) | (bits >> 31 << 15), rounded)
    return coded.astype(np.uint16).reshape(np.shape(array))


def run(
    kernel: LoopKernel, inputs: Sequence[np.ndarray], sizes: Dict[str, int],
    table: Optional[Sequence[int]] = None,
) -> List[np.ndarray]:
    """Outputs of the kernel on `inputs` (memory form) with the given axis sizes.

    Each input has the shape its load's dims give: the axis size, 1 for an absent axis, either for
    a `maybe` dim, any where there are windows. `table` is the run-time table; it may be left out
    where shapes and windows say it all. Errors of shape are numpy's. Partial results have one part.
    """
    sizes = dict({PARTS: 1}, **sizes)
    env: Dict[str, np.ndarray] = {}
    rows = runtime_rows(kernel, table)
    with np.errstate(all="ignore"):
        for value in kernel.body:
            if isinstance(value, Load) and (value.moved or value.when):
                shape = np.shape(inputs[value.input])
                row = rows.get(value.input) or dense_row(kernel, value, shape, sizes)
                there = [env[name] for name in value.when]
                places = {axis: env[name] for axis, name in value.at}
                array = move(value, inputs[value.input], row, kernel.axes, sizes, there, places)
                env[value.name] = _loaded(array, value.dtype)
            elif isinstance(value, Inside):
                env[value.name] = inside_of(kernel, value, sizes, table)
            else:
                env[value.name] = _evaluate(kernel, value, env, inputs, sizes)
    outputs: List[np.ndarray] = [np.empty(0)] * len(kernel.outputs)
    for store in kernel.stores:
        if store.output < len(outputs):
            outputs[store.output] = _store(kernel, store, env[store.value], sizes)
    return outputs


def runtime_rows(
    kernel: LoopKernel, table: Optional[Sequence[int]]
) -> Dict[int, List[int]]:
    """The run-time table cut into its rows, by input; none without a table."""
    rows: Dict[int, List[int]] = {}
    at = 0
    for load in kernel.runtime_loads if table is not None else ():
        width = len(kernel.sized_axes) + 1
        rows[load.input] = [int(number) for number in (table or ())[at:at + width]]
        at += width
    return rows


def inside_of(
    kernel: LoopKernel, value: Inside, sizes: Dict[str, int], table: Optional[Sequence[int]]
) -> np.ndarray:
    """An interval as an array over the kernel axes (1 where it does not vary)."""
    (axis,), size = value.axes, sizes[value.axes[0]]
    if kernel.intervals:
        before, behind = kernel.intervals[value.number]
        first, last = before, size - behind
    else:
        ends = [int(number) for number in table or ()][-2 * len(kernel.insides):]
        first, last = ends[2 * value.number:2 * value.number + 2]
    points = np.arange(size)
    shape = [-1 if other == axis else 1 for other in kernel.axes]
    return ((points >= first) & (points < last)).reshape(shape)


def dense_row(
    kernel: LoopKernel, load: Load, shape: Sequence[int], sizes: Dict[str, int]
) -> List[int]:
    """The row of a load that shapes and windows tell."""
    numbers = {axis: number for number, axis in enumerate(kernel.axes)}
    if not load.moved:  # dense over its axes, merged or not
        shape = [sizes[axis] for axis in load.walked]
        whole = [SpecDim((numbers[axis],)) for axis in load.walked]
        return table_row(whole, shape, [sizes[a] for a in kernel.axes], range(len(numbers)))
    dims = [SpecDim(tuple(numbers[d.axis] for d in factors if d.axis is not None),
                    factors[0].maybe, factors[0].windows) for factors in whole_dims(load.dims)]
    return table_row(dims, shape, [sizes[axis] for axis in kernel.axes], range(len(numbers)))


def move(
    load: Load, array: np.ndarray, row: Sequence[int], axes: Sequence[str], sizes: Dict[str, int],
    guards: Sequence[np.ndarray] = (), places: Optional[Dict[str, np.ndarray]] = None,
) -> np.ndarray:
    """A moved load as an array over `axes` (1 where it does not vary), in memory form; it reads
    nothing where one of `guards` is false. `places` are coordinates along axes."""
    flat = np.ascontiguousarray(array).reshape(-1)
    where: np.ndarray = np.full([1] * len(axes), row[len(axes)], np.int64)
    there: np.ndarray = np.ones([1] * len(axes), bool)
    for at, axis in enumerate(axes):
        if axis in load.walked:
            points = np.arange(sizes[axis])
            where = where + points.reshape([-1 if i == at else 1 for i in range(len(axes))]) * (
                row[at])
        elif places and axis in places:
            where = where + places[axis] * row[at]
    for guard in guards:
        there = there & guard
    shape = np.broadcast(where, there).shape
    there = np.broadcast_to(there, shape)
    result = np.zeros(shape, flat.dtype)
    result[there] = flat[np.broadcast_to(where, shape)[there]]
    return result


def _evaluate(kernel: LoopKernel, value: Value, env, inputs, sizes) -> np.ndarray:
    """Every value is an array with one dimension per kernel axis (1 where it does not vary)."""
    rank = len(kernel.axes)
    if isinstance(value, Load) and value.input >= len(kernel.inputs):
        number = value.input - len(kernel.inputs) + len(kernel.outputs)
        return env[next(store.value for store in kernel.stores if store.output == number)]
    if isinstance(value, Load):
        shape = [1] * rank
        array = np.asarray(inputs[value.input])
        for factors, size in zip(whole_dims(value.dims), array.shape):
            for dim in factors:
                if dim.axis is not None:
                    whole = len(factors) == 1
                    shape[kernel.axes.index(dim.axis)] = size if whole else sizes[dim.axis]
        return _loaded(array.reshape(shape), value.dtype)
    if isinstance(value, Const):
        return np.full([1] * rank, value.value, compute_dtype(value.dtype))
    if isinstance(value, Count):
        count: Any = np.prod([sizes[axis] for axis in value.over], dtype=np.int64)
        return np.full([1] * rank, count.astype(value.dtype))
    if isinstance(value, Index):
        at = kernel.axes.index(value.axes[0])
        points = np.arange(sizes[value.axes[0]], dtype=value.dtype)
        return points.reshape([-1 if axis == at else 1 for axis in range(rank)])
    operands = [env[name] for name in value.args]
    if isinstance(value, Place):
        size, coordinates = sizes[value.axis], operands[0]
        if np.any((coordinates < 0) | (coordinates >= size)):
            raise IndexError("a coordinate is not in [0, %d)" % size)
        return coordinates
    if isinstance(value, Reduce):
        return _reduce(kernel, value, operands[0], sizes)
    assert isinstance(value, Map)
    return _map(value, operands, kernel)


def _map(value: Map, operands, kernel: LoopKernel) -> np.ndarray:
    if value.op == "cast":
        return cast(operands[0], kernel.value(value.operands[0]).dtype, value.dtype)
    if value.op == "bitcast":
        bits = encode(operands[0], kernel.value(value.operands[0]).dtype)
        return decode(bits.view(storage_dtype(value.dtype)), value.dtype)
    function = MAP_OPS[value.op].numpy
    if value.op in ("max", "min"):
        return function(*operands, narrow=value.dtype in NARROW_FLOATS)
    return np.asarray(function(*operands)).astype(compute_dtype(value.dtype), copy=False)


def cast(array: np.ndarray, source: str, target: str) -> np.ndarray:
    """TensorFlow's Cast: to bool is `!= 0`, float to integer truncates, narrowing rounds to even.

    Floats outside the range of the integer type give its lowest value, as x86 conversions do for
    32 and 64 bits.
    """
    if target == "bool":
        return array != 0
    if target == "bfloat16":
        return decode(encode(array.astype(np.float32), target), target)
    if target in INTS and array.dtype.kind == "f":
        wide = np.int64 if target in ("int64", "uint64", "uint32") else np.int32
        limits = np.iinfo(wide)
        inside = (array >= limits.min) & (array < -float(limits.min))
        safe = np.where(inside, array, 0).astype(np.float64)
        return np.where(inside, np.trunc(safe).astype(wide), limits.min).astype(target)
    return array.astype(compute_dtype(target))


def _reduce(kernel: LoopKernel, value: Reduce, operand: np.ndarray, sizes) -> np.ndarray:
    shape = list(operand.shape)
    for axis in value.over:
        shape[kernel.axes.index(axis)] = sizes[axis]
    positions = tuple(kernel.axes.index(axis) for axis in value.over)
    full = np.broadcast_to(operand, shape)
    op = REDUCE_OPS[value.op]
    kind = full.dtype
    if value.op in ("sum", "prod", "mean"):
        full = full.astype(np.promote_types(kind, "float64")) if kind.kind == "f" else full
        total = op.numpy(full, axis=positions, keepdims=True, dtype=full.dtype)
        count = float(np.prod([sizes[axis] for axis in value.counted or value.over]))
        if value.op == "mean":
            total = trunc_div(total, np.array(max(count, 1)).astype(kind)) if (
                kind.kind in "iu") else total / count
        return total.astype(kind)
    identity = np.array(op.identity(value.dtype)).astype(kind)
    return op.numpy(full, axis=positions, keepdims=True, initial=identity)


def _store(kernel: LoopKernel, store: Store, array: np.ndarray, sizes) -> np.ndarray:
    dtype = kernel.outputs[store.output].dtype
    axes = [dim.axis for dim in store.dims if dim.axis is not None]
    full = np.broadcast_to(array, [sizes[a] if a in axes else 1 for a in kernel.axes])
    shape = [
        int(np.prod([1 if dim.axis is None else sizes[dim.axis] for dim in factors]))
        for factors in whole_dims(store.dims)
    ]
    return encode(np.ascontiguousarray(full).reshape(shape), dtype)
