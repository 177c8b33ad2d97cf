"""Whole steps of models against TensorFlow and XLA: `bench.py steps`.

Every model runs forward and training, from the same weights, in one process and in interleaved
rounds; TF/ours and XLA/ours above 1 mean that ours is faster, in medians of wall time and in the
least CPU time of a step, which a busy machine disturbs less. `fused` is the share of our step
spent in fused kernels (above 100 % where kernels run at the same time), `loss` the largest
relative difference to TensorFlow's losses over the steps.

Memory is that of a process which does nothing else, with TensorFlow's own pool off, so that what
is free is given back and what is resident was needed: `step` is the peak of a step less what stays
between steps (the output pool of fused kernels counts as part of the step, though it stays),
`peak` that of the whole process, in which fusing has read its modules and kept a heap.
"""
from __future__ import annotations

import argparse
import ctypes
import gc
import importlib.util
import json
import math
import os
import statistics
import subprocess
import sys
import time
from typing import Any, Callable, Dict, List

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MODELS = ("resnet50", "bert", "deepfm", "din")
DEEPCTR = ("deepctr_deepfm", "deepctr_din")  # where the package is installed
SIDES = ("tf", "ours", "xla")
MEMORY_STEPS = 6
# Nothing free stays in the process: neither in TensorFlow's pool nor in the C library's heap.
MEMORY_SETTINGS = {"TF_ONEDNN_USE_SYSTEM_ALLOCATOR": "1", "MALLOC_MMAP_THRESHOLD_": "262144",
                   "MALLOC_TRIM_THRESHOLD_": "262144"}
LOSS_STEPS = 4  # before rounding differences have grown with the training itself

Row = Dict[str, Any]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `bench.py steps`."""
    known = MODELS + DEEPCTR
    usual = known if importlib.util.find_spec("deepctr") else MODELS
    parser.add_argument("--model", nargs="*", default=list(usual), choices=known)
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
    settings = {} if side == "all" else dict(MEMORY_SETTINGS)
    if model in DEEPCTR:
        settings["TF_USE_LEGACY_KERAS"] = "1"
    done = subprocess.run(command, capture_output=True, text=True, check=False,
                          env={**os.environ, **settings})
    if done.returncode != 0:
        raise SystemExit("%s %s failed:\n%s" % (model, mode, done.stderr[-3000:]))
    return json.loads(done.stdout.splitlines()[-1])


def _fusing(on: bool) -> None:
    """The hook stays in both cases: what carries the call is the same."""
    import tf_autofuse

    tf_autofuse.enable("--enable_autofuse=%s" % str(on).lower())


def _case(model: str) -> Any:
    if model not in DEEPCTR:
        import bench_models

        return bench_models.CASES[model]
    try:
        import bench_deepctr
    except ImportError as error:
        raise SystemExit("%s needs deepctr and tf_keras (%s): bash scripts/test.sh installs them"
                         % (model, error)) from error
    return bench_deepctr.CASES[model]


def _measure(options: argparse.Namespace) -> Row:
    import bench_models

    case = _case(options.model[0])
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
    """Memory of one side in MB: the median peak of a step and that of the process."""
    import bench_models

    from tf_autofuse.runtime import tf_op

    side, case = options.worker, _case(options.model[0])
    inputs, labels = case.batch(case.size)
    _fusing(side == "ours")
    step = bench_models.step_of(case, options.mode[0] == "train", [], jit=side == "xla")
    steps, peak = [], 0.0
    for _ in range(MEMORY_STEPS):
        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)
        rest = _resident("VmRSS") - tf_op.pool_stats()["idle_bytes"] / 2.0**20
        with open("/proc/self/clear_refs", "w") as marks:
            marks.write("5")  # the high-water mark starts again
        step(inputs, labels)
        steps.append(_resident("VmHWM") - rest)
        peak = max(peak, _resident("VmHWM"))
    return {side + "_step_mb": statistics.median(steps[1:]), side + "_mb": peak}


def _resident(name: str) -> float:
    """A figure of /proc/self/status in MB."""
    with open("/proc/self/status") as status:
        line = next(line for line in status if line.startswith(name + ":"))
    return int(line.split()[1]) / 1024.0


def _print(row: Row, first: bool) -> None:
    if first:
        print("%-9s %-8s %8s %8s %8s %8s %8s %6s %7s %8s   %s" % (
            "model", "mode", "ours ms", "TF/ours", "XLA/ours", "CPU: TF", "XLA", "fused",
            "kernels", "loss", "step MB: TF, ours, XLA; peak MB"))
    ratios = [_ratio(row, side, kind) for kind in ("_ms", "_cpu_ms") for side in ("tf", "xla")]
    memory = [", ".join("%.0f" % row[side + kind] for side in SIDES if side + kind in row)
              for kind in ("_step_mb", "_mb")]
    text = "%-9s %-8s %8.1f %8s %8s %8s %8s %5.0f%% %7d %8.1e   %s" % (
        row["model"], row["mode"], row["ours_ms"], *ratios, 100 * row["fused"], row["kernels"],
        row["loss"], "; ".join(memory))
    print(text, flush=True)


def _ratio(row: Row, side: str, kind: str) -> str:
    value = row.get(side + kind, math.nan) / row["ours" + kind]
    return "-" if math.isnan(value) else "%.2f" % value
