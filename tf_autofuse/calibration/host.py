"""Times the CPU build of probe kernels, for a host without the chip."""
from __future__ import annotations

import statistics
import time
from typing import Callable, List

import numpy as np

from tf_autofuse.autofuse.kernels import HOST_FILE, KernelPlan
from tf_autofuse.build import compile_host_kernel
from tf_autofuse.calibration import probes
from tf_autofuse.calibration.runner import Built, ProbeRunner
from tf_autofuse.runtime.host import HostLaunch

SAMPLES = 15
SAMPLE_SECONDS = 0.0005


class HostRunner(ProbeRunner):
    """Runs the probes on one thread of this machine: its row says nothing of the chip."""

    measured_on = "host CPU (not a chip)"

    def build(self, plan: KernelPlan) -> str:
        return compile_host_kernel(plan.files[HOST_FILE], key=plan.key)

    def time(self, built: Built, tiling: bytes, count: int) -> float:
        loop = built.plan.loop
        inputs: List[np.ndarray] = [
            np.full(count, probes.START, param.dtype) for param in loop.inputs
        ]
        outputs = [((count,), param.dtype) for param in loop.outputs]
        run = HostLaunch(built.handle, inputs, [count], None, outputs).run
        runs = max(1, round(SAMPLE_SECONDS / max(_seconds(run, 3), 1e-9)))
        return statistics.median(_seconds(run, runs) for _ in range(SAMPLES)) * 1e9


def _seconds(run: Callable[[], None], runs: int) -> float:
    start = time.perf_counter()
    for _ in range(runs):
        run()
    return (time.perf_counter() - start) / runs
