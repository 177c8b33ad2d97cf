"""Kernels of one operation, built for the CPU and run."""
import kernel_samples as samples
import numpy as np

from tf_autofuse.build import compile_host_kernel
from tf_autofuse.codegen.host import print_nests
from tf_autofuse.kernel.nest import build_nests
from tf_autofuse.runtime.host import run_host

EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, 1e-30, -1e-30, 1e-42, 3e38, -3e38, 88.7, 89.0, -87.3, -103.9,
         -104.1, 700.0, np.inf, -np.inf, np.nan]


def one_op(op, source, target, count=1):
    """out = op(in0, ..)."""
    lines = ["%{} = load in{} [m0] : {}".format(i, i, source) for i in range(count)]
    args = " ".join("%{}".format(i) for i in range(count))
    lines += ["%{} = {} {} : {} [m0]".format(count, op, args, target),
              "store out0 [m0] %{}".format(count)]
    return samples.kernel([source] * count, [target], "m0", *lines)


def run(loop, *arrays):
    """The first output of a kernel over one axis."""
    library = compile_host_kernel(print_nests(loop, build_nests(loop)), key="scalar")
    n = len(arrays[0])
    return run_host(library, arrays, [n], None, [((n,), loop.outputs[0].dtype)])[0]
