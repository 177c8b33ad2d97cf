"""Sizes of run time that happen to be 1: forms of a kernel in which nothing lies along these axes
move each byte once, where the kernel for all sizes moves some twice."""
import itertools
from dataclasses import replace

import kernel_samples as samples
import numpy as np
import pytest
from sweep.patterns import (
    COLS,
    COLUMN,
    DEPTH,
    MATRIX,
    PATTERNS,
    ROW,
    ROWS,
    case,
    layer_norm_parameters_backward,
    row_and_column_sums,
    softmax,
    softmax_cross_entropy_mean,
)
from sweep.runner import SHAPES, Sweep
from sweep.tables import random_inputs

from tf_autofuse.codegen.ascendc import print_ascendc, tiling_keys
from tf_autofuse.errors import IRError
from tf_autofuse.kernel import interp
from tf_autofuse.kernel.ir import Thin
from tf_autofuse.kernel.text import kernel_key, parse_kernel, print_kernel
from tf_autofuse.kernel.verify import verify
from tf_autofuse.loop import interp as loop_interp
from tf_autofuse.loop.ir import Const
from tf_autofuse.loop.merge import merge_axes
from tf_autofuse.loop.text import parse_loop, print_loop
from tf_autofuse.loop.thin import without_axes
from tf_autofuse.loop.verify import verify as verify_loop
from tf_autofuse.platforms import platform
from tf_autofuse.schedule import schedule
from tf_autofuse.tiling.cpp import tiling, tiling_fields

CHIP = platform("Ascend910B")


def row_beside_matrix(net):
    """The row has a nest of its own, for columns are not walked for it."""
    row = net.input(*ROW)
    return [net("Sigmoid", row), net("Mul", net.input(*MATRIX), row)]


def column_after_its_maximum(net):
    """The maximum is found by a stage of its own."""
    column = net.input(*COLUMN)
    low = net("Minimum", net.input(*ROW), column)
    most = net.reduce("Max", net("Neg", column), 0)
    return [net("SelectV2", net("LessEqual", low, column), most, low)]


def row_beside_blocks(net):
    """Only both outer axes together keep the row apart."""
    row = net.input(DEPTH)
    plane = net("Add", net.input(COLS, DEPTH), row)
    return [net("Neg", row), net("Mul", net.input(ROWS, COLS, DEPTH), plane)]


@pytest.mark.parametrize("pattern, shape, chip", [
    (row_beside_matrix, "one row", "Ascend910B"), (row_beside_matrix, "one row", "Ascend310P"),
    (column_after_its_maximum, "one column", "Ascend910B"),
], ids=lambda value: getattr(value, "__name__", value))
def test_every_byte_is_moved_once(pattern, shape, chip, monkeypatch):
    sweep = Sweep(case(pattern, "float32"), chip)
    for known in sorted(SHAPES):
        outcome = sweep.run(known)
        assert outcome.right and outcome.sparing, outcome
    monkeypatch.setitem(SHAPES, "long", tuple(1 if n == 1 else 300000 for n in SHAPES[shape]))
    for known in (shape, "long"):
        outcome = sweep.run(known)
        assert outcome.right and outcome.ratio <= 1.02, outcome
    sweep.kernel = replace(sweep.kernel, thin=())
    outcome = sweep.run(shape)
    assert outcome.right and outcome.ratio > 1.1, outcome


@pytest.mark.parametrize("pattern, shape, chip", [
    (row_and_column_sums, "one row", "Ascend910B"),
    (row_and_column_sums, "one column", "Ascend310P"),
    (layer_norm_parameters_backward, "one row", "Ascend910B"),
], ids=lambda value: getattr(value, "__name__", value))
def test_one_nest_needs_no_workspace(pattern, shape, chip):
    sweep = Sweep(case(pattern, "float32"), chip)
    outcome = sweep.run(shape)
    assert outcome.right and outcome.requests <= 1.02, outcome
    assert len(sweep.form.nests) == 1 < len(sweep.kernel.nests)


def made(pattern, chip="Ascend910B"):
    """The scheduled kernel of a pattern."""
    return schedule(merge_axes(case(pattern, "float32").lowered.kernel)[0], chip)


def test_axes_that_only_together_matter():
    kernel = made(row_beside_blocks)
    assert [thin.ones for thin in kernel.thin] == [("m0", "m1")]
    assert kernel.at({"m0": 1, "m1": 5, "m2": 9}) is kernel
    assert kernel.at({"m0": 1, "m1": 1, "m2": 9}) is kernel.thin[0].kernel


