"""Elementary functions of one loop that follow each other."""
import kernel_samples as samples
import numpy as np
import pytest
from scalar_kernels import run

from tf_autofuse.codegen.host import print_nests
from tf_autofuse.codegen.host_signs import logs_of_fractions
from tf_autofuse.kernel.nest import build_nests
from tf_autofuse.loop import interp

SELECTED = ("%1 = const 0.0 : float32", "%2 = ge %0 %1 : bool [m0]", "%3 = neg %0 : float32 [m0]",
            "%4 = select %2 %3 %0 : float32 [m0]")
NEGATED = ("%3 = abs %0 : float32 [m0]", "%4 = neg %3 : float32 [m0]")
ANY = ("%4 = neg %0 : float32 [m0]",)


def log_of_one_and_power(exponent):
    """log1p(exp(%4))."""
    return samples.kernel(
        ["float32"], ["float32"], "m0", "%0 = load in0 [m0] : float32", *exponent,
        "%5 = exp %4 : float32 [m0]", "%6 = log1p %5 : float32 [m0]", "store out0 [m0] %6")


@pytest.mark.parametrize("exponent, short", [(SELECTED, True), (NEGATED, True), (ANY, False)])
def test_logarithm_of_one_and_a_power(exponent, short):
    loop = log_of_one_and_power(exponent)
    assert bool(logs_of_fractions(loop)) is short
    rng = np.random.RandomState(3)
    x = np.concatenate([
        [0.0, -0.0, np.nan, np.inf, -np.inf, 1e-30, 88.0, -88.0, 120.0],
        rng.uniform(-1, 1, 60000), rng.uniform(-90, 80, 20000)]).astype("float32")
    got = run(loop, x)
    want = interp.run(loop, [x], {"m0": len(x)})[0]
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    np.testing.assert_array_equal(np.isinf(got), np.isinf(want))
    # Of e^x this is the logarithm alone: e^x is one unit off, and the logarithm another one.
    normal = np.isfinite(want) & (want > 1.2e-38)
    assert np.max(np.abs(got[normal] - want[normal]) / np.spacing(want[normal])) <= 2.5


def test_the_first_of_two_functions_has_a_loop_of_its_own():
    loop = log_of_one_and_power(SELECTED)
    text = print_nests(loop, build_nests(loop))
    first, second = text.index("exp_to_one("), text.index("log1p_of_fraction(")
    assert "}" in text[first:second] and text.count("staged") == 3


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("size", [1, 511, 513, 5000])
def test_three_functions_in_a_row_and_a_value_that_two_of_them_read(dtype, size):
    loop = samples.kernel(
        [dtype], [dtype], "m0",
        "%0 = load in0 [m0] : " + dtype, "%1 = cast %0 : float32 [m0]",
        "%2 = tanh %1 : float32 [m0]", "%3 = exp %2 : float32 [m0]",
        "%4 = add %3 %2 : float32 [m0]", "%5 = sigmoid %4 : float32 [m0]",
        "%6 = mul %5 %3 : float32 [m0]", "%7 = cast %6 : {} [m0]".format(dtype),
        "store out0 [m0] %7")
    x = np.random.RandomState(size).randn(size).astype(dtype)
    x[::50] = np.nan
    x[1::70] = -np.inf
    got = run(loop, x)
    want = interp.run(loop, [x], {"m0": size})[0]
    np.testing.assert_allclose(got, want, rtol=1e-3 if dtype == "float16" else 5e-7)
