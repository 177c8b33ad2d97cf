"""Sizes that only the run time knows to be equal or 1, through every layer."""
import itertools
import re

import numpy as np
import pytest
from kernel_forms import run_all

from tf_autofuse.build import compile_host_kernel
from tf_autofuse.cluster.legal import check
from tf_autofuse.codegen.host import print_nests
from tf_autofuse.errors import Unsupported
from tf_autofuse.kernel.nest import build_nests
from tf_autofuse.loop.interp import run
from tf_autofuse.loop.ir import Load
from tf_autofuse.loop.lower import lower
from tf_autofuse.loop.source import Operator, TensorInfo
from tf_autofuse.loop.spec import axis_sizes, shape_spec
from tf_autofuse.loop.text import parse_loop, print_loop
from tf_autofuse.runtime.host import run_host
from tf_autofuse.runtime.spec_text import SpecText

X, Y, Z = (("xyz"[i], 0) for i in range(3))


def op(name, kind, *inputs, **attrs):
    axes = attrs.pop("axes", None)
    refs = tuple(ref if isinstance(ref, tuple) else (ref, 0) for ref in inputs)
    return Operator(name, kind, refs, attrs, axes)


def lowered(operators, infos, *outputs):
    result = lower(operators, [(name, 0) for name in outputs], infos)
    kernel = check(result.kernel)[0]
    return parse_loop(print_loop(kernel)), result.inputs  # without the names of operators


def rows(*symbols):
    return {ref: TensorInfo("float32", (symbol, 40)) for ref, symbol in zip((X, Y, Z), symbols)}


CHAIN = [op("a", "Abs", X), op("b", "Sub", "a", Y), op("c", "Mul", "b", Z), op("d", "Neg", "c"),
         op("e", "Maximum", "d", X)]
"""max(-((|x| - y) * z), x)"""
ROW_MAXIMUM = CHAIN + [op("m", "ReduceMax", "e", axes=(1,), keep_dims=True),
                       op("s", "Sub", "e", "m")]
COUNTS = list(itertools.product((1, 5), repeat=3))


def expected(x, y, z):
    return np.maximum(-((np.abs(x) - y) * z), x)


@pytest.mark.parametrize("operators, result", [(CHAIN, "e"), (ROW_MAXIMUM, "s")])
def test_computed_values_broadcast(operators, result):
    kernel, order = lowered(operators, rows(-5, -6, -7), result)
    assert len(order) == 3  # each input is loaded once
    rng = np.random.RandomState(3)
    for counts in COUNTS:
        arrays = {ref: rng.randn(n, 40).astype("float32") for ref, n in zip((X, Y, Z), counts)}
        inputs = [arrays[ref] for ref in order]
        want = expected(arrays[X], arrays[Y], arrays[Z])
        if result == "s":
            want = want - want.max(1, keepdims=True)
        (got,) = run(kernel, inputs, axis_sizes(kernel, [a.shape for a in inputs]))
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("counts", [(5, 5, 5), (1, 5, 5), (5, 1, 1), (1, 1, 1), (5, 5, 1)])
@pytest.mark.parametrize("operators, result", [(CHAIN, "e"), (ROW_MAXIMUM, "s")])
def test_every_form_broadcasts_alike(operators, result, counts):
    kernel, order = lowered(operators, rows(-5, -6, -7), result)
    sizes = dict(zip((X, Y, Z), counts))
    run_all(kernel, [(sizes[ref], 40) for ref in order])


@pytest.mark.parametrize("counts", [(70, 1, 70), (1, 1, 70), (70, 70, 70)])
def test_vectors_broadcast(counts):
    infos = {ref: TensorInfo("float32", (symbol,)) for ref, symbol in zip((X, Y, Z), (-5, -6, -7))}
    kernel, order = lowered(CHAIN, infos, "e")
    sizes = dict(zip((X, Y, Z), counts))
    run_all(kernel, [(sizes[ref],) for ref in order])


def as_large_as_x(*symbols):
    """y was broadcast against x, and the result has the shape of x again."""
    operators = [op("a", "Abs", X), op("b", "Mul", "a", Y),
                 Operator("r", "Reshape", (("b", 0),), {}, None, (symbols[0], 40)),
                 op("c", "Sub", "r", X)]
    return lowered(operators, rows(*symbols), "c")


