"""Random graphs, fused and not: the results are equal to the bit."""
import contextlib
import os

import numpy as np
import pytest
import tensorflow as tf
from fuzz.graphs import programs
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from small_limits import small_limits

import tf_autofuse

USUAL = 300
GRAPHS = int(os.environ.get("AUTOFUSE_FUZZ_GRAPHS", USUAL))


def run(program, rounds=0):
    """Results after so many rounds of TensorFlow's graph optimizer; 0 is its default."""
    config = tf.compat.v1.ConfigProto()
    config.graph_options.rewrite_options.meta_optimizer_iterations = rounds
    with tf.Graph().as_default():
        inputs = [tf.compat.v1.placeholder(dtype, shape) for dtype, _, shape in program.inputs]
        outputs = program.build(*inputs)
        with tf.compat.v1.Session(config=config) as session:
            return session.run(outputs, dict(zip(inputs, program.arrays())))


# Which zero a maximum of -0.0 and 0.0 gives depends on whether TensorFlow's kernel reaches an
# element in its vector loop or behind it.
PICKS_A_ZERO = ("max", "min", "relu")


def assert_all_same(got, expected, program):
    signs = not any(word in repr(program) for word in PICKS_A_ZERO)
    for ours, theirs in zip(got, expected):
        assert_same_bits(np.asarray(ours), np.asarray(theirs), signs)


def assert_same_bits(got, expected, signs):
    assert got.dtype == expected.dtype and got.shape == expected.shape
    if got.dtype == tf.bfloat16.as_numpy_dtype:
        got, expected = got.astype(np.float32), expected.astype(np.float32)
    if got.dtype.kind != "f":
        np.testing.assert_array_equal(got, expected)
        return
    nan = np.isnan(expected)
    np.testing.assert_array_equal(np.isnan(got), nan)
    np.testing.assert_array_equal(got[~nan], expected[~nan])
    if signs:
        np.testing.assert_array_equal(np.signbit(got[~nan]), np.signbit(expected[~nan]))


def fuzz(count):
    """Settings of so many random programs, the same ones where it is no long run."""
    return settings(
        max_examples=count, deadline=None, derandomize=GRAPHS <= USUAL, database=None,
        suppress_health_check=list(HealthCheck), phases=(Phase.generate, Phase.shrink),
    )


def check(program, limits=contextlib.nullcontext):
    tf_autofuse.disable()
    expected = run(program)
    with limits():
        tf_autofuse.enable("--enable_autofuse=true;--strict=true")
        try:
            got = run(program)
        finally:
            tf_autofuse.disable()
    try:
        assert_all_same(got, expected, program)
    except AssertionError:
        # Some rewrites of TensorFlow change the sign of -transpose(-(-x)), once a round. What is
        # fused is the graph after the first.
        assert_all_same(got, run(program, rounds=1), program)


@fuzz(GRAPHS)
@given(programs())
def test_fused_equals_unfused(program):
    check(program)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("limits")


@fuzz(GRAPHS if GRAPHS > USUAL else GRAPHS // 25)
@given(programs(), st.integers(0, 63))
def test_with_small_limits(folder, program, seed):
    """Forms for large tensors, and their borders, in small ones."""
    check(program, lambda: small_limits(seed, folder))
