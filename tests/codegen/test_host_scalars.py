"""Scalar functions of csrc/host through one-operation kernels."""
import kernel_samples as samples
import numpy as np
import pytest
from scalar_kernels import EDGES, one_op, run

from tf_autofuse.loop import interp

EXACT = {
    "exp": np.exp, "log": np.log, "tanh": np.tanh, "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x), "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
}


@pytest.mark.parametrize("op", sorted(EXACT))
def test_float32_function_rounds_like_the_exact_one(op):
    """Error below one unit over the whole range; special values as IEEE 754.

    Results below the normal numbers may be 0: TensorFlow's threads flush them.
    """
    rng = np.random.RandomState(3)
    wide = rng.uniform(-110, 110, 40000)
    tiny = np.exp(rng.uniform(-80, 80, 20000)) * rng.choice([-1, 1], 20000)
    with np.errstate(over="ignore"):
        x = np.concatenate([EDGES, wide, tiny, rng.normal(size=20000)]).astype(np.float32)
    got = run(one_op(op, "float32", "float32"), x)
    with np.errstate(all="ignore"):
        exact = EXACT[op](x.astype(np.float64))
        rounded = exact.astype(np.float32)
    special = ~np.isfinite(rounded) | (rounded == 0)
    np.testing.assert_array_equal(got[special], rounded[special])
    np.testing.assert_array_equal(np.signbit(got[rounded == 0]), np.signbit(rounded[rounded == 0]))
    normal = ~special & ((np.abs(rounded) >= np.finfo(np.float32).tiny) | (got != 0))
    error = np.abs(got[normal] - exact[normal]) / np.spacing(np.abs(rounded[normal]))
    assert error.max() <= 1.0


def test_float16_conversions_are_those_of_numpy():
    bits = np.arange(65536, dtype=np.uint16)
    half = bits.view(np.float16)
    widened = run(one_op("cast", "float16", "float32"), half)
    np.testing.assert_array_equal(widened, half.astype(np.float32))
    rng = np.random.RandomState(5)
    near = half[np.isfinite(half)].astype(np.float64)
    x = np.concatenate([near * (1 + rng.uniform(-1, 1, near.size) * 2.0 ** -11), EDGES, [65519.99,
                        65520.0, 65536.0, 2.0 ** -25, 2.0 ** -25 * 1.0001, 2.0 ** -14]])
    with np.errstate(over="ignore"):
        x = x.astype(np.float32)
        want = x.astype(np.float16)
    got = run(one_op("cast", "float32", "float16"), x)
    number = ~np.isnan(want)
    np.testing.assert_array_equal(got.view(np.uint16)[number], want.view(np.uint16)[number])
    assert np.isnan(got[~number]).all()


@pytest.mark.parametrize("source", ["float32", "float16", "bfloat16", "int32", "bool", "float32"])
@pytest.mark.parametrize("target", ["float32", "float16", "bfloat16", "int32", "bool"])
def test_cast_between(source, target):
    if source == target:
        pytest.skip("not a cast")
    x = samples.random_array(np.random.RandomState(2), (1000,), source)
    if source == "float32":
        with np.errstate(over="ignore"):
            x[:len(EDGES)] = np.array(EDGES, np.float32)
    loop = one_op("cast", source, target)
    want = interp.run(loop, [x], {"m0": 1000})[0]
    np.testing.assert_array_equal(run(loop, x), want)


def test_integers_wrap():
    low, high = np.iinfo(np.int32).min, np.iinfo(np.int32).max
    a = np.array([high, low, low, 123456789, -7], np.int32)
    b = np.array([1, 1, -1, 987654321, 3], np.int32)
    with np.errstate(over="ignore"):
        for op, function in (("add", np.add), ("sub", np.subtract), ("mul", np.multiply)):
            np.testing.assert_array_equal(run(one_op(op, "int32", "int32", 2), a, b),
                                          function(a, b))
        for op, function in (("neg", np.negative), ("abs", np.abs)):
            np.testing.assert_array_equal(run(one_op(op, "int32", "int32"), a), function(a))


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("op", ["max", "min", "gt", "le", "eq", "ne"])
def test_order_of_nan_and_signed_zero(op, dtype):
    values = np.array([np.nan, 0.0, -0.0, 1.0, -1.0, np.inf, -np.inf], np.float32)
    a, b = [interp.encode(grid.reshape(-1), dtype) for grid in np.meshgrid(values, values)]
    loop = one_op(op, dtype, "bool" if op not in ("max", "min") else dtype, 2)
    want = interp.run(loop, [a, b], {"m0": len(a)})[0]
    got = run(loop, a, b)
    number = ~np.isnan(interp.decode(want, dtype)) if op in ("max", "min") else slice(None)
    np.testing.assert_array_equal(got[number].view(np.uint8), want[number].view(np.uint8))
    np.testing.assert_array_equal(interp.decode(got, loop.outputs[0].dtype),
                                  interp.decode(want, loop.outputs[0].dtype))


@pytest.mark.parametrize("middle", ["int32", "int64", "int16"])
def test_the_integer_zero_has_no_sign(middle):
    loop = samples.kernel(
        ["float16"], ["float32"], "m0",
        "%0 = load in0 [m0] : float16",
        "%1 = cast %0 : float32 [m0]",
        "%2 = cast %1 : {} [m0]".format(middle),
        "%3 = cast %2 : float32 [m0]",
        "store out0 [m0] %3",
    )
    x = np.array([-0.3, 0.3, -0.0, 1.7, -1.7] * 8, np.float16)
    got = run(loop, x)
    np.testing.assert_array_equal(got, np.trunc(x.astype(np.float32)))
    assert not np.signbit(got[got == 0]).any()
