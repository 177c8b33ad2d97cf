"""The rewriter against graphs GE itself rewrote, and its manners."""

from __future__ import annotations

import os
from typing import Dict, List

import pytest

from tf_autofuse.ge import serialize
from tf_autofuse.ge.builder import GraphBuilder
from tf_autofuse.ge.graph import Graph, TensorDesc
from tf_autofuse.ge.node import Node
from tf_autofuse.ge.passes import (
    PassContext,
    SubgraphBoundary,
    SubgraphInput,
    SubgraphOutput,
    SubgraphRewriter,
    can_fuse,
    report_fuse,
)
from tf_autofuse.ge.types import STATUS_FAILED, DataType, Format

DUMPS = os.path.join(os.path.dirname(__file__), os.pardir, "data", "ge_dumps")
OPTIONS = ("GlobalOptions", "GraphOptions", "SessionOptions")  # GE's dumps leave them in the graph


def make_replacement(name: str, descs_in: List[TensorDesc], desc: TensorDesc) -> Graph:
    builder = GraphBuilder("replacement")
    names = ["x{}".format(index) for index in range(len(descs_in))]
    for index, source in enumerate(names):
        builder.add_op(source, "Data", outputs=[descs_in[index]], attrs={"index": index})
    builder.add_op(
        name,
        "AutofusedKernel",
        inputs=[(source, 0) for source in names],
        outputs=[desc],
        attrs={"kernel_key": "0123456789abcdef"},
    )
    builder.add_op("out", "NetOutput", inputs=[(name, 0)])
    return builder.build()


def rewrite(graph: Graph, chain: List[str], context=None):
    """Replace the elementwise `chain` (producers first) as the pass behind the real dumps did."""
    nodes = [graph.find_node_by_name(name) for name in chain]
    boundary = SubgraphBoundary()
    descs = []
    for node in nodes:
        for port in range(node.get_inputs_size()):
            producer, _ = node.get_in_data_nodes_and_port_indexes(port)
            if producer.name in chain:
                continue
            assert boundary.add_input(len(descs), SubgraphInput([(node, port)])) == 0
            descs.append(node.get_input_desc(port))
    assert boundary.add_output(0, SubgraphOutput(nodes[-1], 0)) == 0
    name = "autofused_pointwise_0_" + "_".join(node.type for node in nodes)
    replacement = make_replacement(name, descs, nodes[-1].get_output_desc(0))
    if context is None:
        return SubgraphRewriter.replace(boundary, replacement)
    return SubgraphRewriter.replace(boundary, replacement, context=context)


def picture(graph: Graph) -> Dict:
    """Everything of a graph but what GE itself does not repeat: ids aside, control order aside."""
    model = serialize.graph_to_model(graph._graph)
    ops = []
    for op in model.graph[0].op:
        data = [text for text in op.input if not text.endswith(":-1")]
        controls = sorted(text for text in op.input if text.endswith(":-1"))
        attrs = {key: op.attr[key].SerializeToString(deterministic=True) for key in op.attr}
        descs = [
            desc.SerializeToString(deterministic=True)
            for desc in list(op.input_desc) + list(op.output_desc)
        ]
        ops.append((op.name, op.type, op.id, data, controls, attrs, descs))
    attrs = sorted(set(model.graph[0].attr) - set(OPTIONS))
    return {
        "ops": ops,
        "attrs": attrs,
        "in": list(model.graph[0].input),
        "out": list(model.graph[0].output),
    }


def load(folder: str, name: str) -> Graph:
    graph = Graph()
    graph.load_from_air(os.path.join(DUMPS, folder, name + ".air"))
    return graph


@pytest.mark.parametrize(
    "folder, chain",
    [
        ("rewrite_abs_relu_exp", ["Abs", "Relu", "Exp"]),
        ("rewrite_abs_add_relu", ["Abs", "Add", "Relu"]),
        ("rewrite_ctrl", ["net/Abs", "net/Relu", "net/Exp"]),
    ],
)
def test_same_graph_as_ge(folder, chain):
    graph = load(folder, folder + "_before")
    assert rewrite(graph, chain, PassContext("AutofusePointwise")) is None
    want = picture(load(folder, folder + "_after"))
    got = picture(graph)
    assert got["ops"] == want["ops"]
    assert got == want


def test_without_context_no_pass_name():
    graph = load("rewrite_abs_relu_exp", "rewrite_abs_relu_exp_before")
    assert rewrite(graph, ["Abs", "Relu", "Exp"]) == 0
    assert picture(graph) == picture(load("rewrite_no_context", "rewrite_no_context_after"))


FP32 = TensorDesc([4, 8], Format.FORMAT_ND, DataType.DT_FLOAT)


