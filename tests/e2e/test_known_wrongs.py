"""What other fusers have got wrong: each stays as TensorFlow computes it."""
import numpy as np
import pytest
import tensorflow as tf
from harness import MODERN, check, sample
from tensorflow.python.ops import gen_nn_ops as nn_ops

pytestmark = pytest.mark.e2e


CASTS = [("float32", "float16"), ("float64", "float32"), ("float32", "int32"), ("int64", "int32"),
         ("float32", "bool"), ("int32", "int8")]


def test_casts_that_lose_something_are_kept():
    values = np.array([0.1, -1.7, 3e4, 2049.3, -0.0, 255.6, 1e-9, 127, -129, 77.7])

    def casts(*tensors):
        return [tf.cast(tf.cast(tf.maximum(x, x), narrow), x.dtype) * tf.cast(2, x.dtype)
                for x, (_, narrow) in zip(tensors, CASTS)]

    used = check(casts, [values.astype(wide) for wide, _ in CASTS], kernels=None)
    assert sum(entry.op_types.count("Cast") for entry in used) == 2 * len(CASTS)


@pytest.mark.skipif(not MODERN, reason="bfloat16 has few kernels in older TensorFlow")
def test_roundings_that_the_user_wrote_are_kept():
    x = sample((64,), "bfloat16", 1, special=False)
    y = sample((64,), "bfloat16", 2, special=False)
    check(lambda x, y: x + y - x, [x, y])


def test_a_mean_over_a_broadcast_axis_divides_by_its_size():
    x, row = sample((6, 8), "float32", 1, special=False), sample((8,), "float32", 2, special=False)
    column = sample((6, 1), "float32", 3, special=False)


    def means(x, r, c):
        return [tf.reduce_mean(tf.abs(x) * 0.0 + r, axis=0), tf.reduce_mean(tf.abs(r) + c, axis=0),
                tf.reduce_mean(tf.abs(r) + tf.abs(c)),
                tf.reduce_mean(tf.broadcast_to(tf.abs(r), [5, 8]), axis=0) + r]

    check(means, [x, row, column], kernels=None, composed=True)


def test_a_broadcast_before_a_sum_is_not_dropped():
    row = sample((8,), "float32", 2, special=False)
    x = sample((5, 8), "float32", 1, special=False)

    def sums(x, r):
        spread = tf.broadcast_to(tf.abs(r), [5, 8])
        tiled = tf.tile(tf.abs(r)[None], [5, 1])
        return [tf.reduce_sum(spread, axis=0), tf.reduce_sum(tiled) * 2.0,
                tf.reduce_sum(spread + x, axis=0)]

    check(sums, [x, row], kernels=None, composed=True)


def test_siblings_of_different_shape_that_share_a_reduced_axis():
    x, row = (np.round(sample(shape, "float32", seed, special=False) * 4) / 4
              for shape, seed in (((6, 8), 1), ((8,), 2)))

    def sums(x, row):
        scaled, squared = x * row, tf.square(row)
        return [tf.reduce_sum(scaled, axis=1), tf.reduce_sum(squared, axis=0),
                tf.reduce_max(squared), tf.reduce_sum(scaled),
                tf.reduce_sum(x * row, axis=1) / tf.reduce_sum(tf.square(row))]

    check(sums, [x, row], kernels=None, composed=True)


@pytest.mark.parametrize("dtype", ["float32"] + ["float16"] * MODERN)
def test_constants_without_a_usual_value_are_kept(dtype):
    x = np.array([1.0, -1.0, 0.0, -0.0, 2.5, -7.0, 0.5, 3.0], dtype)
    tiny = np.array(np.finfo(dtype).tiny / 8, dtype)
    assert tiny > 0
    values = [np.array(v, dtype) for v in (np.nan, np.inf, -np.inf, -0.0, tiny, -tiny)]

    def build(x):
        constants = [tf.constant(value.astype(x.dtype.as_numpy_dtype)) for value in values]
        return [tf.maximum(x, c) + c for c in constants] + [
            tf.where(x > 0, c + tf.zeros_like(x), x) * 1.0 for c in constants]

    check(build, [x], kernels=None)


def test_one_over_minus_zero_keeps_its_sign():
    x = np.array([0.0, 1.0, 2.0], "float32")
    check(lambda x: [1.0 / (x * -0.0) + 0.0 * x, -1.0 / (x * -0.0)], [x], kernels=None)


@pytest.mark.skipif(not MODERN, reason="older kernels drop NaN in vector lanes")
def test_maximum_and_minimum_keep_nan():
    x = sample((4, 33), "float32", 1)
    y = x[::-1].copy()
    check(lambda x, y: [tf.maximum(x, y) * 1.0, tf.minimum(y, x) * 1.0,
                        tf.reduce_max(tf.maximum(x, y), axis=1),
                        tf.reduce_min(tf.minimum(x, y), axis=0)], [x, y], kernels=None)


def test_the_gradient_of_relu_does_not_make_nan_of_infinity():
    dy = np.array([np.inf, -np.inf, 1.0, np.inf, 2.0], "float32")
    x = np.array([1.0, 2.0, -1.0, 3.0, 0.0], "float32")
    check(lambda dy, x: tf.negative(nn_ops.relu_grad(tf.abs(dy), x)), [dy, x])
