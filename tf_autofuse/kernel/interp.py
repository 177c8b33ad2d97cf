"""Numpy interpreter of the kernel IR: blocks, walks, tiles and buffers as the schedule says.

Buffers that share a slot destroy each other's contents here too, so a wrong lifetime shows.
bfloat16 tensors are uint16 arrays in memory and float32 arrays in buffers.
"""
from __future__ import annotations

import itertools
from typing import Dict, List, Optional, Sequence, Tuple, Union

import numpy as np

from tf_autofuse.errors import IRError
from tf_autofuse.kernel.ir import (
    Accumulate,
    Broadcast,
    Compute,
    CopyIn,
    CopyOut,
    EdgeOf,
    Fill,
    Finish,
    Kernel,
    LoadPart,
    Loop,
    Placed,
    Points,
    Program,
    SizeOf,
    Step,
    StepScalar,
    StorePart,
    Sync,
    TileOf,
    read,
    walk_steps,
    written,
)
from tf_autofuse.kernel.layout import beside, task_order
from tf_autofuse.kernel.nest import table_names
from tf_autofuse.kernel.vector import CASTS, VECTOR_OPS
from tf_autofuse.loop.interp import (
    compute_dtype,
    decode,
    dense_row,
    encode,
    inside_of,
    move,
    runtime_rows,
    storage_dtype,
)
from tf_autofuse.loop.ir import PARTS, Load

Tile = Tuple[int, int]
PIECES_AT_ONCE = 2
"""Partial results that are combined at a time; on a chip it depends on the tile."""

_FOLD = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}


def run(
    kernel: Kernel,
    inputs: Sequence[np.ndarray],
    sizes: Dict[str, int],
    strides: Optional[Sequence[int]] = None,
    tiles: Optional[Sequence[Tile]] = None,
    variants: Optional[Sequence[int]] = None,
    parts: int = 3,
) -> List[np.ndarray]:
    """Outputs of the kernel for axis `sizes`; a dimension of size 1 is left out of output shapes.

    `strides` is the run-time table of the kernel interface (None: no input needs one); `tiles`
    gives (ty, tx) per nest (None: one tile holds the whole axes), `variants` the program of each
    nest of the form that runs for these sizes (None: the first). `parts` share a walk if it has as
    many tiles, for each takes one at least. IRError when a step reads a buffer that holds nothing.
    """
    if kernel.at(sizes) is not kernel:
        return _run_thin(kernel, inputs, sizes, strides, tiles, variants, parts)
    outputs = []
    sizes = dict(sizes, **{PARTS: parts})
    for number, param in enumerate(kernel.loop.targets):
        store = next(s for s in kernel.loop.stores if s.output == number)
        shape = [sizes[dim.axis] if dim.axis else 1 for dim in store.dims]
        outputs.append(np.zeros(shape, storage_dtype(param.dtype)))
    with np.errstate(all="ignore"):
        for number, programs in enumerate(kernel.variants):
            program = programs[variants[number] if variants is not None else 0]
            whole = (sizes.get(program.y or "", 1), sizes.get(program.x or "", 1))
            tile = tiles[number] if tiles is not None else whole
            views = _views(kernel, program, inputs, sizes, strides)
            machine = _Machine(kernel, program, views, outputs, sizes, tile, parts)
            ends = [int(n) for n in (strides or ())[-2 * len(kernel.loop.insides):]]
            machine.edges = list(zip(ends[::2], ends[1::2]))
            machine.run()
    return outputs[:len(kernel.loop.outputs)]


def _run_thin(kernel: Kernel, inputs, sizes, strides, *how) -> List[np.ndarray]:
    """The form for axes of one point, on arrays without these and its own run-time table."""
    form = kernel.at(sizes)
    ones = next(thin.ones for thin in kernel.thin if thin.kernel is form)
    if strides is not None:
        table = dict(zip(table_names(kernel.loop), strides))
        strides = [table[name] for name in table_names(form.loop)]
    arrays = list(inputs)
    for load in (v for v in kernel.loop.body if isinstance(v, Load) and not v.moved):
        if load.input < len(arrays):
            array = arrays[load.input]
            shape = [n for n, dim in zip(array.shape, load.dims) if dim.axis not in ones]
            arrays[load.input] = array.reshape(shape)
    outputs = run(form, arrays, sizes, strides, *how)
    for store in kernel.loop.stores:
        if store.output < len(outputs):
            shape = [sizes[dim.axis] if dim.axis else 1 for dim in store.dims]
            outputs[store.output] = outputs[store.output].reshape(shape)
    return outputs


