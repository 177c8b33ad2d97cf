"""Operators that read at computed coordinates, fused with what they meet, against TensorFlow."""
import os

import numpy as np
import pytest
import tensorflow as tf
from harness import MODERN, check, run_graph, sample
from opcheck import EVERY, edges, has_kernel
from tensorflow.python.ops import gen_array_ops as array_ops

import tf_autofuse

pytestmark = pytest.mark.e2e

IDS = np.array([[3, 0, 8, 8], [1, 1, 5, 2]], "int32")


def act(x):
    """Something that computes, so that there is a kernel to gather in."""
    return tf.abs(x) * 2.0


GATHERS = {
    "rows": lambda x, ids: act(tf.gather(x, ids)),
    "columns": lambda x, ids: act(tf.gather(x, ids % 5, axis=1)),
    "inner": lambda x, ids: act(tf.gather(x, ids % 7, axis=-1)),
    "one": lambda x, ids: act(tf.gather(x, 4)),
    "constants": lambda x, ids: act(tf.gather(x, [4, 0, 4], axis=1)),
    "batch": lambda x, ids: act(tf.gather(x[:2], ids % 5, axis=1, batch_dims=1)),
    "batch_inner": lambda x, ids: act(tf.gather(x[:2], ids % 7, axis=2, batch_dims=1)),
    "computed": lambda x, ids: tf.gather(act(x), ids[0]),
    "pooled": lambda x, ids: tf.reduce_max(act(tf.gather(x, ids)), axis=1),
    "scaled": lambda x, ids: tf.gather(x, ids) * tf.cast(ids, x.dtype)[..., None, None],
    "side_by_side": lambda x, ids: act(tf.concat(
        [tf.gather(x, ids), tf.gather(x, ids[:, ::-1])], -1)),
    "with_its_table": lambda x, ids: x + tf.gather(x, tf.constant([1, 0, 8, 7, 2, 3, 4, 5, 6])),
    "nd": lambda x, ids: act(tf.gather_nd(x, ids[:, :2] % 5)),
    "nd_rows": lambda x, ids: act(tf.gather_nd(x, ids[..., None])),
    "nd_all": lambda x, ids: act(tf.gather_nd(x, ids[:, :3] % 3)),
    "best": lambda x, ids: act(tf.gather(x, tf.argmax(tf.abs(x[:, 0]), axis=1) % 9)),
}


@pytest.mark.parametrize("shapes", [None, [[None, None, None], [None, 4]]])
def test_gathers(shapes):
    names = [name for name in sorted(GATHERS) if shapes is None or "batch" not in name]
    # A maximum of TensorFlow 1 loses NaN.
    x = sample((9, 5, 7), "float32", 1, MODERN)
    used = check(lambda x, ids: [GATHERS[name](x, ids) for name in names], [x, IDS], shapes,
                 kernels=None)
    types = [name for entry in used for name in entry.op_types]
    assert types.count("GatherV2") >= (6 if shapes else 8) and types.count("GatherNd") == 3


@pytest.mark.parametrize("kind", ["int32", "int64"])
@pytest.mark.parametrize("dtype", EVERY)
def test_types(dtype, kind):
    x = edges(dtype, 45).reshape(9, 5)

    def build(x, ids):
        y, z = tf.gather(x, ids), array_ops.gather(x, ids[::-1])
        return tf.equal(y, z), y

    (entry,) = check(build, [x, IDS.astype(kind)])
    assert {"Gather", "GatherV2"} <= set(entry.op_types)


def test_embeddings_of_a_recommender_are_one_kernel():
    user, item = sample((1000, 16), "float32", 1), sample((300, 8), "float32", 2)
    ids = np.random.RandomState(3).randint(0, 300, (64,))

    def build(user, item, ids):
        joined = tf.concat([tf.gather(user, ids), tf.gather(item, ids)], axis=1)
        return tf.nn.relu(joined * 0.5 + 1.0)

    (entry,) = check(build, [user, item, ids])
    # The ids are read once, and of the tables only what is gathered.
    assert entry.gm_bytes == 64 * (24 * 4 * 2 + 8)


