#!/usr/bin/env python3
"""Tiling of about 30 kernels x 12 shapes for each chip: predicted cycles against a lower bound.

The bound is the larger of GM bytes over the bandwidth of the chip and vector work spread over all
cores without heads. `time` is one call of the emitted C++ tiling function. Usage:

    bench_tiling.py [--soc NAME] [--kernel WORD] [--summary]
"""
from __future__ import annotations

import argparse
import ctypes
import os
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [ROOT, os.path.join(ROOT, "tests")]

import kernel_samples as samples  # noqa: E402

from tf_autofuse.kernel.vector import ITEM_BYTES  # noqa: E402
from tf_autofuse.loop.ir import Load, LoopKernel  # noqa: E402
from tf_autofuse.platforms import PLATFORMS, Platform  # noqa: E402
from tf_autofuse.schedule import schedule  # noqa: E402
from tf_autofuse.tiling import form, solve  # noqa: E402
from tf_autofuse.tiling.cost import FINE  # noqa: E402
from tf_autofuse.tiling.cpp import print_tiling, tiling_fields  # noqa: E402

SHAPES = {
    1: [(n,) for n in (1, 100, 1000, 4096, 30000, 100003, 1 << 18, 1 << 20, 3000017, 1 << 23,
                       1 << 24, 1 << 26)],
    2: [(1, 1000), (64, 1000), (64, 1001), (1024, 1024), (4096, 768), (4097, 31), (100000, 8),
        (8, 100000), (3, 1 << 20), (8192, 4096), (1 << 20, 64), (31, 4095)],
    3: [(1, 1, 1000), (8, 16, 64), (8, 512, 768), (32, 3136, 64), (32, 64, 3136), (2, 3, 50000),
        (64, 64, 64), (128, 1, 4096), (16, 1000, 31), (1000, 16, 16), (4, 4096, 512),
        (7, 77, 777)],
}
CALLS = 2000


def elementwise(dtype: str, ops: str, inputs: int = 1) -> LoopKernel:
    """A chain of float32 operations on the sum of `inputs` tensors of `dtype`."""
    lines, last = [], ""
    for i in range(inputs):
        lines.append("%%l%d = load in%d [m0] : %s" % (i, i, dtype))
        lines.append("%%w%d = cast %%l%d : float32 [m0]" % (i, i))
        lines += ["%%s%d = add %s %%w%d : float32 [m0]" % (i, last, i)] if last else []
        last = "%%s%d" % i if last else "%w0"
    for i, op in enumerate(ops.split()):
        lines.append("%%o%d = %s %s : float32 [m0]" % (i, op, last))
        last = "%%o%d" % i
    lines += ["%%r = cast %s : %s [m0]" % (last, dtype), "store out0 [m0] %r"]
    return samples.kernel([dtype] * inputs, [dtype], "m0", *lines)


def kernels():
    """Name to loop kernel."""
    found = {
        "abs_relu_exp": samples.abs_relu_exp(),
        "abs_relu_exp_bf16": samples.abs_relu_exp("bfloat16"),
        "row": samples.abs_add_relu("m1"), "column": samples.abs_add_relu("m0"),
        "run_time": samples.run_time_broadcast(), "full": samples.reduction("m0", "m0"),
        "full_many": samples.reduction("m0", "m0", ("sum", "max", "min")),
        "ara": samples.reduction("m0 m1 m2", "m1"), "rar": samples.reduction("m0 m1 m2", "m0 m2"),
        "softmax": samples.softmax("m1"), "softmax_columns": samples.softmax("m0"),
        "softmax_3d": samples.softmax("m1", "m0 m1 m2"), "layer_norm": samples.layer_norm(),
        "layer_norm_f16": samples.layer_norm("float16"), "nests": samples.bias_gradient_and_loss(),
    }
    for dtype in ("float32", "float16"):
        found["ar_" + dtype] = samples.reduction("m0 m1", "m1", ("max",), dtype)
        found["ra_" + dtype] = samples.reduction("m0 m1", "m0", ("max",), dtype)
        found["ar_two_" + dtype] = samples.reduction("m0 m1", "m1", ("max", "min"), dtype)
        found["exp_" + dtype] = elementwise(dtype, "exp")
        found["chain_" + dtype] = elementwise(dtype, "abs sqrt exp tanh", 2)
        found["add6_" + dtype] = elementwise(dtype, "neg", 6)
        found["sigmoid_" + dtype] = elementwise(dtype, "sigmoid")
    return found