def _views(
    kernel: Kernel, program: Program, inputs, sizes: Dict[str, int], table
) -> List[np.ndarray]:
    """Each input as an array over all kernel axes, walked by strides."""
    axes = kernel.loop.axes
    rows = runtime_rows(kernel.loop, table)
    copies = {s.input: s for s in walk_steps(program.steps) if isinstance(s, CopyIn)}
    guards = [inside_of(kernel.loop, value, sizes, table) for value in kernel.loop.insides]
    views: List[np.ndarray] = [np.empty(0)] * len(inputs)
    # What is read at places comes behind the inputs that hold these.
    for number in sorted(range(len(inputs)), key=lambda n: n in copies and bool(copies[n].at)):
        array = inputs[number]
        loads = [v for v in kernel.loop.body if isinstance(v, Load) and v.input == number]
        flat = np.ascontiguousarray(array).reshape(-1)
        steps = [0] * len(axes)
        if loads and (loads[0].moved or loads[0].when):
            load = loads[0]
            row = rows.get(number) or dense_row(kernel.loop, load, np.shape(array), sizes)
            copy = copies.get(number)
            around = beside(program, copy) if copy else []
            there = [guards[interval] for interval, axis in copy.when
                     if axis not in around] if copy else []
            places = _places(views, copy.at, sizes, axes) if copy and copy.at else {}
            there += [place >= 0 for place in places.values()]
            view = move(load, array, row, axes, sizes, there, places)
            views[number] = np.broadcast_to(view, [sizes[axis] for axis in axes])
            continue
        if number in rows:
            steps = rows[number][:len(axes)]
        elif loads:
            pitch = 1
            for dim, size in reversed(list(zip(loads[0].dims, np.shape(array)))):
                if dim.axis is not None and size == sizes[dim.axis]:
                    steps[axes.index(dim.axis)] = pitch
                pitch *= size
        shape = [sizes[axis] if step else 1 for axis, step in zip(axes, steps)]
        view = np.lib.stride_tricks.as_strided(flat, shape, [s * flat.itemsize for s in steps])
        views[number] = np.broadcast_to(view, [sizes[axis] for axis in axes])
    return views


def _places(views, at: Placed, sizes: Dict[str, int], axes: Sequence[str]):
    """By axis the coordinates that an input holds, -1 for what is none."""
    index = tuple(slice(None) if axis in at.axes else slice(0, 1) for axis in axes)
    points = views[at.input][index].astype(np.int64)
    return {at.axis: np.where(points < sizes[at.axis], points, -1)}


