"""Reshapes inside kernels: dims that are split and merged, of static and of run-time size."""
import pytest
import tensorflow as tf
from harness import check, sample

pytestmark = pytest.mark.e2e


def test_flatten_and_back():
    x = sample((6, 4, 5), "float32", 1, special=False)
    check(lambda x: tf.abs(tf.reshape(tf.exp(x), [6, 20])), [x], composed=True)
    check(lambda x: tf.abs(tf.reshape(tf.exp(x), [-1])), [x], composed=True)
    check(lambda x: tf.abs(tf.reshape(tf.exp(x), [3, 8, 5])), [x], composed=True)


def test_bias_of_flattened_rows():
    """The projection of a transformer: [batch * time, width] and back."""
    x, bias = sample((24, 16), "float32", 1, special=False), sample((16,), "float32", 2)
    check(lambda x, b: tf.nn.relu(tf.reshape(tf.nn.bias_add(x, b), [4, 6, 16])) * 2.0, [x, bias])


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_heads_of_attention(dtype):
    x, scale = sample((4, 6, 32), dtype, 1, special=False), sample((8,), dtype, 2, special=False)

    def split(x, scale):
        heads = tf.reshape(x * x, [4, 6, 4, 8]) * scale
        return tf.reshape(heads / (tf.abs(heads) + 1.0), [4, 6, 32])

    check(split, [x, scale], composed=True)


def group_norm(x, gamma, beta, groups=4):
    """As Keras writes it: channels last, groups of channels, moments over space and group."""
    shape = tf.shape(x)
    batch, height, width, channels = x.shape.as_list()
    grouped = tf.reshape(x, tf.stack([shape[0], height, width, groups, channels // groups]))
    mean = tf.reduce_mean(grouped, [1, 2, 4], keepdims=True)
    variance = tf.reduce_mean(tf.math.squared_difference(grouped, mean), [1, 2, 4], keepdims=True)
    normed = (grouped - mean) * tf.math.rsqrt(variance + 1e-3)
    return tf.reshape(normed, shape) * gamma + beta


def test_group_norm():
    x = sample((3, 4, 5, 8), "float32", 1, special=False)
    gamma, beta = (sample((8,), "float32", seed, special=False) for seed in (2, 3))
    check(group_norm, [x, gamma, beta], composed=True)


def test_run_time_sizes():
    x, bias = sample((5, 6, 16), "float32", 1, special=False), sample((16,), "float32", 2)
    shapes = [(None, 6, 16), (16,)]
    check(lambda x, b: tf.abs(tf.reshape(tf.exp(x) + b, [-1, 16])), [x, bias], shapes,
          composed=True)
    check(lambda x, b: tf.abs(tf.reshape(tf.exp(x) + b, [-1, 6, 2, 8])), [x, bias], shapes,
          composed=True)
    rows = sample((30, 16), "float32", 1, special=False)
    check(lambda x, b: tf.abs(tf.reshape(tf.exp(x) + b, [-1, 6, 16])), [rows, bias],
          [(None, 16), (16,)], composed=True)


def test_a_reduction_after_a_split():
    x = sample((4, 24), "float32", 1, special=False)
    check(lambda x: tf.reduce_max(tf.reshape(tf.abs(x), [4, 6, 4]), axis=1), [x])
    check(lambda x: tf.reduce_sum(tf.reshape(tf.abs(x), [4, 6, 4]), axis=[0, 2]), [x],
          composed=True)


def test_reductions_over_different_axes_of_one_tensor():
    x = sample((33, 70), "float32", 1, special=False)
    check(lambda x: [tf.reduce_sum(x, 0), tf.reduce_max(x, 1), tf.reduce_mean(x)], [x],
          composed=True)
    check(lambda x: [tf.reduce_sum(tf.exp(x), 0), tf.reduce_mean(tf.exp(x), 1, keepdims=True)],
          [x], composed=True)
