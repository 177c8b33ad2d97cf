"""Recurrent layers of the adapter."""

import tensorflow as tf


def npu_dynamic_rnn(cell, inputs, initial_state=None, dtype=None, sequence_length=None, scope=None):
    """Outputs and state of TensorFlow's dynamic_rnn on time-major inputs."""
    return tf.compat.v1.nn.dynamic_rnn(
        cell,
        inputs,
        sequence_length=sequence_length,
        initial_state=initial_state,
        dtype=dtype,
        time_major=True,
        scope=scope,
    )
