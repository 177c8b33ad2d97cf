"""Kernel bundles: what is in them, what the built halves compute, and damage."""
import ctypes
import os
import stat
import subprocess

import numpy as np
import pytest
from nets import Net
from staged_samples import layer_norm_gradient

from tf_autofuse import bundle, flags, paths
from tf_autofuse.autofuse.pipeline import fuse_graph
from tf_autofuse.build.toolchain import compile_shared, find_toolchain
from tf_autofuse.bundle import device, folder, sources
from tf_autofuse.errors import BuildError
from tf_autofuse.ge.passes import PassContext
from tf_autofuse.platforms import platform
from tf_autofuse.runtime.twin import run_twin
from tf_autofuse.schedule import schedule
from tf_autofuse.tiling.cpp import table_fields, tiling


@pytest.fixture
def fused(monkeypatch, tmp_path):
    """A fused node of Exp(Add(x, y)) with a run-time broadcast, and a copy of its bundle."""
    monkeypatch.setenv("AUTOFUSE_CACHE_DIR", str(tmp_path / "cache"))
    flags.set_overrides({"enable_autofuse": True})
    net = Net(-1, 40)
    graph = net.graph(net("Exp", net("Add", net.data(), net.data(-1, 40))))
    fuse_graph(graph, PassContext("TfAutofusePass"), for_chip=True)
    flags.set_overrides(None)
    (node,) = [n for n in graph.get_direct_nodes() if n.type == "AutofusedKernel"]
    path = str(tmp_path / "bundle")
    bundle.copy_bundle(node.get_attr("bundle_dir"), path)
    return node, path


def complete(fused, **kwargs):
    node, path = fused
    return bundle.complete(path, node.get_attr("spec"), "Ascend910B2", **kwargs)


def load(path):
    library = ctypes.CDLL(os.path.join(path, folder.LIBRARY))
    library.autofuse_device_entry.restype = ctypes.c_char_p
    library.autofuse_device_tiling_bytes.restype = ctypes.c_int64
    return library


def numbers(*values):
    return (ctypes.c_int64 * len(values))(*values)


def call_tiling(path, sizes, strides, cores):
    library = load(path)
    data = ctypes.create_string_buffer(library.autofuse_device_tiling_bytes())
    blocks, workspace = ctypes.c_int64(), ctypes.c_int64(-1)
    code = library.autofuse_device_tiling(
        numbers(*sizes), numbers(*strides), ctypes.c_int64(cores), data, ctypes.byref(blocks),
        ctypes.byref(workspace),
    )  # fmt: skip
    assert code == 0
    return data.raw, blocks.value, workspace.value


def test_the_description_says_how_to_launch(fused):
    description = complete(fused)
    assert description["entry"] == load(fused[1]).autofuse_device_entry().decode()
    assert description["npu_arch"] == 2201
    assert [entry["dtype"] for entry in description["inputs"]] == ["float32", "float32"]
    assert description["key"] == fused[0].get_attr("kernel_key")


def test_the_tiling_library_solves_as_python_does(fused):
    complete(fused)
    kernel = folder.read_kernel(fused[1])
    # More sizes than the library keeps, each twice: a kept tiling is the same tiling.
    cases = [(rows, cores) for rows in (1, 7, 90, 5000) for cores in (48, 20, 3)]
    for rows, cores in cases + cases:
        sizes = dict(zip(kernel.loop.axes, (rows, 40)))
        strides = (40, 1, 0, 40, 1, 0)[: len(table_fields(kernel))]
        want = tiling(kernel, sizes, strides, cores)
        got = call_tiling(fused[1], (rows, 40), strides, cores)
        assert got == (want.data, want.blocks, want.workspace_bytes)


def test_kernels_of_several_stages_are_launched_together(tmp_path, monkeypatch):
    monkeypatch.setenv("AUTOFUSE_CACHE_DIR", str(tmp_path / "cache"))
    kernel = schedule(layer_norm_gradient())
    (tmp_path / "tiling.cpp").write_text(sources.tiling_source(kernel, "entry"))
    library = str(tmp_path / folder.LIBRARY)
    core = os.path.join(paths.csrc_dir(), "core")
    subprocess.check_call(["g++", "-std=c++17", "-O1", "-shared", "-fPIC", "-I" + core, "-o",
                           library, str(tmp_path / "tiling.cpp")])
    assert load(str(tmp_path)).autofuse_device_together() == 1
    for rows, cores in ((1, 48), (64, 48), (5000, 20), (0, 3)):
        want = tiling(kernel, {"m0": rows, "m1": 40}, None, cores)
        got = call_tiling(str(tmp_path), (rows, 40), (), cores)
        assert got == (want.data, want.blocks, want.workspace_bytes)
        assert rows == 0 or (want.workspace_bytes > 0) == (rows > 1)  # one row is one nest


