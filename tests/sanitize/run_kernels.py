"""Builds kernels with the sanitizers that CXX names and runs them against the interpreter.

Run by test_sanitizers.py with the sanitizer's runtime preloaded, so that numpy's buffers are
watched, too. Prints the number of runs. Arguments name the kernels, by default all; `overrun` is
one that reads past its input.
"""

import itertools
import os
import sys

os.environ.pop("LD_PRELOAD", None)  # it is in this process; compilers run without
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE), os.path.dirname(os.path.dirname(HERE))]

import kernel_samples as samples  # noqa: E402
import numpy as np  # noqa: E402

from tf_autofuse import build  # noqa: E402
from tf_autofuse.codegen.ascendc import print_ascendc  # noqa: E402
from tf_autofuse.codegen.host import print_host  # noqa: E402
from tf_autofuse.kernel.text import kernel_key  # noqa: E402
from tf_autofuse.loop import interp  # noqa: E402
from tf_autofuse.platforms import platform  # noqa: E402
from tf_autofuse.runtime.host import run_host  # noqa: E402
from tf_autofuse.runtime.twin import build_twin, run_twin  # noqa: E402
from tf_autofuse.schedule import schedule  # noqa: E402
from tf_autofuse.tiling.cpp import tiling  # noqa: E402

CHIP = platform("Ascend910B")
HOST = {
    "pointwise": (samples.abs_relu_exp(), [(0,), (1,), (7,), (9999,)], [()]),
    "broadcast": (samples.run_time_broadcast(), [(5, 33)], [(), (1,), (1, 2)]),
    "rows": (samples.reduction("m0 m1", "m1", ("sum", "max"), "int32"),
             [(1, 1), (3, 999), (4, 0)], [()]),
    "columns": (samples.reduction("m0 m1", "m0", ("sum", "min")), [(7, 900), (900, 3)], [()]),
    "softmax": (samples.softmax("m1"), [(1, 1), (5, 333)], [()]),
    "nests": (samples.bias_gradient_and_loss(), [(20, 300), (1, 1)], [()]),
}  # fmt: skip
TWIN = {"softmax": (50, 40), "columns": (33, 3)}
OVERRUN = """
#include "kernel_abi.h"
AUTOFUSE_EXPORT int32_t autofuse_abi_version(void) { return AUTOFUSE_ABI_VERSION; }
AUTOFUSE_EXPORT int32_t autofuse_tiling(const int64_t*, int32_t, const int64_t*, int32_t,
                                        AutofuseTiling* out) {
  out->phases = out->blocks[0] = 1;
  return 0;
}
AUTOFUSE_EXPORT int32_t autofuse_run(const AutofuseArgs* a, const AutofuseTiling*, int32_t, int64_t,
                                     int64_t) {
  *(float*)a->outputs[0] = ((const float*)a->inputs[0])[a->sizes[0]];
  return AUTOFUSE_OK;
}
"""


def check(got, want, loop, tolerance):
    for have, expected, param in zip(got, want, loop.outputs):
        samples.assert_close(have, expected, param.dtype, tolerance, 1e-6)


def run_on_host(loop, shape, narrow):
    """On one thread and on four."""
    kernel = schedule(loop)
    library = build.compile_host_kernel(print_host(kernel), key=kernel_key(kernel))
    sizes = samples.sizes_of(loop, *shape)
    inputs, strides = samples.make_inputs(loop, sizes, narrow)
    want = interp.run(loop, inputs, sizes)
    outputs = [(w.shape, p.dtype) for w, p in zip(want, loop.outputs)]
    for threads in (1, 4):
        got = run_host(library, inputs, list(shape), strides, outputs, threads)
        check(got, want, loop, 5e-7)


def run_on_twin(loop, shape):
    kernel = schedule(loop, CHIP)
    source = print_ascendc(kernel, CHIP)
    sizes = samples.sizes_of(kernel.loop, *shape)
    inputs, strides = samples.make_inputs(kernel.loop, sizes, ())
    want = interp.run(kernel.loop, inputs, sizes)
    launch = tiling(kernel, sizes, strides, CHIP.vector_cores)
    outputs = [(w.shape, p.dtype) for w, p in zip(want, loop.outputs)]
    result = run_twin(source.text, source.entry, inputs, outputs, launch.data, launch.blocks, CHIP,
                      launch.workspace_bytes, tiling_key=launch.key)
    check(result.outputs, want, loop, 2e-5)


def overrun():
    library = build.compile_host_kernel(OVERRUN, key="overrun")
    run_host(library, [np.ones(5000, np.float32)], [5000], None, [((1,), "float32")])


def build_all(names):
    """All at once: compiling is most of the time."""
    kernels = [schedule(HOST[name][0]) for name in names]
    twins = [name for name in names if name in TWIN]
    sources = [print_ascendc(schedule(HOST[name][0], CHIP), CHIP) for name in twins]
    jobs = [lambda k=k: build.compile_host_kernel(print_host(k), key="k") for k in kernels]
    jobs += [lambda s=s: build_twin(s.text, s.entry) for s in sources]
    build.run_parallel(lambda job: job(), jobs)


def main(names):
    if names == ["overrun"]:
        return overrun()
    names = names or list(HOST)
    build_all(names)
    runs = 0
    for name in names:
        loop, shapes, broadcasts = HOST[name]
        for shape, narrow in itertools.product(shapes, broadcasts):
            run_on_host(loop, shape, narrow)
            runs += 1
        if name in TWIN:
            run_on_twin(loop, TWIN[name])
            runs += 1
    print("%d runs" % runs)
    return None


if __name__ == "__main__":
    main(sys.argv[1:])
