/* More real functions. As in vector_math.h a float32 function is evaluated in double and rounded
 * once. They vectorise, but for those below `Element by element`.
 *
 * The coefficients of erf_near are a Chebyshev fit of erf(x) / x in x * x on |x| <= 1 with a
 * relative error of 1e-12, those of erfcx a fit of e^(x*x) erfc(x) in (x - 4) / (x + 4) on
 * [0.9, 10.3] with 2e-12.
 */
#ifndef AUTOFUSE_HOST_SPECIAL_MATH_H_
#define AUTOFUSE_HOST_SPECIAL_MATH_H_

#include "vector_math.h"

/* The float32 form of a function of doubles. */
#define AF_ROUNDED_1(name) \
  AF_INLINE float math_##name(float x) { return (float)math_##name((double)x); }
#define AF_ROUNDED_2(name) \
  AF_INLINE float math_##name(float x, float y) { return (float)math_##name((double)x, (double)y); }

AF_INLINE float math_floor(float x) { return __builtin_floorf(x); }
AF_INLINE double math_floor(double x) { return __builtin_floor(x); }
AF_INLINE float math_ceil(float x) { return __builtin_ceilf(x); }
AF_INLINE double math_ceil(double x) { return __builtin_ceil(x); }
AF_INLINE float math_rint(float x) { return __builtin_rintf(x); }
AF_INLINE double math_rint(double x) { return __builtin_rint(x); }
AF_INLINE float math_trunc(float x) { return __builtin_truncf(x); }
AF_INLINE double math_trunc(double x) { return __builtin_trunc(x); }
template <typename F>
AF_INLINE F math_sign(F x) {
  const F y = x < 0 ? (F)-1 : (F)0;
  return x > 0 ? (F)1 : (x != x ? x : y);
}
AF_INLINE float math_next_after(float x, float y) { return __builtin_nextafterf(x, y); }
AF_INLINE double math_next_after(double x, double y) { return __builtin_nextafter(x, y); }

/* e^x - 1, relative accuracy kept near 0; |x| clamped to 120. */
AF_INLINE double expm1_wide(double x) {
  double shifted;
  const double r = reduce_exp(clamp(x, -120.0, 120.0), &shifted);
  const double scale = scale_by(1.0, shifted);
  const double y = scale * (r * expm1_over_r(r)) + (scale - 1.0);
  return x != x ? x : (x == 0.0 ? x : y);
}
#if !AF_HAS_FMA
AF_INLINE float math_expm1(float x) { return (float)expm1_wide((double)x); }
#endif
AF_INLINE double math_expm1(double x) { return __builtin_expm1(x); }

AF_INLINE double log1p_wide(double x) {
  const double near = x * (1.0 - 0.5 * x);
  const double far = log_wide(1.0 + x);
  return __builtin_fabs(x) < 0x1p-20 ? near : far;
}
#if !AF_HAS_FMA
AF_INLINE float math_log1p(float x) { return (float)log1p_wide((double)x); }
AF_INLINE float log1p_of_fraction(float x) { return math_log1p(x); }
#endif
AF_INLINE double math_log1p(double x) { return __builtin_log1p(x); }

AF_INLINE float math_sinh(float x) {
  const double em1 = expm1_wide(__builtin_fabs((double)x));
  return (float)__builtin_copysign(0.5 * (em1 + em1 / (em1 + 1.0)), (double)x);
}
AF_INLINE double math_sinh(double x) { return __builtin_sinh(x); }
AF_INLINE float math_cosh(float x) {
  const double e = exp_wide(__builtin_fabs((double)x));
  return (float)(0.5 * (e + 1.0 / e));
}
AF_INLINE double math_cosh(double x) { return __builtin_cosh(x); }

AF_INLINE float math_elu(float x) { return x < 0.0f ? math_expm1(x) : x; }
AF_INLINE double math_elu(double x) { return x < 0.0 ? __builtin_expm1(x) : x; }

AF_INLINE float math_selu(float x) {
  const double low = AF_SELU_SCALE_ALPHA * expm1_wide((double)x);
  return (float)(x < 0.0f ? low : AF_SELU_SCALE * (double)x);
}

#if !AF_HAS_FMA
AF_INLINE float math_softplus(float x) {
  const double a = __builtin_fabs((double)x);
  const double y = log1p_wide(exp_wide(-a)) + (x > 0.0f ? a : 0.0);
  return x != x ? x : (float)y;
}
#endif

AF_INLINE double math_softsign(double x) { return x / (1.0 + __builtin_fabs(x)); }
AF_ROUNDED_1(softsign)

