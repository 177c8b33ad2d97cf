/* Elementary functions of doubles that the C library has with errors above one unit, or not at all.
 *
 * As in float_math.h what rounding costs is carried in a second number (Twin), so that a result is
 * wrong by little more than its last rounding. The polynomials are Taylor's: of e^r for
 * |r| <= ln(2) / 2, and of 2 atanh(s) for |s| <= 0.172. No branches, no tables. For machines with a
 * fused multiply-add; on others the C library has to do.
 */
#ifndef AUTOFUSE_HOST_DOUBLE_MATH_H_
#define AUTOFUSE_HOST_DOUBLE_MATH_H_

#include "float_math.h"

/* The widest type of the machine, for what is computed element by element. */
typedef long double Widest;

#define AF_SELU_SCALE 1.0507009873554804934193349852946
#define AF_SELU_SCALE_ALPHA 1.7580993408473768599402175208123

#if AF_HAS_FMA

AF_INLINE double fma_of(double a, double b, double c) { return __builtin_fma(a, b, c); }

/* hi + lo, unevaluated; lo is of the size of half a unit of hi. */
struct Twin {
  double hi, lo;
};

#define AF_SHIFT 0x1.8p52 /* the low bits of a sum with it are a whole number */

/* 2^n for a whole -1022 <= n <= 1023. */
AF_INLINE double double_power_of_two(double n) {
  return double_of((bits_of(n + AF_SHIFT) << 52) + bits_of(1.0));
}
AF_INLINE double half_of(double n) { return (0.5 * n + AF_SHIFT) - AF_SHIFT; }

/* a + b, exactly; |a| >= |b|, or a is 0. */
AF_INLINE Twin sum_of(double a, double b) {
  const double sum = a + b;
  return {sum, (a - sum) + b};
}
/* a + b, exactly. */
AF_INLINE Twin any_sum_of(double a, double b) {
  const double sum = a + b;
  const double part = sum - a;
  return {sum, (a - (sum - part)) + (b - part)};
}

/* a / b. */
AF_INLINE Twin quotient_of(Twin a, Twin b) {
  const double inverse = 1.0 / b.hi;
  const double y = a.hi * inverse;
  const double rest = fma_of(-y, b.hi, a.hi) + fma_of(-y, b.lo, a.lo);
  return {y, rest * inverse};
}

/* a * b in one number; of an infinite product the rest would be NaN, and of -0 it would be 0. */
AF_INLINE double product_of(double a, Twin b) {
  const double y = a * b.hi;
  const double rest = fma_of(a, b.hi, -y) + a * b.lo;
  return (y != 0.0) & (__builtin_fabs(y) < __builtin_inf()) ? y + rest : y;
}

#define AF_LN2_TOP 0x1.62e42feep-1 /* 32 bits: its products with exponents are exact */
#define AF_LN2_REST 0x1.a39ef35793c76p-33

/* e^x = 2^k (1 + q) with q in [-0.3, 0.42]; |x| <= 1100. */
AF_INLINE Twin double_exp_parts(double x, double* k) {
  *k = fma_of(x, 0x1.71547652b82fep0, AF_SHIFT) - AF_SHIFT;
  const Twin r = sum_of(fma_of(-*k, AF_LN2_TOP, x), -*k * AF_LN2_REST);
  double p = 1.0 / 1307674368000;
  p = fma_of(p, r.hi, 1.0 / 87178291200);
  p = fma_of(p, r.hi, 1.0 / 6227020800);
  p = fma_of(p, r.hi, 1.0 / 479001600);
  p = fma_of(p, r.hi, 1.0 / 39916800);
  p = fma_of(p, r.hi, 1.0 / 3628800);
  p = fma_of(p, r.hi, 1.0 / 362880);
  p = fma_of(p, r.hi, 1.0 / 40320);
  p = fma_of(p, r.hi, 1.0 / 5040);
  p = fma_of(p, r.hi, 1.0 / 720);
  p = fma_of(p, r.hi, 1.0 / 120);
  p = fma_of(p, r.hi, 1.0 / 24);
  p = fma_of(p, r.hi, 1.0 / 6);
  p = fma_of(p, r.hi, 0.5);
  return sum_of(r.hi, fma_of(p * r.hi, r.hi, fma_of(r.lo, r.hi, r.lo)));
}

