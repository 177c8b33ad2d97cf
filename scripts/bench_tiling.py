"""Tiling of 30 kernels x 12 shapes for each chip: predicted cycles against a lower bound.

The bound is the larger of GM bytes over the bandwidth of the chip and vector work spread over all
cores without heads. `time` is one call of the emitted C++ tiling function, the best of some runs.
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
from tiling_samples import SHAPES, kernels  # noqa: E402

from tf_autofuse.kernel.vector import ITEM_BYTES  # noqa: E402
from tf_autofuse.loop.ir import Load  # noqa: E402
from tf_autofuse.platforms import PLATFORMS, Platform  # noqa: E402
from tf_autofuse.schedule import schedule  # noqa: E402
from tf_autofuse.tiling import form as form_of  # noqa: E402
from tf_autofuse.tiling import solve  # noqa: E402
from tf_autofuse.tiling.cost import FINE  # noqa: E402
from tf_autofuse.tiling.cpp import print_tiling, tiling_fields  # noqa: E402

CALLS, RUNS = 200, 9


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
        lines = form_of(programs[0], chip).lines
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
        seconds = []
        for _ in range(RUNS):
            begin = time.perf_counter()
            loaded.repeat(given, strides, ctypes.c_int64(cores), out, launch,
                          ctypes.c_int64(CALLS))
            seconds.append((time.perf_counter() - begin) / CALLS)
        return min(seconds)

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
                form = kernel.at(sizes)
                tilings, blocks = solve(form, sizes, chip.vector_cores)
                cycles = sum(t.cost for t in tilings) / float(FINE)
                least = bound(form, sizes, chip)
                seconds = measure(shape, chip.vector_cores)
                ratios.append((least, cycles / least))
                times.append(seconds)
                if not summary:
                    names = ",".join(v[t.variant].variant
                                     for v, t in zip(form.variants, tilings))
                    print("%-18s %-18s %-16s %3d blocks %12.0f cycles %12.0f bound %6.2fx "
                          "%6.2f us" % (name, "x".join(map(str, shape)), names, blocks, cycles,
                                        least, cycles / least, seconds * 1e6))
    large = sorted(ratio for least, ratio in ratios if least > 20000)
    print("%d tilings: large ones (bound over 20000 cycles) %.2fx of the bound in the middle, "
          "%.2fx at most; tiling %.2f us at most" % (
              len(times), large[len(large) // 2] if large else 0, large[-1] if large else 0,
              max(times) * 1e6))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `bench.py tiling`."""
    parser.add_argument("--soc", choices=sorted(PLATFORMS), help="only this chip")
    parser.add_argument("--kernel", default="", help="only kernels with this word in the name")
    parser.add_argument("--summary", action="store_true", help="only the last line of each chip")


def run(options: argparse.Namespace) -> int:
    """Print the tables; 0."""
    for soc in [options.soc] if options.soc else sorted(PLATFORMS):
        report(soc, options.kernel, options.summary)
    return 0
