"""Tensors behind each other: the loop is printed for every piece."""
import os

import numpy as np
import pytest
import tensorflow as tf
from harness import MODERN, check, sample

pytestmark = pytest.mark.e2e


def tensors(shapes, dtype="float32"):
    return [sample(shape, dtype, seed) for seed, shape in enumerate(shapes)]


def same_source(entry):
    """The text of the CPU kernel."""
    with open(os.path.join(os.path.dirname(entry.source), "host_kernel.cpp")) as file:
        return file.read()


GRAPHS = {
    "last": ([(3, width) for width in range(1, 10)], lambda *x: tf.negative(tf.concat(x, 1))),
    "long": ([(5, 300)] * 7, lambda *x: tf.exp(-tf.abs(tf.concat(x, 1)))),
    "first": ([(rows, 21) for rows in range(1, 9)], lambda *x: tf.negative(tf.concat(x, 0))),
    "stack": ([(4, 19)] * 7, lambda *x: tf.stack(x, axis=1) * x[0][:, None]),
    "once": ([(4, 1, 19)], lambda x: tf.negative(tf.concat([x] * 10, 1)) - x),
    "inside": ([(6, 1, 4)] * 7 + [(6, 1)], lambda *x: tf.negative(tf.concat(
        [tf.reshape(tf.concat(x[:-1], 1), [6, 28]), x[-1]], 1))),
    "twice": ([(6, 3)] * 8, lambda *x: tf.concat(x, 1) * tf.concat(x[::-1], 1)),
    "padded": ([(5, 2)] * 7, lambda *x: tf.pad(tf.concat(x, 1), [[1, 2], [3, 0]]) + 1.0),
    "computed": ([(5, 20)] * 4, lambda *x: tf.negative(tf.concat(
        [x[0], -x[1], x[2] * x[3], tf.exp(-tf.abs(x[0])), x[0] - x[3], x[1], x[2]], 1))),
}
FEW = {
    "pair": ([(5, 40), (5, 7)], lambda x, y: tf.negative(tf.concat([x, y], 1))),
    "short pair": ([(5, 4), (5, 11)], lambda x, y: tf.negative(tf.concat([x, y], 1))),
    "few": ([(5, 20)] * 2, lambda x, y: tf.concat([x, y, x - y, x * y], 1)),
    "image": ([(2, 3, 4, 20)], lambda x: tf.nn.relu(tf.pad(x, [[0, 0], [1, 1], [1, 2], [0, 0]]))),
}
SUMS = {
    "rows of few": ([(7, 40)] * 3, lambda *x: tf.reduce_sum(tf.abs(tf.concat(x, 1)), 1)),
    "rows": ([(7, 40)] * 8, lambda *x: tf.reduce_sum(tf.abs(tf.concat(x, 1)), 1)),
    "short rows": ([(70, 3)] * 8, lambda *x: tf.reduce_max(tf.abs(tf.concat(x, 1)), 1)),
    "columns": ([(7, 40)] * 8, lambda *x: tf.reduce_sum(tf.abs(tf.concat(x, 0)), 0)),
    "fields": ([(30, 1, 16)] * 8, lambda *x: tf.reduce_sum(tf.square(tf.concat(x, 1)), 1)),
    "all": ([(9, 11)] * 8, lambda *x: tf.reduce_mean(tf.square(tf.concat(x, 0)))),
    "softmax": ([(9, 11)] * 8, lambda *x: tf.negative(tf.nn.softmax(tf.concat(x, 1)))),
}


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("name", sorted(GRAPHS))
def test_pieces(name, dtype):
    shapes, graph = GRAPHS[name]
    check(graph, tensors(shapes, dtype), kernels=1 if MODERN else None)


@pytest.mark.parametrize("name", sorted(FEW))
def test_few_pieces(name):
    shapes, graph = FEW[name]
    check(graph, tensors(shapes), kernels=1 if MODERN else None)


@pytest.mark.parametrize("name", sorted(SUMS))
def test_sums_over_pieces(name):
    shapes, graph = SUMS[name]
    arrays = [np.nan_to_num(array, posinf=3.0, neginf=-3.0) % 5 for array in tensors(shapes)]
    check(graph, [a.astype("float32") for a in arrays], kernels=None, composed=True)


@pytest.mark.parametrize("dtype", ["bool", "int32"])
def test_pieces_of_other_types(dtype):
    arrays = tensors([(5, width) for width in range(1, 9)], dtype)
    turn = tf.logical_not if dtype == "bool" else tf.negative
    check(lambda *x: turn(tf.concat(x, 1)), arrays, kernels=None)


@pytest.mark.skipif(not MODERN, reason="the report has no folder of the kernel there")
@pytest.mark.parametrize("axis", [0, 1])
def test_few_pieces_are_a_selection_as_well(axis):
    """Which machines with masks compute, and short rows."""
    for count, few in ((2, True), (5, True), (6, False)):
        (entry,) = check(lambda *x: tf.negative(tf.concat(x, axis)), tensors([(4, 33)] * count))
        text = same_source(entry)
        assert ("cuts.first" in text) == (axis == 1)
        assert ("if (selects(" in text or "if (AF_MASKS)" in text) == few


@pytest.mark.skipif(not MODERN, reason="the report has no folder of the kernel there")
def test_too_many_copies_of_a_loop_are_left_to_the_compiler():
    """The gradient of slices that lie over each other asks everywhere for all of them."""
    def build(x):
        joined = tf.concat([x[:, k:k + 9] * float(k + 1) for k in range(10)], 1)
        return tf.gradients(tf.square(joined), x)

    used = check(build, [sample((5, 24), "float16", 2, special=False)], kernels=None, composed=True)
    text = "".join(map(same_source, used))
    assert text.count("const bool") > 20 and "cuts.first" not in text


@pytest.mark.skipif(not MODERN, reason="the report has no folder of the kernel there")
@pytest.mark.parametrize("axis", [0, 1])
def test_text_grows_with_the_pieces_and_not_with_their_square(axis):
    texts = []
    for count in (8, 32):
        (entry,) = check(lambda *x: tf.negative(tf.concat(x, axis)), tensors([(4, 33)] * count))
        texts.append(same_source(entry))
    few, many = [len(text) for text in texts]
    assert many < 4 * few
    loops = [text.count("in0[") for text in texts]
    assert max(loops) <= 2  # nobody but the first piece reads the first tensor


@pytest.mark.skipif(not MODERN, reason="older TensorFlow writes it differently")
@pytest.mark.parametrize("axis", [0, 1])
def test_tensors_that_are_alike_have_one_loop(axis):
    (entry,) = check(lambda *x: tf.negative(tf.concat(x, axis)), tensors([(5, 4)] * 40))
    assert same_source(entry).count("#pragma omp simd") <= 4
