"""Keras callbacks of the adapter."""

import tensorflow as tf


class NPUBroadcastGlobalVariablesCallback(tf.keras.callbacks.Callback):
    """Would send rank `root_rank`'s variables to the other ranks before the first batch."""

    def __init__(self, root_rank, *args, **kwargs):
        super().__init__()
        self.root_rank = root_rank
