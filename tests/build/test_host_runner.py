"""The ctypes runner of host kernels against a hand-written kernel with two phases."""

import ctypes
import os

import numpy as np
import pytest

from tf_autofuse import build, paths
from tf_autofuse.runtime import host

SQUARE_SUM = r"""
#include "kernel_abi.h"
// out0[r] = sum over c of x[r, c]^2 through workspace rows; out1 = x / d (int32)
AUTOFUSE_EXPORT int32_t autofuse_abi_version(void) { return AUTOFUSE_ABI_VERSION; }
AUTOFUSE_EXPORT int32_t autofuse_tiling(const int64_t* sizes, int32_t n, const int64_t*, int32_t threads,
                                        AutofuseTiling* out) {
  if (n != 2 || threads < 1) return 7;
  out->phases = 2;
  out->blocks[0] = out->blocks[1] = sizes[0];
  out->workspace_bytes = sizes[0] * 4;
  out->p[0] = sizes[1];
  return 0;
}
AUTOFUSE_EXPORT int32_t autofuse_run(const AutofuseArgs* a, const AutofuseTiling* t, int32_t phase,
                                     int64_t begin, int64_t end) {
  const int32_t* x = (const int32_t*)a->inputs[0];
  const int32_t d = *(const int32_t*)a->inputs[1];
  int32_t* ws = (int32_t*)a->workspace;
  for (int64_t r = begin; r < end; ++r) {
    if (phase == 1) { ((int32_t*)a->outputs[0])[r] = ws[r]; continue; }
    ws[r] = 0;
    for (int64_t c = 0; c < t->p[0]; ++c) {
      if (d == 0) return AUTOFUSE_DIVISION_BY_ZERO;
      ws[r] += x[r * a->strides[0] + c] * x[r * a->strides[0] + c];
      ((int32_t*)a->outputs[1])[r * t->p[0] + c] = x[r * a->strides[0] + c] / d;
    }
  }
  return AUTOFUSE_OK;
}
"""


@pytest.fixture()
def kernel():
    return build.compile_host_kernel(SQUARE_SUM, key="square_sum")


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("shape", [(1, 1), (5, 7), (64, 33)])
def test_runs_phases_and_threads(kernel, threads, shape):
    x = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
    sums, quotients = host.run_host(
        kernel, [x, np.int32(3)], shape, [shape[1], 1],
        [(shape[:1], "int32"), (shape, "int32")], threads=threads,
    )
    np.testing.assert_array_equal(sums, (x * x).sum(axis=1))
    np.testing.assert_array_equal(quotients, x // 3)


def test_division_by_zero_and_refused_sizes(kernel):
    x = np.ones((2, 2), np.int32)
    outs = [((2,), "int32"), ((2, 2), "int32")]
    with pytest.raises(host.KernelRunError, match="division by zero"):
        host.run_host(kernel, [x, np.int32(0)], (2, 2), [2, 1], outs)
    with pytest.raises(host.KernelRunError, match="code 7"):
        host.run_host(kernel, [x, np.int32(1)], (4,), [2, 1], outs)


def test_not_a_kernel_library(tmp_path):
    empty = tmp_path / "x.so"
    empty.write_bytes(b"nothing")
    with pytest.raises(host.KernelRunError, match="no kernel library"):
        host.load_kernel(str(empty))


def test_mirror_of_the_interface(tmp_path):
    """The ctypes structures have the size the C compiler gives them."""
    text = (
        '#include "kernel_abi.h"\n'
        "AUTOFUSE_EXPORT int32_t sizes(int32_t i) {\n"
        "  return i == 0 ? sizeof(AutofuseTiling) : i == 1 ? sizeof(AutofuseArgs)\n"
        "    : i == 2 ? AUTOFUSE_ABI_VERSION : AUTOFUSE_MAX_PHASES * 100 + AUTOFUSE_MAX_PARAMS; }\n"
    )
    assert os.path.isfile(os.path.join(paths.csrc_dir(), "core", "kernel_abi.h"))
    sizes = ctypes.CDLL(build.compile_host_kernel(text, key="sizes")).sizes
    assert sizes(0) == ctypes.sizeof(host.Tiling)
    assert sizes(1) == ctypes.sizeof(host._Args)
    assert sizes(2) == host.ABI_VERSION
    assert sizes(3) == host.MAX_PHASES * 100 + host.MAX_PARAMS
