"""Loops that have to be vector loops: g++ says which ones it made so."""
import re
import subprocess

import kernel_samples as samples
import pytest

from tf_autofuse.build import toolchain
from tf_autofuse.codegen.host import print_nests
from tf_autofuse.kernel.nest import build_nests
from tf_autofuse.paths import csrc_dir

SELECTED_GRADIENT = samples.kernel(
    ["float32", "float32"], ["float32", "float32"], "m0 m1",
    "%0 = load in0 [m0, m1] : float32", "%1 = load in1 [m0, m1] : float32",
    "%2 = const 0.0 : float32", "%3 = gt %0 %2 : bool [m0, m1]",
    "%4 = cast %3 : float32 [m0, m1]", "%5 = mul %1 %4 : float32 [m0, m1]",
    "%6 = reduce.sum %5 over m0 : float32 [m1]",
    "store out0 [m0, m1] %5", "store out1 [m1] %6")


def extent(lines, start):
    """Numbers (from 1) of the lines of the loop whose head is `lines[start]`."""
    margin = re.match(" *", lines[start]).group()
    end = next(i for i in range(start + 1, len(lines)) if lines[i].startswith(margin + "}"))
    return set(range(start + 1, end + 2))


def target_of(tools):
    return subprocess.check_output(list(tools.command) + ["-dumpmachine"]).decode()


def has_rows_of_vectors(tools):
    """Whether rows of eight elements are vectors here (csrc/host/turn.h)."""
    command = list(tools.command + tools.target_flags) + ["-dM", "-E", "-x", "c++", "/dev/null"]
    macros = subprocess.check_output(command).decode()
    return "__AVX2__" in macros and "__AVX512F__" not in macros


def compile_text(tools, text, path, *flags):
    """What the compiler says of a kernel text; `path` is what it makes."""
    source = path.parent / "kernel.cc"
    source.write_text(text)
    command = list(tools.command + tools.target_flags) + list(toolchain.HOST_FLAGS)
    command += ["-I%s/%s" % (csrc_dir(), folder) for folder in ("core", "host")]
    command += [*flags, "-o", str(path), str(source)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True)
    return done.stdout.decode()


@pytest.mark.parametrize("loop", [
    SELECTED_GRADIENT, samples.abs_relu_exp("float32"), samples.softmax("m1"),
    samples.layer_norm("float32"),
])
def test_marked_loops_are_vector_loops(loop, tmp_path):
    tools = toolchain.find_toolchain()
    if "g++" not in tools.command[0]:
        pytest.skip("only g++ reports its loops")
    text = print_nests(loop, build_nests(loop))
    said = compile_text(tools, text, tmp_path / "kernel.so", "-fopt-info-vec-optimized")
    found = re.findall(r"kernel\.cc:(\d+):\d+: .*vectorized", said)
    lines = text.splitlines()
    heads = [i + 1 for i, line in enumerate(lines) if "omp simd" in line]
    if not target_of(tools).startswith("x86_64"):  # nothing else streams: g++ drops those loops
        heads = [i for i in heads if "+ BLOCK" not in lines[i]]
    if not has_rows_of_vectors(tools):
        gone = [extent(lines, i) for i, line in enumerate(lines) if "if (ROWS_ARE_VECTORS" in line]
        heads = [i for i in heads if i not in set().union(*gone)]
    loops = [extent(lines, i) for i in heads]
    assert loops
    for span in loops:
        assert span & {int(line) for line in found}, lines[min(span) - 1:max(span)]


def test_no_register_of_the_x87_is_left_in_use(tmp_path, monkeypatch):
    """Without AVX g++ 12 moves the sums of this kernel through an MMX register."""
    if not target_of(toolchain.find_toolchain()).startswith("x86_64"):
        pytest.skip("MMX is x86's")
    monkeypatch.setenv("CXX", "g++ -mno-avx512f -mno-avx -mno-fma")
    loop = samples.reduction("m0 m1", "m1", ("sum", "max", "prod"), "int32")
    path = tmp_path / "kernel.s"
    compile_text(toolchain.find_toolchain(), print_nests(loop, build_nests(loop)), path, "-S")
    assert "%xmm0" in path.read_text() and not re.search("%mm[0-7]", path.read_text())
