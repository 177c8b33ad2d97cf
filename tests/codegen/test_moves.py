"""Moved loads through every layer: loop and kernel interpreters, the CPU, and the twin."""
import numpy as np
import pytest
from kernel_forms import on_twin, run_all
from kernel_samples import random_array
from sweep.patterns import COLS, MATRIX, ROW, case
from sweep.runner import Sweep

from tf_autofuse.loop import interp
from tf_autofuse.loop.merge import merge_axes
from tf_autofuse.loop.spec import axis_sizes, shape_spec
from tf_autofuse.loop.text import parse_loop
from tf_autofuse.platforms import platform
from tf_autofuse.runtime.spec_text import SpecText
from tf_autofuse.schedule import schedule


def moved(dims, axes, dtype="float32"):
    """out = -in0 with in0 walked as `dims` say, over `axes`."""
    names = ", ".join(axes.split())
    return parse_loop("\n".join([
        "loop {", "in0: " + dtype, "out0: " + dtype, "axes " + axes,
        "%0 = load in0 [{}] moved : {}".format(dims, dtype),
        "%1 = neg %0 : {} [{}]".format(dtype, names),
        "store out0 [{}] %1".format(names), "}"]))


def added(left, right, axes):
    """out = in0 + in1"""
    names = ", ".join(axes.split())
    return parse_loop("\n".join([
        "loop {", "in0: float32", "in1: float32", "out0: float32", "axes " + axes,
        "%0 = load in0 [{}]{} : float32".format(*left),
        "%1 = load in1 [{}]{} : float32".format(*right),
        "%2 = add %0 %1 : float32 [{}]".format(names),
        "store out0 [{}] %2".format(names), "}"]))


def concat(dims, axes, along, sizes, dtype="float32"):
    """out = -in0 where `along` is below sizes[0], else in1 behind it."""
    names = ", ".join(axes.split())
    left, right = sizes
    one, two = (dims.replace(along, "%s[%s]" % (along, window)) for window in (
        "0|%d" % right, "%d|0" % left))
    return parse_loop("\n".join([
        "loop {", "in0: " + dtype, "in1: " + dtype, "out0: " + dtype, "axes " + axes,
        "interval 0|%d" % right, "interval %d|0" % left,
        "%0 = inside 0 {} : bool".format(along), "%1 = inside 1 {} : bool".format(along),
        "%2 = load in0 [{}] moved when %0 : {}".format(one, dtype),
        "%3 = neg %2 : {} [{}]".format(dtype, names),
        "%4 = load in1 [{}] moved when %1 : {}".format(two, dtype),
        "%5 = select %0 %3 %4 : {} [{}]".format(dtype, names),
        "store out0 [{}] %5".format(names), "}"]))


def packed(axes, new, outer):
    """out = in0 at point 0 of the axis `new`, in1 at point 1."""
    names = ", ".join(axes.split())
    return parse_loop("\n".join([
        "loop {", "in0: float32", "in1: float32", "out0: float32", "axes " + axes,
        "fixed {}=2".format(new), "interval 0|1", "interval 1|0",
        "%0 = inside 0 {} : bool".format(new), "%1 = inside 1 {} : bool".format(new),
        "%2 = load in0 [{}] when %0 : float32".format(outer),
        "%3 = load in1 [{}] when %1 : float32".format(outer),
        "%4 = select %0 %2 %3 : float32 [{}]".format(names),
        "store out0 [{}] %4".format(names), "}"]))


