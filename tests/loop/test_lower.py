"""Lowering of operator lists to loop kernels, and what is refused."""
from dataclasses import replace

import numpy as np
import pytest

from tf_autofuse import flags
from tf_autofuse.cluster.legal import check
from tf_autofuse.errors import Unsupported
from tf_autofuse.loop.interp import run
from tf_autofuse.loop.lower import lower
from tf_autofuse.loop.ops import MAP_OPS
from tf_autofuse.loop.rules import RULES
from tf_autofuse.loop.source import Operator, TensorInfo
from tf_autofuse.loop.spec import axis_sizes
from tf_autofuse.loop.text import parse_loop, print_loop
from tf_autofuse.loop.verify import verify
from tf_autofuse.ops import OPS

X, Y = ("x", 0), ("y", 0)


def op(name, type_, *inputs, **kwargs):
    axes = kwargs.pop("axes", None)
    refs = tuple((i, 0) if isinstance(i, str) else i for i in inputs)
    return Operator(name, type_, refs, kwargs, axes)


def lowered(operators, infos, outputs=None):
    result = lower(operators, outputs or [(operators[-1].name, 0)], infos)
    verify(result.kernel)
    check(result.kernel)
    return result


def evaluate(operators, infos, *arrays):
    kernel = lowered(operators, infos).kernel
    return run(kernel, arrays, axis_sizes(kernel, [a.shape for a in arrays]))[0]


def test_every_row_of_the_op_table_has_a_rule():
    for info in OPS.values():
        rule, _, argument = info.lower.partition(":")
        assert rule in RULES, info.ge
        assert rule != "map" or argument in MAP_OPS, info.ge


def test_the_op_table_is_as_long_as_the_documents_say():
    names = {name for info in OPS.values() for name in info.tf}
    forms_of_graph_engine = {"Reduce%sD" % name for name in ("Sum", "Mean", "Max", "Min", "Prod")}
    assert len(names - forms_of_graph_engine) >= 220


def test_float16_is_rounded_once_per_operator():
    kernel = lowered(
        [op("a", "Add", X, Y), op("s", "Sub", "a", X)],
        {X: TensorInfo("float16", (4,)), Y: TensorInfo("float16", (4,))},
    ).kernel
    big, small = np.float16([2048]), np.float16([1])
    assert run(kernel, [big, small], {"a0": 1})[0] == (big + small) - big
    assert print_loop(kernel).count(": float16 [a0]\n") == 2  # one rounding an operator


def test_exact_operators_stay_narrow():
    text = print_loop(
        lowered([op("a", "Abs", X), op("r", "Relu", "a")], {X: TensorInfo("float16", (4,))}).kernel
    )
    assert "float32" not in text


def test_scalar_constants_are_held_by_the_kernel():
    infos = {X: TensorInfo("float32", (4, 5)), Y: TensorInfo("float32", (), const=2.5)}
    result = lowered([op("m", "Mul", X, Y)], infos)
    assert result.inputs == (X,)
    assert "const 2.5 : float32" in print_loop(result.kernel)


def test_an_unknown_size_against_a_known_one_may_broadcast():
    infos = {X: TensorInfo("float32", (-5, 3)), Y: TensorInfo("float32", (7, 3))}
    result = lowered([op("m", "Mul", X, Y)], infos)
    kernel = result.kernel
    assert "load in%d [a0?, a1]" % result.inputs.index(X) in print_loop(kernel)
    for rows in (1, 7):
        arrays = {X: np.ones((rows, 3), "f4"), Y: np.ones((7, 3), "f4")}
        ordered = [arrays[ref] for ref in result.inputs]
        sizes = axis_sizes(kernel, [array.shape for array in ordered])
        assert run(kernel, ordered, sizes)[0].shape == (7, 3)


def test_two_unknown_sizes_may_both_broadcast():
    infos = {X: TensorInfo("float32", (-5,)), Y: TensorInfo("float32", (-6,))}
    assert print_loop(lowered([op("m", "Mul", X, Y)], infos).kernel).count("a0?") == 2


def test_equal_symbols_are_one_axis():
    infos = {X: TensorInfo("float32", (-5, 3)), Y: TensorInfo("float32", (-5, 3))}
    assert "?" not in print_loop(lowered([op("m", "Mul", X, Y)], infos).kernel)


