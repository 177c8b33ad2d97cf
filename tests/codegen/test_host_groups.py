"""Rows that go into accumulators together, those shorter than a tile as if several were one."""
import kernel_samples as samples
import numpy as np
import pytest

from tf_autofuse.build import compile_host_kernel
from tf_autofuse.codegen.host import print_nests
from tf_autofuse.kernel.nest import build_nests
from tf_autofuse.kernel.stage import staged
from tf_autofuse.loop import interp
from tf_autofuse.runtime.host import host_tiling, run_host
from tf_autofuse.schedule import number_values

SHAPES = [(0, 5), (7, 0), (1, 1), (31, 3), (32, 3), (700, 1), (1000, 8), (129, 64), (517, 100),
          (40, 2047), (35, 2049), (20, 5000)]


def text_of(loop):
    return print_nests(loop, build_nests(loop))


def check(loop, inputs, shape, threads=1, rtol=1e-6):
    sizes = dict(zip(loop.sized_axes, shape))
    want = interp.run(loop, inputs, sizes)
    library = compile_host_kernel(text_of(loop), key="groups")
    strides = samples.make_inputs(loop, sizes, ())[1]
    types = [out.dtype for out in loop.outputs]
    outputs = [(w.shape, dtype) for w, dtype in zip(want, types)]
    got = run_host(library, inputs, list(shape), strides, outputs, threads)
    for have, expected, dtype in zip(got, want, types):
        samples.assert_close(have, expected, dtype, rtol, 1e-5)
        if dtype.startswith("float"):
            assert np.array_equal(np.signbit(have), np.signbit(expected))


def columns(dtype, ops):
    """Reductions of the columns of one matrix."""
    return samples.kernel(
        [dtype], [dtype] * len(ops), "m0 m1",
        "%0 = load in0 [m0, m1] : " + dtype,
        *["%{} = reduce.{} %0 over m0 : {} [m1]".format(n + 1, op, dtype)
          for n, op in enumerate(ops)],
        *["store out{} [m1] %{}".format(n, n + 1) for n in range(len(ops))])


@pytest.mark.parametrize("dtype, ops", [
    ("float32", ("sum", "max", "min")), ("float64", ("mean",)), ("int32", ("sum", "prod", "max")),
    ("float16", ("mean", "max")), ("bfloat16", ("sum",))])
def test_columns_of_any_length(dtype, ops):
    loop = columns(dtype, ops)
    assert "joined_rows" in text_of(loop)
    for shape in SHAPES:
        x = samples.random_array(np.random.RandomState(3), shape, dtype)
        check(loop, [x], shape)
        check(loop, [x], shape, threads=3)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, -0.0])
def test_single_values_reach_their_column(value):
    for at in (0, 8, 511, 519, 999):
        x = np.full((1000, 6), -0.0 if value == 0 else 1.0, np.float32)
        x[at, 4] = value
        with np.errstate(invalid="ignore"):
            check(columns("float32", ("sum", "max", "min")), [x], x.shape)


@pytest.mark.parametrize("layout, repeats", [("m1", True), ("m0", False)])
def test_what_repeats_in_every_row_lies_there_as_often(layout, repeats):
    """The sum over rows of (x - y) * x, with y for every column or for every row."""
    loop = samples.kernel(
        ["float32"] * 2, ["float32"], "m0 m1",
        "%0 = load in0 [m0, m1] : float32", "%1 = load in1 [{}] : float32".format(layout),
        "%2 = sub %0 %1 : float32 [m0, m1]", "%3 = mul %2 %0 : float32 [m0, m1]",
        "%4 = reduce.sum %3 over m0 : float32 [m1]", "store out0 [m1] %4")
    assert ("repeat(each1" in text_of(loop)) == repeats
    rng = np.random.RandomState(4)
    for shape in SHAPES:
        y = rng.rand(shape[1 if repeats else 0]).astype(np.float32)
        check(loop, [rng.rand(*shape).astype(np.float32) + 1, y], shape)


def test_rows_between_kept_points():
    """Rows of three axes: reduced along the first two, or along the middle one."""
    for over in ("m0 m1", "m1"):
        loop = samples.reduction("m0 m1 m2", over, ops=("sum", "max"))
        assert "joined_rows" in text_of(loop)
        for shape in ((3, 200, 5), (2, 40, 70), (1, 1, 1), (0, 4, 2), (5, 17, 300)):
            check(loop, [np.random.RandomState(5).randn(*shape).astype(np.float32)], shape)


