"""Chips as data. A new chip is a new row of `PLATFORMS`."""
from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Dict

from tf_autofuse.errors import ScheduleError


@dataclass(frozen=True)
class Platform:
    """Limits of one chip's vector core that schedules and printers obey.

    `ub_bytes` is the on-chip memory a kernel may hand out; what the chip keeps for itself (the
    scratch of Select) is already taken off. `vector_cores` is only a default for machines without
    the chip: on a host with one, the runtime is asked.
    """

    name: str
    npu_arch: int
    ub_bytes: int
    vector_cores: int
    block_bytes: int = 32
    repeat_bytes: int = 256
    max_repeat: int = 255
    max_queue_buffers: int = 8
    max_buffers: int = 64
    max_copy_blocks: int = 4095
    max_copy_bytes: int = 2097151


PLATFORMS: Dict[str, Platform] = {
    row.name: row
    for row in (Platform("Ascend910B", npu_arch=2201, ub_bytes=184 * 1024, vector_cores=48),)
}


def platform(name: str) -> Platform:
    """The row called `name`; ScheduleError with the known names when there is none."""
    row = PLATFORMS.get(name)
    if row is None:
        near = difflib.get_close_matches(name, PLATFORMS, 1)
        hint = "; did you mean %s?" % near[0] if near else ""
        raise ScheduleError(
            "unknown platform %r, known: %s%s" % (name, ", ".join(sorted(PLATFORMS)), hint),
            stage="platform",
        )
    return row
