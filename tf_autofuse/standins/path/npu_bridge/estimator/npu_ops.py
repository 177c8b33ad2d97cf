"""Operators that scripts call by hand, as plain TensorFlow."""

import tensorflow as tf

_v1 = tf.compat.v1


def initialize_system(name=None):
    """Start of the device: nothing to do on the host."""
    return _v1.no_op(name=name or "npu_initialize_system")


def shutdown_system(name=None):
    """End of the device: nothing to do on the host."""
    return _v1.no_op(name=name or "npu_shutdown_system")


def dropout(x, keep_prob, noise_shape=None, seed=None, name=None):
    """Dropout by the probability to keep."""
    return tf.nn.dropout(x, rate=1.0 - keep_prob, noise_shape=noise_shape, seed=seed, name=name)


def lars_v2(
    input_weight,
    input_grad,
    weight_decay,
    learning_rate,
    hyperpara=0.001,
    epsilon=0.00001,
    use_clip=False,
    name=None,
):
    """Layer-wise scaled gradient: ``grad + decay * w`` times the ratio of the two norms."""
    weight_norm, grad_norm = tf.norm(input_weight), tf.norm(input_grad)
    ratio = hyperpara * weight_norm / (grad_norm + weight_decay * weight_norm + epsilon)
    if use_clip:
        ratio = tf.minimum(ratio / learning_rate, 1.0)
    return tf.multiply(input_grad + weight_decay * input_weight, ratio, name=name)