@pytest.mark.parametrize("bad", [-1, 9, 2 ** 31 - 1, -2 ** 31])
@pytest.mark.parametrize("rows", [9, 0])
def test_an_index_that_is_none_is_an_error(bad, rows):
    x, ids = np.ones((rows, 40), "float32"), IDS.copy()
    ids[1, 2] = bad
    for enabled in (False, True):
        if enabled:
            tf_autofuse.enable("--enable_autofuse=true;--strict=true")
        try:
            with pytest.raises(tf.errors.InvalidArgumentError, match=r"not in \[0, %d\)" % rows):
                run_graph(lambda x, ids: act(tf.gather(x, ids)), [x, ids])
        finally:
            tf_autofuse.disable()


FAR = {
    "kept": lambda x, ids: act(tf.gather(x, ids)),
    "reduced": lambda x, ids: tf.reduce_sum(act(tf.gather(x, ids)), axis=1),
    "row": lambda x, ids: tf.reduce_max(act(tf.gather(x, ids)), axis=-1),
    "flat": lambda x, ids: act(tf.gather(x, tf.reshape(ids, [-1]))),
}


@pytest.mark.parametrize("name", sorted(FAR))
def test_rows_of_a_large_table_are_asked_for_ahead(name):
    """What is asked for early may be no row at all, which only its own point says."""
    table = sample((9000, 16), "float32", 0, special=False)  # more than FAR_BYTES
    ids = np.random.RandomState(0).randint(0, 9000, (3, 5, 7)).astype("int32")
    used = check(FAR[name], [table, ids])
    ids[2, 4, 3] = 9000
    tf_autofuse.enable("--enable_autofuse=true;--strict=true")
    try:
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"not in \[0, 9000\)"):
            run_graph(FAR[name], [table, ids])
    finally:
        tf_autofuse.disable()
    if MODERN:
        with open(os.path.join(os.path.dirname(used[0].source), "host_kernel.cpp")) as file:
            assert "ask_row(" in file.read()


def test_nothing_is_gathered_from_nothing():
    for rows, ids in ((0, IDS[:0]), (9, IDS[:0]), (9, IDS)):
        for width in (0, 1, 3):
            if rows * width == 0 and ids.size:
                continue
            check(lambda x, ids: act(tf.gather(x, ids)), [np.ones((rows, width), "f4"), ids])


@pytest.mark.parametrize("dtype", [d for d in EVERY if d not in ("int16", "int64", "uint8")])
def test_diagonals(dtype):
    shapes = ((5, 9), (2, 9, 5), (3, 4, 4))
    functions = [array_ops.matrix_diag_part]
    if MODERN:
        functions += [lambda x: array_ops.matrix_diag_part_v2(x, 0, tf.zeros([], x.dtype)),
                      lambda x: array_ops.matrix_diag_part_v3(x, 0, tf.zeros([], x.dtype))]

    def build(*xs):
        pairs = list(zip(functions, xs))
        return [tf.equal(f(x), f(x)) for f, x in pairs] + [
            f(tf.where(tf.equal(x, x), x, x)) for f, x in pairs]

    check(build, [edges(dtype, int(np.prod(shape))).reshape(shape) for shape in shapes],
          kernels=None)


@pytest.mark.parametrize("dtype", [d for d in EVERY if has_kernel("DiagPart", d)])
def test_diagonal_of_a_tensor(dtype):
    x = edges(dtype, 36).reshape(2, 3, 2, 3)
    check(lambda x: tf.negative(array_ops.diag_part(x)), [x])


@pytest.mark.parametrize("dtype", ["float32", "int32", "bool", "float16"])
def test_rows_backwards(dtype):
    x = edges(dtype, 4 * 6 * 3).reshape(4, 6, 3)
    lengths = np.array([0, 6, 1, 4], "int64")

    def build(x, lengths):
        y = array_ops.reverse_sequence(x, lengths, 1, 0)
        z = array_ops.reverse_sequence(x, lengths[::-1], seq_dim=1, batch_dim=0)
        return tf.equal(y, z), y

    check(build, [x, lengths], kernels=None)
    for bad in ([7, 0, 0, 0], [0, 0, -1, 0]):
        tf_autofuse.enable("--enable_autofuse=true;--strict=true")
        try:
            with pytest.raises(tf.errors.InvalidArgumentError):
                run_graph(build, [x, np.array(bad)])
        finally:
            tf_autofuse.disable()
