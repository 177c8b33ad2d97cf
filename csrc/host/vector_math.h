/* Elementary functions that vectorise.
 *
 * The float32 versions that float_math.h does not have evaluate polynomials in double and round
 * once, so their error stays under 0.51 ULP. They have no branches and no table, treat NaN,
 * infinities and signed zeros as IEEE 754 asks, and never need a subnormal double. The double
 * versions are those of double_math.h, or of the C library.
 *
 * The coefficients of expm1_over_r are a Chebyshev fit of (e^r - 1) / r on |r| <= ln(2) / 2 with a
 * relative error of 2.7e-10; those of log are the series of 2 atanh(s).
 */
#ifndef AUTOFUSE_HOST_VECTOR_MATH_H_
#define AUTOFUSE_HOST_VECTOR_MATH_H_

#include "double_math.h"
#include "scalar_types.h"

/* a * b + c, in one rounding and one instruction where the machine has it. */
AF_INLINE double multiply_add(double a, double b, double c) {
#if AF_HAS_FMA
  return __builtin_fma(a, b, c);
#else
  return a * b + c;
#endif
}

AF_INLINE double expm1_over_r(double r) {
  double p = 0x1.a17e5153cb15dp-13;
  p = multiply_add(p, r, 0x1.6d7590180154ep-10);
  p = multiply_add(p, r, 0x1.1110a5e916253p-7);
  p = multiply_add(p, r, 0x1.5554ac858fc97p-5);
  p = multiply_add(p, r, 0x1.5555557e9267dp-3);
  p = multiply_add(p, r, 0x1.000000289aeecp-1);
  return multiply_add(p, r, 0x1.fffffffff614fp-1);
}

/* x = k ln 2 + r with |r| <= ln(2) / 2; the low bits of `shifted` hold k. |x| < 2^30. */
AF_INLINE double reduce_exp(double x, double* shifted) {
  const double magic = 0x1.8p52;
  *shifted = multiply_add(x, 0x1.71547652b82fep0, magic);
  const double k = *shifted - magic;
  return multiply_add(-k, 0x1.62e42fefa39efp-1, x);
}

/* value * 2^k for a normal value and a normal result. */
AF_INLINE double scale_by(double value, double shifted) {
  return double_of(bits_of(value) + (bits_of(shifted) << 52));
}

AF_INLINE double clamp(double x, double low, double high) {
  x = x < low ? low : x;
  return x > high ? high : x;
}

/* e^x for |x| clamped to 120, enough for every float32 result. */
AF_INLINE double exp_wide(double x) {
  double shifted;
  const double r = reduce_exp(clamp(x, -120.0, 120.0), &shifted);
  const double e = scale_by(multiply_add(r, expm1_over_r(r), 1.0), shifted);
  return x != x ? x : e;
}

#if !AF_HAS_FMA
AF_INLINE float math_exp(float x) { return (float)exp_wide((double)x); }
#endif

/* log(x) for 0 < x < infinity, with a relative error below 1e-12; any normal double. */
AF_INLINE double log_normal(double x) {
  /* The mantissa is brought into [sqrt(1/2), sqrt(2)), the exponent into e. */
  const uint64_t offset = bits_of(x) - 0x3fe6a09e00000000ull;
  const double e = double_of(0x4330000000000000ull + ((offset >> 52) ^ 0x800u)) - (0x1p52 + 0x800);
  const double m = double_of((offset & 0x000fffffffffffffull) + 0x3fe6a09e00000000ull);
  const double s = (m - 1.0) / (m + 1.0);
  const double s2 = s * s;
  double p = 2.0 / 15;
  p = multiply_add(p, s2, 2.0 / 13);
  p = multiply_add(p, s2, 2.0 / 11);
  p = multiply_add(p, s2, 2.0 / 9);
  p = multiply_add(p, s2, 2.0 / 7);
  p = multiply_add(p, s2, 2.0 / 5);
  p = multiply_add(p, s2, 2.0 / 3);
  p = multiply_add(p, s2, 2.0);
  return e * 0x1.62e42fefa39efp-1 + s * p;
}

/* log(x) with the limits of IEEE 754: -infinity at 0, NaN below, infinity at infinity. */
AF_INLINE double log_wide(double x) {
  double y = log_normal(x);
  y = x < __builtin_inf() ? y : x;
  y = x == 0.0 ? -__builtin_inf() : y;
  y = x < 0.0 ? __builtin_nan("") : y;
  return x != x ? x : y;
}

