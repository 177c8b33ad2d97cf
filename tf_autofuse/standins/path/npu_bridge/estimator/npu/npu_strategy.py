"""Distribution strategy of the adapter."""

import tensorflow as tf


class NPUStrategy(tf.distribute.OneDeviceStrategy):
    """All on the host CPU."""

    def __init__(self, device="/cpu:0"):
        super().__init__(device)