@pytest.mark.parametrize("keep_dims", [False, True])
def test_reductions(keep_dims):
    x = np.random.RandomState(0).randn(4, 6).astype("f4")
    infos = {X: TensorInfo("float32", x.shape)}
    for type_, function in (("ReduceSum", np.sum), ("ReduceMax", np.max), ("ReduceMean", np.mean)):
        for axes in ((1,), (0,), (0, 1), (-1,)):
            got = evaluate(
                [op("a", "Abs", X), op("r", type_, "a", axes=axes, keep_dims=keep_dims)], infos, x
            )
            expected = function(np.abs(x), axis=axes, keepdims=keep_dims)
            np.testing.assert_allclose(got, expected, rtol=1e-6)
            assert got.shape == expected.shape


def test_bias_add_along_the_channels_of_nchw():
    x, bias = np.zeros((2, 3, 4, 5), "f4"), np.arange(3, dtype="f4")
    infos = {X: TensorInfo("float32", x.shape), Y: TensorInfo("float32", (3,))}
    got = evaluate([op("b", "BiasAdd", X, Y, data_format="NCHW")], infos, x, bias)
    np.testing.assert_array_equal(got, x + bias[:, None, None])


def test_relu_grad_is_a_product_as_in_tensorflow():
    infos = {X: TensorInfo("float32", (3,)), Y: TensorInfo("float32", (3,))}
    dy, x = np.array([np.inf, -1, 2], "f4"), np.array([-1, -1, 1], "f4")
    got = evaluate([op("g", "ReluGrad", X, Y)], infos, dy, x)
    assert np.isnan(got[0]) and np.signbit(got[1]) and got[2] == 2


def refusal(operators, infos, outputs=None):
    with pytest.raises(Unsupported) as error:
        lowered(operators, infos, outputs)
    return error.value.code


SQUARE = {X: TensorInfo("float32", (8, 8))}
MATRIX = {X: TensorInfo("float32", (8, 9)), Y: TensorInfo("float32", (9,))}


@pytest.mark.parametrize(
    "code, operators, infos, outputs",
    [
        ("AXES_CONFLICT", [op("s", "ReduceSum", X, axes=(1,)), op("a", "Add", "s", X)],
         SQUARE, None),
        ("RECOMPUTE", [op("e", "Exp", Y), op("m", "Mul", X, "e"),
                       op("s", "ReduceSum", "m", axes=(1,))], MATRIX, None),
        ("SHAPE", [op("m", "Mul", X, Y)],
         {X: TensorInfo("float32", (3,)), Y: TensorInfo("float32", (4,))}, None),
        ("RANK", [op("n", "Neg", X)], {X: TensorInfo("float32", None)}, None),
        ("AXES_UNKNOWN", [op("s", "ReduceSum", X)], SQUARE, None),
        ("ATTR", [op("e", "Exp", X, base=2.0)], SQUARE, None),
    ],
)
def test_refusals_have_codes(code, operators, infos, outputs):
    assert refusal(operators, infos, outputs) == code


STAGES = [
    ("REDUCE_AXES", [op("a", "ReduceSum", X, axes=(0,), keep_dims=True), op("d", "Sub", X, "a"),
                     op("b", "ReduceSum", "d", axes=(1,))], MATRIX),
    ("OUTPUT_DOMAIN", [op("t", "Mul", X, Y),
                       op("s", "ReduceSum", "t", axes=(1, 2), keep_dims=True),
                       op("m", "Mul", Y, "s")],
     {X: TensorInfo("float32", (4, 5, 6)), Y: TensorInfo("float32", (4, 5, 1))}),
    ("REDUCE_DOMAIN", [op("r", "ReduceSum", Y, axes=(0,)), op("t", "Mul", X, Y),
                       op("m", "Sub", "t", "r"), op("s", "ReduceSum", "m", axes=(1,))], MATRIX),
]


@pytest.mark.parametrize("code, operators, infos", STAGES)
def test_stages_need_cores_that_wait_for_each_other(code, operators, infos):
    kernel, nests = check(lowered(operators, infos).kernel)
    assert [nest.stage for nest in nests] == [0, 1] and len(kernel.temps) == 1
    text = print_loop(kernel)
    assert "load temp0 [" in text and "store temp0 [" in text
    assert print_loop(parse_loop(text)) == text and parse_loop(text).temps == kernel.temps
    flags.set_overrides("--soc=Ascend310P")
    try:
        assert refusal(operators, infos) == code
    finally:
        flags.set_overrides(None)