/* e^-a; two factors, so that a subnormal result is rounded once. */
AF_INLINE Twin exp_below_one(double a) {
  double k;
  const Twin q = double_exp_parts(a < 746.0 ? -a : -746.0, &k);
  const double half = half_of(k);
  const double s = double_power_of_two(half), t = double_power_of_two(k - half);
  const Twin e = sum_of(1.0, q.hi);
  return {s * e.hi * t, s * (e.lo + q.lo) * t};
}

AF_INLINE double math_exp(double x) {
  double k;
  const Twin q = double_exp_parts(x < 710.0 ? (x > -746.0 ? x : -746.0) : 710.0, &k);
  const double half = half_of(k);
  const double y =
      (1.0 + (q.hi + q.lo)) * double_power_of_two(half) * double_power_of_two(k - half);
  return x != x ? x : y;
}

/* 1 / (1 + e^-x). */
AF_INLINE Twin sigmoid_twin(double x) {
  const Twin e = exp_below_one(__builtin_fabs(x)), d = sum_of(1.0, e.hi);
  const bool below = x < 0.0;
  return quotient_of({below ? e.hi : 1.0, below ? e.lo : 0.0}, {d.hi, d.lo + e.lo});
}

AF_INLINE double math_sigmoid(double x) {
  const Twin y = sigmoid_twin(x);
  return x != x ? x : y.hi + y.lo;
}

/* dy / (1 + e^-x), where e^-x overflows as it does in TensorFlow. */
AF_INLINE double math_softplus_grad(double dy, double x) {
  const double z = product_of(dy, sigmoid_twin(x));
  const double y = x < -0x1.62e42fefa39efp9 ? dy * 0.0 : z;
  return x != x ? x : y;
}

/* (1 - e^-2a) / (1 + e^-2a) for a = |x|. */
AF_INLINE double math_tanh(double x) {
  const double a = __builtin_fabs(x);
  double k;
  const Twin q = double_exp_parts(a < 20.0 ? -2.0 * a : -40.0, &k);
  const double s = double_power_of_two(k);
  const Twin one_less = sum_of(1.0, -s), one_more = sum_of(1.0, s);
  const double down = s * q.hi, rest = s * q.lo;
  const Twin n = any_sum_of(one_less.hi, -down), d = sum_of(one_more.hi, down);
  const Twin y =
      quotient_of({n.hi, n.lo + (one_less.lo - rest)}, {d.hi, d.lo + (one_more.lo + rest)});
  const double z = a < 0x1p-500 ? a : (a < 20.0 ? y.hi + y.lo : 1.0);
  return x != x ? x : __builtin_copysign(z, x);
}

/* e^x - 1 for -700 <= x <= 0. */
AF_INLINE Twin expm1_twin(double x) {
  double k;
  const Twin q = double_exp_parts(x, &k);
  const double s = double_power_of_two(k);
  const Twin less = any_sum_of(s, -1.0), y = any_sum_of(less.hi, s * q.hi);
  return {y.hi, y.lo + (less.lo + s * q.lo)};
}

