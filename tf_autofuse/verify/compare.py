"""When a fused result is as good as that of its operators.

Against a float64 reference a kernel is at most as wrong as its operators one by one, or one unit in
the last place of the type; held by the root mean square and the largest error of a tensor, as in a
single element either may be luckier. NaN, infinities and integers are equal.
"""

from __future__ import annotations

from typing import Tuple

import numpy as np

from tf_autofuse.loop import interp

_DIGITS = {"float32": (24, -149), "float16": (11, -24), "bfloat16": (8, -133),
           "float64": (53, -1074)}  # fmt: skip


def difference(
    got: np.ndarray, expected: np.ndarray, exact: np.ndarray, dtype: str
) -> Tuple[str, float]:
    """(what is wrong, or "", largest error in units in the last place of the largest value).

    `got` and `expected` are in the memory form of `dtype`, `exact` is float64 or longdouble for
    floats. Where it has no more digits than `dtype`, it may itself be wrong by a few units.
    """
    if got.shape != expected.shape:
        return "shape {} instead of {}".format(got.shape, expected.shape), 0.0
    if dtype not in _DIGITS:
        wrong = int(np.count_nonzero(got != expected))
        return ("{} of {} elements differ".format(wrong, got.size) if wrong else ""), 0.0
    with np.errstate(all="ignore"):
        return _floats(interp.decode(got, dtype).astype(np.float64),
                       interp.decode(expected, dtype).astype(np.float64),
                       np.asarray(exact), dtype)  # fmt: skip


def _floats(
    got: np.ndarray, expected: np.ndarray, exact: np.ndarray, dtype: str
) -> Tuple[str, float]:
    # A NaN or infinity of the operators may be their own slip, an overflow on the way.
    finite = np.isfinite(got) & np.isfinite(expected) & np.isfinite(exact)
    same = finite | (got == expected) | (np.isnan(got) & np.isnan(expected))
    overflow = np.abs(exact) >= float(np.finfo("float32" if dtype == "bfloat16" else dtype).max)
    slip = ~np.isfinite(expected) & ((got == exact) | (np.isfinite(exact) & np.isfinite(got)))
    odd = ~(same | slip | (overflow & (got == np.copysign(np.inf, exact))))
    if odd.any():
        where = np.flatnonzero(odd)[0]
        text = "{} of {} elements differ, first {!r} instead of {!r}"
        values = (float(got.reshape(-1)[where]), float(expected.reshape(-1)[where]))
        return text.format(int(odd.sum()), odd.size, *values), 0.0
    if not finite.any():
        return "", 0.0
    ours, theirs = (np.abs(side - exact)[finite] for side in (got, expected))
    if dtype == "float64" and np.finfo(exact.dtype).nmant < 60:
        theirs = theirs + 4 * _ulp(exact[finite], dtype)
    unit = float(_ulp(np.max(np.abs(exact[finite])), dtype))
    worst = float(ours.max()) / unit
    too_wide = ours.max() > 2 * theirs.max() + unit
    if too_wide or _rms(ours) > 1.05 * _rms(theirs) + unit:
        text = "off by {:.3g} at most, its operators one by one by {:.3g}"
        return text.format(float(ours.max()), float(theirs.max())), worst
    return "", worst


def _rms(error: np.ndarray) -> float:
    return float(np.sqrt(np.mean(error * error)))


def _ulp(values: np.ndarray, dtype: str) -> np.ndarray:
    """Distance of values to the next number of `dtype`."""
    bits, lowest = _DIGITS[dtype]
    exponent = np.floor(np.log2(np.maximum(np.abs(values), 2.0**-1000)))
    return np.exp2(np.maximum(exponent - (bits - 1), lowest))
