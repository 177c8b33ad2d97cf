"""Runs Ascend C kernel text on the CPU twin (csrc/ascendc_twin), with or without its checks."""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass
from typing import Any, Dict, List, Sequence, Tuple

import numpy as np

from .. import build, paths
from ..build.cache import digest_of
from ..errors import AutofuseError, BuildError
from .host import storage_dtype

# -Og: a kernel runs a few times on small tensors, so the compiler's time is most of the cost. It
# takes half the time of -O1, and what it compiles runs ten times faster than that of -O0.
TWIN_FLAGS = (
    "-Og",
    "-std=c++17",
    "-fPIC",
    "-shared",
    "-pthread",
    "-ffp-contract=off",
    "-fvisibility=hidden",
    "-Wall",
    "-Wno-unused",
    "-Werror=narrowing",
)
_INPUT, _OUTPUT, _WORKSPACE = 0, 1, 2
_GAP = 256  # bytes between buffers: an address past one is not inside the next
_SYSTEM_WORKSPACE = 4096
_UNWRITTEN = 0xCD


class TwinError(AutofuseError):
    """A kernel broke a rule of the hardware: what `rule`, in which `api` call, on which `line`.

    `line` counts in the kernel text (0: not in one line); `core` is the block that failed.
    """

    def __init__(self, text: str, rule: str, api: str, line: int, core: int, entry: str) -> None:
        message = "line {}: {}: {}: {} (core {})".format(line, api, rule, text, core)
        super().__init__(message, node=entry, stage="twin")
        self.text = text
        self.rule = rule
        self.api = api
        self.line = line
        self.core = core


@dataclass(frozen=True)
class CallCount:
    """How often an API call ran on elements of `item` bytes, and its 256-byte passes in all."""

    api: str
    item: int
    calls: int
    repeats: int


@dataclass(frozen=True)
class TwinResult:
    """Outputs and counters of a run.

    `gm_read` and `gm_written` hold bytes per buffer: inputs, outputs, workspace. `gm_fetched` is
    the part of `gm_read` that comes from memory: bytes that several cores request between two
    SyncAll come once, L2 serves the others, if the buffer fits its share of L2. What one core
    requests again counts again.
    `vector_repeats` counts 256-byte passes of the vector unit, `calls` says which calls made them.
    `mte2_bytes` and `mte3_bytes` are moved by the two copy pipes in `mte2_copies` and
    `mte3_copies` instructions; `scalar_bytes` by the scalar unit. All counts are sums over cores.
    """

    outputs: List[np.ndarray]
    gm_read: List[int]
    gm_written: List[int]
    vector_instructions: int
    vector_repeats: int
    mte2_bytes: int = 0
    mte3_bytes: int = 0
    mte2_copies: int = 0
    mte3_copies: int = 0
    scalar_bytes: int = 0
    calls: Tuple[CallCount, ...] = ()
    gm_fetched: Tuple[int, ...] = ()


class _Run(ctypes.Structure):
    """AscendcTwinRun of twin_driver.h."""

    _fields_ = [
        ("pointers", ctypes.POINTER(ctypes.c_void_p)),
        ("bytes", ctypes.POINTER(ctypes.c_int64)),
        ("kinds", ctypes.POINTER(ctypes.c_int32)),
        ("read", ctypes.POINTER(ctypes.c_int64)),
        ("fetched", ctypes.POINTER(ctypes.c_int64)),
        ("written", ctypes.POINTER(ctypes.c_int64)),
        ("tiling", ctypes.c_void_p),
        ("tiling_bytes", ctypes.c_int64),
        ("tiling_key", ctypes.c_int64),
        ("buffers", ctypes.c_int32),
        ("block_dim", ctypes.c_int32),
        ("vector_cores", ctypes.c_int32),
        ("ub_bytes", ctypes.c_int32),
        ("check", ctypes.c_int32),
        ("chip", ctypes.c_char_p),
        ("lacks", ctypes.c_char_p),
        ("npu_arch", ctypes.c_int32),
        ("limits", ctypes.c_int64 * 5),
        ("l2_bytes", ctypes.c_int64),
    ]


class _Call(ctypes.Structure):
    """AscendcTwinCall of twin_driver.h."""

    _fields_ = [
        ("api", ctypes.c_char * 32),
        ("item", ctypes.c_int64),
        ("calls", ctypes.c_int64),
        ("repeats", ctypes.c_int64),
    ]


