"""Patterns with several reductions and passes over one input, each one kernel."""
import numpy as np
import pytest
import tensorflow as tf
from harness import check, sample

pytestmark = pytest.mark.e2e

SHAPES = [(64, 1000), (64, 1001), (3, 7), (1, 513)]


def softmax(x):
    e = tf.exp(x - tf.reduce_max(x, axis=-1, keepdims=True))
    return e / tf.reduce_sum(e, axis=-1, keepdims=True)


def log_softmax(x):
    shifted = x - tf.reduce_max(x, axis=-1, keepdims=True)
    return shifted - tf.math.log(tf.reduce_sum(tf.exp(shifted), axis=-1, keepdims=True))


def layer_norm(x):
    mean = tf.reduce_mean(x, axis=-1, keepdims=True)
    variance = tf.reduce_mean(tf.math.squared_difference(x, mean), axis=-1, keepdims=True)
    return (x - mean) * tf.math.rsqrt(variance + 1e-3)


def rms_norm(x):
    return x * tf.math.rsqrt(tf.reduce_mean(tf.square(x), axis=-1, keepdims=True) + 1e-6)


def batch_norm(x):
    mean = tf.reduce_mean(x, axis=0, keepdims=True)
    variance = tf.reduce_mean(tf.math.squared_difference(x, mean), axis=0, keepdims=True)
    return [(x - mean) * tf.math.rsqrt(variance + 1e-3), mean, variance]


def centred(x):
    return tf.abs(x - tf.reduce_mean(x))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    "pattern", [softmax, log_softmax, layer_norm, rms_norm, batch_norm, centred]
)
def test_one_kernel(pattern, shape):
    x = sample(shape, "float32", 1, False)
    (entry,) = check(pattern, [x], composed=True)
    assert entry.gm_lower_bound < entry.gm_bytes_unfused


@pytest.mark.parametrize("pattern", [softmax, layer_norm, rms_norm])
def test_one_kernel_of_half_precision(pattern):
    check(pattern, [sample((64, 1001), "float16", 1, False)], composed=True)


def test_softmax_of_a_dynamic_batch():
    for rows in (1, 5, 64):
        x = sample((rows, 300), "float32", rows, False)
        check(softmax, [x], [(None, 300)], composed=True)


def test_layer_norm_with_scale_and_shift():
    x, g, b = (sample(s, "float32", 3, False) for s in ((16, 256), (256,), (256,)))
    check(lambda x, g, b: layer_norm(x) * g + b, [x, g, b], composed=True)


def test_a_fetched_operator_of_several_outputs():
    logits = sample((64, 100), "float32", 1, special=False)
    labels = np.eye(64, 100, dtype="float32")

    def build(x, y):
        both = tf.raw_ops.SoftmaxCrossEntropyWithLogits(features=x * 0.5, labels=y)
        return [both[1], both[0]]

    check(build, [logits, labels], kernels=None, composed=True)

    def second(x, y):
        return build(x, y)[0]

    check(second, [logits, labels], kernels=1, composed=True)


def test_an_output_joins_the_loop_that_has_its_values():
    """The scaled rows go back with a reduction over columns here, one over rows is there, too."""
    def build(x):
        scale = tf.math.rsqrt(tf.abs(x) + 1.0)
        y = scale * tf.reduce_sum(scale, 0, keepdims=True) + tf.reduce_max(scale, 1, keepdims=True)
        return tf.gradients(tf.math.rsqrt(tf.abs(y) + 1.0), x)

    check(build, [sample((5, 17), "float32", 1, special=False)], kernels=None, composed=True)


def test_many_walks_over_columns():
    def build(x):
        for reduce in (tf.reduce_max, tf.reduce_sum, tf.reduce_min, tf.reduce_sum):
            x = x * 0.5 - reduce(x, axis=0, keepdims=True) / 64.0
        return x

    check(build, [sample((20, 33), "float32", 1, special=False)], composed=True)
