"""Inputs and run-time tables for kernels whose shapes nobody knows any more, as in bundles."""
from typing import Dict, List, Optional, Sequence, Tuple

import numpy as np
from kernel_samples import random_array

from tf_autofuse.loop.ir import Const, Inside, Load, LoopKernel, Map, unit_axis


def random_inputs(
    loop: LoopKernel, sizes: Dict[str, int], seed: int = 0
) -> Tuple[List[np.ndarray], Optional[List[int]]]:
    """Inputs of the kernel and a run-time table that reads all over them.

    Strides of a moved load follow the order of its dims, with gaps and backwards where the
    structure leaves that open.
    """
    rng = np.random.RandomState(seed)
    ends = _intervals(loop, sizes)
    names = [value.name for value in loop.insides]
    arrays: Dict[int, np.ndarray] = {}
    rows: Dict[int, List[int]] = {}
    for load in (value for value in loop.body if isinstance(value, Load)):
        if load.input in arrays or load.input >= len(loop.inputs):
            continue
        if load.moved:
            inside = {loop.value(name).axes[0]: ends[names.index(name)] for name in load.when}
            row, length = _moved_row(rng, load, loop.sized_axes, sizes, inside)
            rows[load.input] = row
            shape: Sequence[int] = [length]
        else:
            shape = [1 if dim.axis is None else sizes[dim.axis] for dim in load.dims]
            if any(dim.maybe for dim in load.dims):
                rows[load.input] = _dense_row(load, loop.sized_axes, sizes)
        arrays[load.input] = random_array(rng, shape, load.dtype)
    table = [number for number in sorted(rows) for number in rows[number]]
    table += [end for pair in ends for end in pair]
    return [arrays[number] for number in range(len(loop.inputs))], table or None


def _intervals(loop: LoopKernel, sizes: Dict[str, int]) -> List[Tuple[int, int]]:
    """Ends of all intervals: those of a join follow one another, and share its axis. Pieces
    of which one is missing are those of an axis without points: all is inside of them."""
    found: List[Tuple[int, int]] = []
    group: List[Inside] = []
    for value in loop.insides:
        group.append(value)
        if not _goes_on(loop, value):
            size, count = sizes[value.axes[0]], max(2, len(group))
            found += [(size * at // count, size * (at + 1) // count) for at in range(len(group))]
            group = []
    return found + [(0, sizes[value.axes[0]]) for value in group]


def _goes_on(loop: LoopKernel, value: Inside) -> bool:
    """Whether another piece begins where the interval ends: it chooses between two tensors."""
    chosen = [v for v in loop.body if isinstance(v, Map) and v.op == "select"
              and v.operands[0] == value.name]
    return any(not isinstance(loop.value(v.operands[2]), Const) for v in chosen)


def _dense_row(load: Load, axes: Sequence[str], sizes: Dict[str, int]) -> List[int]:
    strides, pitch = dict.fromkeys(axes, 0), 1
    for dim in reversed(load.dims):
        if dim.axis is not None:
            strides[dim.axis] = pitch if sizes[dim.axis] != 1 else 0
            pitch *= sizes[dim.axis]
    return [strides[axis] for axis in axes] + [0]


def _moved_row(
    rng, load: Load, axes: Sequence[str], sizes: Dict[str, int], inside: Dict[str, Tuple[int, int]]
) -> Tuple[List[int], int]:
    """Strides and offset of a load, and the elements of the tensor; it reads `inside` only."""
    strides, pitch = dict.fromkeys(axes, 0), 1
    for dim in reversed(load.dims):
        if dim.axis is None:
            pitch *= 2
        else:
            step = 1 if dim.axis == unit_axis(load.dims) else int(rng.choice([1, 2, -1]))
            strides[dim.axis] = pitch * step
            pitch *= abs(step) * max(1, sizes[dim.axis]) + int(rng.randint(2))
    lowest = highest = 0
    for axis in load.walked:
        first, last = inside.get(axis, (0, sizes[axis]))
        reach = [strides[axis] * first, strides[axis] * max(first, last - 1)]
        lowest, highest = lowest + min(reach), highest + max(reach)
    return [strides[axis] for axis in axes] + [-lowest], highest - lowest + 1
