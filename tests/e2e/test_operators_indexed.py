"""Quantisation, batch normalisation, bands, diagonals, ranks, buckets and views."""
import numpy as np
import pytest
import tensorflow as tf
from accuracy import assert_as_accurate
from harness import MODERN, ZERO_SIGNS, check, run_fused, run_graph, sample
from opcheck import EVERY, FLOATS, INTEGERS, check_group, edges, has_kernel
from tensorflow.python.ops import gen_array_ops as array_ops
from tensorflow.python.ops import gen_math_ops as math_ops
from tensorflow.python.ops import gen_nn_ops as nn_ops

import tf_autofuse

pytestmark = pytest.mark.e2e

tf1 = tf.compat.v1


def compare(build, arrays, near=0.0, kernels=1, shapes=None):
    """Fused and unfused results of graphs that have no float64 form; equal but for `near`."""
    tf_autofuse.disable()
    expected = run_graph(build, arrays, shapes)
    got, used = run_fused(build, arrays, shapes)
    assert len(used) == kernels, [entry.op_types for entry in used]
    for ours, theirs in zip(got, expected):
        assert ours.dtype == theirs.dtype
        if ours.dtype.kind not in "fV":
            np.testing.assert_array_equal(ours, theirs)
            continue
        ours, theirs = ours.astype("float64"), theirs.astype("float64")
        largest = np.max(np.abs(theirs[np.isfinite(theirs)]), initial=0)
        np.testing.assert_allclose(ours, theirs, rtol=near, atol=near * largest)
    return used


def with_abs(function):
    """A graph of the operator and one more, so that there is something to fuse."""
    return lambda x, *rest: [function(x, *rest), tf.maximum(x, x)]


def negated(function):
    """The negative of every output; only an operator's first output may be fetched itself."""
    return lambda *xs: [tf.negative(y) for y in function(*xs)]


@pytest.mark.parametrize("bits, narrow", [(8, False), (8, True), (4, False), (16, True)])
def test_fake_quant_by_attributes(bits, narrow):
    if bits > 8 and not ZERO_SIGNS:
        pytest.skip("older versions have a formula of their own, which shows in so fine a grid")
    x = sample((7, 61), "float32", 3, MODERN)
    options = [{"min": a, "max": b, "num_bits": bits, "narrow_range": narrow}
               for a, b in ((-6.0, 6.0), (0.0, 6.0), (-0.1, 3.7), (-6.0, 0.0))]
    forward, backward = (array_ops.fake_quant_with_min_max_args,
                         array_ops.fake_quant_with_min_max_args_gradient)
    compare(lambda x: [forward(tf.maximum(x, x), **o) for o in options], [x],
            0 if ZERO_SIGNS else 1e-5)
    compare(lambda dy, x: [backward(tf.maximum(dy, dy), x, **o) for o in options],
            [x[::-1].copy(), x])


@pytest.mark.parametrize("least, most", [(-1.5, 4.0), (0.0, 0.0), (-3.0, 0.0), (-0.3, 0.1)])
def test_fake_quant_by_tensors(least, most):
    x = sample((7, 61), "float32", 3, MODERN)
    least, most = np.float32(least), np.float32(most)
    compare(with_abs(array_ops.fake_quant_with_min_max_vars), [x, least, most],
            0 if ZERO_SIGNS else 1e-5)
    dy = sample((7, 61), "float32", 4, False)
    compare(negated(array_ops.fake_quant_with_min_max_vars_gradient), [dy, x, least, most], 1e-6)


def test_fake_quant_by_channels():
    x, dy = sample((61,), "float32", 3, MODERN), sample((61,), "float32", 4)
    least, most = np.float32([-1.0, 0, -2, 0]), np.float32([1.0, 5, 0, 0])
    least, most = np.resize(least, 61), np.resize(most, 61)
    compare(with_abs(array_ops.fake_quant_with_min_max_vars_per_channel), [x, least, most],
            0 if ZERO_SIGNS else 1e-5)
    compare(negated(array_ops.fake_quant_with_min_max_vars_per_channel_gradient),
            [dy, x, least, most], 1e-6)


RANGES = [(-1.0, 6.0), (-8.0, 3.0), (0.0, 2.0), (-2.0, 0.0)]


