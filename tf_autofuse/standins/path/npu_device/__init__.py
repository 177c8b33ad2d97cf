"""Host stand-in of the TF2 adapter package: the device is the CPU, fused by tf_autofuse."""

import contextlib

import tensorflow as tf

from npu_device import compat, configs, distribute, ops, train
from npu_device.configs import global_options

__all__ = [
    "compat",
    "configs",
    "distribute",
    "global_options",
    "is_inf_nan_enabled",
    "keep_dtype_scope",
    "npu_compat_function",
    "npu_recompute_scope",
    "npu_run_context",
    "open",
    "ops",
    "set_device_sat_mode",
    "set_npu_loop_size",
    "train",
]

_settings = {"sat_mode": 0, "loop_size": 1}


class NpuDeviceHandle:
    """The opened device; on the host the default device already is the right one."""

    def __init__(self, device_id):
        self._device_id = device_id

    def as_default(self):
        """Use the device for everything; returns the handle."""
        return self

    @contextlib.contextmanager
    def scope(self):
        """Use the device inside the block."""
        yield self

    def name(self):
        """Name of the TensorFlow device that computes."""
        return "/job:localhost/replica:0/task:0/device:CPU:0"


def open(device_id=None):
    """Handle of the host device; `device_id` is kept as it was given."""
    return NpuDeviceHandle(0 if device_id is None else device_id)


def npu_compat_function(func=None, *args, **kwargs):
    """Decorator: ``tf.function``."""
    if func is None:
        return lambda inner: npu_compat_function(inner, *args, **kwargs)
    return tf.function(func, *args, **kwargs)


def set_npu_loop_size(loop_size):
    """Steps per device loop; the host runs one step at a time and only remembers the number."""
    _settings["loop_size"] = loop_size


@contextlib.contextmanager
def npu_run_context(options=None):
    """Run options for the block: none matter on the host."""
    yield


def set_device_sat_mode(mode):
    """Overflow mode: the CPU always gives inf and nan; the number is only remembered."""
    _settings["sat_mode"] = mode


def is_inf_nan_enabled():
    """True: the CPU gives inf and nan."""
    return True


@contextlib.contextmanager
def keep_dtype_scope():
    """The host never changes an operator's dtype."""
    yield


@contextlib.contextmanager
def npu_recompute_scope():
    """The host keeps its activations."""
    yield
