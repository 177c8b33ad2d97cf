"""Small outputs that join a larger nest, and reductions that wait for earlier stages: everything is
read once, and nothing is missing where an axis is empty."""
import numpy as np
import pytest
from sweep.patterns import COLUMN, MATRIX, ROW, case
from sweep.runner import SHAPES, Sweep, launch

from tf_autofuse.codegen.host import print_host
from tf_autofuse.kernel.text import parse_kernel, print_kernel
from tf_autofuse.loop import interp

CHIP = "Ascend910B"


def column_and_matrix(net):
    column = net.input(*COLUMN)
    return [net("Relu", column), net("Mul", net.input(*MATRIX), column)]


def column_and_row_sums(net):
    column = net.input(*COLUMN)
    return [net("Neg", column), net.reduce("Sum", net("Mul", net.input(*MATRIX), column))]


def column_after_a_stage(net):
    column, x = net.input(*COLUMN), net.input(*MATRIX)
    return [net("Relu", column), net("Mul", net("Mul", x, column), net.reduce("Max", column, 0))]


def sums_after_a_stage(net):
    x, most = net.input(*MATRIX), net.reduce("Max", net.input(*COLUMN), 0)
    shifted = net("Mul", x, most)
    return [net.reduce("Sum", shifted, 0), net.reduce("Mean", shifted, 0, 1)]


NESTS = {column_and_matrix: 1, column_and_row_sums: 1, column_after_a_stage: 2,
         sums_after_a_stage: 3}


@pytest.mark.parametrize("pattern", NESTS, ids=lambda pattern: pattern.__name__)
def test_inputs_are_read_once(pattern):
    sweep = Sweep(case(pattern), CHIP)
    assert len(sweep.kernel.variants) == NESTS[pattern]
    for shape in sorted(SHAPES):
        outcome = sweep.run(shape)
        assert outcome.right and outcome.sparing, outcome


def test_a_small_output_of_an_empty_walk_is_written():
    sweep = Sweep(case(column_and_matrix), CHIP)
    loop = sweep.case.lowered.kernel
    inputs = [np.float32([[-1], [2], [-3]]), np.zeros((3, 0), "float32")]
    sizes = dict(zip(loop.axes, (3, 0)))
    want = interp.run(loop, inputs, sizes)
    sizes = dict(zip(sweep.kernel.loop.axes, (3, 0)))
    result = launch(sweep.kernel, sweep.source, sweep.chip, inputs, sizes, None, want)
    np.testing.assert_array_equal(result.outputs[0], [[0], [2], [0]])


def test_columns_are_not_walked_for_a_row():
    def row_and_matrix(net):
        row = net.input(*ROW)
        return [net("Relu", row), net("Mul", net.input(*MATRIX), row)]

    assert len(Sweep(case(row_and_matrix), CHIP).kernel.variants) == 2


def scalar_and_matrix(net):
    scalar = net.input()
    return [net("Square", scalar), net("Mul", net.input(*MATRIX), scalar)]


@pytest.mark.parametrize("pattern, chip, nests", [
    (scalar_and_matrix, CHIP, 2),  # would leave one task
    (column_and_matrix, "Ascend310P", 2),  # a task for each row, which cores cannot share
    (column_and_row_sums, "Ascend310P", 1),  # rows are tasks anyway
])
def test_cores_keep_their_work(pattern, chip, nests):
    sweep = Sweep(case(pattern), chip)
    assert len(sweep.kernel.variants) == nests
    assert parse_kernel(print_kernel(sweep.kernel)) == sweep.kernel
    assert sweep.run("odd").right


def test_joined_kernels_are_read_back_and_leave_the_host_as_it_was():
    kernel = Sweep(case(column_and_matrix), CHIP).kernel
    assert parse_kernel(print_kernel(kernel)) == kernel
    assert "nest1" in print_host(kernel)
