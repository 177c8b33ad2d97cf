"""Elementary functions of results that have only the bits of a narrow float."""
import kernel_samples as samples
import numpy as np
import pytest
from scalar_kernels import run

from tf_autofuse.codegen.host_rough import ROUGH_FUNCTIONS, rough_values
from tf_autofuse.loop.functions import REAL_FUNCTIONS


def narrow_kernel(op, dtype, *more):
    """dtype(op(float32(in0))), with `more` lines before the store of %2."""
    return samples.kernel(
        [dtype], [dtype], "m0",
        "%0 = load in0 [m0] : " + dtype,
        "%1 = cast %0 : float32 [m0]",
        "%2 = {} %1 : float32 [m0]".format(op),
        *(more or ("%3 = cast %2 : {} [m0]".format(dtype), "store out0 [m0] %3")))


@pytest.mark.parametrize("op", sorted(ROUGH_FUNCTIONS))
def test_every_float16_is_within_a_little_more_than_half_a_unit(op):
    loop = narrow_kernel(op, "float16")
    assert rough_values(loop) == {"2"}
    x = np.arange(65536, dtype=np.uint16).view(np.float16)
    got = run(loop, x)
    with np.errstate(all="ignore"):
        exact = REAL_FUNCTIONS[op][1](x.astype(np.float64))
        want = exact.astype(np.float16)
        unit = np.spacing(np.abs(want)).astype(np.float64)
    finite = np.isfinite(want)
    np.testing.assert_array_equal(got[~finite], want[~finite])
    np.testing.assert_array_equal(np.signbit(got[finite]), np.signbit(want[finite]))
    error = np.abs(got[finite].astype(np.float64) - exact[finite]) / unit[finite]
    assert error.max() <= 0.52, x[finite][error.argmax()]


@pytest.mark.parametrize("op", sorted(ROUGH_FUNCTIONS))
def test_bfloat16_over_its_whole_range(op):
    x = (np.arange(65536, dtype=np.uint32) << 16).view(np.float32)
    got = (run(narrow_kernel(op, "bfloat16"), (x.view(np.uint32) >> 16).astype(np.uint16))
           .astype(np.uint32) << 16).view(np.float32)
    with np.errstate(all="ignore"):
        exact = REAL_FUNCTIONS[op][1](x.astype(np.float64))
    np.testing.assert_array_equal(np.isnan(got), np.isnan(exact))
    normal = np.isfinite(exact) & (np.abs(exact) > 1e-37) & (np.abs(exact) < 3e38)
    error = np.abs(got[normal] - exact[normal]) / np.abs(exact[normal])
    assert error.max() <= 0.51 * 2.0 ** -7
    assert np.all(got[exact > 4e38] == np.inf)
    assert np.all(np.abs(got[np.abs(exact) < 1e-39]) < 1.2e-38)


@pytest.mark.parametrize("lines, rough", [
    (("%3 = mul %2 %1 : float32 [m0]", "%4 = cast %3 : float16 [m0]", "store out0 [m0] %4"), True),
    (("%3 = sub %2 %1 : float32 [m0]", "%4 = cast %3 : float16 [m0]", "store out0 [m0] %4"), False),
    (("%3 = mul %2 %1 : float32 [m0]", "%4 = add %2 %3 : float32 [m0]",
      "%5 = cast %4 : float16 [m0]", "store out0 [m0] %5"), False),
    (("%3 = reduce.sum %2 over m0 : float32 []", "%4 = cast %3 : float16 []",
      "store out0 [] %4"), False),
])
def test_a_difference_or_a_sum_needs_all_bits(lines, rough):
    assert bool(rough_values(narrow_kernel("tanh", "float16", *lines))) is rough
