"""The structural check on real dumps, on tampered ones and on damaged ones."""

from __future__ import annotations

import json
import os
import shutil

import pytest

from tf_autofuse.errors import DumpError
from tf_autofuse.ge.builder import GraphBuilder
from tf_autofuse.ge.dump import read_dump
from tf_autofuse.ge.graph import Graph, TensorDesc
from tf_autofuse.ge.onnxdump import graph_to_onnx
from tf_autofuse.ge.textformat import to_text
from tf_autofuse.ge.types import DataType, DumpFormat, Format
from tf_autofuse.verify import (
    FusedNode,
    VerifyResult,
    render_json,
    render_text,
    verify_dumps,
)
from tf_autofuse.verify.result import TensorInfo

DUMPS = os.path.join(os.path.dirname(__file__), os.pardir, "data", "ge_dumps")
CTRL = os.path.join(DUMPS, "rewrite_ctrl")
FUSED = "autofused_pointwise_0_Abs_Relu_Exp_net/Exp_net/Relu_net/Abs_0"
AFTER = "ge_proto_00000002_graph_0_RunCustomPassAfterBuiltinFusionPass.txt"
FP32 = TensorDesc([4, -1], Format.FORMAT_ND, DataType.DT_FLOAT)


def test_real_dumps_hold():
    result = verify_dumps(CTRL)
    assert result.ok and result.exit_code == 0 and result.problems == []
    (node,) = result.fused
    assert node.name == FUSED and node.kernel_key == "0123456789abcdef"
    assert node.op_names == ["net/Exp", "net/Relu", "net/Abs"]
    assert node.op_types == ["Exp", "Relu", "Abs"]
    assert [(end.name, end.dtype, end.shape) for end in node.inputs] == [
        ("x:0", "DT_FLOAT16", [128, 192])
    ]
    text = render_text(result)
    assert (
        "fused " + FUSED in text
        and "op  net/Relu (Relu)" in text
        and text.endswith("ok: 1 fused, 0 problems, 4 files\n")
    )
    coloured = render_text(result, lambda text, colour: "<{}>{}</>".format(colour, text))
    assert "<green>ok</>: 1 fused" in coloured and "fused <bold>" + FUSED in coloured
    shown = json.loads(render_json(result))
    assert shown["ok"] is True and shown["fused"][0]["op_types"] == ["Exp", "Relu", "Abs"]


def test_long_names_of_ge_are_shown_short(tmp_path):
    """GE appends the names of all operators; the pass leaves its own name in an attribute."""
    result = VerifyResult(fused=[
        FusedNode("autofused_0_Abs_a_very_long_name_0", "autofused_0_Abs", "g", "AutofusedKernel",
                  "", ["a"], ["Abs"], [],
                  [TensorInfo("autofused_0_Abs_a_very_long_name_0:0", "DT_FLOAT", [1])]),
    ])  # fmt: skip
    text = render_text(result)
    assert "very_long_name" not in text and "out autofused_0_Abs:0 DT_FLOAT [1]" in text
    assert "very_long_name" in render_json(result)


def test_folders_below(tmp_path):
    for number, folder in enumerate(("rewrite_ctrl", "rewrite_abs_relu_exp")):
        target = tmp_path / "pid_{}_deviceid_0".format(number)
        shutil.copytree(os.path.join(DUMPS, folder), str(target))
    assert len(verify_dumps(str(tmp_path)).fused) == 2


def test_nothing_there_and_nothing_fused(tmp_path):
    result = verify_dumps(str(tmp_path))
    assert result.exit_code == 1 and "no graph dump" in result.problems[0]
    result = verify_dumps(os.path.join(DUMPS, "mixed"))
    assert result.exit_code == 1 and "no dumps from before and after" in result.problems[0]
    with pytest.raises(NotADirectoryError):
        verify_dumps(str(tmp_path / "nowhere"))


def builder():
    made = GraphBuilder("g")
    made.add_op("x", "Data", outputs=[FP32], attrs={"index": 0})
    made.add_op("k", "Const", outputs=[FP32])
    return made


def before():
    made = builder()
    made.add_op("a", "Abs", inputs=[("x", 0)], outputs=[FP32])
    made.add_op("m", "Mul", inputs=[("a", 0), ("k", 0)], outputs=[FP32])
    made.add_op("r", "Relu", inputs=[("m", 0)], outputs=[FP32])
    made.add_op("out", "NetOutput", inputs=[("r", 0)])
    return made.build()