AF_INLINE double erf_near(double x) {
  const double z = x * x;
  double p = 0x1.1c6a2b8d7b363p-20;
  p = multiply_add(p, z, -0x1.d2cc984191346p-17);
  p = multiply_add(p, z, 0x1.f582bc960d27cp-14);
  p = multiply_add(p, z, -0x1.bfe1c87cd1cedp-11);
  p = multiply_add(p, z, 0x1.565891c2c58f8p-8);
  p = multiply_add(p, z, -0x1.b82cbb52872dep-6);
  p = multiply_add(p, z, 0x1.ce2f20aa9d1e2p-4);
  p = multiply_add(p, z, -0x1.812746adee045p-2);
  return x * (p * z + 0x1.20dd750428d0dp+0);
}
/* erfc(x) for x in [0.9, 10.3]. */
AF_INLINE double erfc_far(double x) {
  const double t = (x - 4.0) / (x + 4.0);
  double p = -0x1.8eee760f9f4ffp-18;
  p = p * t - 0x1.71f62d7d54fe4p-16;
  p = p * t + 0x1.557c5d94bfb55p-14;
  p = p * t - 0x1.6723d59b488a6p-16;
  p = p * t - 0x1.a34739769b271p-11;
  p = p * t + 0x1.0a15b9ff43b5bp-8;
  p = p * t - 0x1.a4de40aba5688p-7;
  p = p * t + 0x1.0066e9d1395ffp-5;
  p = p * t - 0x1.027d585bd35dap-4;
  p = p * t + 0x1.be502bfb93183p-4;
  p = p * t - 0x1.506666f2e7318p-3;
  p = p * t + 0x1.bff01a601a4dbp-3;
  p = p * t - 0x1.09492273780cdp-2;
  p = p * t + 0x1.18932bf08db09p-3;
  return exp_wide(-x * x) * p;
}
#if !AF_HAS_FMA
AF_INLINE float math_erf(float x) {
  const double a = __builtin_fabs((double)x);
  const double far = 1.0 - erfc_far(clamp(a, 1.0, 10.0));
  const double y = a < 1.0 ? erf_near(a) : far;
  return x != x ? x : (float)__builtin_copysign(y, (double)x);
}
#endif
AF_INLINE double math_erf(double x) { return __builtin_erf(x); }
#if !AF_HAS_FMA
AF_INLINE float math_erfc(float x) {
  const double a = __builtin_fabs((double)x);
  const double tail = erfc_far(clamp(a, 1.0, 10.3));
  const double far = x < 0.0f ? 2.0 - tail : tail;
  const double y = a < 1.0 ? 1.0 - erf_near((double)x) : far;
  return x != x ? x : (float)(x > 10.2f ? 0.0 : y);
}
#endif

/* x^y as e^(y log |x|); the sign and NaN of negative bases as IEEE 754 has them. */
AF_INLINE float math_pow(float base, float exponent) {
  const double x = (double)base, y = (double)exponent, a = __builtin_fabs(x);
  const double half = 0.5 * y;
  const bool whole = __builtin_rint(y) == y;
  const bool odd = whole & (__builtin_rint(half) != half);
  double r = exp_wide(y * log_wide(a));
  r = (a == 1.0) & (y == y) ? 1.0 : r;
  r = odd & (__builtin_copysign(1.0, x) < 0.0) ? -r : r;
  r = (x < 0.0) & (a < __builtin_inf()) & !whole ? __builtin_nan("") : r;
  return (y == 0.0) | (x == 1.0) ? 1.0f : (float)r;
}
AF_INLINE double math_pow(double x, double y) { return __builtin_pow(x, y); }

AF_INLINE double math_mul_no_nan(double x, double y) { return mul_no_nan(x, y); }
AF_ROUNDED_2(mul_no_nan)
AF_INLINE double math_div_no_nan(double x, double y) { return y == 0.0 ? 0.0 : x / y; }
AF_ROUNDED_2(div_no_nan)
AF_INLINE double math_xdivy(double x, double y) { return x == 0.0 ? x : x / y; }
AF_ROUNDED_2(xdivy)
AF_INLINE float math_xlogy(float x, float y) {
  const double product = (double)x * log_wide((double)y);
  return x == 0.0f ? x : (float)product;
}
AF_INLINE float math_xlog1py(float x, float y) {
  const double product = (double)x * log1p_wide((double)y);
  return x == 0.0f ? x : (float)product;
}

