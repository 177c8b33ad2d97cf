"""Export of graphs in which a rewrite put kernels, as a pass would."""

import os
import re

import pytest

tf = pytest.importorskip("tensorflow")

from tensorflow.core.framework import graph_pb2

from tf_autofuse.errors import IRError
from tf_autofuse.frontend.tensorflow.exporter import export_graph
from tf_autofuse.frontend.tensorflow.importer import import_graph
from tf_autofuse.ge.builder import GraphBuilder
from tf_autofuse.ge.passes import (
    SubgraphBoundary,
    SubgraphInput,
    SubgraphOutput,
    SubgraphRewriter,
)

v1 = tf.compat.v1


def fuse(graph, inputs, outputs, name="autofused_pointwise_0_Test"):
    """Replace a cluster; `inputs`: lists of (node, in port), `outputs`: (node, out port)."""
    builder = GraphBuilder("replacement")
    boundary = SubgraphBoundary()
    for index, ports in enumerate(inputs):
        nodes = [(graph.find_node_by_name(node), port) for node, port in ports]
        desc = nodes[0][0].get_input_desc(nodes[0][1])
        builder.add_op("d%d" % index, "Data", outputs=[desc], attrs={"index": index})
        assert boundary.add_input(index, SubgraphInput(nodes)) == 0
    descs = []
    for index, (node, port) in enumerate(outputs):
        found = graph.find_node_by_name(node)
        descs.append(found.get_output_desc(port))
        assert boundary.add_output(index, SubgraphOutput(found, port)) == 0
    attrs = {"autofuse_name": name, "kernel_key": "k", "spec": "v1;", "host_library": "/lib.so"}
    attrs["op_names"] = [node for node, _ in outputs]
    sources = [("d%d" % index, 0) for index in range(len(inputs))]
    builder.add_op("fused", "AutofusedKernel", inputs=sources, outputs=descs, attrs=attrs)
    results = [("fused", index) for index in range(len(outputs))]
    builder.add_op("out", "NetOutput", inputs=results)
    assert SubgraphRewriter.replace(boundary, builder.build()) == 0


def export(graph, record):
    data = export_graph(graph, record)
    return {node.name: node for node in graph_pb2.GraphDef.FromString(data).node}


def chain_graph_def():
    """x -> a=Abs -> r=Relu -> e=Exp, with u=Tanh(e) and a sibling l=Log(x)"""
    with tf.Graph().as_default() as graph, tf.device("/cpu:0"):
        x = v1.placeholder(tf.float32, [2, None], name="x")
        e = tf.exp(tf.nn.relu(tf.abs(x, name="a"), name="r"), name="e")
        tf.tanh(e, name="u")
        v1.log(x, name="l")
    return graph.as_graph_def()


SHAPES = {name: [(1, [2, -1])] for name in "xareul"}
OPERATOR = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(__file__))),
                        "csrc", "tf", "autofused_kernel_op.cc")


def test_a_kernel_has_every_attribute_of_its_operator():
    """TensorFlow 1.15 fills in no defaults in what its optimizer gives."""
    graph, record = import_graph(chain_graph_def(), {"shapes": SHAPES})
    fuse(graph, [[("a", 0)]], [("e", 0)])
    kernel = export(graph, record)["autofused_pointwise_0_Test"]
    with open(OPERATOR) as file:
        declared = set(re.findall(r'\.Attr\("(\w+):', file.read()))
    assert set(kernel.attr) == declared and len(declared) > 5


