"""Fit the rational functions of csrc/host/loose_math.h. Needs mpmath and numpy.

python scripts/fit_loose.py prints the coefficients of P and Q, lowest first.

P / Q is made level by reweighted least squares. Its lowest coefficients are floats whose ratio is
the function's own at 0; of the others one after the other is rounded to that neighbour with which
the rest can be fitted best.
"""
from __future__ import annotations

import math
from typing import Callable, Dict, List, NamedTuple, Tuple

import mpmath as mp
import numpy as np

Terms = Dict[int, float]


class Fit(NamedTuple):
    """The largest relative error, and coefficients by their power."""

    error: float
    p: Terms
    q: Terms


class Target:
    """A function y of x, as values at points."""

    def __init__(self, x: np.ndarray, y: np.ndarray, degrees: Tuple[int, int]) -> None:
        self.x, self.y, self.degrees = x, y, degrees

    def fit(self, p: Terms, q: Terms, start: np.ndarray, rounds: int) -> Fit:
        """P / Q with the coefficients given; `start` is a first idea of Q."""
        free_p, free_q = ([k for k in range(degree + 1) if k not in given]
                          for degree, given in zip(self.degrees, (p, q)))
        known = self.y * self.value(q) - self.value(p)
        best, level = Fit(np.inf, p, q), np.ones_like(self.x)
        for number in range(rounds):
            weights = np.sqrt(level) / self.y / start
            terms: List[float] = []
            if free_p or free_q:
                columns = [self.x ** k for k in free_p] + [-self.y * self.x ** k for k in free_q]
                matrix = np.stack(columns, 1) * weights[:, None]
                size = np.linalg.norm(matrix, axis=0)
                terms = list(np.linalg.lstsq(matrix / size, known * weights, rcond=None)[0] / size)
            one = {**p, **dict(zip(free_p, terms))}
            two = {**q, **dict(zip(free_q, terms[len(free_p):]))}
            below = self.value(two)
            error = np.abs(self.value(one) / below / self.y - 1)
            if error.max() < best.error and np.all(below > 0):
                best = Fit(float(error.max()), one, two)
            if np.all(below > 0):
                start = below
            if number > 2:
                level = level * (error / error.max() + 1e-3)
                level /= level.mean()
        return best

    def value(self, terms: Terms) -> np.ndarray:
        return sum((c * self.x ** k for k, c in terms.items()), np.zeros_like(self.x))

    def rounded(self, first: Tuple[float, float], start: np.ndarray) -> Fit:
        """The fit whose coefficients are floats."""
        p, q = {0: first[0]}, {0: first[1]}
        best = self.fit(p, q, start, 150)
        for power in range(1, max(self.degrees) + 1):
            for terms, found in ((q, "q"), (p, "p")):
                if power > self.degrees[found == "q"]:
                    continue
                near = np.float32(getattr(best, found)[power])
                tried = []
                for way in (0, 1, -1):
                    terms[power] = float(near if way == 0 else np.nextafter(
                        near, np.float32(9 * way)))
                    tried.append((self.fit(dict(p), dict(q), start, 60), terms[power]))
                best, terms[power] = min(tried, key=lambda one: one[0].error)
        return best


def points(top: float, powers: Tuple[int, ...]) -> np.ndarray:
    """Chebyshev points of [0, top], denser near 0 for higher powers."""
    nodes = (1 + np.cos(np.pi * (np.arange(400) + 0.5) / 400)) / 2
    return np.sort(np.concatenate([top * nodes ** power for power in powers]))


def of_square(function: Callable[[float], float], top: float, degrees: Tuple[int, int]) -> Target:
    """function(x) / x by x * x."""
    x = points(top, (1, 2))
    return Target(x * x, np.array([function(v) / v for v in x]), degrees)


def rest_of_erfc() -> Target:
    """erfc(a) e^(a^2), and what n is off that was multiplied by a float near ln(2)."""
    off = (mp.mpf(float(np.float32(math.log(2)))) - mp.log(2)) / mp.log(2)
    a = points(9.25, (1, 3))
    values = [mp.exp(v * v * (1 - off)) * mp.erfc(v) for v in map(mp.mpf, a)]
    return Target(a, np.array([float(v) for v in values]), (4, 5))


def bend_of_log1p() -> Target:
    """(log1p(x) / x - 1) / x."""
    x = points(1.0, (1, 2))
    values = [(mp.log1p(v) / v - 1) / v for v in map(mp.mpf, x)]
    return Target(x, np.array([float(v) for v in values]), (2, 3))


def pair_of(ratio: float) -> Tuple[float, float]:
    """Floats from 1 to 2 of that ratio, nearly, with few bits in the second."""
    seconds = [1 + k / 4096 for k in range(3000)]
    best = min(seconds, key=lambda q: abs(float(np.float32(q * ratio)) / (q * ratio) - 1))
    return float(np.float32(best * ratio)), best


def show(name: str, fit: Fit) -> None:
    print("%s: 2^%.2f" % (name, math.log2(fit.error)))
    for letter, terms in (("P", fit.p), ("Q", fit.q)):
        print("  %s %s" % (letter, ", ".join(terms[k].hex() for k in sorted(terms))))


def main() -> None:
    """Print the coefficients of all functions."""
    mp.mp.prec = 200
    tanh = of_square(math.tanh, 9.02, (5, 4))
    show("tanh", tanh.rounded((1.0, 1.0), 1 + tanh.x / 3))
    erf = of_square(math.erf, 3.925, (5, 5))
    show("erf", erf.rounded(pair_of(2 / math.sqrt(math.pi)), 1 + erf.x / 3))
    erfc = rest_of_erfc()
    show("erfc", erfc.rounded((1.0, 1.0), (1 + erfc.x) ** 5))
    log1p = bend_of_log1p()
    show("log1p", log1p.rounded((-0.5, 1.0), 1 + log1p.x))


if __name__ == "__main__":
    main()
