"""The pass over a graph: what it writes into the graph, the report and the bundle, and failures."""
import gc
import os

import numpy as np
import pytest
from made_up import build_with, libraries
from nets import Net, SymbolNet

from tf_autofuse import flags
from tf_autofuse.autofuse import kernels, pipeline, traffic
from tf_autofuse.build import HostBuilds
from tf_autofuse.errors import BuildError, ScheduleError
from tf_autofuse.ge.node import NodeData
from tf_autofuse.ge.passes import PassContext
from tf_autofuse.ge.tensor import Tensor
from tf_autofuse.ge.types import DataType
from tf_autofuse.report.model import RECORDER

pytestmark = pytest.mark.usefixtures("no_compiler")


def fail_to_build(monkeypatch, error):
    build_with(monkeypatch, lambda kernels: {key: error for key, _ in kernels})


def fuse(graph):
    context = PassContext("TfAutofusePass")
    pipeline.fuse_graph(graph, context)
    return {node.type: node for node in graph.get_direct_nodes()}


def chain(*types, **kwargs):
    net = Net(128, 192)
    last = net.data(**kwargs)
    for type_ in types:
        last = net(type_, last, **kwargs)
    return net.graph(last)


def test_the_fused_node_says_where_it_comes_from():
    node = fuse(chain("Abs", "Relu", "Exp"))["AutofusedKernel"]
    assert node.get_attr("autofuse_name").startswith("autofused_pointwise_")
    assert node.get_attr("autofuse_name").endswith("_Abs_Relu_Exp")
    assert node.name.startswith(node.get_attr("autofuse_name"))
    assert node.get_attr("op_types") == ["Abs", "Relu", "Exp"]
    assert sorted(node.get_attr("_datadump_original_op_names")) == ["n1_Abs", "n2_Relu", "n3_Exp"]
    assert node.get_attr("spec") == "v1;axes=2;groups=0,0;in=0.1;out=0.1;"
    assert node.get_attr("host_library") == "/lib/%s.so" % node.get_attr("kernel_key")
    assert node.get_output_desc(0).shape.dims == [128, 192]


def test_the_graph_that_holds_a_fused_node_at_first_waits_for_no_garbage_collection():
    graph = chain("Abs", "Relu", "Exp")
    gc.collect()
    gc.disable()
    try:
        assert "AutofusedKernel" in fuse(graph)
        nodes = [thing for thing in gc.get_objects() if isinstance(thing, NodeData)]
        assert not [node.name for node in nodes if node.name == "x0" and node.type == "Data"
                    and node not in graph._graph.nodes.values()]
    finally:
        gc.enable()


def test_shapes_that_nobody_needs_any_more_are_gone():
    net = SymbolNet()
    x, dy = net.data(-2, 64), net.data(-3, 64)
    y = net("Tanh", x, dims=(-2, 64))
    product = net("Mul", y, dy, dims=(-4, 64))
    asked, waited = net.shape_of(y), net.shape_of(y)
    back = net("Reshape", product, asked, dims=(-2, 64), controls=[waited])
    nodes = fuse(net.graph(net("Neg", back, dims=(-2, 64))))
    assert set(nodes) == {"Data", "AutofusedKernel", "NetOutput"}
    assert nodes["AutofusedKernel"].get_attr("op_types") == ["Tanh", "Mul", "Reshape", "Neg"]
    assert len(list(nodes["AutofusedKernel"].get_in_control_nodes())) == 0


def test_counts_of_known_dims_are_gone():
    net = SymbolNet()
    y = net("Tanh", net.data(-2, 64), dims=(-2, 64))
    sizes = net("GatherV2", net.shape_of(y), net.numbers(1), net.numbers(0), dims=(1,),
                dtype=DataType.DT_INT32)
    count = net("ReduceProd", sizes, net.numbers(0), dims=(), dtype=DataType.DT_INT32)
    graph = net.graph(net("RealDiv", y, net("Cast", count, dims=()), dims=(-2, 64)))
    assert set(fuse(graph)) == {"Data", "Const", "AutofusedKernel", "NetOutput"}


def test_the_bundle_holds_every_text():
    node = fuse(chain("Abs", "Exp"))["AutofusedKernel"]
    folder = node.get_attr("bundle_dir")
    names = ["host_kernel.cpp", "kernel.cpp", "kernel.json", "kernel.txt", "loop.txt"]
    assert sorted(os.listdir(folder)) == names
    with open(os.path.join(folder, "kernel.cpp")) as file:
        assert "__global__ __aicore__" in file.read()


