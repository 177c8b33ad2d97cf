"""The face of graphs and nodes: what GE allows, refuses and copies."""

from __future__ import annotations

import copy
import os
import struct

import numpy as np
import pytest

from tf_autofuse.errors import IRError
from tf_autofuse.ge.builder import GraphBuilder
from tf_autofuse.ge.graph import Graph, Tensor, TensorDesc
from tf_autofuse.ge.node import Node
from tf_autofuse.ge.types import PROTO_OF, DataType, Format

DUMPS = os.path.join(os.path.dirname(__file__), os.pardir, "data", "ge_dumps")
FP32 = TensorDesc([2, -1], Format.FORMAT_ND, DataType.DT_FLOAT)


def make_graph():
    builder = GraphBuilder("g")
    builder.add_op("x", "Data", outputs=[FP32], attrs={"index": 0})
    builder.add_op("a", "Abs", inputs=[("x", 0)], outputs=[FP32])
    builder.add_op("b", "Relu", inputs=[("a", 0)], outputs=[FP32], controls=["x"])
    builder.add_op("c", "MatMulV2", inputs=[("b", 0), ("a", 0), None], outputs=[FP32])
    builder.add_op("out", "NetOutput", inputs=[("c", 0)])
    return builder.build()


def load(folder, name=None):
    graph = Graph()
    graph.load_from_air(os.path.join(DUMPS, folder, (name or folder) + ".air"))
    return graph


def test_walking():
    graph = make_graph()
    c = graph.find_node_by_name("c")
    assert (c.name, c.type, c.get_inputs_size(), c.get_outputs_size()) == ("c", "MatMulV2", 3, 1)
    producer, port = c.get_in_data_nodes_and_port_indexes(0)
    assert (producer.name, port) == ("b", 0)
    with pytest.raises(RuntimeError):
        c.get_in_data_nodes_and_port_indexes(2)
    with pytest.raises(RuntimeError):
        c.get_in_data_nodes_and_port_indexes(9)
    a = graph.find_node_by_name("a")
    assert [(n.name, p) for n, p in a.get_out_data_nodes_and_port_indexes(0)] == [
        ("b", 0),
        ("c", 1),
    ]
    assert a.get_out_data_nodes_and_port_indexes(5) == []
    x = graph.find_node_by_name("x")
    assert [node.name for node in x.get_out_control_nodes()] == ["b"]
    assert [node.name for node in graph.find_node_by_name("b").get_in_control_nodes()] == ["x"]
    assert x.get_inputs_size() == 1
    with pytest.raises(RuntimeError):
        graph.find_node_by_name("nobody")


def test_wrappers_are_new_unequal_and_go_stale():
    graph = make_graph()
    one, other = graph.find_node_by_name("a"), graph.find_node_by_name("a")
    assert one is not other and one != other and one.name == other.name
    graph.remove_node(other)
    for call in (lambda: one.name, lambda: one.get_attr("x"), one.get_inputs_size):
        with pytest.raises(RuntimeError):
            call()
    with pytest.raises(RuntimeError):
        graph.remove_node(one)
    with pytest.raises(RuntimeError):
        graph.find_node_by_name("b").get_in_data_nodes_and_port_indexes(0)
    assert not hasattr(graph, "add_node")
    with pytest.raises(RuntimeError):
        Node("a")
    for thing in (graph, graph.find_node_by_name("b")):
        with pytest.raises(RuntimeError):
            copy.copy(thing)
        with pytest.raises(RuntimeError):
            copy.deepcopy(thing)


def test_edges():
    graph = make_graph()
    x, a, b = (graph.find_node_by_name(name) for name in "xab")
    with pytest.raises(RuntimeError):
        graph.add_data_edge(x, 0, b, 0)
    graph.remove_edge(a, 0, b, 0)
    with pytest.raises(RuntimeError):
        graph.remove_edge(a, 0, b, 0)
    graph.add_data_edge(x, 0, b, 0)
    assert b.get_in_data_nodes_and_port_indexes(0)[0].name == "x"
    graph.add_control_edge(x, b)
    assert [node.name for node in b.get_in_control_nodes()] == ["x", "x"]
    graph.remove_edge(x, -1, b, -1)
    graph.remove_edge(x, -1, b, -1)
    with pytest.raises(RuntimeError):
        graph.remove_edge(x, -1, b, -1)
    with pytest.raises(RuntimeError):
        graph.add_data_edge(x, 3, b, 0)
    stranger = make_graph().find_node_by_name("a")
    with pytest.raises(RuntimeError):
        graph.add_control_edge(stranger, b)


