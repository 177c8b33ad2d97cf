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


@pytest.mark.parametrize("loop", [
    SELECTED_GRADIENT, samples.abs_relu_exp("float32"), samples.softmax("m1"),
    samples.layer_norm("float32"),
])
def test_marked_loops_are_vector_loops(loop, tmp_path):
    tools = toolchain.find_toolchain()
    if "g++" not in tools.command[0]:
        pytest.skip("only g++ reports its loops")
    source = tmp_path / "kernel.cc"
    text = print_nests(loop, build_nests(loop))
    source.write_text(text)
    command = list(tools.command + tools.target_flags) + list(toolchain.HOST_FLAGS)
    command += ["-I%s/%s" % (csrc_dir(), folder) for folder in ("core", "host")]
    command += ["-fopt-info-vec-optimized", "-o", str(tmp_path / "kernel.so"), str(source)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True)
    found = re.findall(r"kernel\.cc:(\d+):\d+: .*vectorized", done.stdout.decode())
    lines = text.splitlines()
    heads = [i + 1 for i, line in enumerate(lines) if "omp simd" in line]
    if not target_of(tools).startswith("x86_64"):  # nothing else streams: g++ drops those loops
        heads = [i for i in heads if "+ BLOCK" not in lines[i]]
    loops = [extent(lines, i) for i in heads]
    assert loops
    for span in loops:
        assert span & {int(line) for line in found}, lines[min(span) - 1:max(span)]
