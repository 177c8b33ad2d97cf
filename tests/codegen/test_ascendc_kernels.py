"""Ascend C kernels: run on the twin in check mode against the loop interpreter; golden texts."""
import os

import kernel_samples as samples
import numpy as np
import pytest
from staged_samples import STAGED

from tf_autofuse.codegen.ascendc import print_ascendc
from tf_autofuse.errors import ScheduleError
from tf_autofuse.kernel.layout import MATH_SCRATCH, buffer_extent, layout
from tf_autofuse.loop import interp
from tf_autofuse.platforms import Platform, platform
from tf_autofuse.runtime.twin import run_twin
from tf_autofuse.schedule import schedule
from tf_autofuse.tiling.cpp import tiling

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
    "layer_norm": (samples.layer_norm(), [(50, 40), (3, 20000), (1, 1)]),
    "layer_norm_bfloat16": (samples.layer_norm("bfloat16"), [(50, 40)]),
    "three_nests": (samples.bias_gradient_and_loss(), [(50, 40)]),
}
KERNELS.update(
    (name, (loop, [(7, 3, 90)] if len(loop.axes) > 2 else [(130, 1001), (3, 20000)]))
    for name, loop in STAGED.items())


def run(loop, shape, cores=CHIP.vector_cores, narrow=(), target="op", variants=True, chip=CHIP):
    """Twin result and interpreter outputs."""
    kernel = schedule(loop, chip)
    source = print_ascendc(kernel, chip, target=target)
    sizes = samples.sizes_of(kernel.loop, *shape)
    inputs, strides = samples.make_inputs(kernel.loop, sizes, narrow)
    want = interp.run(kernel.loop, inputs, sizes)
    launch = tiling(kernel, sizes, strides, cores, variants)
    outputs = [(w.shape, p.dtype) for w, p in zip(want, loop.outputs)]
    result = run_twin(source.text, source.entry, inputs, outputs, launch.data, launch.blocks, chip,
                      launch.workspace_bytes, tiling_key=launch.key)
    return result, want


def check(loop, *args, **options):
    """Run on the twin and compare; the twin's result."""
    result, want = run(loop, *args, **options)
    for have, expected, param in zip(result.outputs, want, loop.outputs):
        samples.assert_close(have, expected, param.dtype, 2e-5, 5e-6)
    return result


@pytest.mark.parametrize("name", sorted(KERNELS))
def test_kernel_on_the_twin(name):
    loop, shapes = KERNELS[name]
    for shape in shapes:
        check(loop, shape, 1)
        check(loop, shape)


@pytest.mark.parametrize("name", [
    "softmax", "full", "three_nests", "rows_and_columns", "centred_twice", "layer_norm_gradient"])
def test_first_variants_and_the_by_value_entry(name):
    loop, shapes = KERNELS[name]
    for shape in shapes:
        check(loop, shape, variants=False)
        check(loop, shape, target="rtc")


@pytest.mark.parametrize("target", ["op", "rtc"])
def test_static_text_has_its_sizes_inside(target):
    loop, shape = samples.softmax("m1"), (50, 40)
    kernel = schedule(loop)
    sizes = samples.sizes_of(kernel.loop, *shape)
    launch = tiling(kernel, sizes, None, 4)
    source = print_ascendc(kernel, CHIP, target=target, static=launch)
    assert "Nest0Resident" in source.text and "Nest0Stream" not in source.text
    inputs, _ = samples.make_inputs(loop, sizes)
    (want,) = interp.run(kernel.loop, inputs, sizes)
    junk = b"\x7f" * len(launch.data)
    result = run_twin(source.text, source.entry, inputs, [(shape, "float32")], junk, launch.blocks,
                      CHIP)
    samples.assert_close(result.outputs[0], want, "float32", 2e-5)


