"""Whole kernels on the twin: right numbers, GM bytes at the lower bound, several cores."""

import numpy as np
import pytest

from tf_autofuse.platforms import PLATFORMS
from tf_autofuse.runtime.twin import run_twin

from .kernels import ABS_RELU_EXP, ROW_SUM, int64s

CHIP = PLATFORMS["Ascend910B"]


@pytest.mark.parametrize("count,cores", [(1, 1), (33, 2), (128 * 192, 8), (70001, 5)])
def test_abs_relu_exp(count, cores):
    x = np.random.RandomState(0).uniform(-8, 8, count).astype(np.float16)
    tile = 2048
    per_block = -(-count // (cores * tile)) * tile
    cores = -(-count // per_block)
    done = run_twin(ABS_RELU_EXP, "abs_relu_exp", [x], [((count,), "float16")],
                    int64s(count, per_block, tile), cores, CHIP)
    expected = np.exp(np.abs(x).astype(np.float32)).astype(np.float16)
    ulps = np.abs(done.outputs[0].view(np.int16).astype(int) - expected.view(np.int16))
    assert ulps.max() <= 1
    assert done.gm_read[:2] == [2 * count, 0]
    assert done.gm_written[:2] == [0, 2 * count]
    assert done.vector_instructions == 5 * -(-count // tile)


def test_unchecked_run_gives_the_same():
    x = np.linspace(-4, 4, 5000).astype(np.float16)
    both = [
        run_twin(ABS_RELU_EXP, "abs_relu_exp", [x], [(x.shape, "float16")],
                 int64s(5000, 4096, 2048), 2, CHIP, check=check)
        for check in (True, False)
    ]
    np.testing.assert_array_equal(both[0].outputs[0], both[1].outputs[0])
    assert both[0].gm_read == both[1].gm_read


@pytest.mark.parametrize("shape,cores", [((1, 1), 1), ((7, 5), 1), ((64, 33), 4), ((19, 2050), 3)])
def test_row_sum(shape, cores):
    rows, columns = shape
    x = np.random.RandomState(1).standard_normal(shape).astype(np.float32)
    tile_rows = max(1, 8192 // (4 * columns + 32))
    per_block = -(-rows // (cores * tile_rows)) * tile_rows
    cores = -(-rows // per_block)
    done = run_twin(ROW_SUM, "row_sum", [x], [((rows,), "float32")],
                    int64s(rows, columns, per_block, tile_rows), cores, CHIP)
    np.testing.assert_allclose(done.outputs[0], x.astype(np.float64).sum(1), rtol=1e-5, atol=1e-4)
    assert done.gm_read[0] == x.nbytes and done.gm_written[1] == 4 * rows
