"""Fused kernels against TensorFlow, XLA and a plain copy: `python scripts/bench.py speed`.

TF/ours and XLA/ours above 1 mean that ours is faster; ours/copy compares with numpy copying as
many bytes as the case must read and write. A copy runs on one thread, whatever --threads says.
`empty` is a call of a function that does nothing: below it no fused op can come. Where the Python
that runs this, or the one of --inductor, has PyTorch, there is a column for its Inductor.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import os
import statistics
import subprocess
import sys
import time
from typing import Any, Callable, Dict, Iterator, List, Sequence, Tuple

import bench_inductor

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RATIOS = (("tf", "ours"), ("xla", "ours"), ("ours", "copy"))
INDUCTOR = ("inductor", "ours")
SAMPLE_SECONDS = 0.002  # a sample repeats a call that is shorter

Row = Dict[str, Any]


def add_arguments(command: argparse.ArgumentParser) -> None:
    """The options of `speed`."""
    command.add_argument("--case", nargs="*", default=[], help="names of cases (all)")
    command.add_argument("--size", nargs="*", type=int, default=[64, 256, 1024, 4096])
    command.add_argument("--shapes", nargs="*", default=["static", "dynamic"])
    command.add_argument("--threads", nargs="*", type=int, default=[1, 2])
    command.add_argument("--rounds", type=int, default=11)
    command.add_argument("--no-xla", action="store_true", help="leave XLA out: it compiles")
    command.add_argument("--inductor", metavar="PYTHON", help="a Python that has PyTorch")
    command.add_argument(
        "--cpu-time",
        action="store_true",
        help="count CPU time of the process: on a busy machine, with one thread, the time it would"
        " take on an idle one",
    )
    command.add_argument("--json", action="store_true", help="print JSON")
    command.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)


def run(options: argparse.Namespace) -> int:
    """Measure in one process per thread count and print the table; 1 when a case did not fuse."""
    if options.worker:
        for row in _measure_all(options):
            print(json.dumps(row), flush=True)
        return 0
    _find_inductor(options)
    rows: List[Row] = []
    for threads in options.threads:
        rows += _run_worker(options, threads)
    if options.json:
        print(json.dumps({"rows": rows, "geomeans": geomeans(rows)}, indent=2))
    else:
        _print_geomeans(rows)
    return int(any(row["fused"] == 0 for row in rows))


def _find_inductor(options: argparse.Namespace) -> None:
    """Without the option PyTorch is taken where it is; SystemExit where it cannot be imported."""
    if options.inductor is None:
        options.inductor = sys.executable if importlib.util.find_spec("torch") else ""
    why = bench_inductor.why_not(options.inductor) if options.inductor else ""
    if why:
        raise SystemExit("--inductor: %s" % why)


def _run_worker(options: argparse.Namespace, threads: int) -> List[Row]:
    command = [sys.executable, "-W", "ignore", os.path.join(ROOT, "scripts", "bench.py"), "speed"]
    command += ["--worker", "--threads", str(threads), "--rounds", str(options.rounds)]
    command += ["--size"] + [str(size) for size in options.size]
    command += ["--shapes"] + options.shapes + ["--case"] + options.case
    command += ["--no-xla"] * options.no_xla + ["--cpu-time"] * options.cpu_time
    command += ["--inductor", options.inductor]
    rows: List[Row] = []
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as worker:
        assert worker.stdout is not None
        for line in worker.stdout:
            rows.append(json.loads(line))
            if not options.json:
                _print_row(rows[-1], first=len(rows) == 1)
    if worker.returncode != 0:
        raise SystemExit("the benchmark with %d threads failed; run it with --worker" % threads)
    return rows


def _measure_all(options: argparse.Namespace) -> Iterator[Row]:
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(options.threads[0])
    tf.config.threading.set_inter_op_parallelism_threads(1)
    from bench_cases import CASES

    unknown = set(options.case) - set(CASES)
    if unknown:
        raise SystemExit("no such case: %s; there are %s" % (sorted(unknown), sorted(CASES)))
    rival = options.inductor and bench_inductor.Inductor(
        options.inductor, options.threads[0], options.cpu_time)
    for size in options.size:
        for name in options.case or CASES:
            for shapes in options.shapes:
                row = {"case": name, "size": size, "shapes": shapes, "threads": options.threads[0]}
                row.update(_measure(name, size, shapes == "dynamic", options, rival))
                yield row
    if rival:
        rival.close()


def _measure(
    name: str, size: int, dynamic: bool, options: argparse.Namespace, rival: Any
) -> Row:
    """Median seconds of every contender, and the number of fused nodes."""
    import bench_cases
    import tensorflow as tf

    import tf_autofuse

    case = bench_cases.CASES[name]
    inputs = bench_cases.inputs_of(case, size)
    signature = bench_cases.signature_of(case, size, dynamic)

    def contender(body: Any = case.function, **how: Any) -> Callable[[], Any]:
        function = tf.function(body, input_signature=signature, **how)
        call = function.get_concrete_function()
        call(*inputs)
        return lambda: call(*inputs)

    # The hook stays, only fusing is off: what carries the call is the same for all of them.
    tf_autofuse.enable()
    tf_autofuse.enable("--enable_autofuse=false")
    calls = {"tf": contender(), "empty": contender(lambda *inputs: tf.identity(inputs[0]))}
    if not options.no_xla:
        calls["xla"] = contender(jit_compile=True)
    tf_autofuse.enable()
    before = sum(entry.calls for entry in tf_autofuse.report().kernels)
    calls["ours"] = contender()
    fused = sum(entry.calls for entry in tf_autofuse.report().kernels) - before
    calls["copy"] = _copy(moved_bytes(inputs, calls["tf"]()))
    clock = time.process_time if options.cpu_time else time.perf_counter
    timers = {key: _timer(call, clock) for key, call in calls.items()}
    if rival:
        shapes = [bench_cases.shape_of(kind, size) for kind in case.inputs]
        rival.prepare(name, shapes, case.dtype, case.positive, dynamic)
        timers["inductor"] = rival.timed
    times = interleaved(timers, options.rounds)
    return dict({key + "_us": 1e6 * seconds for key, seconds in times.items()}, fused=fused)


def moved_bytes(inputs: Sequence[Any], outputs: Any) -> int:
    """Bytes that a case must read and write: its inputs and its outputs, once."""
    results = list(outputs) if isinstance(outputs, (tuple, list)) else [outputs]
    return sum(t.numpy().nbytes for t in [*inputs, *results])


def _copy(moved: int) -> Callable[[], Any]:
    import numpy as np

    source = np.ones(max(1, moved // 8), np.float32)
    target = np.zeros_like(source)
    return lambda: np.copyto(target, source)


def _timer(call: Callable[[], Any], clock: Callable[[], float]) -> Callable[[int], float]:
    """Seconds of `clock` per call, the mean over a number of calls."""

    def timed(repeat: int) -> float:
        start = clock()
        for _ in range(repeat):
            call()
        return (clock() - start) / repeat

    return timed


def interleaved(timers: Dict[str, Callable[[int], float]], rounds: int) -> Dict[str, float]:
    """Median seconds per call over rounds in which every contender runs in turn."""
    repeat = {}
    for name, timed in timers.items():
        timed(1)
        repeat[name] = max(1, int(SAMPLE_SECONDS / max(timed(1), 1e-7)))
    times: Dict[str, List[float]] = {name: [] for name in timers}
    for _ in range(rounds):
        for name, timed in timers.items():
            times[name].append(timed(repeat[name]))
    return {name: statistics.median(values) for name, values in times.items()}


def _ratios(rows: Sequence[Row]) -> Tuple[Tuple[str, str], ...]:
    return RATIOS + (INDUCTOR,) * any("inductor_us" in row for row in rows)


def _ratio(row: Row, over: str, under: str) -> float:
    if over + "_us" not in row:
        return math.nan
    return row[over + "_us"] / row[under + "_us"]


def geomeans(rows: Sequence[Row]) -> Dict[str, Dict[str, float]]:
    """Geometric mean of every ratio, per size, shapes and threads."""
    groups: Dict[Tuple[int, str, int], List[Row]] = {}
    for row in rows:
        groups.setdefault((row["size"], row["shapes"], row["threads"]), []).append(row)
    table = {}
    for (size, shapes, threads), members in groups.items():
        key = "%d %s %d threads" % (size, shapes, threads)
        table[key] = {}
        for over, under in _ratios(rows):
            logs = [math.log(_ratio(row, over, under)) for row in members]
            table[key]["%s/%s" % (over, under)] = math.exp(statistics.mean(logs))
    return table


def _print_row(row: Row, first: bool) -> None:
    titles = ["%s/%s" % pair for pair in _ratios([row])]
    if first:
        heads = ("case", "size", "shapes", "threads", "ours us", "empty us")
        print("%-18s %5s %-8s %7s %10s %8s" % heads + "".join("%15s" % title for title in titles))
    text = "%-18s %5d %-8s %7d %10.1f %8.1f" % (
        row["case"], row["size"], row["shapes"], row["threads"], row["ours_us"], row["empty_us"],
    )
    text += "".join("%15s" % _number(_ratio(row, *pair)) for pair in _ratios([row]))
    print(text + ("" if row["fused"] else "   not fused"), flush=True)


def _print_geomeans(rows: Sequence[Row]) -> None:
    print("\ngeometric means")
    for key, ratios in geomeans(rows).items():
        cells = ["%s %s" % (name, _number(value)) for name, value in ratios.items()]
        print("%-28s %s" % (key, "   ".join(cells)))


def _number(value: float) -> str:
    return "-" if math.isnan(value) else "%.2f" % value
