"""Calls host kernel libraries through their C interface (csrc/core/kernel_abi.h) with ctypes.

The TensorFlow op has its own caller in C++; this one serves verification and tests.
"""

from __future__ import annotations

import ctypes
from concurrent.futures import ThreadPoolExecutor
from typing import Dict, List, Optional, Sequence, Tuple

import numpy as np

from ..build.trust import why_untrusted
from ..errors import AutofuseError

ABI_VERSION = 3
MAX_PHASES = 12
MAX_PARAMS = 48
DIVISION_BY_ZERO = 1
OUT_OF_RANGE = 2
_ALIGNMENT = 64


class KernelRunError(AutofuseError):
    """A kernel library refused to run: wrong version, sizes it cannot do, or a zero divisor."""


class Tiling(ctypes.Structure):
    """AutofuseTiling of the kernel interface."""

    _fields_ = [
        ("phases", ctypes.c_int64),
        ("blocks", ctypes.c_int64 * MAX_PHASES),
        ("block_cost", ctypes.c_int64 * MAX_PHASES),
        ("workspace_bytes", ctypes.c_int64),
        ("p", ctypes.c_int64 * MAX_PARAMS),
    ]


class _Args(ctypes.Structure):
    """AutofuseArgs of the kernel interface."""

    _fields_ = [
        ("inputs", ctypes.POINTER(ctypes.c_void_p)),
        ("outputs", ctypes.POINTER(ctypes.c_void_p)),
        ("sizes", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("workspace", ctypes.c_void_p),
    ]


_libraries: Dict[str, ctypes.CDLL] = {}


def storage_dtype(dtype: str) -> np.dtype:
    """The numpy dtype that holds values of a named dtype; bfloat16 is held as uint16 bits."""
    return np.dtype("uint16" if str(dtype) == "bfloat16" else dtype)


def load_kernel(path: str) -> ctypes.CDLL:
    """The opened kernel library with its functions typed; KernelRunError when it is not one."""
    library = _libraries.get(path)
    if library is not None:
        return library
    problem = why_untrusted(path)
    if problem:
        raise KernelRunError("{} is not loaded: {}".format(path, problem))
    try:
        library = ctypes.CDLL(path)
        version = library.autofuse_abi_version()
        library.autofuse_tiling.argtypes = [
            ctypes.POINTER(ctypes.c_int64),
            ctypes.c_int32,
            ctypes.POINTER(ctypes.c_int64),
            ctypes.c_int32,
            ctypes.POINTER(Tiling),
        ]
        library.autofuse_run.argtypes = [
            ctypes.POINTER(_Args),
            ctypes.POINTER(Tiling),
            ctypes.c_int32,
            ctypes.c_int64,
            ctypes.c_int64,
        ]
    except (OSError, AttributeError) as error:
        raise KernelRunError("{} is no kernel library: {}".format(path, error)) from None
    if version != ABI_VERSION:
        raise KernelRunError(
            "{} has kernel interface {}, wanted {}".format(path, version, ABI_VERSION)
        )
    _libraries[path] = library
    return library


def host_tiling(
    path: str, sizes: Sequence[int], threads: int = 1, strides: Optional[Sequence[int]] = None
) -> Tiling:
    """The tiling the kernel chooses for merged axis sizes and the table of run-time strides;
    KernelRunError when it refuses them."""
    tiling = Tiling()
    code = load_kernel(path).autofuse_tiling(
        _int64s(sizes), len(sizes), _table(strides), threads, ctypes.byref(tiling)
    )
    check_tiling(code, sizes)
    return tiling


def check_tiling(code: int, sizes: Sequence[int]) -> None:
    """KernelRunError where the code of autofuse_tiling says so."""
    if code != 0:
        raise KernelRunError("the kernel cannot run sizes {}: code {}".format(list(sizes), code))


def run_host(
    path: str,
    in_arrays: Sequence[np.ndarray],
    sizes: Sequence[int],
    strides: Optional[Sequence[int]],
    out_shapes_dtypes: Sequence[Tuple[Tuple[int, ...], str]],
    threads: int = 1,
) -> List[np.ndarray]:
    """Run a kernel library on numpy arrays and return its outputs.

    `sizes` holds elements per merged axis, `strides` the table of run-time element strides (None:
    the kernel has none), `out_shapes_dtypes` a shape and dtype name per output; bfloat16 arrays
    are uint16. With `threads` > 1 the blocks of a phase run on that many threads.
    KernelRunError: the kernel refuses the sizes, or an integer was divided by zero.
    """
    launch = HostLaunch(path, in_arrays, sizes, strides, out_shapes_dtypes, threads)
    launch.run()
    return launch.outputs


class HostLaunch:
    """A call of a kernel library with its arguments in place, to be made once or many times.

    `run_host` says what the arguments are; each `run` writes `outputs`.
    """

    def __init__(
        self,
        path: str,
        in_arrays: Sequence[np.ndarray],
        sizes: Sequence[int],
        strides: Optional[Sequence[int]],
        out_shapes_dtypes: Sequence[Tuple[Tuple[int, ...], str]],
        threads: int = 1,
    ) -> None:
        self._library = load_kernel(path)
        self._tiling = host_tiling(path, sizes, threads, strides)
        self._threads = threads
        self._inputs = [np.ascontiguousarray(array) for array in in_arrays]
        self.outputs = [_aligned(shape, storage_dtype(dtype)) for shape, dtype in out_shapes_dtypes]
        self._scratch = _aligned((self._tiling.workspace_bytes,), np.dtype(np.uint8))
        self._args = _Args(
            _pointers(self._inputs),
            _pointers(self.outputs),
            _int64s(sizes),
            _table(strides),
            self._scratch.ctypes.data if self._tiling.workspace_bytes else None,
        )

    def run(self) -> None:
        """All phases of the kernel; KernelRunError when it fails."""
        for phase in range(self._tiling.phases):
            check_codes(_run_phase(self._library, self._args, self._tiling, phase, self._threads))


def check_codes(codes: Sequence[int]) -> None:
    """KernelRunError where a code of autofuse_run says so."""
    if DIVISION_BY_ZERO in codes:
        raise KernelRunError("integer division by zero")
    if OUT_OF_RANGE in codes:
        raise KernelRunError("an index or label is outside the valid range")
    if any(codes):
        raise KernelRunError("a phase ended with codes {}".format(list(codes)))


def _aligned(shape: Tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """An array that begins where tensors of TensorFlow do."""
    count = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    room: np.ndarray = np.empty(count + _ALIGNMENT, np.uint8)
    start = -room.ctypes.data % _ALIGNMENT
    return room[start:start + count].view(dtype).reshape(shape)


def _run_phase(
    library: ctypes.CDLL, args: _Args, tiling: Tiling, phase: int, threads: int
) -> List[int]:
    """Run all blocks of one phase, cut into at most `threads` ranges: the code of each."""
    blocks = tiling.blocks[phase]
    workers = max(1, min(threads, blocks))
    cuts = [blocks * i // workers for i in range(workers + 1)]

    def run(span: Tuple[int, int]) -> int:
        return library.autofuse_run(
            ctypes.byref(args), ctypes.byref(tiling), phase, span[0], span[1]
        )

    spans = list(zip(cuts, cuts[1:]))
    if workers == 1:
        return [run(span) for span in spans]
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(run, spans))


def _int64s(values: Sequence[int]) -> "ctypes.Array[ctypes.c_int64]":
    return (ctypes.c_int64 * max(1, len(values)))(*[int(v) for v in values])


def _table(strides: Optional[Sequence[int]]) -> Optional["ctypes.Array[ctypes.c_int64]"]:
    return None if strides is None else _int64s(strides)


def _pointers(arrays: Sequence[np.ndarray]) -> "ctypes.Array[ctypes.c_void_p]":
    return (ctypes.c_void_p * max(1, len(arrays)))(*[array.ctypes.data for array in arrays])
