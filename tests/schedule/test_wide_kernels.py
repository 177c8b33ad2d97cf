"""Kernels with more inputs, values and outputs than anybody counts: UB is the only limit."""
import pytest
from sweep.patterns import COLUMN, MATRIX, ROW, Net

from tf_autofuse.cluster.legal import check
from tf_autofuse.loop.merge import merge_axes
from tf_autofuse.platforms import PLATFORMS
from tf_autofuse.schedule import schedule


def sum_of_scaled(net):
    """All products are there before the sum is: they wait one at a time."""
    return [net("Abs", net("AddN", *[net("Mul", net.input(*MATRIX), 2.0) for _ in range(200)]))]


def chain_over_inputs(net):
    y = net.input(*MATRIX)
    for _ in range(199):
        y = net("Add", net("Mul", y, 0.5), net.input(*MATRIX))
    return [y]


def long_chain(net):
    x = y = net.input(*MATRIX)
    for number in range(500):
        y = net(("Add", "Mul", "Maximum")[number % 3], y, x)
    return [y]


def outputs(net):
    x = net.input(*MATRIX)
    return [net("Exp", net("Mul", x, float(number))) for number in range(60)]


def rows_beside_each_other(net):
    x = net.input(*MATRIX)
    return [net("Relu", net("Add", x, net.input(*ROW))) for _ in range(40)]


def row_statistics(net):
    x = net.input(*MATRIX)
    return [net.reduce("Sum", net("Square", net("Sub", x, net.input(*COLUMN))))
            for _ in range(40)]


WIDE = (sum_of_scaled, chain_over_inputs, long_chain, outputs, rows_beside_each_other,
        row_statistics)


@pytest.mark.parametrize("build", WIDE, ids=lambda build: build.__name__)
@pytest.mark.parametrize("chip", sorted(PLATFORMS))
def test_wide_graphs_are_one_kernel(build, chip):
    net = Net("float32")
    lowered = net.lowered(*build(net))
    _, nests = check(lowered.kernel)
    kernel = schedule(merge_axes(lowered.kernel)[0], chip)
    assert len(nests) == 1 and {program.number for program in kernel.programs} == {0}
