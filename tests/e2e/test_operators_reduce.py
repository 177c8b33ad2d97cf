"""Reductions of every type, over axes in every position, and of nothing."""
from functools import partial

import numpy as np
import pytest
import tensorflow as tf
from harness import MODERN, check, run_graph
from opcheck import FLOATS, INTEGERS, check_group, edges, has_kernel
from tensorflow.python.ops import gen_math_ops as math_ops
from tensorflow.python.ops import gen_nn_ops as nn_ops

import tf_autofuse

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
    names = [name for name in REDUCE if has_kernel(name, dtype)
             and (MODERN or name != "Mean" or dtype in FLOATS)]
    for keep in (False, True):
        check_group({name: partial(REDUCE[name], axis=axis, keepdims=keep) for name in names}, [x])


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"] + ["uint8"] * MODERN)
def test_reduce_nothing(dtype):
    for shape, axis in (((0, 5), 0), ((5, 0), 1), ((5, 0), 0)):
        x = np.zeros(shape, dtype)
        names = ["Sum", "Max", "Min", "Prod"] + (["Mean"] if dtype.startswith("float") else [])
        check_group({name: partial(REDUCE[name], axis=axis) for name in names}, [x])


@pytest.mark.parametrize("name", ["Sum", "Mean", "Prod"])
@pytest.mark.parametrize("dtype", FLOATS)
def test_signs_of_zero(dtype, name):
    """TensorFlow copies a single -0.0; two or more of them, or none, are 0.0 when added up."""
    if not has_kernel(name, dtype):
        pytest.skip("no such kernel")
    for axis, shapes in ((0, [(1, 5), (2, 5), (70, 5), (0, 5)]),
                         (1, [(5, 1), (5, 2), (5, 8), (5, 70), (5, 0)]),
                         ((0, 1), [(1, 1), (1, 2), (3, 1)])):
        for shape in shapes:
            if 0 in shape and dtype == "bfloat16":  # TensorFlow 2.6's mean of nothing is 0
                continue
            x = np.zeros(shape, tf.as_dtype(dtype).as_numpy_dtype)
            check(lambda x, axis=axis: REDUCE[name](tf.negative(x), axis=axis), [x],
                  shapes=[[None, None]])
    for shape in ((1, 5), (2, 5)):  # a second walk over the same rows
        x = np.zeros(shape, tf.as_dtype(dtype).as_numpy_dtype)
        check(lambda x: tf.square(REDUCE[name](tf.negative(x), axis=0)), [x], shapes=[[None, None]])

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


def arg(name, axis, kind="int64"):
    function = {"ArgMax": math_ops.arg_max, "ArgMin": math_ops.arg_min}[name]
    return lambda x: function(x, tf.constant(axis, "int32"), kind)


@pytest.mark.parametrize("dtype", FLOATS + INTEGERS)
def test_arg_max_and_min(dtype):
    x = np.sort(edges(dtype, 30)).reshape(5, 6).T.copy()
    x[3] = x[1]
    for axis in (0, 1):
        for kind in ("int64", "int32"):
            check_group({"ArgMax": arg("ArgMax", axis, kind), "ArgMin": arg("ArgMin", axis, kind)},
                        [x])
    check_group({"ArgMax": arg("ArgMax", 0), "ArgMin": arg("ArgMin", 0)}, [x[:1]])
    check_group({"ArgMax": arg("ArgMax", 0), "ArgMin": arg("ArgMin", 0)}, [x[:, 0].copy()])


def test_arg_max_of_special_values_and_bools():
    nan, inf = np.nan, np.inf
    x = np.array([[nan, 1, 3, 3], [1, nan, 3, 3], [-inf, -inf, nan, nan], [nan] * 4,
                  [nan, -inf, -inf, -inf], [inf, nan, inf, inf], [-0.0, 0.0, -0.0, 0.0]], "float32")
    check_group({"ArgMax": arg("ArgMax", 1), "ArgMin": arg("ArgMin", 1)}, [x])
    if has_kernel("ArgMax", "bool"):
        check_group({"ArgMax": arg("ArgMax", 1), "ArgMin": arg("ArgMin", 1)}, [x > 0])


@pytest.mark.parametrize("shape", [(64, 1000), (5, 33), (3, 1), (1, 7), (2, 3, 9)])
@pytest.mark.parametrize("dtype", ["float32", "float16"] + ["bfloat16"] * MODERN)
def test_softmax(dtype, shape):
    rng = np.random.RandomState(8)
    x = (rng.randn(*shape) * 4).astype(tf.as_dtype(dtype).as_numpy_dtype)
    if not has_kernel("Softmax", dtype):
        pytest.skip("no such kernel")
    for function in (nn_ops.softmax, nn_ops.log_softmax):
        (entry,) = check(lambda x, function=function: tf.negative(function(x)), [x], composed=True)
        assert entry.gm_bytes <= 1.02 * entry.gm_lower_bound


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_cross_entropy_and_its_gradient(dtype):
    rng = np.random.RandomState(8)
    x = (rng.randn(64, 100) * 4).astype(dtype)
    labels = np.exp(rng.randn(64, 100))
    labels = (labels / labels.sum(axis=1, keepdims=True)).astype(dtype)

    def loss(x, labels, ports=(0, 1)):
        results = nn_ops.softmax_cross_entropy_with_logits(x, labels)
        return [tf.negative(results[port]) for port in ports]

    for ports in ((0,), (1,), (0, 1)):
        check(lambda x, y, ports=ports: loss(x, y, ports), [x, labels], composed=True)


@pytest.mark.parametrize("kind", ["int32", "int64"])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_sparse_cross_entropy_and_its_gradient(dtype, kind):
    rng = np.random.RandomState(8)
    x = (rng.randn(65, 100) * 4).astype(dtype)
    labels = rng.randint(0, 100, 65).astype(kind)
    labels[:2] = 0, 99

    def loss(x, labels, ports=(0, 1)):
        results = nn_ops.sparse_softmax_cross_entropy_with_logits(x, labels)
        return [tf.negative(results[port]) for port in ports]

    for ports in ((0,), (1,), (0, 1)):
        check(lambda x, y, ports=ports: loss(x, y, ports), [x, labels], composed=True)
        for wrong in (-1, 100):
            bad = labels.copy()
            bad[64] = wrong
            tf_autofuse.enable("--enable_autofuse=true;--strict=true")
            try:
                with pytest.raises(tf.errors.InvalidArgumentError, match="valid range"):
                    run_graph(lambda x, y, ports=ports: loss(x, y, ports), [x, bad])
            finally:
                tf_autofuse.disable()


@pytest.mark.skipif(not MODERN, reason="in the type itself before TensorFlow 2")
def test_a_mean_of_integers_does_not_wrap():
    x = np.full((3, 9), 120, "int8")
    x[1] = -100
    x[2, 1:] = 0
    check(lambda x: tf.reduce_mean(tf.maximum(x, x), axis=1), [x])
    check(lambda x: tf.reduce_mean(tf.maximum(x, x)), [np.full((5, 7), 255, "uint8")])