def test_kernels_that_read_everything_once_have_no_other_forms():
    for pattern in PATTERNS:
        kernel = made(pattern)
        assert not kernel.thin or len(kernel.nests) > 1
    assert [p for p in PATTERNS if made(p).thin] == [
        row_and_column_sums, softmax_cross_entropy_mean, layer_norm_parameters_backward]


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.__name__)
def test_a_kernel_without_axes_finds_the_same(pattern):
    loop = merge_axes(case(pattern, "float32").lowered.kernel)[0]
    kernel = schedule(loop)
    sets = itertools.chain.from_iterable(
        itertools.combinations(loop.axes, count) for count in range(1, len(loop.axes)))
    for ones in sets:
        thin = without_axes(loop, set(ones))
        if thin is None:
            continue
        verify_loop(thin)
        assert parse_loop(print_loop(thin)) == thin
        forced = replace(kernel, thin=(Thin(ones, replace(schedule(thin), thin=())),))
        verify(forced)
        sizes = {axis: 1 if axis in ones else 7 for axis in loop.axes}
        inputs, strides = random_inputs(loop, sizes)
        got = interp.run(forced, inputs, sizes, strides)
        for have, want in zip(got, loop_interp.run(loop, inputs, sizes, strides)):
            samples.assert_close(have, want, "float32", 1e-5)


REDUCTIONS = """loop {
in0: float32
out0: float32
out1: float32
out2: float32
out3: int64
axes m0 m1
%%0 = load in0 [m0, m1] : float32
%%1 = reduce.%s %%0 over m0 : float32 [m1]
%%2 = reduce.%s %%0 over m0 m1 : float32 []
%%3 = index m0 : int64
store out0 [m1] %%1
store out1 [] %%2
store out2 [m0, m1] %%0
store out3 [m0] %%3
}"""


@pytest.mark.parametrize("op", ["sum", "mean", "prod", "max", "min"])
def test_a_reduction_of_one_element_is_that_element(op):
    loop = parse_loop(REDUCTIONS % (op, "max"))
    thin = without_axes(loop, {"m0"})
    assert [store.value for store in thin.stores] == ["0", "2", "0", "3"]
    assert thin.value("2").over == ("m1",) and isinstance(thin.value("3"), Const)
    row = np.float32([[-0.0, np.nan, -np.inf, 1e-45, 3.0]])
    outputs = loop_interp.run(thin, [row[0]], {"m0": 1, "m1": 5})
    assert outputs[0].tobytes() == outputs[2].tobytes() == row.tobytes()
    assert outputs[3].tolist() == [0] or outputs[3] == 0


def test_axes_that_the_run_time_table_speaks_of_stay():
    loop = parse_loop("""loop {
in0: float32
in1: float32
out0: float32
axes m0 m1 m2
%0 = load in0 [m0, m1, m2] : float32
%1 = inside 0 m0 : bool
%2 = load in1 [m0, m1, m2] moved when %1 : float32
%3 = add %0 %2 : float32 [m0, m1, m2]
store out0 [m0, m1, m2] %3
}""")
    assert without_axes(loop, {"m0"}) is None  # where the interval lies
    assert without_axes(loop, {"m2"}) is None  # how far apart elements along m1 are
    assert without_axes(loop, {"m1"}).value("2").walked == ("m0", "m2")


def test_forms_are_printed_and_read_back():
    kernel = made(row_and_column_sums)
    assert [thin.ones for thin in kernel.thin] == [("m0",), ("m1",)]
    verify(kernel)
    assert parse_kernel(print_kernel(kernel)) == kernel
    plain = replace(kernel, thin=())
    assert kernel_key(plain) != kernel_key(kernel)
    assert print_kernel(kernel).startswith(print_kernel(plain))
    with pytest.raises(IRError, match="no kernel"):
        parse_kernel(print_kernel(plain) + "thin m0\n")


def test_a_launch_takes_the_form_for_its_sizes():
    kernel = made(row_and_column_sums)
    keys = tiling_keys(kernel)
    assert [key.form for key in keys] == sorted(key.form for key in keys)
    for number, sizes in enumerate([{"m0": 7, "m1": 9}, {"m0": 1, "m1": 9}, {"m0": 7, "m1": 1}]):
        launch = tiling(kernel, sizes, None, CHIP.vector_cores)
        assert keys[launch.key].form == number
        assert len(launch.data) == 8 * len(tiling_fields(kernel))
        assert tiling(kernel, sizes, None, CHIP.vector_cores, variants=False).key == 0
        text = print_ascendc(kernel, CHIP, static=launch).text
        assert ("class Thin1" in text, "class Thin2" in text) == (number == 1, number == 2)
    text = print_ascendc(kernel, CHIP).text
    assert "// Thin1, where m0 has one point:" in text and "class Thin2Nest0" in text


def test_verifier_sees_a_form_that_is_none():
    kernel = made(row_and_column_sums)
    form = kernel.thin[0].kernel
    walks = replace(kernel, thin=(Thin(("m1",), form),))
    with pytest.raises(IRError, match="walks an axis of one point"):
        verify(walks)
    with pytest.raises(IRError, match="another interface"):
        verify(replace(kernel, thin=(Thin(("m0",), made(softmax)),)))
    with pytest.raises(IRError, match="for axes of one point"):
        verify(replace(kernel, thin=(Thin(("m0", "m1"), form),)))
