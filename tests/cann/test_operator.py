"""The GE operator over stand-in headers: a fake runtime compiles for the twin and runs there."""
import ctypes
import os
import subprocess

import numpy as np
import pytest
from cann_build import FLAGS, build_fake, operator_sources
from nets import Net

from tf_autofuse import bundle, flags, paths
from tf_autofuse.autofuse.pipeline import fuse_graph
from tf_autofuse.ge.builder import AUTOFUSED_ATTRS
from tf_autofuse.ge.passes import PassContext
from tf_autofuse.ge.tensor import Tensor
from tf_autofuse.ge.types import DataType

FAILED = 0xFFFFFFFF


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    os.environ["AUTOFUSE_TWIN_DIR"] = os.path.join(paths.csrc_dir(), "ascendc_twin")
    return build_fake(tmp_path_factory.mktemp("fake"))


@pytest.fixture(scope="session")
def kernel(tmp_path_factory):
    """(key, spec, bundle folder) of Exp(Abs(x) + y) with rows known at run time."""
    net = Net(-1, 40)
    return bundled(net.graph(net("Exp", net("Add", net("Abs", net.data()), net.data(40)))),
                   tmp_path_factory)  # fmt: skip


def bundled(graph, tmp_path_factory):
    """Fuse a graph; (key, spec, bundle folder) of its kernel."""
    os.environ["AUTOFUSE_CACHE_DIR"] = str(tmp_path_factory.mktemp("cache"))
    flags.set_overrides({"enable_autofuse": True})
    fuse_graph(graph, PassContext("TfAutofusePass"), for_chip=True)
    flags.set_overrides(None)
    del os.environ["AUTOFUSE_CACHE_DIR"]
    (node,) = [n for n in graph.get_direct_nodes() if n.type == "AutofusedKernel"]
    folder = str(tmp_path_factory.mktemp("bundle") / node.get_attr("kernel_key"))
    bundle.copy_bundle(node.get_attr("bundle_dir"), folder)
    bundle.complete(folder, node.get_attr("spec"), "Ascend910B")
    return node.get_attr("kernel_key"), node.get_attr("spec"), folder


class Op:
    """One operator object and its calls."""

    def __init__(self, library):
        self.library = library
        self.handle = ctypes.c_void_p(library.fake_op())
        library.fake_log_clear()

    def node(self, kernel, arrays, static=False, data=True, key=None, folder=None):
        name, spec, path = kernel
        path = path if folder is None else folder
        node = ctypes.c_void_p(self.library.fake_node(
            (key or name).encode(), spec.encode(), path.encode(), 1, int(static)))
        for array in arrays:
            dims = (ctypes.c_int64 * len(np.shape(array)))(*np.shape(array))
            if not data:
                dims = (ctypes.c_int64 * len(array))(*array)
            values = array.ctypes.data_as(ctypes.c_void_p) if data else None
            self.library.fake_node_input(node, dims, len(dims), values)
        return node

    def call(self, what, node=None):
        return self.library.fake_call(self.handle, node, what.encode())

    def log(self):
        return self.library.fake_log().decode()

    def output(self, node):
        dims = (ctypes.c_int64 * 8)()
        shape = tuple(dims[: self.library.fake_output_dims(node, 0, dims)])
        data = self.library.fake_output_data(node, 0)
        return np.ctypeslib.as_array(data, (int(np.prod(shape)),)).reshape(shape).copy()

    def shape(self, node):
        dims = (ctypes.c_int64 * 8)()
        return list(dims[: self.library.fake_output_dims(node, 0, dims)])


@pytest.fixture
def op(library):
    return Op(library)


def arrays(rows, seed=0):
    rng = np.random.RandomState(seed)
    return [rng.randn(rows, 40).astype(np.float32), rng.randn(40).astype(np.float32)]


def expected(values):
    return np.exp(np.abs(values[0]) + values[1])


def test_the_prototype_counts_attributes_as_the_graph_does(library):
    names = [library.fake_prototype_attribute(i).decode() for i in range(len(AUTOFUSED_ATTRS))]
    assert tuple(names) == AUTOFUSED_ATTRS
    assert library.fake_prototype_attribute(len(names)) is None


@pytest.mark.parametrize("static", [False, True])
def test_a_kernel_is_compiled_once_and_runs(op, kernel, static):
    before = op.library.fake_compiles()
    for rows in (1, 3, 50):
        values = arrays(rows)
        node = op.node(kernel, values, static)
        assert op.call("Compile", node) == 0, op.log()
        assert op.call("Execute", node) == 0, op.log()
        np.testing.assert_allclose(op.output(node), expected(values), rtol=1e-5)
    assert op.library.fake_compiles() == before + 1


@pytest.mark.parametrize("granted", [0, 3])
def test_no_more_cores_than_granted(op, kernel, granted):
    node = op.node(kernel, arrays(400))
    op.library.fake_node_cores(node, ctypes.c_int64(granted))
    assert op.call("Execute", node) == 0, op.log()
    assert op.library.fake_blocks() == (granted or 8)


