"""The pass inside a stand-in GE, on small graphs made for one question each."""
import json
import os

import pytest
from ge_process import ROOT, compile_graph
from nets import Net

from tf_autofuse.ge.builder import GraphBuilder
from tf_autofuse.ge.tensor import Tensor, TensorDesc
from tf_autofuse.ge.types import DataType, Format


def inputs_of(node):
    edges = [node.get_in_data_nodes_and_port_indexes(i) for i in range(node.get_inputs_size())]
    return [(producer.name, port) for producer, port in edges]


def const(net, value, name, dtype=DataType.DT_FLOAT, numpy="float32"):
    import numpy as np

    tensor = Tensor.from_numpy(np.array(value, numpy), dtype)
    return net("Const", name=name, dims=(), dtype=dtype, attrs={"value": tensor})


def test_several_outputs_one_of_them_used_inside(tmp_path):
    net = Net(8, 32)
    x = net.data(name="x")
    first = net("Abs", x)
    second = net("Exp", first)
    mat = net("MatMulV2", first, first)
    done = compile_graph(net.graph(second, mat), tmp_path)
    node = done.fused()
    assert node.get_outputs_size() == 2
    readers = [
        {reader.type for reader, _ in node.get_out_data_nodes_and_port_indexes(port)}
        for port in (0, 1)
    ]
    assert sorted(readers, key=sorted) == [{"MatMulV2"}, {"NetOutput"}]
    assert not {"Abs", "Exp"} & {other.type for other in done.nodes().values()}


def test_an_input_of_several_members_is_one_input(tmp_path):
    net = Net(8, 32)
    x, y = net.data(name="x"), net.data(name="y")
    last = net("Mul", net("Add", x, y), net("Sub", x, y))
    done = compile_graph(net.graph(last), tmp_path)
    assert sorted(set(inputs_of(done.fused()))) == [("x", 0), ("y", 0)]


@pytest.mark.parametrize("value", [1e-7, 0.1, float("inf")])
def test_small_constants_keep_every_bit(tmp_path, value):
    """GE shows Python six decimals; the kernel must hold the number that is in the graph."""
    import numpy as np

    net = Net(8, 32)
    x = net.data(name="x")
    eps = const(net, value, "eps")
    done = compile_graph(net.graph(net("Exp", net("Add", x, eps))), tmp_path)
    with open(os.path.join(done.fused().get_attr("bundle_dir"), "loop.txt")) as file:
        text = file.read()
    shown = [word for line in text.splitlines() if "const" in line for word in line.split()]
    assert np.float32(value) in [_float(word) for word in shown]
    assert inputs_of(done.fused()) == [("x", 0)]


def _float(word):
    import numpy as np

    try:
        return np.float32(float(word))
    except ValueError:
        return None


def test_control_edges_in_and_out(tmp_path):
    net = Net(8, 32)
    x = net.data(name="x")
    net.builder.add_op("before", "NoOp")
    last = net("Exp", net("Abs", x, controls=["before"]), name="last")
    net.builder.add_op("after", "NoOp", controls=["last"])
    done = compile_graph(net.graph(last), tmp_path)
    assert [node.type for node in done.fused().get_in_control_nodes()] == ["NoOp"]
    sources = {node.name for node in done.nodes()["after"].get_in_control_nodes()}
    assert any(name.startswith("noop_out_") for name in sources)


@pytest.mark.parametrize("dims", [[-1, 32], [-1, -1], [-2]])
def test_unknown_sizes_and_rank(tmp_path, dims):
    net = Net(*dims)
    done = compile_graph(net.graph(net("Exp", net("Abs", net.data()))), tmp_path)
    assert done.code == 0, done.text
    found = done.nodes("AutofusedKernel")
    assert len(found) == (0 if dims == [-2] else 1)
    for node in found.values():
        assert node.get_output_desc(0).shape.dims == dims


def chain_with(attrs, second=None):
    net = Net(8, 32)
    first = net("Abs", net.data(), attrs=attrs)
    return net.graph(net("Exp", first, attrs=attrs if second is None else second))


@pytest.mark.parametrize(
    "attrs", [{"_disable_autofuse_scope": True}, {"_super_kernel_scope": "mine"}]
)
def test_excluded_operators_stay(tmp_path, attrs):
    done = compile_graph(chain_with(attrs), tmp_path)
    assert done.code == 0 and not done.nodes("AutofusedKernel")


