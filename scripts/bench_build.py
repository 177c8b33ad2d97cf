"""Time until a training step is fused, against XLA's compile of the same step: `bench.py build`.

`cold` is all that the step waits for in our optimizer with an empty cache, `warm` the same in
another process, which finds the answers of the first on disk; `builds` is what looking for kernels
and compiling them takes, one after the other, though they compile beside the pass and each other.
`XLA` is the first call of the step with jit_compile, less a later call. Wall seconds, and in
brackets the CPU seconds of the process and of its compilers.
"""
from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from typing import Any, Dict, List, Sequence, Tuple

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MODELS = ("resnet50", "bert", "deepfm", "din")
BATCH = 2
BERT_BLOCKS = 12
WARM_SECONDS = 0.3

Row = Dict[str, Any]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `bench.py build`."""
    parser.add_argument("--model", nargs="*", default=list(MODELS[:2]), choices=MODELS)
    parser.add_argument("--no-xla", action="store_true", help="leave XLA out: it compiles long")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--worker", choices=("ours", "xla"), help=argparse.SUPPRESS)


class Clock:
    """Wall and CPU seconds since it was made."""

    def __init__(self) -> None:
        self._start = (time.perf_counter(), self._used())

    @staticmethod
    def _used() -> float:
        found = [resource.getrusage(who) for who in (resource.RUSAGE_SELF,
                                                     resource.RUSAGE_CHILDREN)]
        return sum(usage.ru_utime + usage.ru_stime for usage in found)

    def read(self) -> Tuple[float, float]:
        return time.perf_counter() - self._start[0], self._used() - self._start[1]


def run(options: argparse.Namespace) -> int:
    """Print a line per model; 1 when a cold build is slower than XLA or a warm one takes long."""
    if options.worker:
        print(json.dumps(_ours(options) if options.worker == "ours" else _xla(options)))
        return 0
    rows = [_row(model, options) for model in options.model]
    if options.json:
        print(json.dumps(rows, indent=2))
    return int(any(row["warm"]["pass"][0] > WARM_SECONDS for row in rows) or any(
        row["cold"]["pass"][0] > row["xla"][0] for row in rows if "xla" in row))


def _row(model: str, options: argparse.Namespace) -> Row:
    row: Row = {"model": model}
    with tempfile.TemporaryDirectory() as cache:
        for name in ("cold", "warm"):
            row[name] = _worker("ours", model, cache)
        if not options.no_xla:
            row["xla"] = _worker("xla", model, cache)["compile"]
    if not options.json:
        texts = ["cold %s, builds %.2f" % (_times(row["cold"]["pass"]), row["cold"]["builds"]),
                 "warm " + _times(row["warm"]["pass"])]
        kernels = "%(nodes)d nodes, %(kernels)d kernels" % row["cold"]
        xla = "XLA " + _times(row["xla"]) if "xla" in row else ""
        print("%-9s %-26s %s   %s" % (model, kernels, "   ".join(texts), xla), flush=True)
    return row


def _times(pair: Sequence[float]) -> str:
    return "%.2f (%.2f)" % tuple(pair)


def _worker(side: str, model: str, cache: str) -> Row:
    command = [sys.executable, "-W", "ignore", os.path.join(ROOT, "scripts", "bench.py"), "build"]
    command += ["--worker", side, "--model", model]
    environment = dict(os.environ, AUTOFUSE_CACHE_DIR=cache)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit("%s failed:\n%s" % (model, done.stderr[-3000:]))
    return json.loads(done.stdout.splitlines()[-1])


def _step(model: str, jit: bool) -> Any:
    """(concrete training step, its arguments)"""
    import bench_models

    case = bench_models.CASES[model]
    if model == "bert":
        case = case._replace(build=lambda: bench_models.bert_blocks(BERT_BLOCKS))
    arguments = case.batch(BATCH)
    return bench_models.step_of(case, True, [], jit=jit), arguments


def _ours(options: argparse.Namespace) -> Row:
    import tf_autofuse
    from tf_autofuse.build import compile_log
    from tf_autofuse.frontend.tensorflow import intercept, optimizer, wire

    tf_autofuse.enable()
    times: List[Tuple[float, float]] = []
    nodes: List[int] = []

    def optimize(graph_def: bytes, info: Dict[str, Any]) -> Any:
        nodes.append(len(wire.split(graph_def)[0]))
        clock = Clock()
        try:
            return optimizer.optimize(graph_def, info)
        finally:
            times.append(clock.read())

    intercept.install(optimize)
    step, arguments = _step(options.model[0], jit=False)
    step(*arguments)
    kernels = {entry.key for entry in tf_autofuse.report().kernels}
    return {"pass": [sum(part) for part in zip(*times)], "nodes": max(nodes),
            "builds": sum(record.seconds for record in compile_log()), "kernels": len(kernels)}


def _xla(options: argparse.Namespace) -> Row:
    step, arguments = _step(options.model[0], jit=True)
    concrete = step.get_concrete_function(*arguments)
    times = []
    for _ in range(2):
        clock = Clock()
        concrete(*arguments)
        times.append(clock.read())
    return {"compile": [first - second for first, second in zip(*times)]}
