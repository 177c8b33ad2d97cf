"""Lowering rules: one function per kind of operator, named by the op table (`ops.OPS[..].lower`).

A rule gets the lowering, the operator and the argument after the colon of its name, and returns
the lowered result. Float16 and bfloat16 arithmetic is done in float32 and rounded once per
TensorFlow operator, so that every rounding the user wrote stays; exact operations stay narrow.
The order of operations in the gradients is that of TensorFlow's functors, which shows in the last
bit and in NaN and signed zeros.
"""
from __future__ import annotations

from typing import Callable, Dict, Sequence

from tf_autofuse.errors import Unsupported
from tf_autofuse.loop.ops import ALL_FLOATS, MAP_OPS, NARROW_FLOATS
from tf_autofuse.loop.source import Operator
from tf_autofuse.loop.views import VIEW_RULES

COMPARES = frozenset(("eq", "ne", "lt", "le", "gt", "ge"))


def _args(low, op: Operator):
    return [low.tensor(ref) for ref in op.inputs]


def lower_map(low, op: Operator, name: str):
    """One scalar operation on all inputs."""
    return _map(low, name, _args(low, op))


def _map(low, name: str, args: Sequence):
    # Broadcast first, in the memory form: only a load can be re-read as a run-time broadcast.
    args, _ = low.broadcast(args)
    dtype = args[-1].dtype
    if dtype in NARROW_FLOATS and dtype not in MAP_OPS[name].dtypes:
        wide = low.map(name, [low.widen(arg) for arg in args])
        return low.cast(wide, dtype)
    if name in COMPARES:
        return low.map(name, args, "bool")
    return low.map(name, args)


def _in_float32(low, args: Sequence, body: Callable):
    """Apply `body` to the widened args and round once to the dtype of the first."""
    args, _ = low.broadcast(args)
    return low.cast(body(*[low.widen(arg) for arg in args]), args[0].dtype)


def _same_shape_in_float32(low, op: Operator, body: Callable):
    """`_in_float32` for operators whose inputs must have one shape."""
    return _in_float32(low, low.same_shape(_args(low, op)), body)


def _const(low, like, value: float):
    return low.const(int(value) if like.dtype not in ALL_FLOATS else float(value), like.dtype)


def lower_relu(low, op: Operator, _: str):
    """max(x, 0)"""
    (x,) = _args(low, op)
    return low.map("max", [x, _const(low, x, 0)])


def lower_exp(low, op: Operator, _: str):
    """exp(x); GE's base, scale and shift must be the natural ones."""
    return _natural(low, op, "exp")


def lower_log(low, op: Operator, _: str):
    """log(x); GE's base, scale and shift must be the natural ones."""
    return _natural(low, op, "log")


def _natural(low, op: Operator, name: str):
    attrs = op.attrs
    if (attrs.get("base", -1.0), attrs.get("scale", 1.0), attrs.get("shift", 0.0)) != (-1, 1, 0):
        raise Unsupported("%s with base, scale or shift" % op.type, node=op.name, code="ATTR")
    return _map(low, name, _args(low, op))


def lower_square(low, op: Operator, _: str):
    """x * x"""
    (x,) = _args(low, op)
    return _map(low, "mul", [x, x])


def lower_reciprocal(low, op: Operator, _: str):
    """1 / x"""
    return _in_float32(low, _args(low, op), lambda x: low.map("div", [_const(low, x, 1), x]))


def lower_squared_difference(low, op: Operator, _: str):
    """(a - b) * (a - b)"""

    def body(a, b):
        difference = low.map("sub", [a, b])
        return low.map("mul", [difference, difference])

    return _in_float32(low, _args(low, op), body)


def lower_cast(low, op: Operator, _: str):
    """Conversion to the dtype of the result, through float32 where a 16-bit float meets another."""
    (x,) = _args(low, op)
    target = op.attrs["dst_dtype"]
    dtypes = {x.dtype, target}
    if dtypes & NARROW_FLOATS and "bool" not in dtypes:
        x = low.cast(x, "float32")
    return low.cast(x, target)