@pytest.mark.parametrize(
    "attrs", [{"_op_vectorcore_num": "8"}, {"_user_stream_label": "a"}, {"deterministic": 1}]
)
def test_settings_must_agree_and_go_on_to_the_fused_node(tmp_path, attrs):
    key, value = next(iter(attrs.items()))
    done = compile_graph(chain_with(attrs), tmp_path)
    assert done.fused().get_attr(key) == value
    granted = int(attrs.get("_op_vectorcore_num", 0))
    assert done.fused().get_attr("vector_cores") == granted
    done = compile_graph(chain_with(attrs, second={}), tmp_path)
    assert done.code == 0 and not done.nodes("AutofusedKernel")


@pytest.mark.parametrize("where", ["output", "input"])
def test_private_formats_stay(tmp_path, where):
    private = TensorDesc([1, 2, 8, 8, 16], Format.FORMAT_NC1HWC0, DataType.DT_FLOAT)
    plain = TensorDesc([1, 2, 8, 8, 16], Format.FORMAT_ND, DataType.DT_FLOAT)
    builder = GraphBuilder("private")
    builder.add_op("x", "Data", outputs=[private if where == "input" else plain],
                   attrs={"index": 0})  # fmt: skip
    out = plain if where == "input" else private
    builder.add_op("abs", "Abs", inputs=[("x", 0)], outputs=[out])
    builder.add_op("exp", "Exp", inputs=[("abs", 0)], outputs=[out])
    builder.add_op("Node_Output", "NetOutput", inputs=[("exp", 0)])
    done = compile_graph(builder.build(), tmp_path)
    assert done.code == 0, done.text
    assert "Abs" in {node.type for node in done.nodes().values()}


def small():
    net = Net(8, 32)
    return net.graph(net("Exp", net("Abs", net.data())))


def test_the_switch_file_turns_the_pass_off(tmp_path):
    switches = tmp_path / "switch.json"
    switches.write_text(json.dumps({"Switch": {"GraphFusion": {"TfAutofusePass": "off"}}}))
    option = "ge.fusionSwitchFile={}".format(switches)
    done = compile_graph(small(), tmp_path, options=[option])
    assert done.code == 0 and not done.nodes("AutofusedKernel")


def test_the_stage_can_be_chosen(tmp_path):
    flags = "--enable_autofuse=true;--pass_stage=AFTER_INFER_SHAPE"
    assert compile_graph(small(), tmp_path, flags=flags).fused()


def test_a_wrong_flag_is_told_and_changes_nothing(tmp_path):
    done = compile_graph(small(), tmp_path, flags="--enable_autofuse=maybe")
    assert done.code == 0, done.text
    assert "enable_autofuse" in done.text and "stays as it is" in done.text
    assert not done.nodes("AutofusedKernel")


def test_a_second_copy_of_the_plug_in_does_not_stop_ge(tmp_path):
    copy = tmp_path / "copy.py"
    with open(os.path.join(ROOT, "passes", "autofuse_pass.py")) as file:
        copy.write_text(file.read())
    passes = os.pathsep.join((os.path.join(ROOT, "passes"), str(copy)))
    done = compile_graph(small(), tmp_path, passes=passes)
    assert done.code == 0 and done.fused()


def test_without_the_package_ge_goes_on(tmp_path):
    blocked = tmp_path / "blocked" / "tf_autofuse"
    (blocked / "ge").mkdir(parents=True)
    with open(os.path.join(ROOT, "tf_autofuse", "ge", "proto.py")) as file:
        (blocked / "ge" / "proto.py").write_text(file.read().replace(
            "from tf_autofuse.ge.types import PROTO_NAMES", _names()))
    stand_in = os.path.join(ROOT, "tests", "standins", "ge_standin")
    path = os.pathsep.join((stand_in, str(tmp_path / "blocked")))
    done = compile_graph(small(), tmp_path, PYTHONPATH=path)
    assert done.code == 0, done.text
    assert not done.nodes("AutofusedKernel")


def _names():
    from tf_autofuse.ge.types import PROTO_NAMES

    return "PROTO_NAMES = {!r}".format(PROTO_NAMES)


def test_one_failing_cluster_leaves_the_others(tmp_path):
    """The bundle cannot be written: every cluster stays, the compile goes on."""
    cache = tmp_path / "cache"
    cache.mkdir()
    (cache / "bundles").write_text("")
    done = compile_graph(small(), tmp_path, AUTOFUSE_CACHE_DIR=str(cache))
    assert done.code == 0, done.text
    assert "stay unfused" in done.text
    assert not done.nodes("AutofusedKernel")
