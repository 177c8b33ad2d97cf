"""Run generated Ascend C on the checking twin: patterns and random clusters, chips and shapes.

python scripts/twin_sweep.py                       everything (some tens of minutes)
python scripts/twin_sweep.py --fuzz 20 --chips Ascend910B --dtypes float32
python scripts/twin_sweep.py --bundles DIR         the kernels that other runs left in their cache
python scripts/twin_sweep.py --json

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
from typing import Any, Callable, Dict, List

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [ROOT, os.path.join(ROOT, "tests")]

from sweep import bundles  # noqa: E402
from sweep.clusters import random_cases  # noqa: E402
from sweep.patterns import PATTERNS, Case, case  # noqa: E402
from sweep.runner import SHAPES, Outcome, Sweep  # noqa: E402

from tf_autofuse.errors import AutofuseError  # noqa: E402
from tf_autofuse.platforms import PLATFORMS  # noqa: E402

DTYPES = ("float32", "float16", "bfloat16")


def main(argv: List[str]) -> int:
    """Parse the command line and sweep; the exit code."""
    parser = argparse.ArgumentParser(description="Run generated Ascend C on the checking twin.")
    parser.add_argument("--chips", default=",".join(sorted(PLATFORMS)), help="comma-separated")
    parser.add_argument("--dtypes", default=",".join(DTYPES), help="of the patterns")
    parser.add_argument("--shapes", default=",".join(SHAPES), help="of: " + ", ".join(SHAPES))
    parser.add_argument("--only", default="", help="only those whose name holds this text")
    parser.add_argument("--fuzz", type=int, default=200, help="number of random clusters")
    parser.add_argument("--json", action="store_true", help="one JSON object a kernel and shape")
    parser.add_argument("--bundles", metavar="DIR", help="run the kernels below this folder")
    options = parser.parse_args(argv)
    jobs = _bundle_jobs(options.bundles) if options.bundles else _case_jobs(options)
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        rows = [
            row
            for part in pool.map(lambda job: job(), jobs)
            for row in _shown(part, options.json)
        ]
    return _summary(rows)


def _case_jobs(options: argparse.Namespace) -> List[Callable]:
    cases = [
        case(pattern, dtype)
        for pattern in PATTERNS
        if options.only in pattern.__name__
        for dtype in options.dtypes.split(",")
    ]
    cases += [found for found in random_cases(options.fuzz) if options.only in found.name]
    shapes = options.shapes.split(",")
    return [
        functools.partial(sweep_one, found, chip, shapes)
        for chip in options.chips.split(",")
        for found in cases
        if found.name.rsplit(" ", 1)[1] in PLATFORMS[chip].dtypes
    ]


def _bundle_jobs(folder: str) -> List[Callable]:
    found = bundles.kernels(folder)
    return [functools.partial(sweep_bundle, name, kernel) for name, kernel in found]


def sweep_bundle(name: str, kernel: Any) -> List[Dict[str, Any]]:
    """Rows of a kernel from a bundle, one for each set of axis sizes."""
    rows = []
    for sizes in bundles.SIZES:
        row = {"case": name, "chip": kernel.platform, "shape": "", "fault": ""}
        try:
            _note(row, bundles.run(name, kernel, sizes))
        except AutofuseError as error:
            row["fault"] = "{}: {}".format(type(error).__name__, error)
        rows.append(row)
    return rows


def _note(row: Dict[str, Any], outcome: Outcome) -> None:
    row.update(outcome._asdict())
    row["fault"] = "" if outcome.right else "wrong result"
    if outcome.right and not outcome.sparing:
        row["fault"] = "moves more than {:.2f} of the least".format(outcome.allowed)


def sweep_one(found: Case, chip: str, shapes: List[str]) -> List[Dict[str, Any]]:
    """One row a shape: case, chip, shape, error, ratio, and what is wrong, if anything."""
    rows = []
    sweep = None
    for shape in shapes:
        row: Dict[str, Any] = {"case": found.name, "chip": chip, "shape": shape, "fault": ""}
        try:
            sweep = sweep or Sweep(found, chip)
            _note(row, sweep.run(shape))
        except AutofuseError as error:
            row["fault"] = "{}: {}".format(type(error).__name__, error)
        rows.append(row)
        if sweep is None:
            break
    return rows


def _shown(rows: List[Dict[str, Any]], as_json: bool) -> List[Dict[str, Any]]:
    for row in rows:
        if as_json:
            print(json.dumps(row, sort_keys=True))
        else:
            numbers = ""
            if "error" in row:
                numbers = "error {error:.1e}  ratio {ratio:.3f}  requests {requests:.2f}  ".format(
                    **row
                ) + ",".join(row["variants"])
            line = "{case:40} {chip:12} {shape:11} ".format(**row)
            print(line + numbers + ("  " + row["fault"] if row["fault"] else ""), flush=True)
    return rows


def _summary(rows: List[Dict[str, Any]]) -> int:
    faults = [row for row in rows if row["fault"]]
    print("{} runs, {} faults".format(len(rows), len(faults)), file=sys.stderr)
    for shape in sorted({row["shape"] for row in rows}):
        known = [row for row in rows if row["shape"] == shape and "ratio" in row]
        if known:
            words = ("error", "ratio", "requests")
            most = [max(row[word] for row in known) for word in words]
            line = "{:11} {:5} runs, at most: error {:.1e}  ratio {:.3f}  requests {:.2f}"
            print(line.format(shape or "-", len(known), *most), file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
