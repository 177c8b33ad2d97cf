"""Functions of doubles in csrc/host against longdouble: wrong by at most one unit."""
import numpy as np
import pytest
from reference import WIDER, exact_functions, exact_maps
from scalar_kernels import EDGES, one_op, run

from tf_autofuse.loop.ops import MAP_OPS

pytest.importorskip("mpmath")
pytestmark = pytest.mark.skipif(not WIDER, reason="longdouble is a double here")

WITHIN_ONE = "exp log expm1 log1p tanh sigmoid softplus elu selu atanh erf erfc sin cos tan".split()
WITHIN_ONE += "asin acos atan digamma".split()
OF_TWO = "pow atan2 xlogy xlog1py softplus_grad fmod".split()


def values(count, low=-80):
    """Special values and random ones of every size down to e^low, dense around 0 and 1."""
    rng = np.random.RandomState(5)
    return np.concatenate([
        EDGES, rng.uniform(-1, 1, count), rng.uniform(-12, 12, count), rng.normal(1, 1e-2, count),
        rng.uniform(-744, 720, count), np.exp(rng.uniform(low, 80, count)) * rng.choice(
            [-1, 1], count)])


def assert_within(name, arrays, units):
    got = run(one_op(name, "float64", "float64", len(arrays)), *arrays)
    with exact_maps(), np.errstate(all="ignore"):
        exact = MAP_OPS[name].numpy(*[array.astype(np.longdouble) for array in arrays])
        want = exact.astype(np.float64)
    # What underflows in a longdouble's range alone is of no interest, nor what does in a double's.
    usual = np.isfinite(want) & (np.abs(want) > 1e-290)
    error = np.abs(got[usual] - exact[usual]) / np.spacing(np.abs(want[usual]))
    worst = error.argmax()
    assert error[worst] <= units, [float(array[usual][worst]) for array in arrays]
    rest = ~usual & ~(np.abs(want) <= 1e-290)
    np.testing.assert_array_equal(got[rest], want[rest])
    small = np.abs(want) <= 1e-290
    np.testing.assert_array_less(np.abs(got[small]), 1.1e-290)
    zero = want == 0
    np.testing.assert_array_equal(np.signbit(got[zero]), np.signbit(want[zero]))


@pytest.mark.parametrize("name", WITHIN_ONE)
def test_of_one_operand(name):
    slow = name in exact_functions()
    x = values(150 if slow else 4000)
    x = x[np.abs(x) < 1e15] if name in ("sin", "cos", "tan", "digamma") else x
    near_zeros = name == "digamma"  # where only what longdouble leaves can be had
    assert_within(name, [x[(x > 2) | (x < -1e300)] if near_zeros else x], 1.0)


@pytest.mark.parametrize("name", OF_TWO)
def test_of_two_operands(name):
    x = values(1500)
    y = np.random.RandomState(9).permutation(x)
    grid = np.meshgrid(np.array(EDGES), np.array(EDGES))
    x, y = np.concatenate([x, grid[0].ravel()]), np.concatenate([y, grid[1].ravel()])
    if name == "softplus_grad":  # e^-x overflows as it does in TensorFlow
        x, y = x[~(y < -600)], y[~(y < -600)]
    assert_within(name, [x, y], 1.0)
