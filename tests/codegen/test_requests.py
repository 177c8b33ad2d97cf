"""Bytes that a kernel requests and that memory delivers: the model against the twin."""
import kernel_samples as samples
import numpy as np
import pytest
from staged_samples import layer_norm_gradient, rows_and_columns

from tf_autofuse.codegen.ascendc import print_ascendc
from tf_autofuse.loop import interp
from tf_autofuse.platforms import platform
from tf_autofuse.runtime.twin import run_twin
from tf_autofuse.schedule import schedule
from tf_autofuse.tiling import solve
from tf_autofuse.tiling.cpp import tiling
from tf_autofuse.tiling.requests import bytes_read, input_times

CHIP = platform("Ascend910B")
CASES = [
    (samples.abs_relu_exp(), (70001,)), (samples.abs_add_relu("m1"), (2000, 192)),
    (samples.abs_add_relu("m1"), (3, 60001)), (samples.abs_add_relu("m0"), (333, 3000)),
    (samples.softmax("m1"), (64, 1000)), (samples.softmax("m1"), (5, 40000)),
    (samples.softmax("m0"), (40, 5000)), (samples.layer_norm(), (64, 1001)),
    (samples.layer_norm(), (50, 20000)), (samples.layer_norm("float16"), (5, 60000)),
    (samples.reduction("m0", "m0"), (1 << 18,)), (samples.reduction("m0 m1 m2", "m1"), (3, 50, 20)),
    (rows_and_columns(), (64, 1000)), (layer_norm_gradient(), (64, 1001)),
    (layer_norm_gradient(), (30, 30000)),
]

ROW_IN_A_WALK = samples.kernel(
    ["float32", "float32"], ["float32"], "m0 m1", "%0 = load in0 [m0, m1] : float32",
    "%1 = reduce.max %0 over m0 m1 : float32 []", "%2 = load in1 [m1] : float32",
    "%3 = sub %0 %1 : float32 [m0, m1]", "%4 = mul %3 %2 : float32 [m0, m1]",
    "store out0 [m0, m1] %4")


@pytest.mark.parametrize("loop, shape", CASES)
def test_model_counts_what_the_twin_counts(loop, shape):
    kernel = schedule(loop, CHIP)
    sizes = samples.sizes_of(kernel.loop, *shape)
    inputs, _ = samples.make_inputs(kernel.loop, sizes)
    want = interp.run(kernel.loop, inputs, sizes)
    source = print_ascendc(kernel, CHIP)
    launch = tiling(kernel, sizes, None, CHIP.vector_cores)
    outputs = [(w.shape, p.dtype) for w, p in zip(want, loop.outputs)]
    result = run_twin(source.text, source.entry, inputs, outputs, launch.data, launch.blocks, CHIP,
                      launch.workspace_bytes, False, launch.key)
    tilings, blocks = solve(kernel, sizes, CHIP.vector_cores)
    program = kernel.variants[0][tilings[0].variant]
    rows = bytes_read(program, tilings[0], sizes, blocks, [x.nbytes for x in inputs],
                      CHIP.l2_served_bytes)
    assert [round(r) for r, _ in rows] == result.gm_read[:len(inputs)]
    fetched = result.gm_fetched[:len(inputs)]
    for (_, have), count, array in zip(rows, fetched, inputs):
        assert array.nbytes <= count <= have <= max(count * 2, count + 4 * array.nbytes)


@pytest.mark.parametrize("shape", [(33, 1001), (5, 40000)])
def test_a_row_in_a_walk_is_read_once_a_walk(shape):
    """Where one core walks over everything, in strips of columns."""
    chip = platform("Ascend310P")
    kernel = schedule(ROW_IN_A_WALK, chip)
    sizes = samples.sizes_of(kernel.loop, *shape)
    inputs, _ = samples.make_inputs(kernel.loop, sizes)
    want = interp.run(kernel.loop, inputs, sizes)
    launch = tiling(kernel, sizes, None, chip.vector_cores)
    source = print_ascendc(kernel, chip)
    result = run_twin(source.text, source.entry, inputs, [(want[0].shape, "float32")], launch.data,
                      launch.blocks, chip, launch.workspace_bytes, True, launch.key)
    np.testing.assert_array_equal(result.outputs[0], want[0])
    tilings, _ = solve(kernel, sizes, chip.vector_cores)
    times = input_times(kernel.variants[0][tilings[0].variant], tilings[0], sizes, launch.blocks)
    assert times[1].requested == 1.0
    assert result.gm_read[1] <= 1.02 * inputs[1].nbytes
