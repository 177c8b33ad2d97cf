"""Keras's own tests, unfused and fused: what passes without autofuse must pass with it.

python scripts/keras_suite.py                              the parts of `PARTS`
python scripts/keras_suite.py losses layers/normalization      parts of keras.src

Runs in the environment of the quickstart. Exit 1 when a test changes or no kernel was used.
"""
from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from typing import Any, Dict, List

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PARTS = ("activations", "layers", "losses", "metrics", "ops", "optimizers", "trainers")


def run(parts: List[str], fuse: bool) -> Dict[str, Any]:
    """Results by test, and the kernels used."""
    spec = importlib.util.find_spec("keras")
    assert spec is not None and spec.origin is not None, "keras is not installed"
    source = os.path.join(os.path.dirname(spec.origin), "src")
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "results.json")
        environment = dict(
            os.environ, KERAS_BACKEND="tensorflow", TF_CPP_MIN_LOG_LEVEL="3",
            AUTOFUSE_SUITE_OUT=out, AUTOFUSE_SUITE_FUSE="1" if fuse else "0",
            PYTHONPATH=os.pathsep.join([ROOT, os.path.join(ROOT, "tests")]),
        )
        command = [
            sys.executable, "-m", "pytest", "-q", "-c", os.devnull, "--rootdir", folder,
            "--confcutdir", folder, "-p", "no:cacheprovider", "-p", "keras_plugin", "-W", "ignore",
            "--import-mode=importlib", "--continue-on-collection-errors",
        ]
        command += [os.path.join(source, part) for part in parts]
        subprocess.run(command, env=environment, cwd=folder, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, check=False)
        with open(out, encoding="utf-8") as file:
            return json.load(file)


def main(argv: List[str]) -> int:
    """Run twice and compare; the exit code."""
    parts = argv or list(PARTS)
    plain, fused = run(parts, False), run(parts, True)
    changed = sorted(
        test for test, outcome in plain["results"].items()
        if outcome == "passed" and fused["results"].get(test) != "passed"
    )
    for test in changed:
        print("passes unfused only: " + test)
    passed = sum(outcome == "passed" for outcome in fused["results"].values())
    print("{} tests pass fused, {} changed; {} kernels, {} calls".format(
        passed, len(changed), fused["kernels"], fused["calls"]))
    return 1 if changed or not fused["calls"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