def after(
    names=("m", "a"),
    outputs=(FP32,),
    source=("x", 0),
    reader=("f", 0),
    extra=None,
    relu="Relu",
    relu_out=FP32,
):
    made = GraphBuilder("g")
    made.add_op("x", "Data", outputs=[FP32], attrs={"index": 0})
    attrs = {"_datadump_original_op_names": list(names)}
    attrs["_datadump_original_op_types"] = ["T"] * len(names)
    made.add_op("f", "AutofusedKernel", inputs=[source], outputs=list(outputs), attrs=attrs)
    made.add_op("r", relu, inputs=[reader], outputs=[relu_out])
    made.add_op("out", "NetOutput", inputs=[("r", 0)])
    for name, kind, inputs in extra or ():
        made.add_op(name, kind, inputs=inputs, outputs=[FP32])
    return made.build()


def write(folder, *graphs):
    """Dump (stage, graph) pairs as the engine does."""
    for number, (stage, graph) in enumerate(graphs):
        name = "ge_proto_{:08d}_graph_3_AutofuseOptimize_{}.txt".format(number, stage)
        (folder / name).write_text(graph.dump_to_stream(DumpFormat.kTxt))


def problems(folder, graph):
    write(folder, ("Entry", before()), ("Exit", graph))
    return verify_dumps(str(folder))


def test_fusing_with_a_dead_constant(tmp_path):
    result = problems(tmp_path, after())
    assert result.problems == [] and result.ok
    assert result.dead == ["k"]
    assert "dead: k" in render_text(result)


@pytest.mark.parametrize("dtype", [DataType.DT_INT32, DataType.DT_FLOAT])
def test_sizes_that_a_fused_node_knows_may_go(tmp_path, dtype):
    made = builder()
    few = TensorDesc([1], Format.FORMAT_ND, dtype)
    made.add_op("s", "Shape", inputs=[("x", 0)], outputs=[few])
    made.add_op("d", "FloorDiv", inputs=[("s", 0), ("s", 0)], outputs=[few])
    made.add_op("a", "Tile", inputs=[("x", 0), ("d", 0)], outputs=[FP32])
    made.add_op("m", "Mul", inputs=[("a", 0), ("k", 0)], outputs=[FP32])
    made.add_op("r", "Relu", inputs=[("m", 0)], outputs=[FP32])
    made.add_op("out", "NetOutput", inputs=[("r", 0)])
    write(tmp_path, ("Entry", made.build()), ("Exit", after()))
    result = verify_dumps(str(tmp_path))
    assert result.ok == (dtype == DataType.DT_INT32)
    assert sorted(result.dead) == (["d", "k", "s"] if result.ok else ["k"])


def test_sizes_that_are_gone_may_be_many(tmp_path):
    made = builder()
    few = TensorDesc([1], Format.FORMAT_ND, DataType.DT_INT32)
    made.add_op("s0", "Shape", inputs=[("x", 0)], outputs=[few])
    for number in range(2000):
        made.add_op("s%d" % (number + 1), "Neg", inputs=[("s%d" % number, 0)], outputs=[few])
    made.add_op("a", "Tile", inputs=[("x", 0), ("s2000", 0)], outputs=[FP32])
    made.add_op("m", "Mul", inputs=[("a", 0), ("k", 0)], outputs=[FP32])
    made.add_op("r", "Relu", inputs=[("m", 0)], outputs=[FP32])
    made.add_op("out", "NetOutput", inputs=[("r", 0)])
    write(tmp_path, ("Entry", made.build()), ("Exit", after()))
    result = verify_dumps(str(tmp_path))
    assert result.ok and len(result.dead) == 2002


HALF = TensorDesc([4, -1], Format.FORMAT_ND, DataType.DT_FLOAT16)
OTHER = TensorDesc([5, -1], Format.FORMAT_ND, DataType.DT_FLOAT)


@pytest.mark.parametrize(
    "graph, text",
    [
        (after(names=("m",)), "a (Abs) is neither there nor in a fused node"),
        (after(outputs=(HALF,)), "input 0 of r was DT_FLOAT and is DT_FLOAT16"),
        (after(outputs=(OTHER,)), "input 0 of r was [4, -1] and is [5, -1]"),
        (after(relu_out=OTHER), "r:0 was [4, -1] and is [5, -1]"),
        (after(relu="Exp"), "r was Relu and is Exp"),
        (after(reader=("x", 0)), "input 0 of r read m:0 and reads x:0"),
        (after(reader=None), "input 0 of r has become unconnected"),
        (after(source=None), "input 0 of f is unconnected"),
        (after(source=("r", 0)), "f reads r:0, which its operators did not"),
        (after(source=("r", 0)), "the edges close a cycle"),
        (after(extra=[("z", "Abs", [("x", 0)])]), "z (Abs) came from nowhere"),
        (after(names=("q",)), "no operator of f was in the graph before"),
    ],
)
def test_what_is_wrong_is_said(tmp_path, graph, text):
    result = problems(tmp_path, graph)
    assert not result.ok and result.exit_code == 1
    assert "graph g: " + text in result.problems
    assert "problem: graph g: " + text in render_text(result)


