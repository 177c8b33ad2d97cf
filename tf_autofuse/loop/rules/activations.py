"""Rules of activations and gradients.

The order of operations in the gradients is that of TensorFlow's functors, which shows in the last
bit and in NaN and signed zeros.
"""
from __future__ import annotations

from typing import Callable, Dict

from tf_autofuse.loop.rules.common import (
    apply,
    args_of,
    const,
    in_float32,
    require,
    same_shape_in_float32,
)
from tf_autofuse.loop.source import Operator


def lower_relu(low, op: Operator, _: str):
    """max(x, 0)"""
    (x,) = args_of(low, op)
    return low.map("max", [x, const(low, x, 0)])


def lower_relu6(low, op: Operator, _: str):
    """min(max(x, 0), 6)"""
    return low.map("min", [lower_relu(low, op, ""), const(low, low.tensor(op.inputs[0]), 6)])


def lower_swish(low, op: Operator, _: str):
    """x * sigmoid(x), rounded once"""
    (x,) = args_of(low, op)
    wide = low.widen(x)
    return low.cast(low.map("mul", [wide, low.map("sigmoid", [wide])]), x.dtype)


def lower_elu(low, op: Operator, _: str):
    """x, or e^x - 1 below 0; GE's alpha and scales must be 1."""
    require(op, alpha=1.0, scale=1.0, input_scale=1.0)
    return apply(low, "elu", args_of(low, op))


def lower_leaky_relu(low, op: Operator, _: str):
    """x, or slope * x where x is not above 0"""

    def body(x):
        positive = low.map("gt", [x, const(low, x, 0)], "bool")
        return low.map("select", [positive, x, low.map("mul", [x, _slope(low, op, x)])])

    return in_float32(low, args_of(low, op), body)


def _slope(low, op: Operator, like):
    return low.const(float(op.attrs.get("negative_slope", 0.2)), like.dtype)


def lower_leaky_relu_grad(low, op: Operator, _: str):
    """dy, or slope * dy where x is not above 0"""

    def body(dy, x):
        positive = low.map("gt", [x, const(low, x, 0)], "bool")
        return low.map("select", [positive, dy, low.map("mul", [dy, _slope(low, op, dy)])])

    return same_shape_in_float32(low, op, body)


def lower_relu_grad(low, op: Operator, _: str):
    """dy * (x > 0): a product, so an infinite gradient gives NaN where x <= 0, as TF's does."""

    def body(dy, x):
        positive = low.map("gt", [x, const(low, x, 0)], "bool")
        return low.map("mul", [dy, low.cast(positive, dy.dtype)])

    return same_shape_in_float32(low, op, body)


def lower_relu6_grad(low, op: Operator, _: str):
    """dy * (x > 0 and x < 6)"""

    def body(dy, x):
        positive = low.map("gt", [x, const(low, x, 0)], "bool")
        small = low.map("lt", [x, const(low, x, 6)], "bool")
        inside = low.map("and", [positive, small])
        return low.map("mul", [dy, low.cast(inside, dy.dtype)])

    return same_shape_in_float32(low, op, body)


def lower_gradient(low, op: Operator, name: str):
    """A gradient of two operands of one shape, one rounding in all."""
    return same_shape_in_float32(low, op, lambda a, b: low.map(name, [a, b]))


ACTIVATIONS: Dict[str, Callable] = {
    "relu": lower_relu,
    "relu6": lower_relu6,
    "swish": lower_swish,
    "elu": lower_elu,
    "leaky_relu": lower_leaky_relu,
    "leaky_relu_grad": lower_leaky_relu_grad,
    "relu_grad": lower_relu_grad,
    "relu6_grad": lower_relu6_grad,
    "gradient": lower_gradient,
}
