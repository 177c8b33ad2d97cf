"""Which graphs reach the optimizer, and that everything is put back afterwards."""

import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from tensorflow.core.framework import graph_pb2
from tensorflow.python.client import session as session_module
from tensorflow.python.eager import context as context_module

from tf_autofuse.errors import BuildError
from tf_autofuse.frontend.tensorflow import intercept

v1 = tf.compat.v1
IS_TF2 = tf.__version__.startswith("2")
PATCHED = [
    (session_module.BaseSession, "__init__"),
    (context_module.Context, "config"),
    (context_module.Context, "function_call_options"),
]
if hasattr(context_module.Context, "call_function"):
    PATCHED += [(context_module.Context, name) for name in ("call_function", "remove_function")]


class AbsBecomesNeg:
    """An optimizer whose work can be seen in the numbers."""

    def __init__(self):
        self.ops = []
        self.infos = []

    def __call__(self, graph_def, info):
        graph = graph_pb2.GraphDef.FromString(graph_def)
        self.infos.append(info)
        self.ops.append({node.op for node in graph.node})
        changed = False
        for node in graph.node:
            if node.op == "Abs":
                node.op, changed = "Neg", True
        return graph.SerializeToString() if changed else None


@pytest.fixture
def optimizer():
    optimizer = AbsBecomesNeg()
    try:
        intercept.install(optimizer)
    except BuildError as error:
        pytest.skip("no TensorFlow extension: {}".format(error))
    yield optimizer
    intercept.uninstall()


def originals():
    return [owner.__dict__[name] for owner, name in PATCHED]


def optimizers_of(config):
    rewrite = config.graph_options.rewrite_options
    return [item.name for item in rewrite.custom_optimizers], rewrite.min_graph_nodes


CARRIED = (["NpuOptimizer"], -1)


def eager_config():
    options = context_module.context().function_call_options
    config = v1.ConfigProto.FromString(options.config_proto_serialized)
    return optimizers_of(config)


def test_a_config_is_copied_not_changed():
    config = v1.ConfigProto(allow_soft_placement=True)
    config.graph_options.rewrite_options.meta_optimizer_iterations = 1
    carried = intercept.with_optimizer(config)
    assert optimizers_of(config) == ([], 0)
    assert optimizers_of(carried) == CARRIED
    assert carried.allow_soft_placement
    assert carried.graph_options.rewrite_options.meta_optimizer_iterations == 1


def test_an_optimizer_of_the_user_is_kept_once_with_its_parameters():
    config = v1.ConfigProto()
    own = config.graph_options.rewrite_options.custom_optimizers.add()
    own.name = "NpuOptimizer"
    own.parameter_map["graph_run_mode"].i = 1
    carried = intercept.with_optimizer(config)
    assert optimizers_of(carried) == CARRIED
    custom = carried.graph_options.rewrite_options.custom_optimizers[0]
    assert custom.parameter_map["graph_run_mode"].i == 1
    assert intercept.with_optimizer(carried) == carried


def test_a_disabled_meta_optimizer_is_respected():
    config = v1.ConfigProto()
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    assert intercept.with_optimizer(config) == config


def test_patching_is_undone_exactly():
    before = originals()
    eager_before = eager_config()
    intercept.patch_tensorflow()
    try:
        assert originals() != before
        assert eager_config() == CARRIED
    finally:
        intercept.unpatch_tensorflow()
    assert all(now is then for now, then in zip(originals(), before))
    assert eager_config() == eager_before
    assert not intercept.is_installed()


def test_a_thread_with_an_old_config_gets_the_new_one():
    found = []
    asked, patched = threading.Event(), threading.Event()

    def work():
        found.append(eager_config())
        asked.set()
        patched.wait(30)
        found.append(eager_config())

    thread = threading.Thread(target=work)
    thread.start()
    asked.wait(30)
    intercept.patch_tensorflow()
    try:
        patched.set()
        thread.join()
    finally:
        intercept.unpatch_tensorflow()
    assert found == [([], 0), CARRIED]


