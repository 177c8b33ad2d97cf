"""Runs one TF graph unfused, fused and in a wider type, and holds the fused result to the rule."""
import numpy as np
import tensorflow as tf
from accuracy import assert_as_accurate
from reference import exact_results

import tf_autofuse

tf1 = tf.compat.v1
VERSION = tuple(int(part) for part in tf.__version__.split(".")[:2])
MODERN = VERSION >= (2, 6)
# Older kernels lose the sign of zero in vector lanes (-x as 0 - x) and keep it in the tail.
ZERO_SIGNS = VERSION >= (2, 10)
SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 1e-8, -3e4, 88.5, -104.0]


def numpy_dtype(name):
    return tf.as_dtype(name).as_numpy_dtype


def sample(shape, dtype, seed, special=True):
    """Random values with special ones mixed in (floats), small integers or bools."""
    rng = np.random.RandomState(seed)
    if dtype == "bool":
        return rng.rand(*shape) < 0.5
    if dtype == "int32":
        return rng.randint(-9, 10, shape).astype("int32")
    values = np.asarray(rng.randn(*shape) * 3)
    if special and values.size:
        count = min(len(SPECIAL), values.size)
        where = rng.permutation(values.size)[:count]
        values.reshape(-1)[where] = np.array(SPECIAL)[:count]
    with np.errstate(all="ignore"):
        return values.astype("float32").astype(numpy_dtype(dtype))


def run_graph(build, arrays, shapes=None):
    """Results of `build(*placeholders)` in a new Session, as a list."""
    with tf.Graph().as_default():
        inputs = [
            tf1.placeholder(array.dtype, array.shape if shapes is None else shape)
            for array, shape in zip(arrays, shapes or arrays)
        ]
        outputs = build(*inputs)
        outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
        with tf1.Session() as session:
            return session.run(outputs, dict(zip(inputs, arrays)))


def run_fused(build, arrays, shapes=None):
    """(results of `build` fused, the kernels that ran)"""
    before = {entry.name: entry.calls for entry in tf_autofuse.report().kernels}
    tf_autofuse.enable("--enable_autofuse=true;--strict=true")
    try:
        got = run_graph(build, arrays, shapes)
    finally:
        tf_autofuse.disable()
    # A graph seen before is answered from memory: its nodes are called again, not fused again.
    return got, [e for e in tf_autofuse.report().kernels if e.calls == before.get(e.name, 0) + 1]


def check(build, arrays, shapes=None, kernels=1, composed=False):
    """Compare fused with unfused; `kernels` is the number of fused nodes expected (None: any).

    `composed` as in `assert_as_accurate`.
    """
    tf_autofuse.disable()
    expected = run_graph(build, arrays, shapes)
    wide = [_widened(a) if is_float(a.dtype) else a for a in arrays]
    reference = run_graph(build, wide, shapes)
    if any(result.dtype == np.float64 for result in expected):
        reference = exact_results(build, arrays) or reference
    got, used = run_fused(build, arrays, shapes)
    assert kernels is None or len(used) == kernels, [entry.op_types for entry in used]
    for ours, theirs, exact in zip(got, expected, reference):
        dtype = tf.as_dtype(theirs.dtype).name
        assert_as_accurate(ours, theirs, exact, dtype, ZERO_SIGNS, composed)
    return used


def _widened(array):
    return array if array.dtype == np.float64 else array.astype("float32").astype("float64")


def is_float(dtype):
    return tf.as_dtype(dtype).is_floating
