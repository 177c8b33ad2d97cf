/* Elementary functions of float32, 16 elements at a time.
 *
 * AVX-512 looks up 16 entries of a table in one instruction. So a function is cut into 16 intervals
 * with a polynomial of low degree each (lane_tables.h): a third to a half of the instructions of
 * float_math.h, without a division. Elsewhere the functions of float_math.h are called. Errors stay
 * below 1 ULP; NaN, infinities and signed zeros are as IEEE 754 has them.
 */
#ifndef AUTOFUSE_HOST_LANES_H_
#define AUTOFUSE_HOST_LANES_H_

#include "loose_math.h"

#if defined(__AVX512F__)
#define AF_HAS_LANES 1
#else
#define AF_HAS_LANES 0
#endif

#if AF_HAS_LANES

#include "lane_tables.h"

typedef float Lanes __attribute__((vector_size(64), aligned(64), may_alias));
typedef uint32_t LaneBits __attribute__((vector_size(64), aligned(64), may_alias));

AF_INLINE Lanes lanes_of(float x) { return x - (Lanes){}; }

/* Instructions are named, as in chunk.h. */
AF_INLINE Lanes fma_of(Lanes a, Lanes b, Lanes c) {
  __asm__("vfmadd213ps %2, %1, %0" : "+v"(a) : "v"(b), "vm"(c));
  return a;
}
/* a * b - c */
AF_INLINE Lanes fms_of(Lanes a, Lanes b, Lanes c) {
  __asm__("vfmsub213ps %2, %1, %0" : "+v"(a) : "v"(b), "vm"(c));
  return a;
}
/* NaN stays. */
AF_INLINE Lanes at_most(Lanes x, float limit) {
  Lanes y;
  __asm__("vminps %1, %2, %0" : "=v"(y) : "vm"(x), "v"(lanes_of(limit)));
  return y;
}
/* x 2^floor(n), with one rounding. */
AF_INLINE Lanes times_power(Lanes x, Lanes n) {
  Lanes y;
  __asm__("vscalefps %2, %1, %0" : "=v"(y) : "v"(x), "vm"(n));
  return y;
}
/* The entries that the lowest four bits of `index` name. */
AF_INLINE Lanes look_up(const float* table, LaneBits index) {
  Lanes y;
  __asm__("vpermps %1, %2, %0" : "=v"(y) : "vm"(*(const Lanes*)table), "v"(index));
  return y;
}
/* The same, or x where place < first. */
AF_INLINE Lanes look_up_from(float first, Lanes place, Lanes x, const float* table,
                             LaneBits index) {
  uint16_t there;
  __asm__("vcmpps $13, %2, %1, %0" : "=Yk"(there) : "v"(place), "vm"(lanes_of(first)));
  __asm__("vpermps %1, %2, %0%{%3%}"
          : "+v"(x)
          : "vm"(*(const Lanes*)table), "v"(index), "Yk"(there));
  return x;
}

AF_INLINE Lanes magnitude_of(Lanes x) { return (Lanes)((LaneBits)x & 0x7fffffffu); }

/* Where a >= 0 lies in a table: the interval is in the bits from 21 on. */
AF_INLINE Lanes place_of(Lanes a, float scale) {
  return fma_of(a, lanes_of(scale), lanes_of(0.5f));
}

/* The polynomial of coefficients 1 to `degree` in r. */
template <int degree>
AF_INLINE Lanes polynomial(const float (*table)[16], LaneBits index, Lanes r) {
  Lanes p = look_up(table[degree + 1], index);
#pragma GCC unroll 8
  for (int k = degree; k >= 2; --k) p = fma_of(p, r, look_up(table[k], index));
  return p;
}

/* An odd function whose magnitude is 1 from `limit` on. In the first interval it is near a. */
template <int degree>
AF_INLINE Lanes odd_of(Lanes x, const float (*table)[16], float scale, float limit) {
  const Lanes a = at_most(magnitude_of(x), limit);
  const Lanes place = place_of(a, scale);
  const LaneBits index = (LaneBits)place >> 21;
  const Lanes r = a - look_up(table[0], index);
  const Lanes base = look_up_from(0.625f, place, a, table[1], index);
  const Lanes y = fma_of(polynomial<degree>(table, index, r), r, base);
  return (Lanes)((LaneBits)y | ((LaneBits)x & 0x80000000u));
}

