"""Times probe kernels on a chip, with events on a stream."""
from __future__ import annotations

import contextlib
import ctypes
import statistics
from typing import Any, Callable, Dict, List

import numpy as np

from tf_autofuse import bundle
from tf_autofuse.autofuse.kernels import KernelPlan, write_bundle
from tf_autofuse.bundle.device import chip as find_chip
from tf_autofuse.bundle.device import require_bisheng
from tf_autofuse.calibration import probes
from tf_autofuse.calibration.runner import Built, ProbeRunner
from tf_autofuse.errors import AutofuseError
from tf_autofuse.platforms import Platform
from tf_autofuse.runtime.acl import Kernel, Memory, check

LAUNCHES = 100
"""Between two events: one launch alone is shorter than the clock of the events is fine."""
SAMPLES = 7


class Device:
    """The first device that this process sees, with a stream and two events.

    Entering takes it, leaving gives it back. AutofuseError names the call that failed.
    """

    def __init__(self) -> None:
        try:
            import acl
        except ImportError as error:
            raise AutofuseError("pyACL cannot be imported: {}".format(error)) from None
        self.acl: Any = acl
        self.name = ""
        self.stream: Any = None
        self.events: List[Any] = []
        self._undo = contextlib.ExitStack()

    def __enter__(self) -> "Device":
        rt = self.acl.rt
        with self._undo as undo:
            check(self.acl.init(), "init")
            undo.callback(self.acl.finalize)
            check(rt.set_device(0), "rt.set_device")
            undo.callback(rt.reset_device, 0)
            self.name = str(self.acl.get_soc_name())
            self.stream = check(rt.create_stream(), "rt.create_stream")
            undo.callback(rt.destroy_stream, self.stream)
            self.events = [self._event(undo), self._event(undo)]
            self._undo = undo.pop_all()
        return self

    def __exit__(self, *error: Any) -> None:
        self._undo.close()

    def _event(self, undo: contextlib.ExitStack) -> Any:
        event = check(self.acl.rt.create_event(), "rt.create_event")
        undo.callback(self.acl.rt.destroy_event, event)
        return event

    def milliseconds(self, work: Callable[[], None]) -> float:
        """What the stream takes for all that `work()` puts on it."""
        rt, (start, end) = self.acl.rt, self.events
        check(rt.record_event(start, self.stream), "rt.record_event")
        work()
        check(rt.record_event(end, self.stream), "rt.record_event")
        check(rt.synchronize_stream(self.stream), "rt.synchronize_stream")
        return check(rt.event_elapsed_time(start, end), "rt.event_elapsed_time")


class DeviceRunner(ProbeRunner):
    """Launches the probes on `device`; AutofuseError when that is another chip."""

    def __init__(self, chip: Platform, device: Device) -> None:
        super().__init__(chip)
        require_bisheng()
        if find_chip(device.name).name != chip.name:
            raise AutofuseError("the device is an {}, not an {}".format(device.name, chip.name))
        self.device = device
        self.measured_on = device.name
        self._kernels: Dict[str, Kernel] = {}

    def build(self, plan: KernelPlan) -> str:
        folder = write_bundle(plan)
        bundle.complete(folder, plan.spec, self.chip.name)
        return folder

    def time(self, built: Built, tiling: bytes, count: int) -> float:
        loop, acl = built.plan.loop, self.device.acl
        if built.handle not in self._kernels:
            self._kernels[built.handle] = Kernel(acl, built.handle)
        kernel = self._kernels[built.handle]
        structure = ctypes.create_string_buffer(tiling, len(tiling))
        with Memory(acl) as memory:
            addresses = [
                memory.put(np.full(count, probes.START, param.dtype)) for param in loop.inputs
            ]
            addresses += [
                memory.allocate(count * np.dtype(param.dtype).itemsize) for param in loop.outputs
            ]
            addresses.append(0)  # no workspace

            def work() -> None:
                for _ in range(LAUNCHES):
                    kernel.launch(1, self.device.stream, addresses, structure)

            self.device.milliseconds(work)  # the first launches load the kernel
            taken = [self.device.milliseconds(work) for _ in range(SAMPLES)]
        return statistics.median(taken) * 1e6 / LAUNCHES