def test_report_entries():
    fuse(chain("Abs", "MatMulV2", "Relu", "Exp"))
    report = RECORDER.report({})
    (kernel,) = report.kernels
    assert kernel.op_names == ("n3_Relu", "n4_Exp")
    assert kernel.inputs[0] == ("n2_MatMulV2", "float32", (128, 192))
    assert kernel.gm_bytes == kernel.gm_lower_bound == 2 * 4 * 128 * 192
    assert kernel.gm_bytes_unfused == 4 * 4 * 128 * 192
    assert os.path.exists(kernel.source) and kernel.calls == 0
    codes = {entry.node: entry.code for entry in report.unfused}
    assert codes == {"n1_Abs": "SINGLE", "n2_MatMulV2": "OP_UNKNOWN"}
    assert report.to_dict()["kernels"][0]["inputs"][0]["shape"] == [128, 192]


def test_structurally_equal_clusters_share_a_kernel():
    net = Net(128, 192)
    first = net("Exp", net("Abs", net.data()))
    second = net("Exp", net("Abs", net("MatMulV2", first, dims=(3, 4, 5)), dims=(3, 4, 5)),
                 dims=(3, 4, 5))
    fuse(net.graph(second))
    left, right = RECORDER.report({}).kernels
    assert left.key == right.key and left.name != right.name


def test_names_are_cut_at_140_characters():
    fuse(chain(*["Reciprocal", "Sigmoid"] * 20))
    (kernel,) = RECORDER.report({}).kernels
    assert len(kernel.name) <= 140


def test_a_control_edge_keeps_its_order():
    net = Net(4)
    x = net.data()
    before = net("MatMulV2", x, name="before")
    first = net("Abs", x, controls=[before])
    last = net("Exp", first)
    net("MatMulV2", x, name="behind", controls=[last])
    graph = net.graph(last, before, "behind")
    node = fuse(graph)["AutofusedKernel"]
    assert any(n.type == "NoOp" for n in node.get_in_control_nodes())
    behind = graph.find_node_by_name("behind")
    assert [n.name for n in behind.get_in_control_nodes()]


def unfused_codes():
    return {entry.node: entry.code for entry in RECORDER.report({}).unfused}


def test_a_kernel_that_does_not_build_leaves_its_operators(monkeypatch):
    error = BuildError("g++ was not found")
    fail_to_build(monkeypatch, error)
    assert "AutofusedKernel" not in fuse(chain("Abs", "Exp"))
    assert unfused_codes() == {"n1_Abs": "BUILD", "n2_Exp": "BUILD"}
    assert RECORDER.report({}).kernels == ()


def test_strict_turns_a_failure_into_an_error(monkeypatch):
    error = BuildError("g++ was not found")
    fail_to_build(monkeypatch, error)
    flags.set_overrides("--enable_autofuse=true;--strict=true")
    with pytest.raises(BuildError):
        fuse(chain("Abs", "Exp"))


def test_a_cluster_that_fits_no_schedule_is_cut(monkeypatch):
    plan = kernels.plan_kernel

    def small_only(lowered, missing=""):
        if sum(value.op in ("exp", "tanh") for value in lowered.kernel.body
               if hasattr(value, "op")) > 1:
            raise ScheduleError("too many buffers")
        return plan(lowered)

    monkeypatch.setattr(kernels, "plan_kernel", small_only)
    fuse(chain("Exp", "Abs", "Tanh", "Relu"))
    assert [k.op_types for k in RECORDER.report({}).kernels] == [("Exp", "Abs"), ("Tanh", "Relu")]


@pytest.mark.parametrize("for_chip", [False, True])
def test_the_cpu_has_what_no_buffers_hold(for_chip):
    """128 tensors side by side: each row of a tile would have pieces of all of them."""
    net = Net(4, 3)
    parts = [net.data() for _ in range(128)]
    axis = net("Const", dims=(), dtype=DataType.DT_INT32,
               attrs={"value": Tensor.from_numpy(np.asarray(1, "int32"), DataType.DT_INT32)})
    whole = net("ConcatV2", *parts, axis, dims=(4, 384))
    graph = net.graph(net("Relu", net("Neg", whole, dims=(4, 384)), dims=(4, 384)))
    pipeline.fuse_graph(graph, PassContext("TfAutofusePass"), for_chip)
    kernels = RECORDER.report({}).kernels
    if for_chip:
        assert kernels == () and "SCHEDULE" in unfused_codes().values()
    else:
        assert len(kernels) == 1 and kernels[0].source.endswith("no_ascendc.txt")


def test_a_cluster_too_small_to_cut_is_left_with_a_reason(monkeypatch):
    def never(lowered, missing=""):
        raise ScheduleError("too many buffers")

    monkeypatch.setattr(kernels, "plan_kernel", never)
    assert "AutofusedKernel" not in fuse(chain("Exp", "Abs"))
    assert set(unfused_codes().values()) == {"SCHEDULE"}


