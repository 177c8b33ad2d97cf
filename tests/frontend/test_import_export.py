"""GraphDef to ge.Graph and back."""

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from tensorflow.core.framework import graph_pb2

from tf_autofuse.errors import IRError
from tf_autofuse.frontend.tensorflow import wire
from tf_autofuse.frontend.tensorflow.exporter import export_graph
from tf_autofuse.frontend.tensorflow.importer import import_graph
from tf_autofuse.ge.types import DataType, Format

v1 = tf.compat.v1


def nodes_by_name(data):
    return {node.name: node for node in graph_pb2.GraphDef.FromString(data).node}


def live(graph):
    return {node.name: node for node in graph.get_direct_nodes()}


def test_nothing_is_lost_without_a_pass(tf_graph_def):
    data = tf_graph_def.SerializeToString()
    names = [node.name for node in tf_graph_def.node]
    info = {"fetch": [names[-1] + ":0"], "preserve": names[::5], "feed": [names[0]]}
    assert export_graph(*import_graph(data, info)) == data


def test_every_node_is_there_with_its_edges(tf_graph_def):
    graph, _ = import_graph(tf_graph_def)
    nodes = live(graph)
    assert list(nodes) == [node.name for node in tf_graph_def.node]
    for node_def in tf_graph_def.node:
        node = nodes[node_def.name]
        data = [text for text in node_def.input if not text.startswith("^")]
        for port, text in enumerate(data):
            name, _, source_port = text.partition(":")
            source, found = node.get_in_data_nodes_and_port_indexes(port)
            assert (source.name, found) == (name, int(source_port or 0))
        controls = [text[1:] for text in node_def.input if text.startswith("^")]
        assert [item.name for item in node.get_in_control_nodes()] == controls


def test_types_and_attributes(make):
    graph, _ = import_graph(make["strings_graph"]())
    nodes = live(graph)
    assert nodes["cast"].type == "Cast"
    assert nodes["cast"].get_attr("dst_type") == DataType.DT_FLOAT16
    assert nodes["cast"].get_attr("SrcT") is DataType.DT_FLOAT
    assert nodes["cast"].get_output_desc(0).data_type is DataType.DT_FLOAT16
    assert nodes["n"].get_attr("N") == 2
    assert nodes["leaky"].get_attr("negative_slope") == pytest.approx(0.3)
    bias = nodes["bias"]
    assert bias.get_attr("data_format") == "NHWC"
    assert bias.get_output_desc(0).format is Format.FORMAT_NHWC
    assert nodes["split"].get_outputs_size() == 2
    unique = nodes["u"]
    assert unique.type == "Unique"
    assert unique.get_output_desc(0).data_type is DataType.DT_STRING


def test_reduce_variables_devices_and_colocation(make):
    graph, _ = import_graph(make["session_graph"](), {"feed": ["x:0"], "fetch": ["loss:0"]})
    nodes = live(graph)
    loss = nodes["loss"]
    assert loss.type == "ReduceMean" and loss.get_attr("keep_dims") is False
    axes, _ = loss.get_in_data_nodes_and_port_indexes(1)
    assert axes.get_attr("value").data == 1
    assert loss.get_attr("_class") == ["loc:@y"]
    assert [item.name for item in nodes["Exp"].get_in_control_nodes()] == ["first"]
    assert nodes["y"].get_attr("_tf_device").upper().endswith("CPU:0")
    assert nodes["w"].type == "Variable" and nodes["w"].get_output_attr("_tf_ref", 0) is True
    assert nodes["w"].get_output_desc(0).data_type is DataType.DT_FLOAT
    assert nodes["x"].type == "Data" and nodes["x"].get_attr("_autofuse_fed") is True
    assert not nodes["y"].has_attr("_autofuse_fed")
    output, port = nodes["NetOutput"].get_in_data_nodes_and_port_indexes(0)
    assert (output.name, port) == ("loss", 0)


def test_shapes_and_symbols():
    with tf.Graph().as_default() as graph_def:
        x = v1.placeholder(tf.float32, name="x")
        tf.abs(x, name="y")
        tf.exp(x, name="z")
    shapes = {"x": [(1, [-3, 4, -1])], "y": [(1, None)], "z": [(1, [])]}
    graph, _ = import_graph(graph_def.as_graph_def(), {"shapes": shapes})
    nodes = live(graph)
    assert nodes["x"].get_output_desc(0).shape == [-1, 4, -1]
    assert nodes["x"].get_output_attr("_symbolic_dims", 0) == [-3, 4, -1]
    assert nodes["y"].get_input_desc(0).shape == [-1, 4, -1]
    assert nodes["y"].get_output_desc(0).shape == [-2]
    assert nodes["z"].get_output_desc(0).shape == []
    assert nodes["z"].get_attr("base") == -1.0