def diamond() -> Graph:
    """x -> a -> b -> d and a -> c -> d: a and d without b and c cannot be one node."""
    builder = GraphBuilder("diamond")
    builder.add_op("x", "Data", outputs=[FP32], attrs={"index": 0})
    builder.add_op("a", "Abs", inputs=[("x", 0)], outputs=[FP32])
    builder.add_op("b", "Relu", inputs=[("a", 0)], outputs=[FP32])
    builder.add_op("c", "Exp", inputs=[("a", 0)], outputs=[FP32])
    builder.add_op("d", "Add", inputs=[("b", 0), ("c", 0)], outputs=[FP32])
    builder.add_op("out", "NetOutput", inputs=[("d", 0)])
    return builder.build()


def nodes_of(graph: Graph, names: str) -> List[Node]:
    return [graph.find_node_by_name(name) for name in names.split()]


def test_can_fuse_sees_a_cycle_and_user_controls():
    graph = diamond()
    assert can_fuse(nodes_of(graph, "a b c d")).ok
    answer = can_fuse(nodes_of(graph, "a b d"))
    assert not answer and answer.reason == "fusing would close a cycle through c"
    graph.find_node_by_name("b").set_attr("_user_stream_label", "s1")
    assert can_fuse(nodes_of(graph, "a b c d")).reason == "a and b differ in _user_stream_label"


def test_cycle_refused_only_with_context_and_nothing_changed():
    graph = diamond()
    a, d = nodes_of(graph, "a d")
    boundary = SubgraphBoundary()
    boundary.add_input(0, SubgraphInput([(a, 0)]))
    boundary.add_input(1, SubgraphInput([(d, 1)]))
    boundary.add_output(0, SubgraphOutput(d, 0))
    replacement = make_replacement("f", [FP32, FP32], FP32)
    before = picture(graph)
    with pytest.raises(RuntimeError, match="close a cycle through c"):
        SubgraphRewriter.replace(boundary, replacement, context=PassContext("P"))
    assert picture(graph) == before


def test_consumers_elsewhere_keep_a_replaced_node():
    builder = GraphBuilder("shared")
    builder.add_op("x", "Data", outputs=[FP32], attrs={"index": 0})
    builder.add_op("a", "Abs", inputs=[("x", 0)], outputs=[FP32])
    builder.add_op("b", "Relu", inputs=[("a", 0)], outputs=[FP32])
    builder.add_op("out", "NetOutput", inputs=[("a", 0), ("b", 0)])
    graph = builder.build()
    stale = graph.find_node_by_name("b")
    consumer = graph.find_node_by_name("out")
    assert rewrite(graph, ["a", "b"]) == 0
    assert [node.name for node in graph.get_direct_nodes()] == [
        "x",
        "a",
        "autofused_pointwise_0_Abs_Relu_b_a_0",
        "out",
    ]
    assert consumer.get_in_data_nodes_and_port_indexes(0)[0].name == "a"
    with pytest.raises(RuntimeError):
        stale.get_inputs_size()


def test_consumers_input_descs_stay():
    graph = diamond()
    nodes = nodes_of(graph, "a b c d")
    boundary = SubgraphBoundary()
    boundary.add_input(0, SubgraphInput([(nodes[0], 0)]))
    boundary.add_output(0, SubgraphOutput(nodes[3], 0))
    half = TensorDesc([32], Format.FORMAT_ND, DataType.DT_FLOAT16)
    assert SubgraphRewriter.replace(boundary, make_replacement("f", [FP32], half)) == 0
    out = graph.find_node_by_name("out")
    assert out.get_input_desc(0).data_type == DataType.DT_FLOAT
    fused, port = out.get_in_data_nodes_and_port_indexes(0)
    assert (fused.name, port) == ("f_d_b_c_a_0", 0)
    assert fused.get_output_desc(0).shape == [32]
    assert fused.get_attr("_datadump_original_op_types") == ["Add", "Relu", "Exp", "Abs"]


def test_failures_are_statuses():
    graph = diamond()
    a, d = nodes_of(graph, "a d")
    boundary = SubgraphBoundary()
    assert boundary.add_input(0, SubgraphInput([(a, 0)])) == 0
    assert boundary.add_input(0, SubgraphInput([(a, 0)])) == STATUS_FAILED
    assert boundary.add_output(0, SubgraphOutput(d, 7)) == 0
    assert boundary.add_output(0, SubgraphOutput(d, 0)) == STATUS_FAILED
    before = picture(graph)
    replacement = make_replacement("f", [FP32], FP32)
    assert SubgraphRewriter.replace(boundary, replacement) == STATUS_FAILED
    two_inputs = make_replacement("f", [FP32, FP32], FP32)
    boundary = SubgraphBoundary()
    boundary.add_input(0, SubgraphInput([(a, 0)]))
    boundary.add_output(0, SubgraphOutput(d, 0))
    assert SubgraphRewriter.replace(boundary, two_inputs) == STATUS_FAILED
    with pytest.raises(RuntimeError, match="has 1 inputs, the replacement 2"):
        SubgraphRewriter.replace(boundary, two_inputs, context=PassContext("P"))
    assert picture(graph) == before


