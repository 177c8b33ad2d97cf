"""Fixtures of the tests that run inside the installed TensorFlow."""

import os
import sys

import pytest

from tf_autofuse import paths
from tf_autofuse.build.toolchain import find_toolchain, run_tool

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
tf = pytest.importorskip("tensorflow")

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)  # for tf_op_graphs


@pytest.fixture(scope="session")
def shim():
    """The extension, built for the installed TensorFlow."""
    from tf_autofuse.build import tf_shim

    return tf_shim.load()


@pytest.fixture(scope="session")
def kernel_library(tmp_path_factory):
    """kernel_library(name): path of the hand-written library `name` of kernels.cc."""
    folder = tmp_path_factory.mktemp("kernels")
    built = {}

    def build(name):
        if name not in built:
            path = str(folder / (name + ".so"))
            command = list(find_toolchain().command) + [
                "-std=c++14", "-O2", "-Wall", "-fPIC", "-shared", "-DKERNEL_" + name,
                "-I" + os.path.join(paths.csrc_dir(), "core"),
                os.path.join(HERE, "kernels.cc"), "-o", path,
            ]
            output, code = run_tool(command, 120.0)
            assert code == 0, output
            built[name] = path
        return built[name]

    return build