/* log(u + tail + tail_lo) for a normal u > 0 and |tail| <= half a unit of u. */
AF_INLINE Twin log_of_sum(double u, double tail, double tail_lo) {
  const uint64_t offset = bits_of(u) - 0x3fe6a09e667f3bcdull;
  const double k = double_of(0x4330000000000000ull + ((offset >> 52) ^ 0x800u)) - (0x1p52 + 0x800);
  const double m = double_of((offset & 0x000fffffffffffffull) + 0x3fe6a09e667f3bcdull);
  const double half = half_of(k);
  const double scale = double_power_of_two(-half), other = double_power_of_two(half - k);
  const Twin f = any_sum_of(m - 1.0, tail * scale * other);
  const double f_lo = fma_of(tail_lo * scale, other, f.lo);
  const Twin d = sum_of(2.0, f.hi);
  const Twin s = quotient_of({f.hi, f_lo}, {d.hi, d.lo + f_lo});
  const double z = s.hi * s.hi;
  double p = 2.0 / 25;
  p = fma_of(p, z, 2.0 / 23);
  p = fma_of(p, z, 2.0 / 21);
  p = fma_of(p, z, 2.0 / 19);
  p = fma_of(p, z, 2.0 / 17);
  p = fma_of(p, z, 2.0 / 15);
  p = fma_of(p, z, 2.0 / 13);
  p = fma_of(p, z, 2.0 / 11);
  p = fma_of(p, z, 2.0 / 9);
  p = fma_of(p, z, 2.0 / 7);
  p = fma_of(p, z, 2.0 / 5);
  p = fma_of(p, z, 2.0 / 3);
  const Twin y = sum_of(k * AF_LN2_TOP, 2.0 * s.hi);
  return sum_of(y.hi, y.lo + fma_of(z * s.hi, p, fma_of(k, AF_LN2_REST, 2.0 * s.lo)));
}

/* max(x, 0) + log(1 + e^-|x|). */
AF_INLINE double math_softplus(double x) {
  const Twin e = exp_below_one(__builtin_fabs(x)), u = sum_of(1.0, e.hi);
  const Twin y = log_of_sum(u.hi, u.lo, e.lo);
  const Twin z = any_sum_of(x > 0.0 ? x : 0.0, y.hi);
  const double middle = x < -40.0 ? e.hi : z.hi + (z.lo + y.lo);
  return x < __builtin_inf() ? middle : x;
}

AF_INLINE double math_selu(double x) {
  const double low =
      product_of(AF_SELU_SCALE_ALPHA, expm1_twin(x > -700.0 ? (x < 0.0 ? x : 0.0) : -700.0));
  return x < 0.0 ? low : AF_SELU_SCALE * x;
}

/* log(x) where it is `usual`, neither a limit nor NaN; 0 elsewhere. */
AF_INLINE Twin log_twin(double x, bool usual) {
  const bool small = x < 0x1p-1022;
  Twin y = log_of_sum(usual ? (small ? x * 0x1p54 : x) : 1.0, 0.0, 0.0);
  y.lo = usual & small ? fma_of(-54.0, 0x1.62e42fefa39efp-1, y.lo) : y.lo;
  return y;
}
AF_INLINE double log_limit(double x) {
  return x == 0.0 ? -__builtin_inf() : (x < 0.0 ? __builtin_nan("") : x);
}

AF_INLINE double math_log(double x) {
  const bool usual = (x > 0.0) & (x < __builtin_inf());
  const Twin y = log_twin(x, usual);
  return usual ? y.hi + y.lo : log_limit(x);
}

/* x log(y). */
AF_INLINE double math_xlogy(double x, double y) {
  const bool usual = (y > 0.0) & (y < __builtin_inf());
  const double z = product_of(x, log_twin(y, usual));
  return x == 0.0 ? x : (usual ? z : x * log_limit(y));
}

/* x log(1 + y). */
AF_INLINE double math_xlog1py(double x, double y) {
  const bool usual = (y > -1.0) & (y < __builtin_inf()), small = __builtin_fabs(y) < 0x1p-60;
  const Twin u = any_sum_of(1.0, usual ? y : 0.0);
  const double z = product_of(x, log_of_sum(u.hi, u.lo, 0.0));
  const double limit = y == -1.0 ? -__builtin_inf() : (y < -1.0 ? __builtin_nan("") : y);
  return x == 0.0 ? x : (usual & !small ? z : x * limit);
}