CASES = {
    "concat": (concat("a0, a1", "a0 a1", "a1", (37, 61)), [(20, 37), (20, 61)]),
    "concat_wide": (concat("a0, a1", "a0 a1", "a1", (40000, 21)), [(2, 40000), (2, 21)]),
    "concat_half": (concat("a0, a1", "a0 a1", "a1", (5, 12), "float16"), [(9, 5), (9, 12)]),
    "concat_rows": (concat("a0, a1", "a0 a1", "a0", (7, 30)), [(7, 33), (30, 33)]),
    "concat_outer": (concat("a0, a1, a2", "a0 a1 a2", "a0", (3, 2)), [(3, 5, 9), (2, 5, 9)]),
    "pack": (packed("a0 a1 a2", "a0", "a1, a2"), [(5, 9), (5, 9)]),
    "pack_middle": (packed("a0 a1 a2", "a1", "a0, a2"), [(9, 3000), (9, 3000)]),
    "pack_last": (packed("a0 a1", "a1", "a0"), [(500,), (500,)]),
    "transpose": (moved("a1, a0", "a0 a1"), [(70, 130)]),
    "transpose_short": (moved("a1, a0", "a0 a1"), [(3, 1000)]),
    "transpose_long": (moved("a1, a0", "a0 a1"), [(1000, 3)]),
    "transpose_half": (moved("a1, a0", "a0 a1", "float16"), [(70, 130)]),
    "transpose_bfloat16": (moved("a1, a0", "a0 a1", "bfloat16"), [(33, 17)]),
    "permute": (moved("a2, a0, a1", "a0 a1 a2"), [(5, 9, 11)]),
    "permute_outer": (moved("a1, a0, a2", "a0 a1 a2"), [(6, 7, 40)]),
    "slice": (moved("a0[2:-3:1], a1[1:30:1]", "a0 a1"), [(50, 40)]),
    "slice_front": (moved("a0[2:9:1], a1", "a0 a1"), [(50, 40)]),
    "steps": (moved("a0[::3]~, a1[1::2]~", "a0 a1"), [(50, 300)]),
    "reverse": (moved("a0[::-1]~, a1[::-1]~", "a0 a1"), [(20, 300)]),
    "reverse_rows": (moved("a0[::-1]~, a1", "a0 a1"), [(20, 33)]),
    "pick": (moved("a0~, -[2]", "a0"), [(500, 7)]),
    "pick_middle": (moved("a0~, -[-1], a1", "a0 a1"), [(30, 4, 50)]),
    "part": (moved("a0, a1[1of3]", "a0 a1"), [(30, 60)]),
    "empty": (moved("a0, a1[5:2:1]", "a0 a1"), [(30, 60)]),
    "one": (moved("a0[3:4:1], a1[5:6:1]", "a0 a1"), [(5, 9)]),
    "joined": (moved("a0[1:-1:1]*a1", "a0 a1"), [(62,), (20, 3)]),
    "neighbours": (added(("a0[1:9999:1], a1", " moved"), ("a0[:-1:1], a1", " moved"), "a0 a1"),
                   [(40, 30), (40, 30)]),
    "with_transposed": (added(("a0, a1", ""), ("a1, a0", " moved"), "a0 a1"),
                        [(40, 60), (60, 40)]),
    "row": (added(("a0, a1", ""), ("a1[::-2]~", " moved"), "a0 a1"), [(40, 60), (120,)]),
    "column": (added(("a0, a1", ""), ("a0[1::3]~", " moved"), "a0 a1"), [(40, 60), (119,)]),
}
CASES.pop("joined")  # its factors would be bound by a second input


@pytest.mark.parametrize("name", [
    "concat_half", "pack_last", "transpose_half", "permute", "slice", "reverse_rows", "empty",
    "column"])
def test_whole_blocks(name):
    """On a chip without padded copies."""
    loop, shapes = CASES[name]
    rng = np.random.RandomState(1)
    inputs = [random_array(rng, shape, param.dtype) for shape, param in zip(shapes, loop.inputs)]
    want = interp.run(loop, inputs, axis_sizes(loop, shapes))
    merged, groups = merge_axes(loop)
    bound = SpecText.parse(shape_spec(loop, groups)).bind(shapes)
    chip = platform("Ascend310P")
    twin = on_twin(schedule(merged, chip), inputs, bound, want, chip)
    np.testing.assert_array_equal(twin.outputs[0], want[0])


@pytest.mark.parametrize("name", sorted(CASES))
def test_every_form_moves_alike(name):
    run_all(*CASES[name])


def stacked(net):
    return [net("Pack", net("Relu", net.input(*MATRIX)), net("Neg", net.input(*MATRIX)), axis=1)]


def padded_row(net):
    return [net("Pad", net("Mul", net.input(1, COLS), net.input(*ROW)), params={1: (2, 1, 0, 0)})]


@pytest.mark.parametrize("chip", ["Ascend910B", "Ascend310P"])
@pytest.mark.parametrize("pattern", [stacked, padded_row])
def test_only_tiles_that_reach_into_an_interval_are_read(pattern, chip):
    outcome = Sweep(case(pattern), chip, "large").run("large")
    assert outcome.right and outcome.requests <= 1.02, outcome
