"""Real GE files parse and print again without loss."""

from __future__ import annotations

import glob
import os

import pytest

from tf_autofuse.errors import DumpError, IRError
from tf_autofuse.ge import textformat
from tf_autofuse.ge.dump import read_dump
from tf_autofuse.ge.proto import ge, onnx
from tf_autofuse.ge.serialize import graph_to_model, model_to_graph, read_air

DUMPS = os.path.join(os.path.dirname(__file__), os.pardir, "data", "ge_dumps")


def files(pattern):
    found = sorted(glob.glob(os.path.join(DUMPS, "*", pattern)))
    assert found
    return found


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


@pytest.mark.parametrize("path", files("ge_proto*"), ids=os.path.basename)
def test_proto_text_is_reprinted_byte_for_byte(path):
    text = read(path)
    model = textformat.parse_text(text, ge.ModelDef(), path)
    assert textformat.to_text(model) == text
    assert textformat.to_text(graph_to_model(model_to_graph(model), for_text=True)) == text


@pytest.mark.parametrize("path", files("ge_onnx*"), ids=os.path.basename)
def test_onnx_text_is_reprinted_byte_for_byte(path):
    text = read(path)
    assert textformat.to_text(textformat.parse_text(text, onnx.ModelProto(), path)) == text


@pytest.mark.parametrize("path", files("*.air"), ids=os.path.basename)
def test_air_survives_the_graph(path):
    with open(path, "rb") as file:
        raw = file.read()
    model = graph_to_model(read_air(path))
    original = ge.ModelDef.FromString(raw)
    assert model.SerializeToString(deterministic=True) == original.SerializeToString(
        deterministic=True
    )
    assert len(model.SerializeToString()) == len(raw)


@pytest.mark.parametrize(
    "value, text",
    [
        (-1.0, "-1"),
        (-0.0, "-0"),
        (float("inf"), "inf"),
        (float("-inf"), "-inf"),
        (float("nan"), "nan"),
        (1 / 3, "0.333333343"),
        (1e-30, "1e-30"),
        (3e38, "3e+38"),
        (3.4028234663852886e38, "3.40282347e+38"),
        (0.1, "0.1"),
    ],
)
def test_float_spelling(value, text):
    model = ge.AttrDef(f=value)
    assert textformat.to_text(model) == "f: {}\n".format(text)


def test_onnx_level_1_can_be_read():
    path = os.path.join(DUMPS, "abs_reduce_sum", "ge_onnx_00000000_graph_0_PreRunBegin.pbtxt")
    graph = read_dump(path)
    node = graph.find_node_by_name("Sum")
    assert (node.type, node.get_attr("keep_dims")) == ("ReduceSum", 1)
    assert node.get_in_data_nodes_and_port_indexes(0)[0].name == "Abs"
    assert node.get_input_desc(1).data_type.name == "DT_INT32"
    assert node.get_output_desc(0).shape == [128, 1]


@pytest.mark.parametrize("path", files("ge_onnx*"), ids=os.path.basename)
def test_onnx_gives_the_names_and_edges_of_the_proto(path):
    folder = os.path.dirname(path)
    name = "_after" if "RunCustomPass" in path else "_before"
    airs = glob.glob(os.path.join(folder, "*.air"))
    air = airs[0] if len(airs) == 1 else [item for item in airs if name in item][0]
    want, got = read_dump(air), read_dump(path)
    assert edges(got) == edges(want)
    assert [sub.name for sub in got.get_all_subgraphs()] == [
        sub.name for sub in want.get_all_subgraphs()
    ]


def edges(graph):
    return {
        (node.name, node.type): (
            [edge and (edge[0].name, edge[1]) for edge in node._node.inputs],
            sorted(other.name for other in node.get_in_control_nodes()),
        )
        for node in graph.get_all_nodes()
    }


def model_of(*ops):
    model = ge.ModelDef()
    graph = model.graph.add(name="g")
    for name, inputs, outputs in ops:
        op = graph.op.add(name=name, type="Abs", input=inputs)
        for _ in inputs:
            op.input_desc.add()
        for _ in range(outputs):
            op.output_desc.add()
    return model


@pytest.mark.parametrize(
    "model, text",
    [
        (ge.ModelDef(), "no graph"),
        (model_of(("a", [], 1), ("a", [], 1)), "two nodes are named a"),
        (model_of(("a", ["b:0"], 1)), "b:0 names no node"),
        (model_of(("a", [], 1), ("b", ["a:1"], 1)), "a:1 names no output"),
        (model_of(("a", [], 1), ("b", ["a:x"], 1)), "a:x names no output"),
    ],
)
def test_inconsistent_models_are_refused(model, text):
    with pytest.raises(IRError, match=text):
        model_to_graph(model)


def test_names_with_colons():
    model = model_of(("scope:a", [], 1), ("b", ["scope:a:0"], 1))
    graph = model_to_graph(model)
    assert graph.nodes["b"].inputs[0][0].name == "scope:a"


def test_damaged_text_names_the_line(tmp_path):
    path = tmp_path / "ge_proto_00000000_graph_0_X.txt"
    path.write_text('graph {\n  name: "g"\n  op {\n    nam: "a"\n  }\n}\n')
    with pytest.raises(DumpError) as info:
        read_dump(str(path))
    assert (info.value.path, info.value.line) == (str(path), 4)


def test_inconsistent_text_names_the_line_of_the_node(tmp_path):
    path = tmp_path / "ge_proto_00000000_graph_0_X.txt"
    path.write_text('graph {\n  name: "g"\n  op {\n    name: "a"\n    input: "z:0"\n  }\n}\n')
    with pytest.raises(DumpError) as info:
        read_dump(str(path))
    assert (info.value.line, info.value.node) == (4, "a")
    assert "z:0 names no node" in str(info.value)


@pytest.mark.parametrize("content", [b"", b"\n\n", b"graph {\n \xff\xfe\n}", b"graph {\n  op {\n"])
def test_other_damage(tmp_path, content):
    path = tmp_path / "ge_proto_00000000_graph_0_X.txt"
    path.write_bytes(content)
    with pytest.raises(DumpError) as info:
        read_dump(str(path))
    assert info.value.line >= 1


def test_damaged_air(tmp_path):
    path = tmp_path / "x.air"
    path.write_bytes(b"\x3a\xff\xff\xff\xff\x0f garbage")
    with pytest.raises(DumpError, match="x.air"):
        read_dump(str(path))
