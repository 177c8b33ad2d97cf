"""Operands of unknown sizes, which mostly are not broadcast: both forms of a kernel are right."""
import numpy as np
import pytest
import tensorflow as tf
from harness import check, sample

pytestmark = pytest.mark.e2e

UNKNOWN = (None, None)


def two_sums(x, y, z):
    v = tf.abs(x) * y + z
    return [v, tf.reduce_sum(v, 0), tf.reduce_sum(v, 1)]


def centred(x, y, z):
    v = x * y - z
    mean = tf.reduce_mean(v, 1, keepdims=True)
    return v - mean, tf.reduce_mean(tf.math.squared_difference(v, mean), 1)


def three_results(x, y, z):
    m = 0.5 * x + y
    v = 0.25 * y * y + z
    return m, v, z - m * tf.nn.relu(v)


BUILDS = {
    "three_results": three_results,
    "elementwise": lambda x, y, z: tf.maximum(-(tf.abs(x) - y), z),
    "compare": lambda x, y, z: tf.compat.v2.where(x > y, x * z, tf.abs(y)),
    "rows": lambda x, y, z: tf.reduce_sum(tf.abs(x - y) * z, 1),
    "columns": lambda x, y, z: tf.reduce_max(x * y + z, 0),
    "all": lambda x, y, z: tf.reduce_mean(tf.math.squared_difference(x, y) * z),
    "two_sums": two_sums,
    "centred": centred,
    "part": lambda x, y, z: tf.abs(x[:, 1:] - y[:, 1:]) * z[:, :-1] + 1.0,
    "beside": lambda x, y, z: tf.concat([tf.abs(x), y * 2.0], 0) + tf.concat([z, z], 0) * 0.5,
}
SHAPES = {
    "equal": [(6, 40)] * 3,
    "row": [(6, 40), (1, 40), (6, 40)],
    "column": [(6, 40), (6, 40), (6, 1)],
    "scalar": [(1, 1), (6, 40), (6, 40)],
    "one_row": [(1, 40)] * 3,
    "one_column": [(6, 1)] * 3,
    "empty": [(0, 40)] * 3,
}


@pytest.mark.parametrize("shapes", sorted(SHAPES))
@pytest.mark.parametrize("build", sorted(BUILDS))
def test_unknown_sizes(build, shapes):
    dims = SHAPES[shapes]
    if build in ("part", "beside") and shapes not in ("equal", "one_row", "one_column"):
        dims = [dims[0]] * 3
    # Whole numbers: sums of a few of them are exact, in whatever order.
    arrays = [np.round(sample(shape, "float32", seed, special=False))
              for seed, shape in enumerate(dims)]
    check(BUILDS[build], arrays, [UNKNOWN] * 3, kernels=None, composed=True)


@pytest.mark.parametrize("dtype", ["float16", "int32"])
def test_narrow_types(dtype):
    arrays = [sample((33, 70), dtype, seed) for seed in range(2)]
    check(lambda x, y: tf.maximum(tf.abs(x), y) - y, arrays, [UNKNOWN] * 2)


def test_large_results():
    arrays = [np.full((3000, 2900), seed + 0.5, np.float32) for seed in range(2)]
    arrays[0][1234, 567] = -7
    check(lambda x, y: tf.abs(x) * y, arrays, [UNKNOWN] * 2)
