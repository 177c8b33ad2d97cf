"""A pytest plugin: host kernels are built for aarch64 and run in an emulator.

    python -m pytest -p emulated_host tests/codegen/test_host_kernels.py

with this folder on PYTHONPATH. Hosts of Ascend cards are often aarch64, so the same tests hold
there. Needs Debian's g++-aarch64-linux-gnu and qemu-user-static.
"""
import ctypes
import functools
import os
import struct
import subprocess
import tempfile

import numpy as np

from tf_autofuse import build, paths
from tf_autofuse.build import toolchain
from tf_autofuse.runtime import host

HERE = os.path.dirname(os.path.abspath(__file__))
COMPILER = "aarch64-linux-gnu-g++"
EMULATOR = ["qemu-aarch64-static", "-L", "/usr/aarch64-linux-gnu"]
TILING, RUN = 0, 1

# What a Kunpeng 920 has; a cross compiler knows no -march=native.
TARGET = COMPILER + " -march=armv8.2-a+fp16"


class Server:
    """The emulated process that opens kernel libraries."""

    def __init__(self):
        self._folder = tempfile.TemporaryDirectory(prefix="emulated-")
        program = os.path.join(self._folder.name, "kernel_server")
        command = [COMPILER, "-O1", "-std=gnu++14", "-I" + os.path.join(paths.csrc_dir(), "core"),
                   os.path.join(HERE, "kernel_server.cc"), "-o", program, "-ldl"]
        subprocess.run(command, check=True)
        self._process = subprocess.Popen(
            EMULATOR + [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def tiling(self, path, sizes, threads, strides):
        """(code, AutofuseTiling)"""
        self._ask(TILING, path, sizes, threads, strides)
        code = self._word()
        return code, host.Tiling.from_buffer_copy(self._read(ctypes.sizeof(host.Tiling)))

    def run(self, path, sizes, threads, strides, inputs, outputs):
        """The code of the kernel; `outputs` are filled."""
        data = [_counted([array.nbytes for array in inputs])]
        data += [array.tobytes() for array in inputs]
        self._ask(RUN, path, sizes, threads, strides, *data,
                  _counted([array.nbytes for array in outputs]))
        code = self._word()
        for array in outputs:
            array.reshape(-1).view(np.uint8)[:] = np.frombuffer(self._read(array.nbytes), np.uint8)
        return code

    def _ask(self, request, path, sizes, threads, strides, *more):
        name = path.encode()
        head = _words([request, len(name)]) + name + _counted(sizes) + _words([threads])
        head += _words([strides is not None]) + _counted(strides or [])
        self._process.stdin.write(b"".join((head,) + more))
        self._process.stdin.flush()

    def _word(self):
        return struct.unpack("<q", self._read(8))[0]

    def _read(self, count):
        data = self._process.stdout.read(count)
        assert len(data) == count, "the emulated process ended"
        return data


def _words(values):
    return struct.pack("<%dq" % len(values), *[int(value) for value in values])


def _counted(values):
    return _words([len(values)] + list(values))


class Launch:
    """Stands in for `host.HostLaunch`."""

    def __init__(self, path, in_arrays, sizes, strides, out_shapes_dtypes, threads=1):
        host.host_tiling(path, sizes, threads, strides)
        self._call = path, list(sizes), threads, None if strides is None else list(strides)
        self._inputs = [np.ascontiguousarray(array) for array in in_arrays]
        self.outputs = [np.empty(shape, host.storage_dtype(dtype))
                        for shape, dtype in out_shapes_dtypes]

    def run(self):
        code = server().run(*self._call, self._inputs, self.outputs)
        host.check_codes([code])


_server = []


def server():
    if not _server:
        _server.append(Server())
    return _server[0]


def host_tiling(path, sizes, threads=1, strides=None):
    strides = None if strides is None else list(strides)
    code, tiling = server().tiling(path, list(sizes), threads, strides)
    host.check_tiling(code, sizes)
    return tiling


def for_target(function):
    """The function, with the cross compiler as CXX while it runs."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        before = os.environ.get("CXX")
        os.environ["CXX"] = TARGET
        try:
            return function(*args, **kwargs)
        finally:
            os.environ.pop("CXX")
            os.environ.update({} if before is None else {"CXX": before})

    return call


def pytest_configure():
    # Host kernels only, and what tests ask about compilers: the twin's kernels run in this process.
    build.compile_host_kernel = for_target(build.compile_host_kernel)
    toolchain.find_toolchain = for_target(toolchain.find_toolchain)
    host.HostLaunch = Launch
    host.host_tiling = host_tiling
