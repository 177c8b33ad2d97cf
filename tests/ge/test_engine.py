"""Plug-in discovery, stages, return values; each case in a process of its own where it loads."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tf_autofuse.errors import AutofuseError
from tf_autofuse.ge import passes, plugins
from tf_autofuse.ge.builder import GraphBuilder
from tf_autofuse.ge.engine import GraphEngine
from tf_autofuse.ge.graph import Graph, TensorDesc
from tf_autofuse.ge.passes import FusionBasePass, PassStage, register_fusion_pass
from tf_autofuse.ge.types import STATUS_NOT_CHANGED

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), os.pardir, os.pardir))
DUMPS = os.path.join(ROOT, "tests", "data", "ge_dumps")
PLUGIN = """
from ge.graph import DataType, Graph
from ge.graph.types import Format
from ge.passes import FusionBasePass, PassStage, register_fusion_pass

@register_fusion_pass(name={name!r}, stage=PassStage.{stage})
class Pass(FusionBasePass):
    def run(self, graph, context):
        print({name!r}, graph.name, __name__.rsplit("_", 1)[0])
"""
RUN = """
import sys
from tf_autofuse.errors import AutofuseError
from tf_autofuse.ge.engine import GraphEngine
from tf_autofuse.ge.graph import Graph
graph = Graph()
graph.load_from_air({air!r})
try:
    GraphEngine().run(graph)
    GraphEngine().run(graph)
except AutofuseError as error:
    print("ERROR", error)
"""


def plugin(folder, file, name, stage="AFTER_BUILTIN_FUSION_PASS", body=None):
    path = folder / file
    path.parent.mkdir(exist_ok=True)
    path.write_text(body or PLUGIN.format(name=name, stage=stage))
    return path


def run(path_value, tmp_path, air="control_while"):
    script = RUN.format(air=os.path.join(DUMPS, air, air + ".air"))
    env = dict(os.environ, PYTHONPATH=ROOT, ASCEND_GE_PY_PASS_PATH=path_value)
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=env,
        cwd=str(tmp_path),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_discovery_and_order(tmp_path):
    folder = tmp_path / "plugins"
    plugin(folder, "b.py", "A_second", "AFTER_BUILTIN_FUSION_PASS")
    plugin(folder, "a.py", "Z_last", "AFTER_BUILTIN_FUSION_PASS")
    plugin(folder, "_hidden.py", "Hidden")
    plugin(folder, "notes.txt", "Text")
    plugin(folder / "pack", "__init__.py", "Early", "BEFORE_INFER_SHAPE")
    single = plugin(tmp_path, "one.py", "M_single", "AFTER_ORIGIN_GRAPH_OPTIMIZE")
    lines = run("{}::{}".format(folder, single), tmp_path)
    graphs = ["control_while", "while_body_0", "while_cond_0", "while_body_0_call_f"]
    order = [("Early", "pack"), ("A_second", "_ge_py_pass_b"), ("Z_last", "_ge_py_pass_a")]
    order.append(("M_single", "_ge_py_pass_one"))
    want = ["{} {} {}".format(name, graph, mod) for name, mod in order for graph in graphs]
    assert lines == want + want


def test_failing_plugins_are_named(tmp_path):
    bad = plugin(tmp_path, "bad.py", "", body="raise KeyError('oops')\n")
    text = "ERROR [load pass plug-ins] {}: cannot load the pass plug-in: {}"
    assert run(str(bad), tmp_path) == [text.format(bad, "KeyError: 'oops'")]
    missing = str(tmp_path / "missing.py")
    assert "FileNotFoundError" in run(missing, tmp_path)[0]
    other = plugin(tmp_path, "x.txt", "", body="x")
    assert run(str(other), tmp_path) == [text.format(other, "ValueError: not a .py file")]
    first = plugin(tmp_path, "first.py", "Same")
    second = plugin(tmp_path, "second.py", "Same")
    lines = run("{}:{}".format(first, second), tmp_path)
    assert len(lines) == 1 and str(second) in lines[0] and "already registered" in lines[0]


def test_a_real_ge_is_never_hidden(tmp_path):
    package = tmp_path / "ge" / "passes"
    package.mkdir(parents=True)
    (tmp_path / "ge" / "__init__.py").write_text("REAL = True\n")
    (package / "__init__.py").write_text("")
    file = plugin(tmp_path, "p.py", "", body="import ge\nprint(ge.REAL)\n")
    env = dict(os.environ, PYTHONPATH=ROOT + os.pathsep + str(tmp_path))
    script = "from tf_autofuse.ge import plugins; plugins.load_plugins()"
    env["ASCEND_GE_PY_PASS_PATH"] = str(file)
    out = subprocess.check_output([sys.executable, "-c", script], env=env)
    assert out.strip() == b"True"


@pytest.fixture
def engine(monkeypatch):
    """An engine without plug-ins and a registry of its own."""
    monkeypatch.setattr(passes, "_registry", {})
    monkeypatch.setenv(plugins.ENV_NAME, "")
    monkeypatch.delenv("DUMP_GE_GRAPH", raising=False)
    return GraphEngine({"ge.exec.precision": "high"})


def graph_of_one() -> Graph:
    builder = GraphBuilder("g")
    builder.add_op("x", "Data", outputs=[TensorDesc([1])], attrs={"index": 0})
    return builder.build()


def register(result, name="P"):
    @register_fusion_pass(name=name, stage=PassStage.AFTER_INFER_SHAPE)
    class Pass(FusionBasePass):
        def run(self, graph, context):
            if isinstance(result, Exception):
                raise result
            context.set_error_message("detail")
            return result

    return Pass


@pytest.mark.parametrize("result", [None, True, 0, STATUS_NOT_CHANGED])
def test_good_results(engine, result):
    register(result)
    assert engine.run(graph_of_one()).name == "g"


@pytest.mark.parametrize("result", [False, 1, -1, 2**40, "ok", 1.0, ValueError("boom")], ids=repr)
def test_bad_results(engine, result):
    register(result)
    with pytest.raises(AutofuseError) as info:
        engine.run(graph_of_one())
    assert info.value.node == "P" and info.value.stage == "AfterInferShape"
    assert ("boom" if isinstance(result, Exception) else "detail") in str(info.value)


def test_registration(engine):
    register(None)
    with pytest.raises(ValueError, match="already registered"):
        register(None)
    with pytest.raises(TypeError):
        register_fusion_pass("Q", PassStage.AFTER_INFER_SHAPE)
    with pytest.raises(AttributeError):
        register_fusion_pass(name="Q", stage="AfterInferShape")
    register(None, "A")
    assert [entry.name for entry in passes.registered_passes()] == ["A", "P"]
    assert passes.registered_passes(PassStage.BEFORE_INFER_SHAPE) == []


def test_context_and_fresh_instances(engine):
    seen = []

    @register_fusion_pass(name="P", stage=PassStage.AFTER_INFER_SHAPE)
    class Pass(FusionBasePass):
        def run(self, graph, context):
            seen.append((self, context.get_pass_name()))
            assert context.get_option_value("ge.exec.precision") == "high"
            with pytest.raises(RuntimeError):
                context.get_option_value("missing")

    engine.run(graph_of_one())
    engine.run(graph_of_one())
    assert [name for _, name in seen] == ["P", "P"]
    assert seen[0][0] is not seen[1][0]
