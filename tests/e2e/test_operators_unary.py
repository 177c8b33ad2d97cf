"""One-operand operators, many in one kernel, over values with every special case."""
import numpy as np
import pytest
import tensorflow as tf
from harness import MODERN, ZERO_SIGNS, check
from opcheck import EVERY, both, check_group, edges, groups, has_kernel
from tensorflow.python.ops import gen_array_ops as array_ops
from tensorflow.python.ops import gen_bitwise_ops as bit_ops
from tensorflow.python.ops import gen_math_ops as math_ops
from tensorflow.python.ops import gen_nn_ops as nn_ops

pytestmark = pytest.mark.e2e

# Operator type -> function.
UNARY = {
    "Abs": math_ops._abs, "Neg": math_ops.neg, "Relu": nn_ops.relu, "Exp": math_ops.exp,
    "Log": math_ops.log, "Sqrt": math_ops.sqrt, "Rsqrt": math_ops.rsqrt, "Tanh": math_ops.tanh,
    "Sigmoid": math_ops.sigmoid, "Square": math_ops.square, "Reciprocal": math_ops.reciprocal,
    "Inv": math_ops.inv, "Sign": math_ops.sign, "Floor": math_ops.floor, "Ceil": math_ops.ceil,
    "Rint": math_ops.rint, "Round": math_ops.round, "Expm1": math_ops.expm1,
    "Log1p": math_ops.log1p, "Sin": math_ops.sin, "Cos": math_ops.cos, "Tan": math_ops.tan,
    "Asin": math_ops.asin, "Acos": math_ops.acos, "Atan": math_ops.atan, "Sinh": math_ops.sinh,
    "Cosh": math_ops.cosh, "Asinh": math_ops.asinh, "Acosh": math_ops.acosh,
    "Atanh": math_ops.atanh, "Erf": math_ops.erf, "Erfc": math_ops.erfc,
    "Lgamma": math_ops.lgamma, "Digamma": math_ops.digamma, "Relu6": nn_ops.relu6,
    "LeakyRelu": lambda x: tf.nn.leaky_relu(x, 0.125), "Elu": nn_ops.elu, "Selu": nn_ops.selu,
    "Softplus": nn_ops.softplus, "Softsign": nn_ops.softsign, "IsNan": math_ops.is_nan,
    "IsInf": math_ops.is_inf, "IsFinite": math_ops.is_finite, "ZerosLike": array_ops.zeros_like,
    "OnesLike": array_ops.ones_like, "Invert": bit_ops.invert,
    "PopulationCount": bit_ops.population_count,
}

# TensorFlow rounds integers to 0 in some versions; its float64 forms of the others are wrong
# beyond a few units in the last place, and the float64 kernels have tests of their own.
ELSEWHERE = {("Round", "int32"), ("Round", "int64")}
ELSEWHERE |= {(name, "float64") for name in ("Digamma", "Lgamma", "Elu", "Selu", "Expm1", "Erf")}
if not MODERN:
    ELSEWHERE |= {("Digamma", "float32"), ("Softplus", "float64")}


@pytest.mark.parametrize("dtype", EVERY)
def test_unary(dtype):
    names = [name for name in UNARY if has_kernel(name, dtype)]
    names = [name for name in names if (name, dtype) not in ELSEWHERE]
    for group in groups(names):
        check_group({name: UNARY[name] for name in group}, [edges(dtype)])


@pytest.mark.skipif(not hasattr(math_ops, "erfinv"), reason="an operator of newer versions")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_inverse_error_functions(dtype):
    # Far from 0, where TensorFlow's own float64 form, ndtri((x + 1) / 2), is good to 1e-12.
    x = np.concatenate([np.linspace(-1, 1, 199), np.linspace(0.99, 1, 50), [np.nan, 1.5, -2.0]])
    x = x if ZERO_SIGNS else x[(x > 0) & (x < 1)]  # older versions have limits of their own
    x = x[(np.abs(x) > 1e-3) | np.isnan(x)].astype(dtype)
    functions = {"Erfinv": math_ops.erfinv, "Ndtri": math_ops.ndtri}
    if dtype == "float32":
        check_group(functions, [x])
        return
    for function in functions.values():
        got, expected = both(lambda x, function=function: tf.abs(function(x)), [x])
        np.testing.assert_allclose(got, expected, rtol=2e-11)


def test_gamma_functions_of_float64():
    """Near their zeros only an absolute error means anything."""
    x = edges("float64")
    if not MODERN:  # other values at the poles
        x = x[x > 0]
    for function in (math_ops.lgamma, math_ops.digamma):
        got, expected = both(lambda x, function=function: tf.abs(function(x)), [x])
        np.testing.assert_allclose(got, expected, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64"])
def test_chains_that_tensorflow_composes(dtype):
    """Grappler joins such chains to one operator before fusion sees them."""
    x = np.linspace(-0.9, 0.9, 77).astype(dtype)
    chains = (
        [tf.abs, tf.sqrt, tf.math.log1p, tf.math.expm1, tf.tanh],
        [tf.sin, tf.cos, tf.asin, tf.atan, tf.math.asinh],
        [tf.nn.elu, tf.nn.relu6, tf.square, tf.floor, tf.math.ceil],
        [tf.sinh, tf.cosh, tf.math.acosh, tf.nn.selu, tf.math.rsqrt],
    )
    for chain in chains:
        def build(x, chain=chain):
            for function in chain:
                x = function(x)
            return x

        check(build, [x], composed=True)
