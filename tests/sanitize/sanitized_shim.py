"""A pytest plugin: the tests run on the TensorFlow extension that SANITIZED_SHIM names."""

import os

import tensorflow  # noqa: F401  (its libraries come first)

from tf_autofuse.build import tf_shim

os.environ.pop("LD_PRELOAD", None)  # it is in this process; compilers run without
tf_shim._loaded = tf_shim._load(os.environ["SANITIZED_SHIM"])
