/* Narrow floats of a vector loop, converted a block or a whole run at a time, with the machine's
 * own instructions where it has them. A run goes through a small buffer. */
#ifndef AUTOFUSE_HOST_CHUNK_H_
#define AUTOFUSE_HOST_CHUNK_H_

#include "scalar_types.h"

/* Elements of a run: a few buffers of it fit the first-level cache. */
enum { CHUNK = 512 };

/* Bytes of a cache line, and elements of the longest row that is asked of memory while the row
 * before it is computed: both lie in the second-level cache then. */
enum { LINE = 64, AHEAD = 1 << 14 };

/* Rows at computed coordinates are asked of memory that many rows before they are read, where the
 * table does not fit into the second-level cache. Not measured with AVX-512. */
enum { ROWS_AHEAD = 8, FAR_BYTES = 1 << 19, ASKED_BYTES = 256 };
AF_INLINE bool is_far(int64_t bytes) {
#if defined(__AVX512F__)
  return false;
#else
  return bytes > FAR_BYTES;
#endif
}
template <typename T>
AF_INLINE void ask_row(const T* row, int64_t count) {
  const int64_t bytes = count * (int64_t)sizeof(T);
  for (int64_t k = 0; k < bytes && k < ASKED_BYTES; k += LINE)
    __builtin_prefetch((const char*)row + k);
}

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

/* Elements of a block that stays in registers: a cache line of floats. */
enum { BLOCK = 16 };

#if defined(__F16C__)
AF_INLINE void widen_lanes(const uint16_t* in, float* out) {
  Floats wide;
  __asm__("vcvtph2ps %1, %0" : "=v"(wide) : "v"(*(const Halves*)in));
  *(Floats*)out = wide;
}
AF_INLINE void narrow_lanes(const float* in, uint16_t* out) {
  Halves narrow;
  __asm__("vcvtps2ph $0, %1, %0" : "=v"(narrow) : "v"(*(const Floats*)in));
  *(Halves*)out = narrow;
}
#endif

/* Elements of a row that are computed at once where a tensor may be broadcast along it. */
enum { SPREAD = 256 };

template <typename T>
AF_INLINE void repeat(T element, int64_t count, T* out) {
  for (int64_t i = 0; i < count; ++i) out[i] = element;
}

AF_INLINE void halves_to_floats(const uint16_t* in, float* out, int64_t count) {
  int64_t i = 0;
#if defined(__F16C__)
  for (; i + LANES <= count; i += LANES) widen_lanes(in + i, out + i);
#endif
  for (; i < count; ++i) out[i] = half_to_float(in[i]);
}

AF_INLINE void floats_to_halves(const float* in, uint16_t* out, int64_t count) {
  int64_t i = 0;
#if defined(__F16C__)
  for (; i + LANES <= count; i += LANES) narrow_lanes(in + i, out + i);
#endif
  for (; i < count; ++i) out[i] = float_to_half(in[i]);
}

/* The same for a block. */
AF_INLINE void block_to_floats(const uint16_t* in, float* out) { halves_to_floats(in, out, BLOCK); }
AF_INLINE void block_to_halves(const float* in, uint16_t* out) { floats_to_halves(in, out, BLOCK); }

#endif /* AUTOFUSE_HOST_CHUNK_H_ */
