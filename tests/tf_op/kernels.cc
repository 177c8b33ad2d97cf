// Hand-written kernel libraries for the tests of the AutofusedKernel op: -DKERNEL_<NAME> picks one.
#include <algorithm>
#include <atomic>
#include <cmath>

#include "kernel_abi.h"

namespace {

const float* In(const AutofuseArgs* args, int i) {
  return static_cast<const float*>(args->inputs[i]);
}

float* Out(const AutofuseArgs* args, int i) { return static_cast<float*>(args->outputs[i]); }

}  // namespace

#ifdef KERNEL_BAD_VERSION
int32_t autofuse_abi_version(void) { return 99; }
#else
int32_t autofuse_abi_version(void) { return AUTOFUSE_ABI_VERSION; }
#endif

#ifdef KERNEL_ABS_AND_EXP  // one axis; y0 = |x|, y1 = exp(x); one block per 1000 elements
int32_t autofuse_tiling(const int64_t* sizes, int32_t n, const int64_t*, int32_t,
                        AutofuseTiling* out) {
  if (n != 1) return 1;
  out->phases = 1;
  out->p[0] = 1000;
  out->blocks[0] = (sizes[0] + 999) / 1000;
  out->block_cost[0] = 50000;
  return 0;
}

int32_t autofuse_run(const AutofuseArgs* args, const AutofuseTiling* tiling, int32_t,
                     int64_t begin, int64_t end) {
  const int64_t stop = std::min(args->sizes[0], end * tiling->p[0]);
  for (int64_t i = begin * tiling->p[0]; i < stop; ++i) {
    Out(args, 0)[i] = std::fabs(In(args, 0)[i]);
    Out(args, 1)[i] = std::exp(In(args, 0)[i]);
  }
  return AUTOFUSE_OK;
}
#endif

#ifdef KERNEL_BROADCAST_ADD  // two axes; y = a + b, strides of both inputs come at run time
int32_t autofuse_tiling(const int64_t* sizes, int32_t n, const int64_t*, int32_t,
                        AutofuseTiling* out) {
  if (n != 2) return 1;
  out->phases = 1;
  out->blocks[0] = sizes[0];
  out->block_cost[0] = sizes[1];
  return 0;
}

int32_t autofuse_run(const AutofuseArgs* args, const AutofuseTiling*, int32_t, int64_t begin,
                     int64_t end) {
  const int64_t* a = args->strides;
  const int64_t* b = args->strides + 3;  // behind the two strides and the offset of a
  for (int64_t i = begin; i < end; ++i) {
    for (int64_t j = 0; j < args->sizes[1]; ++j) {
      Out(args, 0)[i * args->sizes[1] + j] =
          In(args, 0)[i * a[0] + j * a[1]] + In(args, 1)[i * b[0] + j * b[1]];
    }
  }
  return AUTOFUSE_OK;
}
#endif

#ifdef KERNEL_SUM_PHASES  // one axis to a scalar: partial sums in the workspace, then their sum
constexpr int64_t kParts = 64;

int32_t autofuse_tiling(const int64_t*, int32_t, const int64_t*, int32_t, AutofuseTiling* out) {
  out->phases = 2;
  out->blocks[0] = kParts;
  out->block_cost[0] = 100000;
  out->blocks[1] = 1;
  out->block_cost[1] = 100;
  out->workspace_bytes = kParts * sizeof(double);
  return 0;
}

int32_t autofuse_run(const AutofuseArgs* args, const AutofuseTiling*, int32_t phase,
                     int64_t begin, int64_t end) {
  double* parts = static_cast<double*>(args->workspace);
  const int64_t size = args->sizes[0];
  if (phase == 1) {
    double sum = 0;
    for (int64_t part = 0; part < kParts; ++part) sum += parts[part];
    Out(args, 0)[0] = static_cast<float>(sum);
    return AUTOFUSE_OK;
  }
  for (int64_t part = begin; part < end; ++part) {
    parts[part] = 0;
    for (int64_t i = part * size / kParts; i < (part + 1) * size / kParts; ++i) {
      parts[part] += In(args, 0)[i];
    }
  }
  return AUTOFUSE_OK;
}
#endif

#ifdef KERNEL_FLOOR_DIV  // scalars of int32
int32_t autofuse_tiling(const int64_t*, int32_t, const int64_t*, int32_t, AutofuseTiling* out) {
  out->phases = 1;
  out->blocks[0] = 1;
  return 0;
}

int32_t autofuse_run(const AutofuseArgs* args, const AutofuseTiling*, int32_t, int64_t, int64_t) {
  const int32_t a = *static_cast<const int32_t*>(args->inputs[0]);
  const int32_t b = *static_cast<const int32_t*>(args->inputs[1]);
  if (b == 0) return AUTOFUSE_DIVISION_BY_ZERO;
  *static_cast<int32_t*>(args->outputs[0]) = a / b;
  return AUTOFUSE_OK;
}
#endif

#if defined(KERNEL_CONSTANT) || defined(KERNEL_BAD_VERSION)  // no inputs; y = 42
int32_t autofuse_tiling(const int64_t*, int32_t, const int64_t*, int32_t, AutofuseTiling* out) {
  out->phases = 1;
  out->blocks[0] = 1;
  return 0;
}

int32_t autofuse_run(const AutofuseArgs* args, const AutofuseTiling*, int32_t, int64_t, int64_t) {
  Out(args, 0)[0] = 42;
  return AUTOFUSE_OK;
}
#endif

#ifdef KERNEL_NO_TILING
int32_t autofuse_tiling(const int64_t*, int32_t, const int64_t*, int32_t, AutofuseTiling*) {
  return 7;
}

int32_t autofuse_run(const AutofuseArgs*, const AutofuseTiling*, int32_t, int64_t, int64_t) {
  return AUTOFUSE_OK;
}
#endif
