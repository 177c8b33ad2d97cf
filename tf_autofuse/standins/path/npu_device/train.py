"""Training helpers of the TF2 adapter."""

import types

import tensorflow as tf


def _loss_scale_optimizer(inner_optimizer, *args, **kwargs):
    """TensorFlow's own loss scaling around a Keras optimizer."""
    return tf.keras.mixed_precision.LossScaleOptimizer(inner_optimizer, *args, **kwargs)


optimizer = types.SimpleNamespace(NpuLossScaleOptimizer=_loss_scale_optimizer)