def quantized(x, mode, signed, narrow):
    """Three versions of the operator for each of RANGES."""
    x = tf.minimum(x, x)
    results = []
    for least, most in RANGES:
        low, high = tf.constant(least, x.dtype), tf.constant(most, x.dtype)
        options = {"signed_input": signed, "range_given": True, "narrow_range": narrow}
        results += [
            array_ops.quantize_and_dequantize_v2(
                x, low, high, num_bits=6, round_mode=mode, **options),
            array_ops.quantize_and_dequantize_v4(
                x, low, high, num_bits=5, round_mode=mode, **options),
            array_ops.quantize_and_dequantize_v3(x, low, high, tf.constant(7), **options),
        ]
    return results


@pytest.mark.skipif(not MODERN, reason="rounding modes of newer versions")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("mode", ["HALF_TO_EVEN", "HALF_UP"])
@pytest.mark.parametrize("signed, narrow", [(True, False), (True, True), (False, False)])
def test_quantize_and_dequantize(dtype, mode, signed, narrow):
    check(lambda x: quantized(x, mode, signed, narrow), [sample((7, 61), dtype, 5)])


@pytest.mark.skipif(not MODERN, reason="an operator of newer versions")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gradient_of_quantize_and_dequantize(dtype):
    def build(dy, x):
        grad = array_ops.quantize_and_dequantize_v4_grad
        return [tf.negative(grad(dy, tf.abs(x), tf.constant(a, x.dtype), tf.constant(b, x.dtype))[
            0]) for a, b in RANGES]

    x = sample((7, 61), dtype, 5)
    check(build, [x[::-1].copy(), x])


@pytest.mark.parametrize("dtype", EVERY)
def test_band_and_diagonal(dtype):
    for shape in ((5, 9), (2, 9, 5), (3, 4, 4), (1, 7), (7, 1)):
        x = edges(dtype, int(np.prod(shape))).reshape(shape)
        diagonal = edges(dtype, int(np.prod(shape[:-2])) * min(shape[-2:]), 2)
        diagonal = diagonal.reshape(shape[:-2] + (min(shape[-2:]),))
        functions = [lambda x, d: array_ops.matrix_set_diag(x, d), lambda x, d: tf.equal(x, x)]
        for lower, upper in ((-1, 0), (0, -1), (1, 1), (0, 0), (-1, -1)):
            ends = min(lower, shape[-2]), min(upper, shape[-1])
            functions.append(lambda x, d, ends=ends: array_ops.matrix_band_part(x, *ends))
        if MODERN:
            functions += [lambda x, d: array_ops.matrix_set_diag_v2(x, d, 0),
                          lambda x, d: array_ops.matrix_set_diag_v3(x, d, 0)]
        check(lambda x, d, fs=tuple(functions): [f(x, d) for f in fs], [x, diagonal])


@pytest.mark.parametrize("kind", ["int32", "int64"])
def test_in_top_k(kind):
    x = sample((40, 13), "float32", 6, False)
    x[3], x[4, 5], x[5, 2], x[6] = 1.0, np.nan, np.inf, -np.inf
    targets = np.random.RandomState(1).randint(0, 13, 40).astype(kind)
    targets[:2] = -1, 13
    for k in (1, 3, 0, 20):
        compare(lambda x, t, k=k: [nn_ops.in_top_k(tf.negative(x), t, k),
                                   nn_ops.in_top_kv2(x, t, tf.constant(k, t.dtype))],
                [x, targets])


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
def test_bucketize(dtype):
    x = edges(dtype)
    bounds = [-100.0, -1.5, 0.0, 0.1, 2.0, 2.0, 1e4]
    check_group({"Bucketize": lambda x: math_ops.bucketize(x, bounds),
                 "Square": lambda x: tf.square(x)}, [x])


NUMBERS = FLOATS + INTEGERS


@pytest.mark.parametrize("target", NUMBERS)
@pytest.mark.parametrize("source", NUMBERS)
def test_bitcast(source, target):
    sizes = [tf.as_dtype(name).size for name in (source, target)]
    if source == target or sizes[0] != sizes[1]:
        pytest.skip("another size")
    x = edges(source)
    compare(lambda x: [array_ops.bitcast(tf.maximum(x, x), target), tf.equal(x, x)], [x])


