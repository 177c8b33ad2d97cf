"""Real models train as they do unfused: scripts/loss_curves.py, with fewer steps."""

import importlib.util
import json
import os
import subprocess
import sys

import pytest

NEEDS = ("tf_keras", "deepctr", "requests")
if not all(importlib.util.find_spec(name) for name in NEEDS):
    pytest.skip("needs " + ", ".join(NEEDS), allow_module_level=True)


ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def test_curves_are_within_the_noise_of_reordered_sums(tmp_path):
    rows = tmp_path / "rows.json"
    script = os.path.join(ROOT, "scripts", "loss_curves.py")
    command = [sys.executable, script, "--steps", "20", "--json", str(rows)]
    env = dict(os.environ, PYTHONPATH=os.pathsep.join([ROOT, os.environ.get("PYTHONPATH", "")]))
    done = subprocess.run(command, env=env, capture_output=True, timeout=900)
    assert done.returncode == 0, done.stdout.decode() + done.stderr.decode()[-2000:]
    found = json.loads(rows.read_text())
    assert set(found) == {"convnet", "transformer", "recommender", "gan", "rnn"}
    assert all(row["kernels"] >= 5 and row["noise"] > 0 for row in found.values())
