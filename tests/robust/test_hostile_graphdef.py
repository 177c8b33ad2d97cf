"""GraphDefs that are damaged or claim too much."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

tf = pytest.importorskip("tensorflow")

from tf_autofuse.errors import AutofuseError, IRError  # noqa: E402
from tf_autofuse.frontend.tensorflow.exporter import export_graph  # noqa: E402
from tf_autofuse.frontend.tensorflow.importer import import_graph  # noqa: E402
from tf_autofuse.frontend.tensorflow.models import load_model  # noqa: E402

tf1 = tf.compat.v1


def small_graph():
    """A GraphDef with constants, a function library and control edges."""
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None, 4], name="x")
        y = tf.exp(tf.abs(x) + np.arange(4, dtype=np.float32), name="y")
        with tf.control_dependencies([y]):
            tf.reduce_sum(y, axis=1, name="z")
        return graph.as_graph_def()


def constant(dims):
    data = tf1.GraphDef()
    node = data.node.add(name="c", op="Const")
    node.attr["dtype"].type = tf.float32.as_datatype_enum
    value = node.attr["value"].tensor
    value.dtype = tf.float32.as_datatype_enum
    for size in dims:
        value.tensor_shape.dim.add(size=size)
    value.float_val.append(1.5)
    return data


@pytest.mark.parametrize("dims", [[1 << 40], [1 << 20, 1 << 20], [1 << 62, 1 << 62]])
def test_a_constant_of_terabytes_stays_a_few_bytes(dims):
    data = constant(dims)
    graph, record = import_graph(data, {"fetch": ["c"]})
    assert not graph.find_node_by_name("c").has_attr("value")
    assert tf1.GraphDef.FromString(export_graph(graph, record)) == data


@pytest.mark.parametrize("dims", [[-1], [-1, -1], [1 << 62, -3]])
def test_a_constant_of_negative_size(dims):
    with pytest.raises(IRError, match="c: the constant has shape"):
        import_graph(constant(dims), {"fetch": ["c"]})


def test_outputs_of_unknown_operators_are_not_made_by_the_billion():
    data = tf1.GraphDef()
    data.node.add(name="a", op="OpThatNobodyHas")
    data.node.add(name="b", op="OpThatNobodyHas", input=["a:999999999"])
    with pytest.raises(IRError, match="a: an input names output 999999999"):
        import_graph(data)


@settings(
    max_examples=200, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
@given(edits=st.lists(
    st.tuples(st.floats(0, 1), st.integers(0, 9), st.binary(max_size=6)), min_size=1, max_size=3))
def test_damaged_graphdefs(edits):
    data = small_graph().SerializeToString()
    for place, cut, put in edits:
        at = int(place * len(data))
        data = data[:at] + put + data[at + cut :]
    try:
        graph, record = import_graph(data, {"fetch": ["z"], "feed": ["x"]})
    except AutofuseError:
        return
    assert export_graph(graph, record) == data


@pytest.mark.parametrize("name, text", [
    ("m.pbtxt", "node { attr { key: 'a' value { func { " * 5000),
    ("m.pbtxt", "\ufffe\x00"),
    ("m.pb", "\x0a\xff\xff\xff\xff\x7f"),
], ids=["deep", "no text", "cut"])  # fmt: skip
def test_model_files(name, text, tmp_path):
    path = tmp_path / name
    path.write_bytes(text.encode("latin-1", "replace"))
    with pytest.raises(AutofuseError, match="not a GraphDef"):
        load_model(str(path))
