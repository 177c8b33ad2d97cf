"""Activations that the NPU has as one operator."""

import math

import tensorflow as tf


def gelu(x, name=None):
    """Gelu by tanh, the form of the device operator."""
    inner = math.sqrt(2.0 / math.pi) * (x + 0.044715 * x * x * x)
    return tf.multiply(0.5 * x, 1.0 + tf.tanh(inner), name=name)


def fast_gelu(x, name=None):
    """Gelu by sigmoid: ``x * sigmoid(1.702 x)``."""
    return tf.multiply(x, tf.sigmoid(1.702 * x), name=name)
