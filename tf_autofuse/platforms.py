"""Chips as data. A new chip is a new row of `PLATFORMS` and, where its instructions differ, of
`calls` and `dtypes`.

Figures come from the public sources of CANN: `[doc]` its manuals and configuration files, `[fit]`
coefficients of its own tiling models, `[run]` arithmetic on published profiler results, `[guess]`
none of these. Calibrating on a chip (`tiling.calibrate`) writes the costs of a row anew, as JSON;
such a file, called NAME.json in the folder of AUTOFUSE_PLATFORM_DIR, replaces them.
"""
from __future__ import annotations

import difflib
import functools
import json
import os
from dataclasses import dataclass, field, replace
from typing import Any, Dict, FrozenSet, Tuple

from tf_autofuse.errors import ScheduleError
from tf_autofuse.paths import read_text


@dataclass(frozen=True)
class Cost:
    """Cycles of one vector call: `head` and, per 256 bytes, the rates for 32-bit and 16-bit."""

    head: float
    rate: float
    rate16: float

    def per_element(self, item: int) -> float:
        """Cycles for one element of `item` bytes."""
        return (self.rate16 if item <= 2 else self.rate) * item / 256.0


@dataclass(frozen=True)
class CopyCost:
    """Cycles of one copy: `head + bytes / rate`; `rate` bytes per cycle of one core alone."""

    head: float
    rate: float


_COSTS_2201 = {
    "scalar": Cost(22, 0.9, 0.9),  # [fit]
    "unary": Cost(20, 1.0, 1.0),  # [fit]
    "binary": Cost(22, 1.35, 1.35),  # [fit]; 1.0 without bank conflicts [run]
    "exp": Cost(28, 2.0, 4.0),  # [fit]
    "sqrt": Cost(29, 2.0, 4.0),  # [fit]
    "div": Cost(29, 2.9, 5.9),  # [fit]
    "compare": Cost(22, 1.0, 1.0),  # [doc]
    "select": Cost(45, 1.5, 1.5),  # [fit]
    "cast": Cost(20, 1.0, 1.0),  # [doc]
    "fill": Cost(17, 1.0, 1.0),  # [fit]
    "copy": Cost(13, 1.0, 1.0),  # [fit]
    "lane_reduce": Cost(33, 7.0, 7.0),  # [fit]
    "block_reduce": Cost(18, 1.27, 7.0),  # [fit]
    "math": Cost(154, 10.0, 25.0),  # [fit], Tanh
    "long_math": Cost(458, 38.6, 89.5),  # [fit], Erf
}
_COSTS_3510 = {
    "scalar": Cost(30, 1.0, 1.0),  # [doc], head [run]
    "unary": Cost(30, 1.0, 1.0),  # [doc]
    "binary": Cost(30, 1.5, 1.5),  # [run]: three accesses of UB
    "exp": Cost(30, 4.0, 8.0),  # [doc]
    "sqrt": Cost(30, 4.0, 8.0),  # [doc]
    "div": Cost(30, 4.0, 8.0),  # [doc]
    "compare": Cost(30, 1.0, 1.0),  # [doc]
    "select": Cost(30, 1.0, 1.0),  # [doc]
    "cast": Cost(30, 1.0, 1.0),  # [doc]
    "fill": Cost(30, 1.0, 1.0),  # [doc]
    "copy": Cost(30, 1.0, 1.0),  # [doc]
    "lane_reduce": Cost(30, 1.0, 1.0),  # [doc], single issue
    "block_reduce": Cost(30, 1.0, 1.0),  # [doc]
    "math": Cost(60, 16.0, 32.0),  # [guess]: the sum of its parts
    "long_math": Cost(120, 40.0, 80.0),  # [guess]
}
_CLASSES = {
    "adds": "scalar", "muls": "scalar", "maxs": "scalar", "mins": "scalar",
    "abs": "unary", "relu": "unary", "exp": "exp", "ln": "exp", "sqrt": "sqrt", "div": "div",
    "cast": "cast", "trunc": "cast", "select": "select", "selects": "select",
    "fill": "fill", "copy": "copy",
    "lane_reduce": "lane_reduce", "block_reduce": "block_reduce",
    "tanh": "math", "sin": "math", "cos": "math", "tan": "math", "sinh": "math", "cosh": "math",
    "floor": "cast", "ceil": "cast", "round": "cast", "rint": "cast", "cut": "cast",
    "erf": "long_math", "erfc": "long_math", "asin": "long_math", "acos": "long_math",
    "atan": "long_math", "asinh": "long_math", "acosh": "long_math", "atanh": "long_math",
    "power": "long_math", "fmod": "long_math",
}
"""Cost class of an instruction; comparisons end in the name of the compare, the rest is binary."""
_MOST_CYCLES = 1e12  # a larger cost is none
_MOST_REASON = 300
_COMPARES = ("lt", "gt", "le", "ge", "eq", "ne")

