"""Every operator of the table, fused, against TensorFlow's own kernels."""
import numpy as np
import pytest
import tensorflow as tf
from harness import MODERN, check, sample
from tensorflow.python.ops import gen_math_ops, gen_nn_ops

pytestmark = pytest.mark.e2e

FLOATS = ["float32", "float16"] + (["bfloat16"] if MODERN else [])
NUMBERS = FLOATS + ["int32"]

# -0.0 and NaN in max, min and relu depend on the vector unit before TensorFlow 2.
SPECIAL = MODERN

UNARY = {
    "abs": tf.abs,
    "relu": tf.nn.relu,
    "exp": tf.exp,
    "log": tf.math.log,
    "sqrt": tf.sqrt,
    "rsqrt": tf.math.rsqrt,
    "tanh": tf.tanh,
    "sigmoid": tf.sigmoid,
    "square": tf.square,
    "reciprocal": tf.math.reciprocal,
}

BINARY = {
    "add": tf.add,
    "sub": tf.subtract,
    "mul": tf.multiply,
    "div": tf.math.divide,
    "maximum": tf.maximum,
    "minimum": tf.minimum,
    "squared_difference": tf.math.squared_difference,
}

COMPARE = {
    "greater": tf.greater,
    "greater_equal": tf.greater_equal,
    "less": tf.less,
    "less_equal": tf.less_equal,
    "equal": gen_math_ops.equal,
    "not_equal": gen_math_ops.not_equal,
}

GRADIENTS = {
    "relu_grad": gen_nn_ops.relu_grad,
    "tanh_grad": gen_math_ops.tanh_grad,
    "sigmoid_grad": gen_math_ops.sigmoid_grad,
    "rsqrt_grad": gen_math_ops.rsqrt_grad,
    "sqrt_grad": gen_math_ops.sqrt_grad,
    "reciprocal_grad": gen_math_ops.reciprocal_grad,
}

INTEGER_UNARY = ("abs", "square", "relu")
INTEGER_BINARY = ("add", "sub", "mul", "maximum", "minimum", "squared_difference")


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("name", sorted(UNARY))
def test_unary(name, dtype):
    if dtype == "int32" and name not in INTEGER_UNARY:
        pytest.skip("TensorFlow has no int32 kernel")
    x = sample((7, 37), dtype, 1, SPECIAL)
    check(lambda x: tf.negative(UNARY[name](x)), [x])


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("name", sorted(BINARY))
def test_binary_with_broadcast(name, dtype):
    if dtype == "int32" and name not in INTEGER_BINARY:
        pytest.skip("TensorFlow has no int32 kernel")
    for shape in ((37,), (7, 1), (7, 37), ()):
        x, y = sample((7, 37), dtype, 2, SPECIAL), sample(shape, dtype, 3, SPECIAL)
        check(lambda x, y: tf.negative(BINARY[name](x, y)), [x, y])


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("name", sorted(COMPARE))
def test_compare_and_select(name, dtype):
    x, y = sample((5, 33), dtype, 4), sample((5, 33), dtype, 5)
    check(lambda x, y: tf.where(COMPARE[name](x, y), x, y), [x, y])


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", sorted(GRADIENTS))
def test_gradients(name, dtype):
    y, dy = sample((5, 33), dtype, 6, False), sample((5, 33), dtype, 7, False)
    check(lambda y, dy: tf.negative(GRADIENTS[name](y, dy)), [y, dy])


@pytest.mark.parametrize("target", ["float32", "float16", "int32", "bool", "bfloat16"])
@pytest.mark.parametrize("source", ["float32", "float16", "int32", "bool", "bfloat16"])
def test_cast(source, target):
    if source == target or ("bfloat16" in (source, target) and not MODERN):
        pytest.skip("nothing to cast, or no such kernel")
    first = tf.logical_not if source == "bool" else tf.abs
    if source == "bfloat16" or source == "float16" or source == "float32":
        first = tf.negative
    x = sample((5, 33), source, 8, target not in ("int32",))
    check(lambda x: tf.cast(first(x), target), [x])


@pytest.mark.parametrize("dtype", FLOATS)
def test_bias_add_and_add_n(dtype):
    x, b = sample((4, 5, 9), dtype, 9), sample((9,), dtype, 10)
    check(lambda x, b: tf.nn.relu(tf.nn.bias_add(x, b)), [x, b])
    check(lambda x, b: tf.add_n([tf.abs(x), x, tf.negative(x)]), [x, b])
    check(lambda x, b: gen_nn_ops.bias_add_grad(tf.abs(x)), [x[..., :] * 0 + x.dtype.type(1), b])


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("axis", [0, 1, -1, None, (0, 2), (1,), (0, 1)])
@pytest.mark.parametrize("name", ["sum", "mean", "max", "min", "prod"])
def test_reduce(name, axis, dtype):
    if dtype == "int32" and name == "mean" and not MODERN:
        pytest.skip("TensorFlow 1 divides in its own way")
    x = sample((3, 5, 17), dtype, 11, False)
    if name == "prod":
        x = (np.abs(x.astype("float32")) % 2).astype(x.dtype)
    function = getattr(tf, "reduce_" + name)
    for keep in (False, True):
        check(lambda x, keep=keep: function(tf.abs(x), axis=axis, keepdims=keep), [x])


def test_logical():
    x, y = sample((5, 33), "bool", 12), sample((33,), "bool", 13)
    check(lambda x, y: tf.logical_or(tf.logical_and(x, y), tf.logical_not(x)), [x, y])
