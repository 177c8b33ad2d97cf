"""Operators that move blocks, and sequences, fused with what they meet, against TensorFlow."""
import numpy as np
import pytest
import tensorflow as tf
from harness import MODERN, check, sample
from opcheck import EVERY, FLOATS, INTEGERS, edges, has_kernel
from tensorflow.core.protobuf.rewriter_config_pb2 import RewriterConfig
from tensorflow.python.ops import gen_array_ops as array_ops
from tensorflow.python.ops import gen_manip_ops as manip_ops
from tensorflow.python.ops import gen_math_ops as math_ops

import tf_autofuse

pytestmark = pytest.mark.e2e
tf1 = tf.compat.v1


def act(x):
    """Something that computes, so that there is a kernel to move in."""
    return tf.abs(x) * 2.0


IMAGES = {  # of [4, 6, 4, 8]
    "DepthToSpace": lambda x: array_ops.depth_to_space(x, 2),
    "SpaceToDepth": lambda x: array_ops.space_to_depth(x, 2),
    "BatchToSpaceND": lambda x: array_ops.batch_to_space_nd(x, [2, 1], [[0, 0], [0, 0]]),
    "BatchToSpace": lambda x: array_ops.batch_to_space(x, [[0, 0], [0, 0]], 2),
    "SpaceToBatchND": lambda x: array_ops.space_to_batch_nd(x, [2, 3], [[1, 1], [0, 2]]),
    "SpaceToBatch": lambda x: array_ops.space_to_batch(x, [[0, 0], [1, 3]], 2),
}
MATRICES = {  # of [6, 5, 7]
    "RollV2": lambda x: manip_ops.roll(x, [2, -1, 3], [0, 2, 2]),
    "ConjugateTranspose": lambda x: array_ops.conjugate_transpose(x, [2, 0, 1]),
    "MatrixDiag": lambda x: array_ops.matrix_diag(x),
    "MirrorPadGrad": lambda x: array_ops.mirror_pad_grad(
        x, [[0, 0], [1, 1], [2, 1]], mode="REFLECT"),
    "Cumsum": lambda x: math_ops.cumsum(x, 1),
    "Cumprod": lambda x: math_ops.cumprod(x * 0.25, 2, reverse=True, exclusive=True),
    "StridedSliceGrad": lambda x: array_ops.strided_slice_grad(
        [9, 5, 7], [1, 0, 0], [7, 0, 0], [1, 1, 1], x, begin_mask=6, end_mask=6),
}
if MODERN:
    MATRICES.update({
        "MatrixDiagV2": lambda x: array_ops.matrix_diag_v2(
            x, 0, 9, 7, tf.constant(-2.5, x.dtype)),
        "MatrixDiagV3": lambda x: array_ops.matrix_diag_v3(
            x, 0, -1, 8, tf.constant(0.0, x.dtype)),
    })


@pytest.mark.parametrize("computed", [False, True])
@pytest.mark.parametrize("functions, shape", [(IMAGES, (4, 6, 4, 8)), (MATRICES, (6, 5, 7))])
def test_moves(functions, shape, computed):
    x = sample(shape, "float32", 1, special=MODERN)
    for name in sorted(functions):
        function = functions[name]
        if computed:
            used = check(lambda x, f=function: f(act(x)), [x], kernels=None, composed=True)
        else:
            used = check(lambda x, f=function: act(f(x)), [x], composed=True)
        # A running sum of what is computed would compute it again for every element.
        assert name in [n for entry in used for n in entry.op_types] or (
            computed and name[:3] == "Cum")


def test_blocks_of_a_batch_of_unknown_size():
    x = sample((4, 6, 4, 8), "float32", 1, special=MODERN)
    for name in ("DepthToSpace", "SpaceToDepth", "BatchToSpace", "SpaceToBatchND"):
        check(lambda x, f=IMAGES[name]: act(f(x)), [x], [[None, 6, 4, 8]])


