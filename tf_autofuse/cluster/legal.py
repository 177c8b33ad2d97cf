"""Which loop kernels the schedules can carry out.

A kernel is one or more loop nests (`kernel.nest`). A nest walks one set of axes, several times if
need be: its reductions run over the same axes, or take their part of each row as it comes
(`kernel.cross`), or wait for a later stage (`kernel.stage`); what they give may be used again along
those axes (softmax, layer norm). Everything else raises `Unsupported`.
"""
from __future__ import annotations

from typing import Set, Tuple

from tf_autofuse import flags
from tf_autofuse.errors import ScheduleError, Unsupported
from tf_autofuse.kernel.nest import Nest, build_nests, misfit, needed
from tf_autofuse.kernel.stage import staged
from tf_autofuse.loop.ir import LoopKernel, Map, Reduce
from tf_autofuse.loop.ops import HEAVY
from tf_autofuse.platforms import platform
from tf_autofuse.schedule import MAX_NESTS

MAX_TEMPS = 16
"""Values that go from stage to stage: the host's tiling says of each where it lies."""


def check(kernel: LoopKernel, soc: str = "") -> Tuple[LoopKernel, Tuple[Nest, ...]]:
    """`kernel` in stages, if the cores of the chip (that of the flags, or `soc`) can wait for each
    other, and its nests; Unsupported, with a code and a sentence, when no schedule fits."""
    if not kernel.inputs:
        raise Unsupported("computes a constant", node=kernel.body[-1].origin, code="CONSTANT")
    if platform(soc or flags.current().soc).has_sync:
        kernel = staged(kernel)
    try:
        nests = build_nests(kernel)
    except ScheduleError as error:
        raise Unsupported(error.message, node=_origin(kernel, error.node),
                          code="REDUCE_AXES") from None
    for nest in nests:
        _check_nest(kernel, nest)
    if len(nests) > MAX_NESTS:
        raise Unsupported("%d loop nests in one kernel" % len(nests), node=kernel.body[-1].origin,
                          code="REDUCE_AXES")
    if len(kernel.temps) > MAX_TEMPS:
        raise Unsupported("%d values go from stage to stage" % len(kernel.temps),
                          node=kernel.body[-1].origin, code="REDUCE_AXES")
    return kernel, nests


def _origin(kernel: LoopKernel, name: str) -> str:
    return next((value.origin for value in kernel.body if value.name == name), name)


def _check_nest(kernel: LoopKernel, nest: Nest) -> None:
    found = misfit(kernel, nest)
    if found is not None:
        raise Unsupported(found.message, node=_origin(kernel, found.node), code=found.code)
    after: Set[str] = set()
    for value in needed(kernel, [kernel.stores[n].value for n in nest.stores]):
        if isinstance(value, Reduce) or any(name in after for name in value.args):
            after.add(value.name)
        elif isinstance(value, Map) and value.op in HEAVY:
            _check_heavy(nest, value)


def _check_heavy(nest: Nest, value: Map) -> None:
    """Along the innermost axis alone, or along outer axes, a value is held between rows."""
    varies = set(value.axes)
    held = nest.inner not in varies or (varies == {nest.inner} and nest.inner_kept)
    if varies != set(nest.axes) and not held:
        raise Unsupported("would compute %s again for every broadcast row" % value.op,
                          node=value.origin, code="RECOMPUTE")
