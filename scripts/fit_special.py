"""Fit the Chebyshev series of csrc/host/special_tables.h. Needs mpmath.

python scripts/fit_special.py > csrc/host/special_tables.h

Each series is that of a smooth factor of a function on [-1, 1], cut where its terms no longer show
in a double.
"""
from __future__ import annotations

from typing import Callable, List

import mpmath as mp

HEAD = """/* Chebyshev series on [-1, 1], first term halved: made by scripts/fit_special.py. */
#ifndef AUTOFUSE_HOST_SPECIAL_TABLES_H_
#define AUTOFUSE_HOST_SPECIAL_TABLES_H_
"""
TAIL = "\n#endif /* AUTOFUSE_HOST_SPECIAL_TABLES_H_ */"


def near(function: Callable, end: float) -> Callable:
    """`function` of x in [0, end]."""
    return lambda t: function((t + 1) * end / 2)


def far(function: Callable, start: float) -> Callable:
    """`function` of x >= start, by 1 / x."""
    return lambda t: function(2 * start / (t + 1))


def fit(function: Callable, points: int = 96) -> List[mp.mpf]:
    """Coefficients of the series through the Chebyshev points."""
    angles = [mp.pi * (k + mp.mpf(1) / 2) / points for k in range(points)]
    values = [function(mp.cos(angle)) for angle in angles]
    terms = [2 * mp.fsum(v * mp.cos(j * a) for v, a in zip(values, angles)) / points
             for j in range(points)]
    largest = max(abs(term) for term in terms)
    while abs(terms[-1]) < largest * mp.mpf(2) ** -56:
        terms.pop()
    terms[0] /= 2
    return terms


def scaled_k(order: int) -> Callable:
    return lambda x: mp.sqrt(x) * mp.exp(x) * mp.besselk(order, x)


def small_k0(square):
    """K0(x) + log(x / 2) I0(x) by x * x."""
    x = mp.sqrt(square)
    return mp.besselk(0, x) + mp.log(x / 2) * mp.besseli(0, x)


def small_k1(square):
    """(x K1(x) - x log(x / 2) I1(x)) by x * x."""
    x = mp.sqrt(square)
    return x * mp.besselk(1, x) - x * mp.log(x / 2) * mp.besseli(1, x)


def dawson(x):
    return mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x)


def auxiliary(x):
    """(f, g) with C = 1/2 + f sin(pi x x / 2) - g cos(..), S = 1/2 - f cos(..) - g sin(..)."""
    angle = mp.pi * x * x / 2
    cosine, sine = mp.mpf(1) / 2 - mp.fresnelc(x), mp.mpf(1) / 2 - mp.fresnels(x)
    return (sine * mp.cos(angle) - cosine * mp.sin(angle),
            cosine * mp.cos(angle) + sine * mp.sin(angle))


def root2(function: Callable) -> Callable:
    """`function` of x by x * x."""
    return lambda square: function(mp.sqrt(square))


def root4(function: Callable) -> Callable:
    """`function` of x by x^4."""
    return lambda power: function(mp.root(power, 4))


TABLES = {
    "kI0Near": near(lambda x: mp.exp(-x) * mp.besseli(0, x), 8),
    "kI0Far": far(lambda x: mp.sqrt(x) * mp.exp(-x) * mp.besseli(0, x), 8),
    "kI1Near": near(lambda x: mp.exp(-x) * mp.besseli(1, x) / x, 8),
    "kI1Far": far(lambda x: mp.sqrt(x) * mp.exp(-x) * mp.besseli(1, x), 8),
    "kK0Near": near(small_k0, 4),
    "kK0Far": far(scaled_k(0), 2),
    "kK1Near": near(small_k1, 4),
    "kK1Far": far(scaled_k(1), 2),
    "kDawsonNear": near(root2(lambda x: dawson(x) / x), 16),
    "kDawsonFar": far(root2(lambda x: 2 * x * dawson(x)), 16),
    "kSpence": lambda t: mp.polylog(2, t / 2) / (t / 2),
    "kFresnelC": near(root4(lambda x: mp.fresnelc(x) / x), 1.6 ** 4),
    "kFresnelS": near(root4(lambda x: mp.fresnels(x) / x ** 3), 1.6 ** 4),
    "kFresnelF": far(lambda square: mp.sqrt(square) * auxiliary(mp.sqrt(square))[0], 2.56),
    "kFresnelG": far(lambda square: square ** 1.5 * auxiliary(mp.sqrt(square))[1], 2.56),
}


def main() -> None:
    """Print the header."""
    mp.mp.dps = 60
    print(HEAD)
    for name, function in TABLES.items():
        terms = fit(function)
        print("static const double %s[%d] = {" % (name, len(terms)))
        print("".join("    %s,\n" % float(term).hex() for term in terms) + "};")
    print(TAIL)


if __name__ == "__main__":
    main()
