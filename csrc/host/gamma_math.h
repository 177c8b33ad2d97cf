/* Incomplete gamma and beta functions, zeta and polygamma: series and continued fractions, element
 * by element. NaN outside the domain, as TensorFlow's functors have it.
 */
#ifndef AUTOFUSE_HOST_GAMMA_MATH_H_
#define AUTOFUSE_HOST_GAMMA_MATH_H_

#include "special_math.h"

/* A value and its derivative by one parameter. */
struct Dual {
  double v, d;
};
AF_INLINE Dual operator+(Dual a, Dual b) { return {a.v + b.v, a.d + b.d}; }
AF_INLINE Dual operator-(Dual a, Dual b) { return {a.v - b.v, a.d - b.d}; }
AF_INLINE Dual operator*(Dual a, Dual b) { return {a.v * b.v, a.d * b.v + a.v * b.d}; }
AF_INLINE Dual operator/(Dual a, Dual b) {
  const double q = a.v / b.v;
  return {q, (a.d - q * b.d) / b.v};
}
AF_INLINE double size_of(double x) { return __builtin_fabs(x); }
AF_INLINE double size_of(Dual x) { return __builtin_fabs(x.v) + __builtin_fabs(x.d); }
AF_INLINE double like(double, double x) { return x; }
AF_INLINE Dual like(Dual, double x) { return {x, 0.0}; }

/* sum of x^n / ((a + 1) .. (a + n)) */
template <typename T>
static inline T igamma_series(T a, double x) {
  T term = like(a, 1.0), sum = term;
  for (int32_t n = 1; n < 5000 && size_of(term) > 1e-17 * size_of(sum); ++n) {
    term = term * like(a, x) / (a + like(a, n));
    sum = sum + term;
  }
  return sum;
}
/* The continued fraction 1 / (x + 1 - a - 1 (1 - a) / (x + 3 - a - ..)), by Lentz's method. */
template <typename T>
static inline T igammac_fraction(T a, double x) {
  T b = like(a, x + 1.0) - a;
  T c = like(a, 1e300), d = like(a, 1.0) / b, h = d;
  for (int32_t n = 1; n < 5000; ++n) {
    const T factor = like(a, n) * (a - like(a, n));
    b = b + like(a, 2.0);
    d = like(a, 1.0) / (factor * d + b);
    c = b + factor / c;
    const T ratio = c * d;
    h = h * ratio;
    if (size_of(ratio - like(a, 1.0)) < 1e-16) break;
  }
  return h;
}
/* x^a e^-x / gamma(a) */
static inline double igamma_factor(double a, double x) {
  return __builtin_exp(a * __builtin_log(x) - x - math_lgamma(a));
}
AF_INLINE bool igamma_by_series(double a, double x) { return x <= 1.0 || x <= a; }
static inline double igamma_of(double a, double x, bool upper) {
  const double inf = __builtin_inf();
  if (x == 0.0 && !upper) return 0.0;
  if (x != x || !(a > 0.0) || x < 0.0) return __builtin_nan("");
  if (a == inf) return upper && x < inf ? 1.0 : 0.0;
  if (x == 0.0 || x == inf) return (x == 0.0) == upper ? 1.0 : 0.0;
  const bool series = igamma_by_series(a, x);
  const double factor = igamma_factor(a, x);
  const double part = factor * (series ? igamma_series(a, x) / a : igammac_fraction(a, x));
  return series == upper ? 1.0 - part : part;
}
static inline double math_igamma(double a, double x) { return igamma_of(a, x, false); }
static inline double math_igammac(double a, double x) { return igamma_of(a, x, true); }
AF_ROUNDED_2(igamma)
AF_ROUNDED_2(igammac)

