"""From the loop IR to the kernel IR."""
from __future__ import annotations

from dataclasses import replace
from typing import Sequence, Tuple, Union

from tf_autofuse.errors import ScheduleError
from tf_autofuse.kernel.ir import Kernel, Program
from tf_autofuse.kernel.nest import Nest, build_nests
from tf_autofuse.loop.ir import LoopKernel, Map, Reduce
from tf_autofuse.platforms import Platform
from tf_autofuse.platforms import platform as find_platform
from tf_autofuse.schedule.program import build_program
from tf_autofuse.tiling import check_fits

MAX_NESTS = 4


def schedule(loop: LoopKernel, platform: Union[str, Platform] = "Ascend910B") -> Kernel:
    """Schedule a merged loop kernel for a chip (its name or row).

    Values are renamed to their numbers, so that equal structures give equal kernels. Raises
    ScheduleError, naming the value, when the chip or the templates cannot do it.
    """
    chip = find_platform(platform) if isinstance(platform, str) else platform
    try:
        programs = _programs(loop, build_nests(loop), chip)
    except ScheduleError as error:
        origins = [v.origin for v in loop.body if v.name == error.node and v.origin]
        if not origins:
            raise
        raise ScheduleError(error.message, node=origins[0], stage=error.stage) from None
    numbered = number_values(loop)
    if numbered != loop:
        programs = _programs(numbered, build_nests(numbered), chip)
    kernel = Kernel(numbered, chip.name, programs)
    check_fits(kernel)
    return kernel


def _programs(loop: LoopKernel, nests: Tuple[Nest, ...], chip: Platform) -> Tuple[Program, ...]:
    if len(nests) > MAX_NESTS:
        raise ScheduleError("%d loop nests, at most %d in one kernel" % (len(nests), MAX_NESTS),
                            stage="schedule")
    programs = [build_program(loop, nest, i) for i, nest in enumerate(nests)]
    depth = queue_depth(programs, chip)
    return tuple(replace(program, queue_depth=depth) for program in programs)


def queue_depth(programs: Sequence[Program], chip: Platform) -> int:
    """2 (double buffering) if the chip has enough events for all queues, else 1.

    ScheduleError when there are not even enough for single buffers.
    """
    buffers = [b for program in programs for b in program.buffers]
    most = max(sum(b.position == side for b in buffers) for side in ("VECIN", "VECOUT"))
    if most > chip.max_queue_buffers:
        raise ScheduleError("%d queue buffers in one direction, the chip has events for %d"
                            % (most, chip.max_queue_buffers), stage="schedule")
    return 2 if 2 * most <= chip.max_queue_buffers else 1


def number_values(loop: LoopKernel) -> LoopKernel:
    """The kernel with value number k called `k`."""
    names = {value.name: str(number) for number, value in enumerate(loop.body)}
    body = []
    for value in loop.body:
        numbered = replace(value, name=names[value.name])
        if isinstance(numbered, Map):
            operands = tuple(names[name] for name in numbered.operands)
            numbered = replace(numbered, operands=operands)
        elif isinstance(numbered, Reduce):
            numbered = replace(numbered, operand=names[numbered.operand])
        body.append(numbered)
    stores = tuple(replace(store, value=names[store.value]) for store in loop.stores)
    return replace(loop, body=tuple(body), stores=stores)
