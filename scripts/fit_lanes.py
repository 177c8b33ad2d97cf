"""Fit the tables of csrc/host/lane_tables.h. Needs mpmath and numpy.

python scripts/fit_lanes.py > csrc/host/lane_tables.h

A function of a >= 0 is cut into 16 intervals by the upper bits of u = 0.5 + scale a, four of them
for every doubling of u up to 8. In each one it is a polynomial around a point whose value is a
float but for little, so that the constant term rounds nothing away.
"""
from __future__ import annotations

from typing import Callable, List, NamedTuple, Optional, Sequence

import mpmath as mp
import numpy as np

HEAD = """/* Polynomials in 16 intervals, entry 8 the first: made by scripts/fit_lanes.py. Rows are
 * the points they are around and the coefficients, lowest first. */
#ifndef AUTOFUSE_HOST_LANE_TABLES_H_
#define AUTOFUSE_HOST_LANE_TABLES_H_

#define AF_TABLE static const float __attribute__((aligned(64)))
"""
TAIL = "#endif /* AUTOFUSE_HOST_LANE_TABLES_H_ */"
LANES = 16
FIRST = 0.5


class Piece(NamedTuple):
    """A polynomial around `point`."""

    point: np.float32
    coefficients: List[np.float32]


def scale_of(top: float) -> np.float32:
    return np.float32((FIRST * 2 ** 4 - FIRST) / top)


def edges_of(scale: np.float32) -> List[float]:
    ends = [FIRST * 2 ** (k // 4) * (1 + k % 4 / 4) for k in range(LANES + 1)]
    return [(end - FIRST) / float(scale) for end in ends]


def exact(value: np.floating) -> mp.mpf:
    return mp.mpf(float(value))


def point_of(function: Callable, low: float, high: float) -> np.float32:
    """The float nearest to the middle, of some, whose value is a float but for a 200th unit."""
    middle = (low + high) / 2
    found = [np.float32(a) for a in np.linspace(low, high, 4001)]
    for point in sorted(found, key=lambda a: abs(float(a) - middle)):
        y = function(exact(point))
        nearest = np.float32(float(y))
        if abs(y - exact(nearest)) < exact(np.spacing(nearest)) / 200:
            return point
    raise ValueError("no such point between %r and %r" % (low, high))


def polynomial(x: np.ndarray, y: np.ndarray, weights: np.ndarray, powers: Sequence[int],
               ) -> List[np.float32]:
    """Coefficients of y over x for `powers`, each rounded before the next ones are fitted; the
    weighted error is made level by reweighted least squares."""
    coefficients, left, size = [], y.copy(), np.max(np.abs(x))
    for number, power in enumerate(powers):
        matrix = np.stack([(x / size) ** p for p in powers[number:]], 1) * weights[:, None]
        level = np.ones(len(x))
        for _ in range(30):
            root = np.sqrt(level)
            terms = np.linalg.lstsq(matrix * root[:, None], left * weights * root, rcond=None)[0]
            error = level * np.abs(matrix @ terms - left * weights) + 1e-300
            level = np.maximum(error / np.sum(error), 1e-12)
        coefficients.append(np.float32(terms[0] / size ** power))
        left = left - float(coefficients[-1]) * x ** power
    return coefficients


def nodes(low: float, high: float) -> np.ndarray:
    angles = np.pi * (np.arange(32) + 0.5) / 32
    return (low + high) / 2 + (high - low) / 2 * np.cos(angles)


def fit_around_point(function: Callable, low: float, high: float, degree: int) -> Piece:
    point = point_of(function, low, high)
    x = nodes(low, high)
    values = [function(mp.mpf(a)) for a in x]
    first = np.float32(float(function(exact(point))))
    y = np.array([float(value - exact(first)) for value in values])
    weights = 1 / np.array([abs(float(value)) for value in values])
    terms = polynomial(x - float(point), y, weights, range(1, degree + 1))
    return Piece(point, [first] + terms)


def fit_near_zero(function: Callable, high: float, degree: int) -> Piece:
    """function(a) = a + a q(a): the coefficients are those of q, and 0 before them."""
    x = nodes(0.0, high)
    y = np.array([float(function(mp.mpf(a)) / mp.mpf(a) - 1) for a in x])
    slope = np.float32(float(mp.diff(function, 0) - 1))
    terms = polynomial(x, y - float(slope), np.ones(len(x)), range(1, degree))
    return Piece(np.float32(0), [np.float32(0), slope] + terms)


def print_rows(name: str, rows: Sequence[Sequence[np.float32]],
               scale: Optional[np.float32] = None) -> None:
    if scale is not None:
        print("static const float %sScale = %sf;" % (name, float(scale).hex()))
    print("AF_TABLE %s[%d][%d] = {" % (name, len(rows), LANES))
    for row in rows:
        print("    {%s}," % ", ".join(float(v).hex() + "f" for v in row))
    print("};\n")


def print_table(name: str, function: Callable, top: float, degree: int, odd: bool) -> None:
    """The table of a function on [0, top]."""
    scale = scale_of(top)
    edges = edges_of(scale)
    pieces = [fit_around_point(function, a, b, degree) for a, b in zip(edges, edges[1:])]
    if odd:
        pieces[0] = fit_near_zero(function, edges[1], degree)
    pieces = pieces[8:] + pieces[:8]  # by the bits of u
    rows = [[piece.point for piece in pieces]]
    rows += [[piece.coefficients[k] for piece in pieces] for k in range(degree + 1)]
    print_rows(name, rows, scale)


def print_roots() -> None:
    """2^(j / 16) as pairs of floats."""
    roots = [mp.mpf(2) ** (mp.mpf(j) / LANES) for j in range(LANES)]
    high = [np.float32(float(root)) for root in roots]
    print_rows("kRoots", [high, [np.float32(float(root - exact(h)))
                                 for root, h in zip(roots, high)]])


def main() -> None:
    """Print the header."""
    mp.mp.prec = 120
    print(HEAD)
    print_table("kTanh", mp.tanh, 9.1, 5, odd=True)
    print_table("kErf", mp.erf, 3.96, 5, odd=True)
    print_table("kScaledErfc", lambda a: mp.exp(a * a) * mp.erfc(a), 10.1, 6, odd=False)
    print_roots()
    print(TAIL)


if __name__ == "__main__":
    main()
