"""Numpy meanings of Bessel, gamma and beta functions and of integrals, in float64.

They are evaluated from definitions (integrals by the trapezoidal rule, power and asymptotic
series), not from the fitted series of csrc/host, so that each checks the other. Outside their
domain they are NaN, and at poles what TensorFlow's functors give.
"""
from __future__ import annotations

import ctypes
import ctypes.util
import math
from typing import Callable, Dict, Tuple

import numpy as np

EULER = 0.57721566490153286061


# ---- Bessel functions ----------------------------------------------------------------------


def _bessel_ie(order: int) -> Callable:
    """e^-|x| I(x): the power series, beyond 4 the mean of e^(x (cos t - 1)) cos(order t) over all
    t, beyond 30 Hankel's series."""

    def function(x):
        a = np.abs(x)
        low, near = np.minimum(a, 4.0), np.clip(a, 4.0, 30.0)
        small, power = np.zeros(np.shape(x)), (0.5 * low) ** order
        for k in range(1, 40):
            small = small + power
            power = power * (0.25 * low * low) / (k * (k + order))
        mean = np.zeros(np.shape(x))
        for t in np.arange(96) * (2 * math.pi / 96):
            mean += np.exp(near * (math.cos(t) - 1)) * math.cos(order * t) / 96
        mean = np.where(a <= 4, small * np.exp(-low), mean)
        far, term = np.ones(np.shape(x)), np.ones(np.shape(x))
        for k in range(1, 25):
            term = term * ((2 * k - 1) ** 2 - 4 * order) / (8.0 * k * np.maximum(a, 30.0))
            far = far + term
        y = np.where(a <= 30, mean, far / np.sqrt(2 * math.pi * np.maximum(a, 1)))
        return np.where(np.isnan(x), x, np.where(x < 0, -y, y) if order else y)

    return function


def _bessel_ke(order: int) -> Callable:
    """e^x K(x): the integral of e^(-x (cosh t - 1)) cosh(order t) over t >= 0."""

    def function(x):
        a = np.where(x > 0, x, 1.0)
        scale = 1 / np.sqrt(np.maximum(a, 1.0))
        total = np.zeros(np.shape(x))
        for k in range(960):  # t up to 120, enough for every normal float32
            t = 0.125 * k * scale
            height = 2 * np.sinh(0.5 * t) ** 2
            term = np.exp(-a * height + (order and np.log(np.cosh(t))))
            total += np.where(np.isnan(term), 0, term) * (0.5 if k == 0 else 1.0)
        y = np.where(np.isinf(a), 0.0, total * 0.125 * scale)
        return np.where(x <= 0, np.inf, np.where(x > 0, y, np.nan))

    return function


def _bessel_of_library(name: str) -> Callable:
    """That of the C library, but NaN at infinity and -infinity where x <= 0 is a pole or below."""
    function = getattr(ctypes.CDLL(ctypes.util.find_library("m") or "libm.so.6"), name)
    function.restype, function.argtypes = ctypes.c_double, [ctypes.c_double]

    def limited(x: float) -> float:
        if not math.isfinite(x):
            return -math.inf if name[0] == "y" and x < 0 else math.nan
        return -math.inf if name[0] == "y" and x <= 0 else float(function(x))

    return np.vectorize(limited, otypes=[np.float64])


# ---- integrals -----------------------------------------------------------------------------


def _dawsn(x):
    """Rybicki's sum over odd n of e^-((x - n h)^2) / n, and series where it cancels or is long."""
    a = np.abs(x)
    middle = np.clip(a, 0.2, 12.0)
    total, h = np.zeros(np.shape(x)), 0.2
    for n in range(-111, 113, 2):
        total += np.exp(-(middle - n * h) ** 2) / n
    small, term, z = np.zeros(np.shape(x)), np.minimum(a, 0.2), np.minimum(a, 0.2) ** 2
    for n in range(14):
        small = small + term
        term = term * (-2 * z) / (2 * n + 3)
    big, part, inverse = np.zeros(np.shape(x)), 0.5 / np.maximum(a, 12.0), np.maximum(a, 12.0)
    for n in range(16):
        big = big + part
        part = part * (2 * n + 1) / (2 * inverse * inverse)
    y = np.where(a < 0.2, small, np.where(a > 12, big, total / math.sqrt(math.pi)))
    return np.where(np.isnan(x), x, np.where(x < 0, -y, y) + 0.0)


def _dilogarithm(z):
    """The sum of z^k / k^2, for |z| <= 1/2."""
    return sum(z ** k / (k * k) for k in range(60, 0, -1))


