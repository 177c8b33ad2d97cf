"""Reductions of every type, over axes in every position, and of nothing."""
from functools import partial

import numpy as np
import pytest
import tensorflow as tf
from harness import check
from opcheck import FLOATS, INTEGERS, check_group, edges, has_kernel
from tensorflow.python.ops import gen_math_ops as math_ops
from tensorflow.python.ops import gen_nn_ops as nn_ops

pytestmark = pytest.mark.e2e

REDUCE = {"Sum": tf.reduce_sum, "Mean": tf.reduce_mean, "Max": tf.reduce_max,
          "Min": tf.reduce_min, "Prod": tf.reduce_prod,
          "EuclideanNorm": lambda x, axis=None, keepdims=False: math_ops.euclidean_norm(
              x, np.arange(3) if axis is None else axis, keep_dims=keepdims)}


def whole_numbers(dtype, shape):
    """Small values whose sums and products are exact, or integers that wrap."""
    rng = np.random.RandomState(4)
    if dtype in INTEGERS:
        return edges(dtype, int(np.prod(shape))).reshape(shape)
    values = rng.choice([-2.0, -1.0, 1.0, 2.0, 3.0], shape, p=[0.05, 0.4, 0.45, 0.05, 0.05])
    return values.astype(tf.as_dtype(dtype).as_numpy_dtype)


@pytest.mark.parametrize("axis", [0, 1, -1, None, (0, 2)])
@pytest.mark.parametrize("dtype", FLOATS + INTEGERS)
def test_reduce(dtype, axis):
    x = whole_numbers(dtype, (3, 5, 17))
    names = [name for name in REDUCE if has_kernel(name, dtype)]
    for keep in (False, True):
        check_group({name: partial(REDUCE[name], axis=axis, keepdims=keep) for name in names}, [x])


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "uint8"])
def test_reduce_nothing(dtype):
    for shape, axis in (((0, 5), 0), ((5, 0), 1), ((5, 0), 0)):
        x = np.zeros(shape, dtype)
        names = ["Sum", "Max", "Min", "Prod"] + (["Mean"] if dtype.startswith("float") else [])
        check_group({name: partial(REDUCE[name], axis=axis) for name in names}, [x])


@pytest.mark.parametrize("axis", [0, 1, None])
@pytest.mark.parametrize("shape", [(5, 33), (1, 7), (7, 1), (0, 3), (300, 41)])
def test_all_and_any(shape, axis):
    rng = np.random.RandomState(5)
    for share in (0.0, 0.02, 0.98, 1.0):
        x = rng.rand(*shape) < share
        check_group({"All": lambda x: tf.reduce_all(x, axis=axis),
                     "Any": lambda x: tf.reduce_any(x, axis=axis)}, [x])


@pytest.mark.parametrize("dtype", FLOATS)
def test_l2_loss(dtype):
    x = whole_numbers(dtype, (7, 19))
    check(lambda x: nn_ops.l2_loss(tf.abs(x)), [x])


@pytest.mark.parametrize("dtype", FLOATS + INTEGERS)
def test_bias_gradient(dtype):
    x = whole_numbers(dtype, (4, 6, 11))
    check(lambda x: nn_ops.bias_add_grad(tf.maximum(x, x)), [x])
    x = whole_numbers(dtype, (4, 6, 11, 3))
    if dtype in ("float32", "float16"):
        check(lambda x: nn_ops.bias_add_grad(tf.abs(x)), [x])


def test_a_mean_of_integers_does_not_wrap():
    x = np.full((3, 9), 120, "int8")
    x[1] = -100
    x[2, 1:] = 0
    check(lambda x: tf.reduce_mean(tf.maximum(x, x), axis=1), [x])
    check(lambda x: tf.reduce_mean(tf.maximum(x, x)), [np.full((5, 7), 255, "uint8")])
