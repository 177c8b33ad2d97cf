"""The operator in Python: the shape spec in text, and a launch through a fake pyACL."""
import os
import runpy
import subprocess
import sys
import types

import pytest

from tf_autofuse.errors import AutofuseError
from tf_autofuse.paths import csrc_dir
from tf_autofuse.runtime.spec_text import SpecText

FILE = os.path.join(csrc_dir(), "ge", "python", "autofused_kernel.py")


def test_a_spec_binds_shapes():
    spec = SpecText.parse("v1;axes=3;groups=0,0,1;in=0.1.2/-.-.2/s;out=0.1.2/s;")
    bound = spec.bind([[2, 3, 4], [1, 1, 4], []])
    assert bound == ([6, 4], [], [[2, 3, 4], []])


def test_a_spec_with_a_run_time_broadcast():
    spec = SpecText.parse("v1;axes=2;groups=0,1;in=0?.1/0?.1;out=0.1;")
    assert spec.bind([[5, 4], [1, 4]]) == ([5, 4], [4, 1, 0, 0, 1, 0], [[5, 4]])
    assert spec.bind([[1, 4], [1, 4]]).outputs == [[1, 4]]


@pytest.mark.parametrize("shapes", [[[5, 4], [3, 4]], [[5, 4], [1, 3]], [[5, 4]]])
def test_what_does_not_fit_is_an_error(shapes):
    spec = SpecText.parse("v1;axes=2;groups=0,1;in=0?.1/0?.1;out=0.1;")
    with pytest.raises(AutofuseError):
        spec.bind(shapes)


@pytest.mark.parametrize("text", ["", "v2;axes=0;groups=;in=s;out=s;", "v1;axes=1;groups=;in=;"])
def test_a_damaged_spec_is_an_error(text):
    with pytest.raises(AutofuseError):
        SpecText.parse(text)


def test_without_ge_the_file_registers_nothing():
    done = subprocess.run([sys.executable, "-I", "-S", FILE], stderr=subprocess.PIPE)
    assert done.returncode == 0 and b"not registered" in done.stderr


class Acl:
    """pyACL that remembers a launch."""

    def __init__(self):
        self.launched, self.arguments, self.rt = [], [], self

    def __getattr__(self, name):
        if name in ("get_device", "binary_load_from_file", "binary_get_function",
                    "kernel_args_init"):  # fmt: skip
            return lambda *args: (7, 0)
        if name == "get_device_info":
            return lambda *args: (48, 0)
        if name == "kernel_args_finalize":
            return lambda *args: 0
        raise AttributeError(name)

    def kernel_args_append(self, handle, address, size):
        import ctypes

        self.arguments.append(ctypes.c_uint64.from_address(address).value)
        self.tiling_bytes = size
        return 1, 0

    def launch_kernel_with_config(self, function, blocks, stream, config, handle, last):
        self.launched.append((function, blocks, stream))
        return 0


class Context:
    """An execution context with one input of [3, 40] at address 100."""

    def __init__(self, folder, spec):
        self.values = ["key", spec, folder, [0], "name", 2]
        self.outputs = []

    def get_attrs(self):
        return types.SimpleNamespace(
            get_str=self.values.__getitem__, get_list_int=self.values.__getitem__,
            get_int=self.values.__getitem__)

    def get_input_num(self):
        return 1

    def get_input_tensor(self, index):
        shape = types.SimpleNamespace(dims=[3, 40])
        return types.SimpleNamespace(storage_shape=shape, format="nd", addr=100)

    def malloc_output_tensor(self, index, shape, fmt, dtype):
        self.outputs.append((shape, int(dtype)))
        return types.SimpleNamespace(addr=200)

    def get_stream(self):
        return 9


def test_a_launch_passes_inputs_outputs_workspace_and_tiling(tmp_path, monkeypatch):
    from nets import Net

    from tf_autofuse import bundle, flags
    from tf_autofuse.autofuse.pipeline import fuse_graph
    from tf_autofuse.ge.passes import PassContext

    monkeypatch.setenv("AUTOFUSE_CACHE_DIR", str(tmp_path))
    flags.set_overrides({"enable_autofuse": True})
    net = Net(3, 40)
    graph = net.graph(net("Exp", net("Abs", net.data())))
    fuse_graph(graph, PassContext("TfAutofusePass"), for_chip=True)
    flags.set_overrides(None)
    (node,) = [n for n in graph.get_direct_nodes() if n.type == "AutofusedKernel"]
    folder, spec = node.get_attr("bundle_dir"), node.get_attr("spec")
    bundle.complete(folder, spec, "Ascend910B")
    acl = Acl()
    modules = {"acl": acl, "ge": types.ModuleType("ge"), "ge.graph": types.ModuleType("ge.graph")}
    modules["ge.graph.types"] = types.SimpleNamespace(DataType=int)
    modules["ge.runtime"] = types.SimpleNamespace(StorageShape=lambda origin, storage: storage)
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    operator = runpy.run_path(FILE)
    context = Context(folder, spec)
    operator["execute"](context)
    assert context.outputs == [([3, 40], 0)]
    assert acl.arguments[:3] == [100, 200, 0]
    assert acl.tiling_bytes % 8 == 0 and acl.tiling_bytes > 0
    function, blocks, stream = acl.launched[0]
    assert (function, stream) == (7, 9) and 1 <= blocks <= 2