def _spence(x):
    safe = np.where(x > 0, x, 1.0)
    inverse, log_x = 1 / safe, np.log(safe)
    top = math.pi ** 2 / 6
    y = _dilogarithm(np.clip(1 - safe, -0.5, 0.5))
    low = top - log_x * np.log1p(-np.minimum(safe, 0.5)) - _dilogarithm(np.minimum(safe, 0.5))
    middle = -0.5 * log_x ** 2 - _dilogarithm(np.clip(1 - inverse, 0, 0.5))
    half = np.minimum(inverse, 0.5)
    high = -0.5 * log_x ** 2 - top - log_x * np.log1p(-half) + _dilogarithm(half)
    y = np.where(safe < 0.5, low, np.where(safe <= 1.5, y, np.where(safe <= 2, middle, high)))
    return np.where(x > 0, y, np.where(x == 0, top, np.nan))


def _expint(x):
    """EULER + log(x) + the sum of x^k / (k k!), and the asymptotic series beyond 40."""
    low, high = np.clip(x, 1e-320, 40.0), np.maximum(x, 40.0)
    total, term = np.zeros(np.shape(x)), np.ones(np.shape(x))
    for k in range(1, 150):
        term = term * low / k
        total = total + term / k
    far, part = np.zeros(np.shape(x)), np.ones(np.shape(x))
    for k in range(1, 40):
        far, part = far + part, part * k / high
    half = np.exp(0.5 * high)
    y = np.where(x <= 40, EULER + np.log(low) + total, half * (half * (far / high)))
    y = np.where(np.isinf(x), np.nan, y)
    return np.where(x > 0, y, np.where(x == 0, -np.inf, np.nan))


def _fresnel(cosine: bool) -> Callable:
    """Power series below 1.6; beyond it the auxiliary functions f and g, as integrals."""

    def function(x):
        a = np.abs(x)
        low, high = np.minimum(a, 1.6), np.clip(a, 1.6, 1e8)
        z = -(math.pi / 2 * low * low) ** 2
        total, term = np.zeros(np.shape(x)), low if cosine else low * (math.pi / 2 * low * low)
        for k in range(30):
            first = 2 * k + (0 if cosine else 1)
            total = total + term / (2 * first + 1)
            term = term * z / ((first + 1) * (first + 2))
        square = high * high
        f, g, step = np.zeros(np.shape(x)), np.zeros(np.shape(x)), 0.1 / high
        for k in range(90):  # v = u / x, so that the integrand always ends at the same u
            v = k * step
            term = np.exp(-math.pi / 2 * square * v * v) / (v ** 4 + 1) * (0.5 if k == 0 else 1.0)
            f, g = f + term, g + term * v * v
        f, g = (part * step * (math.sqrt(2) / math.pi) for part in (f, g))
        angle = math.pi / 2 * (square - 4 * np.floor(square / 4))
        sine, cos = np.sin(angle), np.cos(angle)
        far = 0.5 + (f * sine - g * cos if cosine else -f * cos - g * sine)
        y = np.where(a < 1.6, total, np.where(a < 1e8, far, 0.5))
        return np.where(np.isnan(x), x, np.where(x < 0, -y, y))

    return function


# ---- gamma and beta functions, element by element -----------------------------------------


def _series(a: float, x: float) -> Tuple[float, float]:
    """The sum of x^n / ((a + 1) .. (a + n)) and its derivative by a."""
    term, slope, total, slopes = 1.0, 0.0, 1.0, 0.0
    for n in range(1, 5000):
        slope = (slope - term / (a + n)) * x / (a + n)
        term *= x / (a + n)
        total, slopes = total + term, slopes + slope
        if abs(term) + abs(slope) < 1e-18 * (abs(total) + abs(slopes)):
            break
    return total, slopes


def _upper_integral(a: float, x: float) -> Tuple[float, float]:
    """The integral of e^-u (1 + u / x)^(a - 1) over u >= 0, and the same with a logarithm."""
    total = moment = 0.0
    for k in range(-400, 300):
        u = math.exp(0.02 * k - math.exp(-0.02 * k))
        weight = u * (1 + math.exp(-0.02 * k)) * 0.02
        log_base = math.log1p(u / x)
        value = weight * math.exp(-u + (a - 1) * log_base)
        total, moment = total + value, moment + value * log_base
    return total, moment


def _igamma_of(a: float, x: float, upper: bool) -> float:
    if x == 0 and not upper:
        return 0.0
    if math.isnan(x) or not a > 0 or x < 0:
        return math.nan
    if math.isinf(a):
        return float(upper and not math.isinf(x))
    if x == 0 or math.isinf(x):
        return float((x == 0) == upper)
    scale = math.exp(a * math.log(x) - x - math.lgamma(a))
    if x <= 1 or x <= a:
        part = scale * _series(a, x)[0] / a
        return 1 - part if upper else part
    part = scale * _upper_integral(a, x)[0] / x
    return part if upper else 1 - part