#if !AF_HAS_FMA
AF_INLINE float math_log(float x) { return (float)log_wide((double)x); }
#endif

#if !AF_HAS_FMA
/* (e^2a - 1) / (e^2a + 1) for a = |x|; the numerator keeps its relative accuracy near 0. */
AF_INLINE float math_tanh(float x) {
  double shifted;
  const double a = clamp(2.0 * __builtin_fabs((double)x), 0.0, 60.0);
  const double r = reduce_exp(a, &shifted);
  const double scale = scale_by(1.0, shifted);
  const double em1 = multiply_add(scale, r * expm1_over_r(r), scale - 1.0);
  const float y = (float)__builtin_copysign(em1 / (em1 + 2.0), (double)x);
  return x != x ? x : y;
}
#endif

#if !AF_HAS_FMA
AF_INLINE float math_sigmoid(float x) { return (float)(1.0 / (1.0 + exp_wide(-(double)x))); }
#endif

AF_INLINE float math_sqrt(float x) { return __builtin_sqrtf(x); }
AF_INLINE double math_sqrt(double x) { return __builtin_sqrt(x); }

#if !AF_HAS_FMA
AF_INLINE float math_rsqrt(float x) { return (float)(1.0 / __builtin_sqrt((double)x)); }
#endif
AF_INLINE double math_rsqrt(double x) { return 1.0 / __builtin_sqrt(x); }

AF_INLINE float math_abs(float x) { return __builtin_fabsf(x); }
AF_INLINE double math_abs(double x) { return __builtin_fabs(x); }

/* Gradients of a result y and the incoming gradient dy; in double, with one rounding, but for two.
 */
AF_INLINE double mul_no_nan(double a, double b) { return b == 0.0 ? 0.0 : a * b; }

AF_INLINE double math_tanh_grad(double y, double dy) { return dy * (1.0 - y * y); }
AF_INLINE double math_sigmoid_grad(double y, double dy) { return dy * (y * (1.0 - y)); }
AF_INLINE double math_rsqrt_grad(double y, double dy) {
  return mul_no_nan(-0.5 * (y * y), mul_no_nan(y, dy));
}
AF_INLINE double math_sqrt_grad(double y, double dy) { return mul_no_nan(0.5 / y, dy); }
AF_INLINE double math_reciprocal_grad(double y, double dy) { return mul_no_nan(-(y * y), dy); }

/* Two roundings, where TensorFlow has three. */
#if AF_HAS_FMA
AF_INLINE float math_tanh_grad(float y, float dy) { return dy * fma_of(-y, y, 1.0f); }
/* Of an infinite y the sum would be NaN. */
AF_INLINE float math_sigmoid_grad(float y, float dy) {
  const float product = y * (1.0f - y);
  return dy * (math_abs(y) < 1e18f ? fma_of(-y, y, y) : product);
}
#else
AF_INLINE float math_tanh_grad(float y, float dy) {
  return (float)math_tanh_grad((double)y, (double)dy);
}
AF_INLINE float math_sigmoid_grad(float y, float dy) {
  return (float)math_sigmoid_grad((double)y, (double)dy);
}
#endif
AF_INLINE float math_rsqrt_grad(float y, float dy) {
  return (float)math_rsqrt_grad((double)y, (double)dy);
}
AF_INLINE float math_sqrt_grad(float y, float dy) {
  return (float)math_sqrt_grad((double)y, (double)dy);
}
AF_INLINE float math_reciprocal_grad(float y, float dy) {
  return (float)math_reciprocal_grad((double)y, (double)dy);
}

/* Sums of floats begin at -0.0, so that a single -0.0 stays what it is; several of them, or none at
 * all, make 0.0. */
#pragma omp declare reduction(plus:double : omp_out = omp_out + omp_in) initializer(omp_priv = -0.0)

AF_INLINE double total_of(double sum, int64_t n) { return n == 1 ? sum : sum + 0.0; }

/* Variances; see tf_autofuse/codegen/host_moments.py. */
AF_INLINE double square(double x) { return x * x; }
AF_INLINE double finite_or_zero(double x) { return x - x == 0.0 ? x : 0.0; }
/* The squares of n distances from the mean, from those of the distances from `first`. */
AF_INLINE double sum_of_squares(double squares, double first, double sum, int64_t n) {
  if (n == 0) return 0.0;
  const double shift = sum / (double)n - first;
  const double total = squares - (double)n * (shift * shift);
  return total < 0.0 ? 0.0 : total;
}

#endif /* AUTOFUSE_HOST_VECTOR_MATH_H_ */