class _Machine:
    """One program on one set of arrays. `at` maps each axis to the range being worked on."""

    def __init__(self, kernel: Kernel, program: Program, views, outputs, sizes, tile,
                 parts: int) -> None:
        self.kernel, self.program = kernel, program
        self.views, self.outputs, self.sizes = views, outputs, sizes
        self.tile = dict(zip((program.y, program.x), tile))
        self.at: Dict[str, slice] = {}
        tiles = len(self._points(program.nest.reduced))
        self.parts = tiles if program.strips else max(1, min(parts, tiles))
        if program.variant == "resident":
            self.at = {axis: slice(0, sizes[axis]) for axis in program.nest.reduced}
        self.part: Optional[int] = None
        self.pieces = range(0)
        self.held: Dict[Tuple, Tuple[str, np.ndarray]] = {}
        self.last: Dict[Loop, Tuple] = {}
        self.partials: Dict[Tuple[int, int], np.ndarray] = {}
        self.edges: List[Tuple[int, int]] = []

    def run(self) -> None:
        self._steps(self.program.steps)

    def _steps(self, steps: Tuple[Step, ...]) -> None:
        for step in steps:
            if isinstance(step, Loop):
                self._loop(step)
            elif not isinstance(step, Sync):
                self._step(step)

    def _loop(self, loop: Loop) -> None:
        if loop.kind == "hold":
            where = tuple((self.at[axis].start, self.at[axis].stop) for axis in loop.axes)
            if self.last.get(loop) != where:
                self.last[loop] = where
                self._steps(loop.body)
        elif loop.kind in ("core", "strips"):
            self._groups(loop)
        elif loop.kind == "parts":
            for first in range(0, self.parts, PIECES_AT_ONCE):
                self.pieces = range(first, min(first + PIECES_AT_ONCE, self.parts))
                self._steps(loop.body)
        elif loop.kind == "split":
            for point in self._points(task_order(self.program)):
                for part in range(self.parts):
                    self.part = part
                    self.at.update(point)
                    self._steps(loop.body)
            self.part = None
        else:
            for step in loop.body:
                if isinstance(step, Loop):
                    self.last.pop(step, None)
            for point in self._share(loop):
                self.at.update(point)
                self._steps(loop.body)

    def _groups(self, loop: Loop) -> None:
        strips = self._points(self.program.nest.reduced) if loop.kind == "strips" else [[]]
        for group in range(self.sizes[PARTS]):
            for part, point in enumerate(strips):
                self.part = part if point else None
                self.at.update(point)
                self.at[PARTS] = slice(group, group + 1)
                self._steps(loop.body)
        self.part = None
        self.at.pop(PARTS, None)

    def _share(self, loop: Loop) -> List[List[Tuple[str, slice]]]:
        """The points of a loop that are those of this part, or of this core."""
        points = self._points(loop.axes if loop.kind == "walk" else task_order(self.program))
        part, parts = 0, 1
        if loop.kind == "walk" and self.part is not None:
            part, parts = self.part, self.parts
        elif loop.kind == "block" and self.program.nest.crosses and PARTS in self.at:
            part, parts = self.at[PARTS].start, self.sizes[PARTS]
        return points[len(points) * part // parts:len(points) * (part + 1) // parts]

    def _points(self, axes: Sequence[str]) -> List[List[Tuple[str, slice]]]:
        ranges = []
        for axis in axes:
            step = max(1, self.tile.get(axis, 1))
            size = self.sizes[axis]
            ranges.append([(axis, slice(i, min(i + step, size))) for i in range(0, size, step)])
        return [list(point) for point in itertools.product(*ranges)]

    # Buffers: arrays of (rows, columns), those of several parts of (parts, rows, columns)

    def _get(self, name: str) -> np.ndarray:
        place = self._place(name)
        holder, array = self.held.get(place, ("nothing", None))
        if holder != name or array is None:
            raise IRError("is read but its slot %d holds %s" % (place[0], holder), node=name,
                          stage="kernel interpreter")
        return array

    def _place(self, name: str) -> Tuple:
        """The memory of a buffer: its slot; of a kept one also the tile and the part."""
        buffer = self.program.buffer(name)
        if buffer.position != "KEPT":
            return (buffer.slot,)
        starts = tuple(self.at[axis].start for axis in self.program.nest.axes)
        return (buffer.slot, self.part) + starts

    def _shape(self, name: str) -> Tuple[int, ...]:
        shape = self.program.buffer(name).shape
        one = shape.lstrip("p")
        rows = self._extent(self.program.y) if one in ("yx", "y", "lanes") else 1
        columns = self._extent(self.program.x) if one in ("yx", "x") else 1
        return (rows, columns) if shape == one else (len(self.pieces), rows, columns)

    def _extent(self, axis: Optional[str]) -> int:
        if axis is None:
            return 1
        return self.at[axis].stop - self.at[axis].start if axis in self.at else 1

    def _step(self, step: Step) -> None:
        sources = [self._get(name) for name in read(step)]
        if isinstance(step, CopyOut):
            self._copy_out(step, sources[0])
            return
        if isinstance(step, StorePart):
            self._store_part(step, sources[0])
            return
        name = written(step)
        assert name is not None
        buffer = self.program.buffer(name)
        shape = self._shape(name)
        if isinstance(step, (CopyIn, LoadPart, Points)):
            result = self._fetched(step)
        elif isinstance(step, Fill):
            result = np.full(shape, self._scalar(step.scalar))
        elif isinstance(step, Broadcast):
            result = sources[0]
        elif isinstance(step, Compute):
            result = self._compute(step, sources, buffer.dtype)
        elif isinstance(step, Accumulate):
            axis = {"lanes": (1,), "lane": (0, 1)}.get(buffer.shape, (0,))
            fold = _FOLD[step.op].reduce(sources[1], axis=axis, keepdims=True)
            if sources[1].ndim > sources[0].ndim:
                fold = _FOLD[step.op].reduce(sources[1], axis=0)
            elif buffer.shape in ("yx", "y", "1") or self.program.y is None and axis == (0,):
                fold = sources[1]
            result = _FOLD[step.op](sources[0], fold)
            if step.scratch:
                self.held[self._place(step.scratch)] = ("scratch", sources[1])
        else:
            assert isinstance(step, Finish)
            result = sources[0]
        if buffer.dtype != "mask":
            result = np.asarray(result).astype(compute_dtype(buffer.dtype))
        self.held[self._place(name)] = (name, np.array(np.broadcast_to(result, shape)))

    def _store_part(self, step: StorePart, source: np.ndarray) -> None:
        room = [self.sizes[a] if a in step.axes else 1 for a in self.kernel.loop.axes]
        whole = self.partials.setdefault((step.number, self.part or 0),
                                         np.zeros(room, source.dtype))
        index = self._index(step.axes)
        whole[index] = source.reshape(whole[index].shape)

    def _fetched(self, step: Union[CopyIn, LoadPart, Points]) -> np.ndarray:
        """What comes from outside of the buffers."""
        if isinstance(step, CopyIn):
            return self._copy_in(step)
        if isinstance(step, LoadPart):
            index, shape = self._index(step.axes), self._tile_order(step.axes)
            return np.stack([self.partials[(step.number, part)][index].reshape(shape)
                             for part in self.pieces])
        at = self.at[step.axis]
        points: np.ndarray = np.arange(at.start, at.stop) - (at.start if step.counted else 0)
        return points.reshape(self._tile_order([step.axis]))

    def _compute(self, step: Compute, sources: List[np.ndarray], dtype: str) -> np.ndarray:
        op = VECTOR_OPS[step.op]
        if step.op in CASTS:
            return _cast(sources[0], dtype, step.op)
        kind = sources[-1].dtype
        scalars = [np.array(self._scalar(step.scalar)).astype(kind)] if op.scalar else []
        return op.numpy(*(list(sources) + scalars))

    def _scalar(self, scalar: StepScalar):
        if isinstance(scalar, SizeOf):
            return int(np.prod([self.sizes[axis] for axis in scalar.axes], dtype=np.int64))
        if isinstance(scalar, EdgeOf):
            return self.edges[scalar.number][scalar.end == "high"] - self.at[scalar.axis].start
        if isinstance(scalar, TileOf):
            return int(np.prod([self._extent(axis) for axis in scalar.axes], dtype=np.int64))
        return scalar

    # Global memory

    def _index(self, axes: Sequence[str]) -> Tuple[slice, ...]:
        return tuple(self.at[axis] if axis in axes else slice(0, 1)
                     for axis in self.kernel.loop.axes)

    def _tile_order(self, axes: Sequence[str]) -> Tuple[int, int]:
        rows = self._extent(self.program.y) if self.program.y in axes else 1
        return rows, self._extent(self.program.x) if self.program.x in axes else 1

    def _copy_in(self, step: CopyIn) -> np.ndarray:
        number = step.input - len(self.kernel.loop.inputs)
        if number >= 0:
            axes = [dim.axis for dim in step.dims if dim.axis is not None]
            temp = self.outputs[len(self.kernel.loop.outputs) + number]
            part = temp[tuple(self.at[axis] for axis in axes)]
            return decode(part.reshape(self._tile_order(axes)),
                          self.kernel.loop.temps[number].dtype)
        dtype = self.kernel.loop.inputs[step.input].dtype
        around = beside(self.program, step)
        axes = [axis for axis in step.axes if axis not in around]
        part = np.ascontiguousarray(self.views[step.input][self._index(axes)])
        for number, axis in step.when:
            low, high = self.edges[number]
            if axis in around and not (self.at[axis].start < high and low < self.at[axis].stop):
                part = np.zeros_like(part)
        return decode(part.reshape(self._tile_order(axes)), dtype)

    def _copy_out(self, step: CopyOut, array: np.ndarray) -> None:
        dtype = self.kernel.loop.targets[step.output].dtype
        if step.output >= len(self.kernel.loop.outputs):
            temp = self.outputs[step.output]
            place = tuple(self.at[axis] for axis in step.axes)
            temp[place] = encode(array, dtype).reshape(temp[place].shape)
            return
        shape = [self.sizes[axis] if axis in step.axes else 1 for axis in self.kernel.loop.axes]
        target = self.outputs[step.output].reshape(shape)
        index = self._index(step.axes)
        target[index] = encode(array, dtype).reshape(target[index].shape)


def _cast(array: np.ndarray, dtype: str, mode: str) -> np.ndarray:
    if dtype == "bfloat16":
        return decode(encode(array, dtype), dtype)
    kind = compute_dtype(dtype)
    if kind.kind not in "iu" or array.dtype.kind != "f":
        return array.astype(kind)
    limits = np.iinfo(kind)
    whole = CASTS[mode](array.astype(np.float64))
    inside = (whole >= limits.min) & (whole <= limits.max)
    return np.where(inside, whole, limits.min).astype(kind)