def _igamma_grad_a(digamma: Callable) -> Callable:
    def function(a: float, x: float) -> float:
        if x == 0:
            return 0.0
        if math.isnan(x) or not a > 0 or x < 0:
            return math.nan
        if math.isinf(a) or math.isinf(x):
            return 0.0 if math.isinf(a) else -0.0
        scale = math.exp(a * math.log(x) - x - math.lgamma(a))
        rate = math.log(x) - float(digamma(np.float64(a)))
        if x <= 1 or x <= a:
            total, slope = _series(a, x)
            return scale / a * (total * (rate - 1 / a) + slope)
        total, moment = _upper_integral(a, x)
        return -scale / x * (total * rate + moment)

    return function


_RATIOS = (1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000,
           1 / 74724249600, -3617 / 10670622842880000)


def _zeta(x: float, q: float) -> float:
    """The sum of (q + k)^-x: terms until q + k > x + 20, then Euler's and Maclaurin's formula."""
    if x == 1:
        return math.inf
    if not x > 1 or math.isnan(q):
        return math.nan
    if q <= 0:
        even = math.isinf(x) or x % 2 == 0
        if math.isinf(q) or q == math.floor(q):
            return math.inf if even else math.nan
        if not math.isinf(x) and x != math.floor(x):
            return math.nan
    if math.isinf(q):
        return 0.0
    total = 0.0
    with np.errstate(all="ignore"):
        while q <= x + 20:
            term = float(np.power(q, -x))
            total += term
            if q > 0 and term <= 1e-18 * total:
                return total
            q += 1
        power = float(np.power(q, -x))
    if power == 0 or math.isinf(total):
        return total
    total += power * q / (x - 1) + 0.5 * power
    factor = x * power / q
    for k, ratio in enumerate(_RATIOS):
        total += ratio * factor
        factor *= (x + 2 * k + 1) * (x + 2 * k + 2) / (q * q)
    return total


def _polygamma(digamma: Callable) -> Callable:
    def function(n: float, x: float) -> float:
        if not n >= 0 or (not math.isinf(n) and n != math.floor(n)):
            return math.nan
        if n == 0:
            return float(digamma(np.float64(x)))
        size = math.gamma(n + 1) if n < 170 else math.inf
        return size * _zeta(n + 1, x) * (-1 if not math.isinf(n) and n % 2 == 0 else 1)

    return function


def _betainc(a: float, b: float, x: float) -> float:
    """By the series of x^n (a + b) .. (a + b + n - 1) / ((a + 1) .. (a + n)), or its mirror."""
    if not a > 0 or not b > 0 or not 0 <= x <= 1:
        return math.nan
    if x in (0, 1):
        return x
    if x > (a + 1) / (a + b + 2):
        return 1 - _betainc(b, a, 1 - x)
    scale = a * math.log(x) + b * math.log1p(-x) + math.lgamma(a + b)
    scale = math.exp(scale - math.lgamma(a) - math.lgamma(b)) / a
    total = term = 1.0
    for n in range(20000):
        term *= x * (a + b + n) / (a + 1 + n)
        total += term
        if term < 1e-18 * total:
            break
    return scale * total


def _each(function: Callable) -> Callable:
    return np.vectorize(function, otypes=[np.float64])


def special_functions(digamma: Callable) -> Dict[str, Tuple[int, Callable]]:
    """Name to (number of operands, meaning); `digamma` is that of `loop.functions`."""
    i0e, i1e, k0e, k1e = _bessel_ie(0), _bessel_ie(1), _bessel_ke(0), _bessel_ke(1)
    return {
        "bessel_i0e": (1, i0e),
        "bessel_i1e": (1, i1e),
        "bessel_i0": (1, lambda x: np.exp(np.abs(x)) * i0e(x)),
        "bessel_i1": (1, lambda x: np.exp(np.abs(x)) * i1e(x)),
        "bessel_k0e": (1, k0e),
        "bessel_k1e": (1, k1e),
        "bessel_k0": (1, lambda x: np.exp(-x) * k0e(x)),
        "bessel_k1": (1, lambda x: np.exp(-x) * k1e(x)),
        "bessel_j0": (1, _bessel_of_library("j0")),
        "bessel_j1": (1, _bessel_of_library("j1")),
        "bessel_y0": (1, _bessel_of_library("y0")),
        "bessel_y1": (1, _bessel_of_library("y1")),
        "dawsn": (1, _dawsn),
        "spence": (1, _spence),
        "expint": (1, _expint),
        "fresnel_cos": (1, _fresnel(True)),
        "fresnel_sin": (1, _fresnel(False)),
        "igamma": (2, _each(lambda a, x: _igamma_of(a, x, False))),
        "igammac": (2, _each(lambda a, x: _igamma_of(a, x, True))),
        "igamma_grad_a": (2, _each(_igamma_grad_a(digamma))),
        "zeta": (2, _each(_zeta)),
        "polygamma": (2, _each(_polygamma(digamma))),
        "betainc": (3, _each(_betainc)),
    }
