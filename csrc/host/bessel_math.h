/* Bessel functions and integrals, from the Chebyshev series of special_tables.h. As elsewhere a
 * float32 function is evaluated in double and rounded once.
 */
#ifndef AUTOFUSE_HOST_BESSEL_MATH_H_
#define AUTOFUSE_HOST_BESSEL_MATH_H_

#include "special_math.h"
#include "special_tables.h"

/* The sum of a series at t in [-1, 1], by Clenshaw's recurrence. */
template <int32_t n>
AF_INLINE double chebyshev(const double (&c)[n], double t) {
  double a = 0.0, b = 0.0;
  for (int32_t i = n - 1; i > 0; --i) {
    const double next = 2.0 * t * a - b + c[i];
    b = a;
    a = next;
  }
  return t * a - b + c[0];
}
/* The series of x in [0, end], and of 1 / x for x >= start. */
template <int32_t n>
AF_INLINE double chebyshev_near(const double (&c)[n], double x, double end) {
  return chebyshev(c, clamp(x, 0.0, end) * (2.0 / end) - 1.0);
}
template <int32_t n>
AF_INLINE double chebyshev_far(const double (&c)[n], double x, double start) {
  return chebyshev(c, 2.0 * start / (x > start ? x : start) - 1.0);
}

/* e^-|x| times the modified functions of the first kind. */
AF_INLINE double math_bessel_i0e(double x) {
  const double a = __builtin_fabs(x);
  const double far = chebyshev_far(kI0Far, a, 8.0) / __builtin_sqrt(a);
  const double y = a <= 8.0 ? chebyshev_near(kI0Near, a, 8.0) : far;
  return x != x ? x : y;
}
AF_INLINE double math_bessel_i1e(double x) {
  const double a = __builtin_fabs(x);
  const double far = chebyshev_far(kI1Far, a, 8.0) / __builtin_sqrt(a);
  const double y = a <= 8.0 ? chebyshev_near(kI1Near, a, 8.0) * a : far;
  return x < 0.0 ? -y : (x != x ? x : y);
}
AF_INLINE double math_bessel_i0(double x) {
  return __builtin_exp(__builtin_fabs(x)) * math_bessel_i0e(x);
}
AF_INLINE double math_bessel_i1(double x) {
  return __builtin_exp(__builtin_fabs(x)) * math_bessel_i1e(x);
}
/* Those of the second kind for 0 < x <= 2, with a logarithm at 0. */
AF_INLINE double bessel_k0_near(double x) {
  const double i0 = __builtin_exp(x) * chebyshev_near(kI0Near, x, 8.0);
  return chebyshev_near(kK0Near, x * x, 4.0) - __builtin_log(0.5 * x) * i0;
}
AF_INLINE double bessel_k1_near(double x) {
  const double i1 = __builtin_exp(x) * chebyshev_near(kI1Near, x, 8.0) * x;
  return chebyshev_near(kK1Near, x * x, 4.0) / x + __builtin_log(0.5 * x) * i1;
}
/* `near` for x <= 2, `far` above, infinity at 0 and below. */
AF_INLINE double bessel_k(double x, double near, double far) {
  const double y = x <= 2.0 ? near : far;
  return x <= 0.0 ? __builtin_inf() : y;
}
AF_INLINE double math_bessel_k0e(double x) {
  const double near = __builtin_exp(x) * bessel_k0_near(x);
  return bessel_k(x, near, chebyshev_far(kK0Far, x, 2.0) / __builtin_sqrt(x));
}
AF_INLINE double math_bessel_k1e(double x) {
  const double near = __builtin_exp(x) * bessel_k1_near(x);
  return bessel_k(x, near, chebyshev_far(kK1Far, x, 2.0) / __builtin_sqrt(x));
}
AF_INLINE double math_bessel_k0(double x) {
  const double far = __builtin_exp(-x) * chebyshev_far(kK0Far, x, 2.0) / __builtin_sqrt(x);
  return bessel_k(x, bessel_k0_near(x), far);
}
AF_INLINE double math_bessel_k1(double x) {
  const double far = __builtin_exp(-x) * chebyshev_far(kK1Far, x, 2.0) / __builtin_sqrt(x);
  return bessel_k(x, bessel_k1_near(x), far);
}
AF_ROUNDED_1(bessel_i0e)
AF_ROUNDED_1(bessel_i1e)
AF_ROUNDED_1(bessel_i0)
AF_ROUNDED_1(bessel_i1)
AF_ROUNDED_1(bessel_k0e)
AF_ROUNDED_1(bessel_k1e)
AF_ROUNDED_1(bessel_k0)
AF_ROUNDED_1(bessel_k1)

