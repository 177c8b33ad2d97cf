"""Savers of the adapter: TensorFlow's own, since no variable is spread over ranks."""

import tensorflow as tf


class NPUSaver(tf.compat.v1.train.Saver):
    """TensorFlow's Saver."""