@pytest.mark.parametrize("name, chip", [
    (name, chip) for name in ("row", "ar", "softmax", "layer_norm")
    for chip in ("Ascend950", "Ascend310P")
] + [(name, "Ascend310P") for name in (
    "abs_relu_exp", "column", "ra", "full", "narrow", "ara", "rar", "int", "softmax_columns",
    "three_nests")])
def test_other_chips(name, chip):
    loop, shapes = KERNELS[name]
    for shape in shapes:
        check(loop, shape, cores=8, chip=platform(chip))


@pytest.mark.parametrize("shape", [(1, 7), (5, 8), (19, 3), (40, 5), (130, 17), (9, 1001)])
def test_rows_shorter_than_a_block_on_several_cores(shape):
    """Without DataCopyPad; the twin refuses cores that share a line of the scalar unit's cache."""
    for name in ("row", "ar", "ra", "softmax", "softmax_columns"):
        for cores in (1, 3, 8):
            check(KERNELS[name][0], shape, cores=cores, chip=platform("Ascend310P"))


@pytest.mark.parametrize("shape", [(7,), (8,), (33,), (9999,)])
def test_bytes_without_padded_copies(shape):
    loop = samples.kernel(["uint8"], ["uint8"], "m0", "%0 = load in0 [m0] : uint8",
                          "store out0 [m0] %0")
    check(loop, shape, cores=8, chip=platform("Ascend310P"))


@pytest.mark.parametrize("loop", [samples.softmax("m1"), samples.softmax("m0"),
                                  samples.layer_norm()])
@pytest.mark.parametrize("shape", [(64, 1000), (64, 1001)])
def test_resident_rows_are_read_once(loop, shape):
    result = check(loop, shape, cores=1)
    inputs, _ = samples.make_inputs(loop, samples.sizes_of(loop, *shape))
    assert result.gm_read[:len(inputs)] == [x.nbytes for x in inputs]


def test_a_held_row_is_read_once_per_core():
    result = check(samples.abs_add_relu("m1"), (2000, 192), cores=4)
    assert result.gm_read[1] == 4 * 192 * 4


def test_a_split_reads_its_input_once_per_pass():
    result = check(samples.reduction("m0", "m0"), (1 << 20,))
    assert result.gm_read[0] == 4 << 20


@pytest.mark.parametrize("axes, over, shape", [
    ("m0", "m0", (1 << 21,)), ("m0 m1", "m0", (100000, 16)), ("m0 m1", "m1", (2, 1 << 20)),
])
@pytest.mark.parametrize("cores", [1, 48])
def test_long_sums_stay_accurate(axes, over, shape, cores):
    loop = samples.reduction(axes, over)
    (x,), _ = samples.make_inputs(loop, samples.sizes_of(loop, *shape))
    exact = np.abs(x).sum(axis=axes.split().index(over), dtype=np.float64)
    result, _ = run(loop, shape, cores)
    assert np.max(np.abs(result.outputs[0] - exact) / exact) < 1e-6


@pytest.mark.parametrize("cores, variants", [(1, False), (48, True)])
def test_long_rows_stay_accurate_in_one_walk(cores, variants):
    """Statistics that move along are no less accurate than float32 sums taken at once."""
    shape = (3, 100000)
    x, gamma, beta = samples.make_inputs(samples.layer_norm(), {"m0": 3, "m1": 100000})[0]
    wide = x.astype(np.float64)
    result, want = run(samples.layer_norm(), shape, cores, variants=variants)
    centred = wide - wide.mean(1, keepdims=True)
    exact = centred / np.sqrt(wide.var(1, keepdims=True) + 1e-3) * gamma + beta
    ours, theirs = (np.abs(y - exact).max() for y in (result.outputs[0], want[0]))
    assert ours <= max(1.2 * theirs, 2e-6)
    powers = np.exp(wide - wide.max(1, keepdims=True))
    exact = powers / powers.sum(1, keepdims=True)
    result, _ = run(samples.softmax("m1"), shape, cores, variants=variants)
    assert np.max(np.abs(result.outputs[0] - exact) / exact) < 1.5e-6


