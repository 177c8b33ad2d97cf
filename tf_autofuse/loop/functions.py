"""Numpy meanings of the loop IR's real functions, in float64.

A function of this module is evaluated in float64 and rounded once, so a gradient or an activation
that TensorFlow computes in several steps is one operation here. NaN, infinities and signed zeros
follow TensorFlow's functors.
"""
from __future__ import annotations

import math
from typing import Callable, Dict, Tuple

import numpy as np

from tf_autofuse.loop.special import special_functions

SELU_SCALE = 1.0507009873554804934193349852946
SELU_ALPHA = 1.6732632423543772848170429916717
SELU_SCALE_ALPHA = 1.7580993408473768599402175208123

_erf = np.vectorize(math.erf, otypes=[np.float64])
_erfc = np.vectorize(math.erfc, otypes=[np.float64])


@np.vectorize
def _lgamma(x: float) -> float:
    if math.isinf(x) or (x <= 0 and x == math.floor(x)):
        return math.inf
    return math.lgamma(x)


def _sign(x):
    return np.where(np.isnan(x), x, np.sign(x) + 0.0)


def _digamma(x):
    """Recurrence up to 10, then the asymptotic series; reflection below 0, NaN at its poles."""
    pole = (x <= 0) & (x == np.floor(x))
    mirrored = x < 0
    safe = np.where(pole, 1.0, np.where(mirrored, 1 - x, x))
    total = np.zeros_like(safe)
    for _ in range(10):
        small = safe < 10
        total = np.where(small, total - 1 / safe, total)
        safe = np.where(small, safe + 1, safe)
    y = 1 / (safe * safe)
    series = 0.0
    for coefficient in (1 / 12, -691 / 32760, 1 / 132, -1 / 240, 1 / 252, -1 / 120, 1 / 12):
        series = series * y + coefficient
    value = total + np.log(safe) - 0.5 / safe - series * y
    fraction = x - np.rint(x)
    value = np.where(mirrored, value - math.pi / np.tan(math.pi * fraction), value)
    return np.where(pole, np.nan, value)


def _inverse_erfc(q):
    """y >= 0 with erfc(y) = q for 0 < q <= 1, by Halley's steps from a rough start."""
    log = np.log(q * (2 - q))
    t = 2 / (math.pi * 0.147) + 0.5 * log
    y = np.sqrt(np.maximum(np.sqrt(t * t - log / 0.147) - t, 0))
    for _ in range(3):
        step = (q - _erfc(y)) / (2 / math.sqrt(math.pi) * np.exp(-y * y))
        y = y - step / (1 + y * step)
    return y


def _erfinv(x):
    a = np.minimum(np.abs(x), 1.0)
    inner = np.minimum(a, 0.5)
    y = inner * (math.sqrt(math.pi) / 2) * (1 + math.pi / 12 * inner * inner)
    for _ in range(3):
        step = (_erf(y) - inner) / (2 / math.sqrt(math.pi) * np.exp(-y * y))
        y = y - step / (1 + y * step)
    tail = np.where(a < 1, _inverse_erfc(np.where(a < 1, 1 - a, 1.0)), np.inf)
    y = np.copysign(np.where(a < 0.5, y, tail), x) + 0.0
    return np.where(np.abs(x) <= 1, y, np.nan)


def _ndtri(p):
    low = np.minimum(p, 1 - p)
    inside = (low > 0) & (low <= 0.5)
    y = math.sqrt(2) * _inverse_erfc(np.where(inside, 2 * low, 1.0))
    y = np.where(inside, y, np.where(low == 0, np.inf, np.nan))
    return np.where(p < 0.5, -y, y)


def _softplus(x):
    return np.log1p(np.exp(-np.abs(x))) + np.maximum(x, 0)


def _selu(x):
    return np.where(x < 0, SELU_SCALE_ALPHA * np.expm1(x), SELU_SCALE * x)


def _elu(x):
    return np.where(x < 0, np.expm1(x), x)


def _mul_no_nan(a, b):
    """a * b, but 0 wherever b is 0."""
    return np.where(b == 0, 0.0, a * b)


def _floor_mod(a, b):
    rest = np.fmod(a, b)
    return np.where((rest != 0) & ((b < 0) != (rest < 0)), rest + b, rest)


