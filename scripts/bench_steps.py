"""Whole steps of models against TensorFlow and XLA: `bench.py steps`.

Every model runs forward and training, from the same weights, in one process and in interleaved
rounds; TF/ours and XLA/ours above 1 mean that ours is faster, in medians of wall time and in the
least CPU time of a step, which a busy machine disturbs less. `fused` is the share of our step
spent in fused kernels (above 100 % where kernels run at the same time), `loss` the largest
relative difference to TensorFlow's losses over the steps. Peak memory is that of a process which
does nothing else.
"""
from __future__ import annotations

import argparse
import json
import math
import os
import resource
import statistics
import subprocess
import sys
import time
from typing import Any, Callable, Dict, List

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MODELS = ("resnet50", "bert", "deepfm", "din")
SIDES = ("tf", "ours", "xla")
MEMORY_STEPS = 5
LOSS_STEPS = 4  # before rounding differences have grown with the training itself

Row = Dict[str, Any]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `bench.py steps`."""
    parser.add_argument("--model", nargs="*", default=list(MODELS), choices=MODELS)
    parser.add_argument("--mode", nargs="*", default=["forward", "train"],
                        choices=["forward", "train"])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--no-xla", action="store_true", help="leave XLA out: it compiles long")
    parser.add_argument("--no-memory", action="store_true", help="leave peak memory out")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--worker", choices=SIDES + ("all",), help=argparse.SUPPRESS)


def run(options: argparse.Namespace) -> int:
    """Print a line per model and mode; 1 when ours is slower than TensorFlow or takes more."""
    if options.worker == "all":
        print(json.dumps(_measure(options)), flush=True)
        return 0
    if options.worker:
        print(json.dumps(_peak(options)), flush=True)
        return 0
    rows = []
    for model in options.model:
        for mode in options.mode:
            rows.append(_row(model, mode, options))
            if not options.json:
                _print(rows[-1], first=len(rows) == 1)
    if options.json:
        print(json.dumps(rows, indent=2))
    return int(any(row["tf_ms"] < row["ours_ms"] for row in rows))


def _row(model: str, mode: str, options: argparse.Namespace) -> Row:
    row = {"model": model, "mode": mode, **_worker("all", model, mode, options)}
    sides = [] if options.no_memory else [s for s in SIDES if s != "xla" or not options.no_xla]
    for side in sides:
        row.update(_worker(side, model, mode, options))
    return row


def _worker(side: str, model: str, mode: str, options: argparse.Namespace) -> Row:
    command = [sys.executable, "-W", "ignore", os.path.join(ROOT, "scripts", "bench.py"), "steps"]
    command += ["--worker", side, "--model", model, "--mode", mode]
    command += ["--rounds", str(options.rounds)] + ["--no-xla"] * options.no_xla
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit("%s %s failed:\n%s" % (model, mode, done.stderr[-3000:]))
    return json.loads(done.stdout.splitlines()[-1])


def _fusing(on: bool) -> None:
    """The hook stays in both cases: what carries the call is the same."""
    import tf_autofuse

    tf_autofuse.enable("--enable_autofuse=%s" % str(on).lower())


def _measure(options: argparse.Namespace) -> Row:
    import bench_models

    case = bench_models.CASES[options.model[0]]
    train = options.mode[0] == "train"
    inputs, labels = case.batch(case.size)
    weights = case.build().get_weights()
    calls: Dict[str, Callable[[], float]] = {}
    first: Row = {}
    losses: Dict[str, List[float]] = {}
    _fusing(True)
    for side in [s for s in SIDES if s != "xla" or not options.no_xla]:
        _fusing(side == "ours")
        step = bench_models.step_of(case, train, weights, jit=side == "xla")
        concrete = step.get_concrete_function(inputs, labels)
        calls[side] = lambda concrete=concrete: float(concrete(inputs, labels))
        start = time.perf_counter()
        losses[side] = [calls[side]()]
        first[side + "_first_s"] = time.perf_counter() - start
        losses[side] += [calls[side]() for _ in range(LOSS_STEPS - 1)]
    before = _fused_seconds()
    times: Dict[str, List[float]] = {side: [] for side in calls}
    cpu: Dict[str, List[float]] = {side: [] for side in calls}
    for _ in range(options.rounds):
        for side, call in calls.items():
            start, used = time.perf_counter(), time.process_time()
            call()
            times[side].append(time.perf_counter() - start)
            cpu[side].append(time.process_time() - used)
    row = {side + "_ms": 1e3 * statistics.median(spent) for side, spent in times.items()}
    row.update({side + "_cpu_ms": 1e3 * min(spent) for side, spent in cpu.items()})
    row.update(first, fused=(_fused_seconds() - before) / sum(times["ours"]))
    row.update(kernels=_kernels_used(), loss=_difference(losses["tf"], losses["ours"]))
    return row


def _difference(expected: List[float], got: List[float]) -> float:
    return max(abs(a - b) / max(abs(a), 1e-6) for a, b in zip(expected, got))


def _fused_seconds() -> float:
    import tf_autofuse

    return 1e-9 * sum(entry.nanos for entry in tf_autofuse.report().kernels)


def _kernels_used() -> int:
    import tf_autofuse

    return sum(entry.calls > 0 for entry in tf_autofuse.report().kernels)


def _peak(options: argparse.Namespace) -> Row:
    """Peak memory in MB of some steps of one side, beyond what the process had before them."""
    import bench_models

    side, case = options.worker, bench_models.CASES[options.model[0]]
    inputs, labels = case.batch(case.size)
    if side == "ours":
        _fusing(True)
    step = bench_models.step_of(case, options.mode[0] == "train", [], jit=side == "xla")
    for _ in range(MEMORY_STEPS):
        step(inputs, labels)
    return {side + "_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0}


def _print(row: Row, first: bool) -> None:
    if first:
        print("%-9s %-8s %8s %8s %8s %8s %8s %6s %7s %8s   %s" % (
            "model", "mode", "ours ms", "TF/ours", "XLA/ours", "CPU: TF", "XLA", "fused",
            "kernels", "loss", "peak MB: TF, ours, XLA"))
    ratios = [_ratio(row, side, kind) for kind in ("_ms", "_cpu_ms") for side in ("tf", "xla")]
    peaks = ["%.0f" % row[side + "_mb"] for side in SIDES if side + "_mb" in row]
    text = "%-9s %-8s %8.1f %8s %8s %8s %8s %5.0f%% %7d %8.1e   %s" % (
        row["model"], row["mode"], row["ours_ms"], *ratios, 100 * row["fused"], row["kernels"],
        row["loss"], ", ".join(peaks))
    print(text, flush=True)


def _ratio(row: Row, side: str, kind: str) -> str:
    value = row.get(side + kind, math.nan) / row["ours" + kind]
    return "-" if math.isnan(value) else "%.2f" % value
