"""tf-autofuse fuse: models in, kernels and graphs out."""

import os

import pytest
from nets import Net

from tf_autofuse import bundle
from tf_autofuse.cli import main as cli
from tf_autofuse.ge.dumpread import read_dump

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DUMPS = os.path.join(ROOT, "tests", "data", "ge_dumps")
AIR = os.path.join(DUMPS, "mixed", "mixed.air")


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path):
    monkeypatch.setenv("AUTOFUSE_CACHE_DIR", str(tmp_path / "cache"))


def fused_nodes(path, kind="AutofusedKernel"):
    return [node for node in read_dump(path).get_all_nodes() if node.type.startswith(kind)]


@pytest.mark.parametrize(
    "name, kernels",
    [
        ("mixed/mixed.air", 1),
        ("mixed/ge_proto_00000000_graph_0_PreRunBegin.txt", 1),
        ("mixed/ge_onnx_00000000_graph_0_PreRunBegin.pbtxt", 1),
        ("control_if/control_if.air", 1),
    ],
)
def test_graphs_of_ge(name, kernels, tmp_path):
    out = str(tmp_path / "out")
    assert cli.main(["fuse", os.path.join(DUMPS, name), "--soc", "Ascend910B2", "-o", out]) == 0
    nodes = fused_nodes(os.path.join(out, "graph.air"))
    assert len(nodes) == kernels == len(fused_nodes(os.path.join(out, "graph.txt")))
    for node in nodes:
        folder = node.get_attr("bundle_dir")
        assert os.path.dirname(folder) == os.path.join(out, "kernels")
        assert bundle.problems(folder) == []


def test_nothing_to_fuse_is_exit_code_1(tmp_path, capsys):
    dump = os.path.join(DUMPS, "control_while", "control_while.air")
    assert cli.main(["fuse", dump, "-o", str(tmp_path / "out")]) == 1
    assert "left alone" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["missing.pb", "broken.air"])
def test_bad_input(name, tmp_path, capsys):
    path = tmp_path / name
    if name.startswith("broken"):
        path.write_bytes(b"\xff\xff")
    assert cli.main(["fuse", str(path), "-o", str(tmp_path / "out")]) == cli.BAD_INPUT
    assert name in capsys.readouterr().err


def test_an_unknown_chip_is_bad_input(tmp_path, capsys):
    assert cli.main(["fuse", AIR, "--soc", "Ascend7", "-o", str(tmp_path)]) == cli.BAD_INPUT
    assert "Ascend7" in capsys.readouterr().err


def two_clusters(path):
    net = Net(64, 32)
    x, w = net.data(), net.data(32, 48)
    y = net("MatMul", net("Exp", net("Abs", x)), w, dims=(64, 48))
    net.graph(net("Relu", net("Neg", y, dims=(64, 48)), dims=(64, 48))).save_to_air(path)


def test_an_op_project(tmp_path):
    out, graph = tmp_path / "out", str(tmp_path / "two.air")
    two_clusters(graph)
    assert cli.main(["fuse", graph, "--format", "opproject", "-o", str(out)]) == 0
    names = sorted(path.name for path in (out / "op_kernel").iterdir())
    assert len(names) == 2 and names == sorted(
        path.name for path in (out / "op_host").iterdir() if path.name != "core")
    types = {node.type for node in fused_nodes(str(out / "graph.air"), "Autofused")}
    for name in names:
        op_type = "Autofused" + name.split("_")[1].capitalize()
        assert op_type in types
        host = (out / "op_host" / name / (name + ".cpp")).read_text()
        assert "OP_ADD({});".format(op_type) in host and 'AddConfig("ascend910b")' in host
        kernel = (out / "op_kernel" / name / (name + ".cpp")).read_text()
        assert "REGISTER_TILING_DEFAULT" in kernel and " void {}(".format(name) in kernel
    cmake = (out / "CMakeLists.txt").read_text()
    assert "find_package(ASC REQUIRED)" in cmake and "{{" not in cmake


def test_models_of_tensorflow(tmp_path, capsys):
    tf = pytest.importorskip("tensorflow")
    with tf.Graph().as_default() as graph:
        x = tf.compat.v1.placeholder(tf.float32, [None, 8], name="x")
        tf.exp(tf.abs(x) + 1e-7, name="y")
    binary, text = tmp_path / "model.pb", tmp_path / "model.pbtxt"
    binary.write_bytes(graph.as_graph_def().SerializeToString())
    text.write_text(str(graph.as_graph_def()))
    for path in (binary, text):
        out = tmp_path / ("out" + path.suffix)
        assert cli.main(["fuse", str(path), "--output", "y:0", "-o", str(out)]) == 0
        fused = tf.compat.v1.GraphDef.FromString((out / "graph.pb").read_bytes())
        assert {node.op for node in fused.node} >= {"AutofusedKernel", "Placeholder"}
    capsys.readouterr()
    assert cli.main(["fuse", str(binary), "--output", "z", "-o", str(out)]) == cli.BAD_INPUT
    assert "output z" in capsys.readouterr().err


def test_a_saved_model(tmp_path):
    tf = pytest.importorskip("tensorflow")
    if not tf.__version__.startswith("2"):
        pytest.skip("made the way of TensorFlow 2")

    class Net(tf.Module):
        def __init__(self):
            super().__init__()
            self.weight = tf.Variable(tf.ones([8, 4]))

        @tf.function(input_signature=[tf.TensorSpec([None, 8], tf.float32)])
        def run(self, x):
            return tf.exp(tf.abs(tf.matmul(x, self.weight)))

    net = Net()
    tf.saved_model.save(net, str(tmp_path / "model"), signatures=net.run)
    out = tmp_path / "out"
    assert cli.main(["fuse", str(tmp_path / "model"), "-o", str(out)]) == 0
    (node,) = fused_nodes(str(out / "graph.air"))
    assert node.get_attr("op_types")[:2] == ["Abs", "Exp"]