def reshape(name, source, *dims):
    return Operator(name, "Reshape", ((source, 0) if isinstance(source, str) else source,), {},
                    out_dims=dims)


@pytest.mark.parametrize(
    "before, after",
    [((4, 6), (24,)), ((24,), (4, 6)), ((2, 6), (4, 3)), ((5, 1, 6), (1, 5, 2, 3)),
     ((2, 3, 4), (6, 4)), ((2, 3, 4), (2, 12)), ((8, 9), (2, 2, 2, 3, 3)), ((7, 4, 4), (7, 16)),
     ((3, 8, 5), (24, 5)), ((1,), ()), ((), (1, 1))],
)
def test_reshapes_split_and_merge(before, after):
    x = np.asarray(np.random.RandomState(0).randn(*before), "f4")
    infos = {X: TensorInfo("float32", before)}
    got = evaluate([op("a", "Abs", X), reshape("r", "a", *after), op("n", "Neg", "r")], infos, x)
    np.testing.assert_array_equal(got, -np.abs(x).reshape(after))


def test_a_reduction_over_a_part_of_a_dim():
    """Group normalisation: [rows, groups * size] is reduced over size."""
    x = np.random.RandomState(0).randn(4, 6).astype("f4")
    gamma = np.arange(6, dtype="f4")
    infos = {X: TensorInfo("float32", x.shape), Y: TensorInfo("float32", (6,))}
    got = evaluate(
        [reshape("g", X, 4, 3, 2), op("m", "ReduceMean", "g", axes=(2,), keep_dims=True),
         op("d", "Sub", "g", "m"), reshape("b", "d", 4, 6), op("s", "Mul", "b", Y)],
        infos, x, gamma)
    groups = x.reshape(4, 3, 2)
    expected = (groups - groups.mean(2, keepdims=True)).reshape(4, 6) * gamma
    np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(
    "before, after, shape, result",
    [((-5, 64, 8), (-6, 512), (3, 64, 8), (3, 512)), ((-5, 512), (-5, 64, 8), (3, 512), (3, 64, 8)),
     ((-5, 4), (-7,), (3, 4), (12,)), ((-7,), (-5, 4), (12,), (3, 4)),
     ((-5, -6, 4), (-7, 4), (2, 3, 4), (6, 4)), ((-5, 6), (-7, 3), (5, 6), (10, 3))],
)
def test_reshapes_of_run_time_sizes(before, after, shape, result):
    x = np.random.RandomState(0).randn(*shape).astype("f4")
    operators = [op("a", "Abs", X), reshape("r", "a", *after), op("n", "Neg", "r")]
    got = evaluate(operators, {X: TensorInfo("float32", before)}, x)
    np.testing.assert_array_equal(got, -np.abs(x).reshape(result))


@pytest.mark.parametrize("before, after", [
    ((4, 6), (6, 4)), ((-5, -6), (-7, -8)), ((-7,), (-5, -6)), ((0, 4), (5, 0)), ((-5, 4), (-6, 6)),
])
def test_reshapes_that_are_refused(before, after):
    operators = [op("a", "Abs", X), reshape("r", "a", *after), op("n", "Neg", "r")]
    assert refusal(operators, {X: TensorInfo("float32", before)}) == "RESHAPE"


def test_factors_that_another_tensor_tells_are_bound_by_it():
    infos = {X: TensorInfo("float32", (-7, 4)), Y: TensorInfo("float32", (-5, -6, 1))}
    x, y = np.ones((6, 4), "f4"), np.arange(6, dtype="f4").reshape(2, 3, 1)
    operators = [op("a", "Abs", X), reshape("r", "a", -5, -6, 4), op("m", "Mul", "r", Y)]
    np.testing.assert_array_equal(evaluate(operators, infos, x, y), x.reshape(2, 3, 4) * y)
    kernel = lowered(operators, infos).kernel
    assert parse_loop(print_loop(kernel)) == kernel


