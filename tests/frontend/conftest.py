"""Graphs that TensorFlow itself makes, as the importer meets them."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import pytest

tf = pytest.importorskip("tensorflow")
v1 = tf.compat.v1
IS_TF2 = tf.__version__.startswith("2")


def session_graph():
    """Placeholders, reference variables, gradients, an optimizer, devices and colocations."""
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 8], name="x")
        w = v1.Variable(tf.ones([8, 4]), name="w", use_resource=False)
        b = v1.Variable(tf.zeros([4]), name="b", use_resource=True)
        with tf.device("/cpu:0"):
            y = tf.nn.relu(tf.matmul(x, w) + b, name="y")
        first = v1.no_op(name="first")
        with v1.control_dependencies([first]), v1.colocate_with(y):
            loss = tf.reduce_mean(tf.exp(y), axis=1, name="loss")
        v1.train.MomentumOptimizer(0.1, 0.9).minimize(loss, name="train")
        v1.global_variables_initializer()
    return graph.as_graph_def()


def loop_graph():
    """TF1 control flow: Switch, Merge, Enter, Exit, NextIteration, LoopCond, and their cycle."""
    v1.disable_control_flow_v2()
    try:
        with tf.Graph().as_default() as graph:
            n = v1.placeholder(tf.int32, [], name="n")
            _, total = v1.while_loop(
                lambda i, t: i < n,
                lambda i, t: (i + 1, tf.abs(t) * 2.0),
                [tf.constant(0), tf.constant(1.0)],
            )
            v1.cond(n > 3, lambda: total + 1.0, lambda: tf.exp(total), name="c")
    finally:
        if IS_TF2:
            v1.enable_control_flow_v2()
    return graph.as_graph_def()


def strings_graph():
    """Outputs without a number type, several outputs, string and list attributes."""
    with tf.Graph().as_default() as graph:
        s = tf.constant(["a b", "c"], name="s")
        parts = v1.string_split(s)
        tf.unique(parts.values, name="u")
        a, _ = tf.split(tf.constant([[1.0, 2.0]]), 2, axis=1, name="split")
        tf.add_n([a, a * 2.0], name="n")
        tf.nn.bias_add(tf.ones([1, 2, 2, 3]), tf.ones([3]), name="bias")
        tf.nn.leaky_relu(a, alpha=0.3, name="leaky")
        tf.cast(a, tf.float16, name="cast")
    return graph.as_graph_def()


def function_graph():
    """Functional control flow and calls, with a function library."""

    @tf.function
    def inner(x):
        return tf.nn.relu(x) * 2.0

    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32)])
    def outer(x):
        y = inner(x)
        for _ in tf.range(3):
            y = tf.tanh(y) + x
        return tf.cond(tf.reduce_sum(y) > 0, lambda: y, lambda: tf.abs(y))

    return outer.get_concrete_function().graph.as_graph_def()


def keras_graph():
    """The training step of a small Keras model."""
    model = tf.keras.Sequential(
        [tf.keras.layers.Dense(5, activation="tanh"), tf.keras.layers.Dense(2)]
    )
    model.build((None, 3))

    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32)])
    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(x, training=True)))
        return tape.gradient(loss, model.trainable_variables)

    return step.get_concrete_function().graph.as_graph_def()


MAKERS = [session_graph, loop_graph, strings_graph] + (
    [function_graph, keras_graph] if IS_TF2 else []
)


@pytest.fixture(params=MAKERS, ids=[maker.__name__ for maker in MAKERS])
def tf_graph_def(request):
    return request.param()


@pytest.fixture
def make():
    """The makers by name."""
    return {maker.__name__: maker for maker in MAKERS}
