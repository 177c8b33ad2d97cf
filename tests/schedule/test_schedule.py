"""Schedules: what the chip cannot do is refused with a reason, UB holds, tiling twins agree."""
import ctypes
import subprocess

import kernel_samples as samples
import numpy as np
import pytest
from staged_samples import layer_norm_gradient, rows_and_columns

from tf_autofuse.errors import ScheduleError
from tf_autofuse.kernel.ir import CopyIn, Loop, walk_steps
from tf_autofuse.kernel.layout import LANE_BYTES, UNIT, layout
from tf_autofuse.kernel.verify import verify
from tf_autofuse.loop.ir import Map
from tf_autofuse.platforms import PLATFORMS, platform
from tf_autofuse.schedule import schedule
from tf_autofuse.tiling import solve
from tf_autofuse.tiling.cpp import (
    print_tiling,
    table_fields,
    tiling,
    tiling_data,
    tiling_fields,
)
from tf_autofuse.tiling.model import MAX_ROWS

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
    "layer_norm": samples.layer_norm(),
    "full": samples.reduction("m0", "m0"),
}
STAGED = {"rows_and_columns": rows_and_columns(), "layer_norm_gradient": layer_norm_gradient()}
SIZES = [0, 1, 2, 7, 31, 32, 33, 128, 192, 1000, 4096, 70001]


def shapes(rank, count=40):
    rng = np.random.RandomState(rank)
    return [tuple(rng.choice(SIZES, rank)) for _ in range(count)]


@pytest.mark.parametrize("name, template", [
    ("pointwise", "pointwise"), ("ar", "ar"), ("ra", "ra"), ("ara", "ara"),
])
def test_template_names(name, template):
    assert schedule(KERNELS[name]).programs[0].template == template


