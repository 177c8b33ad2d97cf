"""``tf-autofuse profile``: what fusing gains in time, operator by operator."""

from __future__ import annotations

import argparse
import csv
import json
import os
import shutil
import sys
import tempfile
import time
from typing import Any, Dict, List, Tuple

from tf_autofuse.cli import calibrate, child, style
from tf_autofuse.errors import AutofuseError

MEASURED, SCRIPT_FAILED = 0, 1

_EXAMPLES = """examples:
  tf-autofuse profile train.py -o op_summary.csv -- --epochs 1
  tf-autofuse profile -m package.train --json
  tf-autofuse profile --calibrate -o costs      measure this chip; AUTOFUSE_PLATFORM_DIR=costs

exit code: 0 measured; 1 the script failed in one of its runs; 2 bad input. With --calibrate: 0 the
row of a chip was written; 1 there is no CANN, and the row that was written is of the host's CPU; 2
bad input, or a call of the device failed."""
_SHOWN = 12


def add_parser(commands: Any) -> None:
    """Add the command to the subparsers of ``tf-autofuse``."""
    parser = commands.add_parser(
        "profile",
        help="measure a script unfused and fused",
        description="Runs a script twice, unfused and fused, in processes of their own. Writes "
        "one line per run of an operator under the column names of msprof's op_summary (FILE for "
        "the fused run, FILE_unfused for the other) and compares the time of all operators: "
        "\u878d\u5408\u63d0\u5347\u6bd4 = (before - after) / before. On a host the aiv_* columns "
        "are N/A, and the host_* columns hold what was measured here. With --calibrate it "
        "measures the instructions and copies of the chip instead, and writes the costs that "
        "tilings are chosen by.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "target", metavar="TARGET", nargs="?", help="the script; its arguments follow --"
    )
    parser.add_argument(
        "-o", "--out", metavar="PATH",
        help="the CSV file, otherwise op_summary.csv; of --calibrate the folder for NAME.json, "
        "otherwise this one",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("--calibrate", action="store_true", help="measure the chip, no script")
    parser.add_argument(
        "--soc", help="chip to calibrate, as npu-smi shows it; otherwise the one that is there"
    )
    child.add_script_options(parser)
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> int:
    """Run, write, compare; the exit code of the module's text."""
    from tf_autofuse.report import profile

    if options.calibrate:
        return calibrate.execute(options)
    if options.target is None:
        raise AutofuseError("no script given; --calibrate needs none")
    out = options.out or "op_summary.csv"
    script = child.Script.of(options)
    folder = tempfile.mkdtemp(prefix="tf_autofuse-profile-")
    try:
        first, unfused = _measure(script, folder, False, options.json)
        second, fused = _measure(script, folder, True, options.json)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    speed = copy_speed()
    base, ending = os.path.splitext(out)
    _write(out, profile.rows(fused, speed))
    _write("{}_unfused{}".format(base, ending), profile.rows(unfused, speed))
    found = profile.compare(unfused, fused)
    if options.json:
        print(json.dumps([entry.to_dict() for entry in found], indent=2))
    else:
        for line in _lines(found, profile.RATIO_NAME):
            print(line)
        print("tf-autofuse: written to {}".format(out))
    return SCRIPT_FAILED if first or second else MEASURED


def _measure(script: child.Script, folder: str, on: bool, aside: bool) -> Tuple[int, Any]:
    """(exit code, what was measured) of one run, whose own output goes `aside` to stderr.

    AutofuseError when nothing came back.
    """
    from tf_autofuse.frontend.tensorflow.op_times import OpTime
    from tf_autofuse.report.profile import Measured

    times, report = (os.path.join(folder, name) for name in ("times.json", "report.json"))
    given = script.flags or ""
    switch = "--enable_autofuse={}".format("true" if on else "false")
    words = [word for word in given.split(";") if word and "enable_autofuse" not in word]
    wanted = script._replace(flags=";".join(words + [switch]))
    code = child.run_script(
        wanted,
        ["--quiet", "--times", times] + ["--report", report] * on,
        stdout=sys.stderr if aside else None,
    )
    if code:
        kind = "fused" if on else "unfused"
        text = "tf-autofuse: warning: the {} run ended with exit code {}"
        print(text.format(kind, code), file=sys.stderr)
    if not os.path.exists(times):
        raise AutofuseError("{} left no times (exit code {})".format(script.name, code))
    with open(times, encoding="utf-8") as file:
        measured = [OpTime(*entry) for entry in json.load(file)]
    os.remove(times)
    kernels: List[Dict[str, Any]] = []
    if on and os.path.exists(report):
        with open(report, encoding="utf-8") as file:
            kernels = json.load(file)["kernels"]
    return code, Measured(measured, kernels)


def copy_speed() -> float:
    """Bytes per microsecond, read and written, of a plain copy on one core of this machine."""
    import numpy as np

    source: np.ndarray = np.ones(1 << 25, np.uint8)
    target = np.empty_like(source)
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        np.copyto(target, source)
        best = min(best, time.perf_counter() - start)
    return 2 * source.nbytes / (best * 1e6)


def _write(path: str, rows: Any) -> None:
    from tf_autofuse.report.profile import COLUMNS, HOST_COLUMNS

    try:
        with open(path, "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS + HOST_COLUMNS)
            writer.writeheader()
            writer.writerows(rows)
    except OSError as error:
        raise AutofuseError("the CSV file cannot be written: {}".format(error)) from error


def _lines(found: List[Any], ratio_name: str) -> List[str]:
    rows = [("", "before (us)", "after (us)", "runs before", "runs after", ratio_name)]
    for entry in found[: 2 + _SHOWN]:
        ratio = "-" if entry.ratio is None else "{:+.1f}%".format(100 * entry.ratio)
        rows.append((
            entry.name if len(entry.name) <= 48 else entry.name[:47] + "\u2026",
            "{:.1f}".format(entry.before), "{:.1f}".format(entry.after),
            str(entry.before_calls), str(entry.after_calls), ratio,
        ))  # fmt: skip
    lines = style.table(rows)
    if len(found) > 2 + _SHOWN:
        lines.append("and {} more kernels".format(len(found) - 2 - _SHOWN))
    return lines
