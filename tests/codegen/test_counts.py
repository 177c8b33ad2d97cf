"""Numbers of elements that only the run time knows, through every layer."""
import numpy as np
import pytest
from kernel_forms import run_all
from kernel_samples import kernel


def loss(*over):
    """Sum of x - y by a number of elements, and its gradient; y may be broadcast."""
    return kernel(
        ["float32", "float32"], ["float32", "float32"], "m0 m1",
        "%0 = load in0 [m0, m1] : float32",
        "%1 = load in1 [m0?, m1] : float32",
        "%2 = sub %0 %1 : float32 [m0, m1]",
        "%3 = reduce.sum %2 over m0 m1 : float32 []",
        "%4 = count {} : int32".format(" ".join(over)),
        "%5 = cast %4 : float32 []",
        "%6 = div %3 %5 : float32 []",
        "%7 = div %2 %5 : float32 [m0, m1]",
        "store out0 [] %6",
        "store out1 [m0, m1] %7",
    )


@pytest.mark.parametrize("rows", [1, 3, 40])
@pytest.mark.parametrize("over", [("m0",), ("m0", "m1")])
def test_results_by_a_count(rows, over):
    rng = np.random.RandomState(rows)
    for other in (rows, 1):
        shapes = [(rows, 33), (other, 33)]
        numbers = {n: rng.randint(-9, 10, shape).astype("f4") for n, shape in enumerate(shapes)}
        run_all(loss(*over), shapes, numbers)


def test_wide_counts():
    """int64, as a shape of that type gives it."""
    run_all(kernel(
        ["float32"], ["float32"], "m0", "%0 = load in0 [m0] : float32", "%1 = count m0 : int64",
        "%2 = cast %1 : float32 []", "%3 = mul %0 %2 : float32 [m0]", "store out0 [m0] %3"), [(7,)])
