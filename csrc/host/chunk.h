/* Runs of a vector loop whose narrow floats go through a small buffer: there they are converted a
 * whole run at a time, with the machine's own instructions where it has them. */
#ifndef AUTOFUSE_HOST_CHUNK_H_
#define AUTOFUSE_HOST_CHUNK_H_

#include "scalar_types.h"

/* Elements of a run: a few buffers of it fit the first-level cache. */
enum { CHUNK = 512 };

#define AF_BUFFER __attribute__((aligned(64)))

/* Instructions are named, since their intrinsics come with a header that takes longer to read than
 * a kernel takes to compile. */
#if defined(__F16C__)
#if defined(__AVX512F__)
enum { LANES = 16 };
#else
enum { LANES = 8 };
#endif
typedef float Floats __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef int16_t Halves __attribute__((vector_size(2 * LANES), aligned(2), may_alias));
#endif

static inline void halves_to_floats(const uint16_t* in, float* out, int64_t count) {
  int64_t i = 0;
#if defined(__F16C__)
  for (; i + LANES <= count; i += LANES) {
    Floats wide;
    __asm__("vcvtph2ps %1, %0" : "=v"(wide) : "v"(*(const Halves*)(in + i)));
    *(Floats*)(out + i) = wide;
  }
#endif
  for (; i < count; ++i) out[i] = half_to_float(in[i]);
}

static inline void floats_to_halves(const float* in, uint16_t* out, int64_t count) {
  int64_t i = 0;
#if defined(__F16C__)
  for (; i + LANES <= count; i += LANES) {
    Halves narrow;
    __asm__("vcvtps2ph $0, %1, %0" : "=v"(narrow) : "v"(*(const Floats*)(in + i)));
    *(Halves*)(out + i) = narrow;
  }
#endif
  for (; i < count; ++i) out[i] = float_to_half(in[i]);
}

static inline void bfloat16s_to_floats(const uint16_t* in, float* out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) out[i] = bfloat16_to_float(in[i]);
}

static inline void floats_to_bfloat16s(const float* in, uint16_t* out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) out[i] = float_to_bfloat16(in[i]);
}

#endif /* AUTOFUSE_HOST_CHUNK_H_ */
