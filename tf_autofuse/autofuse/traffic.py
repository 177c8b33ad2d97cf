"""Bytes of global memory: of a kernel, of the operators it replaces, and the least possible."""
from __future__ import annotations

from typing import Dict, List, NamedTuple, Sequence, Tuple

import numpy as np

from tf_autofuse import flags
from tf_autofuse.cluster.clusterer import Cluster
from tf_autofuse.cluster.view import GraphView
from tf_autofuse.errors import ScheduleError
from tf_autofuse.kernel.ir import Program
from tf_autofuse.loop.ir import Dim, Load, LoopKernel, whole_dims
from tf_autofuse.loop.merge import merge_axes
from tf_autofuse.loop.ops import item_bytes
from tf_autofuse.loop.source import TensorRef
from tf_autofuse.loop.spec import axis_sizes, input_dims
from tf_autofuse.loop.windows import walk
from tf_autofuse.ops import OPS
from tf_autofuse.platforms import platform as find_platform
from tf_autofuse.report.model import Traffic
from tf_autofuse.schedule import schedule
from tf_autofuse.schedule.expand import missing_instruction
from tf_autofuse.tiling import solve
from tf_autofuse.tiling.model import NestTiling
from tf_autofuse.tiling.requests import bytes_read, temp_bytes


class TrafficFacts(NamedTuple):
    """What a count of bytes needs of a graph that is gone: the tensors that the kernel reads, what
    its operators read and write (dtype, dims and how often), and the dims of the inputs, where a
    number below 0 is a size that is unknown."""

    refs: Tuple[TensorRef, ...]
    edges: Tuple[Tuple[str, Tuple[int, ...], int], ...]
    symbols: Tuple[Tuple[int, ...], ...]


def traffic_facts(view: GraphView, cluster: Cluster) -> TrafficFacts:
    """The facts of a cluster; to be asked for while its nodes are there."""
    refs = cluster.lowered.inputs
    symbols = tuple(view.infos[ref].dims or () for ref in refs)
    return TrafficFacts(refs, tuple(_unfused_edges(view, cluster)), symbols)


class TrafficModel:
    """Counts bytes for given input shapes.

    A kernel reads an input once for every copy-in of the variants that its tiling chooses for the
    chip: once where rows stay in UB, once a walk where they do not fit. An operand that several
    cores request, like a row that all tasks need, is read once where L2 serves the others
    (`tiling.requests`). Partial results of a reduction that is split over cores are not counted;
    what goes from stage to stage is, where L2 does not keep it.
    The unfused operators read and write every tensor on the edges between them.
    """

    def __init__(self, facts: TrafficFacts, kernel: LoopKernel):
        """`kernel` is that of the cluster, or one of the same structure that lives longer."""
        self.facts = facts
        self.kernel = kernel
        self._known: Dict[Tuple[Tuple[int, ...], ...], Traffic] = {}

    def __call__(self, shapes: Sequence[Sequence[int]]) -> Traffic:
        """Traffic for one shape per kernel input; counted once, a report asks again and again."""
        key = tuple(map(tuple, shapes))
        if key not in self._known:
            self._known[key] = self._count_bytes(shapes)
        return self._known[key]

    def _count_bytes(self, shapes: Sequence[Sequence[int]]) -> Traffic:
        sizes = axis_sizes(self.kernel, shapes)
        placed = {load.input: load for load in self.kernel.body
                  if isinstance(load, Load) and load.at}
        once = []
        for number, (param, dims, shape) in enumerate(
                zip(self.kernel.inputs, input_dims(self.kernel), shapes)):
            count = _elements(dims, shape)
            if number in placed:
                count = min(count, _gathered(self.kernel, placed[number], shape, sizes))
            once.append(item_bytes(param.dtype) * count)
        requested, fetched, tiling = self._reads(sizes, once)
        written = sum(
            item_bytes(self.kernel.outputs[store.output].dtype) * _extent(store.dims, sizes)
            for store in self.kernel.stores
        )
        bound = self._least(shapes, once) + written
        unfused = self._unfused(shapes, sizes)
        return Traffic(fetched + written, unfused, bound, tiling, requested + written)

    def _least(self, shapes: Sequence[Sequence[int]], once: Sequence[int]) -> int:
        """Bytes of all inputs if no element is read twice; parts of one tensor may overlap."""
        whole: Dict[TensorRef, int] = {}
        parts: Dict[TensorRef, int] = {}
        for ref, param, shape, size in zip(self.facts.refs, self.kernel.inputs, shapes, once):
            whole[ref] = item_bytes(param.dtype) * _count(shape)
            parts[ref] = parts.get(ref, 0) + size
        return sum(min(whole[ref], parts[ref]) for ref in whole)

    def _reads(
        self, sizes: Dict[str, int], once: List[int]
    ) -> Tuple[int, int, Tuple[str, ...]]:
        """Bytes requested and fetched, and a line for the tiling of each nest."""
        merged, groups = merge_axes(self.kernel)
        named = dict.fromkeys(merged.axes, 1)
        for axis, group in zip(self.kernel.axes, groups):
            named[merged.axes[group]] *= sizes[axis]
        chip = find_platform(flags.current().soc)
        least = (sum(once), sum(once), ())
        if missing_instruction(merged):
            return least
        try:
            kernel = schedule(merged, chip).at(named)
            tilings, blocks = solve(kernel, named, chip.vector_cores)
        except ScheduleError:  # a kernel for the CPU only
            return least
        programs = [found[t.variant] for found, t in zip(kernel.variants, tilings)]
        rows = [
            row
            for program, t in zip(programs, tilings)
            for row in bytes_read(program, t, named, blocks, once, chip.l2_served_bytes)
        ] + [temp_bytes(kernel, tilings, named, blocks, chip.l2_served_bytes)]
        requested, fetched = (round(sum(column)) for column in zip(*rows))
        lines = tuple(_tiling_line(program, t) for program, t in zip(programs, tilings))
        return requested, fetched, lines

    def _unfused(self, shapes, sizes: Dict[str, int]) -> int:
        known: Dict[int, int] = {}
        for dims, shape in zip(self.facts.symbols, shapes):
            known.update({dim: size for dim, size in zip(dims, shape) if dim < 0})
        for dims, layout in zip(self.facts.symbols, input_dims(self.kernel)):
            known.update(
                {dim: _count([sizes[d.axis] for d in factors if d.axis])
                 for dim, factors in zip(dims, whole_dims(layout))
                 if dim < 0 and factors[0].axis and not factors[0].windows}
            )
        largest = max([1] + list(sizes.values()))
        total = 0
        for dtype, dims, times in self.facts.edges:
            count = 1
            for dim in dims:
                count *= known.get(dim, largest) if dim < 0 else dim
            total += item_bytes(dtype) * count * times
        return total