@pytest.mark.parametrize(
    "value",
    [
        "text",
        "",
        1,
        -(2**63),
        True,
        0.5,
        DataType.DT_BF16,
        [1, 2],
        [True, False],
        ["a", ""],
        [0.5, -1.0],
    ],
)
def test_attributes_read_back_with_their_type(value):
    graph = make_graph()
    node = graph.find_node_by_name("a")
    for owner in (node, graph):
        owner.set_attr("k", value)
        assert owner.get_attr("k") == value and type(owner.get_attr("k")) is type(value)
    node.set_output_attr("k", 0, value)
    assert node.get_output_attr("k", 0) == value
    node.set_input_attr("k", 0, value)
    assert node.get_input_attr("k", 0) == value


@pytest.mark.parametrize(
    "value",
    [[], (1, 2), b"raw", None, np.float32(1), np.int64(1), [[1]], [1, 0.5], {}, [None]],
    ids=repr,
)
def test_attributes_of_other_types_are_refused(value):
    node = make_graph().find_node_by_name("a")
    with pytest.raises(ValueError):
        node.set_attr("k", value)
    assert not node.has_attr("k")


def test_attribute_details():
    node = make_graph().find_node_by_name("a")
    node.set_attr("f", 0.1)
    assert node.get_attr("f") == struct.unpack("f", struct.pack("f", 0.1))[0] != 0.1
    node.set_attr("types", [DataType.DT_INT64, DataType.DT_FLOAT])
    assert node.get_attr("types") == [9, 0]
    assert type(node.get_attr("types")[0]) is int
    with pytest.raises(RuntimeError):
        node.get_attr("missing")
    got = node.get_attr("types")
    got.append(3)
    assert node.get_attr("types") == [9, 0]


def test_attributes_python_cannot_express():
    node = load("mixed").find_node_by_name("attr_zoo")
    for key in ("a_list_list_int", "a_bytes", "a_func", "a_graph", "a_td", "a_list_tensor"):
        assert node.has_attr(key)
        with pytest.raises(RuntimeError):
            node.get_attr(key)
    assert node.get_attr("a_list_string_empty") == []
    assert node.get_attr("a_dtype") is DataType.DT_BF16
    assert node.get_attr("a_list_dtype") == [0, 1, 9]
    assert node.get_attr("a_string_utf8") == "caf\u00e9 \u4e2d"
    assert node.get_attr("a_tensor").data == [1.0, -2.0]
    assert node.get_attr("a_tensor_bf16").numpy().tolist() == [0x3F80, 0xC000]


def test_descs_are_copies():
    graph = make_graph()
    a, b = graph.find_node_by_name("a"), graph.find_node_by_name("b")
    a.set_output_attr("_symbolic_dims", 0, [2, -7])
    desc = a.get_output_desc(0)
    assert desc.set_shape([4]).set_data_type(DataType.DT_FLOAT16) is desc
    assert a.get_output_desc(0).shape == [2, -1]
    a.update_output_desc(0, desc)
    assert a.get_output_desc(0).shape.dims == [4]
    assert a.get_output_desc(0).origin_shape == [2, -1]
    assert a.get_output_attr("_symbolic_dims", 0) == [2, -7]
    assert b.get_input_desc(0).data_type is DataType.DT_FLOAT
    with pytest.raises(RuntimeError):
        a.get_output_desc(1)