_ALL_TYPES = frozenset(("float16", "bfloat16", "float32", "int8", "uint8", "int16", "int32",
                        "int64"))


@dataclass(frozen=True)
class Platform:
    """Limits and costs of one chip's vector core, which schedules and printers obey.

    `ub_bytes` is the on-chip memory a kernel may hand out; what the chip keeps for itself (the
    scratch of Select) is already taken off. `vector_cores` is only a default for machines without
    the chip: on a host with one, the runtime is asked (GetCoreNumAiv) and the answer is the
    `cores` argument of the tiling function. `lacks` are the instructions that this chip has not,
    alone or with the types of operand and result, and the calls that helpers of the printer do
    without (what stands in their place: `codegen.ascendc_block_text`). `calls` maps an instruction
    to the Ascend C function it has where that is another one; `task` is how a kernel without
    SyncAll is declared, by type and by word. Costs are in cycles of `clock_mhz`, rates in bytes
    per cycle; `gm_rate` is that of the whole chip, `l2_rate` that of its L2 cache of `l2_bytes`.
    `sync_cycles` is the cost of a SyncAll, 0 where the chip has none.
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
    dtypes: FrozenSet[str] = _ALL_TYPES
    task: Tuple[str, str] = ("KERNEL_TYPE_AIV_ONLY", "__vector__")
    lacks: FrozenSet[str] = frozenset()
    calls: Dict[str, str] = field(default_factory=dict, compare=False)
    clock_mhz: int = 1850
    costs: Dict[str, Cost] = field(default_factory=lambda: _COSTS_2201, compare=False)
    load: CopyCost = CopyCost(27, 25.8)
    store: CopyCost = CopyCost(12, 28.0)
    gm_rate: float = 843.0
    l2_bytes: int = 192 << 20
    l2_rate: float = 2750.0
    first_load: float = 1575
    first_load_per_core: float = 33
    copy_latency: float = 110
    sync_cycles: float = 3700

    @property
    def has_sync(self) -> bool:
        """Whether the cores of a kernel can wait for each other."""
        return self.sync_cycles > 0

    @property
    def l2_served_bytes(self) -> int:
        """Largest operand that is taken to be in L2 when several cores ask for it: a quarter of L2,
        so that it stays there among the tensors that only pass through [guess]."""
        return self.l2_bytes // 4

    def cost_class(self, op: str) -> str:
        """Cost class of vector instruction `op`; an unknown one counts as a binary instruction."""
        if op in _CLASSES:
            return _CLASSES[op]
        return "compare" if op.rstrip("s") in _COMPARES else "binary"

    def cost(self, op: str) -> Cost:
        """Cost of vector instruction `op`."""
        return self.costs[self.cost_class(op)]


_ROWS: Tuple[Platform, ...] = (
    # Copies, clock, bandwidth [run]; first load [fit]; latency [run]; SyncAll 2 us [guess]; L2
    # 192 MiB and 5.1 TB/s [doc].
    Platform("Ascend910B", npu_arch=2201, ub_bytes=184 * 1024, vector_cores=48),
    # The same core; figures of the family [doc], its own are not published.
    Platform("Ascend910_93", npu_arch=2201, ub_bytes=184 * 1024, vector_cores=48),
    # Copies [run], [guess] for stores; SyncAll 1 us [guess]; L2 128 MB and 5.1 TB/s [doc].
    Platform("Ascend950", npu_arch=3510, ub_bytes=248 * 1024, vector_cores=64, clock_mhz=1650,
             costs=_COSTS_3510,
             lacks=frozenset(("BlockReduce",)),  # slower than a reduction of lanes [doc]
             load=CopyCost(40, 21.0), store=CopyCost(40, 24.0), gm_rate=970.0,
             l2_bytes=128000000, l2_rate=3090.0, first_load=1174, first_load_per_core=0,
             copy_latency=165, sync_cycles=1650),
    # Clock, cores, copy rates and L2 [doc]; rates of instructions as on 2201 [guess]; no SyncAll
    # [doc]. Copies are of whole blocks, reductions to a maximum give pairs, no shifts [doc].
    Platform("Ascend310P", npu_arch=2002, ub_bytes=248 * 1024, vector_cores=8, clock_mhz=1060,
             dtypes=_ALL_TYPES - frozenset(("bfloat16",)),
             # No Cast of float32 to itself [doc].
             # Nor one between int16 and float32, of int64, or a compare of int32 [doc].
             lacks=frozenset((
                 "floor", "ceil", "rint", "cut", "eq int32", "cast int16 float32",
                 "cast float32 int16", "trunc float32 int16", "trunc float16 int16",
                 "cast int32 int16", "cast int32 int64", "cast int64 int32",
                 "cast int64 float32", "cast float32 int64", "trunc float32 int64",
                 "shls", "shrs", "DataCopyPad", "Copy", "ORDER_ONLY_VALUE")),
             task=("KERNEL_TYPE_AICORE", "__aicore__"),
             load=CopyCost(27, 17.0), store=CopyCost(12, 17.0), gm_rate=136.0,
             l2_bytes=16 << 20, l2_rate=912.0, sync_cycles=0),
)
PLATFORM_DIR = "AUTOFUSE_PLATFORM_DIR"
PLATFORMS: Dict[str, Platform] = {row.name: row for row in _ROWS}


def platform(name: str) -> Platform:
    """The row called `name`, with calibrated costs where there are some.

    ScheduleError with the known names when there is none, or when its file cannot be read.
    """
    row = PLATFORMS.get(name)
    if row is None:
        near = difflib.get_close_matches(name, PLATFORMS, 1)
        hint = "; did you mean %s?" % near[0] if near else ""
        raise ScheduleError(
            "unknown platform %r, known: %s%s" % (name, ", ".join(sorted(PLATFORMS)), hint),
            stage="platform",
        )
    path = calibration_path(name)
    if not path or not os.path.exists(path):
        return row
    stamp = os.stat(path)
    return _calibrated(row, path, stamp.st_mtime_ns, stamp.st_size)


def calibration_path(name: str) -> str:
    """The file that holds the calibrated costs of a chip, there or not; empty: no folder is set."""
    folder = os.environ.get(PLATFORM_DIR, "")
    return os.path.join(folder, name + ".json") if folder else ""


@functools.lru_cache(maxsize=16)
def _calibrated(row: Platform, path: str, mtime: int, size: int) -> Platform:
    """`row` with the costs in `path`; the last two arguments tell one version of it from others."""
    try:
        return read_row(row, json.loads(read_text(path)))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        text = "%s has no costs of %s: %s; write it anew or unset %s"
        reason = str(error)[:_MOST_REASON]
        raise ScheduleError(
            text % (path, row.name, reason, PLATFORM_DIR), stage="platform"
        ) from None


def _is_cost(number: Any) -> bool:
    return type(number) in (int, float) and 0 <= number < _MOST_CYCLES


def read_row(row: Platform, values: Dict[str, Any]) -> Platform:
    """`row` with the costs of a calibration; ValueError or KeyError when they do not fit."""
    if values["name"] != row.name:
        raise ValueError("it is a calibration of %s" % values["name"])
    unknown = set(values["costs"]) - set(row.costs)
    if unknown:
        raise ValueError("no such cost: %s" % ", ".join(sorted(unknown)))
    numbers = [*values["costs"].values(), values["load"], values["store"]]
    if not all(_is_cost(number) for entry in numbers for number in entry):
        raise ValueError("a cost is negative or no number")
    costs = dict(row.costs, **{name: Cost(*entry) for name, entry in values["costs"].items()})
    load, store = CopyCost(*values["load"]), CopyCost(*values["store"])
    if min(load.rate, store.rate) <= 0:
        raise ValueError("a copy without a rate")
    return replace(row, costs=costs, load=load, store=store)