def test_the_stand_alone_source_runs_on_the_twin(fused):
    complete(fused)
    x = np.linspace(-2, 2, 120, dtype=np.float32).reshape(3, 40)
    y = np.full((1, 40), 0.5, np.float32)
    data, blocks, workspace = call_tiling(fused[1], (3, 40), (40, 1, 0, 0, 1, 0), 48)
    with open(os.path.join(fused[1], folder.DEVICE)) as file:
        source = file.read()
    result = run_twin(source, "autofused_kernel", [x, y], [((3, 40), "float32")], data, blocks,
                      platform("Ascend910B"), workspace_bytes=workspace)  # fmt: skip
    np.testing.assert_allclose(result.outputs[0], np.exp(x + y), rtol=1e-5)


class Shape(ctypes.Structure):
    """AutofuseShape of the source."""

    _fields_ = [("rank", ctypes.c_int64), ("dims", ctypes.c_int64 * 8)]

    @classmethod
    def of(cls, *dims):
        return cls(len(dims), (ctypes.c_int64 * 8)(*dims))


def test_infer_shape_with_known_and_unknown_sizes(fused, tmp_path):
    complete(fused)
    (name,) = [n for n in os.listdir(fused[1]) if n.startswith("infershape_")]
    path = str(tmp_path / "infer.so")
    compile_shared(find_toolchain(), os.path.join(fused[1], name), path, device.TILING_FLAGS, ())
    library = ctypes.CDLL(path)
    out = Shape()

    def infer(rows, other):
        shapes = (Shape * 2)(Shape.of(rows, 40), Shape.of(other, 40))
        return library.autofuse_infer_shape(shapes, ctypes.byref(out))

    cases = ((3, 1, 3), (1, 9, 9), (-1, 6, 6), (-1, -1, -1))
    for rows, other, want in cases:
        assert infer(rows, other) == 0
        assert (out.rank, list(out.dims[:2])) == (2, [want, 40])
    assert infer(3, 2) != 0
    types = (ctypes.c_int32 * 1)(-1)
    library.autofuse_infer_dtype(types)
    assert list(types) == [0]


def test_damage_is_seen_and_mended(fused):
    complete(fused)
    assert bundle.problems(fused[1]) == []
    with open(os.path.join(fused[1], folder.TILING), "a") as file:
        file.write("// changed\n")
    os.remove(os.path.join(fused[1], folder.DEVICE))
    assert bundle.problems(fused[1]) == ["device_kernel.cpp is missing", "tiling.cpp has changed"]
    complete(fused)
    assert bundle.problems(fused[1]) == []


def test_the_kernel_is_built_where_bisheng_is(fused, monkeypatch, tmp_path):
    tools = tmp_path / "tools"
    tools.mkdir()
    script(tools / "bisheng", 'while [ "$1" != -o ]; do shift; done; echo "$*" > "$2"')
    script(tools / "llvm-objcopy", 'cp "$4" "$5"')
    monkeypatch.setenv("PATH", str(tools), prepend=os.pathsep)
    complete(fused)
    with open(os.path.join(fused[1], "bin", "Ascend910B", "kernel.o")) as file:
        assert "--npu-arch=dav-2201" in file.read()
    assert bundle.problems(fused[1]) == []


def test_a_compiler_error_is_told(fused, monkeypatch, tmp_path):
    tools = tmp_path / "tools"
    tools.mkdir()
    script(tools / "bisheng", 'echo "device_kernel.cpp:9: error: no such intrinsic"; exit 1')
    monkeypatch.setenv("PATH", str(tools), prepend=os.pathsep)
    with pytest.raises(BuildError, match="no such intrinsic"):
        complete(fused)


def script(path, text):
    path.write_text("#!/bin/sh\n" + text + "\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
