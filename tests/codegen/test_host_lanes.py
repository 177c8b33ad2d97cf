"""Functions of whole vectors (csrc/host/lanes.h)."""
import kernel_samples as samples
import numpy as np
import pytest
from scalar_kernels import EDGES, one_op, run

from tf_autofuse.build import compile_host_kernel
from tf_autofuse.codegen.host import print_nests
from tf_autofuse.kernel.nest import build_nests
from tf_autofuse.loop import interp
from tf_autofuse.loop.functions import REAL_FUNCTIONS
from tf_autofuse.runtime.host import run_host

# Beyond them erf, tanh and erfc are 1, or below the normal numbers.
ENDS = {"erf": 4.0, "tanh": 9.1, "erfc": 10.2}


def text_of(loop):
    return print_nests(loop, build_nests(loop))


@pytest.mark.parametrize("op", sorted(ENDS))
def test_floats_of_every_interval(op):
    """Every 997th float, and the neighbours of the places where one polynomial follows another."""
    last = int(np.float32(ENDS[op]).view(np.uint32))
    bits = np.arange(0, last, 997, dtype=np.uint32)
    places = np.array([2.0 ** (k // 4 - 1) * (1 + k % 4 / 4) for k in range(16)])
    cuts = ((places - 0.5) * ENDS[op] / 7.5).astype(np.float32).view(np.uint32)
    near = (cuts[:, None] + np.arange(-300, 300)).astype(np.uint32).ravel()
    a = np.concatenate([bits, near[near < last]]).view(np.float32)
    x = np.concatenate([a, -a])
    got, exact = run(one_op(op, "float32", "float32"), x), REAL_FUNCTIONS[op][1](x.astype(float))
    normal = np.abs(exact) >= 2.0 ** -126
    unit = np.spacing(np.abs(exact[normal]).astype(np.float32)).astype(float)
    unit = np.where(np.abs(exact[normal]) < 1, np.minimum(unit, 2.0 ** -24), unit)
    error = np.abs(got[normal] - exact[normal]) / unit
    assert error.max() < 1, x[normal][error.argmax()]


@pytest.mark.parametrize("op", sorted(ENDS))
def test_special_values(op):
    x = np.array(EDGES + [ENDS[op], -ENDS[op], 9.25, 1e-40], np.float32)
    with np.errstate(all="ignore"):
        want = REAL_FUNCTIONS[op][1](x.astype(float)).astype(np.float32)
    got = run(one_op(op, "float32", "float32"), x)
    np.testing.assert_allclose(got, want, rtol=1.3e-7, atol=2.0 ** -126)
    np.testing.assert_array_equal(np.signbit(got), np.signbit(want))


def operations(op, dtype, *after):
    """%2 = op(float32(in0)), and the lines `after` it."""
    return samples.kernel(
        [dtype], [dtype], "m0 m1", "%0 = load in0 [m0, m1] : " + dtype,
        "%1 = cast %0 : float32 [m0, m1]", "%2 = {} %1 : float32 [m0, m1]".format(op), *after)


def run_matrix(loop, x):
    """The first output of a kernel over two axes."""
    store, sizes = loop.stores[0], {"m0": x.shape[0], "m1": x.shape[1]}
    output = (tuple(sizes[axis] for axis in store.axes), loop.outputs[0].dtype)
    library = compile_host_kernel(text_of(loop), key="lanes")
    return run_host(library, [x], list(x.shape), None, [output])[0]


def stored(dtype, axes="m0, m1"):
    return ["%9 = cast %8 : {} [{}]".format(dtype, axes), "store out0 [{}] %9".format(axes)]


FEW = ["%8 = add %2 %1 : float32 [m0, m1]"]
MANY = ["%{} = add %{} %2 : float32 [m0, m1]".format(i, i - 1) for i in range(3, 9)]
ROWS = ["%3 = mul %2 %2 : float32 [m0, m1]", "%8 = reduce.sum %3 over m1 : float32 [m0]"]
COLUMNS = ["%3 = mul %2 %2 : float32 [m0, m1]", "%8 = reduce.sum %3 over m0 : float32 [m1]"]
FORMS = {
    "few": (FEW, "m0, m1", "run_{}(staged2, BLOCK)"),
    "many": (MANY, "m0, m1", "run_{}(staged2, e - s)"),
    "rows": (ROWS, "m0", "run_{}(staged2, e - s)"),
    "columns": (COLUMNS, "m1", "run_{}(staged2, BLOCK)"),
}


@pytest.mark.parametrize("op, form, dtype", [
    *(("tanh", form, dtype) for form in sorted(FORMS) for dtype in ("float32", "float16")),
    ("erf", "few", "float32"), ("erfc", "rows", "float32"), ("erfc", "columns", "float16")])
def test_loops_around_a_function(op, form, dtype):
    after, axes, call = FORMS[form]
    loop = operations(op, dtype, *(after + stored(dtype, axes)))
    assert call.format(op) in text_of(loop)
    rng = np.random.RandomState(5)
    for shape in [(1, 1), (3, 15), (2, 16), (5, 33), (2, 600), (40, 64)]:
        x = (3 * rng.standard_normal(shape)).astype(dtype)
        got = run_matrix(loop, x)
        want = interp.run(loop, [x], {"m0": shape[0], "m1": shape[1]})[0]
        tolerance = 1e-3 if dtype == "float16" else 1e-6
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("after", [FEW, MANY], ids=["few", "many"])
def test_an_element_has_the_same_result_wherever_it_stands(after):
    loop = operations("tanh", "float32", *(after + stored("float32")))
    column = np.random.RandomState(1).standard_normal((50, 1)).astype(np.float32)
    got = run_matrix(loop, np.repeat(column, 37, 1))
    np.testing.assert_array_equal(got, np.repeat(got[:, :1], 37, 1))


def test_two_functions_of_which_one_waits_for_the_other():
    loop = operations("tanh", "float32", "%3 = erf %2 : float32 [m0, m1]",
                      "%8 = erfc %3 : float32 [m0, m1]", *stored("float32"))
    text = text_of(loop)
    calls = [text.count("run_%s(staged" % op) for op in ("tanh", "loose_erf", "loose_erfc")]
    assert calls == [1, 1, 1]
    x = np.random.RandomState(2).standard_normal((7, 700)).astype(np.float32)
    want = interp.run(loop, [x], {"m0": 7, "m1": 700})[0]
    np.testing.assert_allclose(run_matrix(loop, x), want, rtol=1e-6)
