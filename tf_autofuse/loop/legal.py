"""Which loop kernels the schedules can carry out. Everything else raises `Unsupported`.

One kernel walks one nest of loops, several times if need be: all its reductions run over the same
axes, and what they give may be used again along those axes (softmax, layer norm). The clusterer
calls `check` on every cluster it would like to build.
"""
from __future__ import annotations

from typing import Set

from tf_autofuse.errors import Unsupported
from tf_autofuse.loop.ir import LoopKernel, Map, Reduce
from tf_autofuse.loop.ops import HEAVY


def check(kernel: LoopKernel) -> None:
    """Unsupported, with a code and a sentence, when no schedule fits `kernel`."""
    after: Set[str] = set()
    for value in kernel.body:
        if isinstance(value, Reduce):
            _check_reduce(kernel, value)
        if isinstance(value, Reduce) or any(name in after for name in value.args):
            after.add(value.name)
        elif isinstance(value, Map) and value.op in HEAVY:
            _check_heavy(kernel, value)
    _check_outputs(kernel, after)


def _check_reduce(kernel: LoopKernel, value: Reduce) -> None:
    if value.over != kernel.reduce_axes:
        raise Unsupported(
            "reduces over other axes than another reduction", node=value.origin, code="REDUCE_AXES"
        )
    if kernel.value(value.operand).axes != kernel.axes:
        raise Unsupported(
            "reduces a value smaller than the loop", node=value.origin, code="REDUCE_DOMAIN"
        )


def _check_heavy(kernel: LoopKernel, value: Map) -> None:
    if value.axes and value.axes != kernel.axes:
        raise Unsupported(
            "would compute %s again for every broadcast row" % value.op,
            node=value.origin,
            code="RECOMPUTE",
        )


def _check_outputs(kernel: LoopKernel, after: Set[str]) -> None:
    kept = tuple(axis for axis in kernel.axes if axis not in kernel.reduce_axes)
    for store in kernel.stores:
        value = kernel.value(store.value)
        allowed = (kept, kernel.axes) if value.name in after else (kernel.axes,)
        if value.axes not in allowed:
            raise Unsupported(
                "an output is smaller than the loop", node=value.origin, code="OUTPUT_DOMAIN"
            )
