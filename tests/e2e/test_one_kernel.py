"""Every pattern of `one_kernel` becomes one kernel that moves little more than it must.

A pattern that is one TensorFlow operator (a softmax alone) is one kernel already and stays it.
"""
import numpy as np
import pytest
import tensorflow as tf
from accuracy import assert_as_accurate
from harness import MODERN
from one_kernel import PATTERNS, arguments
from training_patterns import TRAINING

import tf_autofuse
from tf_autofuse.ops import OPS, VIEW

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(not MODERN, reason="older TensorFlow writes some of them differently"),
]

ALL = dict(PATTERNS, **TRAINING)
SINGLE = {"softmax", "log_softmax", "softmax_cross_entropy"}
"""One operator of TensorFlow's own, besides views."""
ACCURACY_ROWS = {"mean_variance_skew": 1024}
"""Where 64 results, the differences of large sums, are too few to compare two roundings by."""


def run(name, arrays):
    """Results of a pattern in a new graph, as numpy arrays."""
    build, _ = ALL[name]
    function = tf.function(lambda *xs: build(*xs), autograph=False)
    results = function(*[tf.constant(array) for array in arrays])
    return [np.asarray(r) for r in (results if isinstance(results, (list, tuple)) else [results])]


def fused(name, arrays):
    """(results, kernels that ran, operators left alone that compute something)"""
    before = {entry.name: entry.calls for entry in tf_autofuse.report().kernels}
    known = len(tf_autofuse.report().unfused)
    tf_autofuse.enable("--enable_autofuse=true;--strict=true")
    try:
        results = run(name, arrays)
    finally:
        tf_autofuse.disable()
    report = tf_autofuse.report()
    used = [entry for entry in report.kernels if entry.calls > before.get(entry.name, 0)]
    inside = {op for entry in used for op in entry.op_names}
    alone = [entry for entry in report.unfused[known:]
             if entry.node not in inside and entry.code != "CONSTANT"
             and (entry.op_type not in OPS or OPS[entry.op_type].kind != VIEW)]
    return results, used, alone


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("name", sorted(set(PATTERNS) - SINGLE))
def test_one_kernel(name, dtype):
    for cols in (1000, 1001):
        arrays = arguments(PATTERNS[name][1], 64, cols, dtype)
        got, used, alone = fused(name, arrays)
        assert len(used) == 1 and not alone, ([entry.op_types for entry in used], alone)
        (entry,) = used
        assert entry.gm_bytes <= 1.02 * entry.gm_lower_bound
        if name in ACCURACY_ROWS:
            arrays = arguments(PATTERNS[name][1], ACCURACY_ROWS[name], cols, dtype)
            got, _, _ = fused(name, arrays)
        expected = run(name, arrays)
        reference = run(name, [array.astype("float64") for array in arrays])
        for ours, theirs, exact in zip(got, expected, reference):
            assert_as_accurate(ours, theirs, exact, theirs.dtype.name, composed=True)


@pytest.mark.parametrize("name", sorted(TRAINING))
def test_one_kernel_for_a_step_of_training(name):
    arrays = arguments(TRAINING[name][1], 64, 1000, "float32")
    tf_autofuse.disable()
    expected = run(name, arrays)
    reference = run(name, [array.astype("float64") for array in arrays])
    got, used, alone = fused(name, arrays)
    assert len(used) == 1 and not alone, ([entry.op_types for entry in used], alone)
    assert used[0].gm_bytes <= 1.02 * used[0].gm_lower_bound
    for ours, theirs, exact in zip(got, expected, reference):
        assert_as_accurate(ours, theirs, exact, theirs.dtype.name, composed=True)


@pytest.mark.parametrize("name", sorted(SINGLE))
def test_one_operator_stays_one(name):
    arrays = arguments(PATTERNS[name][1], 64, 1000, "float32")
    _, used, alone = fused(name, arrays)
    assert len(used) + len(alone) == 1
