"""Operators that move elements, fused with what they meet, against TensorFlow."""
import numpy as np
import pytest
import tensorflow as tf
from harness import MODERN, check, sample
from opcheck import has_kernel

pytestmark = pytest.mark.e2e
tf1 = tf.compat.v1


def act(x):
    """Something that computes, so that there is a kernel to move in."""
    return tf.abs(x) * 2.0


STATIC = {
    "transpose": lambda x: act(tf.transpose(x, [2, 0, 1])),
    "transpose_result": lambda x: tf.transpose(act(x), [0, 2, 1]),
    "slice": lambda x: act(tf.slice(x, [1, 0, 2], [3, -1, 4])),
    "slice_result": lambda x: tf.slice(act(x), [1, 0, 2], [3, -1, 1]),
    "strided": lambda x: act(x[1:-1, ::-2, 3]),
    "masks": lambda x: act(x[..., tf.newaxis, -2:]),
    "index": lambda x: act(x[:, 2]) + x[:, -1],
    "twice": lambda x: act(x[1:, ::2])[::-1, 1:],
    "reverse": lambda x: act(tf.reverse(x, [0, 2])),
    "of_transposed": lambda x: act(tf.transpose(x, [1, 2, 0])[1:3, :, ::-1]),
    "split": lambda x: tf.multiply(*tf.split(act(x), 3, axis=0)[::2]),
    "split_v": lambda x: tf.subtract(*tf.split(x, [2, -1, 2], axis=1)[::2]) * 3.0,
    "unstack": lambda x: tf.add_n(tf.unstack(act(x), axis=1)),
    "neighbours": lambda x: tf.abs(x[1:] - x[:-1]),
    "broadcast": lambda x: tf.broadcast_to(act(x[:1]), [6, 5, 7]),
    "reduce": lambda x: tf.reduce_max(act(tf.transpose(x, [2, 0, 1])), axis=[1]),
    "of_a_reduction": lambda x: act(tf.reduce_max(tf.abs(x), axis=1)[1:3]),
    "empty": lambda x: act(x[3:1]),
}
DYNAMIC = [name for name in STATIC if name not in ("split_v", "unstack", "neighbours", "broadcast")]


def test_parts_and_orders_of_known_shape():
    x = sample((6, 5, 7), "float32", 1, special=MODERN)  # TensorFlow 1 loses NaN in maxima
    used = check(lambda x: [STATIC[name](x) for name in sorted(STATIC)], [x], kernels=None)
    moved = {name for entry in used for name in entry.op_types}
    assert len(used) >= 12
    assert moved >= {"Transpose", "Slice", "StridedSlice", "ReverseV2", "Split", "SplitV",
                     "Unpack", "BroadcastTo"}


def test_parts_and_orders_of_unknown_shape():
    x = sample((6, 5, 7), "float32", 1, special=MODERN)  # TensorFlow 1 loses NaN in maxima
    check(lambda x: [STATIC[name](x) for name in DYNAMIC], [x], [[None, None, None]],
          kernels=None)


@pytest.mark.parametrize("dtype", ["float16", "int32", "bool", "float64"])
def test_types(dtype):
    x = sample((4, 6), dtype, 3)

    def build(x):
        y = tf.logical_not(x) if dtype == "bool" else tf.negative(x)
        return tf.transpose(y)[::-2], y[:, 1:3]

    check(build, [x], kernels=None)


@pytest.mark.skipif(not MODERN, reason="TensorFlow 1 slices up to 7 dims")
def test_rank_eight():
    x = sample((2, 1, 3, 2, 1, 2, 3, 2), "float32", 4)
    check(lambda x: act(tf.transpose(x, [7, 1, 3, 0, 6, 4, 2, 5])[:, 0, ::-1]), [x])


def test_one_kernel_serves_every_slice_of_its_structure():
    x = sample((9, 8), "float32", 5)
    first = check(lambda x: act(x[1:4, 2:7:2]), [x])
    second = check(lambda x: act(x[-3:, 5:0:-3]), [x])
    assert first[0].key == second[0].key and first[0].name != second[0].name


def test_a_slice_reads_no_more_than_it_takes():
    x = sample((64, 32), "float32", 6)
    (entry,) = check(lambda x: act(x[::2, 8:16]), [x])
    assert entry.gm_bytes == entry.gm_lower_bound == 2 * 32 * 8 * 4


def test_a_part_that_is_not_there_is_an_error():
    x = sample((3, 4), "float32", 7)
    with pytest.raises(tf.errors.InvalidArgumentError):
        check(lambda x: act(x[:, 5]), [x], [[None, None]])


def test_what_is_not_constant_stays():
    x, at = sample((3, 4), "float32", 8), np.array([1, 0], "int32")
    check(lambda x, at: act(tf.slice(x, at, [2, 2])), [x, at], kernels=1)


