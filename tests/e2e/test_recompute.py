"""Cheap operators that several kernels compute give what TensorFlow gives."""
import pytest
import tensorflow as tf
from harness import check, sample

from tf_autofuse.report.model import RECORDER

pytestmark = pytest.mark.e2e


def product(x):
    return tf.matmul(x, x, transpose_b=True)


def broadcast(x, row):
    wide = tf.broadcast_to(row, tf.shape(x) if x.shape.rank is None else x.shape)
    return [tf.tanh(product(wide) * wide) + 1.0, wide]


def mask(x, row):
    kept = tf.cast(x > row, x.dtype)
    first = tf.abs(x * kept) + 1.0
    return tf.tanh(product(first) * 1e-3 * kept) + x


def narrow(x, row):
    wide = tf.cast(tf.cast(product(x + row), tf.float16), tf.float32)
    return tf.tanh(product(tf.minimum(tf.abs(wide), 1.0)) + wide)


@pytest.mark.parametrize(
    "function, op_type, times", [(broadcast, "BroadcastTo", 1), (mask, "Greater", 2),
                                 (narrow, "Cast", 3)])
def test_computed_again(function, op_type, times):
    RECORDER.clear()
    arrays = [sample((48, 48), "float32", 3, special=False),
              sample((1, 48), "float32", 4, special=False)]
    check(function, arrays, kernels=None, composed=True)
    types = [name for kernel in RECORDER.report({}).kernels for name in kernel.op_types]
    assert types.count(op_type) == times
