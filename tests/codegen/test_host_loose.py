"""Elementary functions of operands that were rounded before (csrc/host/loose_math.h)."""
import kernel_samples as samples
import numpy as np
import pytest
from scalar_kernels import EDGES, run

from tf_autofuse.codegen.host import print_nests
from tf_autofuse.codegen.host_loose import loose_values
from tf_autofuse.kernel.nest import build_nests
from tf_autofuse.loop.functions import REAL_FUNCTIONS

# The largest errors of TensorFlow 2.21, in units, up to these arguments.
LARGEST = {
    "tanh": [(0.1, 2.06), (0.5, 2.49), (1.0, 2.69), (2.0, 3.46), (4.0, 4.40), (9.1, 6.14)],
    "erf": [(0.1, 3.51), (0.5, 3.53), (1.0, 2.85), (2.0, 4.91), (4.0, 7.44)],
    "erfc": [(1.0, 8.01), (4.0, 8.00), (9.19, 63.0)],
}


def of_product(op, factor="1.5"):
    """op(in0 * factor)."""
    return samples.kernel(
        ["float32"], ["float32"], "m0", "%0 = load in0 [m0] : float32",
        "%1 = const {} : float32".format(factor), "%2 = mul %0 %1 : float32 [m0]",
        "%3 = {} %2 : float32 [m0]".format(op), "store out0 [m0] %3")


@pytest.mark.parametrize("op", sorted(LARGEST))
def test_errors_are_at_most_those_of_tensorflow(op):
    """Every 997th float, and every 7th one from 1/4 to 4."""
    last = int(np.float32(LARGEST[op][-1][0] / 1.5).view(np.uint32))
    bits = np.concatenate([np.arange(0, last, 997), np.arange(0x3e800000, 0x40800000, 7)])
    a = bits[bits < last].astype(np.uint32).view(np.float32)
    x = np.concatenate([a, -a])
    y = x * np.float32(1.5)
    got, exact = run(of_product(op), x).astype(float), REAL_FUNCTIONS[op][1](y.astype(float))
    error = np.abs(got - exact) / np.spacing(np.abs(exact).astype(np.float32)).astype(float)
    error[np.abs(exact) < 2.0 ** -126] = 0
    low = 0.0
    for high, units in LARGEST[op]:
        part = (np.abs(y) >= low) & (np.abs(y) < high)
        assert error[part].max() <= units, (high, y[part][error[part].argmax()])
        low = high
    assert op == "erfc" or np.abs(got).max() <= 1


@pytest.mark.parametrize("op", sorted(LARGEST))
def test_special_values(op):
    payload = np.array([0x7fc00001, 0xffc12345], np.uint32).view(np.float32)
    x = np.concatenate([np.array(EDGES + [1e-40, 3e38, 1e10, 6.2, -6.2], np.float32), payload])
    with np.errstate(all="ignore"):
        want = REAL_FUNCTIONS[op][1]((x * np.float32(1.5)).astype(float)).astype(np.float32)
    got = run(of_product(op), x)
    np.testing.assert_allclose(got, want, rtol=7e-7, atol=2.0 ** -126)
    number = ~np.isnan(want)
    np.testing.assert_array_equal(np.signbit(got[number]), np.signbit(want[number]))


@pytest.mark.parametrize("lines, loose", [
    (("%4 = add %0 %1 : float32 [m0]",), True),
    (("%3 = add %0 %1 : float32 [m0]", "%4 = neg %3 : float32 [m0]"), True),
    (("%2 = const 0.5 : float32", "%4 = mul %0 %2 : float32 [m0]"), False),
    (("%2 = const 0.7 : float32", "%4 = mul %0 %2 : float32 [m0]"), True),
    (("%3 = lt %0 %1 : bool [m0]", "%4 = select %3 %0 %1 : float32 [m0]"), False),
    (("%3 = abs %0 : float32 [m0]", "%4 = max %3 %1 : float32 [m0]"), False),
])
def test_only_of_an_operand_that_was_rounded(lines, loose):
    loop = samples.kernel(
        ["float32", "float32"], ["float32"], "m0", "%0 = load in0 [m0] : float32",
        "%1 = load in1 [m0] : float32", *lines, "%5 = tanh %4 : float32 [m0]",
        "store out0 [m0] %5")
    assert loose_values(loop) == ({"5"} if loose else frozenset())
    text = print_nests(loop, build_nests(loop))
    assert ("loose_tanh(staged" in text) is loose and ("run_tanh(staged" in text) is not loose
