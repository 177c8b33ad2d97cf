"""Rules of arithmetic that is more than one scalar operation."""
from __future__ import annotations

from typing import Callable, Dict

from tf_autofuse.errors import Unsupported
from tf_autofuse.loop.ops import ALL_FLOATS
from tf_autofuse.loop.rules.common import (
    apply,
    args_of,
    channel,
    const,
    in_float32,
    require,
    same_shape_in_float32,
)
from tf_autofuse.loop.source import Operator


def lower_natural(low, op: Operator, name: str):
    """exp or log; GE's base, scale and shift must be the natural ones."""
    require(op, base=-1.0, scale=1.0, shift=0.0)
    return apply(low, name, args_of(low, op))


def lower_square(low, op: Operator, _: str):
    """x * x"""
    (x,) = args_of(low, op)
    return apply(low, "mul", [x, x])


def lower_reciprocal(low, op: Operator, _: str):
    """1 / x"""
    return in_float32(low, args_of(low, op), lambda x: low.map("div", [const(low, x, 1), x]))


def lower_squared_difference(low, op: Operator, _: str):
    """(a - b) * (a - b)"""

    def body(a, b):
        difference = low.map("sub", [a, b])
        return low.map("mul", [difference, difference])

    return in_float32(low, args_of(low, op), body)


def lower_pow(low, op: Operator, _: str):
    """x ** y; of integers only with a constant y >= 0, since TensorFlow refuses negative ones."""
    args = args_of(low, op)
    if args[0].dtype in ALL_FLOATS:
        return apply(low, "pow", args)
    exponent = low.constant(op.inputs[1])
    if exponent is None or exponent < 0:
        raise Unsupported("integer power that may be negative", node=op.name, code="ATTR")
    return apply(low, "int_pow", args)


def lower_bias_add(low, op: Operator, _: str):
    """x + bias along the channel dim of `data_format`."""
    x, bias = args_of(low, op)
    position = channel(op, len(x.dims))
    low.unify(x.dims[position], bias.dims[0])
    trailing = len(x.dims) - 1 - position
    bias = bias._replace(dims=bias.dims + (None,) * trailing)
    return apply(low, "add", [x, bias])


def lower_add_n(low, op: Operator, _: str):
    """Sum of all inputs, from left to right."""

    def body(*terms):
        total = terms[0]
        for term in terms[1:]:
            total = low.map("add", [total, term])
        return total

    return same_shape_in_float32(low, op, body)


ARITHMETIC: Dict[str, Callable] = {
    "natural": lower_natural,
    "square": lower_square,
    "reciprocal": lower_reciprocal,
    "squared_difference": lower_squared_difference,
    "pow": lower_pow,
    "bias_add": lower_bias_add,
    "add_n": lower_add_n,
}
