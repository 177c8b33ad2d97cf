"""Calibration: fits a chip's cost row to times measured on it.

A runner measures one instruction or copy at several lengths; a line through the times gives its
start cost and its cost per 256 bytes. What a runner cannot measure keeps the value of the row that
the calibration began with.
"""
from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from tf_autofuse.platforms import CopyCost, Cost, Platform

COPY_BYTES = (256, 1024, 4096, 16384, 32768)
VECTOR_BYTES = (256, 512, 1024, 4096, 16384)
REGISTER_BYTES = 256.0  # of one repeat, the unit of `Cost.rate`

# An instruction for each cost class: what a class costs is what this one costs.
PROBES: Dict[str, str] = {
    "scalar": "adds", "unary": "abs", "binary": "add", "exp": "exp", "sqrt": "sqrt", "div": "div",
    "compare": "lt", "select": "select", "cast": "cast", "fill": "fill", "copy": "copy",
    "lane_reduce": "lane_reduce", "block_reduce": "block_reduce", "math": "tanh",
    "long_math": "erf",
}

Runner = Callable[[str, str, int], Optional[float]]
"""``runner(probe, dtype, nbytes)``: nanoseconds that one `probe` takes on `nbytes` bytes of one
core, None where it cannot be measured. Probes are the values of `PROBES`, and "load" and "store",
the copies from and to global memory; dtypes are float32 and float16."""


class Line(NamedTuple):
    """`head + slope * bytes`, both at least 0."""

    head: float
    slope: float


def fit(points: Sequence[Tuple[float, float]]) -> Line:
    """The line of least squares of relative errors through (bytes, time) points.

    ValueError for fewer than two different byte counts, or times that are not positive.
    """
    if len({x for x, _ in points}) < 2 or min(y for _, y in points) <= 0:
        raise ValueError("a line needs two byte counts and positive times, not %r" % (points,))
    weights = [1.0 / (y * y) for _, y in points]
    total = sum(weights)
    mean_x = sum(w * x for w, (x, _) in zip(weights, points)) / total
    mean_y = sum(w * y for w, (_, y) in zip(weights, points)) / total
    spread = sum(w * (x - mean_x) ** 2 for w, (x, _) in zip(weights, points))
    slope = sum(w * (x - mean_x) * (y - mean_y) for w, (x, y) in zip(weights, points)) / spread
    slope = max(slope, 0.0)
    return Line(max(mean_y - slope * mean_x, 0.0), slope)


def calibrate(platform: Platform, runner: Runner) -> Platform:
    """`platform` with the costs that `runner` measures, in cycles of the platform's clock."""
    costs = dict(platform.costs)
    for name, probe in PROBES.items():
        costs[name] = _vector_cost(platform, runner, probe, costs[name])
    load, store = [
        _copy_cost(platform, runner, probe, known)
        for probe, known in (("load", platform.load), ("store", platform.store))
    ]
    return replace(platform, costs=costs, load=load, store=store)


def _vector_cost(platform: Platform, runner: Runner, probe: str, known: Cost) -> Cost:
    wide = _measure(platform, runner, probe, "float32", VECTOR_BYTES)
    narrow = _measure(platform, runner, probe, "float16", VECTOR_BYTES)
    if wide is None and narrow is None:
        return known
    return Cost(
        known.head if wide is None else round(wide.head, 3),
        known.rate if wide is None else round(wide.slope * REGISTER_BYTES, 4),
        known.rate16 if narrow is None else round(narrow.slope * REGISTER_BYTES, 4),
    )


def _copy_cost(platform: Platform, runner: Runner, probe: str, known: CopyCost) -> CopyCost:
    line = _measure(platform, runner, probe, "float32", COPY_BYTES)
    if line is None or line.slope == 0.0:
        return known
    return CopyCost(round(line.head, 3), round(1.0 / line.slope, 3))


def _measure(
    platform: Platform, runner: Runner, probe: str, dtype: str, sizes: Sequence[int]
) -> Optional[Line]:
    """A line in cycles over bytes; None when the runner gives less than two times."""
    points: List[Tuple[float, float]] = []
    for nbytes in sizes:
        nanoseconds = runner(probe, dtype, nbytes)
        if nanoseconds is not None and nanoseconds > 0:
            points.append((float(nbytes), nanoseconds * platform.clock_mhz / 1000.0))
    return fit(points) if len(points) > 1 else None


def to_json(row: Platform, measured_on: str) -> str:
    """The row as `platforms.read_row` reads it. `measured_on` says where the times are from."""
    costs = {name: [cost.head, cost.rate, cost.rate16] for name, cost in row.costs.items()}
    values: Dict[str, Any] = {
        "name": row.name,
        "measured_on": measured_on,
        "costs": costs,
        "load": [row.load.head, row.load.rate],
        "store": [row.store.head, row.store.rate],
    }
    return json.dumps(values, indent=2, sort_keys=True) + "\n"
