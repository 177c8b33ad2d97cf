"""The callback of the graph optimizer, with pass plug-ins written for the test."""

import gc
import textwrap

import pytest

tf = pytest.importorskip("tensorflow")

from tensorflow.core.framework import graph_pb2

from tf_autofuse import flags, log
from tf_autofuse.errors import AutofuseError, IRError
from tf_autofuse.frontend.tensorflow import optimizer
from tf_autofuse.ge.node import NodeData
from tf_autofuse.report.model import RECORDER

v1 = tf.compat.v1

FUSE_ABS = """
    from ge.passes import *
    from tf_autofuse.ge.builder import GraphBuilder

    @register_fusion_pass(name="{name}", stage=PassStage.AFTER_BUILTIN_FUSION_PASS)
    class Pass(FusionBasePass):
        def run(self, graph, context):
            for node in graph.get_direct_nodes():
                if node.type == "Abs" and not node.has_attr("_autofuse_fed"):
                    self.replace(node)

        def replace(self, node):
            desc = node.get_output_desc(0)
            builder = GraphBuilder("replacement")
            builder.add_op("d", "Data", outputs=[desc], attrs={{"index": 0}})
            attrs = {{"autofuse_name": "fused_" + node.name, "kernel_key": "k", "spec": "s",
                      "host_library": "", "op_names": [node.name]}}
            builder.add_op("f", "AutofusedKernel", inputs=[("d", 0)], outputs=[desc], attrs=attrs)
            builder.add_op("o", "NetOutput", inputs=[("f", 0)])
            boundary = SubgraphBoundary()
            boundary.add_input(0, SubgraphInput([(node, 0)]))
            boundary.add_output(0, SubgraphOutput(node, 0))
            assert SubgraphRewriter.replace(boundary, builder.build()) == 0
"""
FAIL = """
    from ge.passes import *

    @register_fusion_pass(name="{name}", stage=PassStage.AFTER_BUILTIN_FUSION_PASS)
    class Pass(FusionBasePass):
        def run(self, graph, context):
            raise ValueError("the pass is broken")
"""


@pytest.fixture(autouse=True)
def clean(monkeypatch):
    """Autofuse on, nothing remembered."""
    monkeypatch.delenv("AUTOFUSE_FLAGS", raising=False)
    flags.set_overrides("--enable_autofuse=true")
    optimizer.forget()
    RECORDER.clear()
    log.forget_warnings()
    yield
    flags.set_overrides(None)
    optimizer.forget()
    RECORDER.clear()


@pytest.fixture
def plugin(monkeypatch, tmp_path):
    """A function that makes a source the only pass of this process from now on."""
    from tf_autofuse.ge import passes

    def use(source):
        monkeypatch.setattr(passes, "_registry", {})
        path = tmp_path / "plugin.py"
        path.write_text(textwrap.dedent(source.format(name=tmp_path.name)))
        monkeypatch.setenv("ASCEND_GE_PY_PASS_PATH", str(path))

    return use


def graph_def(op=tf.abs):
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [2, 3], name="x")
        tf.identity(op(x, name="y"), name="z")
    return graph.as_graph_def().SerializeToString()


INFO = {"id": "g", "fetch": ["y:0"], "feed": ["x:0"], "preserve": [], "shapes": {}}


def test_off_means_untouched(plugin):
    plugin(FUSE_ABS)
    flags.set_overrides("--enable_autofuse=false")
    assert optimizer.optimize(graph_def(), INFO) is None


def test_a_pass_rewrites_the_graph(plugin):
    plugin(FUSE_ABS)
    nodes = {
        n.name: n for n in graph_pb2.GraphDef.FromString(optimizer.optimize(graph_def(), INFO)).node
    }
    assert nodes["fused_y"].op == "AutofusedKernel" and list(nodes["fused_y"].input) == ["x"]
    assert nodes["y"].op == "Identity" and list(nodes["z"].input) == ["fused_y"]