def test_an_operator_in_two_fused_nodes(tmp_path):
    graph = after()
    twin = GraphBuilder("g")
    twin.add_op("x", "Data", outputs=[FP32], attrs={"index": 0})
    for name, names in (("f", ["m", "a"]), ("h", ["a"])):
        attrs = {"_datadump_original_op_names": names, "_datadump_original_op_types": names}
        twin.add_op(name, "AutofusedKernel", inputs=[("x", 0)], outputs=[FP32], attrs=attrs)
    twin.add_op("r", "Relu", inputs=[("f", 0)], outputs=[FP32])
    twin.add_op("out", "NetOutput", inputs=[("r", 0)])
    result = problems(tmp_path, twin.build())
    assert result.problems == ["graph g: nobody reads h"]
    assert graph.name == "g"


def test_a_costly_operator_in_two_fused_nodes(tmp_path):
    unfused, fused = builder(), builder()
    unfused.add_op("e", "Exp", inputs=[("x", 0)], outputs=[FP32])
    for home, last in (("f", "Abs"), ("h", "Neg")):
        unfused.add_op(last, last, inputs=[("e", 0)], outputs=[FP32])
        names = ["e", last]
        attrs = {"_datadump_original_op_names": names, "_datadump_original_op_types": names}
        fused.add_op(home, "AutofusedKernel", inputs=[("x", 0)], outputs=[FP32], attrs=attrs)
    unfused.add_op("out", "NetOutput", inputs=[("Abs", 0), ("Neg", 0)])
    fused.add_op("out", "NetOutput", inputs=[("f", 0), ("h", 0)])
    write(tmp_path, ("Entry", unfused.build()), ("Exit", fused.build()))
    result = verify_dumps(str(tmp_path))
    assert result.problems == ["graph g: e is in several fused nodes: f, h"]


def test_a_graph_that_vanished(tmp_path):
    write(tmp_path, ("Entry", before()), ("Exit", Graph("other")))
    result = verify_dumps(str(tmp_path))
    assert "graph g is missing after fusing" in result.problems
    assert "graph other came from nowhere" in result.problems


def copy_ctrl(tmp_path):
    folder = tmp_path / "dumps"
    shutil.copytree(CTRL, str(folder))
    return folder


def test_the_onnx_dump_serves_when_there_is_no_proto(tmp_path):
    for number, (stage, graph) in enumerate((("Entry", before()), ("Exit", after()))):
        name = "ge_onnx_{:08d}_graph_0_AutofuseOptimize_{}.pbtxt".format(number, stage)
        (tmp_path / name).write_text(to_text(graph_to_onnx(graph._graph, 1, "GE")))
    result = verify_dumps(str(tmp_path))
    assert result.problems == [] and result.fused[0].op_names == ["m", "a"]


@pytest.mark.parametrize(
    "damage, line",
    [
        (lambda lines: lines[:100], 100),
        (lambda lines: lines[:9] + ["    \x00garbage\n"] + lines[9:], 10),
        (lambda lines: lines[:6] + ["  }\n"] + lines[6:], None),
        (lambda lines: [], 1),
    ],
)
@pytest.mark.parametrize(
    "name", [AFTER, "ge_onnx_00000002_graph_0_PreRunBegin.pbtxt"], ids=["compared", "not compared"]
)
def test_damage_is_located(tmp_path, name, damage, line):
    folder = copy_ctrl(tmp_path)
    path = folder / name
    lines = path.read_text().splitlines(True)
    length = min(100, len(lines) - 1)
    damaged = damage(lines[:])[: length if line == 100 else None]
    path.write_text("".join(damaged))
    with pytest.raises(DumpError) as info:
        verify_dumps(str(folder))
    assert info.value.path == str(path)
    if line == 100:
        assert abs(info.value.line - len(damaged)) <= 1
    elif line is not None:
        assert info.value.line == line
    else:
        assert info.value.line >= 1


def test_an_edge_to_nobody_is_damage(tmp_path):
    folder = copy_ctrl(tmp_path)
    path = folder / AFTER
    path.write_text(path.read_text().replace('input: "x:0"', 'input: "gone:0"', 2))
    with pytest.raises(DumpError, match="gone:0 names no"):
        verify_dumps(str(folder))
    assert read_dump(os.path.join(CTRL, AFTER)).name == "abs_relu_exp_ctrl"
