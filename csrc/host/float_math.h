/* Elementary functions in float32 alone, for machines with a fused multiply-add.
 *
 * A float32 loop has twice the lanes of one over double. What rounding costs is carried in a second
 * float where it matters (Pair), so that the error of every function stays below 1 ULP. No branches
 * and no tables: the compiler vectorises the callers. NaN, infinities and signed zeros are as IEEE
 * 754 has them. The polynomials are minimax fits; docs/host_performance.md has errors and times.
 */
#ifndef AUTOFUSE_HOST_FLOAT_MATH_H_
#define AUTOFUSE_HOST_FLOAT_MATH_H_

#include "scalar_types.h"

#if defined(__FMA__) || defined(__aarch64__)
#define AF_HAS_FMA 1
#else
#define AF_HAS_FMA 0
#endif

#if AF_HAS_FMA

AF_INLINE float fma_of(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
AF_INLINE float clamp(float x, float low, float high) {
  x = x < low ? low : x;
  return x > high ? high : x;
}

/* hi + lo, unevaluated; lo is of the size of half an ULP of hi. */
struct Pair {
  float hi, lo;
};

/* 2^n for -126 <= n <= 127. */
AF_INLINE float power_of_two(int32_t n) { return float_of((uint32_t)(n + 127) << 23); }

#define AF_LN2_HI 0x1.62e4p-1f
#define AF_LN2_LO 0x1.7f7d1cp-20f

/* k and a pair r with x + tail = k ln 2 + r and |r| <= ln(2) / 2, for |x| <= 110. */
AF_INLINE int32_t reduce_exp(float x, float tail, Pair* r) {
  const float magic = 0x1.8p23f;
  const float shifted = fma_of(x, 0x1.715476p0f, magic);
  const float n = shifted - magic;
  const float most = fma_of(-n, AF_LN2_HI, x); /* exact */
  const float rest = fma_of(-n, AF_LN2_LO, tail);
  r->hi = most + rest;
  r->lo = (most - r->hi) + rest;
  return (int32_t)(bits_of(shifted) - 0x4b400000u);
}

/* (e^r - 1 - r) / r^2 for |r| <= ln(2) / 2, where e^r may be 3e-9 off. */
AF_INLINE float exp_bend(float r) {
  float p = 0x1.6a4d6p-10f;
  p = fma_of(p, r, 0x1.12398ep-7f);
  p = fma_of(p, r, 0x1.5558bp-5f);
  p = fma_of(p, r, 0x1.555492p-3f);
  return fma_of(p, r, 0x1.fffffcp-2f);
}

/* e^r - 1 for |r| <= ln(2) / 2, as exact. */
AF_INLINE float small_expm1(float r) { return fma_of(r * exp_bend(r), r, r); }

/* e^(r + r_lo) - 1 - r for |r| <= ln(2) / 2. */
AF_INLINE float exp_tail(float r, float r_lo) {
  float p = 0x1.a151bcp-13f;
  p = fma_of(p, r, 0x1.6d4366p-10f);
  p = fma_of(p, r, 0x1.1110c6p-7f);
  p = fma_of(p, r, 0x1.5554e8p-5f);
  p = fma_of(p, r, 0x1.555556p-3f);
  p = fma_of(p, r, 0.5f);
  return fma_of(p * r, r, r_lo);
}

/* e^x = 2^k (1 + q) with q in [-0.3, 0.42]; |x| <= 110. */
AF_INLINE Pair exp_parts(float x, int32_t* k) {
  Pair r;
  *k = reduce_exp(x, 0.0f, &r);
  const float t = exp_tail(r.hi, r.lo);
  const float q = r.hi + t;
  return {q, (r.hi - q) + t};
}

/* y 2^n for -150 <= n <= 128: two factors, so that a subnormal result is rounded once. */
AF_INLINE float times_power(float y, int32_t n) {
  const int32_t half = n >> 1;
  return y * power_of_two(half) * power_of_two(n - half);
}

/* e^x for x <= 0 as a pair; results below the normal numbers are 0. */
AF_INLINE Pair exp_below_one(float x) {
  int32_t k;
  const Pair q = exp_parts(x < -104.0f ? -104.0f : x, &k);
  const float s = power_of_two(k < -127 ? -127 : k);
  const float e = fma_of(s, q.hi, s);
  return {e, fma_of(s, q.hi, s - e)};
}

/* k, with the bits of `shifted` for the exponent of 2^k, and r with x = k ln 2 + r: one float. */
AF_INLINE float reduce_exp_roughly(float x, uint32_t* shifted) {
  const float magic = 0x1.8p23f;
  const float sum = fma_of(x, 0x1.715476p0f, magic);
  const float n = sum - magic;
  *shifted = bits_of(sum) << 23;
  return fma_of(-n, AF_LN2_LO, fma_of(-n, AF_LN2_HI, x));
}

/* The limits are the last arguments with a normal and with a finite result. Outside of them, where
 * the exponent overflows, and for NaN the selections at the end decide. */
AF_INLINE float math_exp(float x) {
  uint32_t power;
  const float r = reduce_exp_roughly(x, &power);
  const float y = float_of(bits_of(fma_of(r, fma_of(r, exp_bend(r), 1.0f), 1.0f)) + power);
  const float from_zero = x >= -0x1.5d589ep6f ? y : 0.0f;
  return x <= 0x1.62e42ep6f ? from_zero : x + __builtin_inff();
}

/* (e^x - 1) / 2 for -18 <= x <= 89; halved, so that it does not overflow before its time. */
AF_INLINE Pair half_expm1(float x) {
  int32_t k;
  const Pair q = exp_parts(x, &k);
  const float s = power_of_two(k - 1);
  const float a = s - 0.5f;
  const float b = s * q.hi;
  const float y = a + b;
  return {y, ((a - y) + b) + fma_of(s, q.lo, (s - a) - 0.5f)};
}

AF_INLINE float math_expm1(float x) {
  const Pair y = half_expm1(clamp(x, -18.0f, 89.0f));
  return __builtin_fabsf(x) < 0x1p-25f ? x : 2.0f * (y.hi + y.lo);
}

/* With T = w coth(w) = 1 - p, a fit for |w| <= 1: tanh(w) = w / T, and beyond 1, where 2 |x| is
 * n ln(2) + 2 w, 1 - 2 (T - w) / (2^n (T + w) + T - w). Both end with the same division. */
AF_INLINE float math_tanh(float x) {
  const float a = __builtin_fabsf(x);
  const bool near = a < 1.0f;
  const float c = a > 9.5f ? 9.5f : a;
  const float magic = 0x1.8p23f + 127;
  const float sum = fma_of(c, 0x1.715476p1f, magic);
  const float r = fma_of(sum - magic, -0x1.62e43p-2f, c);
  const float w = near ? a : r;
  const float z = w * w;
  const float zz = z * z;
  float p = fma_of(-0x1.0b6096p-16f, z, 0x1.afbf2p-13f);
  p = fma_of(p, zz, fma_of(-0x1.15058ap-9f, z, 0x1.6c1404p-6f));
  p = fma_of(z, -0x1.555552p-2f, zz * p);
  const float t = 1.0f - p;
  const float below = w - t;
  const float far = fma_of(float_of(bits_of(sum) << 23), t + w, -below);
  const float base = near ? w : 1.0f;
  const float q = (near ? p : 2.0f * below) / (near ? t : far);
  return __builtin_copysignf(fma_of(base, q, base), x);
}

/* 1 / (1 + e^-x); results below the normal numbers are 0. */
AF_INLINE float math_sigmoid(float x) {
  uint32_t power;
  const float r = reduce_exp_roughly(x > 60.0f ? -60.0f : -x, &power);
  const float q = small_expm1(r);
  const float s = float_of(power + bits_of(1.0f));
  const float above = s + 1.0f;
  const float d = fma_of(s, q, above);
  const float d_lo = fma_of(s, q, above - d) + ((s - above) + 1.0f);
  const float y = 1.0f / d;
  const float z = fma_of(y, fma_of(-y, d_lo, fma_of(-y, d, 1.0f)), y);
  return x < -0x1.5d589ep+6f ? 0.0f : z;
}

/* u = 2^k m for a normal u > 0, with m in [sqrt(1/2), sqrt(2)). */
AF_INLINE float mantissa_of(float u, int32_t* k) {
  const uint32_t offset = bits_of(u) - 0x3f3504f3u;
  *k = (int32_t)offset >> 23;
  return float_of((offset & 0x007fffffu) + 0x3f3504f3u);
}

/* log(2^k (1 + f + f_lo)) for 1 + f in [sqrt(1/2), sqrt(2)) and f_lo below an ULP of it. */
AF_INLINE Pair log_parts(int32_t k, float f, float f_lo) {
  float p = -0x1.421004p-4f;
  p = fma_of(p, f, 0x1.07dd8p-3f);
  p = fma_of(p, f, -0x1.0cdf9p-3f);
  p = fma_of(p, f, 0x1.226c64p-3f);
  p = fma_of(p, f, -0x1.54788p-3f);
  p = fma_of(p, f, 0x1.99a5aep-3f);
  p = fma_of(p, f, -0x1.00022p-2f);
  p = fma_of(p, f, 0x1.55554ap-2f);
  const float t = f * f * fma_of(p, f, -0.5f);
  const float n = (float)k;
  const float hi = fma_of(n, AF_LN2_HI, f);
  const float lo = fma_of(n, AF_LN2_HI, -hi) + f;
  return {hi, lo + (t + fma_of(n, AF_LN2_LO, fma_of(-f, f_lo, f_lo)))};
}

/* log(u + tail + tail_lo) for a normal u > 0 and |tail| <= ULP(u). */
AF_INLINE Pair log_of_sum(float u, float tail, float tail_lo) {
  int32_t k;
  const float whole = mantissa_of(u, &k) - 1.0f;
  const float scale = power_of_two(k > 126 ? -126 : -k);
  const float c = tail * scale;
  const float f = whole + c;
  return log_parts(k, f, fma_of(tail_lo, scale, (whole - f) + c));
}

AF_INLINE float math_log(float x) {
  const bool small = x < 0x1p-126f;
  const float u = small ? x * 0x1p23f : x;
  int32_t k;
  const float m = mantissa_of(u, &k);
  const Pair y = log_parts(k, m - 1.0f, 0.0f);
  const float shift = small ? -23.0f : 0.0f;
  float r = y.hi + fma_of(shift, 0x1.62e43p-1f, y.lo);
  r = x < __builtin_inff() ? r : x;
  r = u == 0.0f ? -__builtin_inff() : r;
  return x < 0.0f ? __builtin_nanf("") : r;
}

AF_INLINE float math_log1p(float x) {
  const float u = 1.0f + x;
  const Pair y = log_of_sum(u, x - (u - 1.0f), 0.0f); /* exact below 2^24, where it matters */
  float r = __builtin_copysignf(y.hi + y.lo, x);
  r = x < __builtin_inff() ? r : x;
  r = x == -1.0f ? -__builtin_inff() : r;
  return x < -1.0f ? __builtin_nanf("") : r;
}

/* log(1 + x) for 0 <= x <= 1: of 1 + f or of 2 (1 + f), with f exact. */
AF_INLINE float log1p_of_fraction(float x) {
  const bool above = x >= 0.5f;
  const float f = above ? fma_of(0.5f, x, -0.5f) : x;
  const float n = above ? 1.0f : 0.0f;
  const float ff = f * f;
  const float p01 = fma_of(-0x1.fffeb8p-3f, f, 0x1.555588p-2f);
  const float p23 = fma_of(-0x1.552f98p-3f, f, 0x1.996df8p-3f);
  const float p45 = fma_of(-0x1.0b9918p-3f, f, 0x1.28d21ap-3f);
  const float p67 = fma_of(-0x1.5f4c64p-5f, f, 0x1.a0fca6p-4f);
  const float p = fma_of(fma_of(p67, ff, p45), ff * ff, fma_of(p23, ff, p01));
  const float t = ff * fma_of(p, f, -0.5f);
  const float hi = fma_of(n, AF_LN2_HI, f);
  const float lo = fma_of(n, AF_LN2_HI, -hi) + f;
  return hi + (lo + fma_of(n, AF_LN2_LO, t));
}

/* max(x, 0) + log(1 + e^-|x|). */
AF_INLINE float math_softplus(float x) {
  const Pair e = exp_below_one(-__builtin_fabsf(x));
  const float u = 1.0f + e.hi;
  const Pair y = log_of_sum(u, (1.0f - u) + e.hi, e.lo);
  const float linear = x > 0.0f ? x : 0.0f;
  const float hi = linear + y.hi;
  const float back = hi - linear;
  const float lo = (linear - (hi - back)) + (y.hi - back) + y.lo;
  const float r = hi + lo;
  return x < __builtin_inff() ? r : x;
}

/* 1 / sqrt(x) with one step of Newton's, which mends both roundings. */
AF_INLINE float math_rsqrt(float x) {
  const float y = 1.0f / __builtin_sqrtf(x);
  const float z = x * y;
  const float z_lo = fma_of(x, y, -z);
  const float rest = fma_of(-z_lo, y, fma_of(-z, y, 1.0f));
  const float r = fma_of(0.5f * rest, y, y);
  const float a = __builtin_fabsf(y);
  return (a > 0.0f) & (a < __builtin_inff()) ? r : y;
}

/* erf(x) / x - 1 in z = x * x for |x| <= 1. */
AF_INLINE float erf_excess(float z) {
  float p = 0x1.4771fcp-14f;
  p = fma_of(p, z, -0x1.a3515ep-11f);
  p = fma_of(p, z, 0x1.53f224p-8f);
  p = fma_of(p, z, -0x1.b7f71ap-6f);
  p = fma_of(p, z, 0x1.ce2ce6p-4f);
  p = fma_of(p, z, -0x1.81273ep-2f);
  return fma_of(p, z, 0x1.06eba8p-3f);
}

/* 1 - e^(-a g(a)) beyond 1, where g is a fit of -log(erfc(a)) / a on [1, 4]. */
AF_INLINE float math_erf(float x) {
  const float a = __builtin_fabsf(x);
  const float near = fma_of(x, erf_excess(x * x), x);
  const float c = clamp(a, 1.0f, 4.0f);
  float g = 0x1.da2e0ap-17f;
  g = fma_of(g, c, -0x1.716d56p-12f);
  g = fma_of(g, c, 0x1.ed6eep-9f);
  g = fma_of(g, c, -0x1.89a1d8p-6f);
  g = fma_of(g, c, 0x1.b46cbep-4f);
  g = fma_of(g, c, 0x1.451942p-1f);
  g = fma_of(g, c, 0x1.20f24cp0f);
  uint32_t power;
  const float r = reduce_exp_roughly(-c * g, &power);
  const float s = float_of(power + bits_of(1.0f));
  const float far = (1.0f - s) - s * small_expm1(r);
  return a < 1.0f ? near : (x != x ? x : __builtin_copysignf(far, x));
}

/* 2^n (1 + e) (1 + t H(t)) / (1 + 1.6875 a) for a = |x|, where 2^n (1 + e) = e^(-a^2) and t = a /
 * (a + 3); H is a fit on [0, 9.25]. What is rounded on the way to (1 + e) (1 + t H) goes along, and
 * the remainder of the division. Results below the normal numbers are 0. */
AF_INLINE float math_erfc(float x) {
  const float a = __builtin_fabsf(x);
  const float t = a / (a + 3.0f);
  const float q = fma_of(2.0f, t, -1.0f);
  float p = -0x1.ead578p-12f;
  p = fma_of(p, q, -0x1.e31fcap-11f);
  p = fma_of(p, q, 0x1.0a0e2cp-8f);
  p = fma_of(p, q, 0x1.13cd24p-11f);
  p = fma_of(p, q, -0x1.420f6cp-5f);
  p = fma_of(p, q, 0x1.2ceeep-3f);
  p = fma_of(p, q, -0x1.4da414p-2f);
  p = fma_of(p, q, 0x1.fda1d8p-2f);
  p = fma_of(p, q, -0x1.009cf8p-1f);
  p = fma_of(p, q, 0x1.5cf4e2p-3f);
  const float g = p * t;
  const float g_lo = fma_of(p, t, -g);
  const float square = a * a;
  const float magic = 0x1.8p23f + 127;
  const float sum = fma_of(square, -0x1.715476p0f, magic);
  const float n = sum - magic;
  const float most = fma_of(-n, AF_LN2_HI, -square);
  const float little = fma_of(-n, AF_LN2_LO, -fma_of(a, a, -square));
  const float r = most + little;
  const float tail = exp_tail(r, (most - r) + little);
  const float e = r + tail;
  const float grown = fma_of(e, g, g);
  const float m = e + grown;
  const float top = 1.0f + m;
  const float top_lo = (((1.0f - top) + m) + ((e - m) + grown)) + (((r - e) + tail) + g_lo);
  const float d = fma_of(1.6875f, a, 1.0f);
  const float d_lo = fma_of(1.6875f, a, 1.0f - d);
  const float inverse = 1.0f / d;
  const float y = top * inverse;
  const float rest = fma_of(-y, d_lo, fma_of(-y, d, top) + top_lo);
  const float z = fma_of(rest, inverse, y) * float_of(bits_of(sum) << 23);
  const float far = a > 0x1.2639bep3f ? 0.0f : z;
  return x < 0.0f ? 2.0f - far : far;
}

#endif /* AF_HAS_FMA */

#endif /* AUTOFUSE_HOST_FLOAT_MATH_H_ */