def test_an_answer_is_remembered_until_the_flags_change(plugin, monkeypatch):
    plugin(FUSE_ABS)
    calls = []
    fuse = optimizer._fuse
    monkeypatch.setattr(optimizer, "_fuse", lambda *args: calls.append(1) or fuse(*args))
    first = optimizer.optimize(graph_def(), INFO)
    assert optimizer.optimize(graph_def(), dict(INFO, id="again")) == first and len(calls) == 1
    optimizer.optimize(graph_def(), dict(INFO, fetch=["z:0"]))
    assert len(calls) == 2
    flags.set_overrides("--enable_autofuse=true;--max_fusion_size=3")
    optimizer.optimize(graph_def(), INFO)
    assert len(calls) == 3


def test_large_answers_are_not_kept_beside_each_other(plugin, monkeypatch):
    plugin(FUSE_ABS)
    monkeypatch.setattr(optimizer, "_REMEMBERED_BYTES", 1)
    calls = []
    fuse = optimizer._fuse
    monkeypatch.setattr(optimizer, "_fuse", lambda *args: calls.append(1) or fuse(*args))
    other = dict(INFO, fetch=["z:0"])
    for info, count in ((INFO, 1), (INFO, 1), (other, 2), (other, 2), (INFO, 3)):
        assert optimizer.optimize(graph_def(), info) is not None
        assert len(calls) == count


def test_a_fused_graph_is_not_looked_at_again(plugin, monkeypatch):
    plugin(FUSE_ABS)
    fused = optimizer.optimize(graph_def(), INFO)
    monkeypatch.setattr(optimizer, "import_graph", None)
    assert optimizer.optimize(fused, INFO) is None
    assert not RECORDER.report({}).unfused


def test_no_change_is_none(plugin):
    plugin(FUSE_ABS)
    assert optimizer.optimize(graph_def(tf.exp), INFO) is None


def test_a_failing_pass_leaves_the_graph_with_one_warning(plugin, caplog):
    plugin(FAIL)
    assert optimizer.optimize(graph_def(), INFO) is None
    assert optimizer.optimize(graph_def(tf.exp), INFO) is None
    warnings = [r.getMessage() for r in caplog.records if r.levelname == "WARNING"]
    assert len(warnings) == 1 and "the pass is broken" in warnings[0]
    (entry,) = RECORDER.report({}).unfused
    assert entry.code == "INTERNAL" and "the pass is broken" in entry.reason


def test_strict_raises(plugin):
    plugin(FAIL)
    flags.set_overrides("--enable_autofuse=true;--strict=true")
    with pytest.raises(AutofuseError, match="the pass is broken"):
        optimizer.optimize(graph_def(), INFO)


def test_an_unreadable_graph_is_reported(plugin):
    plugin(FUSE_ABS)
    broken = graph_pb2.GraphDef()
    broken.node.add(name="a", op="Abs", input=["gone"])
    assert optimizer.optimize(broken.SerializeToString(), INFO) is None
    (entry,) = RECORDER.report({}).unfused
    assert (entry.node, entry.code) == ("a", "IMPORT") and "gone" in entry.reason
    optimizer.forget()
    flags.set_overrides("--enable_autofuse=true;--strict=true")
    with pytest.raises(IRError, match="gone"):
        optimizer.optimize(broken.SerializeToString(), INFO)


@pytest.mark.parametrize("cut", [1, 7, 40])
def test_damaged_bytes_never_raise(plugin, cut):
    plugin(FUSE_ABS)
    assert optimizer.optimize(graph_def()[:-cut], INFO) is None


def nodes_alive():
    return [thing for thing in gc.get_objects() if isinstance(thing, NodeData)]


def test_a_pass_leaves_no_graph_to_garbage_collection(plugin):
    """It is off during the pass, and the memory of a large graph would wait for it."""
    plugin(FUSE_ABS)
    gc.collect()
    gc.disable()
    before = nodes_alive()  # those of other tests stay the same objects as long as they are held
    try:
        assert optimizer.optimize(graph_def(), INFO) is not None
        known = {id(node) for node in before}
        # The graph that the pass made itself is its own affair.
        assert not {"x", "z"} & {node.name for node in nodes_alive() if id(node) not in known}
    finally:
        gc.enable()
