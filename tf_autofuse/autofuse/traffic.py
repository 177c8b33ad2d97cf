"""Bytes of global memory: of a kernel, of the operators it replaces, and the least possible."""
from __future__ import annotations

from typing import Dict, List, Sequence, Tuple

import numpy as np

from tf_autofuse.cluster.clusterer import Cluster
from tf_autofuse.cluster.view import GraphView
from tf_autofuse.loop.ir import Dim, LoopKernel
from tf_autofuse.loop.source import TensorRef
from tf_autofuse.loop.spec import axis_sizes, input_dims
from tf_autofuse.ops import OPS
from tf_autofuse.report.model import Traffic

BYTES = {"bool": 1, "bfloat16": 2}


def item_bytes(dtype: str) -> int:
    """Bytes of one element in global memory."""
    return BYTES.get(dtype) or np.dtype(dtype).itemsize


class TrafficModel:
    """Counts bytes for given input shapes.

    The schedules of this version walk every input once, so a kernel moves each input and each
    output once; an input that feeds two layouts counts twice in `gm_bytes` and once in the bound.
    The unfused operators read and write every tensor on the edges between them.
    """

    def __init__(self, view: GraphView, cluster: Cluster):
        self._kernel: LoopKernel = cluster.lowered.kernel
        self._refs: Tuple[TensorRef, ...] = cluster.lowered.inputs
        self._edges = _unfused_edges(view, cluster)
        self._symbols = [view.infos[ref].dims or () for ref in self._refs]

    def __call__(self, shapes: Sequence[Sequence[int]]) -> Traffic:
        """Traffic for one shape per kernel input."""
        sizes = axis_sizes(self._kernel, shapes)
        reads = [
            item_bytes(param.dtype) * _count(shape)
            for param, shape in zip(self._kernel.inputs, shapes)
        ]
        written = sum(
            item_bytes(self._kernel.outputs[store.output].dtype) * _extent(store.dims, sizes)
            for store in self._kernel.stores
        )
        bound = sum(dict(zip(self._refs, reads)).values()) + written
        return Traffic(sum(reads) + written, self._unfused(shapes, sizes), bound)

    def _unfused(self, shapes, sizes: Dict[str, int]) -> int:
        known: Dict[int, int] = {}
        for dims, shape in zip(self._symbols, shapes):
            known.update({dim: size for dim, size in zip(dims, shape) if dim < 0})
        for dims, layout in zip(self._symbols, input_dims(self._kernel)):
            known.update(
                {dim: sizes[d.axis] for dim, d in zip(dims, layout) if dim < 0 and d.axis}
            )
        largest = max([1] + list(sizes.values()))
        total = 0
        for dtype, dims, times in self._edges:
            count = 1
            for dim in dims:
                count *= known.get(dim, largest) if dim < 0 else dim
            total += item_bytes(dtype) * count * times
        return total


def _unfused_edges(view: GraphView, cluster: Cluster) -> List[Tuple[str, Tuple[int, ...], int]]:
    """(dtype, dims, number of reads and writes) of every tensor the operators touch."""
    times: Dict[TensorRef, int] = {}
    for node in cluster.nodes:
        operator = view.operator(node)
        for ref in operator.inputs + tuple((node.name, i) for i in range(OPS[node.type].outputs)):
            times[ref] = times.get(ref, 0) + 1
    infos = ((view.infos[ref], count) for ref, count in times.items())
    return [(info.dtype, info.dims or (), count) for info, count in infos]


def _count(shape: Sequence[int]) -> int:
    return int(np.prod(list(shape), dtype=np.int64)) if len(shape) else 1


def _extent(dims: Sequence[Dim], sizes: Dict[str, int]) -> int:
    return _count([sizes[dim.axis] for dim in dims if dim.axis is not None])
