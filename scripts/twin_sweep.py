"""Run generated Ascend C on the checking twin: patterns and random clusters, chips and shapes.

python scripts/twin_sweep.py                       everything (some tens of minutes)
python scripts/twin_sweep.py --fuzz 20 --chips Ascend910B --dtypes float32
python scripts/twin_sweep.py --part 2/7            the second of seven parts of it
python scripts/twin_sweep.py --sizes static        only kernels of static shapes, one a shape
python scripts/twin_sweep.py --bundles DIR         the kernels that other runs left in their cache
python scripts/twin_sweep.py --json

A kernel of run-time sizes runs at all shapes; beside it every shape has a kernel of its own, which
was lowered for it alone and has its sizes and tiles as constants.

Every kernel is compared with the loop interpreter; the twin refuses what breaks a rule of the
hardware. `ratio` is the global memory moved over the least possible, `requests` the bytes that the
cores ask for over the same: L2 serves those that several want at the same time. Exit 1 when a
kernel is wrong, breaks a rule, cannot be scheduled, or moves more than 1.02 of the least, for rows
that do not fit UB one more read of the inputs.
"""
from __future__ import annotations

import argparse
import functools
import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [ROOT, os.path.join(ROOT, "tests")]

from sweep import bundles  # noqa: E402
from sweep.clusters import random_cases  # noqa: E402
from sweep.patterns import PATTERNS, Case, case  # noqa: E402
from sweep.runner import SHAPES, Outcome, Sweep, is_kernel_on  # noqa: E402

from tf_autofuse.cluster.legal import check  # noqa: E402
from tf_autofuse.codegen.ascendc import AscendCSource, print_ascendc  # noqa: E402
from tf_autofuse.errors import AutofuseError  # noqa: E402
from tf_autofuse.kernel.text import parse_kernel  # noqa: E402
from tf_autofuse.platforms import PLATFORMS  # noqa: E402
from tf_autofuse.platforms import platform as find_platform  # noqa: E402
from tf_autofuse.runtime.twin import build_together  # noqa: E402

DTYPES = ("float32", "float16", "bfloat16")
SIZES = {"dynamic": ("dynamic",), "static": ("static",), "both": ("dynamic", "static")}
"""Modes that `--sizes` stands for."""
BATCH = 32
"""Kernels compiled as one unit."""

Row = Dict[str, Any]


class Job:
    """A kernel to sweep: its text, once it is there, and the rows of its runs."""

    def __init__(self, name: str, chip: str, sizes: List[Any], make: Callable, mode: str) -> None:
        self.name, self.chip, self.sizes, self.mode = name, chip, sizes, mode
        self.make = make
        self.source: Optional[AscendCSource] = None
        self.run: Callable[[Any], Outcome] = lambda size: self._made()(size)
        self.error: Optional[AutofuseError] = None

    def prepare(self) -> None:
        """Schedule and print the kernel; a failure is kept for its rows."""
        try:
            self.source, self.run = self.make()
        except AutofuseError as error:
            self.error = error

    def _made(self) -> Callable:
        assert self.error is not None
        raise self.error

    def rows(self) -> Iterator[Row]:
        """One row for each shape: case, chip, shape, numbers, and what is wrong, if anything."""
        for size in self.sizes[: None if self.error is None else 1]:
            row: Row = {"case": self.name, "chip": self.chip, "shape": "", "fault": ""}
            row["sizes"] = self.mode
            try:
                _note(row, self.run(size))
            except AutofuseError as error:
                row["fault"] = "{}: {}".format(type(error).__name__, error)
                row["shape"] = size if self.mode == "static" else ""
            yield row


def main(argv: List[str]) -> int:
    """Parse the command line and sweep; the exit code."""
    parser = argparse.ArgumentParser(description="Run generated Ascend C on the checking twin.")
    parser.add_argument("--chips", default=",".join(sorted(PLATFORMS)), help="comma-separated")
    parser.add_argument("--dtypes", default=",".join(DTYPES), help="of the patterns")
    parser.add_argument("--shapes", default=",".join(SHAPES), help="of: " + ", ".join(SHAPES))
    parser.add_argument("--sizes", default="both", choices=list(SIZES), help="of the kernels")
    parser.add_argument("--only", default="", help="only those whose name holds this text")
    parser.add_argument("--fuzz", type=int, default=200, help="number of random clusters")
    parser.add_argument("--part", default="1/1", help="K/N: the K-th of N parts of all kernels")
    parser.add_argument("--json", action="store_true", help="one JSON object a kernel and shape")
    parser.add_argument("--faults", action="store_true", help="show only what is wrong")
    parser.add_argument("--bundles", metavar="DIR", help="run the kernels below this folder")
    options = parser.parse_args(argv)
    jobs = _bundle_jobs(options.bundles) if options.bundles else _case_jobs(options)
    part, parts = (int(word) for word in options.part.split("/"))
    jobs = jobs[part - 1 :: parts]
    batches = [jobs[at : at + BATCH] for at in range(0, len(jobs), BATCH)]
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        rows = [
            row
            for batch in pool.map(sweep_batch, batches)
            for row in _shown(batch, options)
        ]
    return _summary(rows)