class _Report(ctypes.Structure):
    """AscendcTwinReport of twin_driver.h."""

    _fields_ = [
        ("vector_instructions", ctypes.c_int64),
        ("vector_repeats", ctypes.c_int64),
        ("pipe_bytes", ctypes.c_int64 * 4),
        ("pipe_copies", ctypes.c_int64 * 4),
        ("calls", _Call * 64),
        ("call_count", ctypes.c_int64),
        ("core", ctypes.c_int64),
        ("line", ctypes.c_int32),
        ("api", ctypes.c_char * 64),
        ("rule", ctypes.c_char * 64),
        ("text", ctypes.c_char * 512),
    ]


# What needs no types of the kernel is compiled once, and then for speed.
_CORE_FLAGS = ("-O2",) + TWIN_FLAGS[1:]
# Of many kernels that run once or twice, even the least optimization costs more than it gives.
_TOGETHER_FLAGS = ("-O0",) + TWIN_FLAGS[1:]
_TOGETHER = "twin_kernels.h"
_SYMBOL = "ascendc_twin_run"
_libraries: Dict[str, ctypes.CDLL] = {}
_core: List[ctypes.CDLL] = []
_together: Dict[Tuple[str, str], Any] = {}


def build_twin(source: str, entry: str) -> str:
    """Path of the library that runs `entry` of a kernel text; BuildError when it is no C++.

    The text stands first in the unit, unchanged, so that its lines keep their numbers.
    """
    unit = '{}\n#include "twin_driver.h"\nASCENDC_TWIN_ENTRY({})\n'.format(source, entry)
    return _build(unit, entry, "kernel_operator.h")


def build_together(kernels: Sequence[Tuple[str, str]]) -> None:
    """Compile several kernels, (text, entry) each, as one unit, and keep them for `run_twin`.

    Most of the compiler's time goes into the twin, which they have in common. Each text stands
    unchanged in a namespace of its own. Nothing happens when some text does not compile: it then
    fails when it is run.
    """
    # Under a name of its own: a precompiled header counts for the first include only.
    unit = ['#include "{}"\n'.format(_TOGETHER)]
    for number, (source, entry) in enumerate(kernels):
        name = "twin_{}_{}".format(number, entry)
        unit.append(
            '#define {0} {1}\nnamespace twin_{2} {{\n#line 1 "kernel {2}"\n{3}\n}}\n'
            "#undef {0}\nASCENDC_TWIN_ENTRY_AS({1}_run, twin_{2}::{1})\n".format(
                entry, name, number, source
            )
        )
    try:
        path = _build("".join(unit), "{} kernels".format(len(kernels)), _TOGETHER)
    except BuildError:
        return
    for number, (source, entry) in enumerate(kernels):
        _together[source, entry] = _load(path, "twin_{}_{}_run".format(number, entry))


def _build(unit: str, label: str, first: str) -> str:
    """The library of a unit whose first header, called `first`, is that of the twin."""
    folder = _folder()
    # The driver as well, for the unit includes it behind the kernel.
    names = [os.path.join(folder, name) for name in ("kernel_operator.h", "twin_driver.h")]
    header = "".join('#include "{}"\n'.format(name) for name in names)
    return build.build_library(
        unit,
        label=label,
        flags=_TOGETHER_FLAGS if first == _TOGETHER else TWIN_FLAGS,
        include_dirs=(folder,),
        header=(first, header),
    )


def _folder() -> str:
    return os.path.join(paths.csrc_dir(), "ascendc_twin")


def _load_core() -> None:
    """What kernels find in the process: the part of the twin that is compiled once for them all."""
    if _core:
        return
    folder = _folder()
    names = sorted(name for name in os.listdir(folder) if name.endswith(".cc"))
    texts = [paths.read_text(os.path.join(folder, name)) for name in names]
    unit = '// {}\n#include "twin_core.cc"\n'.format(digest_of(*texts))
    path = build.build_library(unit, label="twin", flags=_CORE_FLAGS, include_dirs=(folder,))
    _core.append(ctypes.CDLL(path, ctypes.RTLD_GLOBAL))


