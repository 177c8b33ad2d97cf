"""The pass inside a stand-in GE, on GE graphs that were imported from TensorFlow models."""
import numpy as np
import pytest
from ge_process import compile_graph

tf = pytest.importorskip("tensorflow")
v1 = tf.compat.v1


def imported(build):
    from tf_autofuse.frontend.tensorflow.importer import import_graph

    with tf.Graph().as_default() as graph:
        fetch = [tensor.name for tensor in build()]
    shapes = {
        op.name: [
            (t.dtype.as_datatype_enum,
             None if t.shape.rank is None else [-1 if d is None else d for d in t.shape.as_list()])
            for t in op.outputs
        ]
        for op in graph.get_operations()
    }  # fmt: skip
    return import_graph(graph.as_graph_def(), {"fetch": fetch, "shapes": shapes})[0]


def test_a_layer_with_its_loss(tmp_path):
    def build():
        x = v1.placeholder(tf.float32, [None, 64], name="x")
        weight = tf.constant(np.ones((64, 32), np.float32), name="w")
        bias = tf.constant(np.full(32, 1e-7, np.float32), name="b")
        y = tf.nn.relu(tf.nn.bias_add(tf.matmul(x, weight), bias))
        loss = tf.reduce_mean(tf.square(tf.exp(-y) - 1e-7), axis=1, name="loss")
        return y, loss

    done = compile_graph(imported(build), tmp_path)
    assert done.code == 0, done.text
    types = {name for node in done.nodes("AutofusedKernel").values()
             for name in node.get_attr("op_types")}  # fmt: skip
    assert {"Relu", "Neg", "Exp"} <= types
    left = {node.type for node in done.nodes().values()}
    assert not types & {"MatMul", "MatMulV2"} and left & {"MatMul", "MatMulV2"}


def test_outputs_that_are_fetched_and_used_inside(tmp_path):
    def build():
        x = v1.placeholder(tf.float16, [16, 128], name="x")
        first = tf.abs(x)
        return first, tf.maximum(first, tf.constant(0.5, tf.float16))

    done = compile_graph(imported(build), tmp_path)
    node = done.fused()
    assert node.get_outputs_size() == 2
    assert {node.get_output_desc(i).data_type.name for i in (0, 1)} == {"DT_FLOAT16"}


def test_control_flow_of_tensorflow_1_is_left_in_peace(tmp_path):
    def build():
        v1.disable_control_flow_v2()
        x = v1.placeholder(tf.float32, [8, 16], name="x")
        loop = v1.while_loop(lambda i, t: i < 3, lambda i, t: (i + 1, tf.exp(-tf.abs(t))), [0, x])
        return (tf.abs(-loop[1]),)

    try:
        done = compile_graph(imported(build), tmp_path)
    finally:
        if tf.__version__.startswith("2"):
            v1.enable_control_flow_v2()
    assert done.code == 0, done.text
    types = {node.type for node in done.nodes().values()}
    assert {"Enter", "Exit", "Merge", "Switch", "NextIteration", "LoopCond"} <= types