def ub_bytes(program, tiling):
    """UB that the buffers of a program take with this tiling, as the printed Init asks for it."""
    def up(n):
        return -(-n // UNIT) * UNIT

    place = layout(program)
    e = place.total(tiling.depth) + place.kept.times(tiling.kept)
    assert (e.tile | e.row | e.column) % 2 == 0
    return (e.tile * up(tiling.ty * tiling.pitch) // 8 + e.row * up(tiling.pitch) // 8
            + e.column * up(tiling.ty) // 8 + e.lanes * tiling.ty * LANE_BYTES + e.fixed)


@pytest.mark.parametrize("chip", sorted(PLATFORMS))
@pytest.mark.parametrize("name", sorted(KERNELS) + sorted(STAGED))
def test_buffers_fit_ub_for_every_shape(name, chip):
    if name in STAGED and PLATFORMS[chip].sync_cycles == 0:
        pytest.skip("its cores cannot wait for each other")
    kernel = schedule(dict(KERNELS, **STAGED)[name], chip)
    verify(kernel)
    cores = PLATFORMS[chip].vector_cores
    for shape in shapes(len(kernel.loop.sized_axes)):
        sizes = samples.sizes_of(kernel.loop, *shape)
        form = kernel.at(sizes)
        tilings, blocks = solve(form, sizes, cores)
        assert 1 <= blocks <= cores
        for programs, t in zip(form.variants, tilings):
            assert 1 <= t.ty <= MAX_ROWS and t.pitch >= t.tx >= 1
            assert t.pitch * 4 % 32 == 0
            assert ub_bytes(programs[t.variant], t) <= PLATFORMS[chip].ub_bytes


@pytest.mark.parametrize("name", sorted(KERNELS) + sorted(STAGED))
def test_python_and_cpp_tiling_agree(name, tmp_path):
    kernel = schedule(dict(KERNELS, **STAGED)[name])
    source = tmp_path / "tiling.cpp"
    source.write_text(print_tiling(kernel, "Tiling", "solve_tiling").replace(
        "int32_t solve_tiling", 'extern "C" int32_t solve_tiling'))
    library = tmp_path / "tiling.so"
    subprocess.check_call(["g++", "-O1", "-Wall", "-Werror", "-shared", "-fPIC", "-o",
                           str(library), str(source)])
    function = ctypes.CDLL(str(library)).solve_tiling
    fields = tiling_fields(kernel)
    strides = [3] * len(table_fields(kernel))
    for shape in shapes(len(kernel.loop.sized_axes)):
        for cores in (1, 7, 48):
            want = tiling(kernel, samples.sizes_of(kernel.loop, *shape), strides, cores)
            out, launch = (ctypes.c_int64 * len(fields))(), (ctypes.c_int64 * 3)()
            sizes = (ctypes.c_int64 * len(shape))(*[int(n) for n in shape])
            table = (ctypes.c_int64 * max(1, len(strides)))(*strides)
            assert function(sizes, table, ctypes.c_int64(cores), out, launch) == 0
            assert dict(zip(fields, out)) == dict(zip(fields, np.frombuffer(want.data, np.int64)))
            assert list(launch) == [want.blocks, want.key, want.workspace_bytes]


def busy_share(tiling, cores):
    """Work over what the cores could do while the last one works."""
    units = tiling.tasks * tiling.parts
    return units / float(cores * -(-units // cores))


@pytest.mark.parametrize("name, shape", [
    ("pointwise", (1 << 22,)), ("pointwise", (5000003,)), ("row", (4096, 1000)),
    ("row", (64, 50000)), ("column", (70001, 33)), ("ar", (4096, 1000)), ("ar", (8, 1 << 20)),
    ("ra", (1 << 16, 64)), ("ra", (300, 1 << 16)), ("full", (1 << 22,)), ("softmax", (8192, 1000)),
    ("softmax", (4, 1 << 20)), ("layer_norm", (10000, 768)),
])
def test_cores_are_busy_and_ub_is_used_on_large_tensors(name, shape):
    kernel = schedule(KERNELS[name])
    (t,), blocks = solve(kernel, samples.sizes_of(kernel.loop, *shape), 48)
    assert blocks >= 44
    assert busy_share(t, 48) > 0.9
    walked = t.parts > 1 or name in ("ar", "ra")
    if not walked:
        assert ub_bytes(kernel.variants[0][t.variant], t) > 0.7 * 184 * 1024


def test_variants():
    def names(loop, chip="Ascend910B"):
        return [[p.variant for p in programs] for programs in schedule(loop, chip).variants]

    assert names(samples.abs_relu_exp()) == [["stream"]]
    assert names(samples.softmax("m1")) == [
        ["stream", "resident", "split", "kept", "shared"]]
    assert names(samples.softmax("m1"), "Ascend310P") == [
        ["stream", "resident", "kept"]]
    assert names(samples.reduction("m0", "m0")) == [["stream", "split"]]
    assert names(samples.bias_gradient_and_loss()) == [["stream", "split"]] * 2
    kernel = schedule(samples.softmax("m1"))
    taken = [solve(kernel, samples.sizes_of(kernel.loop, *shape), 48)[0][0].variant
             for shape in ((64, 1000), (40, 40000), (4, 30000), (4, 800000), (500, 200000))]
    assert [kernel.programs[v].variant for v in taken] == [
        "resident", "kept", "shared", "split", "stream"]
    data, blocks = tiling_data(kernel, samples.sizes_of(kernel.loop, 64, 1000), None, 48)
    assert np.frombuffer(data, np.int64)[0] == 0 and blocks >= 32


def test_reducing_both_tile_axes_folds_whole_tiles():
    loop = samples.kernel(
        ["float32", "float32"], ["float32"], "m0 m1", "%0 = load in0 [m0, m1] : float32",
        "%1 = load in1 [m1] : float32", "%2 = mul %0 %1 : float32 [m0, m1]",
        "%3 = reduce.sum %2 over m0 m1 : float32 []", "store out0 [] %3")
    kernel = schedule(loop)
    program = kernel.programs[0]
    assert [b.dtype for b in program.buffers if b.shape == "lane"] == ["float32"]
    tilings, _ = solve(kernel, samples.sizes_of(kernel.loop, 1 << 16, 64), 48)
    assert tilings[0].ty * tilings[0].tx > 4096


def test_values_common_to_tasks_are_held():
    def holds(loop, variant=0):
        program = schedule(loop).programs[variant]
        return [s.axes for s in walk_steps(program.steps)
                if isinstance(s, Loop) and s.kind == "hold"]

    assert holds(samples.abs_add_relu("m1")) == [("m1",)]
    assert holds(samples.abs_add_relu("m0")) == []
    assert holds(samples.layer_norm(), variant=1) == [()]


def add_inputs(count, outputs=1):
    """Sums of `count` inputs, one of them per output."""
    lines = ["%{} = load in{} [m0] : float32".format(i, i) for i in range(count)]
    total, at = "0", count
    for i in range(1, count):
        lines.append("%{} = add %{} %{} : float32 [m0]".format(at, total, i))
        total, at = str(at), at + 1
    stores = ["store out{} [m0] %{}".format(i, at - 1 - i) for i in range(outputs)]
    return samples.kernel(["float32"] * count, ["float32"] * outputs, "m0", *(lines + stores))


def test_a_row_that_all_rows_of_a_walk_need_is_held():
    """x * weights over all rows and columns: the walk goes down a strip of columns."""
    loop = samples.kernel(
        ["float32", "float32"], ["float32"], "m0 m1", "%0 = load in0 [m0, m1] : float32",
        "%1 = load in1 [m1] : float32", "%2 = neg %1 : float32 [m1]",
        "%3 = mul %0 %2 : float32 [m0, m1]", "%4 = reduce.sum %3 over m0 m1 : float32 []",
        "store out0 [] %4")
    stream = schedule(loop).programs[0]
    walk = next(s for s in walk_steps(stream.steps) if isinstance(s, Loop) and s.kind == "walk")
    hold = walk.body[0]
    assert walk.axes == ("m1", "m0")
    assert (hold.kind, hold.axes) == ("hold", ("m1",))
    assert [getattr(step, "input", None) or step.op for step in hold.body] == [1, "muls"]
    # Cores that share the walk take neighbouring strips.
    split = next(p for p in schedule(loop).programs if p.variant == "split")
    assert hold.axes in [s.axes for s in walk_steps(split.steps)
                         if isinstance(s, Loop) and s.kind == "hold"]


def test_a_strip_holds_the_row_that_its_rows_have_in_common():
    loop = samples.kernel(
        ["float32", "float32"], ["float32", "float32"], "m0 m1",
        "%0 = load in0 [m0, m1] : float32", "%1 = load in1 [m1] : float32",
        "%2 = mul %0 %1 : float32 [m0, m1]", "%3 = reduce.sum %2 over m1 : float32 [m0]",
        "%4 = reduce.sum %2 over m0 : float32 [m1]", "store out0 [m0] %3", "store out1 [m1] %4")
    program = next(p for p in schedule(loop).programs if p.strips)
    strips = next(s for s in walk_steps(program.steps)
                  if isinstance(s, Loop) and s.kind == "strips")
    assert [step.input for step in strips.body if isinstance(step, CopyIn)] == [1]


def test_inputs_are_packed_into_one_queue():
    queues = layout(schedule(add_inputs(20, 10)).programs[0]).queues
    assert [(q.name, q.double, q.extent.row) for q in queues] == [
        ("blockIn", True, 20 * 32), ("out", True, 32)]


@pytest.mark.parametrize("loop, reason", [
    (samples.reduction("m0", "m0", ("sum",), "float64"), "the vector core has no float64"),
    (samples.kernel(["int64"], ["int64"], "m0", "%0 = load in0 [m0] : int64",
                    "%1 = add %0 %0 : int64 [m0]", "store out0 [m0] %1"),
     "no vector form of add for int64"),
])
def test_refusals_say_why(loop, reason):
    with pytest.raises(ScheduleError, match=reason):
        schedule(loop)


@pytest.mark.parametrize("lines, reason", [
    # The sum of a vector that does not lie along the rows that it is taken to
    (("%0 = load in0 [m0] : float32", "%1 = load in1 [m0, m1] : float32",
      "%2 = reduce.sum %0 over m0 : float32 []", "%3 = mul %1 %2 : float32 [m0, m1]",
      "store out0 [m0, m1] %3"), "reduces a value smaller than the loop"),
    # A row of a tile that is reduced to columns
    (("%0 = load in0 [m0] : float32", "%1 = load in1 [m0, m1] : float32",
      "%2 = reduce.sum %1 over m1 : float32 [m0]", "%3 = reduce.sum %2 over m0 : float32 []",
      "%4 = mul %0 %3 : float32 [m0]", "store out0 [m0] %4"), "reductions over different axes"),
])
def test_what_takes_several_stages_is_refused_where_cores_cannot_wait(lines, reason):
    loop = samples.kernel(["float32"] * 2, ["float32"], "m0 m1", *lines)
    assert schedule(loop, "Ascend910B").programs
    with pytest.raises(ScheduleError, match=reason):
        schedule(loop, "Ascend310P")


def test_unknown_platform_lists_the_known():
    with pytest.raises(ScheduleError, match="known: .*; did you mean Ascend910B"):
        platform("Ascend910b")
    with pytest.raises(ScheduleError, match="unknown platform 'x'"):
        schedule(samples.abs_relu_exp(), "x")


def sum_of_exps(order, count=400):
    """The sum of exp(x), exp(exp(x)), ..., in some order."""
    lines = ["%0 = load in0 [m0] : float32"]
    lines += ["%{} = exp %{} : float32 [m0]".format(i, i - 1) for i in range(1, count)]
    total, at = "0", count
    for i in order(range(1, count)):
        lines.append("%{} = add %{} %{} : float32 [m0]".format(at, total, i))
        total, at = str(at), at + 1
    return samples.kernel(["float32"], ["float32"], "m0",
                          *(lines + ["store out0 [m0] %" + total]))


def test_values_are_computed_when_they_are_needed_if_ub_has_no_room():
    kernel = schedule(sum_of_exps(iter))
    ops = [value.op for value in kernel.loop.body if isinstance(value, Map)]
    assert ops == ["exp", "add"] * 399
    few = schedule(sum_of_exps(iter, 4)).loop.body
    assert [value.op for value in few if isinstance(value, Map)] == ["exp"] * 3 + ["add"] * 3


def test_more_live_values_than_ub_holds_are_refused():
    with pytest.raises(ScheduleError, match="need more than the 188416 bytes of UB"):
        schedule(sum_of_exps(reversed))