@pytest.mark.parametrize("dtype", EVERY)
def test_names_of_the_same_thing(dtype):
    if not has_kernel("Snapshot", dtype):
        pytest.skip("no such kernel")

    def build(x):
        y = tf.logical_not(x) if dtype == "bool" else tf.maximum(x, x)
        y = array_ops.snapshot(array_ops.guarantee_const(y))
        y = array_ops.ensure_shape(array_ops.debug_gradient_identity(y), [None, 8])
        return tf.equal(y, x)

    compare(build, [edges(dtype, 40).reshape(5, 8)])


@pytest.mark.parametrize("dtype", FLOATS)
def test_bias_add_of_the_first_version(dtype):
    check(lambda x, b: tf.abs(nn_ops.bias_add_v1(x, b)),
          [sample((4, 5, 9), dtype, 9), sample((9,), dtype, 10)])


def batch_norm_arrays(shape, dtype):
    """x, scale, offset, mean and variance."""
    rng = np.random.RandomState(2)
    x = (rng.randn(*shape) * 3).astype(tf.as_dtype(dtype).as_numpy_dtype)
    vectors = [rng.randn(shape[-1]).astype("float32") for _ in range(3)]
    return [x] + vectors + [np.exp(rng.randn(shape[-1])).astype("float32")]


def batch_norm(x, scale, offset, mean, variance):
    """What the operator means, in float64."""
    x, scale, offset, mean, variance = (
        a.astype("float32").astype("float64") for a in (x, scale, offset, mean, variance))
    return (x - mean) / np.sqrt(variance + np.float32(1e-3)) * scale + offset


VERSIONS = ["", "V2", "V3"]


@pytest.mark.skipif(not MODERN, reason="no `tf.raw_ops`")
# The bfloat16 kernel of TensorFlow 2.6 gives no output.
@pytest.mark.parametrize("dtype", ["float32", "float16"] + ["bfloat16"] * ZERO_SIGNS)
def test_batch_norm_in_inference(dtype):
    versions = [v for v in VERSIONS if has_kernel("FusedBatchNorm" + v, dtype)]
    if not versions:
        pytest.skip("no such kernel")

    def build(x, scale, offset, mean, variance):
        x = tf.maximum(x, x)
        # Not relu: TensorFlow makes one operator of its own of the two.
        return [tf.abs(getattr(tf.raw_ops, "FusedBatchNorm" + version)(
            x=x, scale=scale, offset=offset, mean=mean, variance=variance, epsilon=1e-3,
            is_training=False)[0]) for version in versions]

    for shape in [(2, 5, 7, 190), (8, 1, 1, 300)]:
        arrays = batch_norm_arrays(shape, dtype)
        exact = np.abs(batch_norm(*arrays))
        tf_autofuse.disable()
        expected = run_graph(build, arrays)
        tf_autofuse.enable("--enable_autofuse=true;--strict=true")
        got = run_graph(build, arrays)
        tf_autofuse.disable()
        for ours, theirs in zip(got, expected):
            assert_as_accurate(ours, theirs, exact, dtype, False, True)
        compare(build, arrays, {"float32": 1e-5, "float16": 1e-3, "bfloat16": 1e-2}[dtype])


@pytest.mark.skipif(not MODERN, reason="no `tf.raw_ops`")
def test_gradients_of_batch_norm_in_inference():
    x, scale, _, mean, variance = batch_norm_arrays((2, 5, 7, 19), "float32")

    def build(dy, x, scale, mean, variance):
        found = []
        for version in VERSIONS:
            last = {"reserve_space_3": variance} if version == "V3" else {}
            found += getattr(tf.raw_ops, "FusedBatchNormGrad" + version)(
                y_backprop=tf.maximum(dy, dy), x=x, scale=scale, reserve_space_1=mean,
                reserve_space_2=variance, epsilon=1e-3, is_training=False, **last)[:3]
        return [tf.negative(result) for result in found]

    compare(build, [(x[::-1] * 0.5).copy(), x, scale, mean, variance], 1e-5)
