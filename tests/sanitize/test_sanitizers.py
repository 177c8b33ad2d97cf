"""csrc, generated kernels and the twin under AddressSanitizer, UBSan and ThreadSanitizer."""

import os
import shutil
import sys

import pytest

from tf_autofuse import paths
from tf_autofuse.build import tf_shim
from tf_autofuse.build.cache import cache_root
from tf_autofuse.build.process import run_tool
from tf_autofuse.build.toolchain import find_toolchain

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(paths.package_dir())
CSRC = paths.csrc_dir()
KERNELS = os.path.join(os.path.dirname(HERE), "tf_op", "kernels.cc")
CORE = ["sha256", "trusted_file", "windows", "shape_spec"]
DRIVERS = {
    "core": ["tf/parallel.cc"],
    "tf": ["tf/buffer_pool.cc", "tf/interrupts.cc", "tf/kernel_library.cc", "tf/kernel_stats.cc",
           "tf/launch_plan.cc", "tf/tickets.cc"],
}  # fmt: skip
ADDRESS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
# TensorFlow's headers are not made for the checks left out here; its containers have another layout
# when they know of the sanitizer.
WITH_TENSORFLOW = ["-fno-sanitize=vptr,null,nonnull-attribute,returns-nonnull-attribute",
                   "-U__SANITIZE_ADDRESS__", "-g1", "-O0"]  # fmt: skip
THREAD = ["-fsanitize=thread"]
OPTIONS = {
    "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=0",  # Python itself frees nothing at its end
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    "TSAN_OPTIONS": "halt_on_error=1:report_signal_unsafe=0",
}
# ThreadSanitizer of older compilers cannot live with much address space randomisation.
FIXED = [shutil.which("setarch"), os.uname().machine, "-R"] if shutil.which("setarch") else []


def runtime(name):
    """The sanitizer's library; skips where the compiler has none."""
    text, code = run_tool(list(find_toolchain().command) + ["-print-file-name=" + name], 30.0)
    if code != 0 or not os.path.isabs(text.strip()):
        pytest.skip("the compiler has no " + name)
    return os.path.realpath(text.strip())


def works(flags, tmp_path):
    """Skips where programs with these sanitizers do not start at all."""
    source, program = tmp_path / "empty.cc", str(tmp_path / "empty")
    source.write_text("int main() { return 0; }\n")
    command = list(find_toolchain().command) + flags + [str(source), "-o", program]
    if run_tool(command, 60.0)[1] != 0 or run_tool(FIXED + [program], 60.0)[1] != 0:
        pytest.skip("no " + flags[0])


def build_driver(name, flags, folder):
    """The program of <name>_driver.cc."""
    program = str(folder / name)
    sources = ["core/%s.cc" % source for source in CORE] + DRIVERS[name]
    command = list(find_toolchain().command) + flags + ["-std=c++14", "-O1", "-g1", "-pthread"]
    command += ["-I" + CSRC, "-I" + os.path.join(HERE, "include"), "-o", program]
    command += [os.path.join(HERE, name + "_driver.cc")]
    command += [os.path.join(CSRC, source) for source in sources] + ["-ldl"]
    output, code = run_tool(command, 180.0)
    assert code == 0, output
    return program


@pytest.mark.parametrize("flags", [ADDRESS, THREAD], ids=["address", "thread"])
def test_core(flags, tmp_path):
    works(flags, tmp_path)
    program = build_driver("core", flags, tmp_path)
    output, code = run_tool(FIXED + [program, "20000"], 120.0)
    assert code == 0 and "good specs" in output, output


def hand_written(name, folder):
    """A library of tests/tf_op/kernels.cc."""
    path = str(folder / (name + ".so"))
    command = list(find_toolchain().command) + ["-fPIC", "-shared", "-DKERNEL_" + name]
    command += ["-I" + os.path.join(CSRC, "core"), KERNELS, "-o", path]
    output, code = run_tool(command, 60.0)
    assert code == 0, output
    return path


@pytest.mark.parametrize("flags", [ADDRESS, THREAD], ids=["address", "thread"])
def test_what_threads_share(flags, tmp_path):
    works(flags, tmp_path)
    program = build_driver("tf", flags, tmp_path)
    libraries = [hand_written(name, tmp_path) for name in ("ABS_AND_EXP", "BAD_VERSION")]
    output, code = run_tool(FIXED + [program, "2000"] + libraries, 120.0)
    assert code == 0 and "all good" in output, output


def sanitized_shim(tmp_path, monkeypatch):
    """The whole extension, built with ADDRESS; kept among the kernels that tests have built."""
    compiler = tmp_path / "cxx.sh"
    words = list(find_toolchain().command) + ['"$@"'] + ADDRESS + WITH_TENSORFLOW
    compiler.write_text("#!/bin/sh\nexec {}\n".format(" ".join(words)))
    compiler.chmod(0o700)
    monkeypatch.setenv("CXX", str(compiler))
    path = tf_shim.build(root=os.path.join(cache_root(), "sanitized_shim"))
    monkeypatch.delenv("CXX")
    with open(path, "rb") as library:
        assert b"__asan_report_store" in library.read()
    return path


def test_the_extension_in_tensorflow(tmp_path, monkeypatch):
    """Operator, optimizer, memory pool and bridge to Python, by the tests they have."""
    pytest.importorskip("tensorflow")
    works(ADDRESS, tmp_path)
    preloaded = runtime("libasan.so") + " " + runtime("libstdc++.so.6")
    monkeypatch.setenv("SANITIZED_SHIM", sanitized_shim(tmp_path, monkeypatch))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([ROOT, HERE]))
    for name, value in OPTIONS.items():
        monkeypatch.setenv(name, value)
    command = ["env", "LD_PRELOAD=" + preloaded, sys.executable, "-m", "pytest", "-q"]
    # Freed memory waits long before it is used again, so that nothing can be said of its amount;
    # scripts are other processes.
    command += ["-p", "no:cacheprovider", "-p", "sanitized_shim"]
    command += ["-k", "not resident and not script", os.path.join(ROOT, "tests", "tf_op")]
    output, code = run_tool(FIXED + command, 600.0)
    assert code == 0 and " passed" in output, output
    assert "Sanitizer" not in output and "runtime error" not in output, output


def run_kernels(flags, library, tmp_path, monkeypatch, *names):
    """Output and exit code of run_kernels.py."""
    for name, value in OPTIONS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("CXX", " ".join(list(find_toolchain().command) + flags + ["-g1"]))
    monkeypatch.setenv("AUTOFUSE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("PYTHONPATH", ROOT)
    command = ["env", "LD_PRELOAD=" + library, sys.executable, os.path.join(HERE, "run_kernels.py")]
    return run_tool(FIXED + command + list(names), 300.0)


def test_kernels_address(tmp_path, monkeypatch):
    works(ADDRESS, tmp_path)
    library = runtime("libasan.so")
    output, code = run_kernels(ADDRESS, library, tmp_path, monkeypatch)
    assert code == 0 and "18 runs" in output, output
    assert "Sanitizer" not in output and "runtime error" not in output, output
    output, code = run_kernels(ADDRESS, library, tmp_path, monkeypatch, "overrun")
    assert code != 0 and "heap-buffer-overflow" in output, output


def test_kernels_thread(tmp_path, monkeypatch):
    works(THREAD, tmp_path)
    library = runtime("libtsan.so")
    output, code = run_kernels(THREAD, library, tmp_path, monkeypatch, "columns", "nests")
    assert code == 0 and "5 runs" in output, output
    assert "Sanitizer" not in output, output
