"""Kernels of bundles through pyACL, CANN's Python interface to the device."""
from __future__ import annotations

import ctypes
import os
from typing import Any, List, Sequence, Tuple

import numpy as np

from tf_autofuse.errors import AutofuseError
from tf_autofuse.runtime.spec_text import Bound

LIBRARY = "libautofuse_tiling.so"
SYSTEM_WORKSPACE = 16 << 20  # what AscendC::GetUserWorkspace skips
VECTOR_CORES = 201  # ACL_DEV_ATTR_VECTOR_CORE_NUM
_HUGE_FIRST, _TO_DEVICE = 0, 1  # ACL_MEM_MALLOC_HUGE_FIRST, ACL_MEMCPY_HOST_TO_DEVICE


class Kernel:
    """One kernel: its tiling library and the function on the device."""

    def __init__(self, acl: Any, folder: str) -> None:
        self.acl = acl
        self.library = ctypes.CDLL(os.path.join(folder, LIBRARY))
        self.library.autofuse_device_entry.restype = ctypes.c_char_p
        self.library.autofuse_device_chip.restype = ctypes.c_char_p
        self.library.autofuse_device_tiling_bytes.restype = ctypes.c_int64
        chip = self.library.autofuse_device_chip().decode()
        path = os.path.join(folder, "bin", chip, "kernel.o")
        self.binary = check(acl.rt.binary_load_from_file(path, []), "rt.binary_load_from_file")
        entry = self.library.autofuse_device_entry().decode()
        self.function = check(
            acl.rt.binary_get_function(self.binary, entry), "rt.binary_get_function"
        )

    def solve(self, bound: Bound, cores: int) -> Tuple[Any, int, int]:
        """(tiling structure, blocks, workspace bytes) for these shapes; AutofuseError: none."""
        data = ctypes.create_string_buffer(self.library.autofuse_device_tiling_bytes())
        blocks, workspace = ctypes.c_int64(), ctypes.c_int64()
        code = self.library.autofuse_device_tiling(
            _numbers(bound.sizes), _numbers(bound.strides), ctypes.c_int64(cores), data,
            ctypes.byref(blocks), ctypes.byref(workspace),
        )  # fmt: skip
        if code != 0:
            raise AutofuseError("no tiling for sizes {} (code {})".format(bound.sizes, code))
        return data, blocks.value, workspace.value

    def launch(self, blocks: int, stream: Any, addresses: Sequence[int], tiling: Any) -> None:
        """Start the kernel: its arguments are the addresses, then the structure by value."""
        arguments = check(self.acl.rt.kernel_args_init(self.function), "rt.kernel_args_init")
        values = [ctypes.c_uint64(address) for address in addresses] + [tiling]
        for value in values:
            result = self.acl.rt.kernel_args_append(
                arguments, ctypes.addressof(value), ctypes.sizeof(value)
            )
            check(result, "rt.kernel_args_append")
        check(self.acl.rt.kernel_args_finalize(arguments), "rt.kernel_args_finalize")
        result = self.acl.rt.launch_kernel_with_config(
            self.function, blocks, stream, [], arguments, 0
        )
        check(result, "rt.launch_kernel_with_config")


class Memory:
    """Memory of the device; leaving the context frees all of it."""

    def __init__(self, acl: Any) -> None:
        self.acl = acl
        self._held: List[int] = []

    def __enter__(self) -> "Memory":
        return self

    def __exit__(self, *error: Any) -> None:
        for address in self._held:
            self.acl.rt.free(address)
        self._held.clear()

    def allocate(self, nbytes: int) -> int:
        """The address of new memory; AutofuseError when there is none."""
        address = check(self.acl.rt.malloc(nbytes, _HUGE_FIRST), "rt.malloc")
        self._held.append(address)
        return address

    def put(self, array: np.ndarray) -> int:
        """The address of a copy of `array`."""
        address = self.allocate(array.nbytes)
        result = self.acl.rt.memcpy(
            address, array.nbytes, array.ctypes.data, array.nbytes, _TO_DEVICE
        )
        check(result, "rt.memcpy")
        return address


def check(result: Any, call: str) -> Any:
    """The value of a pyACL call, which answers (value, code) or code; AutofuseError for a code."""
    value, code = result if isinstance(result, tuple) else (None, result)
    if code != 0:
        raise AutofuseError("acl.{} failed with {}".format(call, code))
    return value


def _numbers(values: Sequence[int]) -> Any:
    """A C array; never empty."""
    return (ctypes.c_int64 * max(1, len(values)))(*values)
