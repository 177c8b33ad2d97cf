"""Every variant of a nest on the twin in check mode, whatever the tiling would choose."""
from dataclasses import replace

import numpy as np
import pytest
from kernel_samples import random_array
from sweep.patterns import COLS, ROWS, case, layer_norm, moments, softmax_cross_entropy
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
        alone = replace(kernel, programs=(program,))
        source = print_ascendc(alone, CHIP)
        for rows, cols in ((3, 5003), (1, 30000)):
            known = {ROWS: rows, COLS: cols}
            shapes = [[known.get(dim, dim) for dim in dims] for dims in found.dims]
            rng = np.random.RandomState(0)
            inputs = [random_array(rng, s, p.dtype) for s, p in zip(shapes, loop.inputs)]
            want = interp.run(loop, inputs, axis_sizes(loop, shapes))
            sizes = dict(zip(kernel.loop.axes, (rows, cols)))
            if program.variant == "resident" and cols > 20000:
                continue  # does not fit UB
            result = launch(alone, source, CHIP, inputs, sizes, None, want)
            for got, expected in zip(result.outputs, want):
                error = relative_error(got, expected, dtype)
                assert error <= TOLERANCE[dtype], (program.variant, rows, cols, error)