REAL_FUNCTIONS: Dict[str, Tuple[int, Callable]] = {
    "exp": (1, np.exp),
    "log": (1, np.log),
    "rsqrt": (1, lambda x: 1 / np.sqrt(x)),
    "tanh": (1, np.tanh),
    "sigmoid": (1, lambda x: 1 / (1 + np.exp(-x))),
    "floor": (1, np.floor),
    "ceil": (1, np.ceil),
    "rint": (1, np.rint),
    "trunc": (1, np.trunc),
    "sign": (1, _sign),
    "sin": (1, np.sin),
    "cos": (1, np.cos),
    "tan": (1, np.tan),
    "asin": (1, np.arcsin),
    "acos": (1, np.arccos),
    "atan": (1, np.arctan),
    "sinh": (1, np.sinh),
    "cosh": (1, np.cosh),
    "asinh": (1, np.arcsinh),
    "acosh": (1, np.arccosh),
    "atanh": (1, np.arctanh),
    "expm1": (1, np.expm1),
    "log1p": (1, np.log1p),
    "erf": (1, _erf),
    "erfc": (1, _erfc),
    "erfinv": (1, _erfinv),
    "ndtri": (1, _ndtri),
    "lgamma": (1, _lgamma),
    "digamma": (1, _digamma),
    "softplus": (1, _softplus),
    "softsign": (1, lambda x: x / (1 + np.abs(x))),
    "elu": (1, _elu),
    "selu": (1, _selu),
    "pow": (2, np.power),
    "atan2": (2, np.arctan2),
    "fmod": (2, np.fmod),
    "floor_mod": (2, _floor_mod),
    "mul_no_nan": (2, _mul_no_nan),
    "div_no_nan": (2, lambda a, b: np.where(b == 0, 0.0, a / b)),
    "xdivy": (2, lambda x, y: np.where(x == 0, x, x / y)),
    "xlogy": (2, lambda x, y: np.where(x == 0, x, x * np.log(y))),
    "xlog1py": (2, lambda x, y: np.where(x == 0, x, x * np.log1p(y))),
    "tanh_grad": (2, lambda y, dy: dy * (1 - y * y)),
    "sigmoid_grad": (2, lambda y, dy: dy * (y * (1 - y))),
    "rsqrt_grad": (2, lambda y, dy: _mul_no_nan(-0.5 * (y * y), _mul_no_nan(y, dy))),
    "sqrt_grad": (2, lambda y, dy: _mul_no_nan(0.5 / y, dy)),
    "reciprocal_grad": (2, lambda y, dy: _mul_no_nan(-(y * y), dy)),
    "elu_grad": (2, lambda dy, y: np.where(y < 0, dy * (y + 1), dy)),
    "selu_grad": (
        2, lambda dy, y: np.where(y < 0, dy * (y + SELU_SCALE_ALPHA), dy * SELU_SCALE),
    ),
    "softplus_grad": (2, lambda dy, x: dy / (np.exp(-x) + 1)),
    "softsign_grad": (2, lambda dy, x: dy / ((1 + np.abs(x)) * (1 + np.abs(x)))),
}
_SPECIAL = special_functions(_digamma)
REAL_FUNCTIONS.update(_SPECIAL)
"""Name to (number of operands, meaning). In the gradients of a result `y` and the incoming `dy`
come in the order TensorFlow has them."""

IN_DOUBLE = frozenset(_SPECIAL) | frozenset(
    ("erf", "erfc", "erfinv", "ndtri", "lgamma", "digamma"))
"""Functions whose meanings have no more digits than a double, whatever they are given."""


def wide(function: Callable) -> Callable:
    """Evaluate in float64, or what is wider, and round once: correctly rounded for float32."""

    def rounded(*args):
        kind = np.result_type(*args)
        inside = np.promote_types(kind, "float64")
        return function(*[x.astype(inside) for x in args]).astype(kind)

    return rounded


def require(met, x):
    """x; IndexError unless `met` holds everywhere."""
    if not np.all(met):
        raise IndexError("a requirement of the kernel is not met")
    return np.broadcast_arrays(x, met)[0]


def _no_zero_divisor(b) -> None:
    if np.any(b == 0):
        raise ZeroDivisionError("integer division by zero")


def trunc_div(a, b):
    """Integer quotient rounded towards zero; the lowest integer by -1 wraps to itself."""
    _no_zero_divisor(b)
    quotient = np.where(b == -1 if b.dtype.kind == "i" else False, np.negative(a), a // b)
    short = ((a < 0) != (b < 0)) & (a != quotient * b)
    return np.where(short, quotient + 1, quotient).astype(a.dtype)


def trunc_mod(a, b):
    """a - trunc_div(a, b) * b: the sign of a."""
    return (a - trunc_div(a, b) * b).astype(a.dtype)


def floor_div(a, b):
    """Integer quotient rounded down; the lowest integer by -1 wraps to itself."""
    quotient = trunc_div(a, b)
    below = ((a < 0) != (b < 0)) & (a != quotient * b)
    return np.where(below, quotient - 1, quotient).astype(a.dtype)


def int_floor_mod(a, b):
    """a - floor_div(a, b) * b: the sign of b."""
    return (a - floor_div(a, b) * b).astype(a.dtype)


def _distance(a, b):
    return np.clip(b, 0, np.array(a.dtype.itemsize * 8 - 1, b.dtype))


def shift_left(a, b):
    """a << b with b brought into 0 .. bits - 1."""
    unsigned = "u%d" % a.dtype.itemsize
    return (a.astype(unsigned) << _distance(a, b).astype(unsigned)).astype(a.dtype)


def shift_right(a, b):
    """a >> b, keeping the sign, with b brought into 0 .. bits - 1."""
    return a >> _distance(a, b)


def int_pow(a, b):
    """a ** b for b >= 0, wrapping."""
    return np.power(a, b)


def count_bits(a):
    """Number of one bits, as uint8."""
    bits = np.unpackbits(np.ascontiguousarray(a)[..., None].view(np.uint8), axis=-1)
    return bits.sum(axis=-1, dtype=np.uint8)


INT_FUNCTIONS: Dict[str, Tuple[int, Callable]] = {
    "trunc_div": (2, trunc_div),
    "trunc_mod": (2, trunc_mod),
    "floor_div": (2, floor_div),
    "int_floor_mod": (2, int_floor_mod),
    "int_sign": (1, np.sign),
    "int_pow": (2, int_pow),
    "bit_not": (1, np.invert),
    "bit_and": (2, np.bitwise_and),
    "bit_or": (2, np.bitwise_or),
    "bit_xor": (2, np.bitwise_xor),
    "shift_left": (2, shift_left),
    "shift_right": (2, shift_right),
}