SLICES = {
    "steps": lambda x: x[1:8:3, ::2], "backwards": lambda x: x[::-1, 5:1:-2],
    "one": lambda x: x[3, 1:], "new": lambda x: x[:, tf.newaxis, -2:], "dots": lambda x: x[..., 2],
    "part": lambda x: x[2:-1, :-1], "last": lambda x: x[-1:, ::7],
}


def test_gradients_of_slices():
    x = sample((9, 7), "float32", 2, special=False)

    def build(x):
        y = tf.abs(x)
        parts = [SLICES[name](y) for name in sorted(SLICES)]
        return [tf.gradients(part, y, tf.square(SLICES[name](x)))[0] * 2.0
                for name, part in zip(sorted(SLICES), parts)]

    used = check(build, [x], kernels=None)
    types = [name for entry in used for name in entry.op_types]
    assert types.count("StridedSliceGrad") >= 5  # those with steps gather, from what is there


@pytest.mark.parametrize("dtype", [d for d in EVERY if has_kernel("MirrorPadGrad", d)])
def test_gradients_of_reflections(dtype):
    x = sample((7, 7), dtype, 3, False) if dtype in FLOATS else edges(dtype, 49).reshape(7, 7)

    def build(x):
        y, z = (array_ops.mirror_pad_grad(x, [[2, 1], [0, 3]], mode=mode)
                for mode in ("REFLECT", "SYMMETRIC"))
        return tf.equal(y, z), y

    check(build, [x], composed=True)


def test_padding_by_reflection_and_its_gradient():
    x = sample((6, 5), "float32", 4, False)

    def build(x):
        y = tf.pad(tf.abs(x), [[1, 2], [3, 1]], mode="REFLECT")
        return tf.gradients(tf.square(y), x)

    check(build, [x], kernels=None, composed=True)


# Elements are moved by their size; the conversions of narrow floats are others.
MOVED = [d for d in EVERY if d not in ("int16", "int64", "uint8", "uint32")]


@pytest.mark.parametrize("dtype", MOVED)
def test_types(dtype):
    x = edges(dtype, 4 * 4 * 8).reshape(2, 2, 4, 8)
    y = x.reshape(16, 8)
    functions = {"DepthToSpace": lambda x, y: array_ops.depth_to_space(x, 2),
                 "SpaceToDepth": lambda x, y: array_ops.space_to_depth(x, 2),
                 "Roll": lambda x, y: manip_ops.roll(y, 3, 1),
                 "ConjugateTranspose": lambda x, y: array_ops.conjugate_transpose(y, [1, 0]),
                 "MatrixDiag": lambda x, y: array_ops.matrix_diag(y[:3]),
                 "SpaceToBatch": lambda x, y: array_ops.space_to_batch(x, [[0, 0]] * 2, 2)}
    names = [name for name in sorted(functions) if has_kernel(name, dtype)]

    def build(x, y):
        found = [functions[name](x, y) for name in names]
        return found + [tf.equal(a, a) for a in found]

    used = check(build, [x, y], kernels=None)
    assert len([n for entry in used for n in entry.op_types if n != "Equal"]) >= len(names)


@pytest.mark.parametrize("dtype", [d for d in EVERY if has_kernel("Diag", d)])
def test_diagonal_tensors(dtype):
    check(lambda x: [tf.negative(array_ops.diag(y)) for y in (x, x[0])],
          [edges(dtype, 12).reshape(3, 4)], kernels=None)


@pytest.mark.parametrize("dtype", [d for d in EVERY if has_kernel("Cross", d)])
def test_cross(dtype):
    a, b = ([sample((5, 7, 3), dtype, seed, False) for seed in (1, 2)] if dtype in FLOATS else
            [edges(dtype, 105, seed).reshape(5, 7, 3) for seed in (1, 2)])

    def build(a, b):
        return tf.maximum(math_ops.cross(a, b), a)

    check(build, [a, b], composed=True)