def test_air_round_trip(tmp_path):
    graph = make_graph()
    graph.find_node_by_name("a").set_attr("T", DataType.DT_FLOAT)
    graph.find_node_by_name("a").set_attr("w", Tensor([[1, 2]], data_type=DataType.DT_INT32))
    path = str(tmp_path / "g.air")
    graph.save_to_air(path)
    loaded = Graph("other")
    loaded.load_from_air(path)
    assert loaded.name == "g"
    names = [node.name for node in loaded.get_direct_nodes()]
    assert names == ["x", "a", "b", "c", "out"]
    a = loaded.find_node_by_name("a")
    assert a.get_attr("T") is DataType.DT_FLOAT
    assert a.get_attr("w").data == [[1, 2]]
    c = loaded.find_node_by_name("c")
    assert c.get_input_desc(2).format is Format.FORMAT_RESERVED
    assert c.get_input_desc(2).data_type is DataType.DT_UNDEFINED
    with pytest.raises(RuntimeError):
        loaded.load_from_air(str(tmp_path / "missing.air"))


def test_subgraphs():
    graph = load("control_while")
    names = [sub.name for sub in graph.get_all_subgraphs()]
    assert names == ["while_body_0", "while_cond_0", "while_body_0_call_f"]
    assert len(graph.get_all_nodes()) == 18
    assert len(graph.get_direct_nodes()) == 4
    body = graph.get_subgraph("while_body_0")
    assert body.find_node_by_name("while_body_0/Add").type == "Add"
    assert graph.get_subgraph("nobody") is None
    with pytest.raises(RuntimeError):
        graph.add_subgraph(Graph("while_body_0"))
    with pytest.raises(RuntimeError):
        graph.add_subgraph(Graph("control_while"))
    graph.add_subgraph(Graph("more"))
    graph.remove_subgraph("more")
    with pytest.raises(RuntimeError):
        graph.remove_subgraph("more")
    other = make_graph().find_node_by_name("a")
    with pytest.raises(RuntimeError):
        graph.remove_node(other)


def test_builder_resolves_loops_and_names_faults():
    builder = GraphBuilder("loop")
    builder.add_op("merge", "Merge", inputs=[("next", 0)], outputs=[FP32])
    builder.add_op("next", "NextIteration", inputs=[("merge", 0)], outputs=[FP32])
    graph = builder.build()
    merge = graph.find_node_by_name("merge")
    assert merge.get_in_data_nodes_and_port_indexes(0)[0].name == "next"
    builder = GraphBuilder("bad")
    builder.add_op("a", "Abs", inputs=[("z", 0)], outputs=[FP32])
    with pytest.raises(IRError, match="a: input z names no node"):
        builder.build()
    with pytest.raises(IRError, match="two nodes are named a"):
        builder.add_op("a", "Abs")
    with pytest.raises(IRError, match="b: Unsupported attribute type"):
        builder.add_op("b", "Abs", attrs={"k": None})


def test_tensor():
    tensor = Tensor([1.5, 2.5, 3.5, 4.5], data_type=DataType.DT_FLOAT16, shape=[2, 2])
    assert tensor.data == [[1.5, 2.5], [3.5, 4.5]]
    assert tensor.shape == [2, 2] and tensor.data_type is DataType.DT_FLOAT16
    with pytest.raises(ValueError):
        Tensor([1.0], data_type=DataType.DT_DOUBLE)
    array = np.array([1.0, 2.0])
    assert Tensor.from_numpy(array, DataType.DT_DOUBLE).numpy().tolist() == [1.0, 2.0]
    with pytest.raises(ValueError):
        Tensor.from_numpy(array, DataType.DT_FLOAT)


def test_two_numberings_of_types():
    assert (int(DataType.DT_FLOAT16), PROTO_OF[DataType.DT_FLOAT16]) == (1, 2)
    assert (int(DataType.DT_INT32), PROTO_OF[DataType.DT_INT32]) == (3, 7)
    assert (int(DataType.DT_INT64), PROTO_OF[DataType.DT_INT64]) == (9, 8)
    assert (int(DataType.DT_BF16), PROTO_OF[DataType.DT_BF16]) == (27, 27)
    assert int(Format.FORMAT_FRACTAL_NZ) == 29 and int(Format.FORMAT_RESERVED) == 40