def test_a_kernel_takes_the_place_of_its_operators():
    graph_def = chain_graph_def()
    graph, record = import_graph(graph_def, {"shapes": SHAPES})
    fuse(graph, [[("a", 0)]], [("e", 0)])
    nodes = export(graph, record)
    assert list(nodes) == ["x", "u", "l", "autofused_pointwise_0_Test"]
    kernel = nodes["autofused_pointwise_0_Test"]
    assert kernel.op == "AutofusedKernel" and list(kernel.input) == ["x"]
    assert kernel.device == graph_def.node[1].device != ""
    assert list(kernel.attr["Tin"].list.type) == [1] == list(kernel.attr["Tout"].list.type)
    assert [d.size for d in kernel.attr["output_shapes"].list.shape[0].dim] == [2, -1]
    assert kernel.attr["kernel_key"].s == b"k" and kernel.attr["spec"].s == b"v1;"
    assert kernel.attr["host_library"].s == b"/lib.so"
    assert list(nodes["u"].input) == ["autofused_pointwise_0_Test"]
    before = {node.name: node for node in graph_def.node}
    assert nodes["x"] == before["x"] and nodes["l"] == before["l"]


def test_unknown_rank_is_told_to_tensorflow():
    graph, record = import_graph(chain_graph_def())
    fuse(graph, [[("a", 0)]], [("e", 0)])
    kernel = export(graph, record)["autofused_pointwise_0_Test"]
    assert kernel.attr["output_shapes"].list.shape[0].unknown_rank


def test_two_outputs_and_a_fetched_name():
    info = {"fetch": ["e:0", "u"], "preserve": ["r"], "shapes": SHAPES}
    graph, record = import_graph(chain_graph_def(), info)
    fuse(graph, [[("a", 0)]], [("r", 0), ("e", 0)])
    nodes = export(graph, record)
    name = "autofused_pointwise_0_Test"
    assert list(nodes["u"].input) == [name + ":1"]
    assert (nodes["e"].op, list(nodes["e"].input)) == ("Identity", [name + ":1"])
    assert (nodes["r"].op, list(nodes["r"].input)) == ("Identity", [name])
    assert nodes["e"].attr["T"].type == 1 and nodes["e"].device == nodes[name].device
    assert "a" not in nodes


def test_two_kernels_in_a_row_read_each_other():
    graph, record = import_graph(chain_graph_def(), {"fetch": ["u:0"], "shapes": SHAPES})
    fuse(graph, [[("a", 0)]], [("r", 0)], "first")
    fuse(graph, [[("e", 0)]], [("u", 0)], "second")
    nodes = export(graph, record)
    assert list(nodes["first"].input) == ["x"] and list(nodes["second"].input) == ["first"]
    assert list(nodes["u"].input) == ["second"]


def test_control_edges_survive():
    with tf.Graph().as_default() as tf_graph:
        x = v1.placeholder(tf.float32, [2], name="x")
        before = v1.no_op(name="before")
        with v1.control_dependencies([before]):
            a = tf.abs(x, name="a")
        e = tf.exp(a, name="e")
        with v1.control_dependencies([e]):
            v1.no_op(name="after")
    graph, record = import_graph(tf_graph.as_graph_def(), {"preserve": ["after"]})
    fuse(graph, [[("a", 0)]], [("e", 0)], "kernel")
    nodes = export(graph, record)
    assert list(nodes["kernel"].input) == ["x", "^before"]
    assert "^kernel" in nodes["after"].input
    assert not any(name.startswith("noop_") for name in nodes)


def test_colocation_with_a_node_that_went_is_dropped():
    graph_def = chain_graph_def()
    by_name = {node.name: node for node in graph_def.node}
    by_name["u"].attr["_class"].list.s.extend([b"loc:@e", b"loc:@x"])
    by_name["l"].attr["_class"].list.s.append(b"loc:@a")
    by_name["x"].attr["_class"].list.s.append(b"loc:@l")
    graph, record = import_graph(graph_def, {"shapes": SHAPES})
    fuse(graph, [[("a", 0)]], [("e", 0)])
    nodes = export(graph, record)
    assert list(nodes["u"].attr["_class"].list.s) == [b"loc:@x"]
    assert "_class" not in nodes["l"].attr
    assert list(nodes["x"].attr["_class"].list.s) == [b"loc:@l"]