@pytest.mark.parametrize("counts", [(5, 5), (5, 1), (1, 1)])
def test_a_reshape_to_the_shape_of_an_operand(counts):
    kernel, order = as_large_as_x(-5, -6)
    assert len(order) == 2 and len(kernel.axes) == 2
    loads = [value for value in kernel.body if isinstance(value, Load)]
    assert {ref: load.dims[0].guest for ref, load in zip(order, loads)} == {X: False, Y: True}
    sizes = dict(zip((X, Y), counts))
    run_all(kernel, [(sizes[ref], 40) for ref in order])


def test_a_guest_is_not_larger_than_what_was_asked_for():
    kernel, order = as_large_as_x(-5, -6)
    sizes = {X: 1, Y: 5}
    with pytest.raises(ValueError, match="5, not 1"):
        axis_sizes(kernel, [(sizes[ref], 40) for ref in order])


def test_the_graph_names_the_size_of_a_broadcast():
    """z has as many rows as x + y, which the kernel computes."""
    operators = [Operator("a", "Add", (X, Y), {}, None, (-9, 40)), op("c", "Sub", "a", Z)]
    kernel, order = lowered(operators, rows(-5, -6, -9), "c")
    maybe = {ref: value.dims[0].maybe for ref, value in
             zip(order, (v for v in kernel.body if isinstance(v, Load)))}
    assert maybe == {X: True, Y: True, Z: False}


def test_equal_sums_of_sizes_are_one_axis():
    operators = [op("a", "Add", X, Y), op("b", "Mul", Z, Y), op("c", "Sub", "a", "b")]
    kernel, order = lowered(operators, rows(-5, -6, -5), "c")
    assert len(order) == 3 and len(kernel.axes) == 2
    assert all(value.dims[0].maybe for value in kernel.body if isinstance(value, Load))


def test_an_output_keeps_the_size_of_its_own():
    operators = [op("a", "Abs", X), op("b", "Mul", "a", Y)]
    kernel, order = lowered(operators, rows(-5, -6), "a", "b")
    x, y = np.float32([[-1, 2]]), np.float32([[3, 4], [5, 6]])
    arrays = [x if ref == X else y for ref in order]
    first, second = run(kernel, arrays, axis_sizes(kernel, [a.shape for a in arrays]))
    np.testing.assert_array_equal(first, np.abs(x))
    np.testing.assert_array_equal(second, np.abs(x) * y)


@pytest.mark.parametrize("size", [-5, 5])
def test_a_part_is_not_broadcast(size):
    operators = [Operator("r", "ReverseV2", (X,), {}, None, None, {1: (0,)}),
                 op("m", "Mul", "r", Y)]
    infos = {X: TensorInfo("float32", (-4, 3)), Y: TensorInfo("float32", (size, 3))}
    with pytest.raises(Unsupported) as error:
        lowered(operators, infos, "m")
    assert error.value.code == "RUNTIME_BROADCAST"


def test_operands_that_are_not_broadcast_are_read_in_vectors():
    """The form for them has no run-time strides, and runs only where every stride is its axis's."""
    kernel, _ = lowered(CHAIN, rows(-5, -6, -7), "e")
    text = print_nests(kernel, build_nests(kernel))
    general, dense = (text[text.index("static void " + name):].split("\n}\n")[0]
                      for name in ("nest0", "dense0"))
    assert "args->strides" in general and "args->strides" not in dense
    strides = [int(n) for n in re.findall(r"\bstrides\[(\d+)\] ==", text)]
    assert len(strides) == len(set(strides)) == 6  # two axes of three operands


SEVERAL = [op("a", "Mul", X, Y), op("b", "Sub", Z, Y), op("c", "Abs", "b"),
           op("d", "Add", "a", "c")]
"""x * y, |z - y|, and their sum: each with a size of its own"""


def test_results_of_their_own_sizes_are_found_together():
    """Where nothing is broadcast, one nest reads each tensor once, along one axis."""
    kernel, order = lowered(SEVERAL, rows(-5, -6, -7), "a", "c", "d")
    assert len(order) > len(set(order)) == 3
    text = print_nests(kernel, build_nests(kernel))
    assert "nest2" in text and "dense1" not in text
    dense = text[text.index("static void dense0"):].split("\n}\n")[0]
    assert dense.count("args->inputs[") == 3 and "args->sizes[1]" not in dense


