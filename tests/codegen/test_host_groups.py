"""Rows that go into accumulators together, those shorter than a tile as if several were one."""
import kernel_samples as samples
import numpy as np
import pytest

from tf_autofuse.build import compile_host_kernel
from tf_autofuse.codegen.host import print_nests
from tf_autofuse.kernel.nest import build_nests
from tf_autofuse.loop import interp
from tf_autofuse.runtime.host import run_host

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
        assert dtype == "int32" or np.array_equal(np.signbit(have), np.signbit(expected))


def columns(dtype, ops):
    """Reductions of the columns of one matrix."""
    return samples.kernel(
        [dtype], [dtype] * len(ops), "m0 m1",
        "%0 = load in0 [m0, m1] : " + dtype,
        *["%{} = reduce.{} %0 over m0 : {} [m1]".format(n + 1, op, dtype)
          for n, op in enumerate(ops)],
        *["store out{} [m1] %{}".format(n, n + 1) for n in range(len(ops))])


@pytest.mark.parametrize("dtype, ops", [
    ("float32", ("sum", "max", "min")), ("float64", ("mean",)), ("int32", ("sum", "prod", "max"))])
def test_columns_of_any_length(dtype, ops):
    loop = columns(dtype, ops)
    assert "joined_rows" in text_of(loop)
    for shape in SHAPES:
        x = np.random.RandomState(3).standard_normal(shape) * 9
        check(loop, [x.astype(dtype)], shape)
        check(loop, [x.astype(dtype)], shape, threads=3)


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