def bound(kernel, sizes, chip: Platform) -> float:
    """Cycles below which no schedule of the first programs can come."""
    moved = 0
    for value in kernel.loop.body:
        if isinstance(value, Load):
            count = 1
            for axis in value.axes:
                count *= sizes[axis]
            moved += count * ITEM_BYTES.get(value.dtype, 1)
    work = 0.0
    for nest, programs in zip(kernel.nests, kernel.variants):
        for store in {n for p in nest.passes for n in p.stores + p.after}:
            value = kernel.loop.value(kernel.loop.stores[store].value)
            count = 1
            for axis in value.axes:
                count *= sizes[axis]
            moved += count * ITEM_BYTES.get(value.dtype, 1)
        count = 1
        for axis in nest.axes:
            count *= sizes[axis]
        lines = form(programs[0], chip).lines
        per_element = lines[4 + 3] + lines[16 + 3] + (
            lines[4 + 2] + lines[16 + 2] if programs[0].y is None else 0)
        work += count * per_element / float(FINE) / chip.vector_cores
    return max(moved / chip.gm_rate, work, 1.0)


def tiling_function(kernel, folder: str, number: int):
    """The emitted C++ as a function (sizes) -> seconds per call."""
    source = os.path.join(folder, "tiling%d.cpp" % number)
    library = source[:-4] + ".so"
    with open(source, "w") as file:
        file.write(print_tiling(kernel, "Tiling", "solve_tiling").replace(
            "int32_t solve_tiling", 'extern "C" int32_t solve_tiling'))
        file.write('extern "C" void repeat(const int64_t* sizes, const int64_t* strides, '
                   "int64_t cores, Tiling* t, AutofuseLaunch* launch, int64_t calls) {\n"
                   "  for (int64_t i = 0; i < calls; ++i)"
                   " solve_tiling(sizes, strides, cores, t, launch);\n}\n")
    subprocess.check_call(["g++", "-O2", "-shared", "-fPIC", "-o", library, source])
    loaded = ctypes.CDLL(library)
    fields = tiling_fields(kernel)

    def measure(sizes, cores: int) -> float:
        given = (ctypes.c_int64 * max(1, len(sizes)))(*sizes)
        strides = (ctypes.c_int64 * 64)()
        out, launch = (ctypes.c_int64 * len(fields))(), (ctypes.c_int64 * 3)()
        begin = time.perf_counter()
        loaded.repeat(given, strides, ctypes.c_int64(cores), out, launch, ctypes.c_int64(CALLS))
        return (time.perf_counter() - begin) / CALLS

    return measure


def report(soc: str, word: str, summary: bool) -> None:
    """Print the table of one chip."""
    chip = PLATFORMS[soc]
    print("%s: %d cores, %d KiB UB, %.0f bytes/cycle" % (
        soc, chip.vector_cores, chip.ub_bytes // 1024, chip.gm_rate))
    ratios, times = [], []
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, loop) in enumerate(sorted(kernels().items())):
            if word not in name or any(p.dtype not in chip.dtypes | {"bool"} for p in loop.inputs):
                continue
            kernel = schedule(loop, chip)
            measure = tiling_function(kernel, folder, number)
            for shape in SHAPES[len(loop.axes)]:
                sizes = samples.sizes_of(kernel.loop, *shape)
                tilings, blocks = solve(kernel, sizes, chip.vector_cores)
                cycles = sum(t.cost for t in tilings) / float(FINE)
                least = bound(kernel, sizes, chip)
                seconds = measure(shape, chip.vector_cores)
                ratios.append((least, cycles / least))
                times.append(seconds)
                if not summary:
                    names = ",".join(v[t.variant].variant
                                     for v, t in zip(kernel.variants, tilings))
                    print("%-18s %-18s %-16s %3d blocks %12.0f cycles %12.0f bound %6.2fx "
                          "%6.2f us" % (name, "x".join(map(str, shape)), names, blocks, cycles,
                                        least, cycles / least, seconds * 1e6))
    large = sorted(ratio for least, ratio in ratios if least > 20000)
    print("%d tilings: large ones (bound over 20000 cycles) %.2fx of the bound in the middle, "
          "%.2fx at most; tiling %.2f us at most" % (
              len(times), large[len(large) // 2] if large else 0, large[-1] if large else 0,
              max(times) * 1e6))


def main() -> None:
    """Read arguments and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--soc", choices=sorted(PLATFORMS), help="only this chip")
    parser.add_argument("--kernel", default="", help="only kernels with this word in the name")
    parser.add_argument("--summary", action="store_true", help="only the last line of each chip")
    given = parser.parse_args()
    for soc in [given.soc] if given.soc else sorted(PLATFORMS):
        report(soc, given.kernel, given.summary)


if __name__ == "__main__":
    main()
