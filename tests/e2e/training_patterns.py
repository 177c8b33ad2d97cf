"""Steps of training as users write them, forward and backward: what one kernel must hold.

`TRAINING` maps names to (function, kinds of arguments), as `one_kernel.PATTERNS` does.
"""
import tensorflow as tf
from one_kernel import (
    LABELS,
    MASK,
    MATRIX,
    ROW,
    cosine_similarity,
    focal_loss,
    layer_norm,
    rms_norm,
)

TRAINING = {}


def step(*kinds):
    """Register a function under its name with the kinds of its arguments."""

    def register(function):
        TRAINING[function.__name__] = (function, kinds)
        return function

    return register


@step(MATRIX, ROW, ROW, ROW, MASK, MATRIX, MATRIX)
def dense_block_backward(x, bias, gamma, beta, mask, residual, dy):
    """Bias, gelu, dropout, residual and layer norm behind a matrix product."""
    x = tf.nn.bias_add(x, bias)
    activated = 0.5 * x * (1 + tf.math.erf(x * 0.70710678))
    y = layer_norm(activated * mask * 1.25 + residual, gamma, beta)
    return tf.gradients(y, [x, gamma, beta, residual], grad_ys=dy)


@step(MATRIX, ROW, ROW, MATRIX)
def batch_norm_backward(x, gamma, beta, dy):
    mean, variance = tf.nn.moments(x, [0])
    y = tf.nn.batch_normalization(x, mean, variance, beta, gamma, 1e-3)
    return tf.gradients(y, [x, gamma, beta], grad_ys=dy)


@step(MATRIX, MASK, MATRIX)
def attention_backward(scores, mask, dy):
    p = tf.nn.softmax(scores * 0.125 + (1.0 - mask) * -1e9)
    return [p] + tf.gradients(p, [scores], grad_ys=dy)


@step(MATRIX, ROW, MATRIX)
def rms_norm_backward(x, scale, dy):
    return tf.gradients(rms_norm(x, scale), [x, scale], grad_ys=dy)


@step(MATRIX, MASK)
def focal_loss_backward(x, labels):
    loss = focal_loss(x, labels)
    return [loss] + tf.gradients(loss, [x])


@step(MATRIX, LABELS, ROW)
def classifier_backward(x, labels, bias):
    """Loss, its gradient and that of the bias of the last layer."""
    loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(
        labels=tf.stop_gradient(labels), logits=tf.nn.bias_add(x, bias)))
    return [loss] + tf.gradients(loss, [x, bias])


@step(MATRIX, MASK, ROW)
def binary_classifier_backward(x, labels, bias):
    """Loss, accuracy and gradients of independent labels."""
    logits = x + bias
    loss = tf.reduce_mean(
        tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits))
    right = tf.equal(tf.cast(logits > 0, logits.dtype), labels)
    return [loss, tf.reduce_mean(tf.cast(right, logits.dtype))] + tf.gradients(loss, [x, bias])


@step(MATRIX, MATRIX)
def cosine_loss_backward(x, y):
    loss = 1 - tf.reduce_mean(cosine_similarity(x, y))
    return [loss] + tf.gradients(loss, [x, y])


@step(MATRIX)
def pairwise_interactions_backward(x):
    """The second-order term of a factorisation machine over 25 fields of 40 factors."""
    fields = tf.reshape(x, [64, 25, 40])
    squares = tf.square(tf.reduce_sum(fields, 1)) - tf.reduce_sum(tf.square(fields), 1)
    y = 0.5 * tf.reduce_sum(squares, 1, keepdims=True)
    return [y] + tf.gradients(y, [fields])


@step(MATRIX, MATRIX, MATRIX, MATRIX, MATRIX, MATRIX, MATRIX)
def gru_gates(xz, xr, xh, hz, hr, hh, h):
    z, r = tf.sigmoid(xz + hz), tf.sigmoid(xr + hr)
    return z * h + (1 - z) * tf.tanh(xh + r * hh)
