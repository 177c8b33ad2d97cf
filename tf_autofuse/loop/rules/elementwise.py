"""Rules of moves, tests, casts and choices: operators that do not round."""
from __future__ import annotations

from typing import Callable, Dict

from tf_autofuse.errors import Unsupported
from tf_autofuse.loop.ops import ALL_FLOATS, NARROW_FLOATS, item_bytes
from tf_autofuse.loop.rules.common import apply, args_of, const, in_float32
from tf_autofuse.loop.source import Operator


def lower_map(low, op: Operator, name: str):
    """One scalar operation on all inputs."""
    return apply(low, name, args_of(low, op))


def lower_by_kind(low, op: Operator, names: str):
    """`real|integer`: one name of a scalar operation for floats, another for integers."""
    args = args_of(low, op)
    real, _, integer = names.partition("|")
    return apply(low, real if args[0].dtype in ALL_FLOATS else integer, args)


def lower_cast(low, op: Operator, _: str):
    """Conversion to the dtype of the result, through float32 where a 16-bit float meets another."""
    (x,) = args_of(low, op)
    target = op.attrs["dst_dtype"]
    dtypes = {x.dtype, target}
    if dtypes & NARROW_FLOATS and "bool" not in dtypes:
        x = low.cast(x, "float32")
    return low.cast(x, target)


def lower_betainc(low, op: Operator, _: str):
    """The regularised incomplete beta function; only scalars broadcast."""
    args = args_of(low, op)
    low.same_shape([arg for arg in args if arg.dims] or args)
    return low.map("betainc", args)


def lower_bitcast(low, op: Operator, _: str):
    """The same bits as another type of the same size."""
    (x,) = args_of(low, op)
    target = op.attrs["dst_dtype"]
    if item_bytes(target) != item_bytes(x.dtype) or "bool" in (target, x.dtype):
        raise Unsupported("Bitcast between sizes", node=op.name, code="ATTR")
    return x if target == x.dtype else low.map("bitcast", [x], target)


def lower_select_v1(low, op: Operator, _: str):
    """Select without numpy broadcasting: a scalar, an equal shape, or a vector that picks rows."""
    condition, on_true, on_false = args_of(low, op)
    low.same_shape([on_true, on_false])
    rank = len(on_true.dims)
    if len(condition.dims) == 1 and rank > 1:
        low.unify(condition.dims[0], on_true.dims[0])
        condition = condition._replace(dims=condition.dims + (None,) * (rank - 1))
    elif condition.dims:
        low.same_shape([condition, on_true])
    return low.map("select", [condition, on_true, on_false])


def lower_clip(low, op: Operator, _: str):
    """x, or the bound it lies beyond; a NaN bound bounds nothing and the lower bound goes first."""
    args = args_of(low, op)
    x = args[0]
    for bound in args[1:]:
        if len(bound.dims) > 0:
            low.same_shape([x, bound])
    (x, low_end, high_end), _ = low.broadcast(args)
    x = low.map("select", [low.map("lt", [high_end, x], "bool"), high_end, x])
    return low.map("select", [low.map("lt", [x, low_end], "bool"), low_end, x])


def lower_is_nan(low, op: Operator, _: str):
    """x != x"""
    (x,) = args_of(low, op)
    return low.map("ne", [x, x], "bool")


def lower_is_inf(low, op: Operator, _: str):
    """|x| == infinity"""
    (x,) = args_of(low, op)
    return low.map("eq", [low.map("abs", [x]), const(low, x, float("inf"))], "bool")


def lower_is_finite(low, op: Operator, _: str):
    """|x| < infinity"""
    (x,) = args_of(low, op)
    return low.map("lt", [low.map("abs", [x]), const(low, x, float("inf"))], "bool")


def lower_like(low, op: Operator, value: str):
    """0 or 1 in the shape of x: x unequal itself in a way no value is."""
    (x,) = args_of(low, op)
    never = low.map("ne" if x.dtype == "bool" else "lt", [x, x], "bool")
    return low.cast(never if value == "0" else low.map("not", [never]), x.dtype)


def lower_approximate_equal(low, op: Operator, _: str):
    """|a - b| < tolerance"""
    args = low.same_shape(args_of(low, op))
    difference = low.map("abs", [low.map("sub", args)])
    tolerance = low.const(float(op.attrs.get("tolerance", 1e-5)), difference.dtype)
    return low.map("lt", [difference, tolerance], "bool")


def lower_count_bits(low, op: Operator, _: str):
    """Number of one bits, as uint8."""
    return low.map("count_bits", args_of(low, op), "uint8")


def lower_quotient(low, op: Operator, step: str):
    """Quotient rounded down (`floor`) or towards zero (`trunc`), for floats after its rounding."""
    args = args_of(low, op)
    if args[0].dtype not in ALL_FLOATS:
        return apply(low, step + "_div", args)
    return in_float32(low, args, lambda a, b: low.map(step, [low.map("div", [a, b])]))


ELEMENTWISE: Dict[str, Callable] = {
    "map": lower_map,
    "by_kind": lower_by_kind,
    "cast": lower_cast,
    "betainc": lower_betainc,
    "bitcast": lower_bitcast,
    "select_v1": lower_select_v1,
    "clip": lower_clip,
    "is_nan": lower_is_nan,
    "is_inf": lower_is_inf,
    "is_finite": lower_is_finite,
    "like": lower_like,
    "approximate_equal": lower_approximate_equal,
    "count_bits": lower_count_bits,
    "quotient": lower_quotient,
}
