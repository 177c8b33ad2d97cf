"""The op table: one row per GraphEngine (GE) operator type that fusion knows.

Lowering, reasons, docs and tests read the same row. `lower` names the rule in `loop.rules`; a type
without a row is left alone with the code `OP_UNKNOWN`.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, FrozenSet, Tuple

from tf_autofuse.loop.ops import ALL_FLOATS, BOOL

ELEMENTWISE = "elementwise"
BROADCAST = "broadcast"
REDUCE = "reduce"
VIEW = "view"

FLOAT = frozenset(ALL_FLOATS)
INT32 = frozenset(("int32",))
NUMERIC = FLOAT | INT32
EVERY = NUMERIC | BOOL


@dataclass(frozen=True)
class OpInfo:
    """`dtypes` are the allowed types of the first data input, `attrs` those lowering reads.

    `data` is the number of inputs that are data, 0 for all; those behind it are parameters (axes,
    a shape), which lowering takes from constants or from the shape of the result.
    """

    ge: str
    tf: Tuple[str, ...]
    kind: str
    dtypes: FrozenSet[str]
    lower: str
    attrs: Tuple[str, ...] = ()
    data: int = 0


def _row(
    ge: str,
    kind: str,
    dtypes: FrozenSet[str],
    lower: str,
    *tf: str,
    attrs: Tuple[str, ...] = (),
    data: int = 0
) -> OpInfo:
    return OpInfo(ge, tf or (ge,), kind, dtypes, lower, attrs, data or int(kind == REDUCE))


_NATURAL = ("base", "scale", "shift")
_KEEP = ("keep_dims",)
_FORMAT = ("data_format",)


_ROWS = (
    # dims only
    _row("Identity", VIEW, EVERY, "same"),
    _row("StopGradient", VIEW, EVERY, "same"),
    _row("PreventGradient", VIEW, EVERY, "same"),
    _row("Reshape", VIEW, EVERY, "reshape", data=1),
    _row("ExpandDims", VIEW, EVERY, "reshape", data=1),
    _row("Squeeze", VIEW, EVERY, "reshape", data=1),
    _row("BroadcastTo", BROADCAST, EVERY, "broadcast", data=1),
    _row("Tile", BROADCAST, EVERY, "broadcast", data=1),
    # element-wise, one input
    _row("Abs", ELEMENTWISE, NUMERIC, "map:abs"),
    _row("Neg", ELEMENTWISE, NUMERIC, "map:neg"),
    _row("Relu", ELEMENTWISE, NUMERIC, "relu"),
    _row("Exp", ELEMENTWISE, FLOAT, "natural:exp", attrs=_NATURAL),
    _row("Log", ELEMENTWISE, FLOAT, "natural:log", attrs=_NATURAL),
    _row("Sqrt", ELEMENTWISE, FLOAT, "map:sqrt"),
    _row("Rsqrt", ELEMENTWISE, FLOAT, "map:rsqrt"),
    _row("Tanh", ELEMENTWISE, FLOAT, "map:tanh"),
    _row("Sigmoid", ELEMENTWISE, FLOAT, "map:sigmoid"),
    _row("Square", ELEMENTWISE, NUMERIC, "square"),
    _row("Reciprocal", ELEMENTWISE, FLOAT, "reciprocal"),
    _row("Inv", ELEMENTWISE, FLOAT, "reciprocal"),
    _row("LogicalNot", ELEMENTWISE, BOOL, "map:not"),
    _row("Cast", ELEMENTWISE, EVERY, "cast"),
    # element-wise with broadcast
    _row("Add", BROADCAST, NUMERIC, "map:add"),
    _row("AddV2", BROADCAST, NUMERIC, "map:add"),
    _row("Sub", BROADCAST, NUMERIC, "map:sub"),
    _row("Mul", BROADCAST, NUMERIC, "map:mul"),
    _row("RealDiv", BROADCAST, FLOAT, "map:div"),
    _row("Div", BROADCAST, FLOAT, "map:div"),
    _row("Maximum", BROADCAST, NUMERIC, "map:max"),
    _row("Minimum", BROADCAST, NUMERIC, "map:min"),
    _row("SquaredDifference", BROADCAST, NUMERIC, "squared_difference"),
    _row("Greater", BROADCAST, NUMERIC, "map:gt"),
    _row("GreaterEqual", BROADCAST, NUMERIC, "map:ge"),
    _row("Less", BROADCAST, NUMERIC, "map:lt"),
    _row("LessEqual", BROADCAST, NUMERIC, "map:le"),
    _row("Equal", BROADCAST, EVERY, "map:eq"),
    _row("NotEqual", BROADCAST, EVERY, "map:ne"),
    _row("LogicalAnd", BROADCAST, BOOL, "map:and"),
    _row("LogicalOr", BROADCAST, BOOL, "map:or"),
    _row("Select", BROADCAST, BOOL, "select_v1"),
    _row("SelectV2", BROADCAST, BOOL, "map:select"),
    _row("BiasAdd", BROADCAST, NUMERIC, "bias_add", attrs=_FORMAT),
    _row("AddN", BROADCAST, NUMERIC, "add_n"),
    # gradients
    _row("ReluGrad", ELEMENTWISE, NUMERIC, "relu_grad"),
    _row("TanhGrad", ELEMENTWISE, FLOAT, "gradient:tanh_grad"),
    _row("SigmoidGrad", ELEMENTWISE, FLOAT, "gradient:sigmoid_grad"),
    _row("RsqrtGrad", ELEMENTWISE, FLOAT, "gradient:rsqrt_grad"),
    _row("SqrtGrad", ELEMENTWISE, FLOAT, "gradient:sqrt_grad"),
    _row("ReciprocalGrad", ELEMENTWISE, FLOAT, "gradient:reciprocal_grad"),
    _row("InvGrad", ELEMENTWISE, FLOAT, "gradient:reciprocal_grad"),
    # reductions
    _row("ReduceSum", REDUCE, NUMERIC, "reduce:sum", "Sum", attrs=_KEEP),
    _row("ReduceMean", REDUCE, FLOAT, "reduce:mean", "Mean", attrs=_KEEP),
    _row("ReduceMax", REDUCE, NUMERIC, "reduce:max", "Max", attrs=_KEEP),
    _row("ReduceMin", REDUCE, NUMERIC, "reduce:min", "Min", attrs=_KEEP),
    _row("ReduceProd", REDUCE, NUMERIC, "reduce:prod", "Prod", attrs=_KEEP),
    _row("BiasAddGrad", REDUCE, FLOAT, "bias_add_grad", attrs=_FORMAT),
)

OPS: Dict[str, OpInfo] = {row.ge: row for row in _ROWS}