def test_report_fuse_wants_a_name_and_living_nodes():
    graph = diamond()
    a, b = nodes_of(graph, "a b")
    report_fuse([a], [b], PassContext("P"))
    with pytest.raises(RuntimeError):
        report_fuse([a], [b], PassContext())
    graph.remove_node(graph.find_node_by_name("a"))
    with pytest.raises(RuntimeError):
        report_fuse([a], [b], PassContext("P"))


def test_replacement_passes_an_input_through():
    graph = diamond()
    a, d = nodes_of(graph, "a d")
    boundary = SubgraphBoundary()
    boundary.add_input(0, SubgraphInput([(a, 0)]))
    boundary.add_output(0, SubgraphOutput(d, 0))
    builder = GraphBuilder("identity")
    builder.add_op("x", "Data", outputs=[FP32], attrs={"index": 0})
    builder.add_op("out", "NetOutput", inputs=[("x", 0)])
    assert SubgraphRewriter.replace(boundary, builder.build()) == 0
    assert [node.name for node in graph.get_direct_nodes()] == ["x", "out"]


def ladder(length: int) -> Graph:
    """`length` pairs Abs -> Relu, each pair also read by the next but one."""
    builder = GraphBuilder("ladder")
    builder.add_op("x", "Data", outputs=[FP32], attrs={"index": 0})
    builder.add_op("r-2", "Neg", inputs=[("x", 0)], outputs=[FP32])
    builder.add_op("r-1", "Neg", inputs=[("x", 0)], outputs=[FP32])
    for index in range(length):
        name = str(index)
        near, far = ("r{}".format(index - 1), 0), ("r{}".format(index - 2), 0)
        builder.add_op("a" + name, "Add", inputs=[near, far], outputs=[FP32])
        builder.add_op("r" + name, "Relu", inputs=[("a" + name, 0)], outputs=[FP32])
    builder.add_op("out", "NetOutput", inputs=[("r{}".format(length - 1), 0)])
    return builder.build()


def test_many_clusters_in_one_graph_keep_a_topological_order():
    graph = ladder(200)
    context = PassContext("P")
    for index in list(range(0, 200, 2)) + list(range(1, 200, 2)):
        assert rewrite(graph, ["a{}".format(index), "r{}".format(index)], context) is None
    data = graph._graph
    assert data.ranked and len(data.nodes) == 204
    for node in data.nodes.values():
        for edge in node.inputs:
            assert edge is None or edge[0].rank < node.rank
    types = [node.type for node in graph.get_direct_nodes()]
    assert types == ["Data", "Neg", "Neg"] + ["AutofusedKernel"] * 200 + ["NetOutput"]


def test_ranks_outlive_edges_along_them():
    graph = ladder(4)
    assert can_fuse(nodes_of(graph, "a1 r1")).ok and graph._graph.ranked
    graph.add_control_edge(*nodes_of(graph, "r-1 r3"))
    assert graph._graph.ranked
    graph.add_control_edge(*nodes_of(graph, "r3 r-2"))
    assert not graph._graph.ranked
    assert not can_fuse(nodes_of(graph, "r-2 r3")).ok  # the cycle is found all the same


def test_reordering_moves_what_must_move():
    """Two interleaved chains; after fusing the first the second must be ranked behind it."""
    builder = GraphBuilder("interleaved")
    builder.add_op("x", "Data", outputs=[FP32], attrs={"index": 0})
    builder.add_op("a", "Abs", inputs=[("x", 0)], outputs=[FP32])
    builder.add_op("u", "Neg", inputs=[("a", 0)], outputs=[FP32])
    builder.add_op("v", "Neg", inputs=[("u", 0)], outputs=[FP32])
    builder.add_op("b", "Relu", inputs=[("a", 0)], outputs=[FP32])
    builder.add_op("c", "Relu", inputs=[("b", 0)], outputs=[FP32])
    builder.add_op("d", "Relu", inputs=[("c", 0)], outputs=[FP32])
    builder.add_op("out", "NetOutput", inputs=[("v", 0), ("d", 0)])
    graph = builder.build()
    boundary = SubgraphBoundary()
    boundary.add_input(0, SubgraphInput([(graph.find_node_by_name("a"), 0)]))
    boundary.add_output(0, SubgraphOutput(graph.find_node_by_name("a"), 0))
    boundary.add_output(1, SubgraphOutput(graph.find_node_by_name("d"), 0))
    template = GraphBuilder("two")
    template.add_op("x", "Data", outputs=[FP32], attrs={"index": 0})
    template.add_op("f", "AutofusedKernel", inputs=[("x", 0)], outputs=[FP32, FP32])
    template.add_op("out", "NetOutput", inputs=[("f", 0), ("f", 1)])
    context = PassContext("P")
    assert SubgraphRewriter.replace(boundary, template.build(), context=context) is None
    fused = graph.find_node_by_name("f_a_d_c_b_0")
    assert graph._graph.ranked
    assert fused._node.rank < graph.find_node_by_name("u")._node.rank
    assert not can_fuse([fused, graph.find_node_by_name("v")]).ok
    assert can_fuse([fused] + nodes_of(graph, "u v")).ok
