"""Mean and variance in one walk: as accurate as two, and exact where nothing varies."""
import kernel_samples as samples
import numpy as np
import pytest

from tf_autofuse.build import compile_host_kernel
from tf_autofuse.codegen.host import print_nests
from tf_autofuse.codegen.host_moments import join_moments
from tf_autofuse.kernel.nest import build_nests
from tf_autofuse.runtime.host import run_host


def moments(over, op="mean", factor="%2"):
    """out0 = mean, out1 = sum or mean of (mean - x)^2, or of (mean - x) times `factor`."""
    kept = [axis for axis in ("m0", "m1") if axis not in over.split()]
    kept = "[%s]" % ", ".join(kept)
    return samples.kernel(
        ["float32"], ["float32", "float32"], "m0 m1",
        "%0 = load in0 [m0, m1] : float32",
        "%1 = reduce.mean %0 over " + over + " : float32 " + kept,
        "%2 = sub %1 %0 : float32 [m0, m1]",
        "%3 = mul %2 " + factor + " : float32 [m0, m1]",
        "%4 = reduce." + op + " %3 over " + over + " : float32 " + kept,
        "store out0 " + kept + " %1", "store out1 " + kept + " %4")


def run(loop, x, over, threads=1):
    shape = tuple(n for axis, n in zip(("m0", "m1"), x.shape) if axis not in over.split())
    library = compile_host_kernel(print_nests(loop, build_nests(loop)), key="moments")
    return run_host(library, [x], list(x.shape), None, [(shape, "float32")] * 2, threads)


OVER = {"m0": 0, "m1": 1, "m0 m1": (0, 1)}


@pytest.mark.parametrize("over", sorted(OVER))
@pytest.mark.parametrize("op", ["mean", "sum"])
def test_one_walk_is_accurate(over, op):
    loop = moments(over, op)
    assert join_moments(loop)[1] == {"4": "1"}
    rng = np.random.RandomState(5)
    spread = rng.randn(3000, 37)
    outlier = spread.copy()
    outlier[0], outlier[:, 0] = 1e4, -1e4
    for x in (spread, spread[:40].T, spread + 1000, spread * 1e-6 + 3, outlier, spread[:1]):
        x = np.ascontiguousarray(x, np.float32)
        for threads in (1, 4):
            mean, variance = run(loop, x, over, threads)
            wide = x.astype(np.float64)
            want = wide.var(OVER[over])
            if op == "sum":
                want = want * (x.size / max(1, want.size))
            np.testing.assert_allclose(mean, wide.mean(OVER[over]), rtol=1.2e-7, atol=1e-12)
            np.testing.assert_allclose(variance, want, rtol=1.2e-7)


@pytest.mark.parametrize("over", sorted(OVER))
def test_values_that_do_not_vary(over):
    for value in (0.0, 0.1, -3e18, 7e-30):
        x = np.full((513, 9), value, np.float32)
        mean, variance = run(moments(over), x, over)
        assert np.all(mean == np.float32(value)) and np.all(variance == 0)


@pytest.mark.parametrize("over", sorted(OVER))
def test_nan_infinity_and_nothing(over):
    for place in (0, -1):
        for value, mean_is in ((np.nan, np.isnan), (np.inf, np.isposinf), (-np.inf, np.isneginf)):
            x = np.ones((70, 40), np.float32)
            x[place, place] = value
            mean, variance = run(moments(over), x, over)
            bad = () if over == "m0 m1" else place
            assert mean_is(mean[bad]) and np.isnan(variance[bad])
            assert over == "m0 m1" or (mean == 1).sum() == len(mean) - 1
    empty = np.ones((0 if "m0" in over else 4, 0 if "m1" in over else 4), np.float32)
    for result in run(moments(over), empty, over):
        assert np.all(np.isnan(result))


def test_another_product_takes_two_walks():
    loop = samples.layer_norm()
    assert join_moments(loop)[1]
    assert not join_moments(moments("m1", factor="%0"))[1]
    assert not join_moments(samples.softmax("m1"))[1]
