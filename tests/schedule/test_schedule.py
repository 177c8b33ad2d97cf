"""Schedules: what the chip cannot do is refused with a reason, UB holds, tiling twins agree."""
import ctypes
import subprocess

import kernel_samples as samples
import numpy as np
import pytest

from tf_autofuse.errors import ScheduleError
from tf_autofuse.kernel.verify import verify
from tf_autofuse.platforms import PLATFORMS, platform
from tf_autofuse.schedule import schedule
from tf_autofuse.tiling import MAX_ROWS, coefficients, solve
from tf_autofuse.tiling.cpp import print_tiling, tiling_data, tiling_fields

KERNELS = {
    "pointwise": samples.abs_relu_exp(),
    "row": samples.abs_add_relu("m1"),
    "column": samples.abs_add_relu("m0"),
    "ar": samples.reduction("m0 m1", "m1", ("sum", "max")),
    "ra": samples.reduction("m0 m1", "m0"),
    "ara": samples.reduction("m0 m1 m2", "m1"),
    "softmax": samples.softmax("m1"),
    "three_nests": samples.bias_gradient_and_loss(),
    "run_time_broadcast": samples.run_time_broadcast(),
}
SIZES = [1, 2, 7, 31, 32, 33, 128, 192, 1000, 4096, 70001]


def shapes(rank, count=40):
    rng = np.random.RandomState(rank)
    return [tuple(rng.choice(SIZES, rank)) for _ in range(count)]


@pytest.mark.parametrize("name, template", [
    ("pointwise", "pointwise"), ("ar", "ar"), ("ra", "ra"), ("ara", "ara"),
])
def test_template_names(name, template):
    assert schedule(KERNELS[name]).programs[0].template == template


@pytest.mark.parametrize("name", sorted(KERNELS))
def test_buffers_fit_ub_for_every_shape(name):
    kernel = schedule(KERNELS[name])
    verify(kernel)
    for shape in shapes(len(kernel.loop.axes)):
        tilings, blocks = solve(kernel, samples.sizes_of(kernel.loop, *shape), 48)
        assert 1 <= blocks <= 48
        used = 0
        for program, tiling in zip(kernel.programs, tilings):
            c = coefficients(program)
            used += c.fixed + c.yx * tiling.ty * tiling.pitch + c.x * tiling.pitch
            used += c.y * tiling.ty
            assert 1 <= tiling.ty <= MAX_ROWS and tiling.pitch >= tiling.tx >= 1
            assert tiling.pitch * 4 % 32 == 0
        assert used <= PLATFORMS["Ascend910B"].ub_bytes


@pytest.mark.parametrize("name", sorted(KERNELS))
def test_python_and_cpp_tiling_agree(name, tmp_path):
    kernel = schedule(KERNELS[name])
    source = tmp_path / "tiling.cpp"
    source.write_text(print_tiling(kernel, "Tiling", "solve_tiling").replace(
        "int32_t solve_tiling", 'extern "C" int32_t solve_tiling'))
    library = tmp_path / "tiling.so"
    subprocess.check_call(["g++", "-O1", "-shared", "-fPIC", "-o", str(library), str(source)])
    function = ctypes.CDLL(str(library)).solve_tiling
    fields = tiling_fields(kernel)
    strides = [3] * sum(field.startswith("s") for field in fields)
    for shape in shapes(len(kernel.loop.axes)):
        for cores in (1, 48):
            data, blocks = tiling_data(kernel, samples.sizes_of(kernel.loop, *shape), strides,
                                       cores)
            out, got = (ctypes.c_int64 * len(fields))(), ctypes.c_int64()
            sizes = (ctypes.c_int64 * len(shape))(*[int(n) for n in shape])
            table = (ctypes.c_int64 * max(1, len(strides)))(*strides)
            assert function(sizes, table, ctypes.c_int64(cores), out, ctypes.byref(got)) == 0
            assert list(out) == list(np.frombuffer(data, np.int64))
            assert got.value == blocks


def test_all_cores_get_work():
    kernel = schedule(KERNELS["pointwise"])
    (tiling,), blocks = solve(kernel, {"m0": 1 << 22}, 48)
    assert blocks == 48
    assert tiling.tasks >= 48


def test_double_buffers_while_events_last():
    def add_inputs(count):
        lines = ["%{} = load in{} [m0] : float32".format(i, i) for i in range(count)]
        total, at = "0", count
        for i in range(1, count):
            lines.append("%{} = add %{} %{} : float32 [m0]".format(at, total, i))
            total, at = str(at), at + 1
        return samples.kernel(["float32"] * count, ["float32"], "m0", *(
            lines + ["store out0 [m0] %" + total]))

    assert schedule(add_inputs(4)).programs[0].queue_depth == 2
    assert schedule(add_inputs(8)).programs[0].queue_depth == 1
    with pytest.raises(ScheduleError, match="9 queue buffers in one direction"):
        schedule(add_inputs(9))


@pytest.mark.parametrize("loop, reason", [
    (samples.reduction("m0", "m0", ("sum",), "float64"), "the vector core has no float64"),
    (samples.kernel(["int64"], ["int64"], "m0", "%0 = load in0 [m0] : int64",
                    "%1 = add %0 %0 : int64 [m0]", "store out0 [m0] %1"),
     "no vector form of add for int64"),
    (samples.kernel(["float32"], ["float32"], "m0 m1", "%0 = load in0 [m0, m1] : float32",
                    "%1 = reduce.sum %0 over m1 : float32 [m0]",
                    "%2 = reduce.max %1 over m0 : float32 []", "store out0 [] %2"),
     "reductions over different axes: m0 and m1"),
])
def test_refusals_say_why(loop, reason):
    with pytest.raises(ScheduleError, match=reason):
        schedule(loop)


def test_unknown_platform_lists_the_known():
    with pytest.raises(ScheduleError, match="known: .*; did you mean Ascend910B"):
        platform("Ascend910b")
    with pytest.raises(ScheduleError, match="unknown platform 'x'"):
        schedule(samples.abs_relu_exp(), "x")


def test_more_live_values_than_ub_holds_are_refused():
    count = 400
    lines = ["%0 = load in0 [m0] : float32"]
    lines += ["%{} = exp %{} : float32 [m0]".format(i, i - 1) for i in range(1, count)]
    total, at = "0", count
    for i in range(1, count):
        lines.append("%{} = add %{} %{} : float32 [m0]".format(at, total, i))
        total, at = str(at), at + 1
    loop = samples.kernel(["float32"], ["float32"], "m0",
                          *(lines + ["store out0 [m0] %" + total]))
    with pytest.raises(ScheduleError, match="need more than the 188416 bytes of UB"):
        schedule(loop)
