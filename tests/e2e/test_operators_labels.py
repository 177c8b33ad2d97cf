"""Products by label, searches, layouts, contrast, and operators of the first graph versions."""
import numpy as np
import pytest
import tensorflow as tf
from harness import MODERN, check, run_graph, sample
from opcheck import edges
from tensorflow.python.ops import gen_array_ops as array_ops

import tf_autofuse

pytestmark = pytest.mark.e2e

tf1 = tf.compat.v1


@pytest.mark.skipif(not MODERN, reason="an operator of newer versions")
@pytest.mark.parametrize("dtype", ["float32", "float16", "int32"])
def test_products_by_label(dtype):
    x, y = sample((5, 7, 9), dtype, 1, False), sample((5, 9), dtype, 2, False)

    def build(x, y):
        x, y = tf.maximum(x, x), tf.maximum(y, y)
        return [tf.raw_ops.Einsum(inputs=inputs, equation=equation) for inputs, equation in (
            ([x, y], "bij,bj->bi"), ([x, x], "bij,bij->bi"))]

    check(build, [x, y], composed=True)
    check(lambda x, y: tf.raw_ops.Einsum(inputs=[tf.maximum(y, y), y], equation="bj,bj->bj"),
          [x, y])


@pytest.mark.skipif(not MODERN, reason="an operator of newer versions")
def test_matrix_products_stay():
    x, y = sample((5, 7), "float32", 1, False), sample((7, 9), "float32", 2, False)
    check(lambda x, y: tf.raw_ops.Einsum(
        inputs=[tf.abs(tf.negative(x)), y], equation="ij,jk->ik"), [x, y], kernels=1)
    assert not [e for e in tf_autofuse.report().kernels if "MatMul" in e.op_types]


@pytest.mark.parametrize("dtype", ["float32", "int32", "int64"])
def test_searches_of_short_rows(dtype):
    row = np.sort(edges(dtype, 60).reshape(3, 20), axis=1)
    values = edges(dtype, 90, 2).reshape(3, 30)
    if dtype == "float32":
        row, values = np.sort(np.nan_to_num(row), axis=1), np.nan_to_num(values)

    def build(row, values):
        values = tf.maximum(values, values)
        return [array_ops.lower_bound(row, values), array_ops.upper_bound(row, values),
                array_ops.upper_bound(row, values, tf.int64)]

    check(build, [row, values])


def test_dims_of_another_layout():
    x = np.array([0, 1, 2, 3, -1, -2, -3, -4], "int32")
    for source, target in (("NHWC", "NCHW"), ("NCHW", "NHWC")):
        check(lambda x, s=source, t=target: tf.raw_ops.DataFormatDimMap(
            x=tf.maximum(x, x), src_format=s, dst_format=t) if MODERN else tf.maximum(
                tf.abs(x), x), [x])


def test_contrast():
    x = sample((2, 5, 7, 3), "float32", 3, False)

    def build(x, factor):
        return tf.abs(tf.image.adjust_contrast(tf.maximum(x, x), factor))

    tf_autofuse.disable()
    (expected,) = run_graph(build, [x, np.float32(1.7)])
    tf_autofuse.enable("--enable_autofuse=true;--strict=true")
    (got,) = run_graph(build, [x, np.float32(1.7)])
    tf_autofuse.disable()
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5)
    assert any("AdjustContrastv2" in e.op_types for e in tf_autofuse.report().kernels)


def test_several_names_at_once():
    x, y = sample((5, 9), "float32", 1), sample((5, 9), "float32", 2)

    def build(x, y):
        a, b = tf1.identity_n([tf.abs(x), tf.negative(y)])
        return a + b

    check(build, [x, y], kernels=None)


def old_graph(op, attrs, inputs):
    """Result of `op` and a Neg behind it in a graph of version 8."""
    graph = tf1.GraphDef()
    graph.versions.producer = 8
    for number, array in enumerate(inputs):
        node = graph.node.add(name="x%d" % number, op="Placeholder")
        node.attr["dtype"].type = tf.as_dtype(array.dtype).as_datatype_enum
        for size in array.shape:
            node.attr["shape"].shape.dim.add(size=size)
    node = graph.node.add(name="y", op=op, input=["x%d" % n for n in range(len(inputs))])
    node.attr["T"].type = tf.as_dtype(inputs[0].dtype).as_datatype_enum
    for name, value in attrs.items():
        kind = {bool: "b", int: "i", float: "f"}[type(value)]
        setattr(node.attr[name], kind, value)
    last = graph.node.add(name="z", op="Neg", input=["y"])
    last.attr["T"].type = node.attr["T"].type
    with tf.Graph().as_default() as built:
        tf1.import_graph_def(graph, name="")
        with tf1.Session(graph=built) as session:
            return session.run("z:0", {"x%d:0" % n: array for n, array in enumerate(inputs)})


VECTOR = np.linspace(0.5, 2, 9).astype("float32")
OLD = {
    "BatchNormWithGlobalNormalization": (
        {"variance_epsilon": 1e-3, "scale_after_normalization": True},
        [sample((2, 3, 4, 9), "float32", 1, False)] + [VECTOR, VECTOR, VECTOR, VECTOR]),
    "QuantizeAndDequantize": (
        {"signed_input": True, "num_bits": 6, "range_given": True, "input_min": -3.0,
         "input_max": 2.0}, [sample((5, 9), "float32", 1, False)]),
}


@pytest.mark.parametrize("op", sorted(OLD))
def test_operators_of_old_graphs(op):
    attrs, inputs = OLD[op]
    tf_autofuse.disable()
    expected = old_graph(op, attrs, inputs)
    tf_autofuse.enable("--enable_autofuse=true;--strict=true")
    try:
        got = old_graph(op, attrs, inputs)
    finally:
        tf_autofuse.disable()
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)
    assert any(op in entry.op_types for entry in tf_autofuse.report().kernels)