def test_a_reduction_shared_by_cores_has_workspace(op, tmp_path_factory):
    net = Net(-1, -1)
    attrs = {"keep_dims": False}
    value = {"value": Tensor.from_numpy(np.array([1], np.int32), DataType.DT_INT32)}
    axes = net("Const", name="axes", dims=(1,), dtype=DataType.DT_INT32, attrs=value)
    total = net("ReduceSum", net("Abs", net.data()), axes, attrs=attrs, dims=(-1,))
    shared = bundled(net.graph(total), tmp_path_factory)
    values = [np.random.RandomState(1).randn(2, 60000).astype(np.float32)]
    node = op.node(shared, values)
    assert op.call("Execute", node) == 0, op.log()
    np.testing.assert_allclose(op.output(node), np.abs(values[0]).sum(axis=1), rtol=1e-5)
    assert op.library.fake_blocks() > 2


def test_shapes_and_types_are_inferred(op, kernel):
    node = op.node(kernel, [(7, 40), (40,)], data=False)
    assert op.call("InferShape", node) == 0, op.log()
    assert op.shape(node) == [7, 40]
    node = op.node(kernel, [(-1, 40), (40,)], data=False)
    assert op.call("InferShape", node) == 0 and op.shape(node) == [-1, 40]
    assert op.call("InferDataType", node) == 0


@pytest.mark.parametrize(
    "shapes, words", [([(7, 41), (40,)], "41"), ([(40,), (40,)], "rank"), ([(7, 40)], "inputs")]
)
def test_wrong_inputs_are_named(op, kernel, shapes, words):
    node = op.node(kernel, shapes, data=False)
    assert op.call("InferShape", node) == FAILED
    assert "AutofusedKernel node: " in op.log() and words in op.log()
    node = op.node(kernel, [np.zeros(shape, np.float32) for shape in shapes])
    assert op.call("Execute", node) == FAILED


def test_addresses_are_refreshed(op, kernel):
    values = arrays(3)
    node = op.node(kernel, values, static=True)
    assert op.call("Execute", node) == 0, op.log()
    moved = op.library.fake_move_input(node, 1)
    assert op.call("UpdateHostArgs", node) == 0, op.log()
    assert op.library.fake_host_argument(node, 1) == moved


def test_a_dynamic_node_has_nothing_to_refresh(op, kernel):
    node = op.node(kernel, arrays(3))
    assert op.call("UpdateHostArgs", node) == FAILED
    assert "refreshed" in op.log()


def test_kernels_travel_in_the_model(op, kernel):
    values = arrays(5)
    assert op.call("Compile", op.node(kernel, values)) == 0
    assert op.call("Serialize") == 0
    other = Op(op.library)
    assert other.call("Deserialize") == 0, other.log()
    node = other.node(kernel, values, folder="/nowhere")
    assert other.call("Execute", node) == 0, other.log()
    np.testing.assert_allclose(other.output(node), expected(values), rtol=1e-5)
    op.library.fake_saved_cut(100)
    assert Op(op.library).call("Deserialize") == FAILED


def test_a_missing_bundle_is_named_and_found_elsewhere(op, kernel, monkeypatch):
    values = arrays(2)
    node = op.node(kernel, values, folder="/nowhere")
    assert op.call("Compile", node) == FAILED
    assert "/nowhere" in op.log() and kernel[0] in op.log()
    monkeypatch.setenv("AUTOFUSE_BUNDLE_PATH", "/no:" + os.path.dirname(kernel[2]))
    assert op.call("Compile", node) == 0, op.log()


def test_the_words_of_the_compiler_come_out(op, kernel, tmp_path):
    broken = str(tmp_path / "broken")
    bundle.copy_bundle(kernel[2], broken)
    with open(os.path.join(broken, "device_kernel.cpp"), "a") as file:
        file.write("\nthis is no C++;\n")
    assert op.call("Compile", op.node(kernel, arrays(2), folder=broken)) == FAILED
    assert "aclrtcCompileProg failed" in op.log() and "error:" in op.log()


def test_a_built_kernel_is_taken_as_it_is(op, kernel, tmp_path):
    built = str(tmp_path / "built")
    bundle.copy_bundle(kernel[2], built)
    os.makedirs(os.path.join(built, "bin", "Ascend910B"))
    with open(os.path.join(built, "bin", "Ascend910B", "kernel.o"), "w") as file:
        file.write("no ELF")
    node = op.node(kernel, arrays(2), folder=built)
    assert op.call("Compile", node) == 0
    assert op.call("Execute", node) == FAILED
    assert "aclrtBinaryLoadFromData failed" in op.log()


@pytest.mark.skipif(not os.environ.get("CANN_INCLUDE"), reason="CANN_INCLUDE is not set")
def test_the_same_sources_against_real_headers():
    """CANN_INCLUDE: include folders of a CANN toolkit, split by `:`."""
    folders = [word for item in os.environ["CANN_INCLUDE"].split(":") for word in ("-I", item)]
    for source in operator_sources():
        warnings = [flag for flag in FLAGS if flag != "-Werror"]
        command = ["g++", "-fsyntax-only"] + warnings + folders + [source]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        assert done.returncode == 0, done.stdout.decode()