@pytest.mark.parametrize("counts", COUNTS)
def test_results_of_their_own_sizes(counts):
    kernel, order = lowered(SEVERAL, rows(-5, -6, -7), "a", "c", "d")
    sizes = dict(zip((X, Y, Z), counts))
    rng = np.random.RandomState(3)
    arrays = {ref: rng.randint(-3, 4, (n, 40)).astype("float32") for ref, n in sizes.items()}
    run_all(kernel, [arrays[ref].shape for ref in order],
            {number: arrays[ref] for number, ref in enumerate(order)})


def test_zeros_of_a_shape_are_no_work_where_nothing_is_broadcast():
    operators = [op("a", "ZerosLike", X), op("b", "Maximum", X, "a"), op("c", "Mul", "b", Y)]
    kernel, order = lowered(operators, rows(-5, -6), "c")
    text = print_nests(kernel, build_nests(kernel))
    dense = text[text.index("static void dense0"):].split("\n}\n")[0]
    assert len(re.findall(r"v1 = .* < ", text)) > 0 and not re.findall(r"v1 = .* < ", dense)
    for counts in ((5, 5), (1, 5), (5, 1)):
        sizes = dict(zip((X, Y), counts))
        run_all(kernel, [(sizes[ref], 40) for ref in order])


TWO_AXES = """loop {
  in0: float32
  in1: float32
  in2: float32
  out0: float32
  axes a0 a1
  same in0 in1
  %0 = load in0 [a0?] : float32
  %1 = load in1 [a1?] : float32
  %2 = mul %0 %1 : float32 [a0, a1]
  %3 = load in2 [a0?, a1?] : float32
  %4 = add %2 %3 : float32 [a0, a1]
  store out0 [a0, a1] %4
}
"""


def test_a_tensor_along_two_axes_of_a_value_keeps_them():
    kernel = parse_loop(TWO_AXES)
    assert print_loop(kernel) == TWO_AXES
    assert "{n0, n1}" in print_nests(kernel, build_nests(kernel))
    x = np.arange(5).astype("float32")
    for shape in ((5, 5), (5, 1)):
        run_all(kernel, [(5,), (5,), shape], {0: x, 1: x})


def test_fixed_sizes_have_one_form():
    kernel, _ = lowered(CHAIN, rows(5, 5, 5), "e")
    assert "dense" not in print_nests(kernel, build_nests(kernel))


@pytest.mark.parametrize("columns, dtype", [(1, "float32"), (300, "float32"), (530, "float16")])
def test_rows_that_repeat_one_element(columns, dtype):
    """Along the vectors an operand is as long as they are, or has one element for a row or all."""
    infos = {ref: TensorInfo(dtype, dims) for ref, dims in ((X, (-5, -6)), (Y, (-7, -8)))}
    kernel, order = lowered([op("a", "Abs", X), op("b", "Sub", "a", Y)], infos, "b")
    shapes = [(3, columns), (3, 1), (1, columns), (1, 1)]
    for pair in itertools.product(shapes, repeat=2):
        run_all(kernel, pair)


def test_rows_that_repeat_functions_are_in_blocks():
    """Functions of whole vectors, and what is left of the last one."""
    infos = {ref: TensorInfo("float32", dims) for ref, dims in ((X, (-5, -6)), (Y, (-7, -8)))}
    operators = [op("a", "Mul", X, Y), op("b", "Tanh", "a"), op("c", "Add", "b", Y)]
    kernel, order = lowered(operators, infos, "c")
    library = compile_host_kernel(print_nests(kernel, build_nests(kernel)), key="repeated_rows")
    spec = SpecText.parse(shape_spec(kernel, range(len(kernel.axes))))
    rng = np.random.RandomState(0)
    for shapes in itertools.product([(2, 530), (2, 1), (1, 1)], repeat=2):
        x, y = (rng.randn(*shape).astype("f4") for shape in shapes)
        want = np.tanh(x * y) + y
        bound = spec.bind([array.shape for array in (x, y)])
        inputs = [{X: x, Y: y}[ref] for ref in order]
        (got,) = run_host(library, inputs, bound.sizes, bound.strides, [(want.shape, "float32")])
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