@pytest.mark.parametrize(
    "value",
    [
        np.float32(2.5),
        np.arange(6, dtype=np.int32).reshape(2, 3),
        np.zeros((0, 3), np.float32),
        np.full((4,), 7, np.int64),
        np.array([1.5, -0.0], np.float16),
        np.array([True, False]),
        np.array([-3, 4], np.int8),
    ],
)
@pytest.mark.parametrize("typed", [False, True])
def test_constant_values(value, typed):
    with tf.Graph().as_default() as graph:
        tf.constant(value, name="c")
    graph_def = graph.as_graph_def()
    proto = graph_def.node[0].attr["value"].tensor
    if typed:
        fill_typed_list(proto, value)
    nodes = live(import_graph(graph_def)[0])
    tensor = nodes["c"].get_attr("value")
    np.testing.assert_array_equal(tensor.numpy(), value)
    assert list(tensor.shape) == list(np.shape(value))


def fill_typed_list(proto, value):
    """The value in its typed list, as short as it may be: repeats of the last element left out."""
    fields = {"f4": "float_val", "i4": "int_val", "i8": "int64_val", "f2": "half_val"}
    fields.update({"b1": "bool_val", "i1": "int_val"})
    flat = np.ravel(value)
    field = fields[flat.dtype.str[1:]]
    values = (flat.view(np.uint16) if field == "half_val" else flat).tolist()
    while len(values) > 1 and values[-1] == values[-2]:
        values.pop()
    proto.ClearField("tensor_content")
    proto.ClearField(field)
    getattr(proto, field).extend(values)


def test_a_constant_that_does_not_fit_its_shape_is_named():
    with tf.Graph().as_default() as graph:
        tf.constant([1.0, 2.0, 3.0], name="c")
    graph_def = graph.as_graph_def()
    graph_def.node[0].attr["value"].tensor.tensor_content = b"\0" * 8
    with pytest.raises(IRError, match="c: the constant has 2 elements"):
        import_graph(graph_def)


def test_values_behind_the_last_element_are_not_used():
    """TensorFlow writes ones without elements as one 1."""
    with tf.Graph().as_default() as graph:
        tf.constant(np.zeros((0, 3), np.float32), name="none")
        tf.constant([1.0, 2.0], name="two")
    graph_def = graph.as_graph_def()
    for node in graph_def.node:
        proto = node.attr["value"].tensor
        proto.ClearField("tensor_content")
        proto.float_val[:] = [1.0, 2.0, 3.0]
    nodes = live(import_graph(graph_def)[0])
    assert nodes["none"].get_attr("value").numpy().shape == (0, 3)
    np.testing.assert_array_equal(nodes["two"].get_attr("value").numpy(), [1.0, 2.0])


def test_unknown_operators_stay_opaque():
    graph_def = graph_pb2.GraphDef()
    graph_def.node.add(name="a", op="NobodyKnowsThis").attr["k"].s = b"v"
    graph_def.node.add(name="b", op="Abs", input=["a:2"]).attr["T"].type = 1
    graph, record = import_graph(graph_def)
    node = live(graph)["a"]
    assert node.type == "FrameworkOp"
    assert node.get_attr("original_type") == "NobodyKnowsThis" and node.get_attr("k") == "v"
    assert node.get_outputs_size() == 3
    assert export_graph(graph, record) == graph_def.SerializeToString()


@pytest.mark.parametrize("missing", ["gone", "^gone", "gone:1"])
def test_an_input_from_nowhere_is_named(missing):
    graph_def = graph_pb2.GraphDef()
    graph_def.node.add(name="a", op="Abs", input=[missing])
    with pytest.raises(IRError, match="a: input '.*gone.*' names a node that is not there"):
        import_graph(graph_def)


def test_a_name_used_twice_is_an_error():
    graph_def = graph_pb2.GraphDef()
    graph_def.node.add(name="a", op="NoOp")
    graph_def.node.add(name="a", op="NoOp")
    with pytest.raises(IRError, match="a: the name is used twice"):
        import_graph(graph_def)


def test_damaged_bytes_are_an_error(make):
    data = make["session_graph"]().SerializeToString()
    with pytest.raises(IRError, match="cut short or damaged"):
        import_graph(data[: len(data) // 2])
    with pytest.raises(IRError):
        import_graph(b"\x0a\x03\xff\xff\xff")


def test_wire_split_keeps_every_field(make):
    graph_def = make["session_graph"]()
    data = graph_def.SerializeToString()
    nodes, rest, libraries = wire.split(data)
    assert len(nodes) == len(graph_def.node)
    assert wire.join(nodes, rest) == data
    others = graph_pb2.GraphDef.FromString(rest)
    assert others.versions == graph_def.versions and not others.node
    assert bool(libraries) == graph_def.HasField("library")