/* Gradients; operands in TensorFlow's order. */
AF_INLINE double math_elu_grad(double dy, double y) { return y < 0.0 ? dy * (y + 1.0) : dy; }
AF_ROUNDED_2(elu_grad)
AF_INLINE double math_selu_grad(double dy, double y) {
  return dy * (y < 0.0 ? y + AF_SELU_SCALE_ALPHA : AF_SELU_SCALE);
}
AF_ROUNDED_2(selu_grad)
AF_INLINE float math_softplus_grad(float dy, float x) {
  const double e = x < -110.0f ? __builtin_inf() : exp_wide(-(double)x);
  return (float)((double)dy / (e + 1.0));
}
AF_INLINE double math_softsign_grad(double dy, double x) {
  const double d = 1.0 + __builtin_fabs(x);
  return dy / (d * d);
}
AF_ROUNDED_2(softsign_grad)

/* Through the C library. Its vector forms (libmvec) are good to 4 units of a double, so that they
 * serve float32; loops over double call the scalar ones. */
#if defined(__x86_64__) && defined(__GLIBC_PREREQ)
#if __GLIBC_PREREQ(2, 35)
#define AF_VECTOR_FORM __attribute__((simd("notinbranch"), const))
#endif
#endif
#ifndef AF_VECTOR_FORM
#define AF_VECTOR_FORM __attribute__((const))
#endif
#define AF_LIBRARY_1(name)                                                       \
  extern "C" AF_VECTOR_FORM double wide_##name(double) __asm__(#name);           \
  AF_INLINE float math_##name(float x) { return (float)wide_##name((double)x); } \
  AF_INLINE double math_##name(double x) { return __builtin_##name(x); }
AF_LIBRARY_1(sin)
AF_LIBRARY_1(cos)
AF_LIBRARY_1(tan)
AF_LIBRARY_1(asin)
AF_LIBRARY_1(acos)
AF_LIBRARY_1(atan)
AF_LIBRARY_1(asinh)
AF_LIBRARY_1(acosh)
extern "C" AF_VECTOR_FORM double wide_atanh(double) __asm__("atanh");
AF_INLINE float math_atanh(float x) { return (float)wide_atanh((double)x); }
extern "C" AF_VECTOR_FORM double wide_atan2(double, double) __asm__("atan2");
AF_INLINE float math_atan2(float y, float x) { return (float)wide_atan2((double)y, (double)x); }
AF_INLINE double math_atan2(double y, double x) { return __builtin_atan2(y, x); }

/* Element by element. */
AF_INLINE double math_fmod(double x, double y) { return __builtin_fmod(x, y); }
AF_ROUNDED_2(fmod)
AF_INLINE double math_floor_mod(double x, double y) {
  const double rest = __builtin_fmod(x, y);
  return (rest != 0.0) & ((y < 0.0) != (rest < 0.0)) ? rest + y : rest;
}
AF_ROUNDED_2(floor_mod)

AF_INLINE double math_lgamma(double x) {
  int sign;
  return __builtin_lgamma_r(x, &sign);
}
AF_ROUNDED_1(lgamma)

/* One of Halley's steps towards the root of erf(y) - x, of which `excess` is the value. */
static inline double erf_step(double y, double excess) {
  const double two_over_root_pi = 1.12837916709551257390;
  const double step = excess / (two_over_root_pi * __builtin_exp(-y * y));
  return y - step / (1.0 + y * step);
}
/* y >= 0 with erfc(y) = q for 0 < q <= 1. */
static inline double inverse_erfc(double q) {
  const double a = 0.147, log_term = __builtin_log(q * (2.0 - q));
  const double t = 2.0 / (3.14159265358979323846 * a) + 0.5 * log_term;
  double y = __builtin_sqrt(__builtin_fmax(__builtin_sqrt(t * t - log_term / a) - t, 0.0));
  for (int i = 0; i < 3; ++i) y = erf_step(y, q - __builtin_erfc(y));
  return y;
}
static inline double math_erfinv(double x) {
  const double a = __builtin_fabs(x);
  if (!(a <= 1.0)) return __builtin_nan("");
  if (a == 1.0) return __builtin_copysign(__builtin_inf(), x);
  if (a >= 0.5) return __builtin_copysign(inverse_erfc(1.0 - a), x);
  double y = a * 0.88622692545275801365 * (1.0 + 0.26179938779914943654 * a * a);
  for (int i = 0; i < 3; ++i) y = erf_step(y, __builtin_erf(y) - a);
  return __builtin_copysign(y, x) + 0.0; /* TensorFlow has no -0 here */
}
AF_ROUNDED_1(erfinv)
static inline double math_ndtri(double p) {
  const double low = p < 0.5 ? p : 1.0 - p;
  if (!(low >= 0.0)) return __builtin_nan("");
  const double y = low == 0.0 ? __builtin_inf() : 1.41421356237309504880 * inverse_erfc(2.0 * low);
  return p < 0.5 ? -y : y;
}
AF_ROUNDED_1(ndtri)

#endif /* AUTOFUSE_HOST_SPECIAL_MATH_H_ */