def sweep_batch(jobs: List[Job]) -> List[Row]:
    """The rows of some kernels, which are compiled together."""
    for job in jobs:
        job.prepare()
    build_together([(job.source.text, job.source.entry) for job in jobs if job.source])
    return [row for job in jobs for row in job.rows()]


def _case_jobs(options: argparse.Namespace) -> List[Job]:
    cases = [
        case(pattern, dtype)
        for pattern in PATTERNS
        if options.only in pattern.__name__
        for dtype in options.dtypes.split(",")
    ]
    cases += [found for found in random_cases(options.fuzz) if options.only in found.name]
    return [
        job
        for chip in options.chips.split(",")
        for found in cases
        if is_kernel_on(chip, found)
        for mode in SIZES[options.sizes]
        for job in _jobs_of(found, chip, mode, options.shapes.split(","))
    ]


def _jobs_of(found: Case, chip: str, mode: str, shapes: List[str]) -> List[Job]:
    """The kernel of run-time sizes, or one for each shape."""
    kernels = [("", shapes)] if mode == "dynamic" else [(shape, [shape]) for shape in shapes]
    return [
        Job(found.name, chip, runs, functools.partial(_make_case, found, chip, static), mode)
        for static, runs in kernels
    ]


def _make_case(found: Case, chip: str, shape: str) -> Tuple[AscendCSource, Callable]:
    sweep = Sweep(found, chip, shape)
    check(sweep.case.lowered.kernel, chip)
    return sweep.source, sweep.run


def _bundle_jobs(folder: str) -> List[Job]:
    return [
        Job(name, chip, list(bundles.SIZES), functools.partial(_make_bundle, name, text), "dynamic")
        for name, chip, text in bundles.kernels(folder)
    ]


def _make_bundle(name: str, text: str) -> Tuple[AscendCSource, Callable]:
    kernel = parse_kernel(text)
    source = print_ascendc(kernel, find_platform(kernel.platform))
    return source, functools.partial(bundles.run, name, kernel, source)


def _note(row: Row, outcome: Outcome) -> None:
    row.update(outcome._asdict())
    row["fault"] = "" if outcome.right else "wrong result"
    if outcome.right and not outcome.sparing:
        row["fault"] = "moves more than {:.2f} of the least".format(outcome.allowed)


def _shown(rows: List[Row], options: argparse.Namespace) -> List[Row]:
    for row in rows:
        if options.faults and not row["fault"]:
            continue
        if options.json:
            print(json.dumps(row, sort_keys=True))
        else:
            numbers = ""
            if "error" in row:
                numbers = "error {error:.1e}  ratio {ratio:.3f}  requests {requests:.2f}  ".format(
                    **row
                ) + ",".join(row["variants"])
            line = "{case:40} {chip:12} {sizes:7} {shape:11} ".format(**row)
            print(line + numbers + ("  " + row["fault"] if row["fault"] else ""), flush=True)
    return rows


def _summary(rows: List[Row]) -> int:
    faults = [row for row in rows if row["fault"]]
    print("{} runs, {} faults".format(len(rows), len(faults)), file=sys.stderr)
    for mode, shape in sorted({(row["sizes"], row["shape"]) for row in rows}):
        known = [row for row in rows if "ratio" in row]
        known = [row for row in known if (row["sizes"], row["shape"]) == (mode, shape)]
        if known:
            words = ("error", "ratio", "requests")
            most = [max(row[word] for row in known) for word in words]
            line = "{:7} {:11} {:5} runs, at most: error {:.1e}  ratio {:.3f}  requests {:.2f}"
            print(line.format(mode, shape or "-", len(known), *most), file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
