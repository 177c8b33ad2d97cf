"""Special functions, the C++ ones and their numpy meanings, against mpmath."""
import numpy as np
import pytest
from scalar_kernels import EDGES, one_op, run

from tf_autofuse.loop.functions import REAL_FUNCTIONS
from tf_autofuse.loop.ops import MAP_OPS

mp = pytest.importorskip("mpmath")

RNG = np.random.RandomState(1)
ABOVE_ZERO = np.concatenate([np.exp(RNG.uniform(-12, 6, 60)), RNG.uniform(0, 12, 60)])
BOTH_SIDES = np.concatenate([ABOVE_ZERO, -ABOVE_ZERO])
NOT_LARGE = BOTH_SIDES[np.abs(BOTH_SIDES) < 25]
FIRST, SECOND = np.exp(RNG.uniform(-3, 4, (2, 60)))
FRACTION = RNG.uniform(0.001, 0.999, 60)
POLES_BETWEEN = np.concatenate([RNG.uniform(0.01, 30, 40), RNG.uniform(-5, 0, 20)])
ORDER = np.concatenate([RNG.uniform(1.01, 20, 40), RNG.randint(2, 9, 20)])


def dawson(x):
    return mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x)


def gamma_slope(a, x):
    return mp.diff(lambda b: mp.gammainc(b, 0, x, regularized=True), a)


# Name to (exact function, arguments, units in the last place of a double). Near the zeros of a
# function that oscillates the units are those of the largest value.
CASES = {
    "bessel_i0": (lambda x: mp.besseli(0, x), [BOTH_SIDES], 24),
    "bessel_i1": (lambda x: mp.besseli(1, x), [BOTH_SIDES], 24),
    "bessel_i0e": (lambda x: mp.exp(-abs(x)) * mp.besseli(0, x), [BOTH_SIDES], 24),
    "bessel_i1e": (lambda x: mp.exp(-abs(x)) * mp.besseli(1, x), [BOTH_SIDES], 24),
    "bessel_k0": (lambda x: mp.besselk(0, x), [ABOVE_ZERO], 24),
    "bessel_k1": (lambda x: mp.besselk(1, x), [ABOVE_ZERO], 24),
    "bessel_k0e": (lambda x: mp.exp(x) * mp.besselk(0, x), [ABOVE_ZERO], 24),
    "bessel_k1e": (lambda x: mp.exp(x) * mp.besselk(1, x), [ABOVE_ZERO], 24),
    "bessel_j0": (lambda x: mp.besselj(0, x), [BOTH_SIDES], None),
    "bessel_j1": (lambda x: mp.besselj(1, x), [BOTH_SIDES], None),
    "bessel_y0": (lambda x: mp.bessely(0, x), [ABOVE_ZERO], None),
    "bessel_y1": (lambda x: mp.bessely(1, x), [ABOVE_ZERO], None),
    "dawsn": (dawson, [NOT_LARGE], 16),
    "spence": (lambda x: mp.re(mp.polylog(2, 1 - x)), [ABOVE_ZERO], 16),
    "expint": (mp.ei, [ABOVE_ZERO[np.abs(ABOVE_ZERO - 0.3725) > 0.02]], 16),
    "fresnel_cos": (mp.fresnelc, [NOT_LARGE], 16),
    "fresnel_sin": (mp.fresnels, [NOT_LARGE], 16),
    "igamma": (lambda a, x: mp.gammainc(a, 0, x, regularized=True), [FIRST, SECOND], 300),
    "igammac": (lambda a, x: mp.gammainc(a, x, mp.inf, regularized=True), [FIRST, SECOND], 300),
    "igamma_grad_a": (gamma_slope, [FIRST, SECOND], 3000),
    "zeta": (mp.zeta, [ORDER[:40], POLES_BETWEEN[:40]], 16),
    "polygamma": (lambda n, x: mp.polygamma(int(n), x), [np.floor(ORDER), POLES_BETWEEN], 400),
    "betainc": (lambda a, b, x: mp.betainc(a, b, 0, x, regularized=True),
                [FIRST, SECOND, FRACTION], 400),
}


def exact_values(function, arrays):
    with mp.workdps(60):
        return [function(*[mp.mpf(float(x)) for x in xs]) for xs in zip(*arrays)]


@pytest.mark.parametrize("name", sorted(CASES))
def test_float64(name):
    function, arrays, units = CASES[name]
    exact = exact_values(function, arrays)
    values = np.array([float(value) for value in exact])
    scale = np.spacing(np.maximum(np.abs(values), np.finfo("float64").tiny))
    if units is None:
        units, scale = 16, np.spacing(np.maximum(np.abs(values), 0.5))
    for got in (run(one_op(name, "float64", "float64", len(arrays)), *arrays),
                REAL_FUNCTIONS[name][1](*arrays)):
        with np.errstate(invalid="ignore"):
            error = np.array([float(mp.mpf(float(g)) - e) for g, e in zip(got, exact)])
            bad = np.abs(error) > units * scale
        bad &= np.isfinite(values) & (np.abs(values) > 1e-290)
        assert not bad.any(), [array[bad][:3] for array in arrays] + [error[bad][:3], values[bad]]


@pytest.mark.parametrize("name", sorted(CASES))
def test_float32_is_rounded_once(name):
    function, arrays, _ = CASES[name]
    arrays = [array.astype("float32") for array in arrays]
    values = np.array([float(value) for value in exact_values(function, arrays)])
    got = run(one_op(name, "float32", "float32", len(arrays)), *arrays)
    with np.errstate(over="ignore"):
        want = values.astype("float32")
    normal = np.isfinite(want) & (np.abs(want) > 1e-37)
    error = np.abs(got - values)[normal] / np.spacing(np.abs(want[normal]))
    assert error.max() < 0.52


@pytest.mark.parametrize("name", sorted(CASES))
def test_limits_are_those_of_the_meaning(name):
    edges = np.array(EDGES)
    if name == "betainc":  # the logarithms of its factors must be numbers
        edges = edges[np.abs(edges) < 1e3]
    grids = np.meshgrid(*[edges] * REAL_FUNCTIONS[name][0])
    arrays = [grid.ravel().astype("float32") for grid in grids]
    got = run(one_op(name, "float32", "float32", len(arrays)), *arrays)
    with np.errstate(all="ignore"):
        want = MAP_OPS[name].numpy(*arrays)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    np.testing.assert_array_equal(got[np.isinf(want)], want[np.isinf(want)])