/* log(1 + 2 a / (1 - a)) / 2 for a = |x|. */
AF_INLINE double math_atanh(double x) {
  const double a = __builtin_fabs(x);
  const double inside = a < 1.0 ? a : 0.5;
  const Twin t = quotient_of({2.0 * inside, 0.0}, sum_of(1.0, -inside));
  const Twin whole = any_sum_of(1.0, t.hi), rest = any_sum_of(whole.lo, t.lo);
  const Twin u = sum_of(whole.hi, rest.hi), y = log_of_sum(u.hi, u.lo, rest.lo);
  const double z = a < 0x1p-500 ? a : 0.5 * (y.hi + y.lo);
  const double limit = a == 1.0 ? __builtin_inf() : __builtin_nan("");
  return __builtin_copysign(a < 1.0 ? z : limit, x);
}

#else

AF_INLINE double math_exp(double x) { return __builtin_exp(x); }
AF_INLINE double math_log(double x) { return __builtin_log(x); }
AF_INLINE double math_sigmoid(double x) { return 1.0 / (1.0 + __builtin_exp(-x)); }
AF_INLINE double math_softplus_grad(double dy, double x) { return dy / (__builtin_exp(-x) + 1.0); }
AF_INLINE double math_tanh(double x) { return __builtin_tanh(x); }
AF_INLINE double math_softplus(double x) {
  const double y = __builtin_log1p(__builtin_exp(-__builtin_fabs(x)));
  return x != x ? x : y + (x > 0.0 ? x : 0.0);
}
AF_INLINE double math_selu(double x) {
  return x < 0.0 ? AF_SELU_SCALE_ALPHA * __builtin_expm1(x) : AF_SELU_SCALE * x;
}
AF_INLINE double math_xlogy(double x, double y) { return x == 0.0 ? x : x * __builtin_log(y); }
AF_INLINE double math_xlog1py(double x, double y) { return x == 0.0 ? x : x * __builtin_log1p(y); }
AF_INLINE double math_atanh(double x) { return __builtin_atanh(x); }

#endif /* AF_HAS_FMA */

/* Element by element, in the widest type. */
AF_INLINE double math_erfc(double x) { return (double)__builtin_erfcl((Widest)x); }

AF_INLINE double tan_of(double x) { return __builtin_tan(x); }
AF_INLINE Widest tan_of(Widest x) { return __builtin_tanl(x); }
AF_INLINE double log_of(double x) { return __builtin_log(x); }
AF_INLINE Widest log_of(Widest x) { return __builtin_logl(x); }

/* Recurrence up to 12, then the asymptotic series; reflection below 0, NaN at its poles. */
template <typename F>
static inline F digamma_of(F x) {
  if (x <= 0 && x == (F)__builtin_floor((double)x)) return (F)__builtin_nan("");
  const F pi = (F)3.14159265358979323846264338L;
  F total = x < 0 ? -pi / tan_of(pi * (x - (F)__builtin_rint((double)x))) : 0;
  if (x < 0) x = 1 - x;
  for (; x < 12; x += 1) total -= 1 / x;
  const F y = 1 / (x * x);
  F p = (F)1 / 12;
  p = p * y - (F)691 / 32760;
  p = p * y + (F)1 / 132;
  p = p * y - (F)1 / 240;
  p = p * y + (F)1 / 252;
  p = p * y - (F)1 / 120;
  p = p * y + (F)1 / 12;
  return total + log_of(x) - (F)0.5 / x - p * y;
}
AF_INLINE double math_digamma(double x) { return (double)digamma_of((Widest)x); }
AF_INLINE float math_digamma(float x) { return (float)digamma_of((double)x); }

#endif /* AUTOFUSE_HOST_DOUBLE_MATH_H_ */