JOINS = {
    "concat": lambda x, y: act(tf.concat([x, y], -1)),
    "concat_outer": lambda x, y: act(tf.concat([x, x * 3.0], 0)),
    "concat_computed": lambda x, y: tf.concat([act(x), y, act(x[:, :, :1])], 2),
    "pack": lambda x, y: act(tf.stack([x, x + 1.0], 0)),
    "pack_last": lambda x, y: tf.stack([act(x), x], -1),
    "pad": lambda x, y: act(tf.pad(x, [[0, 0], [1, 2], [0, 3]])),
    "pad_value": lambda x, y: tf.pad(act(x), [[2, 0], [0, 0], [1, 1]], constant_values=-3.5),
    "reflect": lambda x, y: act(tf.pad(x, [[0, 0], [1, 2], [2, 0]], mode="REFLECT")),
    "symmetric": lambda x, y: tf.pad(act(x), [[0, 0], [1, 2], [2, 0]], mode="SYMMETRIC"),
    "tile": lambda x, y: act(tf.tile(x, [1, 2, 1])),
    "rotary": lambda x, y: x * 2.0 + tf.concat([-x[..., 4:], x[..., :4]], -1) * 3.0,
    "part_of_concat": lambda x, y: act(tf.concat([x, y], -1)[..., 2:9]),
    "reduce": lambda x, y: tf.reduce_max(tf.abs(tf.concat([x, y], -1)), -1),
    "gradients": lambda x, y: tf.add_n([
        tf.pad(y, [[0, 0], [0, 0], [0, 4]]), x, tf.pad(y, [[0, 0], [0, 0], [4, 0]])]),
    "fill": lambda x, y: act(tf.fill([4, 5], y[0, 0, 0])),
    "pad_twice": lambda x, y: tf.pad(act(tf.pad(x, [[0, 0], [0, 0], [1, 0]])),
                                     [[0, 0], [0, 0], [2, 1]], constant_values=1.0),
}


@pytest.mark.parametrize("shapes", [None, [[None, 5, 7], [None, 5, 3]]])
def test_tensors_side_by_side(shapes):
    # A maximum of TensorFlow 1 loses NaN.
    x, y = sample((6, 5, 7), "float32", 1, MODERN), sample((6, 5, 3), "float32", 2, MODERN)
    used = check(lambda x, y: [JOINS[name](x, y) for name in sorted(JOINS)], [x, y], shapes,
                 kernels=None)
    moved = {name for entry in used for name in entry.op_types}
    assert moved >= {"ConcatV2", "Pack", "Pad", "PadV2", "MirrorPad", "Tile", "Fill"}


def test_a_concat_reads_no_more_than_it_writes():
    x, y = sample((8, 40), "float32", 1), sample((8, 24), "float32", 2)
    (entry,) = check(lambda x, y: tf.concat([act(x), y], 1), [x, y])
    assert entry.gm_bytes == entry.gm_lower_bound


def test_nothing_fails_where_there_is_nothing_to_read():
    x, y = sample((4, 6), "int32", 1), np.full((4, 6), 2, "int32")
    check(lambda x, y: tf.pad(x // y, [[1, 0], [0, 1]]), [x, y], kernels=None)


@pytest.mark.parametrize("dtype", [
    d for d in ("int32", "int64", "int8", "uint8") if has_kernel("OneHot", d, "TI")])
def test_one_hot(dtype):
    x = np.array([[0, 3, 1], [2, 9, 4]], dtype)
    logits = sample((2, 3, 5), "float32", 1, special=False)

    def build(x, logits):
        labels = tf.one_hot(x, 5, dtype=logits.dtype)
        picked = tf.one_hot(x, 4, axis=0, on_value=7, off_value=-1)
        # Zeros of one sign: which of two a maximum gives depends on the width of vectors.
        return tf.reduce_max(labels * tf.abs(logits), -1), tf.abs(picked) * 2

    check(build, [x, logits], kernels=None)


@pytest.mark.skipif(not MODERN, reason="a gradient of this form needs TensorFlow 2")
def test_gates_of_a_recurrent_cell_are_one_kernel():
    z, c = sample((8, 40), "float32", 9, special=False), sample((8, 10), "float32", 10)

    def build(z, c):
        i, j, f, o = tf.split(z, 4, axis=1)
        state = c * tf.sigmoid(f) + tf.sigmoid(i) * tf.tanh(j)
        return tf.tanh(state) * tf.sigmoid(o), state

    (entry,) = check(build, [z, c], composed=True)
    assert entry.gm_bytes == entry.gm_lower_bound


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("size", [1, 3, 40])
def test_float16_pieces_that_do_not_fill_the_output(dtype, size):
    x = sample((size,), dtype, 4)
    check(lambda x: tf.negative(tf.concat([tf.abs(x), x, x], 0)) * 2.0, [x], kernels=None)
