"""On large tensors cores have work and UB is used, whatever the kernel, the shape and the chip."""
from dataclasses import replace

import kernel_samples as samples
import pytest
from staged_samples import layer_norm_gradient, rows_and_columns
from sweep.patterns import PATTERNS, case
from tiling_samples import SHAPES, kernels

from tf_autofuse.errors import ScheduleError
from tf_autofuse.kernel.ir import Finish, walk_steps
from tf_autofuse.kernel.layout import LANE_BYTES, UNIT, layout
from tf_autofuse.loop.merge import merge_axes
from tf_autofuse.platforms import PLATFORMS
from tf_autofuse.schedule import schedule
from tf_autofuse.tiling import extents, form, partial_results, rates, solve
from tf_autofuse.tiling.cost import FINE
from tf_autofuse.tiling.price import priced

WORK = 128 * 1024
"""Bytes of the largest tensor for each core from which on a tensor is large."""


def ub_share(program, t, chip):
    """UB that the buffers of a program take with this tiling, over what there is."""
    def up(n):
        return -(-n // UNIT) * UNIT

    place = layout(program)
    e = place.total(t.depth) + place.kept.times(t.kept)
    taken = (e.tile * up(t.ty * t.pitch) // 8 + e.row * up(t.pitch) // 8
             + e.column * up(t.ty) // 8 + e.lanes * t.ty * LANE_BYTES + e.fixed)
    return taken / float(chip.ub_bytes)


def patterns():
    """The kernels of the sweep on the twin."""
    return {pattern.__name__: merge_axes(case(pattern, "float32").lowered.kernel)[0]
            for pattern in PATTERNS}


def large_tilings(chip, loops):
    """(busy share of the cores, share of UB, whether cores may share a walk, name, shape)"""
    for name, loop in sorted(loops.items()):
        if any(p.dtype not in chip.dtypes | {"bool"} for p in loop.inputs):
            continue
        try:
            kernel = schedule(loop, chip)
        except ScheduleError as error:
            assert "different axes" in error.message or "smaller" in error.message
            continue
        for shape in SHAPES[len(loop.axes)]:
            points = 1
            for size in shape:
                points *= size
            if points * 4 < chip.vector_cores * WORK:
                continue
            tilings, _ = solve(kernel, samples.sizes_of(kernel.loop, *shape), chip.vector_cores)
            for variants, t in zip(kernel.variants, tilings):
                if variants[0].nest.stage > 0:
                    continue  # what stages hand on is small
                units = t.tasks * t.parts
                waves = -(-units // chip.vector_cores)
                program = variants[t.variant]
                free = not program.nest.reduced or chip.has_sync
                yield (units / float(waves * chip.vector_cores), ub_share(program, t, chip), free,
                       name, shape)


@pytest.mark.parametrize("loops", [kernels, patterns])
@pytest.mark.parametrize("chip", sorted(PLATFORMS))
def test_cores_have_work_and_ub_is_used(chip, loops):
    found = list(large_tilings(PLATFORMS[chip], loops()))
    assert len(found) > 100
    assert all(share <= 1.0 for _, share, _, _, _ in found)
    # Without SyncAll cores cannot share the walk of one task.
    idle = [row for row in found if row[2] and row[0] < 0.9]
    assert len(idle) <= len(found) // 50, idle
    short = [row for row in found if row[1] < 0.7]
    assert len(short) <= len(found) // 8, short


@pytest.mark.parametrize("chip", ["Ascend910B", "Ascend950"])
@pytest.mark.parametrize("loop, shape, variant", [
    (rows_and_columns(), (4, 100000), "split"), (rows_and_columns(), (1, 1 << 20), "split"),
    (layer_norm_gradient(), (4, 100000), "shared"), (layer_norm_gradient(), (5, 40000), "shared"),
])
def test_few_long_rows_with_column_reductions_keep_cores_busy(chip, loop, shape, variant):
    cores = PLATFORMS[chip].vector_cores
    kernel = schedule(loop, chip)
    tilings, blocks = solve(kernel, samples.sizes_of(kernel.loop, *shape), cores)
    t = tilings[0]
    assert kernel.variants[0][t.variant].variant == variant
    groups = partial_results(kernel, tilings, blocks)
    assert groups <= shape[0] and groups * t.parts > 0.9 * min(cores, blocks)
    work = -(-groups * t.parts // cores) * -(-t.tasks // groups)
    assert t.tasks * t.parts > 0.75 * cores * work


@pytest.mark.parametrize("chip", ["Ascend910B", "Ascend950"])
@pytest.mark.parametrize("loop, shape, most", [
    (samples.layer_norm(), (1, 1000000), 1.25), (samples.softmax("m0"), (100000, 8), 1.2),
    (layer_norm_gradient(), (2, 300000), 1.8), (samples.reduction("m0", "m0"), (1 << 20,), 1.1),
])
def test_partial_results_of_many_cores_are_combined_at_once(chip, loop, shape, most):
    kernel, cores = schedule(loop, chip), PLATFORMS[chip].vector_cores
    tilings, _ = solve(kernel, samples.sizes_of(kernel.loop, *shape), cores)
    program, t = kernel.variants[0][tilings[0].variant], tilings[0]
    assert program.variant in ("split", "shared")
    f, n = form(program, PLATFORMS[chip]), extents(program, samples.sizes_of(kernel.loop, *shape))
    parts = range(24, 36), range(44, 48)  # the lines of what is gathered
    alone = replace(f, lines=tuple(0 if at in parts[0] or at in parts[1] else value
                                   for at, value in enumerate(f.lines)))
    whole, least = (priced(g, n, cores, t.depth, t.ty, t.tx, t.parts, rates(PLATFORMS[chip]), 0)
                    for g in (f, alone))
    assert t.parts >= cores // 3 and whole.cost < most * least.cost


@pytest.mark.parametrize("chip, blocks", [("Ascend910B", True), ("Ascend310P", True),
                                          ("Ascend950", False)])
def test_short_rows_are_reduced_by_blocks_where_that_is_faster(chip, blocks):
    kernel, cores = schedule(samples.softmax("m1"), chip), PLATFORMS[chip].vector_cores
    finishes = [step for program in kernel.programs for step in walk_steps(program.steps)
                if isinstance(step, Finish)]
    assert finishes and all(step.blocks == blocks for step in finishes)
    tilings, _ = solve(kernel, samples.sizes_of(kernel.loop, 100000, 8), cores)
    bytes_moved = 2 * 4 * 100000 * 8
    assert tilings[0].cost / FINE < 2.5 * bytes_moved / PLATFORMS[chip].gm_rate


@pytest.mark.parametrize("chip, over, shape, variant", [
    ("Ascend910B", "m1", (8, 100000), "split"), ("Ascend910B", "m0", (4096, 768), "split"),
    ("Ascend950", "m0", (4096, 768), "split"), ("Ascend910B", "m1", (4, 30000), "shared"),
])
def test_a_read_more_is_better_than_to_wait_for_all_cores_once_more(chip, over, shape, variant):
    """Softmax of few long rows: rows that fit one core are read once all the same."""
    kernel, cores = schedule(samples.softmax(over), chip), PLATFORMS[chip].vector_cores
    tilings, _ = solve(kernel, samples.sizes_of(kernel.loop, *shape), cores)
    assert kernel.variants[0][tilings[0].variant].variant == variant