def _unfused_edges(view: GraphView, cluster: Cluster) -> List[Tuple[str, Tuple[int, ...], int]]:
    """(dtype, dims, number of reads and writes) of every tensor the operators touch; what another
    kernel computes as well counts there."""
    times: Dict[TensorRef, int] = {}
    for node in cluster.own:
        operator = view.operator(node)
        outputs = min(len(node.outputs), OPS[node.type].outputs)
        refs = operator.inputs + tuple((node.name, port) for port in range(outputs))
        if OPS[node.type].lower in ("gather", "gather_nd"):  # reads as much as it writes
            refs = refs[1:] + refs[-1:]
        for ref in refs:
            times[ref] = times.get(ref, 0) + 1
    infos = ((view.infos[ref], count) for ref, count in times.items())
    return [(info.dtype, info.dims or (), count) for info, count in infos]


def _tiling_line(program: Program, tiling: NestTiling) -> str:
    """The tiling of one nest for a reader: variant, tile in elements, tasks and buffers."""
    return "nest %d %s %s: tile %d x %d, tasks %d, parts %d, buffers %d" % (
        program.number,
        program.template,
        program.variant,
        tiling.ty,
        tiling.tx,
        tiling.tasks,
        tiling.parts,
        tiling.depth,
    )


def _elements(dims: Sequence[Dim], shape: Sequence[int]) -> int:
    """Elements of a tensor that its load reads."""
    count = 1
    for factors, size in zip(whole_dims(dims), shape):
        first, last = walk(size, factors[0].windows).inside
        count *= max(0, last - first)
    return count


def _gathered(
    kernel: LoopKernel, load: Load, shape: Sequence[int], sizes: Dict[str, int]
) -> int:
    """Elements that a load at computed places reads, one of equal places after the other."""
    places = {axis for _, name in load.at for axis in kernel.value(name).axes}
    placed = [axis for axis, _ in load.at]
    rest = [(factors, size) for factors, size in zip(whole_dims(load.dims), shape)
            if factors[0].axis not in placed]
    dims = [dim for factors, _ in rest for dim in factors]
    points = _count([sizes[axis] for axis in places - set(load.walked)])
    return points * _elements(dims, [size for _, size in rest])


def _count(shape: Sequence[int]) -> int:
    return int(np.prod(list(shape), dtype=np.int64)) if len(shape) else 1


def _extent(dims: Sequence[Dim], sizes: Dict[str, int]) -> int:
    return _count([sizes[dim.axis] for dim in dims if dim.axis is not None])