@pytest.mark.parametrize("shape", [(2,), (5,), (3, 7)])
def test_the_diagonal_of_a_diagonal(shape):
    """The coordinate at which the outer one reads is computed with, by the inner one."""
    x = sample(shape, "float32", 1)

    def build(x):
        middle = tf.negative(tf.linalg.diag(tf.negative(x)))
        return tf.abs(tf.linalg.diag_part(middle))

    used = check(build, [x], kernels=None)
    assert {name for entry in used for name in entry.op_types} >= {"Neg", "Abs"}


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("exclusive", [False, True])
def test_running_sums_of_rows_of_one_element(exclusive, reverse):
    def build(x):
        rows = tf.gather(tf.gather(x, [0], axis=2), [0, 0, 1, 1, 0], axis=0)
        return [rows, math_ops.cumsum(rows, 2, exclusive=exclusive, reverse=reverse)]

    x = sample((2, 3, 4), "int32", 1)
    for shape in ((2, 3, 4), (None, None, None)):
        (entry,) = check(build, [x], [shape])
        assert "Cumsum" in entry.op_types


@pytest.mark.parametrize("dtype", [d for d in FLOATS + INTEGERS if has_kernel("Cumsum", d)])
def test_running_sums(dtype):
    x = edges(dtype, 5 * 17 * 3).reshape(5, 17, 3)
    if dtype in FLOATS:  # what overflows on the way, or is lost in rounding, is TensorFlow's slip
        x = sample((5, 17, 3), dtype, 5, False)
    options = [{"exclusive": True}, {"reverse": True}, {"exclusive": True, "reverse": True}]

    def build(x):
        two = tf.constant(2, x.dtype)
        sums = [math_ops.cumsum(x, axis, **o) for axis, o in zip((0, 1, -1), options)]
        return [tf.maximum(y, y) for y in sums] + [
            tf.maximum(math_ops.cumprod(tf.minimum(x, two), 0), two)]

    used = check(build, [x], kernels=None, composed=dtype in FLOATS)
    assert [n for entry in used for n in entry.op_types if n == "Cumsum"] == ["Cumsum"] * 3


def test_a_long_row_is_scanned_by_tensorflow():
    x = sample((4, 1000), "float32", 6, False)
    used = check(lambda x: act(math_ops.cumsum(x, 1)), [x], composed=True)
    assert "Cumsum" not in used[0].op_types


RANGES = [(0, 300, 1), (7, -20, -3), (5, 100, 7), (2.5, 11.0, 0.25)]
RANGE_TYPES = [d for d in FLOATS + INTEGERS if d != "float16" and has_kernel("Range", d, "Tidx")]


@pytest.mark.parametrize("dtype", RANGE_TYPES)
def test_range(dtype):
    """TensorFlow folds ranges of constants, unless it is told not to."""
    config = tf1.ConfigProto()
    config.graph_options.rewrite_options.constant_folding = RewriterConfig.OFF
    numbers = [r for r in RANGES if dtype in FLOATS or r[0] == int(r[0])]
    numbers = [r for r in numbers if not dtype.startswith("u") or r[2] > 0]

    def results():
        with tf.Graph().as_default(), tf1.Session(config=config) as session:
            one = tf1.placeholder(dtype, [1])
            found = [math_ops._range(*[tf.constant(n, dtype) for n in r]) for r in numbers]
            return session.run([tf.maximum(y, y) * one for y in found], {one: [1]})

    tf_autofuse.disable()
    expected = results()
    tf_autofuse.enable("--enable_autofuse=true;--strict=true")
    try:
        before = len(tf_autofuse.report().kernels)
        got = results()
        made = tf_autofuse.report().kernels[before:]
    finally:
        tf_autofuse.disable()
    assert [name for entry in made for name in entry.op_types].count("Range") == len(numbers)
    for ours, theirs in zip(got, expected):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("count", [1, 2, 7, 1000])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_lin_space(dtype, count):
    ends = np.array([-1.5, 7.25], dtype)

    def build(ends):
        return tf.negative(math_ops.lin_space(ends[0], ends[1], count))

    (entry,) = check(build, [ends], composed=True)
    assert "LinSpace" in entry.op_types


