"""NpuOptimizer under tf.function: in an own process, since the eager context is made once."""

import os
import re
import subprocess
import sys

import pytest
import tensorflow as tf

pytestmark = pytest.mark.skipif(
    tf.__version__.startswith("1."), reason="tf.function is part of TensorFlow 2"
)

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))

PRELUDE = """
import numpy as np, tensorflow as tf
from tensorflow.python.eager import context
from tf_autofuse.runtime import tf_op
from tf_op_graphs import optimizer_config
context.context()._config = optimizer_config()  # before the context is used

@tf.function
def f(x):
    return tf.maximum(tf.exp(x), tf.abs(x))

x = tf.constant([[-1.0, 0.0, 2.0]])
"""

SEES_THE_FUNCTION = """
ops = set()
def callback(graph_def, info):
    graph = tf.compat.v1.GraphDef.FromString(graph_def)
    ops.update(node.op for node in graph.node)
tf_op.set_optimizer(callback)
with tf.GradientTape() as tape:
    tape.watch(x)
    y = f(x)
np.testing.assert_allclose(y, np.maximum(np.exp(x), np.abs(x)), rtol=1e-6)
slope = np.where(np.exp(x) > np.abs(x), np.exp(x), np.sign(x))
np.testing.assert_allclose(tape.gradient(y, x), slope, rtol=1e-6)
assert {"Exp", "Abs", "Maximum", "Sign"} <= ops, ops
"""

DOES_NOT_ESCAPE = """
def callback(graph_def, info):
    raise RuntimeError("the pass broke")
tf_op.set_optimizer(callback)
np.testing.assert_allclose(f(x), np.maximum(np.exp(x), np.abs(x)), rtol=1e-6)
"""

STRICT = """
def callback(graph_def, info):
    raise RuntimeError("the pass broke")
tf_op.set_optimizer(callback, strict=True)
try:
    f(x)
except tf.errors.InternalError as error:
    assert "the pass broke" in str(error)
else:
    raise SystemExit("no error reached the caller")
"""

# A handler that was registered before the extension was loaded runs after the extension's own.
AT_EXIT = """
import atexit
from tf_autofuse.build import tf_shim
assert not tf_shim.is_loaded()
calls = []
def late():
    before = len(calls)
    with tf.Graph().as_default(), tf.compat.v1.Session(config=optimizer_config()) as session:
        one = tf.compat.v1.placeholder_with_default([1.0], [None])
        assert session.run(tf.abs(one)) == [1]
    print("calls at exit:", len(calls) - before, "before:", before)
atexit.register(late)
tf_op.set_optimizer(lambda graph_def, info: calls.append(1))
f(x)
"""


@pytest.mark.parametrize(
    "script", [SEES_THE_FUNCTION, DOES_NOT_ESCAPE, STRICT, AT_EXIT],
    ids=["sees", "no-escape", "strict", "at-exit"],
)
def test_script(shim, script):
    process = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PRELUDE + script],
        env=dict(os.environ, PYTHONPATH=os.pathsep.join([HERE, ROOT])),
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120,
    )
    assert process.returncode == 0, process.stdout
    if script == AT_EXIT:
        assert re.search(r"calls at exit: 0 before: [1-9]", process.stdout), process.stdout
