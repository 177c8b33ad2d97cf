"""Bessel, gamma and beta functions and integrals, many in one kernel."""
import numpy as np
import pytest
import tensorflow as tf
from harness import MODERN, ZERO_SIGNS
from opcheck import check_group, edges, groups, has_kernel
from tensorflow.python.ops import gen_math_ops as math_ops

pytestmark = pytest.mark.e2e

# `tf.raw_ops` has those without a Python name; TensorFlow 1 has only few.
NAMES = ["BesselI0", "BesselI1", "BesselI0e", "BesselI1e", "BesselK0", "BesselK1", "BesselK0e",
         "BesselK1e", "BesselJ0", "BesselJ1", "BesselY0", "BesselY1", "Dawsn", "Spence", "Expint",
         "FresnelCos", "FresnelSin"]


def function_of(name):
    return lambda x: getattr(tf.raw_ops, name)(x=x)


def arguments(dtype):
    """Special values, and others up to where TensorFlow's own functors still mean something."""
    x = edges(dtype)
    rest = np.linspace(0.01, 30, 300)
    x = np.concatenate([x[np.abs(x.astype("float64")) < 200], rest.astype(x.dtype), -rest.astype(
        x.dtype)])
    return np.concatenate([x, np.array([np.nan], x.dtype)])


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_functions_of_one_operand(dtype):
    names = [name for name in NAMES if has_kernel(name, dtype)]
    for group in groups(names):
        check_group({name: function_of(name) for name in group}, [arguments(dtype)])


BINARY = {"Igamma": "ax", "Igammac": "ax", "IgammaGradA": "ax", "Zeta": "xq", "Polygamma": "ax"}
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 3.0, -2.0, -1.5, -0.5, 7.5, np.inf, -np.inf, np.nan]


def of_two(name):
    first, second = BINARY[name]
    return lambda a, b: getattr(tf.raw_ops, name)(**{first: a, second: b})


def two_operands(dtype):
    """Every pair of special values, then random ones."""
    rng = np.random.RandomState(3)
    grid = np.meshgrid(SPECIAL, SPECIAL)
    return [np.concatenate([part.ravel(), np.exp(rng.uniform(-3, 3, 400))]).astype(dtype)
            for part in grid]


@pytest.mark.skipif(not ZERO_SIGNS, reason="older versions have limits of their own")
def test_functions_of_two_operands():
    a, x = two_operands("float32")
    check_group({name: of_two(name) for name in BINARY if name != "Polygamma"}, [a, x])
    # Beyond, TensorFlow's float32 form loses itself to 0.
    check_group({"Polygamma": of_two("Polygamma"), "Sub": tf.subtract},
                [np.floor(a) % 8, x])


@pytest.mark.skipif(not MODERN, reason="older versions have limits of their own")
def test_incomplete_beta():
    rng = np.random.RandomState(3)
    a, b = np.exp(rng.uniform(-3, 3, (2, 400))).astype("float32")
    x = rng.uniform(0, 1, 400).astype("float32")
    x[:2] = 0, 1
    check_group({"Betainc": math_ops.betainc, "Select": lambda a, b, x: math_ops.select(
        tf.less(a, b), a, x), "Less": lambda a, b, x: tf.less(a, b)}, [a, b, x])
