"""Runners of `tiling.calibrate`: what is common to the chip's and to the host's."""
from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from tf_autofuse.autofuse.kernels import KernelPlan, plan_kernel
from tf_autofuse.build import run_parallel
from tf_autofuse.calibration import probes
from tf_autofuse.errors import BuildError, ScheduleError
from tf_autofuse.kernel.ir import Kernel
from tf_autofuse.kernel.text import parse_kernel
from tf_autofuse.log import get_logger
from tf_autofuse.loop.finish import LoweredKernel
from tf_autofuse.platforms import Platform
from tf_autofuse.tiling.calibrate import PROBES, REGISTER_BYTES

LOG = get_logger("calibration")
Key = Tuple[str, str, int]


class Built(NamedTuple):
    """A probe kernel, its text and, as `handle`, what runs it."""

    plan: KernelPlan
    kernel: Kernel
    handle: Any


class ProbeRunner:
    """Times probes by the difference of two lengths; subclasses build a kernel and time it.

    The flag `soc` must name `chip` while the runner is in use. A probe that has no kernel on the
    chip is not measured.
    """

    measured_on = ""

    def __init__(self, chip: Platform) -> None:
        self.chip = chip
        self._built: Dict[Key, Optional[Built]] = {}
        self._times: Dict[Key, Optional[float]] = {}

    def prepare(self, wanted: Sequence[str]) -> None:
        """Build the kernels of the probes in parallel; BuildError when not one builds."""
        keys = [(probe, dtype, length) for probe in wanted for dtype in probes.DTYPES
                for length in probes.lengths(probe)]  # fmt: skip
        planned = [(key, plan) for key, plan in ((key, _plan(*key)) for key in keys) if plan]
        self._built.update(dict.fromkeys(keys))
        failures: List[BuildError] = []

        def build(item: Tuple[Key, KernelPlan]) -> Optional[Built]:
            try:
                kernel = parse_kernel(item[1].files["kernel.txt"])
                return Built(item[1], kernel, self.build(item[1]))
            except BuildError as error:
                failures.append(error)
                LOG.warning("the probe %s in %s is not measured: %s", *item[0][:2], error)
                return None

        for (key, _), built in zip(planned, run_parallel(build, planned) if planned else []):
            self._built[key] = built
        if failures and len(failures) == len(planned):
            raise failures[0]

    def build(self, plan: KernelPlan) -> Any:
        """What `time` runs; BuildError. Called by several threads at once."""
        raise NotImplementedError

    def time(self, built: Built, tiling: bytes, count: int) -> float:
        """Nanoseconds of one run on `count` elements: one core, one tile, as `tiling` says."""
        raise NotImplementedError

    def __call__(self, probe: str, dtype: str, nbytes: int) -> Optional[float]:
        """Nanoseconds as `tiling.calibrate` asks for them; None for what is not measured."""
        key = (probe, dtype, nbytes)
        if key not in self._times:
            self._times[key] = self._measure(*key)
        return self._times[key]

    def _measure(self, probe: str, dtype: str, nbytes: int) -> Optional[float]:
        if probe not in probes.MEASURED:
            return None
        first, last = probes.lengths(probe)
        short, long = (self._built.get((probe, dtype, length)) for length in (first, last))
        count = probes.elements(probe, dtype, nbytes)
        if short is None or long is None:
            return None
        after, before = self._run(long, count), self._run(short, count)
        if after is None or before is None:
            return None
        extra = after - before
        if probe in probes.COPIES:
            return extra / (last - first)
        few = probes.classes(short.kernel, self.chip)
        many = probes.classes(long.kernel, self.chip)
        return self._own(probe, dtype, nbytes, extra,
                         {name: number - few[name] for name, number in many.items()})

    def _run(self, built: Built, count: int) -> Optional[float]:
        """None when `count` elements are too many for one tile."""
        tiling = probes.one_tile(built.kernel, self.chip, count)
        return None if tiling is None else self.time(built, tiling, count)

    def _own(self, probe: str, dtype: str, nbytes: int, extra: float,
             numbers: Dict[str, int]) -> Optional[float]:
        """The part of `extra` nanoseconds that one instruction of the probe took.

        Other instructions are taken off as they were measured. Those that only this chain has
        share its time in the ratio of the costs known so far.
        """
        weights: Dict[str, float] = {}
        for name, number in numbers.items():
            other = PROBES[name]
            if probes.LINKS.get(other) == probes.LINKS[probe]:
                weights[name] = number * self._known(name, dtype, nbytes)
                continue
            taken = self(other, dtype, nbytes)
            if taken is None:
                return None
            extra -= number * max(taken, 0.0)
        own = self.chip.cost_class(probe)
        return extra * weights[own] / sum(weights.values()) / numbers[own]

    def _known(self, name: str, dtype: str, nbytes: int) -> float:
        cost = self.chip.costs[name]
        rate = cost.rate16 if dtype == "float16" else cost.rate
        return cost.head + rate * nbytes / REGISTER_BYTES or 1.0  # a row may know no cost


def _plan(probe: str, dtype: str, length: int) -> Optional[KernelPlan]:
    """None when no kernel computes the probe in `dtype`, or the chip has no instruction for it."""
    if not probes.possible(probe, dtype):
        return None
    try:
        loop = probes.probe_loop(probe, dtype, length)
        plan = plan_kernel(LoweredKernel(loop, (), (), ()))
    except ScheduleError:
        return None
    return None if plan.missing else plan
