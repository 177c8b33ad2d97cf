"""Operators of the device's vector cores, as plain TensorFlow."""

import tensorflow as tf

from npu_bridge.estimator.npu_unary_ops import fast_gelu

__all__ = ["centralization", "dropout_v3", "fast_gelu_v2", "layer_norm", "prelu"]


def fast_gelu_v2(x, name=None):
    """Gelu by sigmoid."""
    return fast_gelu(x, name=name)


def centralization(x, axes, name=None):
    """``x`` without its mean over `axes`."""
    x = tf.convert_to_tensor(x)
    return tf.subtract(x, tf.reduce_mean(x, axis=axes, keepdims=True), name=name)


def prelu(x, weight):
    """``x`` where it is positive, ``weight * x`` elsewhere."""
    return tf.nn.relu(x) + weight * tf.minimum(x, tf.zeros([], x.dtype))


def dropout_v3(x, keep_prob, noise_shape=None, seed=None, name=None):
    """Dropout by the probability to keep."""
    return tf.nn.dropout(x, rate=1.0 - keep_prob, noise_shape=noise_shape, seed=seed, name=name)


def layer_norm(
    x, gamma, beta, begin_norm_axis=0, begin_params_axis=0, epsilon=0.0000001, name=None
):
    """[normalised, mean, variance] over the axes from `begin_norm_axis` on."""
    x = tf.convert_to_tensor(x)
    axes = list(range(begin_norm_axis % x.shape.ndims, x.shape.ndims))
    mean, variance = tf.nn.moments(x, axes, keepdims=True)
    scaled = (x - mean) * tf.math.rsqrt(variance + epsilon) * gamma
    return [tf.add(scaled, beta, name=name), mean, variance]
