"""``tf-autofuse profile --calibrate``: measures the costs of a chip and writes its row."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
from typing import Any, Dict, Iterator, List, Optional, Tuple

from tf_autofuse import flags
from tf_autofuse.cli import style
from tf_autofuse.errors import AutofuseError
from tf_autofuse.platforms import PLATFORM_DIR, Platform

CHIP_ROW, HOST_ROW = 0, 1
_DEFAULT_CHIP = "Ascend910B"
_HOST_ONLY = (
    "tf-autofuse: warning: CANN is not in force here, so the host's CPU was measured: this row is "
    "of the host and does not describe an {}"
)


def execute(options: argparse.Namespace) -> int:
    """Measure and write; `CHIP_ROW` or `HOST_ROW`. AutofuseError as the runner raises it."""
    from tf_autofuse.calibration.probes import MEASURED
    from tf_autofuse.runtime import cann
    from tf_autofuse.tiling.calibrate import calibrate, to_json

    if options.target is not None:
        raise AutofuseError("--calibrate takes no script: {}".format(options.target))
    on_chip = cann.installed()
    try:
        with _runner(options.soc, on_chip) as runner:
            runner.prepare(MEASURED)
            row = calibrate(runner.chip, runner)
    finally:
        flags.set_overrides(None)
    folder = options.out or os.curdir
    path = os.path.join(folder, row.name + ".json")
    try:
        os.makedirs(folder, exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(to_json(row, runner.measured_on))
    except OSError as error:
        raise AutofuseError("the costs cannot be written: {}".format(error)) from error
    _tell(options.json, runner, row, path)
    if not on_chip:
        print(_HOST_ONLY.format(row.name), file=sys.stderr)
        return HOST_ROW
    if not options.json:
        text = "tf-autofuse: tilings go by it where {} is {}"
        print(text.format(PLATFORM_DIR, os.path.abspath(folder)))
    return CHIP_ROW


@contextlib.contextmanager
def _runner(soc: Optional[str], on_chip: bool) -> Iterator[Any]:
    """The runner for the device, or for the host; the flag `soc` then names its chip."""
    from tf_autofuse.bundle.device import chip

    if not on_chip:
        from tf_autofuse.calibration.host import HostRunner

        row = chip(soc or _DEFAULT_CHIP)
        flags.set_overrides({"soc": row.name})
        yield HostRunner(row)
        return
    from tf_autofuse.calibration.device import Device, DeviceRunner

    with Device() as device:
        row = chip(soc or device.name)
        flags.set_overrides({"soc": row.name})
        yield DeviceRunner(row, device)


def _tell(as_json: bool, runner: Any, row: Platform, path: str) -> None:
    before, after = _costs(runner.chip), _costs(row)
    if as_json:
        found = {"name": row.name, "measured_on": runner.measured_on, "out": path}
        print(json.dumps(dict(found, before=before, after=after), indent=2))
        return
    for line in style.table(_rows(before, after)):
        print(line)
    print("tf-autofuse: {}, measured on {}, written to {}".format(
        row.name, runner.measured_on, path))  # fmt: skip


def _costs(row: Platform) -> Dict[str, List[float]]:
    found = {name: [cost.head, cost.rate, cost.rate16] for name, cost in row.costs.items()}
    for name, copy in (("load", row.load), ("store", row.store)):
        found[name] = [copy.head, copy.rate]
    return found


def _rows(before: Dict[str, List[float]], after: Dict[str, List[float]]) -> List[Tuple[str, ...]]:
    """Cycles: head, per 256 bytes of 32-bit and of 16-bit elements; of copies bytes per cycle."""
    rows: List[Tuple[str, ...]] = [("cycles", "head", "", "256 B", "", "256 B of float16", "")]
    rows += [_row(name, values, after[name]) for name, values in before.items()
             if len(values) == 3]  # fmt: skip
    rows.append(("copies", "head", "", "B per cycle", "", "", ""))
    rows += [_row(name, values, after[name]) for name, values in before.items()
             if len(values) == 2]  # fmt: skip
    return rows


def _row(name: str, before: List[float], after: List[float]) -> Tuple[str, ...]:
    cells = [name]
    for old, new in zip(before, after):
        cells += ["{:g}".format(old), "= " if old == new else "> {:.4g}".format(new)]
    return tuple(cells + [""] * (7 - len(cells)))
