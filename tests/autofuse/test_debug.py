"""The debug flags: stages of kernels, timeline, skipped operators, kernels of one's own."""

import glob
import json
import logging
import os
import subprocess
import sys

import numpy as np
import pytest
from nets import Net

import tf_autofuse
from tf_autofuse import flags, log
from tf_autofuse.autofuse import pipeline
from tf_autofuse.build import trace
from tf_autofuse.cluster import skips
from tf_autofuse.errors import FlagError
from tf_autofuse.ge.dump import read_dump
from tf_autofuse.ge.passes import PassContext
from tf_autofuse.report.model import RECORDER
from tf_autofuse.runtime.host import run_host


@pytest.fixture(autouse=True)
def fresh(monkeypatch, tmp_path):
    for name in (flags.MAIN, flags.DFX):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AUTOFUSE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(trace, "_events", [])
    monkeypatch.setattr(trace, "_told", [])
    RECORDER.clear()
    log.forget_warnings()
    yield
    flags.set_overrides(None)
    RECORDER.clear()


def fuse(*types, **options):
    """Fuse a chain with `options` as flags; the AutofusedKernel node or None."""
    flags.set_overrides(dict(options, enable_autofuse=True))
    net = Net(6, 40)
    last = net.data()
    for type_ in types:
        last = net(type_, last)
    graph = net.graph(last)
    pipeline.fuse_graph(graph, PassContext("TfAutofusePass"))
    found = [node for node in graph.get_direct_nodes() if node.type == "AutofusedKernel"]
    return found[0] if found else None


def read(path):
    with open(str(path), encoding="utf-8") as file:
        return file.read()


def test_every_stage_of_a_kernel_is_kept(tmp_path, capsys):
    node = fuse("Abs", "Exp", codegen_compile_debug=True, debug_dir=str(tmp_path / "debug"))
    folder = tmp_path / "debug" / "autofuse_kernels" / node.get_attr("kernel_key")
    assert node.get_attr("bundle_dir") == str(folder)
    base = folder / ("graph_" + node.get_attr("autofuse_name"))
    for ending in (".air", ".pbtxt"):
        graph = read_dump(str(base) + ending)
        types = [item.type for item in graph.get_direct_nodes()]
        assert types == ["Data", "Abs", "Exp", "NetOutput"], ending
    names = set(os.listdir(str(folder)))
    assert {"loop.txt", "kernel.txt", "kernel.cpp", "host_kernel.cpp"} <= names
    assert "tile" in read(folder / "tiling.txt")
    told = read(folder / "build.log")
    assert all(word in told for word in ("built in", "-shared", node.get_attr("host_library")))


def test_the_compile_timeline_opens_in_trace_viewers(tmp_path, capsys):
    fuse("Abs", "Exp", codegen_compile_debug=True, debug_dir=str(tmp_path))
    fuse("Neg", "Exp", codegen_compile_debug=True, debug_dir=str(tmp_path))
    (path,) = glob.glob(str(tmp_path / "home" / ".cache" / "autofuse_compile_trace" / "*.json"))
    assert capsys.readouterr().err.count("[CompileTrace] " + path) == 1
    events = json.loads(read(path))["traceEvents"]
    assert {"cluster", "plan", "replace"} <= {event["name"] for event in events}
    assert sum(event["cat"] == "compile" for event in events) == 2
    for event in events:
        assert event["ph"] == "X" and event["dur"] >= 0 and event["pid"] == os.getpid()
        assert isinstance(event["tid"], int) and isinstance(event["args"], dict)


def test_without_the_flag_nothing_is_kept_or_told(tmp_path, capsys):
    assert fuse("Abs", "Exp") is not None
    assert not (tmp_path / "home").exists() and trace._events == []
    assert capsys.readouterr().err == ""
    assert not (tmp_path / "subgraph_recover").exists()


def test_subgraphs_are_written_as_air(tmp_path):
    node = fuse("Abs", "Exp", subgraph_recover=True)
    (path,) = glob.glob(str(tmp_path / "subgraph_recover" / "*.air"))
    assert os.path.basename(path) == node.get_attr("autofuse_name") + ".air"
    graph = read_dump(path)
    assert [item.type for item in graph.get_direct_nodes()][1:3] == ["Abs", "Exp"]


def test_a_folder_that_cannot_be_written_does_not_stop_fusing(tmp_path):
    (tmp_path / "subgraph_recover").write_text("in the way")
    assert fuse("Abs", "Exp", subgraph_recover=True) is not None


