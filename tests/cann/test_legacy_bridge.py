"""The bridge for a GE without Python passes: loaded by a fake GE, inside Python and without it."""

import ctypes
import os
import subprocess
import sys
import sysconfig

import pytest
from cann_build import BRIDGE, HERE, LOADER, compile_cxx

pybind11 = pytest.importorskip("pybind11")
ROOT = os.path.dirname(os.path.dirname(HERE))


def python_include():
    """Folder of Python.h: the interpreter's, or the one that TensorFlow's wheel brings."""
    places = sysconfig.get_paths()
    bundled = "tensorflow/include/external/local_config_python/python_include"
    for folder in (places["include"], os.path.join(places["purelib"], bundled)):
        if os.path.exists(os.path.join(folder, "Python.h")):
            return folder
    return pytest.skip("no Python.h")


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """Folder with the loader, the bridge where the loader looks for it, and a program."""
    folder = str(tmp_path_factory.mktemp("legacy"))
    headers = ["-I", os.path.join(HERE, "include")]
    factory = os.path.join(HERE, "legacy", "factory.cc")
    os.makedirs(os.path.join(folder, "python"))
    python = ["-isystem", pybind11.get_include(), "-isystem", python_include()]
    compile_cxx(["-shared", "-fvisibility=hidden"] + headers + python + BRIDGE,
                os.path.join(folder, "python", "libtf_autofuse_bridge.so"))  # fmt: skip
    compile_cxx(["-shared"] + headers + [factory, LOADER, "-ldl"],
                os.path.join(folder, "passes.so"))  # fmt: skip
    compile_cxx(["-DLEGACY_PROGRAM"] + headers + [factory, LOADER, "-ldl"],
                os.path.join(folder, "program"))  # fmt: skip
    return folder


@pytest.fixture
def library(built, monkeypatch, tmp_path):
    monkeypatch.setenv("AUTOFUSE_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("AUTOFUSE_FLAGS", "--enable_autofuse=true")
    library = ctypes.CDLL(os.path.join(built, "passes.so"))
    library.legacy_run.restype = ctypes.c_uint32
    library.legacy_text.restype = ctypes.c_char_p
    return library


def lines(text):
    return {line.split()[0]: line for line in text.splitlines() if line}


def check_fused(text):
    nodes = lines(text)
    assert "net/Abs" not in nodes and "net/Exp" not in nodes
    (fused,) = [name for name in nodes if name.startswith("autofused_pointwise_")]
    assert " AutofusedKernel <x:0 ^before spec=v1;" in nodes[fused]
    ports = [(nodes["mat"], nodes["out"]) == (
        "mat MatMulV2 <{0}:{1} <{0}:{1}".format(fused, port),
        "out NetOutput <{}:{} <mat:0".format(fused, 1 - port)) for port in (0, 1)]
    assert any(ports), (nodes["mat"], nodes["out"])
    assert nodes["after"] == "after NoOp ^" + fused


def test_the_interpreter_of_the_process_is_used(library):
    assert library.legacy_run(0) == 0
    check_fused(library.legacy_text().decode())


def test_switched_off_nothing_changes(library, monkeypatch):
    monkeypatch.setenv("AUTOFUSE_FLAGS", "")
    assert library.legacy_run(0) == 0
    assert "net/Abs" in lines(library.legacy_text().decode())


def test_user_controls_are_read(library):
    assert library.legacy_run(1) == 0
    assert "net/Abs" in lines(library.legacy_text().decode())


def test_an_error_is_told_and_only_strict_fails(library, monkeypatch):
    def full(plan):
        raise OSError("no room for the bundle of " + plan.key)

    monkeypatch.setattr("tf_autofuse.autofuse.pipeline.write_bundle", full)
    assert library.legacy_run(0) == 0
    assert "net/Abs" in lines(library.legacy_text().decode())
    monkeypatch.setenv("AUTOFUSE_FLAGS", "--enable_autofuse=true;--strict=true")
    assert library.legacy_run(0) == 0xFFFFFFFF
    text = library.legacy_text().decode()
    assert "TfAutofusePass" in text and "no room for the bundle" in text


def run_program(built, tmp_path, **env):
    variables = {
        "PATH": os.environ["PATH"], "HOME": str(tmp_path),
        "AUTOFUSE_FLAGS": "--enable_autofuse=true",
        "PYTHONPATH": os.pathsep.join([ROOT] + [p for p in sys.path if "site-packages" in p]),
    }  # fmt: skip
    variables.update(env)
    program = os.path.join(built, "program")
    return subprocess.run([program], env=variables, stdout=subprocess.PIPE)


def test_an_interpreter_is_started_where_there_is_none(built, tmp_path):
    name = str(sysconfig.get_config_var("LDLIBRARY"))
    path = os.path.join(str(sysconfig.get_config_var("LIBDIR")), name)
    if not (name.endswith(".so") and os.path.exists(path)):
        pytest.skip("no shared libpython")
    done = run_program(built, tmp_path, AUTOFUSE_LIBPYTHON=path)
    assert done.returncode == 0, done.stdout.decode()
    check_fused(done.stdout.decode())


def test_without_any_python_the_graph_stays(built, tmp_path):
    done = run_program(built, tmp_path, AUTOFUSE_LIBPYTHON="/no/libpython.so")
    text = done.stdout.decode()
    assert done.returncode == 0 and "no Python" in text
    assert "net/Abs" in lines(text)