/* NaN at infinity, and -infinity at 0 and below for the second kind, as TensorFlow has it. */
AF_INLINE double bessel_limits(double x, double y) { return x - x == 0.0 ? y : __builtin_nan(""); }
AF_INLINE double math_bessel_j0(double x) { return bessel_limits(x, __builtin_j0(x)); }
AF_INLINE double math_bessel_j1(double x) { return bessel_limits(x, __builtin_j1(x)); }
AF_INLINE double math_bessel_y0(double x) {
  return x <= 0.0 ? -__builtin_inf() : bessel_limits(x, __builtin_y0(x));
}
AF_INLINE double math_bessel_y1(double x) {
  return x <= 0.0 ? -__builtin_inf() : bessel_limits(x, __builtin_y1(x));
}
AF_ROUNDED_1(bessel_j0)
AF_ROUNDED_1(bessel_j1)
AF_ROUNDED_1(bessel_y0)
AF_ROUNDED_1(bessel_y1)

/* Dawson's integral, e^(-x x) times the integral of e^(t t) from 0 to x. */
AF_INLINE double math_dawsn(double x) {
  const double z = x * x;
  const double near = chebyshev_near(kDawsonNear, z, 16.0) * x;
  const double far = 0.5 * chebyshev_far(kDawsonFar, z, 16.0) / x;
  return x != x ? x : (z <= 16.0 ? near : far) + 0.0; /* never -0 */
}
AF_ROUNDED_1(dawsn)

/* The dilogarithm of z for |z| <= 1/2. */
AF_INLINE double dilogarithm(double z) { return z * chebyshev(kSpence, 2.0 * z); }
/* The dilogarithm of 1 - x. */
static inline double math_spence(double x) {
  const double pi2_6 = 1.64493406684822643647;
  if (!(x >= 0.0)) return __builtin_nan("");
  if (x == 0.0) return pi2_6;
  const double log_x = __builtin_log(x);
  if (x < 0.5) return pi2_6 - log_x * __builtin_log1p(-x) - dilogarithm(x);
  if (x <= 1.5) return dilogarithm(1.0 - x);
  const double inverse = 1.0 / x, square = -0.5 * log_x * log_x;
  if (x <= 2.0) return square - dilogarithm(1.0 - inverse);
  return square - pi2_6 - log_x * __builtin_log1p(-inverse) + dilogarithm(inverse);
}
AF_ROUNDED_1(spence)

/* The exponential integral Ei of x > 0: its series, and the asymptotic one beyond 40. */
static inline double math_expint(double x) {
  if (!(x > 0.0)) return x == 0.0 ? -__builtin_inf() : __builtin_nan("");
  if (x == __builtin_inf()) return __builtin_nan("");
  double sum = 0.0, term = 1.0;
  if (x > 40.0) {
    for (int32_t k = 1; k < 40; ++k) sum += term, term *= k / x;
    const double half = __builtin_exp(0.5 * x);
    return half * (half * (sum / x));
  }
  for (int32_t k = 1; k < 150; ++k) {
    term *= x / k;
    sum += term / k;
  }
  return 0.57721566490153286061 + __builtin_log(x) + sum;
}
AF_ROUNDED_1(expint)

/* sin and cos of pi / 2 x x, of which whole periods are taken off exactly in float32's range. */
struct FresnelAngle {
  double sine, cosine;
};
static inline FresnelAngle fresnel_angle(double x) {
  const double z = x * x, angle = 1.57079632679489661923 * (z - 4.0 * __builtin_floor(0.25 * z));
  return {__builtin_sin(angle), __builtin_cos(angle)};
}
static inline double math_fresnel_cos(double x) {
  const double a = __builtin_fabs(x), z = a * a;
  double y = 0.5;
  if (a < 1.6) {
    y = a * chebyshev_near(kFresnelC, z * z, 6.5536);
  } else if (a < 1e8) {
    const FresnelAngle w = fresnel_angle(a);
    const double f = chebyshev_far(kFresnelF, z, 2.56) / a;
    y += f * w.sine - chebyshev_far(kFresnelG, z, 2.56) / (z * a) * w.cosine;
  }
  return x < 0.0 ? -y : (x != x ? x : y);
}
static inline double math_fresnel_sin(double x) {
  const double a = __builtin_fabs(x), z = a * a;
  double y = 0.5;
  if (a < 1.6) {
    y = z * a * chebyshev_near(kFresnelS, z * z, 6.5536);
  } else if (a < 1e8) {
    const FresnelAngle w = fresnel_angle(a);
    const double f = chebyshev_far(kFresnelF, z, 2.56) / a;
    y -= f * w.cosine + chebyshev_far(kFresnelG, z, 2.56) / (z * a) * w.sine;
  }
  return x < 0.0 ? -y : (x != x ? x : y);
}
AF_ROUNDED_1(fresnel_cos)
AF_ROUNDED_1(fresnel_sin)

#endif /* AUTOFUSE_HOST_BESSEL_MATH_H_ */
