"""NpuOptimizer: what the callback sees, and that a graph comes back untouched when it must."""

import logging
import signal
import time

import numpy as np
import pytest
import tensorflow as tf
from tf_op_graphs import fused_node, optimizer_config, tf1

pytestmark = pytest.mark.usefixtures("shim")


@pytest.fixture
def optimizer(shim):
    """set(callback, strict=False) for one test."""

    def set_callback(callback, strict=False):
        shim.set_strict(strict)
        shim.set_optimizer(callback)

    yield set_callback
    set_callback(None)


class Recorder:
    """A callback that keeps what it was given."""

    def __init__(self, result=None):
        self.calls = []
        self.result = result

    def __call__(self, graph_def, info):
        self.calls.append((graph_def, info))
        return self.result(graph_def, info) if self.result else None

    @property
    def main(self):
        """GraphDef and info of the call that saw the node `y`."""
        for serialised, info in self.calls:
            graph_def = tf1.GraphDef.FromString(serialised)
            if any(node.name == "y" for node in graph_def.node):
                return graph_def, info
        raise AssertionError("the graph never came")


def chain_graph(shape=(None, 3)):
    """y = max(exp(x), |x|), with a fed placeholder; TensorFlow has no rewrite for it."""
    graph = tf.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf.float32, shape, name="x")
        y = tf.maximum(tf.exp(x, name="e"), tf.abs(x, name="a"), name="y")
    return graph, x, y


VALUE = np.array([[-1, 0, 2]], np.float32)


def run_chain(parameters=None, shape=(None, 3), metadata=None):
    graph, x, y = chain_graph(shape)
    options = tf1.RunOptions(output_partition_graphs=True) if metadata else None
    with tf1.Session(graph=graph, config=optimizer_config(parameters)) as session:
        return session.run(y, {x: VALUE}, options=options, run_metadata=metadata)


def partition_of_run():
    """The graph that TensorFlow ran, serialised in a fixed order."""
    metadata = tf1.RunMetadata()
    run_chain(metadata=metadata)
    graphs = metadata.partition_graphs
    return [graph.SerializeToString(deterministic=True) for graph in graphs]


def expect_correct(result):
    np.testing.assert_allclose(result, np.maximum(np.exp(VALUE), np.abs(VALUE)), rtol=1e-6)


def test_the_name_is_ours(shim):
    assert shim.owns_optimizer


def test_callback_sees_graph_and_info(optimizer):
    seen = Recorder()
    optimizer(seen)
    parameters = {"use_off_line": True, "graph_run_mode": 1, "profiling_options": b"{}", "f": 0.5}
    expect_correct(run_chain(parameters))
    graph_def, info = seen.main
    assert {"x", "e", "a", "y"} <= {node.name for node in graph_def.node}
    assert set(info) == {"id", "fetch", "feed", "preserve", "shapes", "parameters"}
    assert info["parameters"] == {
        "use_off_line": True, "graph_run_mode": 1, "profiling_options": "{}", "f": 0.5
    }
    assert info["parameters"]["use_off_line"] is True
    assert "y" in info["preserve"] and info["preserve"] == sorted(info["preserve"])
    assert isinstance(info["id"], str) and isinstance(info["feed"], list)
    assert [name.split(":")[0] for name in info["fetch"]] == ["y"]


def test_symbolic_dimensions_keep_their_identity(optimizer):
    graph = tf.Graph()
    with graph.as_default():
        first = tf1.placeholder(tf.float32, [None, 4], name="first")
        y = tf.maximum(tf.exp(first, name="e"), tf.abs(first, name="a"), name="y")
        other = tf1.placeholder(tf.float32, [None, 4], name="other")
        z = tf.concat([y, tf.tanh(other, name="t")], 0, name="z")
    seen = Recorder()
    optimizer(seen)
    value = np.zeros((2, 4), np.float32)
    with tf1.Session(graph=graph, config=optimizer_config()) as session:
        session.run(z, {"first:0": value, "other:0": value})
    shapes = seen.main[1]["shapes"]
    (dtype, dims), = shapes["a"]
    assert dtype == tf.float32.as_datatype_enum and dims[1] == 4 and dims[0] < -1
    assert shapes["e"] == shapes["a"] == shapes["y"]
    (_, others), = shapes["t"]
    assert others[0] < -1 and others[0] != dims[0]


