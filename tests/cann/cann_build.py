"""Builds the GE operator against the stand-in headers and a fake runtime, once per session."""
import ctypes
import glob
import os
import subprocess

from tf_autofuse.paths import csrc_dir

HERE = os.path.dirname(os.path.abspath(__file__))
FLAGS = ["-std=c++17", "-Wall", "-Wextra", "-Werror", "-fPIC"]


def sources(*parts):
    return sorted(glob.glob(os.path.join(*parts)))


LOADER = os.path.join(csrc_dir(), "ge", "custom_fusion_passes.cc")
BRIDGE = [os.path.join(csrc_dir(), "ge", name) for name in ("graph_face.cc", "python_bridge.cc")]


def operator_sources():
    """Sources of the operator, without the bridge to Python."""
    found = [path for path in sources(csrc_dir(), "ge", "*.cc") if path not in [LOADER] + BRIDGE]
    return found + sources(csrc_dir(), "core", "*.cc")


def compile_cxx(arguments, output):
    """Compile with g++; the compiler's words when it fails."""
    command = ["g++", "-O0"] + FLAGS + ["-o", output] + arguments
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout.decode()
    return output


def build_fake(folder):
    """The operator, the fake runtime and the fake engine as one library."""
    arguments = ["-shared", "-I", os.path.join(HERE, "include"), "-I", os.path.join(HERE, "fake")]
    arguments += sources(HERE, "fake", "*.cc") + operator_sources() + ["-ldl"]
    library = ctypes.CDLL(compile_cxx(arguments, os.path.join(str(folder), "fake.so")))
    for name in ("fake_op", "fake_node"):
        getattr(library, name).restype = ctypes.c_void_p
    for name in ("fake_log", "fake_prototype_attribute"):
        getattr(library, name).restype = ctypes.c_char_p
    for name in ("fake_host_argument", "fake_move_input"):
        getattr(library, name).restype = ctypes.c_uint64
    library.fake_call.restype = ctypes.c_uint32
    library.fake_output_data.restype = ctypes.POINTER(ctypes.c_float)
    return library
