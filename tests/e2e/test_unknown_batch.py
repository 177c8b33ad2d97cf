"""Training with a batch size that only the run time knows."""
import itertools

import numpy as np
import pytest
import tensorflow as tf
from harness import MODERN, check, sample
from one_kernel import PATTERNS, arguments

import tf_autofuse

pytestmark = pytest.mark.e2e


def dense(x, weights, bias):
    """As Keras writes it for tensors of rank 3: merged rows, and the shape put together again."""
    shape = tf.shape(x)
    rows = tf.matmul(tf.reshape(x, [-1, int(x.shape[-1])]), weights)
    new = tf.concat([tf.gather(shape, [0, 1]), tf.constant([int(weights.shape[-1])])], 0)
    return tf.nn.bias_add(tf.reshape(rows, new), bias)


def residual_block(x, weights, bias, scale, dy):
    h = dense(x, weights, bias)
    y = tf.sigmoid(tf.reshape(h, [-1, 6, 32])) * x + h
    y = (y - tf.reduce_mean(y, -1, keepdims=True)) * scale
    return tf.gradients(y, [x, bias, scale], grad_ys=dy)


@pytest.mark.skipif(not MODERN, reason="older shape functions know less")
def test_reshapes_do_not_hide_the_batch_size():
    x, dy = (sample((5, 6, 32), "float32", seed, False) for seed in (1, 2))
    weights, bias = sample((32, 32), "float32", 3, False) * 0.1, sample((32,), "float32", 4, False)
    arrays = [x, weights, bias, np.abs(bias) + 0.5, dy]
    shapes = [(None, 6, 32), (32, 32), (32,), (32,), (None, 6, 32)]
    used = check(residual_block, arrays, shapes, kernels=None, composed=True)
    fused = [name for entry in used for name in entry.op_types]
    assert fused.count("ReduceSum") >= 1 and fused.count("BiasAddGrad") == 1


@pytest.mark.parametrize("rows", [(4, 4), (4, 1), (1, 4)])
def test_gradients_of_a_broadcast_of_the_run_time(rows):
    """What really depends on the run time stays TensorFlow's."""
    arrays = [sample((n, 33), "float32", seed, False) for seed, n in enumerate(rows)]

    def build(x, y):
        return tf.gradients(tf.tanh(x) * tf.exp(y * 0.1) + y, [x, y])

    check(build, arrays, [(None, 33)] * 2, kernels=None, composed=True)


@pytest.mark.skipif(not MODERN, reason="older TensorFlow writes some of them differently")
@pytest.mark.parametrize("name", [
    "cosine_similarity", "dropout_residual_layer_norm", "focal_loss", "masked_softmax",
    "mean_of_log_sum_exp", "sigmoid_cross_entropy_mean", "swiglu"])
def test_patterns_of_several_inputs_are_one_kernel(name):
    """Each matrix has a number of rows of its own, as far as the graph tells."""
    build, kinds = PATTERNS[name]
    arrays = arguments(kinds, 64, 1001, "float32")
    shapes = [(None, 1001) if array.ndim == 2 else array.shape for array in arrays]
    (entry,) = check(build, arrays, shapes, composed=True)
    assert entry.gm_bytes <= 1.02 * entry.gm_lower_bound


def gelu_gradient(x, bias, dy):
    y = x + bias
    return tf.gradients(0.5 * y * (1.0 + tf.tanh(0.8 * (y + 0.045 * y * y * y))), y, grad_ys=dy)


@pytest.mark.skipif(not MODERN, reason="older TensorFlow writes it differently")
def test_the_gradient_of_a_product_is_one_kernel():
    arrays = [sample(shape, "float32", seed, False)
              for seed, shape in enumerate([(37, 65), (65,), (37, 65)])]
    (entry,) = check(gelu_gradient, arrays, [(None, None), (None,), (None, None)], composed=True)
    assert entry.gm_bytes == entry.gm_lower_bound


def mean_of_losses(x, labels):
    """As Keras divides, by the product of a shape, and counts in a metric."""
    losses = tf.reduce_mean(tf.math.squared_difference(tf.tanh(x), labels), -1)
    number = tf.cast(tf.reduce_prod(tf.shape(losses)), x.dtype)
    loss = tf.math.divide_no_nan(tf.reduce_sum(losses), number)
    rows = tf.cast(tf.shape(losses)[0], x.dtype)
    return [loss, loss * rows] + tf.gradients(loss, [x])


@pytest.mark.skipif(not MODERN, reason="older TensorFlow writes it differently")
@pytest.mark.parametrize("rows", [0, 1, 37])
def test_a_loss_divided_by_its_size_is_one_kernel(rows):
    x = sample((rows, 32), "float32", 1, False)
    labels = sample((1, 32), "float32", 2, False)
    (entry,) = check(mean_of_losses, [x, labels], [(None, 32), (1, 32)], composed=True)
    assert len(entry.inputs) == 2 and "ReduceProd" not in entry.op_types


@pytest.mark.skipif(not MODERN, reason="older TensorFlow writes it differently")
@pytest.mark.parametrize("rows", [(4, 4), (4, 1), (1, 4), (1, 1), (0, 1), (0, 0)])
def test_a_loss_of_labels_of_another_size(rows):
    """Only the sum to the size of x is TensorFlow's."""
    arrays = [sample((n, 32), "float32", n, False) for n in rows]
    (entry,) = check(mean_of_losses, arrays, [(None, 32)] * 2, composed=True)
    assert entry.op_types.count("ReduceSum") == 1


SIZES = (0, 1, 3)


@pytest.mark.skipif(not MODERN, reason="older TensorFlow writes it differently")
def test_gradients_of_any_shape():
    """The gradient has the shape of y, or TensorFlow fails and so do we."""
    tf_autofuse.enable("--enable_autofuse=true;--strict=true")
    outcomes = {}
    for fused in (True, False):
        outcomes[fused] = list(outcomes_of(gelu_gradient))
        tf_autofuse.disable()
    assert outcomes[True] == outcomes[False] and "refused" in outcomes[True]


def outcomes_of(build):
    """The shape of the result, or "refused", for many shapes of the inputs."""
    with tf.Graph().as_default():
        inputs = [tf.compat.v1.placeholder(tf.float32, shape)
                  for shape in [(None, None), (None,), (None, None)]]
        (result,) = build(*inputs)
        with tf.compat.v1.Session() as session:
            for rows, columns, bias, *dy in itertools.product(SIZES, repeat=5):
                arrays = [np.ones(shape, np.float32)
                          for shape in [(rows, columns), (bias,), tuple(dy)]]
                try:
                    yield session.run(result, dict(zip(inputs, arrays))).shape
                except tf.errors.InvalidArgumentError:
                    yield "refused"
