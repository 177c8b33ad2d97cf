"""Vector forms of operations: by the kernel interpreter and, all in one kernel, on the twin."""
import kernel_samples as samples
import numpy as np
import pytest
from scalar_kernels import EDGES, one_op

from tf_autofuse.codegen.ascendc import print_ascendc
from tf_autofuse.errors import ScheduleError
from tf_autofuse.kernel import interp as kernel_interp
from tf_autofuse.loop import interp
from tf_autofuse.loop.functions import REAL_FUNCTIONS
from tf_autofuse.platforms import platform
from tf_autofuse.runtime.twin import run_twin
from tf_autofuse.schedule import schedule
from tf_autofuse.schedule.expand import missing_instruction
from tf_autofuse.schedule.forms import REAL_FORMS
from tf_autofuse.tiling.cpp import tiling

COMPOSED = sorted(name for name in REAL_FORMS if name in REAL_FUNCTIONS)


def operands(count):
    values = np.concatenate([EDGES, np.linspace(-30, 30, 81), [1e-6, -1e-6, -0.5, 0.99, 1e4]])
    with np.errstate(over="ignore"):
        values = values.astype(np.float32)
    values = values[(np.abs(values) > 1e-19) | (values == 0) | np.isnan(values)]
    if count == 1:
        return [values]
    # Intermediate float32 results may overflow or vanish where the function does not.
    values = values[(np.abs(values) < 80) | ~np.isfinite(values)]
    return [grid.ravel().copy() for grid in np.meshgrid(values, values)]


def assert_near(got, want, units=16):
    """Equal NaN, infinities and zeros; else a few units apart."""
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    with np.errstate(invalid="ignore", over="ignore"):
        apart = np.abs(got - want) > units * np.spacing(np.abs(want)) + 1e-37
    bad = apart & np.isfinite(want)
    assert not bad.any(), (got[bad][:5], want[bad][:5])
    np.testing.assert_array_equal(got[np.isinf(want)], want[np.isinf(want)])


@pytest.mark.parametrize("op", COMPOSED)
def test_composed_form(op):
    count = REAL_FUNCTIONS[op][0]
    loop = one_op(op, "float32", "float32", count)
    assert not missing_instruction(loop)
    arrays = operands(count)
    sizes = {"m0": len(arrays[0])}
    (want,) = interp.run(loop, arrays, sizes)
    with np.errstate(all="ignore"):
        (got,) = kernel_interp.run(schedule(loop), arrays, sizes)
    assert_near(got, want)


@pytest.mark.parametrize("op", COMPOSED)
def test_composed_form_on_the_twin(op):
    count = REAL_FUNCTIONS[op][0]
    loop = one_op(op, "float32", "float32", count)
    chip = platform("Ascend910B")
    kernel = schedule(loop, chip)
    source = print_ascendc(kernel, chip)
    arrays = operands(count)
    sizes = samples.sizes_of(kernel.loop, len(arrays[0]))
    (want,) = interp.run(kernel.loop, arrays, sizes)
    launch = tiling(kernel, sizes, [], 4, True)
    result = run_twin(source.text, source.entry, arrays, [(want.shape, "float32")], launch.data,
                      launch.blocks, chip, launch.workspace_bytes, tiling_key=launch.key)
    assert_near(result.outputs[0], want)


@pytest.mark.parametrize("op, zeros", [("floor", [-0.0]), ("ceil", [-0.0, -0.3]),
                                       ("rint", [-0.0, -0.5, -0.2]), ("trunc", [-0.0, -0.9]),
                                       ("erf", [-0.0])])
def test_negative_zeros_stay(op, zeros):
    loop = one_op(op, "float32", "float32")
    array = np.array(zeros + [0.0], np.float32)
    sizes = {"m0": len(array)}
    (want,) = interp.run(loop, [array], sizes)
    (got,) = kernel_interp.run(schedule(loop), [array], sizes)
    np.testing.assert_array_equal(np.signbit(got), np.signbit(want))
    assert np.signbit(got).tolist() == [True] * len(zeros) + [False]


@pytest.mark.parametrize("op", ["floor", "ceil", "rint", "trunc"])
def test_a_chip_that_does_not_round_float32(op):
    loop = one_op(op, "float32", "float32")
    with pytest.raises(ScheduleError, match="no vector form of [a-z]+ on Ascend310P"):
        schedule(loop, "Ascend310P")
    schedule(loop, "Ascend950")


def test_what_is_missing_is_named():
    assert missing_instruction(one_op("tan", "float32", "float32")) == (
        "no vector form of tan for float32")
    assert missing_instruction(one_op("add", "float64", "float64", 2)) == (
        "the vector core has no float64")
    assert missing_instruction(one_op("floor_div", "int32", "int32", 2)) == (
        "no vector form of floor_div for int32")
    assert missing_instruction(samples.reduction("m0 m1", "m1", ("sum",), "int64")) != ""
    assert missing_instruction(samples.reduction("m0 m1", "m1", ("sum",))) == ""
