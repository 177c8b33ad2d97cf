/* Elementary functions whose result becomes a float16 or a bfloat16: relative errors below 2^-17,
 * which is a 64th of what rounding to float16 costs. Limits and NaN are as in float_math.h.
 */
#ifndef AUTOFUSE_HOST_ROUGH_MATH_H_
#define AUTOFUSE_HOST_ROUGH_MATH_H_

#include "vector_math.h"

#if AF_HAS_FMA

/* e^r for |r| <= ln(2) / 2. */
AF_INLINE float rough_exp_of_rest(float r) {
  float p = 0x1.53ab18p-5f;
  p = fma_of(p, r, 0x1.57e14ep-3f);
  p = fma_of(p, r, 0x1.00059ep-1f);
  p = fma_of(p, r, 0x1.fffb32p-1f);
  return fma_of(p, r, 0x1.ffffe8p-1f);
}

AF_INLINE float rough_exp(float x) {
  const float magic = 0x1.8p23f;
  const float sum = fma_of(x, 0x1.715476p0f, magic);
  const float p = rough_exp_of_rest(fma_of(sum - magic, -0x1.62e43p-1f, x));
  const float y = float_of(bits_of(p) + (bits_of(sum) << 23));
  const float from_zero = x >= -0x1.5d589ep6f ? y : 0.0f;
  return x <= 0x1.62e42ep6f ? from_zero : x + __builtin_inff();
}

AF_INLINE float rough_sigmoid(float x) { return 1.0f / (1.0f + rough_exp(-x)); }

/* A fit in x^2 up to 5.7. Beyond that the result rounds to 1. */
AF_INLINE float rough_tanh(float x) {
  const float c = clamp(x, -5.7f, 5.7f);
  const float z = c * c;
  const float top = fma_of(fma_of(0x1.96b20ep-10f, z, 0x1.d8a0a6p-4f), z, 0x1.ffff52p-1f);
  float d = 0x1.ec0f58p-15f;
  d = fma_of(d, z, 0x1.24080ep-6f);
  d = fma_of(d, z, 0x1.cb73dp-2f);
  d = fma_of(d, z, 1.0f);
  return c * top / d;
}

#else

AF_INLINE float rough_exp(float x) { return math_exp(x); }
AF_INLINE float rough_sigmoid(float x) { return math_sigmoid(x); }
AF_INLINE float rough_tanh(float x) { return math_tanh(x); }

#endif

#endif /* AUTOFUSE_HOST_ROUGH_MATH_H_ */