def test_every_node_of_a_long_graph_has_its_shape(optimizer):
    graph = tf.Graph()
    with graph.as_default():
        y = x = tf1.placeholder(tf.float32, [None, 8], name="x")
        weight = tf1.placeholder(tf.float32, [8, 8], name="w")
        for _ in range(20):
            y = tf.maximum(tf.exp(tf.matmul(y, weight)), tf.abs(y))
        y = tf.negative(y, name="y")
    seen = Recorder()
    optimizer(seen)
    with tf1.Session(graph=graph, config=optimizer_config()) as session:
        session.run(y, {x: np.zeros((2, 8)), weight: np.zeros((8, 8))})
    graph_def, info = seen.main
    assert set(info["shapes"]) == {node.name for node in graph_def.node}
    for name, [(_, dims)] in info["shapes"].items():
        assert dims[1] == 8 and (dims[0] < -1 or name == "w")


@pytest.mark.skipif(
    tf.__version__.startswith("1."), reason="TensorFlow 1 optimizes no graph with such a feed"
)
def test_a_fed_tensor_that_is_no_placeholder_has_no_shape(optimizer):
    graph = tf.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf.float32, [2, 4], name="x")
        e = tf.exp(x, name="e")
        y = tf.maximum(e, tf.abs(x, name="a"), name="y")
    seen = Recorder()
    optimizer(seen)
    value = np.ones((2, 4), np.float32)
    with tf1.Session(graph=graph, config=optimizer_config()) as session:
        session.run(y, {x: value, e: value})
    shapes = seen.main[1]["shapes"]
    assert shapes["a"] == [(tf.float32.as_datatype_enum, [2, 4])]
    assert shapes["e"] == [(tf.float32.as_datatype_enum, None)]


def test_without_callback_the_graph_stays_byte_for_byte(optimizer):
    optimizer(None)
    untouched = partition_of_run()
    optimizer(lambda graph_def, info: None)
    assert partition_of_run() == untouched
    optimizer(lambda graph_def, info: graph_def)
    assert partition_of_run() == untouched


def test_callback_replaces_the_graph(optimizer, kernel_library):
    def fuse(serialised, info):
        graph_def = tf1.GraphDef.FromString(serialised)
        if not any(node.name == "y" for node in graph_def.node):
            return None
        keep = [node for node in graph_def.node if node.name not in ("e", "a", "y")]
        device = keep[0].device
        new = tf1.GraphDef(versions=graph_def.versions, library=graph_def.library)
        new.node.extend(keep)
        fused = fused_node(
            new, "fused", ["x"], kernel_library("ABS_AND_EXP"),
            "v1;axes=2;groups=0,0;in=0.1;out=0.1/0.1;", [np.float32], [np.float32] * 2,
        )
        y = new.node.add(name="y", op="Maximum", input=["fused", "fused:1"])
        y.attr["T"].type = tf.float32.as_datatype_enum
        fused.device = y.device = device
        return new.SerializeToString()

    optimizer(fuse)
    metadata = tf1.RunMetadata()
    expect_correct(run_chain(metadata=metadata))
    ops = [node.op for graph in metadata.partition_graphs for node in graph.node]
    assert "AutofusedKernel" in ops and "Exp" not in ops


@pytest.mark.parametrize(
    "result", ["a text", 17, b"no graph"], ids=["str", "int", "damaged bytes"]
)
def test_wrong_results_leave_the_graph(optimizer, result, caplog):
    optimizer(lambda graph_def, info: result)
    with caplog.at_level(logging.WARNING, "tf_autofuse"):
        expect_correct(run_chain())
    assert "the graph runs as it is" in caplog.text


def raise_error(graph_def, info):
    raise RuntimeError("the pass broke")


def test_exceptions_do_not_escape(optimizer, caplog):
    optimizer(raise_error)
    with caplog.at_level(logging.WARNING, "tf_autofuse"):
        expect_correct(run_chain())
    assert "RuntimeError: the pass broke" in caplog.text


def test_an_interrupt_reaches_the_script(optimizer):
    def interrupt(graph_def, info):
        raise KeyboardInterrupt

    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    optimizer(interrupt)
    with pytest.raises(KeyboardInterrupt):
        run_chain()
        time.sleep(1)  # Python raises it at its next step, here at the latest
    signal.signal(signal.SIGINT, handler)
    optimizer(None)
    expect_correct(run_chain())


def test_strict_makes_the_model_fail_with_the_reason(optimizer):
    optimizer(raise_error, strict=True)
    with pytest.raises(tf.errors.InternalError, match="the pass broke"):
        run_chain()
    optimizer(raise_error, strict=False)
    expect_correct(run_chain())


def test_only_callables_are_accepted(shim):
    with pytest.raises(TypeError, match="not callable"):
        shim.set_optimizer(3)


def test_sessions_on_many_threads(optimizer):
    from concurrent.futures import ThreadPoolExecutor

    seen = Recorder()
    optimizer(seen)
    with ThreadPoolExecutor(4) as pool:
        for result in pool.map(lambda _: run_chain(), range(8)):
            expect_correct(result)
    assert len(seen.calls) >= 8
