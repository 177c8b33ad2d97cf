"""Loss curves of real models, trained fused and unfused from the same start.

    python scripts/loss_curves.py [--steps 200] [--only NAME] [--json FILE]

A training is not the same twice when its sums run in another order: rounding differs and grows
from step to step. How much is measured: the same training is repeated unfused with the rows of
every batch in another order, which changes nothing but the order of sums. The largest distance
between two of the unfused curves is the noise; the fused curve has to be within it of one of them.
Exit code 1 when one is not.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from itertools import combinations
from typing import Any, Dict, List, Tuple

os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")  # what deepctr is written for
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf
from loss_curve_models import MODELS, Model

import tf_autofuse

ORDERS = 3  # repetitions with the rows in another order
LINE = (
    "{:<12} {kernels:>7} {operators:>9} {first:>10.4f} {last:>10.4f} {fused:>10.2e} "
    "{noise:>10.2e} {}"
)
FLOOR = 2e-6  # relative difference that says nothing: a few units in the last place


def train(model: Model, steps: int, order_seed: int = 0, fused: bool = False) -> Dict[str, Any]:
    """Loss of every step, and with `fused` the number of kernels that ran."""
    tf.keras.backend.clear_session()
    before = {entry.name: entry.calls for entry in tf_autofuse.report().kernels}
    if fused:
        tf_autofuse.enable("--enable_autofuse=true;--strict=true")
    try:
        step = model.make_step()
        losses = [step(*batch) for batch in _batches(model, steps, order_seed)]
        curve = np.array([float(loss) for loss in losses])
    finally:
        tf_autofuse.disable()
    used = [e for e in tf_autofuse.report().kernels if e.calls > before.get(e.name, 0)]
    return {"loss": curve, "kernels": len(used), "operators": sum(len(e.op_types) for e in used)}


def _batches(model: Model, steps: int, order_seed: int) -> List[Tuple[Any, ...]]:
    """The batches of a training; a seed shuffles the rows within each."""
    batches = []
    for number in range(steps):
        arrays = model.batch(np.random.RandomState(1000 + number))
        if order_seed:
            order = np.random.RandomState(order_seed * 7919 + number).permutation(len(arrays[0]))
            arrays = tuple(array[order] for array in arrays)
        batches.append(tuple(map(tf.constant, arrays)))
    return batches


def distance(curve: np.ndarray, other: np.ndarray) -> float:
    """Largest difference between two curves, relative to the size of the losses."""
    return float(np.max(np.abs(curve - other)) / np.mean(np.abs(other)))


def judge(model: Model, steps: int) -> Dict[str, Any]:
    """The row of one model."""
    unfused = [train(model, steps, order)["loss"] for order in range(1 + ORDERS)]
    noise = max(distance(one, other) for one, other in combinations(unfused, 2))
    fused = train(model, steps, fused=True)
    found = min(distance(fused["loss"], curve) for curve in unfused)
    plain = unfused[0]
    return {
        "kernels": fused["kernels"],
        "operators": fused["operators"],
        "first": float(plain[0]),
        "last": float(np.mean(plain[-10:])),
        "fused": found,
        "noise": noise,
        "ok": bool(np.all(np.isfinite(plain))) and found <= noise + FLOOR,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--only", default="", help="only models whose name holds this text")
    parser.add_argument("--json", metavar="FILE", help="write the rows")
    args = parser.parse_args()
    columns = ("model", "kernels", "operators", "first loss", "last loss", "fused", "noise")
    print("{:<12} {:>7} {:>9} {:>10} {:>10} {:>10} {:>10}".format(*columns))
    rows = {}
    for name, make in MODELS.items():
        if args.only not in name:
            continue
        row = rows[name] = judge(make(), args.steps)
        print(LINE.format(name, "ok" if row["ok"] else "TOO FAR", **row), flush=True)
    if args.json:
        with open(args.json, "w") as file:
            json.dump(rows, file, indent=2)
    return 0 if rows and all(row["ok"] for row in rows.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
