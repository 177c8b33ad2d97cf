"""Numbers at the ends of their types, roundings that were written, long sums, many dims."""
import numpy as np
import pytest
import tensorflow as tf
from harness import MODERN, ZERO_SIGNS, check, run_fused, run_graph, sample
from opcheck import FLOATS, INTEGERS
from tensorflow.python.ops import gen_math_ops as math_ops
from tensorflow.python.ops import gen_nn_ops as nn_ops

import tf_autofuse

pytestmark = pytest.mark.e2e

NUMPY_FLOATS = [dtype for dtype in FLOATS if dtype != "bfloat16"]


def ends(dtype):
    """Largest and smallest normal numbers, one and its neighbours, zeros and limits."""
    info = np.finfo(dtype)
    values = [info.max, info.max / 2, np.sqrt(info.max), info.tiny, info.tiny * 1.5,
              np.sqrt(info.tiny), 1, 1 + info.eps, 1 - info.eps / 2, 0, np.inf]
    return np.array(values + [-value for value in values] + [np.nan] * ZERO_SIGNS, dtype)


def every_pair(values):
    return [part.ravel().copy() for part in np.meshgrid(values, values)]


@pytest.mark.parametrize("dtype", NUMPY_FLOATS)
def test_the_ends_of_a_type_in_arithmetic(dtype):
    def build(x, y):
        return [x + y, x - y, x * y, tf.abs(x), tf.negative(y), tf.square(x), x / y,
                tf.math.squared_difference(x, y), tf.where(x > y, x, y), tf.sign(x)]

    # Products that are no normal number are 0 in TensorFlow's threads, or not, by the vector lane.
    x, y = every_pair(ends(dtype))
    with np.errstate(all="ignore"):
        wide, other = x.astype(np.longdouble), y.astype(np.longdouble)
        tiny = np.finfo(dtype).tiny
        results = [wide + other, wide - other, wide * other, wide / other, wide * wide,
                   (wide - other) ** 2]
    usual = np.all([(r == 0) | ~(np.abs(r) < tiny * 1.01) for r in results], axis=0)
    check(build, [x[usual], y[usual]], composed=False)


@pytest.mark.parametrize("dtype", NUMPY_FLOATS)
def test_the_ends_of_a_type_in_functions(dtype):
    x = ends(dtype)
    x = x[np.abs(x) != np.sqrt(np.finfo(dtype).tiny)]
    check(lambda x: [tf.sqrt(tf.abs(x)), tf.tanh(x), tf.sigmoid(x), nn_ops.softsign(x),
                     tf.math.log(tf.abs(x)), tf.floor(x), tf.math.is_finite(x)],
          [x[(np.abs(x) > np.finfo(dtype).tiny * 2) | (x == 0) | np.isnan(x)]])


@pytest.mark.skipif(not ZERO_SIGNS, reason="older kernels compute 0 - x, which is 0 in threads")
@pytest.mark.parametrize("dtype", ["float32", "float16", "float64"])
def test_numbers_below_the_normal_ones(dtype):
    """They pass through what moves and picks; what computes may take them for 0, as TensorFlow's
    threads do."""
    info = np.finfo(dtype)
    tiny = info.tiny * np.array([0.5, 0.25, 1 / 64, 1], dtype)
    x = np.concatenate([tiny, -tiny, [0, -0.0, 1, -2]]).astype(dtype)
    assert np.all(tiny != 0)

    def build(x):
        return [tf.negative(x), tf.abs(x), tf.reverse(tf.negative(x), [0]),
                tf.where(tf.range(12) % 2 == 0, x, tf.negative(x))]

    tf_autofuse.disable()
    expected = run_graph(build, [x])
    got, used = run_fused(build, [x])
    assert used
    for ours, theirs in zip(got, expected):
        np.testing.assert_array_equal(ours.view("u%d" % ours.itemsize),
                                      theirs.view("u%d" % ours.itemsize))