def run_twin(
    source: str,
    entry: str,
    inputs: Sequence[np.ndarray],
    outputs: Sequence[Tuple[Tuple[int, ...], str]],
    tiling: bytes,
    block_dim: int,
    platform: Any,
    workspace_bytes: int = 0,
    check: bool = True,
    tiling_key: int = 0,
) -> TwinResult:
    """Run an Ascend C kernel on `block_dim` cores of the twin.

    The entry takes the GM addresses of inputs, outputs, workspace and tiling data, in this order;
    parameters passed by value are read from the tiling bytes. `outputs` gives shape and dtype
    name; bfloat16 arrays are uint16. Outputs start as bytes 0xCD. `platform` is a row of
    platforms.py: its limits and, by its npu_arch, the element types and calls of the chip are what
    the checks go by; names in its `lacks`, if it has one, are calls that the chip does not have.
    Raises TwinError for a broken rule, BuildError when the text does not compile.
    """
    function = _together.get((source, entry)) or _load(build_twin(source, entry), _SYMBOL)
    arrays = [np.ascontiguousarray(array) for array in inputs]
    results = [np.empty(shape, storage_dtype(dtype)) for shape, dtype in outputs]
    sizes = [array.nbytes for array in arrays + results] + [workspace_bytes]
    kinds = [_INPUT] * len(arrays) + [_OUTPUT] * len(results) + [_WORKSPACE]
    memory, starts = _global_memory(sizes)
    for array, start in zip(arrays, starts):
        memory[start : start + array.nbytes] = array.reshape(-1).view(np.uint8)
    run, report, keep = _arguments(memory, starts, sizes, kinds, tiling)
    run.tiling_key, run.block_dim, run.check = tiling_key, block_dim, int(check)
    _describe(run, platform)
    if function(ctypes.byref(run), ctypes.byref(report)) != 0:
        raise TwinError(
            report.text.decode("utf-8", "replace"),
            report.rule.decode(),
            report.api.decode(),
            report.line,
            report.core,
            entry,
        )
    for result, start in zip(results, starts[len(arrays) :]):
        result.reshape(-1).view(np.uint8)[:] = memory[start : start + result.nbytes]
    return _result(results, keep, report)


def _result(results: List[np.ndarray], keep: Dict[str, Any], report: _Report) -> TwinResult:
    scalar, _, loads, stores = range(4)  # the pipes, as the report numbers them
    calls = report.calls[: report.call_count]
    return TwinResult(
        results,
        list(keep["read"]),
        list(keep["written"]),
        report.vector_instructions,
        report.vector_repeats,
        report.pipe_bytes[loads],
        report.pipe_bytes[stores],
        report.pipe_copies[loads],
        report.pipe_copies[stores],
        report.pipe_bytes[scalar],
        tuple(CallCount(c.api.decode(), c.item, c.calls, c.repeats) for c in calls),
        tuple(keep["fetched"]),
    )


def _describe(run: _Run, platform: Any) -> None:
    """Fill in what the checks need of a chip."""
    run.ub_bytes, run.vector_cores = platform.ub_bytes, platform.vector_cores
    run.chip, run.npu_arch = platform.name.encode(), platform.npu_arch
    run.lacks = "".join(name + " " for name in getattr(platform, "lacks", ())).encode()
    run.limits[:] = (
        platform.max_repeat,
        platform.max_queue_buffers,
        platform.max_buffers,
        platform.max_copy_blocks,
        platform.max_copy_bytes,
    )
    run.l2_bytes = getattr(platform, "l2_served_bytes", 0)


def _load(path: str, symbol: str) -> Any:
    """The function `symbol` of a kernel library, which stays loaded."""
    library = _libraries.get(path)
    if library is None:
        _load_core()
        library = _libraries[path] = ctypes.CDLL(path)
    function = getattr(library, symbol)
    function.argtypes = [ctypes.POINTER(_Run), ctypes.POINTER(_Report)]
    return function


def _global_memory(sizes: Sequence[int]) -> Tuple[np.ndarray, List[int]]:
    """One array that holds all buffers with gaps between them, and where each starts in it."""
    starts, position = [], 0
    for index, size in enumerate(sizes):
        position += _SYSTEM_WORKSPACE if index == len(sizes) - 1 else 0
        starts.append(position)
        position += -(-size // _GAP) * _GAP + _GAP
    memory: np.ndarray = np.full(position + _GAP, _UNWRITTEN, np.uint8)
    skip = -memory.ctypes.data % _GAP
    return memory[skip:], starts


def _arguments(
    memory: np.ndarray,
    starts: Sequence[int],
    sizes: Sequence[int],
    kinds: Sequence[int],
    tiling: bytes,
) -> Tuple[_Run, _Report, Dict[str, Any]]:
    """The structures of a run; the dict holds the counters and keeps the tiling bytes alive."""
    count = len(sizes)
    base = memory.ctypes.data
    pointers = (ctypes.c_void_p * count)(*[base + start for start in starts])
    lengths = (ctypes.c_int64 * count)(*sizes)
    roles = (ctypes.c_int32 * count)(*kinds)
    read, fetched, written = ((ctypes.c_int64 * count)() for _ in range(3))
    data = ctypes.create_string_buffer(bytes(tiling), len(tiling) + 1)
    run = _Run(
        pointers=pointers,
        bytes=lengths,
        kinds=roles,
        read=read,
        fetched=fetched,
        written=written,
        tiling=ctypes.addressof(data),
        tiling_bytes=len(tiling),
        buffers=count,
    )
    keep = {"read": read, "fetched": fetched, "written": written, "data": data}
    return run, _Report(core=-1), keep
