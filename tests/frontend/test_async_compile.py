"""--async_compile=true: the model runs unfused until its kernels are there, then fused."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from processes import is_running, wait_for

tf = pytest.importorskip("tensorflow")

import tf_autofuse  # noqa: E402
from tf_autofuse.autofuse import later  # noqa: E402
from tf_autofuse.build import background  # noqa: E402
from tf_autofuse.errors import BuildError  # noqa: E402
from tf_autofuse.frontend.tensorflow import exporter, optimizer  # noqa: E402
from tf_autofuse.report.model import RECORDER  # noqa: E402

pytestmark = pytest.mark.e2e
v1 = tf.compat.v1
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FLAGS = "--enable_autofuse=true;--async_compile=true"
SECONDS = 120


@pytest.fixture
def fusing(tmp_path, monkeypatch):
    """Fusing in the background with an empty cache; a context without background work."""
    monkeypatch.setenv("AUTOFUSE_CACHE_DIR", str(tmp_path / "cache"))
    optimizer.forget()
    RECORDER.clear()
    tf_autofuse.enable(FLAGS)
    yield
    assert background.wait_for_all(SECONDS)
    tf_autofuse.disable()


def build(x, labels):
    """A chain that TensorFlow composes, constants, a row reduction, and two outputs of one node."""
    chain = tf.exp(tf.nn.relu(tf.abs(x)) * 0.5 - 2.0)
    rows = tf.reduce_mean(chain * x, axis=1)
    loss = tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=x * 3.0)
    return [chain, rows, loss] + tf.gradients(loss, [x])


class Model:
    """A session over `build`; `run` feeds the same numbers each time."""

    def __init__(self, rows=None):
        rng = np.random.RandomState(0)
        values = rng.normal(size=(5, 7)).astype(np.float32)
        labels = np.abs(rng.normal(size=(5, 7))).astype(np.float32)
        with tf.Graph().as_default() as graph:
            x = v1.placeholder(tf.float32, [rows, 7])
            y = v1.placeholder(tf.float32, [rows, 7])
            self._fetches = build(x, y)
            self._feed = {x: values, y: labels}
            self.session = v1.Session(graph=graph)

    def run(self):
        return self.session.run(self._fetches, self._feed)


def calls():
    return sum(entry.calls for entry in tf_autofuse.report().kernels)


def agree(got, expected):
    for one, other in zip(got, expected):
        np.testing.assert_allclose(one, other, rtol=2e-6, atol=1e-6)


def test_plain_while_kernels_are_built_then_fused(fusing, monkeypatch):
    gate = threading.Event()
    run_later = background.run_later

    def run_behind_gate(function, *args):
        run_later(lambda: gate.wait(SECONDS) and function(*args))

    monkeypatch.setattr(background, "run_later", run_behind_gate)
    tf_autofuse.disable()
    expected = Model().run()
    tf_autofuse.enable(FLAGS)
    model = Model(5)
    agree(model.run(), expected)
    assert not all(entry.calls for entry in tf_autofuse.report().kernels)
    gate.set()
    assert background.wait_for_all(SECONDS)
    agree(model.run(), expected)
    assert all(entry.calls for entry in tf_autofuse.report().kernels)
    assert not [entry for entry in tf_autofuse.report().unfused if entry.code in ("BUILD", "SCOPE")]


def test_a_failing_build_leaves_the_model_running(fusing, monkeypatch):
    error = BuildError("the compiler is broken", node="kernel")

    def compile_many(kernels, check=None):
        return {key: error for key, _ in kernels}

    monkeypatch.setattr(later, "compile_many", compile_many)
    model = Model()
    first = model.run()
    assert background.wait_for_all(SECONDS)
    agree(model.run(), first)
    assert calls() == 0
    unfused = tf_autofuse.report().unfused
    assert any(entry.code == "BUILD" and "compiler is broken" in entry.reason for entry in unfused)


def test_a_kernel_that_is_there_before_its_graph_is_written(fusing, monkeypatch):
    monkeypatch.setattr(exporter, "file_digest", lambda path: "")
    model = Model()
    model.run()
    assert background.wait_for_all(SECONDS)
    before = calls()
    model.run()
    assert calls() > before


def test_cached_kernels_are_used_at_once(fusing):
    Model().run()
    assert background.wait_for_all(SECONDS)
    optimizer.forget()
    model = Model()
    before = calls()
    model.run()
    assert calls() > before


SCRIPT = """
import numpy as np, tensorflow as tf, tf_autofuse
v1 = tf.compat.v1
tf_autofuse.enable("--enable_autofuse=true;--async_compile=true")
with tf.Graph().as_default() as graph:
    x = v1.placeholder(tf.float32, [None, 7])
    y = tf.exp(tf.abs(x) * 0.5) + 1.0
    with v1.Session(graph=graph) as session:
        print(session.run(y, {x: np.zeros((2, 7), np.float32)}).sum())
print(len(tf_autofuse.report().kernels), "kernels")
"""


def test_exit_does_not_wait_and_leaves_no_compiler(tmp_path):
    started = tmp_path / "started"
    compiler = tmp_path / "g++"
    compiler.write_text(
        '#!/bin/bash\ncase "$*" in *-dM*) exec g++ "$@";; esac\n'
        "echo $$ >> {}\nsleep 600\n".format(started)
    )
    compiler.chmod(0o755)
    environment = dict(
        os.environ, CXX=str(compiler), AUTOFUSE_CACHE_DIR=str(tmp_path / "cache"),
        PYTHONPATH=ROOT, TF_CPP_MIN_LOG_LEVEL="3",
    )
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=environment, stdout=subprocess.PIPE, timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0 and b"28.0\n1 kernels" in done.stdout
    if not started.exists():  # the process was faster than the start of its compiler
        return
    compilers = started.read_text().split()
    wait_for(lambda: not any(map(is_running, compilers)))
