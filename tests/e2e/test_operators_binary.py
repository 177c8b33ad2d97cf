"""Two-operand operators and gradients over every pair of special values; integer division."""
import numpy as np
import pytest
import tensorflow as tf
from harness import MODERN, ZERO_SIGNS, check, run_graph
from opcheck import EVERY, FLOATS, INTEGERS, both, check_group, edges, groups, has_kernel, pairs
from tensorflow.python.ops import gen_bitwise_ops as bit_ops
from tensorflow.python.ops import gen_math_ops as math_ops
from tensorflow.python.ops import gen_nn_ops as nn_ops

import tf_autofuse

pytestmark = pytest.mark.e2e

# Operator type -> function.
BINARY = {
    "Add": math_ops.add, "AddV2": math_ops.add_v2, "Sub": math_ops.sub, "Mul": math_ops.mul,
    "RealDiv": math_ops.real_div, "Maximum": math_ops.maximum, "Minimum": math_ops.minimum,
    "SquaredDifference": math_ops.squared_difference, "DivNoNan": math_ops.div_no_nan,
    "MulNoNan": math_ops.mul_no_nan, "Xdivy": math_ops.xdivy, "Xlogy": math_ops.xlogy,
    "Atan2": math_ops.atan2, "NextAfter": math_ops.next_after, "Greater": math_ops.greater,
    "GreaterEqual": math_ops.greater_equal, "Less": math_ops.less,
    "LessEqual": math_ops.less_equal, "Equal": math_ops.equal, "NotEqual": math_ops.not_equal,
    "BitwiseAnd": bit_ops.bitwise_and, "BitwiseOr": bit_ops.bitwise_or,
    "BitwiseXor": bit_ops.bitwise_xor, "LeftShift": bit_ops.left_shift,
    "RightShift": bit_ops.right_shift, "ApproximateEqual": math_ops.approximate_equal,
}
if hasattr(math_ops, "xlog1py"):
    BINARY["Xlog1py"] = math_ops.xlog1py

GRADIENTS = {
    "ReluGrad": nn_ops.relu_grad, "Relu6Grad": nn_ops.relu6_grad,
    "LeakyReluGrad": lambda dy, x: nn_ops.leaky_relu_grad(dy, x, 0.125),
    "EluGrad": nn_ops.elu_grad, "SeluGrad": nn_ops.selu_grad,
    "SoftplusGrad": nn_ops.softplus_grad, "SoftsignGrad": nn_ops.softsign_grad,
    "TanhGrad": math_ops.tanh_grad, "SigmoidGrad": math_ops.sigmoid_grad,
    "RsqrtGrad": math_ops.rsqrt_grad, "SqrtGrad": math_ops.sqrt_grad,
    "ReciprocalGrad": math_ops.reciprocal_grad, "InvGrad": math_ops.inv_grad,
}

DIVISIONS = {
    "Div": math_ops.div, "FloorDiv": math_ops.floor_div, "TruncateDiv": math_ops.truncate_div,
    "FloorMod": math_ops.floor_mod, "TruncateMod": math_ops.truncate_mod, "Mod": math_ops.mod,
}


@pytest.mark.parametrize("dtype", EVERY)
def test_binary(dtype):
    for group in groups(name for name in BINARY if has_kernel(name, dtype)):
        check_group({name: BINARY[name] for name in group}, pairs(dtype))


@pytest.mark.parametrize("dtype", FLOATS + INTEGERS)
def test_gradients(dtype):
    for group in groups(name for name in GRADIENTS if has_kernel(name, dtype)):
        check_group({name: GRADIENTS[name] for name in group}, pairs(dtype))


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("name", ["ReluGrad", "Relu6Grad"])
def test_gradients_of_relu_are_products(name, dtype):
    """TensorFlow 1.15, 2.6 and 2.21 multiply by 0 or 1, in vector lanes and in tails alike.

    An infinite gradient gives NaN where nothing passes, a negative one gives -0.
    """
    dy = np.resize(np.array([np.inf, -np.inf, np.nan, -3.0], dtype), 67)
    results = both(lambda dy, x: tf.maximum(GRADIENTS[name](dy, x), dy * 0),
                   [dy, np.full(67, -1.0, dtype)])
    for result in results:
        np.testing.assert_array_equal(np.isnan(result), np.abs(dy) != 3)
        assert np.all(np.signbit(result[3::4]))


@pytest.mark.parametrize("dtype", FLOATS + INTEGERS)
def test_division(dtype):
    names = [name for name in DIVISIONS if has_kernel(name, dtype)]
    x, y = pairs(dtype, dtype in INTEGERS)
    if dtype in INTEGERS and not MODERN:  # older kernels overflow, and trap on lowest / -1
        x, y = x // 4, np.where(y // 4 == 0, 1, y // 4).astype(dtype)
    check_group({name: DIVISIONS[name] for name in names}, [x, y])


