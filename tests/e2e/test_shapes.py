"""Shapes: empty, scalar, one row, one column, odd tails, unknown dims, run-time broadcast."""
import numpy as np
import pytest
import tensorflow as tf
from harness import check, run_graph, sample

import tf_autofuse

pytestmark = pytest.mark.e2e


@pytest.mark.parametrize(
    "shape", [(0,), (0, 5), (5, 0), (), (1,), (1, 1), (1, 1000), (1000, 1), (33, 65), (2, 3, 4, 5)]
)
def test_elementwise_shapes(shape):
    check(lambda x: tf.exp(tf.nn.relu(tf.abs(x))), [sample(shape, "float32", 1)])


@pytest.mark.parametrize("axis", [0, 1, None])
@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (1, 1), (1, 1000), (1000, 1), (257, 129)])
def test_reduce_shapes(shape, axis):
    x = sample(shape, "float32", 2, False)
    check(lambda x: tf.reduce_sum(tf.abs(x), axis=axis), [x])
    check(lambda x: tf.reduce_max(tf.negative(x), axis=axis), [x])


def test_unknown_dims_share_one_kernel():
    entries = []
    for rows in (1, 4, 9):
        x, b = sample((rows, 16), "float32", rows), sample((16,), "float32", 7)
        entries += check(
            lambda x, b: tf.nn.relu(tf.add(tf.abs(x), b)), [x, b], [(None, 16), (16,)]
        )
    assert len({entry.key for entry in entries}) == 1
    assert entries[0].inputs[0].shape in ((None, 16), (16,))


@pytest.mark.parametrize("rows", [(4, 4), (1, 4), (4, 1), (1, 1)])
def test_run_time_broadcast(rows):
    x, y = sample((rows[0], 8), "float32", 3), sample((rows[1], 8), "float32", 4)
    check(lambda x, y: tf.abs(tf.subtract(x, y)), [x, y], [(None, 8), (None, 8)])
    check(lambda x, y: tf.abs(tf.subtract(x, y)), [x, y], [(None, None), (None, None)])


@pytest.mark.parametrize("rows", [(4, 4, 4), (1, 4, 4), (4, 1, 1)])
def test_computed_values_are_broadcast_at_run_time(rows):
    arrays = [sample((n, 999), "float32", seed, False) for seed, n in enumerate(rows, 3)]
    unknown = [(None, 999)] * 3

    def build(x, mask, y):
        p = tf.nn.softmax(tf.exp(x * 0.1) * 0.5 + (1.0 - tf.sigmoid(mask)) * -10.0)
        return p * tf.math.log(tf.abs(y) + 1.0)

    check(build, arrays, unknown, composed=True)
    check(lambda x, y, z: tf.abs(x - y) * z + tf.nn.relu(x), arrays, unknown, composed=True)
    check(lambda x, y, z: tf.abs(x - y) * z + tf.nn.relu(x), [array[:, 0] for array in arrays],
          [(None,)] * 3, composed=True)


def test_shapes_of_what_the_kernel_computes_are_no_inputs():
    x = sample((7, 999), "float32", 11, False)
    check(lambda x: tf.reduce_logsumexp(x * 0.5, -1), [x], [(None, 999)], composed=True)

    def of_a_computed_shape(x):
        y = tf.exp(x * 0.1)
        return tf.abs(tf.reshape(tf.reshape(x, [-1]) * 2.0, tf.shape(y)) - y)

    check(of_a_computed_shape, [x], [(None, 999)], composed=True)


def test_a_large_array_is_cut_over_threads():
    x = sample((513, 2049), "float32", 5)
    check(lambda x: tf.exp(tf.nn.relu(tf.abs(x))), [x])
    finite = sample((513, 2049), "float32", 5, False)
    check(lambda x: tf.reduce_sum(tf.abs(x), axis=1), [finite])
    check(lambda x: tf.reduce_sum(tf.abs(x), axis=0), [finite])
    check(lambda x: tf.reduce_mean(tf.square(x)), [finite])


def test_shapes_that_do_not_fit_are_an_error_of_the_model():
    x, y = np.ones((4, 8), "float32"), np.ones((3, 8), "float32")
    tf_autofuse.enable("--enable_autofuse=true;--strict=true")
    try:
        with pytest.raises(tf.errors.InvalidArgumentError):
            run_graph(
                lambda x, y: tf.abs(tf.subtract(x, y)), [x, y], [(None, 8), (None, 8)]
            )
    finally:
        tf_autofuse.disable()


def test_several_outputs_and_a_reduction_of_the_same_value():
    x = sample((6, 50), "float32", 6, False)

    def build(x):
        activation = tf.nn.relu(tf.abs(x))
        return [tf.exp(activation), activation, tf.reduce_sum(activation, axis=1)]

    (entry,) = check(build, [x])
    assert len(entry.outputs) == 3
    assert entry.gm_bytes == entry.gm_lower_bound == 4 * (3 * 300 + 6)
    assert entry.gm_bytes_unfused > entry.gm_bytes


def test_reshapes_and_broadcasts_inside_a_kernel():
    x, row = sample((4, 1, 8), "float32", 7), sample((8,), "float32", 8)
    check(lambda x, row: tf.negative(tf.reshape(tf.abs(x), [4, 8])) * row, [x, row])
    check(lambda x, row: tf.abs(x) * tf.broadcast_to(row, [4, 1, 8]), [x, row])
    check(lambda x, row: tf.squeeze(tf.abs(x), 1) - tf.expand_dims(row, 0), [x, row])


@pytest.mark.parametrize("rows, cols", [(1, 1), (3, 1), (1, 2), (3, 2)])
def test_a_static_broadcast_beside_dims_that_turn_out_to_be_one(rows, cols):
    x, column = sample((rows, cols), "float32", 1), sample((1, 1), "float32", 2)

    def build(x, column):
        return tf.negative(tf.broadcast_to(column, [1, 2])) * x

    check(build, [x, column], [(None, None), (1, 1)])


def test_gradient_of_a_tensor_without_elements():
    """The ones that a gradient begins with are a constant whose shape has a 0."""
    check(lambda x: tf.gradients(tf.exp(-tf.square(x)), x), [np.zeros((5, 0, 3), "float32")],
          kernels=None)


def test_gradient_of_a_mean():
    x, w = sample((16, 32), "float32", 9, False), sample((32,), "float32", 10, False)

    def build(x, w):
        loss = tf.reduce_mean(tf.square(tf.tanh(x * w)))
        return tf.gradients(loss, [w])

    check(build, [x, w], composed=True, kernels=None)