def lower_select_v1(low, op: Operator, _: str):
    """Select without numpy broadcasting; a vector condition that picks rows is left alone."""
    condition, on_true, on_false = _args(low, op)
    if condition.dims and len(condition.dims) != len(on_true.dims):
        raise Unsupported("Select by rows", node=op.name, code="SELECT_ROWS")
    low.same_shape([on_true, on_false])
    if condition.dims:
        low.same_shape([condition, on_true])
    return low.map("select", [condition, on_true, on_false])


def lower_bias_add(low, op: Operator, _: str):
    """x + bias along the channel dim of `data_format`."""
    x, bias = _args(low, op)
    position = _channel(op, len(x.dims))
    low.unify(x.dims[position], bias.dims[0])
    trailing = len(x.dims) - 1 - position
    bias = bias._replace(dims=bias.dims + (None,) * trailing)
    return _map(low, "add", [x, bias])


def _channel(op: Operator, rank: int) -> int:
    layout = op.attrs.get("data_format", "NHWC")
    if layout in ("NHWC", "ND") or rank < 3:
        return rank - 1
    if layout == "NCHW":
        return 1
    raise Unsupported("data_format %s" % layout, node=op.name, code="FORMAT")


def lower_add_n(low, op: Operator, _: str):
    """Sum of all inputs, from left to right."""

    def body(*terms):
        total = terms[0]
        for term in terms[1:]:
            total = low.map("add", [total, term])
        return total

    return _same_shape_in_float32(low, op, body)


def lower_relu_grad(low, op: Operator, _: str):
    """dy * (x > 0): a product, so an infinite gradient gives NaN where x <= 0, as TF's does."""

    def body(dy, x):
        positive = low.map("gt", [x, _const(low, x, 0)], "bool")
        return low.map("mul", [dy, low.cast(positive, dy.dtype)])

    return _same_shape_in_float32(low, op, body)


def lower_gradient(low, op: Operator, name: str):
    """A gradient of a result and the incoming gradient, one rounding in all."""
    return _same_shape_in_float32(low, op, lambda y, dy: low.map(name, [y, dy]))


def lower_reduce(low, op: Operator, name: str):
    """Reduction over constant axes; float16 and bfloat16 sums run in float32."""
    if op.axes is None:
        raise Unsupported("reduction axes are not constant", node=op.name, code="AXES_UNKNOWN")
    x = low.tensor(op.inputs[0])
    rank = len(x.dims)
    if any(not -rank <= axis < rank for axis in op.axes):
        raise Unsupported("reduction axis out of range", node=op.name, code="SHAPE")
    positions = sorted({axis % rank for axis in op.axes}) if rank else []
    return _reduce(low, name, x, positions, bool(op.attrs.get("keep_dims", False)))


def _reduce(low, name: str, x, positions: Sequence[int], keep_dims: bool):
    if name in ("max", "min"):
        return low.reduce(name, x, positions, keep_dims)
    wide = low.widen(x)
    return low.cast(low.reduce(name, wide, positions, keep_dims), x.dtype)


def lower_bias_add_grad(low, op: Operator, _: str):
    """Sum over every dim but the channel."""
    x = low.tensor(op.inputs[0])
    channel = _channel(op, len(x.dims))
    positions = [p for p in range(len(x.dims)) if p != channel]
    return _reduce(low, "sum", x, positions, False)


RULES: Dict[str, Callable] = {
    "map": lower_map,
    "relu": lower_relu,
    "exp": lower_exp,
    "log": lower_log,
    "square": lower_square,
    "reciprocal": lower_reciprocal,
    "squared_difference": lower_squared_difference,
    "cast": lower_cast,
    "select_v1": lower_select_v1,
    "bias_add": lower_bias_add,
    "add_n": lower_add_n,
    "relu_grad": lower_relu_grad,
    "gradient": lower_gradient,
    "reduce": lower_reduce,
    "bias_add_grad": lower_bias_add_grad,
}
RULES.update(VIEW_RULES)