@pytest.mark.parametrize("name", ["FloorDiv", "FloorMod", "Div"])
@pytest.mark.parametrize("dtype", ["int32", "int64"] + ["int8", "uint16"] * MODERN)
def test_integer_division_by_zero_is_an_error(name, dtype):
    x = np.arange(40, dtype=dtype)
    y = np.full(40, 3, dtype)
    y[17] = 0
    tf_autofuse.enable("--enable_autofuse=true;--strict=true")
    try:
        with pytest.raises(tf.errors.InvalidArgumentError, match="division by zero"):
            run_graph(lambda x, y: tf.maximum(DIVISIONS[name](x, y), x), [x, y])
    finally:
        tf_autofuse.disable()
    check_group({name: DIVISIONS[name], "Sub": math_ops.sub}, [x, np.maximum(y, 2)])
    empty = np.zeros(0, dtype)
    check_group({name: DIVISIONS[name], "Sub": math_ops.sub}, [empty, empty])


@pytest.mark.parametrize("dtype", FLOATS)
def test_power(dtype):
    x, y = pairs(dtype)
    if not ZERO_SIGNS:  # older versions have infinities of their own
        x, y = [np.clip(part, low, 9).astype(part.dtype) for part, low in ((x, 0.5), (y, -9))]
    check_group({"Pow": math_ops._pow, "Sub": math_ops.sub}, [x, y])


@pytest.mark.parametrize("exponent", [0, 1, 5, 30])
@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64"])
def test_integer_power_with_a_constant_exponent(dtype, exponent):
    if not has_kernel("Pow", dtype):
        pytest.skip("no such kernel")

    def power(x):
        return math_ops._pow(x, tf.constant(exponent, dtype))

    check_group({"Pow": power, "Neg": math_ops.neg}, [edges(dtype)])


@pytest.mark.parametrize("dtype", [d for d in FLOATS + INTEGERS if has_kernel("ClipByValue", d)])
def test_clip_by_value(dtype):
    x = edges(dtype)

    def by_scalars(x):
        one, five = tf.constant(1, x.dtype), tf.constant(5, x.dtype)
        return math_ops._clip_by_value(x, one, five)

    def by_tensors(x):
        return math_ops._clip_by_value(x, tf.minimum(x, x[::-1]), tf.maximum(x, x[::-1]))

    check_group({"ClipByValue": by_scalars, "Maximum": lambda x: tf.maximum(x, x)}, [x])
    if dtype not in FLOATS:  # a NaN bound is for nobody to rely on
        check(lambda x: tf.maximum(by_tensors(x), x), [x])


@pytest.mark.parametrize("dtype", EVERY)
def test_select(dtype):
    x, y = pairs(dtype)
    condition = np.arange(len(x)) % 3 == 0
    check_group(
        {"Select": lambda c, x, y: math_ops.select(c, x, y), "SelectV2": lambda c, x, y: (
            math_ops.select_v2(c, x, y)), "LogicalNot": lambda c, x, y: tf.logical_not(c)},
        [condition, x, y])


@pytest.mark.parametrize("shape", [(5, 33), (1, 7), (3, 1), (4, 3, 9)])
def test_select_by_rows(shape):
    x = edges("float32", int(np.prod(shape))).reshape(shape)
    condition = np.arange(shape[0]) % 2 == 0
    check(lambda c, x: tf.negative(math_ops.select(c, x, tf.abs(x))), [condition, x])
    check(lambda c, x: math_ops.select(tf.logical_not(c), tf.negative(x), x), [condition, x])


@pytest.mark.parametrize("dtype", FLOATS + INTEGERS)
def test_add_n_and_bias(dtype):
    x = edges(dtype, 240).reshape(4, 3, 20)
    b = edges(dtype, 20, 2)
    check_group(
        {"AddN": lambda x, b: tf.add_n([x, x, tf.maximum(x, x)]),
         "Maximum": lambda x, b: tf.maximum(x, x),
         "BiasAdd": lambda x, b: nn_ops.bias_add(x, b)}, [x, b])


@pytest.mark.parametrize("target", EVERY)
@pytest.mark.parametrize("source", EVERY)
def test_cast(source, target):
    if source == target:
        pytest.skip("nothing to cast")
    x = edges(source)
    if source in FLOATS and target in INTEGERS:
        # What does not fit is undefined in C++, and differs between TensorFlow's own kernels.
        info = np.iinfo(target)
        low, high = max(info.min, -2 ** 53), min(info.max, 2 ** 53)
        wide = x.astype("float64")
        x = x[(wide >= low) & (wide <= high)]
    check_group({"Cast": lambda x: math_ops.cast(x, target),
                 "Equal": lambda x: math_ops.equal(x, x)}, [x])
