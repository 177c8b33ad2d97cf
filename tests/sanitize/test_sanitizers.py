"""csrc, generated kernels and the twin under AddressSanitizer, UBSan and ThreadSanitizer."""

import os
import shutil
import sys

import pytest

from tf_autofuse import paths
from tf_autofuse.build.process import run_tool
from tf_autofuse.build.toolchain import find_toolchain

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(paths.package_dir())
CSRC = paths.csrc_dir()
SOURCES = ["core/sha256.cc", "core/trusted_file.cc", "core/windows.cc", "core/shape_spec.cc",
           "tf/parallel.cc"]
ADDRESS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
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


@pytest.mark.parametrize("flags", [ADDRESS, THREAD], ids=["address", "thread"])
def test_core(flags, tmp_path):
    works(flags, tmp_path)
    program = str(tmp_path / "core")
    command = list(find_toolchain().command) + flags + ["-std=c++14", "-O1", "-g1", "-pthread"]
    command += ["-I" + CSRC, "-I" + os.path.join(HERE, "include"), "-o", program]
    command += [os.path.join(HERE, "core_driver.cc")] + [os.path.join(CSRC, s) for s in SOURCES]
    output, code = run_tool(command, 180.0)
    assert code == 0, output
    output, code = run_tool(FIXED + [program, "20000"], 120.0)
    assert code == 0 and "good specs" in output, output


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
