"""CPU kernels: compiled, run on one and several threads, compared with the loop interpreter."""
import kernel_samples as samples
import numpy as np
import pytest
from staged_samples import STAGED

from tf_autofuse.build import compile_host_kernel
from tf_autofuse.codegen.host import print_host, reused_inputs
from tf_autofuse.kernel.nest import build_nests
from tf_autofuse.kernel.text import kernel_key
from tf_autofuse.loop import interp
from tf_autofuse.loop.text import print_loop
from tf_autofuse.runtime.host import host_tiling, run_host
from tf_autofuse.schedule import schedule

BIG = 300000
PRODUCTS = samples.kernel(
    ["float32"] * 3, ["float32", "float32"], "m0 m1", "%0 = load in0 [m0, m1] : float32",
    "%1 = load in1 [m0, m1] : float32", "%2 = load in2 [m0, m1] : float32",
    "%3 = mul %0 %1 : float32 [m0, m1]", "%4 = sub %3 %2 : float32 [m0, m1]",
    "%5 = reduce.sum %3 over m1 : float32 [m0]", "%6 = reduce.max %4 over m1 : float32 [m0]",
    "store out0 [m0] %5", "store out1 [m0] %6")
KERNELS = {
    "pointwise": (samples.abs_relu_exp(), [(0,), (1,), (7,), (BIG,)]),
    "bfloat16": (samples.abs_relu_exp("bfloat16"), [(1000,)]),
    "float16": (samples.abs_relu_exp("float16"), [(1,), (511,), (512,), (1301,), (BIG,)]),
    "row": (samples.abs_add_relu("m1"), [(1, 1), (3, BIG // 10), (BIG // 10, 3), (0, 5)]),
    "column": (samples.abs_add_relu("m0"), [(1, 1), (33, 65)]),
    "ar": (samples.reduction("m0 m1", "m1", ("sum", "max")),
           [(1, 1), (7, BIG), (BIG, 3), (4, 0), (90, 8), (33, 13), (21, 63), (21, 64)]),
    "ra": (samples.reduction("m0 m1", "m0", ("sum", "min")),
           [(1, 1), (7, BIG), (BIG, 3), (0, 4), (8, 5), (9, 70), (31, 17)]),
    "full": (samples.reduction("m0", "m0", ("sum", "max", "prod")), [(1,), (BIG * 10,), (0,)]),
    "products": (PRODUCTS, [(90, 8), (64, 2), (131, 5), (33, 13), (7, 1)]),
    "narrow": (samples.reduction("m0 m1", "m1", ("max", "min"), "float16"), [(5, 999)]),
    "ara": (samples.reduction("m0 m1 m2", "m1"), [(3, 1000, 200), (2, 5, 3000)]),
    "rar": (samples.reduction("m0 m1 m2", "m0 m2", ("sum", "max", "min")),
            [(1000, 3, 100), (1000, 3, 7), (4, 5, 8), (30000, 2, 19), (9, 2, 64), (0, 2, 9)]),
    "rar_narrow": (samples.reduction("m0 m1 m2", "m0 m2", ("max", "min"), "bfloat16"),
                   [(70, 3, 21)]),
    "int": (samples.reduction("m0 m1", "m1", ("sum", "max", "prod"), "int32"),
            [(9, 1000), (9, 23)]),
    "softmax": (samples.softmax("m1"), [(1, 1), (3, BIG), (500, 40), (90, 10)]),
    "softmax_columns": (samples.softmax("m0"), [(BIG, 3), (40, 2500)]),
    "softmax_full": (samples.softmax("m0 m1"), [(BIG, 3)]),
    "three_nests": (samples.bias_gradient_and_loss(), [(1000, 300), (1, 1)]),
}
KERNELS.update(
    (name, (loop, [(70, 3, 90)] if len(loop.axes) > 2 else [(1000, 300), (1, 1), (40, 7), (0, 5)]))
    for name, loop in STAGED.items())


def build(loop):
    kernel = schedule(loop)
    return compile_host_kernel(print_host(kernel), key=kernel_key(kernel))


def text_of(loop):
    return print_host(schedule(loop))


def run(loop, shape, threads=1, narrow=(), inputs=None):
    """Outputs of the compiled kernel and of the interpreter."""
    sizes = samples.sizes_of(loop, *shape)
    made, strides = samples.make_inputs(loop, sizes, narrow)
    inputs = made if inputs is None else inputs
    want = interp.run(loop, inputs, sizes)
    outputs = [(w.shape, p.dtype) for w, p in zip(want, loop.outputs)]
    return run_host(build(loop), inputs, list(shape), strides, outputs, threads), want


@pytest.mark.parametrize("name", sorted(KERNELS))
@pytest.mark.parametrize("threads", [1, 4])
def test_host_kernel_agrees_with_interpreter(name, threads):
    loop, shapes = KERNELS[name]
    for shape in shapes:
        got, want = run(loop, shape, threads)
        for have, expected, param in zip(got, want, loop.outputs):
            # Differences of rounded statistics: what is near zero has their absolute error.
            samples.assert_close(have, expected, param.dtype, 5e-7,
                                 5e-7 if name in STAGED else None)


def test_what_several_inputs_give_is_turned_once():
    assert text_of(PRODUCTS).count("turn_rows(flat") == 2
    assert "turn_rows(in" not in text_of(PRODUCTS)
    assert "turn_rows(in0" in text_of(samples.reduction("m0 m1", "m1", ("max",)))


@pytest.mark.parametrize("narrow", [(), (1,), (2,), (1, 2)])
def test_run_time_broadcast(narrow):
    got, want = run(samples.run_time_broadcast(), (33, 70), 2, narrow)
    for have, expected in zip(got, want):
        np.testing.assert_array_equal(have, expected)


def test_sums_are_within_one_unit():
    """Sums of float32 accumulate wide: the result is the rounded exact sum up to one unit."""
    loop = samples.reduction("m0 m1", "m1")
    x = np.random.RandomState(1).uniform(0, 1e4, (5, 100003)).astype(np.float32)
    (got,), _ = run(loop, x.shape, inputs=[x])
    exact = np.abs(x).astype(np.float64).sum(axis=1)
    assert np.all(np.abs(got - exact) <= np.spacing(exact.astype(np.float32)))


@pytest.mark.parametrize("over", ["m0", "m1", "m0 m1"])
@pytest.mark.parametrize("threads", [1, 4])
def test_nan_wins_maximum_and_minimum(over, threads):
    loop = samples.reduction("m0 m1", over, ("max", "min"))
    x = np.ones((2000, 60), np.float32)
    x[1234, 17] = np.nan
    got, want = run(loop, x.shape, threads, inputs=[x])
    for have, expected in zip(got, want):
        assert np.isnan(have).sum() == 1
        np.testing.assert_array_equal(have, expected)


@pytest.mark.parametrize("shape", [(7, 5), (70, 5), (3, 1000), (2, BIG)])
@pytest.mark.parametrize("keep", [False, True])
def test_softmax_computes_exp_once(shape, keep):
    """The numerators wait in the memory of the result, unless another store writes them:
    that one must not depend on which store comes first."""
    softmax = samples.softmax("m1")
    stores = ["store out1 [m0, m1] %3"] if keep else []
    lines = [line.strip() for line in print_loop(softmax).splitlines()]
    lines = [line for line in lines if line.startswith(("%", "store"))] + stores
    loop = samples.kernel(["float32"], ["float32"] * (1 + keep), "m0 m1", *lines)
    text = print_host(schedule(loop))
    assert text.count("math_exp(") == (6 if keep else 3)  # two forms for short rows
    for threads in (1, 4):
        got, want = run(loop, shape, threads)
        for have, expected in zip(got, want):
            samples.assert_close(have, expected, "float32", 5e-7)


def test_rows_side_by_side():
    """Rows of a few elements: the same numbers as one row after the other."""
    rng = np.random.RandomState(4)
    loops = [samples.softmax("m1"), samples.layer_norm("float16"),
             samples.reduction("m0 m1", "m1", ("sum", "max", "min", "prod")),
             samples.reduction("m0 m1", "m1", ("max", "sum"), "int32"),
             samples.reduction("m0 m1", "m1", ("max",), "bfloat16")]
    for loop in loops:
        assert "SIDE_ROWS" in print_host(schedule(loop))
        for rows, columns in ((1, 5), (16, 1), (33, 2), (100, 7), (40, 15), (50, 16), (33, 0),
                              (32, 4), (70, 8), (64, 9)):
            dtype = loop.inputs[0].dtype
            if dtype != "float32":
                got, want = run(loop, (rows, columns))
            else:
                x = rng.randn(rows, columns).astype("float32")
                for place, special in zip(range(0, x.size, 37), (np.nan, np.inf, -np.inf, -0.0)):
                    x.flat[place] = special
                got, want = run(loop, (rows, columns), inputs=[x])
            for have, expected in zip(got, want):
                samples.assert_close(have, expected, str(expected.dtype), 1e-6)


def test_short_rows_are_added_up_as_they_lie():
    """Sums of products, of costly values (up to 15 columns) and of rows themselves."""
    sums = ["%3 = reduce.sum %2 over m1 : float32 [m0]", "store out0 [m0] %3",
            "%4 = reduce.mean %0 over m1 : float32 [m0]", "store out1 [m0] %4"]
    rng = np.random.RandomState(4)
    for op in ("mul %0 %1", "exp %0"):
        lines = ["%{0} = load in{0} [m0, m1] : float32".format(n) for n in range(2)]
        loop = samples.kernel(["float32"] * 2, ["float32"] * 2, "m0 m1", *(
            lines + ["%2 = {} : float32 [m0, m1]".format(op)] + sums))
        assert "add_rows(flat2, " in print_host(schedule(loop))
        for columns in (*range(18), 31, 63, 64, 127, 128):
            x, y = rng.randn(2, 97, columns).astype("float32")
            for place, special in zip(range(0, x.size, 371), (np.nan, np.inf, -np.inf)):
                x.flat[place] = special
            got, want = run(loop, x.shape, inputs=[x, y])
            for have, expected in zip(got, want):
                samples.assert_close(have, expected, "float32", 1e-6)


def test_rows_that_are_vectors():
    """Rows of eight elements go one after the other, with what belongs to rows and columns."""
    loop = samples.kernel(
        ["float32"] * 3, ["float32"] * 3, "m0 m1", "%0 = load in0 [m0, m1] : float32",
        "%1 = load in1 [m0] : float32", "%2 = load in2 [m1] : float32",
        "%3 = mul %0 %2 : float32 [m0, m1]", "%4 = add %3 %1 : float32 [m0, m1]",
        "%5 = reduce.max %4 over m1 : float32 [m0]", "%6 = sub %4 %5 : float32 [m0, m1]",
        "%7 = reduce.mean %6 over m1 : float32 [m0]", "%8 = abs %7 : float32 [m0]",
        "%9 = sub %6 %8 : float32 [m0, m1]", "store out0 [m0, m1] %9", "store out1 [m0] %8",
        "store out2 [m0, m1] %6")
    assert "ROWS_ARE_VECTORS" in text_of(loop)
    rng = np.random.RandomState(4)
    for rows in (31, 32, 100):
        inputs = [rng.randn(*shape).astype("float32") for shape in ((rows, 8), (rows,), (8,))]
        for place, special in zip(range(0, 8 * rows, 51), (np.nan, np.inf, -np.inf)):
            inputs[0].flat[place] = special
        with np.errstate(invalid="ignore"):
            got, want = run(loop, (rows, 8), inputs=inputs)
        for have, expected in zip(got, want):
            samples.assert_close(have, expected, "float32", 1e-6)


@pytest.mark.parametrize("place", [(0, 0, 0), (70, 1, 7), (1999, 2, 10)])
def test_nan_in_a_lane_and_behind_the_lanes(place):
    loop = samples.reduction("m0 m1 m2", "m0 m2", ("max", "min", "sum"))
    x = np.random.RandomState(2).randn(2000, 3, 11).astype(np.float32)
    x[place] = np.nan
    x[3, :, 2] = np.inf
    one, want = run(loop, x.shape, 1, inputs=[x])
    four, _ = run(loop, x.shape, 4, inputs=[x])
    for have, again, expected in zip(one, four, want):
        assert np.isnan(have).sum() == 1
        np.testing.assert_array_equal(have, expected)
        np.testing.assert_array_equal(have, again)


def test_short_rows_are_summed_alike_by_any_number_of_threads():
    loop = samples.reduction("m0 m1 m2", "m0 m2")
    x = np.random.RandomState(2).randn(30000, 2, 19).astype(np.float32)
    (one,), _ = run(loop, x.shape, 1, inputs=[x])
    for threads in (2, 3, 4):
        (have,), _ = run(loop, x.shape, threads, inputs=[x])
        np.testing.assert_array_equal(have, one)


def test_a_long_reduction_is_cut_for_threads():
    """One full reduction gives work to several threads: partial results, then one that joins."""
    tiling = host_tiling(build(samples.reduction("m0", "m0")), [BIG * 10], 4)
    assert tiling.phases == 2
    assert tiling.blocks[0] > 1
    assert tiling.workspace_bytes > 0


def test_nothing_to_write_needs_no_phase():
    assert host_tiling(build(samples.abs_relu_exp()), [0], 4).phases == 0


def test_wrong_number_of_sizes_is_refused():
    from tf_autofuse.runtime.host import KernelRunError

    with pytest.raises(KernelRunError):
        host_tiling(build(samples.abs_relu_exp()), [1, 2], 1)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("shape", [(5, 70), (3, 5000), (1, 1), (0, 4), (4, 0)])
def test_costly_math_of_a_row_is_computed_once_a_block(dtype, shape):
    """Batch normalisation in inference: the scale of a channel is held while rows go by."""
    loop = samples.kernel(
        [dtype] * 2, [dtype], "m0 m1", "%0 = load in0 [m1] : " + dtype,
        "%1 = cast %0 : float32 [m1]", "%2 = sigmoid %1 : float32 [m1]",
        "%3 = mul %2 %2 : float32 [m1]", "%4 = cast %3 : {} [m1]".format(dtype),
        "%5 = load in1 [m0, m1] : " + dtype, "%6 = max %5 %4 : {} [m0, m1]".format(dtype),
        "store out0 [m0, m1] %6")
    text = print_host(schedule(loop))
    assert text.index("_sigmoid(") < text.index("for (int64_t o ")
    got, want = run(loop, shape, 2)
    samples.assert_close(got[0], want[0], dtype, 5e-7)


@pytest.mark.parametrize("loop, reused", [
    (samples.abs_relu_exp("float16"), {0: 0}),
    (samples.abs_add_relu("m1"), {0: 0}),
    (samples.run_time_broadcast(), {0: 0}),
    (samples.softmax("m1"), {}),
    (samples.kernel(["int32", "float32"], ["float32", "float32"], "m0 m1",
                    "%0 = load in0 [m0, m1] : int32", "%1 = load in1 [m0, m1] : float32",
                    "%2 = cast %0 : float32 [m0, m1]", "%3 = add %1 %2 : float32 [m0, m1]",
                    "store out0 [m0, m1] %2", "store out1 [m0, m1] %3"), {0: 1}),
])
def test_inputs_whose_memory_an_output_may_take(loop, reused):
    assert reused_inputs(loop, build_nests(loop)) == reused
    assert ("autofuse_reused" in print_host(schedule(loop))) == bool(reused)


def test_memory_is_asked_for_the_next_row_while_one_is_computed():
    """By the first pass behind the one that reads it, if that computes functions."""
    loop = samples.softmax("m1")
    assert text_of(loop).count("__builtin_prefetch(in0 ") == 1
    for other in (samples.softmax("m0"), samples.layer_norm("float32"), samples.abs_relu_exp()):
        assert "__builtin_prefetch" not in text_of(other)
    rng = np.random.RandomState(6)
    for shape in ((5, 511), (5, 512), (7, 1025), (2, 20000), (1, 600)):
        x = rng.randn(*shape).astype("float32")
        for threads in (1, 3):
            got, want = run(loop, shape, threads=threads, inputs=[x])
            samples.assert_close(got[0], want[0], "float32", 1e-6)