AF_INLINE Lanes lanes_tanh(Lanes x) { return odd_of<5>(x, kTanh, kTanhScale, 9.09f); }
AF_INLINE Lanes lanes_erf(Lanes x) { return odd_of<5>(x, kErf, kErfScale, 3.955f); }

/* e^(-a^2) S for a = |x| and S = e^(a^2) erfc(a), which the table has as first + w. The power is
 * 2^(n / 16) e^p, where the root of two is a pair of floats; n is the exponent's, negative, in
 * units of ln(2) / 16, and the remainder r so small that three terms of e^r - 1 are enough. */
AF_INLINE Lanes lanes_erfc(Lanes x) {
  const Lanes a = at_most(magnitude_of(x), 10.09f);
  const LaneBits index = (LaneBits)place_of(a, kScaledErfcScale) >> 21;
  const Lanes d = a - look_up(kScaledErfc[0], index);
  const Lanes first = look_up(kScaledErfc[1], index);
  const Lanes w = polynomial<6>(kScaledErfc, index, d) * d;

  const Lanes negative = -a;
  const Lanes square = negative * a;
  const Lanes square_lo = fms_of(negative, a, square);
  const Lanes sum = fma_of(square, lanes_of(0x1.715476p4f), lanes_of(0x1.8p23f));
  const Lanes n = sum - 0x1.8p23f;
  const Lanes most = fma_of(n, lanes_of(-AF_LN2_HI / 16), square); /* exact */
  const Lanes r = fma_of(n, lanes_of(-AF_LN2_LO / 16), most + square_lo);
  const Lanes root = look_up(kRoots[0], (LaneBits)sum);
  const Lanes root_lo = look_up(kRoots[1], (LaneBits)sum);
  const Lanes bend = fma_of(r, lanes_of(0x1.555556p-3f), lanes_of(0x1.00022p-1f));
  const Lanes p = fma_of(bend, r * r, r);

  const Lanes product = root * first;
  const Lanes product_lo = fma_of(root_lo, first, fms_of(root, first, product));
  const Lanes rest = fma_of(root, fma_of(p, first + w, w), product_lo);
  const Lanes y = times_power(product + rest, n * 0.0625f);
  return x < 0.0f ? 2.0f - y : y;
}

#define AF_RUN(name)                                               \
  AF_INLINE void run_##name(float* run, int64_t count) {           \
    for (int64_t i = 0; i < count; i += 16) {                      \
      *(Lanes*)(run + i) = lanes_##name(*(const Lanes*)(run + i)); \
    }                                                              \
  }                                                                \
  AF_INLINE void run_loose_##name(float* run, int64_t count) { run_##name(run, count); }

#else

#define AF_RUN_OF(name, function)                                                          \
  AF_INLINE void run_##name(float* run, int64_t count) {                                   \
    _Pragma("omp simd") for (int64_t i = 0; i < count; ++i) { run[i] = function(run[i]); } \
  }
#define AF_RUN(name)           \
  AF_RUN_OF(name, math_##name) \
  AF_RUN_OF(loose_##name, loose_##name)

#endif

/* The function of every element of a buffer (AF_BUFFER of whole blocks), in its place. What is
 * behind the last element, up to a whole block, may be written. */
AF_RUN(tanh)
AF_RUN(erf)
AF_RUN(erfc)

/* Where the last whole block of elements begin to end is over. */
AF_INLINE int64_t whole_blocks(int64_t begin, int64_t end) { return end - (end - begin) % 16; }

/* A loop over a block asks it which elements are there. Of a test of the element's number instead,
 * g++ makes loops that are not over whole vectors. */
static const int32_t kLanes[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

#endif /* AUTOFUSE_HOST_LANES_H_ */
