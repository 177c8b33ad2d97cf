"""What the writers print against what GE printed of the same graphs, byte for byte."""

from __future__ import annotations

import glob
import os
import stat

import pytest

from tf_autofuse.ge import dump
from tf_autofuse.ge.dump import dump_graph, read_dump
from tf_autofuse.ge.graph import Graph
from tf_autofuse.ge.types import DumpFormat

DUMPS = os.path.join(os.path.dirname(__file__), os.pardir, "data", "ge_dumps")
# folder -> number of the level 1 proto dump of every moment, with the numbers of its other dumps
# as (format, number, level).
ONNX, PROTO, READABLE = DumpFormat.kOnnx, DumpFormat.kTxt, DumpFormat.kReadable
CASES = [
    ("mixed", 0, [(ONNX, 0, 1), (ONNX, 1, 2), (ONNX, 2, 3), (PROTO, 0, 1), (READABLE, 0, 1)]),
    (
        "abs_reduce_sum",
        0,
        [(ONNX, 0, 1), (ONNX, 1, 2), (ONNX, 2, 3), (PROTO, 1, 2), (READABLE, 0, 1)],
    ),
    ("rewrite_ctrl", 0, [(ONNX, 2, 3), (PROTO, 1, 2), (READABLE, 0, 1)]),
    ("rewrite_ctrl", 2, [(ONNX, 5, 3), (PROTO, 3, 2), (READABLE, 1, 1)]),
    ("rewrite_abs_relu_exp", 2, [(PROTO, 3, 2), (READABLE, 1, 1)]),
]
PREFIX = {ONNX: "ge_onnx", PROTO: "ge_proto", READABLE: "ge_readable"}
VARIABLES = (
    "DUMP_GE_GRAPH DUMP_GRAPH_PATH DUMP_GRAPH_LEVEL DUMP_GRAPH_FORMAT NPU_COLLECT_PATH"
    " ASCEND_WORK_PATH"
).split()


def file_of(folder, fmt, number):
    pattern = "{}_{:08d}_*".format(PREFIX[fmt], number)
    return glob.glob(os.path.join(DUMPS, folder, pattern))[0]


@pytest.mark.parametrize("folder, source, targets", CASES)
def test_same_text_as_ge(folder, source, targets):
    graph = read_dump(file_of(folder, PROTO, source))
    for fmt, number, level in targets:
        with open(file_of(folder, fmt, number), encoding="utf-8") as file:
            assert dump._render(graph._graph, fmt, level, "GE") == file.read()


@pytest.mark.parametrize("folder", ["control_if", "control_while"])
def test_subgraphs_as_ge_prints_them(folder):
    graph = Graph()
    graph.load_from_air(os.path.join(DUMPS, folder, folder + ".air"))
    for fmt, number, level in ((ONNX, 2, 3), (READABLE, 0, 1)):
        with open(file_of(folder, fmt, number), encoding="utf-8") as file:
            assert dump._render(graph._graph, fmt, level, "GE") == file.read()


@pytest.fixture
def env(monkeypatch, tmp_path):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(dump, "_counters", {})
    monkeypatch.setenv("DUMP_GRAPH_PATH", str(tmp_path))
    return monkeypatch


def written(folder):
    return sorted(
        os.path.relpath(os.path.join(where, name), str(folder))
        for where, _, names in os.walk(str(folder))
        for name in names
    )


def small_graph():
    graph = Graph()
    graph.load_from_air(os.path.join(DUMPS, "abs_reduce_sum", "abs_reduce_sum.air"))
    return graph


def test_names_counters_and_mode(env, tmp_path):
    graph = small_graph()
    graph._graph.graph_id = 7
    env.setenv("DUMP_GE_GRAPH", "2")
    dump_graph(graph, "PreRunBegin")
    env.setenv("DUMP_GRAPH_FORMAT", "GE_PROTO|readable|nonsense")
    dump_graph(graph, "AutofuseOptimize_Entry")
    folder = "pid_{}_deviceid_0".format(os.getpid())
    names = [
        "ge_onnx_00000000_graph_7_PreRunBegin.pbtxt",
        "ge_proto_00000000_graph_7_PreRunBegin.txt",
        "ge_proto_00000001_graph_7_AutofuseOptimize_Entry.txt",
        "ge_readable_00000000_graph_7_AutofuseOptimize_Entry.txt",
    ]
    assert written(tmp_path) == [os.path.join(folder, name) for name in names]
    path = os.path.join(str(tmp_path), folder, names[1])
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    with open(path, encoding="utf-8") as file:
        assert "GraphOptions" in file.read()
    with pytest.raises(RuntimeError):
        graph.get_attr("GraphOptions")
    assert read_dump(path)._graph.graph_id == 7


@pytest.mark.parametrize("value", [None, "", "0", "4", "yes"])
def test_off(env, tmp_path, value):
    if value is not None:
        env.setenv("DUMP_GE_GRAPH", value)
    dump_graph(small_graph(), "PreRunBegin")
    assert written(tmp_path) == []


@pytest.mark.parametrize(
    "level, yes, no",
    [
        ("", "PreRunBegin AutofuseOptimize_Exit AutoFuser_AfterLowering RunCustomPassX", "Other"),
        ("1", "Other PreRunBegin", "AfterPartition x_OptimizeSubGraph AicpuX a_sub_graph"),
        ("2", "Build", "Building"),
        ("3", "Build", "PreRunBegin"),
        ("4", "PreRunBegin", "Build"),
        ("7", "", "PreRunBegin"),
        ("Exit|Entry", "AutofuseOptimize_Exit AutofuseOptimize_Entry", "PreRunBegin"),
    ],
)
def test_stage_selection(env, level, yes, no):
    env.setenv("DUMP_GRAPH_LEVEL", level)
    assert all(dump.wanted_stage(stage) for stage in yes.split())
    assert not any(dump.wanted_stage(stage) for stage in no.split())


def test_folders(env):
    pid = os.getpid()
    assert dump.dump_directory().endswith("pid_{}_deviceid_0".format(pid))
    env.setenv("NPU_COLLECT_PATH", "/c")
    assert dump.dump_directory() == "/c/extra-info/graph/{}_0".format(pid)
    env.delenv("NPU_COLLECT_PATH")
    env.delenv("DUMP_GRAPH_PATH")
    assert dump.dump_directory() == "."
    env.setenv("ASCEND_WORK_PATH", "/w")
    assert dump.dump_directory() == "/w"


def test_dump_to_file_needs_no_switch(env, tmp_path):
    graph = small_graph()
    graph.dump_to_file(DumpFormat.kOnnx, "Mine")
    graph.dump_to_file(suffix="Mine")
    names = [os.path.basename(name) for name in written(tmp_path)]
    assert names == [
        "ge_onnx_00000000_graph_0_Mine.pbtxt",
        "ge_readable_00000000_graph_0_Mine.txt",
    ]
    text = graph.dump_to_stream(DumpFormat.kOnnx)
    assert 'producer_name: "abs_reduce_sum"' in text and "attribute" not in text
    assert 'key: "value"' not in graph.dump_to_stream(DumpFormat.kTxt)
    assert str(graph) == graph.dump_to_stream(DumpFormat.kReadable)
