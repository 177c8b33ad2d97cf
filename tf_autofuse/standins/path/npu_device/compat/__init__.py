"""TF1 behaviour in TF2 scripts."""

import tensorflow as tf

from npu_device.compat import v1

__all__ = ["enable_v1", "v1"]

_state = {"v1": False}


def enable_v1():
    """Graphs and sessions in TensorFlow 2, as scripts for TF1 expect; may be called again."""
    if not _state["v1"]:
        tf.compat.v1.disable_v2_behavior()
        _state["v1"] = True
