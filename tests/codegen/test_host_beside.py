"""Kept points whose elements lie between each other's, as the groups of a normalization."""
import kernel_samples as samples
import numpy as np
import pytest

from tf_autofuse.build import compile_host_kernel
from tf_autofuse.codegen.host import print_nests
from tf_autofuse.kernel.nest import build_nests
from tf_autofuse.loop import interp
from tf_autofuse.runtime.host import host_tiling, run_host


def centered(dtype):
    """x - mean(x) and the largest x, of groups m2."""
    return samples.kernel(
        [dtype], [dtype, dtype], "m0 m1 m2 m3", "%0 = load in0 [m0, m1, m2, m3] : " + dtype,
        "%1 = cast %0 : float32 [m0, m1, m2, m3]",
        "%2 = reduce.mean %1 over m1 m3 : float32 [m0, m2]",
        "%3 = sub %1 %2 : float32 [m0, m1, m2, m3]",
        "%4 = cast %3 : {} [m0, m1, m2, m3]".format(dtype),
        "%5 = reduce.max %0 over m1 m3 : {} [m0, m2]".format(dtype),
        "store out0 [m0, m1, m2, m3] %4", "store out1 [m0, m2] %5")


def normalized():
    """(x - mean) * rsqrt(variance + 1) * gamma + beta of groups m2, and their largest x."""
    return samples.kernel(
        ["float32"] * 3, ["float32"] * 2, "m0 m1 m2 m3",
        "%0 = load in0 [m0, m1, m2, m3] : float32",
        "%1 = reduce.mean %0 over m1 m3 : float32 [m0, m2]",
        "%2 = sub %0 %1 : float32 [m0, m1, m2, m3]", "%3 = mul %2 %2 : float32 [m0, m1, m2, m3]",
        "%4 = reduce.mean %3 over m1 m3 : float32 [m0, m2]", "%5 = const 1.0 : float32",
        "%6 = add %4 %5 : float32 [m0, m2]", "%7 = rsqrt %6 : float32 [m0, m2]",
        "%8 = load in1 [m2, m3] : float32", "%9 = mul %7 %8 : float32 [m0, m2, m3]",
        "%10 = mul %2 %9 : float32 [m0, m1, m2, m3]", "%11 = load in2 [m2, m3] : float32",
        "%12 = add %10 %11 : float32 [m0, m1, m2, m3]",
        "%13 = reduce.max %0 over m1 m3 : float32 [m0, m2]",
        "store out0 [m0, m1, m2, m3] %12", "store out1 [m0, m2] %13")


def softmax_of_groups():
    """exp(x) / sum(exp(x)) of groups m2: the exponentials wait where the result goes."""
    return samples.kernel(
        ["float32"], ["float32"], "m0 m1 m2 m3",
        "%0 = load in0 [m0, m1, m2, m3] : float32", "%1 = exp %0 : float32 [m0, m1, m2, m3]",
        "%2 = reduce.sum %1 over m1 m3 : float32 [m0, m2]",
        "%3 = div %1 %2 : float32 [m0, m1, m2, m3]", "store out0 [m0, m1, m2, m3] %3")


def library_of(loop):
    return compile_host_kernel(print_nests(loop, build_nests(loop)), key="beside")


@pytest.mark.parametrize("dtype", ["float16", "float64"])
@pytest.mark.parametrize("threads", [1, 3])
def test_groups_agree_with_the_interpreter(dtype, threads):
    loop = centered(dtype)
    assert "at_once" in print_nests(loop, build_nests(loop))
    for shape in [(2, 3000, 8, 8), (3, 1100, 5, 7), (1, 9000, 2, 3), (2, 40, 4, 70), (2, 3, 4, 1)]:
        sizes = samples.sizes_of(loop, *shape)
        inputs, strides = samples.make_inputs(loop, sizes, ())
        want = interp.run(loop, inputs, sizes)
        outputs = [(w.shape, dtype) for w in want]
        got = run_host(library_of(loop), inputs, list(shape), strides, outputs, threads)
        for have, expected in zip(got, want):
            samples.assert_close(have, expected, dtype, 1e-6, 1e-6)


@pytest.mark.parametrize("loop", [normalized(), softmax_of_groups()], ids=["norm", "softmax"])
def test_all_groups_of_a_block_at_once(loop):
    text = print_nests(loop, build_nests(loop))
    assert ("at_once" in text) == (len(loop.inputs) == 3)
    library = library_of(loop)
    for shape in [(2, 3000, 8, 8), (1, 5000, 3, 5), (3, 700, 32, 64), (1, 500, 32, 70),
                  (2, 5, 3, 2), (5, 300, 4, 3), (1, 2200, 16, 1), (2, 0, 4, 4), (2, 4000, 8, 0)]:
        inputs, strides = samples.make_inputs(loop, samples.sizes_of(loop, *shape), ())
        if inputs[0].size > 20000:
            inputs[0].reshape(-1)[12345] = np.inf if len(loop.inputs) == 1 else np.nan
        with np.errstate(all="ignore"):
            want = interp.run(loop, inputs, samples.sizes_of(loop, *shape))
        outputs = [(w.shape, "float32") for w in want]
        for threads in (1, 2):
            got = run_host(library, inputs, list(shape), strides, outputs, threads)
            for have, expected in zip(got, want):
                samples.assert_close(have, expected, "float32", 2e-6, 2e-6)


@pytest.mark.parametrize("shape, blocks", [
    ((2, 3000, 8, 8), 2 * 6),  # pieces of 512 rows
    ((1, 10 ** 6, 8, 8), 256),  # every piece joins what all of them found
    ((2, 500, 8, 8), 2 * 2),  # the cache keeps an image: two halves
    ((2, 255, 8, 8), 1),  # a few rows
    ((2, 3000, 8, 300), 1),  # every group has lines of its own
    ((2, 3000, 100, 8), 1),  # too many groups
])
def test_how_much_goes_through_the_cache_at_a_time(shape, blocks):
    tiling = host_tiling(library_of(centered("float32")), list(shape), 1)
    assert tiling.blocks[0] == blocks


def test_nothing_is_brought_for_points_that_lie_apart():
    assert "bring(" in print_nests(centered("float32"), build_nests(centered("float32")))
    for axes, over in (("m0 m1", "m1"), ("m0 m1", "m0"), ("m0 m1 m2", "m1")):
        loop = samples.reduction(axes, over)
        assert "bring(" not in print_nests(loop, build_nests(loop))
    assert np.all([not nest.beside for nest in build_nests(samples.softmax("m0"))])
