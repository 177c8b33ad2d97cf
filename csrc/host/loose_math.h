/* Elementary functions of float32 whose operand was rounded by the operation before.
 *
 * Such an operand is half a unit off before the function begins, so that a result within one unit
 * is not to be had. These forms divide one polynomial by another and carry nothing in a second
 * float: the worst errors are below TensorFlow's, and times 0.4 to 0.6 of those of float_math.h.
 * Signs, limits, NaN and infinities are as there. Machines with AVX-512 look up tables for all
 * operands (lanes.h). The coefficients are made by scripts/fit_loose.py.
 */
#ifndef AUTOFUSE_HOST_LOOSE_MATH_H_
#define AUTOFUSE_HOST_LOOSE_MATH_H_

#include "rough_math.h"
#include "special_math.h"

#if AF_HAS_FMA && !defined(__AVX512F__)

/* x P(z) / Q(z) in z = x * x, where the result would round to 1 beyond z = limit. */
#define AF_HELD_AT(limit, x) ((x) > (limit) ? (limit) : (x))

AF_INLINE float loose_tanh(float x) {
  const float z = AF_HELD_AT(0x1.45710cp6f, x * x);
  float p = -0x1.ae891ap-37f;
  p = fma_of(p, z, 0x1.074b16p-25f);
  p = fma_of(p, z, 0x1.d6798p-16f);
  p = fma_of(p, z, 0x1.fb492p-9f);
  p = fma_of(p, z, 0x1.1832a2p-3f);
  float q = 0x1.5a2aeep-20f;
  q = fma_of(q, z, 0x1.9d571ep-12f);
  q = fma_of(q, z, 0x1.be841ep-6f);
  q = fma_of(q, z, 0x1.e16ea6p-2f);
  q = fma_of(q, z, 1.0f);
  return clamp(fma_of(p, x * z, x) / q, -1.0f, 1.0f);
}

AF_INLINE float loose_erf(float x) {
  const float z = AF_HELD_AT(0x1.ecfaep3f, x * x);
  float p = 0x1.924d1p-19f;
  p = fma_of(p, z, 0x1.b3eap-12f);
  p = fma_of(p, z, 0x1.67588cp-8f);
  p = fma_of(p, z, 0x1.3baaa2p-4f);
  p = fma_of(p, z, 0x1.1c9e24p-2f);
  p = fma_of(p, z, 0x1.a66fdcp0f);
  float q = 0x1.d2d658p-15f;
  q = fma_of(q, z, 0x1.bbfb26p-10f);
  q = fma_of(q, z, 0x1.65e65p-6f);
  q = fma_of(q, z, 0x1.555176p-3f);
  q = fma_of(q, z, 0x1.77b374p-1f);
  q = fma_of(q, z, 0x1.766p0f);
  return clamp(x * p / q, -1.0f, 1.0f);
}

/* 2^-n e^r P(a) / Q(a) for a = |x|: e^-a^2 with the square in two floats, and the rest of erfc.
 * That n ln(2) is a little off is in P and Q. Results below the normal numbers are 0. */
AF_INLINE float loose_erfc(float x) {
  const float a = __builtin_fabsf(x);
  float p = 0x1.066f9ep-5f;
  p = fma_of(p, a, 0x1.ce58cep-3f);
  p = fma_of(p, a, 0x1.72f4cp-1f);
  p = fma_of(p, a, 0x1.3b5c46p0f);
  p = fma_of(p, a, 1.0f);
  float q = 0x1.d1266ap-5f;
  q = fma_of(q, a, 0x1.99c5d2p-2f);
  q = fma_of(q, a, 0x1.4fe70ep0f);
  q = fma_of(q, a, 0x1.31a2dp1f);
  q = fma_of(q, a, 0x1.2e1cep1f);
  q = fma_of(q, a, 1.0f);
  const float square = a * a;
  const float magic = 0x1.8p23f + 127;
  const float sum = fma_of(square, -0x1.715476p0f, magic);
  const float r = fma_of(magic - sum, 0x1.62e43p-1f, -square) - fma_of(a, a, -square);
  const float ratio = p / q;
  const float y = fma_of(small_expm1(r), ratio, ratio) * float_of(bits_of(sum) << 23);
  const float far = a > 0x1.2639bep3f ? 0.0f : y;
  return x < 0.0f ? 2.0f - far : far;
}

/* log(1 + x) for 0 <= x <= 1, as x + x (x P(x) / Q(x)). */
AF_INLINE float loose_log1p_of_fraction(float x) {
  float p = -0x1.3b8434p-4f;
  p = fma_of(p, x, -0x1.d9447ep-2f);
  p = fma_of(p, x, -0.5f);
  float q = 0x1.4b51fp-4f;
  q = fma_of(q, x, 0x1.6df422p-1f);
  q = fma_of(q, x, 0x1.974cdep0f);
  q = fma_of(q, x, 1.0f);
  return fma_of(x, p * x / q, x);
}

/* e^x for x <= 0, without the limits above: the results of math_exp and rough_exp. */
AF_INLINE float exp_to_one(float x) {
  const float magic = 0x1.8p23f + 127;
  const float sum = fma_of(x, 0x1.715476p0f, magic);
  const float n = sum - magic;
  const float r = fma_of(-n, AF_LN2_LO, fma_of(-n, AF_LN2_HI, x));
  const float y = fma_of(r, fma_of(r, exp_bend(r), 1.0f), 1.0f);
  return x < -0x1.5d589ep6f ? 0.0f : y * float_of(bits_of(sum) << 23);
}
AF_INLINE float rough_exp_to_one(float x) {
  const float magic = 0x1.8p23f + 127;
  const float sum = fma_of(x, 0x1.715476p0f, magic);
  const float y = rough_exp_of_rest(fma_of(sum - magic, -0x1.62e43p-1f, x));
  return x < -0x1.5d589ep6f ? 0.0f : y * float_of(bits_of(sum) << 23);
}

#else

AF_INLINE float loose_tanh(float x) { return math_tanh(x); }
AF_INLINE float loose_erf(float x) { return math_erf(x); }
AF_INLINE float loose_erfc(float x) { return math_erfc(x); }
AF_INLINE float loose_log1p_of_fraction(float x) { return log1p_of_fraction(x); }
AF_INLINE float exp_to_one(float x) { return math_exp(x); }
AF_INLINE float rough_exp_to_one(float x) { return rough_exp(x); }

#endif

#endif /* AUTOFUSE_HOST_LOOSE_MATH_H_ */
