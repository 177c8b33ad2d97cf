"""A second form of CPU kernels whose operands may be broadcast.

A size that only the run decides may be that of the axis or 1, so such a load has a stride along
every axis, and a vector of it is gathered one by one. Mostly nothing is broadcast: the kernel then
runs a form of its nests for which these loads lie as their axes do.
"""
from __future__ import annotations

from dataclasses import replace
from typing import List, Mapping

from tf_autofuse.kernel.nest import runtime_rows
from tf_autofuse.loop.ir import Load, LoopKernel


def without_broadcasts(loop: LoopKernel) -> LoopKernel:
    """The kernel for operands that are as large as their axes; `loop` itself if all of them are."""
    rows = _broadcast_rows(loop)
    if not rows:
        return loop
    body = [replace(value, dims=tuple(replace(dim, maybe=False) for dim in value.dims))
            if isinstance(value, Load) and value.input in rows else value for value in loop.body]
    return replace(loop, body=tuple(body))


def dense_test(loop: LoopKernel, size: Mapping[str, str]) -> str:
    """A C++ expression over run-time strides and sizes: whether `without_broadcasts` may run."""
    tests: List[str] = []
    rows = runtime_rows(loop)
    for number in sorted(_broadcast_rows(loop)):
        inner = ""
        for axis in reversed(rows[number].load.walked):
            tests.append("({0} == 1 || args->strides[{1}] == {2})".format(
                size[axis], rows[number].stride(axis), inner or "1"))
            inner = "%s%s" % (size[axis], inner and " * " + inner)
    return " && ".join(tests)


def _broadcast_rows(loop: LoopKernel) -> List[int]:
    """The inputs that have run-time strides for no other reason than a broadcast."""
    loads = [value for value in loop.body if isinstance(value, Load)]
    others = {load.input for load in loads if load.moved or load.at or any(
        dim.windows or dim.loose for dim in load.dims)}
    return sorted(set(runtime_rows(loop)) - others)
