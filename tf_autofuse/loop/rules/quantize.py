"""Rules of simulated quantisation: values rounded to a grid of 2^bits steps, still as floats.

The order of operations is that of TensorFlow's functors, because a last bit decides which grid
point a value between two of them goes to.
"""
from __future__ import annotations

from typing import Callable, Dict, NamedTuple

import numpy as np

from tf_autofuse.errors import Unsupported
from tf_autofuse.loop.rules.common import args_of, const
from tf_autofuse.loop.source import Operator


class _Grid(NamedTuple):
    """Lowest and highest value, the distance of grid points and its inverse, all float32."""

    low: object
    high: object
    step: object
    inverse: object


def _levels(op: Operator):
    lowest = 1 if op.attrs.get("narrow_range", False) else 0
    return float(lowest), float((1 << int(op.attrs.get("num_bits", 8))) - 1)


def _nudged(low, op: Operator, least, most) -> _Grid:
    """The grid over [least, most], moved so that 0 is one of its points."""
    first, last = _levels(op)
    width = low.map("sub", [most, least])
    count = const(low, least, last - first)
    step, inverse = low.map("div", [width, count]), low.map("div", [count, width])
    start = const(low, least, first)
    zero = low.map("sub", [start, low.map("div", [least, step])])
    rounded = _round_away(low, zero)
    rounded = _where(low, "lt", zero, start, start, rounded)
    rounded = _where(low, "gt", zero, const(low, least, last), const(low, least, last), rounded)
    below = low.map("mul", [low.map("sub", [start, rounded]), step])
    above = low.map("mul", [low.map("sub", [const(low, least, last), rounded]), step])
    return _Grid(below, above, step, inverse)


def _where(low, test: str, left, right, yes, no):
    return low.map("select", [low.map(test, [left, right], "bool"), yes, no])


def _round_away(low, x):
    """x >= 0 rounded to the nearest integer, ties upwards."""
    whole = low.map("trunc", [x])
    rest = low.map("sub", [x, whole])
    up = low.map("add", [whole, const(low, x, 1)])
    return _where(low, "ge", rest, const(low, x, 0.5), up, whole)


def _bounds(low, op: Operator):
    """The attributes `min` and `max` as constants."""
    return [low.const(float(np.float32(op.attrs.get(name, default))), "float32")
            for name, default in (("min", -6.0), ("max", 6.0))]


def _clamped(low, x, least, most):
    """x, or the bound it lies beyond; NaN and, between zeros, the sign of x stay."""
    x = _where(low, "lt", most, x, most, x)
    return _where(low, "lt", x, least, least, x)


def _unranged(low, least, most):
    """min and max both 0: there is no grid."""
    zero = const(low, least, 0)
    return low.map("and", [low.map("eq", [least, zero], "bool"),
                           low.map("eq", [most, zero], "bool")])


def lower_fake_quant(low, op: Operator, divides: str):
    """floor((clamped - low) / step - offset + 0.5) * step; 0 where min and max are 0.

    `divides` is "div" where TensorFlow divides by the step and "mul" where it multiplies by the
    inverse.
    """
    args = args_of(low, op)
    x = args[0]
    least, most = args[1:] or _bounds(low, op)
    grid = _nudged(low, op, least, most)
    half = const(low, x, 0.5)
    offset = low.map("mul", [low.map("neg", [grid.low]), grid.inverse])
    offset = low.map("floor", [low.map("add", [offset, half])])
    scaled = low.map("sub", [_clamped(low, x, grid.low, grid.high), grid.low])
    scaled = low.map(divides, [scaled, grid.step if divides == "div" else grid.inverse])
    scaled = low.map("add", [low.map("sub", [scaled, offset]), half])
    result = low.map("mul", [low.map("floor", [scaled]), grid.step])
    if len(args) == 1:
        return result
    return low.map("select", [_unranged(low, least, most), const(low, x, 0), result])


