"""Ascend C kernels: run on the twin in check mode against the loop interpreter; golden texts."""
import os

import kernel_samples as samples
import numpy as np
import pytest

from tf_autofuse.codegen.ascendc import print_ascendc
from tf_autofuse.errors import ScheduleError
from tf_autofuse.loop import interp
from tf_autofuse.platforms import Platform, platform
from tf_autofuse.runtime.twin import run_twin
from tf_autofuse.schedule import schedule
from tf_autofuse.tiling.cpp import tiling_data

CHIP = platform("Ascend910B")
GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden")
KERNELS = {
    "abs_relu_exp": (samples.abs_relu_exp(), [(128 * 192,), (1,), (33,), (300001,)]),
    "bfloat16": (samples.abs_relu_exp("bfloat16"), [(999,)]),
    "row": (samples.abs_add_relu("m1"), [(128, 192), (1, 1), (3, 60001), (333, 3)]),
    "column": (samples.abs_add_relu("m0"), [(128, 192), (1, 1), (3, 60001), (333, 3)]),
    "ar": (samples.reduction("m0 m1", "m1", ("sum", "max")),
           [(128, 192), (1, 1), (333, 3), (4, 0)]),
    "ra": (samples.reduction("m0 m1", "m0", ("sum", "min")), [(128, 192), (1, 1), (333, 3)]),
    "full": (samples.reduction("m0", "m0", ("sum", "max", "prod")), [(1,), (70001,)]),
    "narrow": (samples.reduction("m0 m1", "m1", ("max", "min"), "float16"), [(9, 199)]),
    "ara": (samples.reduction("m0 m1 m2", "m1"), [(3, 50, 20)]),
    "rar": (samples.reduction("m0 m1 m2", "m0 m2"), [(7, 3, 70)]),
    "int": (samples.reduction("m0 m1", "m1", ("sum", "max", "prod"), "int32"), [(9, 100)]),
    "softmax": (samples.softmax("m1"), [(1, 1), (50, 40), (3, 50000)]),
    "softmax_columns": (samples.softmax("m0"), [(40, 50)]),
    "three_nests": (samples.bias_gradient_and_loss(), [(50, 40)]),
}


def run(loop, shape, cores=CHIP.vector_cores, narrow=()):
    """Twin result and interpreter outputs."""
    kernel = schedule(loop)
    source = print_ascendc(kernel, CHIP)
    sizes = samples.sizes_of(kernel.loop, *shape)
    inputs, strides = samples.make_inputs(kernel.loop, sizes, narrow)
    want = interp.run(kernel.loop, inputs, sizes)
    data, blocks = tiling_data(kernel, sizes, strides, cores)
    outputs = [(w.shape, p.dtype) for w, p in zip(want, loop.outputs)]
    return run_twin(source.text, source.entry, inputs, outputs, data, blocks, CHIP), want


@pytest.mark.parametrize("name", sorted(KERNELS))
def test_kernel_on_the_twin(name):
    loop, shapes = KERNELS[name]
    for shape in shapes:
        for cores in (1, CHIP.vector_cores):
            result, want = run(loop, shape, cores)
            for have, expected, param in zip(result.outputs, want, loop.outputs):
                samples.assert_close(have, expected, param.dtype, 2e-5)


@pytest.mark.parametrize("narrow", [(), (1,), (2,), (1, 2)])
def test_run_time_broadcast(narrow):
    result, want = run(samples.run_time_broadcast(), (9, 70), 4, narrow)
    for have, expected in zip(result.outputs, want):
        np.testing.assert_array_equal(have, expected)


@pytest.mark.parametrize("name", ["abs_relu_exp", "ar"])
def test_global_memory_is_read_once(name):
    loop = KERNELS[name][0]
    shape = (128, 192)[-len(loop.axes):]
    result, want = run(loop, shape, cores=1)
    inputs, _ = samples.make_inputs(loop, samples.sizes_of(loop, *shape))
    assert result.gm_written[len(inputs):len(inputs) + len(want)] == [w.nbytes for w in want]
    assert result.gm_read[:len(inputs)] == [x.nbytes for x in inputs]


@pytest.mark.parametrize("name", ["abs_relu_exp", "row", "ar"])
def test_golden_text(name):
    """The text is stable; AUTOFUSE_UPDATE_GOLDEN=1 writes it anew."""
    text = print_ascendc(schedule(KERNELS[name][0]), CHIP, name).text
    path = os.path.join(GOLDEN, name + ".cpp.txt")
    if os.environ.get("AUTOFUSE_UPDATE_GOLDEN") == "1":
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    with open(path, encoding="utf-8") as file:
        assert file.read() == text


def test_kernel_for_another_chip_is_refused():
    other = Platform("Other", npu_arch=1, ub_bytes=65536, vector_cores=1)
    with pytest.raises(ScheduleError, match="scheduled for Ascend910B, not for Other"):
        print_ascendc(schedule(samples.abs_relu_exp()), other)