def composition_graph_def():
    graph_def = graph_pb2.GraphDef()
    graph_def.node.add(name="x", op="Placeholder").attr["dtype"].type = 1
    chain = graph_def.node.add(name="c", op="_UnaryOpsComposition", input=["x"], device="/cpu:0")
    chain.attr["T"].type = 1
    chain.attr["op_names"].list.s.extend([b"Abs", b"Sqrt", b"Exp"])
    graph_def.node.add(name="y", op="Neg", input=["c"]).attr["T"].type = 1
    return graph_def


COMPOSITION_SHAPES = {name: [(1, [4])] for name in "xcy"}


def test_a_composition_is_expanded_and_folded_back():
    graph_def = composition_graph_def()
    graph, record = import_graph(graph_def, {"fetch": ["y"], "shapes": COMPOSITION_SHAPES})
    names = [node.name for node in graph.get_direct_nodes()]
    assert names == ["x", "c/Abs_0", "c/Sqrt_1", "c/Exp_2", "y", "NetOutput"]
    for name, type_ in (("c/Abs_0", "Abs"), ("c/Exp_2", "Exp")):
        node = graph.find_node_by_name(name)
        assert node.type == type_ and node.get_attr("_tf_composition") == "c"
        assert node.get_output_desc(0).shape == [4]
    assert export_graph(graph, record) == graph_def.SerializeToString()


def test_a_composition_that_is_fused_whole():
    graph, record = import_graph(composition_graph_def(), {"shapes": COMPOSITION_SHAPES})
    fuse(graph, [[("c/Abs_0", 0)]], [("y", 0)])
    nodes = export(graph, record)
    assert list(nodes) == ["x", "autofused_pointwise_0_Test"]


def test_what_is_left_of_a_composition_stands_alone():
    graph, record = import_graph(composition_graph_def(), {"shapes": COMPOSITION_SHAPES})
    fuse(graph, [[("c/Abs_0", 0)]], [("c/Abs_0", 0)], "kernel")
    nodes = export(graph, record)
    assert list(nodes) == ["x", "c/Sqrt_1", "c", "y", "kernel"]
    assert (nodes["c/Sqrt_1"].op, list(nodes["c/Sqrt_1"].input)) == ("Sqrt", ["kernel"])
    assert (nodes["c"].op, list(nodes["c"].input)) == ("Exp", ["c/Sqrt_1"])
    assert nodes["c"].device == "/cpu:0" and nodes["c"].attr["T"].type == 1
    assert "op_names" not in nodes["c"].attr
    assert list(nodes["y"].input) == ["c"]


def test_composition_order_is_tensorflows():
    """TF computes a composition from the first name to the last, as the expansion does."""
    graph_def = composition_graph_def()
    graph_def.node[1].attr["op_names"].list.s[:] = [b"Neg", b"Exp", b"Abs"]
    with tf.Graph().as_default() as tf_graph:
        v1.import_graph_def(graph_def, name="")
        with v1.Session(graph=tf_graph) as session:
            value = session.run("y:0", {"x:0": [1.0]})
    assert value[0] == pytest.approx(-0.36787944)


def test_a_node_without_a_tf_operator_is_an_error():
    graph, record = import_graph(chain_graph_def(), {"shapes": SHAPES})
    builder = GraphBuilder("replacement")
    desc = graph.find_node_by_name("a").get_output_desc(0)
    builder.add_op("d", "Data", outputs=[desc], attrs={"index": 0})
    builder.add_op("odd", "AscBackend", inputs=[("d", 0)], outputs=[desc])
    builder.add_op("out", "NetOutput", inputs=[("odd", 0)])
    boundary = SubgraphBoundary()
    boundary.add_input(0, SubgraphInput([(graph.find_node_by_name("a"), 0)]))
    boundary.add_output(0, SubgraphOutput(graph.find_node_by_name("a"), 0))
    assert SubgraphRewriter.replace(boundary, builder.build()) == 0
    with pytest.raises(IRError, match="no TF operator for a AscBackend"):
        export_graph(graph, record)