@pytest.mark.parametrize("first, second", [
    ("ReduceMean", "ReduceSum"), ("ReduceSum", "ReduceMean"), ("ReduceMean", "ReduceMean"),
    ("ReduceSum", "ReduceSum"), ("ReduceMax", "ReduceMax"),
])
@pytest.mark.parametrize("keep", [False, True])
def test_a_reduction_of_a_reduction_is_one(first, second, keep):
    x = np.random.RandomState(0).randn(6, 5, 4).astype("f4")
    operators = [op("a", first, X, axes=(2,), keep_dims=keep),
                 op("b", second, "a", axes=(0,), keep_dims=keep)]
    infos = {X: TensorInfo("float32", x.shape)}
    names = {"ReduceMean": np.mean, "ReduceSum": np.sum, "ReduceMax": np.max}
    want = names[second](names[first](x, 2, keepdims=keep), 0, keepdims=keep)
    np.testing.assert_allclose(evaluate(operators, infos, x), want, rtol=1e-5)
    assert print_loop(lowered(operators, infos).kernel).count("reduce.") == 1


@pytest.mark.parametrize("first, second, dims", [
    ("ReduceSum", "ReduceMean", (6, -5)), ("ReduceMean", "ReduceSum", (0, 5)),
    ("ReduceMax", "ReduceSum", (6, 5)),
])
def test_reductions_that_are_not_one(first, second, dims):
    operators = [op("a", first, X, axes=(1,)), op("b", second, "a", axes=(0,))]
    assert reductions(operators, TensorInfo("float32", dims)) == 2


@pytest.mark.parametrize("rows, columns", [(6, 5), (1, 5), (0, 5), (6, 0)])
@pytest.mark.parametrize("dims", [(-6, 5), (-6, -7)])
def test_a_sum_of_means_counts_them(rows, columns, dims):
    operators = [op("a", "ReduceMean", X, axes=(1,)), op("b", "ReduceSum", "a", axes=(0,))]
    info = TensorInfo("float32", dims)
    assert reductions(operators, info) == 1
    if columns or dims[1] < 0:
        x = np.random.RandomState(0).randn(rows, columns).astype("f4")
        got = evaluate(operators, {X: info}, x)
        np.testing.assert_allclose(got, np.nan if rows > columns == 0 else x.sum() / 5, rtol=1e-5)


N = ("n", 0)


def test_numbers_of_elements_are_counted_where_tensors_tell_them():
    infos = {X: TensorInfo("float32", (-6, 5)), N: TensorInfo("int32", (), count=(5, (-6,)))}
    operators = [op("c", "Cast", N, dst_dtype="float32"), op("y", "RealDiv", X, "c")]
    infos[("c", 0)] = TensorInfo("float32", ())
    operators[1] = replace(operators[1], out_dims=(-6, 5))
    x = np.arange(15, dtype="f4").reshape(3, 5)
    assert lowered(operators, infos).inputs == (X,)
    np.testing.assert_allclose(evaluate(operators, infos, x), x / 15, rtol=1e-6)


@pytest.mark.parametrize("symbol", [-7, -8])
def test_other_numbers_of_elements_are_read(symbol):
    """-7 is that of no dim, and what y has along the axis may be broadcast."""
    infos = {X: TensorInfo("float32", (-6, 5)), Y: TensorInfo("float32", (-8, 5)),
             N: TensorInfo("int32", (), count=(1, (symbol,)))}
    infos.update({("c", 0): TensorInfo("float32", ()), ("s", 0): TensorInfo("float32", (-9, 5))})
    operators = [op("s", "Sub", X, Y), op("c", "Cast", N, dst_dtype="float32"),
                 op("y", "RealDiv", "s", "c")]
    operators = [replace(one, out_dims=dims)
                 for one, dims in zip(operators, [(-9, 5), (), (-9, 5)])]
    assert set(lowered(operators, infos).inputs) == {X, Y, N}


def test_a_mean_of_float16_rows_is_rounded_before_their_sum():
    operators = [op("a", "ReduceMean", X, axes=(1,)), op("b", "ReduceSum", "a", axes=(0,))]
    assert reductions(operators, TensorInfo("float16", (6, 5))) == 2


def reductions(operators, info):
    return print_loop(lowered(operators, {X: info}).kernel).count("reduce.")