def test_a_bundle_that_cannot_be_written_leaves_the_operators(monkeypatch, tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    monkeypatch.setattr(kernels, "bundle_root", lambda: str(file / "bundles"))
    assert "AutofusedKernel" not in fuse(chain("Abs", "Exp"))
    assert set(unfused_codes().values()) == {"BUILD"}


def test_a_refused_rewrite_leaves_the_operators(monkeypatch):
    from tf_autofuse.ge import passes

    class Refusing(passes.SubgraphRewriter):
        @staticmethod
        def replace(boundary, replacement, context=None):
            raise RuntimeError("status 4294967295")

    monkeypatch.setattr(passes, "SubgraphRewriter", Refusing)
    assert "AutofusedKernel" not in fuse(chain("Abs", "Exp"))
    assert set(unfused_codes().values()) == {"REWRITE"}


def test_debug_keeps_bundles_in_the_debug_folder(tmp_path):
    flags.set_overrides(
        "--enable_autofuse=true;--codegen_compile_debug=true;--debug_dir=%s" % (tmp_path / "d")
    )
    node = fuse(chain("Abs", "Exp"))["AutofusedKernel"]
    assert node.get_attr("bundle_dir").startswith(str(tmp_path / "d"))


def test_a_missing_instruction_leaves_the_kernel_to_the_cpu():
    node = fuse(chain("Abs", "Lgamma", "Exp"))["AutofusedKernel"]
    (entry,) = RECORDER.report({}).kernels
    assert entry.op_types == ("Abs", "Lgamma", "Exp")
    with open(entry.source) as handle:
        assert handle.read() == "Ascend910B: no vector form of lgamma for float32 (%s)\n" % (
            entry.op_names[1])
    files = set(os.listdir(node.get_attr("bundle_dir")))
    assert files == {"host_kernel.cpp", "kernel.json", "loop.txt", "no_ascendc.txt"}


def test_a_type_that_one_chip_lacks_leaves_its_kernel_to_the_cpu():
    for soc, form in (("Ascend910B", "kernel.cpp"), ("Ascend310P", "no_ascendc.txt")):
        flags.set_overrides("--enable_autofuse=true;--soc=" + soc)
        node = fuse(chain("Abs", "Floor", "Exp", dtype=DataType.DT_BF16))["AutofusedKernel"]
        files = set(os.listdir(node.get_attr("bundle_dir")))
        assert files & {"kernel.cpp", "no_ascendc.txt"} == {form}


def test_a_missing_instruction_fuses_nothing_where_the_chip_would_run_it(monkeypatch):
    monkeypatch.setattr(pipeline, "is_host", lambda graph: False)
    assert "AutofusedKernel" not in fuse(chain("Abs", "Lgamma", "Exp"))
    assert set(unfused_codes().values()) == {"SCHEDULE"}


def test_a_pass_without_context_rewrites_by_status():
    graph = chain("Abs", "Exp")
    assert pipeline.fuse_graph(graph, None) == 1
    assert "AutofusedKernel" in {node.type for node in graph.get_direct_nodes()}


def centred_on_the_maximum(*dims):
    """exp(x - max(x)) along the last axis: the row is needed twice."""
    net = Net(*dims)
    x = net.data()
    last = Tensor([len(dims) - 1], data_type=DataType.DT_INT32, shape=[1])
    axis = net("Const", dims=(1,), dtype=DataType.DT_INT32, attrs={"value": last})
    top = net("ReduceMax", x, axis, dims=dims[:-1] + (1,), attrs={"keep_dims": True})
    return net.graph(net("Exp", net("Sub", x, top)))


def test_a_row_that_fits_is_read_once_and_one_that_does_not_twice():
    fuse(centred_on_the_maximum(64, 1000))
    fuse(centred_on_the_maximum(4, 1000000))
    short, long = RECORDER.report({}).kernels
    assert short.key == long.key
    assert short.gm_bytes == short.gm_lower_bound == 2 * 4 * 64000
    assert long.gm_lower_bound == 2 * 4 * 4000000
    assert long.gm_bytes == 3 * 4 * 4000000


def test_a_second_report_counts_nothing_anew(monkeypatch):
    fuse(chain("Abs", "Exp"))
    first = RECORDER.report({})
    monkeypatch.setattr(traffic, "schedule", None)
    assert RECORDER.report({}) == first


def test_kernels_compile_while_others_are_planned(monkeypatch):
    seen = []
    plan = kernels.plan_kernel
    monkeypatch.setattr(kernels, "plan_kernel",
                        lambda *how: seen.append("plan") or plan(*how))
    build_with(monkeypatch, libraries, lambda key, source: seen.append("start"))
    fuse(chain("Abs", "Exp", "MatMulV2", "Relu", "Exp"))
    assert seen == ["plan", "start"] * 2


def test_an_error_while_planning_drops_what_compiles(monkeypatch):
    left = []
    monkeypatch.setattr(HostBuilds, "__exit__", lambda self, *error: left.append(error[0]))
    monkeypatch.setattr(pipeline, "_readers_first", lambda planned: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        fuse(chain("Abs", "Exp"))
    assert left == [ZeroDivisionError]
