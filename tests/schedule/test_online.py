"""Reductions that follow others in one walk: how many walks, and the numbers of all variants."""
import itertools

import numpy as np
import pytest
from sweep.patterns import (
    COLS,
    DEPTH,
    ROWS,
    batch_norm_training,
    case,
    instance_norm,
    layer_norm,
    log_softmax,
    log_sum_exp,
    masked_softmax,
    moments,
    softmax,
    softmax_cross_entropy,
)

from tf_autofuse.kernel import interp
from tf_autofuse.kernel.verify import verify
from tf_autofuse.loop import interp as loop_interp
from tf_autofuse.loop.merge import merge_axes
from tf_autofuse.loop.spec import axis_sizes
from tf_autofuse.schedule import schedule
from tf_autofuse.schedule.online import plan_walks

WALKS = {
    softmax: 2, log_softmax: 2, layer_norm: 2, masked_softmax: 2, batch_norm_training: 2,
    instance_norm: 2, moments: 1, softmax_cross_entropy: 1, log_sum_exp: 1,
}


def merged(pattern, dtype):
    found = case(pattern, dtype)
    loop, groups = merge_axes(found.lowered.kernel)
    return found, loop, groups


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("pattern", WALKS, ids=lambda pattern: pattern.__name__)
def test_walks(pattern, dtype):
    kernel = schedule(merged(pattern, dtype)[1])
    assert len(plan_walks(kernel.loop, kernel.nests[0])) == WALKS[pattern]


def all_variants(pattern, dtype, change=None, cols=50, tile=(2, 7)):
    """(result of each variant, result of the loop interpreter), as float64 of the first output."""
    found, loop, groups = merged(pattern, dtype)
    kernel = schedule(loop)
    verify(kernel)
    known = {ROWS: 5, COLS: cols, DEPTH: 3}
    shapes = [[known.get(dim, dim) for dim in dims] for dims in found.dims]
    rng = np.random.RandomState(0)
    inputs = [rng.normal(size=shape).astype(dtype) for shape in shapes]
    if change is not None:
        change(inputs)
    unmerged = axis_sizes(found.lowered.kernel, shapes)
    sizes = dict.fromkeys(kernel.loop.axes, 1)
    for axis, group in zip(found.lowered.kernel.axes, groups):
        sizes[kernel.loop.axes[group]] *= unmerged[axis]
    want = loop_interp.run(found.lowered.kernel, inputs, unmerged)
    for chosen in itertools.product(*[range(len(v)) for v in kernel.variants]):
        if cols == 0 and kernel.variants[0][chosen[0]].variant == "resident":
            continue  # never taken for empty rows
        got = interp.run(kernel, inputs, sizes, None, [tile] * len(kernel.nests), chosen)
        for a, b in zip(got, want):
            yield a.astype(np.float64).reshape(b.shape), b.astype(np.float64)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("pattern", WALKS, ids=lambda pattern: pattern.__name__)
def test_variants_agree(pattern, dtype):
    tolerance = {"float32": 1e-5, "float16": 1e-2}[dtype]
    for got, want in all_variants(pattern, dtype):
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance * 0.1)


@pytest.mark.parametrize("pattern", [softmax, log_sum_exp, layer_norm, moments, log_softmax],
                         ids=lambda pattern: pattern.__name__)
def test_special_values(pattern):
    """A tile of -inf alone, a row of -inf alone, a late inf, a NaN."""
    def change(inputs):
        x = inputs[0]
        x[0, :21] = -np.inf
        x[1] = -np.inf
        x[2, 40] = np.inf
        x[3, 3] = np.nan

    for got, want in all_variants(pattern, "float32", change):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def test_a_sum_that_overflows():
    """The mean is then infinite, and so is the variance; with an infinite value it is NaN."""
    def change(inputs):
        x = inputs[0]
        x *= 0.0
        x[0] = 3e38
        x[1, 45:] = -3e38
        x[2, :2] = 3e38
        x[3] = 3e38
        x[3, 48] = np.inf
        x[4, 1] = np.inf

    for got, _ in list(all_variants(moments, "float32", change))[1::3]:
        np.testing.assert_array_equal(got[:, 0], [np.inf, np.inf, np.inf, np.nan, np.nan])


def test_no_point_at_all():
    for got, want in all_variants(log_sum_exp, "float32", cols=0):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("shift", [0.0, 1e3, 1e4])
def test_variance_far_from_zero(shift):
    """The digits of a variance do not suffer from a mean that moves or is large."""
    rng = np.random.RandomState(0)
    x = (rng.normal(size=(5, 50)) + shift).astype(np.float32)
    x[:, :7] += np.float32(shift / 100)
    exact = np.var(x.astype(np.float64), axis=1)

    def change(inputs):
        inputs[0][...] = x

    results = [got for got, _ in all_variants(moments, "float32", change)][1::3]
    for got in results:
        np.testing.assert_allclose(got.reshape(-1), exact, rtol=2e-6)