def lower_fake_quant_grad(low, op: Operator, _: str):
    """The gradient inside the grid; of `min` and `max` the sums of what is below and above."""
    args = args_of(low, op)
    dy, x = low.same_shape(args[:2])
    least, most = args[2:] or _bounds(low, op)
    grid = _nudged(low, op, least, most)
    inside = low.map("and", [low.map("ge", [x, grid.low], "bool"),
                             low.map("le", [x, grid.high], "bool")])
    result = low.map("mul", [dy, low.cast(inside, dy.dtype)])
    if len(args) == 2:
        return result
    unranged = _unranged(low, least, most)
    over = range(len(x.dims) - len(least.dims))
    sums = []
    for test, bound in (("lt", grid.low), ("gt", grid.high)):
        outside = low.cast(low.map(test, [x, bound], "bool"), dy.dtype)
        total = low.reduce("sum", low.map("mul", [dy, outside]), list(over), False)
        sums.append(low.map("select", [unranged, const(low, dy, 0), total]))
    return [low.map("select", [unranged, dy, result])] + sums


def _scale(op: Operator, least: float, most: float, bits: int, kind):
    """(lowest, highest, scale, inverse) of a range in which 0 stays 0; arithmetic of type `kind`.

    The side of the range that asks for the smaller scale decides it.
    """
    signed = bool(op.attrs.get("signed_input", True))
    narrow = bool(op.attrs.get("narrow_range", False))
    first = kind((-(1 << (bits - 1)) + int(narrow)) if signed else 0)
    last = kind((1 << (bits - 1)) - 1 if signed else (1 << bits) - 1)
    least, most = kind(least), kind(most)
    largest = np.finfo(kind).max
    from_least = first / least if first * least > 0 else largest
    from_most = last / most if last * most > 0 else largest
    if from_least < from_most:
        inverse = least / first
        return least, last * inverse, from_least, inverse
    inverse = most / last
    return first * inverse, most, from_most, inverse


def lower_quantize_and_dequantize(low, op: Operator, _: str):
    """round(clamp(x) * scale) / scale for a constant range and one scale for the whole tensor."""
    x = low.tensor(op.inputs[0])
    if len(op.inputs) == 1:  # the first version of the operator
        least, most = (op.attrs.get(name, 0.0) for name in ("input_min", "input_max"))
    else:
        least, most = (low.constant(ref) for ref in op.inputs[1:3])
    bits = int(op.attrs.get("num_bits", 8)) if len(op.inputs) < 4 else low.constant(op.inputs[3])
    if not op.attrs.get("range_given", False) or None in (least, most, bits) or least > most:
        raise Unsupported("the range is not constant", node=op.name, code="ATTR")
    if op.attrs.get("axis", -1) != -1 or not 2 <= bits <= 24:
        raise Unsupported("%s by channels" % op.type, node=op.name, code="ATTR")
    kind = np.float32 if x.dtype == "float32" else np.float64
    with np.errstate(all="ignore"):
        numbers = _scale(op, least, most, int(bits), kind)
    lowest, highest, scale, inverse = (low.const(float(n), x.dtype) for n in numbers)
    scaled = low.map("mul", [_clamped(low, x, lowest, highest), scale])
    if op.attrs.get("round_mode", "HALF_TO_EVEN") == "HALF_UP":
        rounded = low.map("floor", [low.map("add", [scaled, const(low, x, 0.5)])])
    else:
        rounded = low.map("rint", [scaled])
    return low.map("mul", [rounded, inverse])


def lower_quantize_and_dequantize_grad(low, op: Operator, _: str):
    """The gradient where min <= x <= max, else 0."""
    args = args_of(low, op)
    dy, x = low.same_shape(args[:2])
    least, most = args[2:4]
    if op.attrs.get("axis", -1) != -1 or least.dims or most.dims:
        raise Unsupported("%s by channels" % op.type, node=op.name, code="ATTR")
    inside = low.map("and", [low.map("ge", [x, least], "bool"), low.map("le", [x, most], "bool")])
    return low.map("mul", [dy, low.cast(inside, dy.dtype)])


QUANTIZE: Dict[str, Callable] = {
    "fake_quant": lower_fake_quant,
    "fake_quant_grad": lower_fake_quant_grad,
    "quantize_and_dequantize": lower_quantize_and_dequantize,
    "quantize_and_dequantize_grad": lower_quantize_and_dequantize_grad,
}
