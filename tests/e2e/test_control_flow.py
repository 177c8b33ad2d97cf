"""Fusion inside loop bodies and branches, in their own frames, and never across."""
import numpy as np
import pytest
import tensorflow as tf
from harness import sample, tf1

import tf_autofuse

pytestmark = pytest.mark.e2e

FLAGS = "--enable_autofuse=true;--strict=true"


@pytest.fixture(params=["v1", "v2"])
def control_flow(request):
    """Switch and Merge nodes, or While and If with functions."""
    enabled = tf1.control_flow_v2_enabled()
    (tf1.disable_control_flow_v2 if request.param == "v1" else tf1.enable_control_flow_v2)()
    yield request.param
    (tf1.enable_control_flow_v2 if enabled else tf1.disable_control_flow_v2)()


def run(build, *arrays):
    with tf.Graph().as_default():
        inputs = [tf1.placeholder(array.dtype, array.shape) for array in arrays]
        outputs = build(*inputs)
        with tf1.Session() as session:
            return session.run(outputs, dict(zip(inputs, arrays)))


def compare(build, *arrays):
    """Results agree; the kernels that were fused for this graph."""
    tf_autofuse.disable()
    expected = run(build, *arrays)
    known = len(tf_autofuse.report().kernels)
    tf_autofuse.enable(FLAGS)
    try:
        got = run(build, *arrays)
    finally:
        tf_autofuse.disable()
    for ours, theirs in zip(got, expected):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
    return tf_autofuse.report().kernels[known:]


def types(kernels):
    return sorted(sorted(entry.op_types) for entry in kernels)


def test_a_loop_body_is_fused_and_what_is_around_it_apart(control_flow):
    def build(x, y):
        start = tf.exp(tf.minimum(x, 1.0))
        _, inside = tf1.while_loop(
            lambda i, v: i < 3,
            lambda i, v: (i + 1, tf.tanh(tf.abs(v) * 0.5 + y)), [tf.constant(0), start])
        return [tf.negative(tf.sqrt(tf.abs(inside)))]

    kernels = compare(build, sample((4, 9), "float32", 1, False), sample((9,), "float32", 2, False))
    found = types(kernels)
    assert ["Exp", "Minimum"] in found
    assert any(set(ops) >= {"Tanh", "Abs", "Mul"} for ops in found)
    for ops in found:
        assert not ({"Exp", "Neg"} & set(ops) and "Tanh" in ops)
        assert not ("Exp" in ops and "Neg" in ops)


def test_nested_loops(control_flow):
    def build(x):
        def outer(i, v):
            _, inner = tf1.while_loop(
                lambda j, w: j < 2, lambda j, w: (j + 1, tf.sin(tf.maximum(w, 0.1) * 2.0)),
                [tf.constant(0), tf.cos(tf.minimum(v, 1.5))])
            return i + 1, tf.sqrt(tf.abs(inner))

        return [tf1.while_loop(lambda i, v: i < 3, outer, [tf.constant(0), x])[1]]

    kernels = compare(build, sample((5, 7), "float32", 1, False))
    for ops in types(kernels):
        assert len({"Sin", "Cos", "Sqrt"} & set(ops)) <= 1
    assert any("Sin" in ops for ops in types(kernels))


def test_branches(control_flow):
    def build(x):
        result = tf1.cond(tf.reduce_sum(x) > 0, lambda: tf.exp(tf.minimum(x, 1.0)),
                          lambda: tf.tanh(tf.abs(x)))
        return [tf.negative(tf.square(result))]

    x = np.abs(sample((4, 9), "float32", 1, False))
    kernels = compare(build, x)
    compare(build, -x)
    for ops in types(kernels):
        assert len({"Exp", "Tanh", "Neg"} & set(ops)) <= 1
    assert any("Exp" in ops for ops in types(kernels))


def test_gradients_of_a_loop(control_flow):
    def build(x):
        _, y = tf1.while_loop(lambda i, v: i < 4, lambda i, v: (i + 1, tf.sin(v * 1.5) + v),
                              [tf.constant(0), x])
        return tf1.gradients(tf.reduce_sum(tf.square(y)), [x])

    assert compare(build, sample((3, 5), "float32", 1, False))
