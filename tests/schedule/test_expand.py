"""Vector forms of operations: by the kernel interpreter and, all in one kernel, on the twin."""
import kernel_samples as samples
import numpy as np
import pytest
from scalar_kernels import EDGES, one_op
from vector_kernels import many, on_the_twin

from tf_autofuse.codegen.ascendc import print_ascendc
from tf_autofuse.kernel import interp as kernel_interp
from tf_autofuse.loop import interp
from tf_autofuse.loop.functions import REAL_FUNCTIONS
from tf_autofuse.platforms import platform
from tf_autofuse.schedule import schedule
from tf_autofuse.schedule.expand import missing_instruction
from tf_autofuse.schedule.forms import REAL_FORMS

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


def groups(names, size=8):
    return [names[at:at + size] for at in range(0, len(names), size)]


@pytest.mark.parametrize("chip", ["Ascend910B", "Ascend950", "Ascend310P"])
@pytest.mark.parametrize("ops", [
    g for count in (1, 2) for g in groups([op for op in COMPOSED if REAL_FUNCTIONS[op][0] == count])
])
def test_composed_forms_on_the_twin(ops, chip):
    count = REAL_FUNCTIONS[ops[0]][0]
    got, want = on_the_twin(many(ops, "float32", count), operands(count), platform(chip))
    for op, have, expected in zip(ops, got, want):
        print(op)  # which one, when it fails
        assert_near(have, expected)


# Largest errors in units of the last place: those of TensorFlow 2.21, or less where it can be.
UNITS = {"sinh": 1.76, "cosh": 1.02, "asinh": 1.56, "acosh": 1.94, "atanh": 1.53, "expm1": 1.01,
         "elu": 1.01, "log1p": 1.7, "rsqrt": 2.03, "tanh": 0.51, "erf": 0.51}


def test_composed_forms_are_as_accurate_as_tensorflow():
    rng = np.random.RandomState(0)
    small = 10 ** rng.uniform(-8, 0, 6000)
    values = np.concatenate([rng.uniform(-10, 10, 6000), rng.uniform(-88, 88, 2000), small, -small,
                             1 - small, 1 + small, 10 ** rng.uniform(0, 30, 2000)])
    values = values.astype(np.float32)
    got, _ = on_the_twin(many(list(UNITS), "float32", 1), [values], platform("Ascend910B"))
    for op, have in zip(UNITS, got):
        with np.errstate(all="ignore"):
            exact = REAL_FUNCTIONS[op][1](values.astype(np.float64))
            unit = np.spacing(np.abs(exact).astype(np.float32)).astype(np.float64)
            error = np.abs(have - exact) / unit
        finite = (np.abs(exact) < 3e38) & (np.abs(exact) > 1e-37)
        assert finite.sum() > 10000
        assert error[finite].max() <= UNITS[op], (op, error[finite].max())


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
    """By way of int32, with the signs of zeros and whatever is too large for it."""
    chip = platform("Ascend310P")
    kernel = schedule(one_op(op, "float32", "float32"), chip)
    text = print_ascendc(kernel, chip).text
    assert "Cast(" in text and "int32_t" in text
    array = np.array([-0.0, 0.0, -0.3, 0.3, 2.5, -2.5, 1e9, -3e9, 1e30, np.inf, -np.inf, np.nan,
                      8388607.5, -8388609.0], np.float32)
    sizes = {"m0": len(array)}
    (want,) = interp.run(kernel.loop, [array], sizes)
    (got,) = kernel_interp.run(kernel, [array], sizes)
    np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(np.signbit(got)[:-3], np.signbit(want)[:-3])


def test_what_is_missing_is_named():
    assert missing_instruction(one_op("lgamma", "float32", "float32")) == (
        "no vector form of lgamma for float32")
    assert missing_instruction(one_op("add", "float64", "float64", 2)) == (
        "the vector core has no float64")
    assert missing_instruction(one_op("floor_div", "int64", "int64", 2)) == (
        "no vector form of floor_div for int64")
    assert missing_instruction(samples.reduction("m0 m1", "m1", ("sum",), "int64")) != ""
    assert missing_instruction(samples.reduction("m0 m1", "m1", ("sum",))) == ""