def test_variances_of_a_few_columns():
    loop = samples.kernel(
        ["float32"], ["float32"], "m0 m1",
        "%0 = load in0 [m0, m1] : float32",
        "%1 = reduce.mean %0 over m0 : float32 [m1]", "%2 = sub %0 %1 : float32 [m0, m1]",
        "%3 = mul %2 %2 : float32 [m0, m1]", "%4 = reduce.mean %3 over m0 : float32 [m1]",
        "store out0 [m1] %4")
    assert "repeat(first4" in text_of(loop)
    for shape in ((900, 7), (130, 60), (16, 9)):
        x = np.random.RandomState(6).randn(*shape).astype(np.float32) + np.arange(shape[1])
        check(loop, [x.astype(np.float32)], shape, threads=2)


def rows_and_columns(dtype, ops):
    """Reductions of the rows, and sums of the columns, of x * x + y with y for every column."""
    lines = ["%{} = reduce.{} %3 over m1 : {} [m0]".format(n + 4, op, dtype)
             for n, op in enumerate(ops)]
    lines += ["store out{} [m0] %{}".format(n + 1, n + 4) for n in range(len(ops))]
    loop = samples.kernel(
        [dtype] * 2, [dtype] * (len(ops) + 1), "m0 m1",
        "%0 = load in0 [m0, m1] : " + dtype, "%1 = load in1 [m1] : " + dtype,
        "%2 = mul %0 %0 : {} [m0, m1]".format(dtype), "%3 = add %2 %1 : {} [m0, m1]".format(dtype),
        *lines, "%99 = reduce.sum %3 over m0 : {} [m1]".format(dtype), "store out0 [m1] %99")
    return number_values(staged(loop))


@pytest.mark.parametrize("dtype, ops", [
    ("float32", ("sum",)), ("float32", ("max", "mean", "min")), ("int32", ("sum", "max")),
    ("float64", ("sum",))])
def test_rows_and_columns_of_one_walk(dtype, ops):
    loop = rows_and_columns(dtype, ops)
    text = text_of(loop)
    assert text.count("for (int64_t r = 0; r < 8; ++r)") == 1
    for shape in ((0, 2100), (1, 2100), (7, 2100), (8, 2049), (41, 3001), (20, 2048), (9, 70)):
        rng = np.random.RandomState(7)
        inputs = [samples.random_array(rng, size, dtype) for size in (shape, shape[1:])]
        for threads in (1, 2):
            check(loop, inputs, shape, threads)


@pytest.mark.parametrize("value", [np.nan, np.inf, -0.0])
def test_single_values_reach_their_row_and_column(value):
    loop = number_values(staged(samples.kernel(
        ["float32"], ["float32"] * 3, "m0 m1",
        "%0 = load in0 [m0, m1] : float32", "%1 = reduce.sum %0 over m0 : float32 [m1]",
        "%2 = reduce.sum %0 over m1 : float32 [m0]", "%3 = reduce.max %0 over m1 : float32 [m0]",
        "store out0 [m1] %1", "store out1 [m0] %2", "store out2 [m0] %3")))
    for at in (0, 8, 15, 17):
        x = np.full((18, 2500), -0.0 if value == 0 else 1.0, np.float32)
        x[at, 2400] = value
        check(loop, [x], x.shape)


@pytest.mark.parametrize("dtype, op", [("float32", "max"), ("float16", "sum")])
def test_rows_go_one_by_one_to_maxima_and_from_float16(dtype, op):
    loop = samples.kernel(
        [dtype], [dtype] * 2, "m0 m1", "%0 = load in0 [m0, m1] : " + dtype,
        "%1 = reduce.{} %0 over m0 : {} [m1]".format(op, dtype),
        "%2 = reduce.sum %0 over m1 : {} [m0]".format(dtype),
        "store out0 [m1] %1", "store out1 [m0] %2")
    assert "o += 8" not in text_of(number_values(staged(loop)))


@pytest.mark.parametrize("over, shape", [("m0", (4096, 1000)), ("m0 m1", (4096, 1000))])
def test_the_phase_that_only_joins_has_one_block_for_all_chunks(over, shape):
    loop = samples.reduction("m0 m1", over)
    library = compile_host_kernel(text_of(loop), key="groups")
    tiling = host_tiling(library, list(shape), 4)
    assert list(tiling.blocks[:3]) == [16, 1, 0]
    assert tiling.block_cost[0] > 20000 > tiling.block_cost[1] > 0
    check(loop, [np.random.RandomState(8).randn(*shape).astype(np.float32)], shape, threads=4)
