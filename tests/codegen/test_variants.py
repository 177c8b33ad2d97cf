"""Every variant of a nest on the twin in check mode, whatever the tiling would choose."""
from dataclasses import replace

import numpy as np
import pytest
from kernel_samples import random_array
from sweep.patterns import (
    COLS,
    ROWS,
    case,
    layer_norm,
    layer_norm_parameters_backward,
    moments,
    row_and_column_sums,
    softmax_cross_entropy,
)
from sweep.runner import launch, relative_error

from tf_autofuse.codegen.ascendc import print_ascendc
from tf_autofuse.loop import interp
from tf_autofuse.loop.merge import merge_axes
from tf_autofuse.loop.spec import axis_sizes
from tf_autofuse.platforms import platform
from tf_autofuse.schedule import schedule

CHIP = replace(platform("Ascend910B"), vector_cores=7)
TOLERANCE = {"float32": 3e-5, "float16": 4e-3}


@pytest.mark.parametrize("pattern, dtype", [
    (layer_norm, "float16"), (moments, "float32"), (softmax_cross_entropy, "float32"),
], ids=lambda value: getattr(value, "__name__", value))
def test_every_variant(pattern, dtype):
    found = case(pattern, dtype)
    loop = found.lowered.kernel
    kernel = schedule(merge_axes(loop)[0], CHIP)
    names = [program.variant for program in kernel.programs]
    assert {"stream", "resident", "split"} <= set(names)
    for program in kernel.programs:
        for rows, cols in ((3, 5003), (1, 30000)):
            if program.variant == "resident" and cols > 20000:
                continue  # does not fit UB
            _, error = run_variant(found, kernel, program, rows, cols)
            assert error <= TOLERANCE[dtype], (program.variant, rows, cols, error)


def run_variant(found, kernel, program, rows, cols):
    """What the twin saw of one program of a nest, and the largest relative error."""
    chosen = [v[0] if v[0].number != program.number else program for v in kernel.variants]
    alone = replace(kernel, programs=tuple(chosen))
    loop, known = found.lowered.kernel, {ROWS: rows, COLS: cols}
    shapes = [[known.get(dim, dim) for dim in dims] for dims in found.dims]
    rng = np.random.RandomState(0)
    inputs = [random_array(rng, s, p.dtype) for s, p in zip(shapes, loop.inputs)]
    want = interp.run(loop, inputs, axis_sizes(loop, shapes))
    chip = replace(platform(kernel.platform), vector_cores=7)
    sizes = dict(zip(kernel.loop.axes, (rows, cols)))
    result = launch(alone, print_ascendc(alone, chip), chip, inputs, sizes, None, want)
    error = max(relative_error(got, expected, p.dtype)
                for got, expected, p in zip(result.outputs, want, loop.outputs))
    return result, error


@pytest.mark.parametrize("chip, pattern, dtype", [
    ("Ascend910B", row_and_column_sums, "float32"),
    ("Ascend910B", layer_norm_parameters_backward, "float16"),
    ("Ascend950", layer_norm_parameters_backward, "float32"),
], ids=lambda value: getattr(value, "__name__", value))
def test_cores_share_rows_of_crossing_reductions(chip, pattern, dtype):
    found = case(pattern, dtype)
    kernel = schedule(merge_axes(found.lowered.kernel)[0], platform(chip))
    programs = [program for program in kernel.programs if program.strips]
    assert [p.variant for p in programs] == ["split", "shared"][:len(kernel.nests[0].passes)]
    for program in programs:
        for rows, cols in ((3, 5003), (1, 30000), (70, 1024)):
            _, error = run_variant(found, kernel, program, rows, cols)
            assert error <= TOLERANCE[dtype], (program.variant, rows, cols, error)
