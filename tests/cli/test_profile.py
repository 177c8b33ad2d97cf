"""``tf-autofuse profile`` measures a script unfused and fused."""

import csv
import json

import pytest
from cli_process import tf_autofuse

SCRIPT = """
    import sys
    import numpy as np
    import tensorflow.compat.v1 as tf
    tf.disable_eager_execution()
    x = tf.placeholder(tf.float32, [None, 64], name="x")
    y = tf.matmul(tf.exp(tf.nn.relu(tf.abs(x))), tf.ones([64, 2]), name="product")
    with tf.Session() as session:
        for _ in range(5):
            session.run(y, {x: np.ones([300, 64], np.float32)})
    sys.exit(int(sys.argv[1]))
"""


def read(path):
    with open(str(path), encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.e2e
def test_both_runs_are_measured(script, tmp_path):
    """The names come from TensorFlow's own profiler, so they are those that TensorBoard shows."""
    pytest.importorskip("tensorflow")
    out = tmp_path / "op.csv"
    done = tf_autofuse("profile", script(SCRIPT), "-o", out, "--json", "--", "0")
    assert done.returncode == 0, done.stderr
    fused, unfused = read(out), read(tmp_path / "op_unfused.csv")
    kernels = [row for row in fused if row["Op Name"].startswith("autofused_")]
    assert len(kernels) == 5 and {row["OP Type"] for row in kernels} == {"AutofusedKernel"}
    assert all(float(row["Task Duration(us)"]) > 0 for row in kernels)
    assert not any(row["Op Name"].startswith("autofused_") for row in unfused)
    for found in (fused, unfused):
        assert sum(row["Op Name"] == "product" for row in found) == 5
    everything, inside, kernel = json.loads(done.stdout)
    assert everything["before"] > 0 and everything["after"] > 0
    assert kernel["name"] == kernels[0]["Op Name"] and kernel["after_calls"] == 5
    # Abs, Relu and Exp run as one or three operators: older TensorFlows make no composition.
    assert inside["before_calls"] in (5, 15)


def test_a_failing_script_is_told(script, tmp_path):
    pytest.importorskip("tensorflow")
    path = script("import sys; sys.exit(3)")
    done = tf_autofuse("profile", path, "-o", tmp_path / "op.csv")
    assert done.returncode == 1 and done.stderr.count("exit code 3") == 2
    assert tf_autofuse("profile", "gone.py").returncode == 2