/* Derivative of igamma by a. */
static inline double math_igamma_grad_a(double a, double x) {
  const double inf = __builtin_inf();
  if (x == 0.0) return 0.0;
  if (x != x || !(a > 0.0) || x < 0.0) return __builtin_nan("");
  if (a == inf || x == inf) return a == inf ? 0.0 : -0.0;
  const bool series = igamma_by_series(a, x);
  const double factor = igamma_factor(a, x);
  const Dual scale = {factor, factor * (__builtin_log(x) - digamma_of(a))};
  const Dual at = {a, 1.0};
  const Dual part = scale * (series ? igamma_series(at, x) / at : igammac_fraction(at, x));
  return series ? part.d : -part.d;
}
AF_ROUNDED_2(igamma_grad_a)

/* Hurwitz's zeta, the sum of (q + k)^-x: ten terms and more until q + k > x + 12 or until nothing
 * is added, then Euler's and Maclaurin's formula. */
static inline double math_zeta(double x, double q) {
  if (x == 1.0) return __builtin_inf();
  if (!(x > 1.0) || q != q) return __builtin_nan("");
  if (q <= 0.0) {
    const bool even = 2.0 * __builtin_rint(0.5 * x) == x, whole = __builtin_rint(x) == x;
    if (q == __builtin_floor(q)) return even ? __builtin_inf() : __builtin_nan("");
    if (!whole) return __builtin_nan("");
  }
  if (q == __builtin_inf()) return 0.0;
  double sum = 0.0;
  for (int32_t k = 0; k < 10 || q <= x + 12.0; ++k, q += 1.0) {
    const double term = __builtin_pow(q, -x);
    sum += term;
    if (q > 0.0 && term <= 1e-17 * sum) return sum;
  }
  /* Bernoulli's B(2k) / (2k)! */
  static const double kRatios[] = {1.0 / 12,
                                   -1.0 / 720,
                                   1.0 / 30240,
                                   -1.0 / 1209600,
                                   1.0 / 47900160,
                                   -691.0 / 1307674368000.0,
                                   1.0 / 74724249600.0,
                                   -3617.0 / 10670622842880000.0};
  const double power = __builtin_pow(q, -x);
  sum += power * q / (x - 1.0) + 0.5 * power;
  double factor = x * power / q;
  for (int32_t k = 0; k < 8; ++k) {
    sum += kRatios[k] * factor;
    factor *= (x + 2 * k + 1) * (x + 2 * k + 2) / (q * q);
  }
  return sum;
}
AF_ROUNDED_2(zeta)

static inline double math_polygamma(double n, double x) {
  if (n != __builtin_floor(n) || n < 0.0) return __builtin_nan("");
  if (n == 0.0) return digamma_of(x);
  const double y = __builtin_tgamma(n + 1.0) * math_zeta(n + 1.0, x);
  return n < __builtin_inf() && 2.0 * __builtin_rint(0.5 * n) == n ? -y : y;
}
AF_ROUNDED_2(polygamma)

/* The continued fraction of the incomplete beta function, by Lentz's method. */
static inline double beta_fraction(double a, double b, double x) {
  double c = 1.0, d = 1.0 / (1.0 - (a + b) * x / (a + 1.0)), h = d;
  for (int32_t m = 1; m < 5000; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1.0 / (1.0 + even * d);
    c = 1.0 + even / c;
    h *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1.0 / (1.0 + odd * d);
    c = 1.0 + odd / c;
    h *= d * c;
    if (__builtin_fabs(d * c - 1.0) < 1e-16) break;
  }
  return h;
}
static inline double math_betainc(double a, double b, double x) {
  if (!(a > 0.0) || !(b > 0.0) || !(x >= 0.0) || x > 1.0) return __builtin_nan("");
  if (x == 0.0 || x == 1.0) return x;
  const double log_factor = a * __builtin_log(x) + b * __builtin_log1p(-x) + math_lgamma(a + b) -
                            math_lgamma(a) - math_lgamma(b);
  const double factor = __builtin_exp(log_factor);
  if (x < (a + 1.0) / (a + b + 2.0)) return factor * beta_fraction(a, b, x) / a;
  return 1.0 - factor * beta_fraction(b, a, 1.0 - x) / b;
}
AF_INLINE float math_betainc(float a, float b, float x) {
  return (float)math_betainc((double)a, (double)b, (double)x);
}

#endif /* AUTOFUSE_HOST_GAMMA_MATH_H_ */