def test_many_inputs_and_outputs():
    lines = ["%{} = load in{} [m0] : float32".format(i, i) for i in range(20)]
    lines += ["%{} = add %{} %{} : float32 [m0]".format(20 + i, i, i + 1) for i in range(19)]
    lines += ["store out{} [m0] %{}".format(i, 20 + i) for i in range(19)]
    check(samples.kernel(["float32"] * 20, ["float32"] * 19, "m0", *lines), (5000,), cores=3)


def test_one_kernel_serves_every_shape():
    loop = samples.layer_norm()
    rng = np.random.RandomState(0)
    for _ in range(50):
        shape = (int(rng.randint(1, 60)), int(rng.choice([1, 7, 64, 100, 333, 1000, 9000])))
        check(loop, shape, cores=int(rng.choice([1, 5, 48])))


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


@pytest.mark.parametrize("name", ["abs_relu_exp", "row", "ar", "softmax"])
def test_golden_text(name):
    """The text is stable; AUTOFUSE_UPDATE_GOLDEN=1 writes it anew."""
    text = print_ascendc(schedule(KERNELS[name][0]), CHIP, name).text
    assert max(map(len, text.splitlines())) <= 100
    path = os.path.join(GOLDEN, name + ".cpp.txt")
    if os.environ.get("AUTOFUSE_UPDATE_GOLDEN") == "1":
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    with open(path, encoding="utf-8") as file:
        assert file.read() == text


def shifted(op, dtype):
    """out = op(in0 + in1) with in1 along the rows, in float32 whatever the tensors are."""
    return samples.kernel(
        [dtype] * 2, [dtype], "m0 m1",
        "%0 = load in0 [m0, m1] : " + dtype,
        "%1 = load in1 [m1] : " + dtype,
        "%2 = cast %0 : float32 [m0, m1]",
        "%3 = cast %1 : float32 [m1]",
        "%4 = add %2 %3 : float32 [m0, m1]",
        "%5 = {} %4 : float32 [m0, m1]".format(op),
        "%6 = cast %5 : {} [m0, m1]".format(dtype),
        "store out0 [m0, m1] %6",
    )


CALLS = {"floor": "RoundMode::CAST_FLOOR", "ceil": "RoundMode::CAST_CEIL",
         "rint": "RoundMode::CAST_RINT", "trunc": "RoundMode::CAST_TRUNC", "erf": "AscendC::Erf(",
         "erfc": "AscendC::Erfc(", "sin": "AscendC::Sin(", "cos": "AscendC::Cos("}


@pytest.mark.parametrize("op, dtype", [(op, "float32") for op in sorted(CALLS)] + [
    ("erf", "float16"), ("floor", "float16"), ("erfc", "bfloat16"), ("rint", "bfloat16")])
def test_calls_of_the_chip(op, dtype):
    loop = shifted(op, dtype)
    assert CALLS[op] in print_ascendc(schedule(loop), CHIP).text
    for shape in [(128, 192), (1, 1), (33, 1001), (3, 20001)]:
        check(loop, shape)


@pytest.mark.parametrize("op, size", [("erfc", MATH_SCRATCH), ("sin", MATH_SCRATCH), ("rint", 0)])
def test_only_calls_that_want_scratch_take_ub(op, size):
    for program in schedule(shifted(op, "float32")).programs:
        place = layout(program)
        slots = sum(b.fixed for b in map(buffer_extent, {
            b.slot: b for b in program.buffers if b.position == "VECCALC"}.values()))
        assert place.arena.fixed - slots == size
        assert ("math" in place.scratch) == (size > 0)


def test_kernel_for_another_chip_is_refused():
    other = Platform("Other", npu_arch=1, ub_bytes=65536, vector_cores=1)
    with pytest.raises(ScheduleError, match="scheduled for Ascend910B, not for Other"):
        print_ascendc(schedule(samples.abs_relu_exp()), other)