def run_abs(session_maker, config=None):
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [2], name="x")
        y = tf.abs(x, name="y")
        with session_maker(graph, config) as session:
            return session.run(y, {x: [-1.0, 2.0]}).tolist()


def plain_session(graph, config):
    return v1.Session(graph=graph, config=config)


def monitored_session(graph, config):
    creator = v1.train.ChiefSessionCreator(config=config)
    return v1.train.MonitoredSession(creator)


@pytest.mark.parametrize("maker", [plain_session, monitored_session])
@pytest.mark.parametrize("config", [None, "plain", "npu"])
def test_sessions_are_reached(optimizer, maker, config):
    proto = None if config is None else v1.ConfigProto()
    if config == "npu":
        proto.graph_options.rewrite_options.custom_optimizers.add().name = "NpuOptimizer"
    assert run_abs(maker, proto) == [1.0, -2.0]
    info = optimizer.infos[-1]
    assert any("y" in name for name in info["fetch"])
    assert {"id", "fetch", "feed", "preserve", "shapes", "parameters"} <= set(info)


def test_after_uninstall_graphs_stay(optimizer):
    assert run_abs(plain_session) == [1.0, -2.0]
    intercept.uninstall()
    count = len(optimizer.infos)
    assert run_abs(plain_session) == [1.0, 2.0]
    assert len(optimizer.infos) == count


@pytest.mark.skipif(not IS_TF2, reason="tf.function belongs to TF2")
class TestFunctions:
    def test_function_and_gradient(self, optimizer):
        @tf.function
        def step(x):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.abs(x) * tf.exp(x)
            return y, tape.gradient(y, x)

        value, _ = step(tf.constant([2.0]))
        assert value.numpy()[0] == pytest.approx(-2.0 * np.exp(2.0), rel=1e-5)
        assert any("Sign" in ops for ops in optimizer.ops)

    def test_a_function_that_ran_before_is_optimized_anew(self):
        @tf.function
        def f(x):
            return tf.abs(x) + 1.0

        x = tf.constant([-2.0])
        assert f(x).numpy().tolist() == [3.0]
        optimizer = AbsBecomesNeg()
        intercept.install(optimizer)
        try:
            assert f(x).numpy().tolist() == [3.0]  # -(-2) + 1
            assert f(-x).numpy().tolist() == [-1.0]
        finally:
            intercept.uninstall()
        assert f(-x).numpy().tolist() == [3.0]

    def test_keras_fit(self, optimizer):
        model = tf.keras.Sequential([tf.keras.layers.Dense(2, activation="tanh")])
        model.compile("sgd", "mse")
        model.fit(np.ones([4, 3]), np.ones([4, 2]), verbose=0)
        assert any("TanhGrad" in ops for ops in optimizer.ops)

    def test_functions_for_xla_are_left_to_xla(self, optimizer):
        f = tf.function(lambda x: tf.abs(x) + 0.0, jit_compile=True)
        assert f(tf.constant([1.0])).numpy().tolist() == [1.0]
        outer = tf.function(lambda x: f(x) * 2.0)
        assert outer(tf.constant([1.0])).numpy().tolist() == [2.0]

    def test_loops_inside_functions(self, optimizer):
        @tf.function
        def f(x):
            for _ in tf.range(3):
                x = tf.abs(x) * 2.0
            return x

        assert f(tf.constant([1.0])).numpy().tolist() == [-8.0]


def test_before_tensorflow_made_its_context():
    code = """
        import tensorflow as tf
        from tf_autofuse.frontend.tensorflow import intercept
        seen = []
        intercept.install(lambda graph, info: seen.append(info["fetch"]))
        if tf.__version__.startswith("2"):
            tf.config.optimizer.set_jit(False)
            tf.function(lambda x: tf.abs(x) + x)(tf.constant(1.0))
        else:
            tf.Session().run(tf.abs(tf.constant(1.0)) + 1.0)
        assert seen, "the optimizer was not called"
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    text = done.stdout.decode()
    if "BuildError" in text:
        pytest.skip("no TensorFlow extension")
    assert done.returncode == 0, text