@pytest.mark.parametrize("dtype", ["float16"] + ["bfloat16"] * MODERN)
def test_every_rounding_that_was_written_is_kept(dtype):
    x, y, z = (sample((97,), dtype, seed, special=False) for seed in (1, 2, 3))
    check(lambda x, y: [x + y - x, x * y / y, (x + y) - (x - y), tf.sqrt(tf.square(x))], [x, y])
    check(lambda x, y, z: [x * y + z, tf.cast(tf.cast(x * y, "float32"), x.dtype) + z], [x, y, z])


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_wrap(dtype):
    info = np.iinfo(dtype)
    x, y = every_pair(np.array([info.min, info.min + 1, 0, 1, info.max // 2 + 1, info.max], dtype))
    both = [x, y]
    check(lambda x, y: [x + y, x - y, x * y, tf.maximum(x, y)], both)
    if info.min < 0 and dtype not in ("int8", "int16"):
        check(lambda x, y: [tf.negative(x), tf.abs(x), tf.square(y)], both)
    check(lambda x, y: [tf.reduce_sum(tf.maximum(x, y)), tf.reduce_prod(tf.maximum(x, y))], both)


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_signs_of_floor_and_mod(dtype):
    values = np.array([-7, -6, -4, -3, -1, 1, 3, 4, 6, 7], dtype)
    check(lambda x, y: [math_ops.floor_div(x, y), math_ops.floor_mod(x, y),
                        math_ops.truncate_mod(x, y), x - y], every_pair(values))


def test_a_sum_of_float16_beyond_its_largest_number():
    """The sum is infinite, the mean is not; half of the numbers negative, the sum is exact."""
    x = np.full((3, 70000), 2, "float16")
    x[1, ::2] = -2
    x[2] = 0.5
    (total, mean, norm), used = run_fused(
        lambda x: [tf.reduce_sum(tf.abs(x) * tf.sign(x), axis=1),
                   tf.reduce_mean(tf.abs(x) * tf.sign(x), axis=1),
                   tf.reduce_mean(tf.abs(x) * tf.sign(x))], [x])
    assert len(used) == 1
    np.testing.assert_array_equal(total, np.array([np.inf, 0, 35000], "float16"))
    np.testing.assert_array_equal(mean, np.array([2, 0, 0.5], "float16"))
    np.testing.assert_array_equal(norm, np.float16(2.5 / 3))


@pytest.mark.parametrize("axis", [0, 1, None])
def test_long_sums(axis):
    """Far beyond 2^24, up to which float32 counts."""
    for shape in ((20000003, 1), (1, 20000003), (4097, 5003)):
        x = np.ones(shape, "float32")
        (total, most), used = run_fused(
            lambda x: [tf.reduce_sum(tf.abs(x), axis=axis), tf.reduce_max(tf.negative(x), axis)],
            [x])
        assert used
        count = x.size // np.asarray(total).size
        np.testing.assert_array_equal(total, np.float32(count))
        np.testing.assert_array_equal(most, np.float32(-1))


@pytest.mark.parametrize("rank", [5, 6, 7, 8])
def test_many_dims(rank):
    shape = (2, 3, 1, 2, 1, 3, 2, 5)[:rank]
    x, y = sample(shape, "float32", 1), sample(shape[-1:], "float32", 2)
    column = sample(shape[:1] + (1,) * (rank - 1), "float32", 3, False)
    check(lambda x, y, c: tf.nn.relu(tf.abs(x) - y) * c, [x, y, column])
    finite = sample(shape, "float32", 4, False)
    for axes in ([0], [rank - 1], list(range(0, rank, 2)), list(range(1, rank, 2))):
        check(lambda x, axes=axes: tf.reduce_max(tf.abs(x), axes), [finite])
        check(lambda x, axes=axes: x - tf.reduce_mean(x, axes, keepdims=True), [finite],
              composed=True)


@pytest.mark.parametrize("cols", [1, 3, 5, 7, 9, 15, 31])
@pytest.mark.parametrize("dtype", ["float32", "float16", "int32"] + ["int8", "uint8"] * MODERN)
def test_rows_that_are_no_multiple_of_32_bytes(dtype, cols):
    rng = np.random.RandomState(cols)
    x, row = (rng.randint(0, 9, shape).astype(dtype) for shape in ((11, cols), (cols,)))
    check(lambda x, r: [tf.maximum(x, r) + r, tf.reduce_max(tf.maximum(x, r), axis=1),
                        tf.reduce_sum(tf.maximum(x, r), axis=0)], [x, row], kernels=None)
