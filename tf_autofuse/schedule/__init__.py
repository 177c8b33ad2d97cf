"""From the loop IR to the kernel IR."""
from __future__ import annotations

from typing import Union

from tf_autofuse.errors import ScheduleError
from tf_autofuse.kernel.ir import Kernel
from tf_autofuse.kernel.nest import build_nests
from tf_autofuse.loop.ir import LoopKernel
from tf_autofuse.platforms import Platform
from tf_autofuse.platforms import platform as find_platform
from tf_autofuse.schedule.program import build_program

MAX_NESTS = 4


def schedule(loop: LoopKernel, platform: Union[str, Platform] = "Ascend910B") -> Kernel:
    """Schedule a merged loop kernel for a chip (its name or row).

    Raises ScheduleError, naming the value, when the chip or the templates cannot do it.
    """
    chip = find_platform(platform) if isinstance(platform, str) else platform
    nests = build_nests(loop)
    if len(nests) > MAX_NESTS:
        raise ScheduleError("%d loop nests, at most %d in one kernel" % (len(nests), MAX_NESTS),
                            stage="schedule")
    programs = [build_program(loop, nest, i, chip) for i, nest in enumerate(nests)]
    return Kernel(loop, chip.name, tuple(programs))
