"""e^x of an operand that is known not to be above 0."""
import kernel_samples as samples
import numpy as np
import pytest
from scalar_kernels import one_op, run

from tf_autofuse.codegen.host_signs import powers_to_one


def power(dtype, *lines):
    """e^%4 in float32."""
    return samples.kernel(
        [dtype], [dtype], "m0", "%0 = load in0 [m0] : " + dtype, *lines,
        "%5 = exp %4 : float32 [m0]", "%6 = cast %5 : {} [m0]".format(dtype), "store out0 [m0] %6")


NEGATIVE = ("%1 = abs %0 : float32 [m0]", "%4 = neg %1 : float32 [m0]")
NARROW = ("%1 = abs %0 : float16 [m0]", "%2 = neg %1 : float16 [m0]",
          "%4 = cast %2 : float32 [m0]")


@pytest.mark.parametrize("lines, found", [
    (NEGATIVE, True),
    (("%1 = const 0.0 : float32", "%2 = max %0 %1 : float32 [m0]", "%4 = neg %2 : float32 [m0]"),
     True),
    (("%1 = const 1.0 : float32", "%2 = min %0 %1 : float32 [m0]", "%4 = neg %2 : float32 [m0]"),
     False),
    (("%1 = const 0.0 : float32", "%2 = ge %0 %1 : bool [m0]", "%3 = neg %0 : float32 [m0]",
      "%4 = select %2 %3 %0 : float32 [m0]"), True),
    (("%1 = const 0.0 : float32", "%2 = ge %0 %1 : bool [m0]", "%3 = neg %0 : float32 [m0]",
      "%4 = select %2 %0 %3 : float32 [m0]"), False),
    (("%4 = neg %0 : float32 [m0]",), False),
])
def test_which_operands_are_not_above_0(lines, found):
    assert powers_to_one(power("float32", *lines)) == ({"5"} if found else frozenset())


def test_powers_of_float32():
    """The results of the form for all operands; NaN may have any payload."""
    odd = np.array([0xffc00001, 0x7fc12345], np.uint32).view(np.float32)
    x = np.concatenate([
        [0.0, np.nan, np.inf, 1e-40, 87.336, 87.337, 87.4, 88.8, 103.0, 104.5, 1e30], odd,
        np.random.RandomState(2).uniform(0, 90, 50000)]).astype(np.float32)
    np.testing.assert_array_equal(run(power("float32", *NEGATIVE), x),
                                  run(one_op("exp", "float32", "float32"), -np.abs(x)))


def test_powers_of_every_float16():
    loop = power("float16", *NARROW)
    assert powers_to_one(loop)
    x = np.arange(65536, dtype=np.uint16).view(np.float16)
    with np.errstate(invalid="ignore"):
        exact = np.exp(-np.abs(x.astype(np.float64)))
    got = run(loop, x).astype(np.float64)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(exact))
    number = ~np.isnan(exact)
    unit = np.spacing(exact[number].astype(np.float16)).astype(np.float64)
    assert (np.abs(got[number] - exact[number]) / unit).max() <= 0.52