def test_an_edited_kernel_is_taken_from_the_debug_folder(tmp_path):
    debug = str(tmp_path / "debug")
    node = fuse("Abs", "Neg", codegen_compile_debug=True, debug_dir=debug)
    key = node.get_attr("kernel_key")
    source = tmp_path / "debug" / "autofuse_kernels" / key / "host_kernel.cpp"
    x = np.full((6, 40), -3.0, np.float32)

    def run(library):
        return run_host(library, [x], (240,), None, [((6, 40), "float32")])[0][0, 0]

    assert run(node.get_attr("host_library")) == -3.0
    head, end, tail = source.read_text().rpartition("  return AUTOFUSE_OK;")
    edited = head + "  static_cast<float*>(args->outputs[0])[0] = 42.0f;\n" + end + tail
    source.write_text(edited)
    for pattern in (key[:12], "pointwise_Abs_Neg$", ".*"):
        node = fuse("Abs", "Neg", replace_kernel=pattern, debug_dir=debug)
        assert run(node.get_attr("host_library")) == 42.0, pattern
        assert node.get_attr("bundle_dir") == os.path.dirname(str(source))
    for pattern in ("pointwise_Exp", "^Abs"):
        node = fuse("Abs", "Neg", replace_kernel=pattern, debug_dir=debug)
        assert run(node.get_attr("host_library")) == -3.0, pattern


def test_a_wrong_pattern_is_an_error():
    with pytest.raises(FlagError, match="regular expression"):
        flags.parse("", "replace_kernel=(")


SKIPS = """
# kept out while numbers are compared
[ByNodeType]
Exp
Reduce*
[ByNodeName]
n1_*
"""


def test_skipped_operators_stay_with_the_reason(tmp_path):
    path = tmp_path / "skip.cfg"
    path.write_text(SKIPS)
    node = fuse("Relu", "Abs", "Neg", "Exp", skip_node_names_cfg=str(path))
    assert node.get_attr("op_types") == ["Abs", "Neg"]
    left = {entry.node: entry for entry in RECORDER.report({}).unfused}
    assert left["n4_Exp"].code == "SCOPE"
    assert "listed in the skip file as Exp" in left["n4_Exp"].reason
    assert left["n1_Relu"].code == "SCOPE" and "n1_*" in left["n1_Relu"].reason
    path.write_text("[ByNodeType]\nNeg\n")
    node = fuse("Relu", "Abs", "Neg", "Exp", skip_node_names_cfg=str(path))
    assert node.get_attr("op_types") == ["Relu", "Abs"]


@pytest.mark.parametrize(
    "text, told",
    (("Exp\n", ":1: Exp stands before any section"),
     ("[ByType]\n", r":1: unknown section \[ByType"),
     (None, "cannot be read"), (b"[ByNodeName]\n\xff\n", "cannot be read")),
)  # fmt: skip
def test_a_wrong_skip_file_is_told_at_the_start(tmp_path, text, told):
    path = tmp_path / "skip.cfg"
    if text is not None:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(FlagError, match=told):
        tf_autofuse.enable({"skip_node_names_cfg": str(path)})
    assert skips.Skips().matching("a", "Exp") == ""


class Lines(logging.Handler):
    def __init__(self):
        logging.Handler.__init__(self)
        self.lines = []

    def emit(self, record):
        self.lines.append((record.levelname, record.getMessage()))


def test_fallback_lines(tmp_path):
    handler, logger = Lines(), log.get_logger("pass")
    logger.addHandler(handler)
    before = logger.level
    logger.setLevel(logging.INFO)
    try:
        fuse("MatMulV2", "Exp")
        fuse("MatMulV2", "Exp", codegen_compile_debug=True, debug_dir=str(tmp_path))
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)
    told = [line for line in handler.lines if line[1].startswith("Fallback MatMulV2 reason: OP_U")]
    assert [level for level, _ in told] == ["INFO", "WARNING"]
    assert told[0][1].endswith("MatMulV2 is not in the op table (n1_MatMulV2)")


SAY = """
import logging, os, sys
from tf_autofuse import log
if sys.argv[1]:
    logging.getLogger("tensorflow").setLevel(sys.argv[1])
logger = log.get_logger("pass")
for level in ("debug", "info", "warning", "error"):
    getattr(logger, level)("said " + level)
"""


@pytest.mark.parametrize(
    "wish, tensorflow, shown",
    (("", "", 2), ("", "ERROR", 1), ("", "DEBUG", 2), ("info", "", 3), ("DEBUG", "ERROR", 4),
     ("error", "", 1), ("nonsense", "", 2)),
)  # fmt: skip
def test_levels(wish, tensorflow, shown):
    env = dict(os.environ, AUTOFUSE_LOG_LEVEL=wish)
    env["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    command = [sys.executable, "-c", SAY, tensorflow]
    done = subprocess.run(command, env=env, stderr=subprocess.PIPE, text=True)
    assert done.stderr.count("said") == shown, done.stderr
