"""A stand-in for pyACL: memory of this process, and a clock that counts made-up cycles."""

import ctypes
import os
import struct

from tf_autofuse.bundle.folder import read_kernel
from tf_autofuse.kernel.ir import Compute, CopyIn, CopyOut, walk_steps
from tf_autofuse.tiling.cpp import tiling_fields

BYTES = {"float32": 4, "float16": 2}
START_CYCLES = 5000.0  # of a launch


def cycles(kernel, chip, count):
    """When the last of three pipes is done: a step waits for its pipe and its operands."""
    kinds = {buffer.name: buffer.dtype for buffer in kernel.programs[0].buffers}
    free, ready = dict.fromkeys(("in", "vector", "out"), 0.0), {}
    for step in walk_steps(kernel.programs[0].steps):
        if isinstance(step, CopyIn):
            pipe, used, made, cost = "in", (), step.dst, chip.load
        elif isinstance(step, CopyOut):
            pipe, used, made, cost = "out", (step.src,), "", chip.store
        elif isinstance(step, Compute):
            pipe, used, made, cost = "vector", step.srcs, step.dst, chip.cost(step.op)
        else:
            continue
        kind = kinds[made] if kinds.get(made, "mask") != "mask" else kinds[used[0]]
        size = count * BYTES[kind]
        if pipe == "vector":
            rate = cost.rate16 if kind == "float16" else cost.rate
            taken = cost.head + rate * size / 256.0
        else:
            taken = cost.head + size / cost.rate
        start = max([free[pipe]] + [ready[name] for name in used])
        free[pipe] = ready[made] = start + taken
    return max(free.values())


class Acl:
    """The calls of a calibration; `fails` maps the name of one to the code it answers."""

    def __init__(self, chip, soc, fails=None):
        self.rt, self.chip, self.soc, self.fails = self, chip, soc, fails or {}
        self.memory, self.open, self.known, self.binaries = {}, [], {}, []
        self.launched, self.clock, self.arguments = None, 0.0, []

    def __getattribute__(self, name):
        value = object.__getattribute__(self, name)
        if not callable(value) or name.startswith("_"):
            return value
        code = self.fails.get(name)
        return value if code is None else lambda *arguments: (0, code)

    def init(self):
        self.open.append("acl")
        return 0

    def finalize(self):
        self.open.remove("acl")
        return 0

    def set_device(self, number):
        self.open.append("device")
        return 0

    def reset_device(self, number):
        self.open.remove("device")
        return 0

    def get_soc_name(self):
        return self.soc

    def create_stream(self):
        self.open.append("stream")
        return 9, 0

    def destroy_stream(self, stream):
        self.open.remove("stream")
        return 0

    def create_event(self):
        self.open.append("event")
        return [None], 0

    def destroy_event(self, event):
        self.open.remove("event")
        return 0

    def record_event(self, event, stream):
        event[0] = self.clock
        return 0

    def synchronize_stream(self, stream):
        return 0

    def event_elapsed_time(self, start, end):
        return (end[0] - start[0]) / self.chip.clock_mhz / 1000.0, 0

    def malloc(self, size, policy):
        block = ctypes.create_string_buffer(size + 32)
        address = -(-ctypes.addressof(block) // 32) * 32
        self.memory[address] = (block, size)
        return address, 0

    def free(self, address):
        del self.memory[address]
        return 0

    def memcpy(self, target, room, source, size, kind):
        assert kind == 1 and size <= room == self.memory[target][1]
        ctypes.memmove(target, source, size)
        return 0

    def binary_load_from_file(self, path, options):
        self.binaries.append(os.path.dirname(os.path.dirname(os.path.dirname(path))))
        return len(self.binaries), 0

    def binary_get_function(self, binary, entry):
        folder = self.binaries[binary - 1]
        return (folder, read_kernel(folder)), 0

    def kernel_args_init(self, function):
        self.arguments = []
        return 1, 0

    def kernel_args_append(self, handle, address, size):
        self.arguments.append(ctypes.string_at(address, size))
        return 1, 0

    def kernel_args_finalize(self, handle):
        return 0

    def launch_kernel_with_config(self, function, blocks, stream, config, handle, last):
        folder, kernel = function
        data = self.arguments[-1]
        fields = dict(zip(tiling_fields(kernel), struct.unpack("<%dq" % (len(data) // 8), data)))
        assert (blocks, fields["tasks0"], fields["ty0"]) == (1, 1, 1)
        assert fields["tx0"] == fields["n0"]
        self.launched = (folder, kernel, fields["n0"], list(self.arguments))
        self.clock += START_CYCLES + self._cycles(folder, kernel, fields["n0"])
        return 0

    def _cycles(self, folder, kernel, count):
        if (folder, count) not in self.known:
            self.known[folder, count] = cycles(kernel, self.chip, count)
        return self.known[folder, count]
