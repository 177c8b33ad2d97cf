"""The op table: one row per GraphEngine (GE) operator type that fusion knows.

Lowering, reasons, docs and tests read the same row. `lower` names the rule in `loop.rules`; a type
without a row is left alone with the code `OP_UNKNOWN`.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, FrozenSet, Tuple

from tf_autofuse.loop.ops import ALL_FLOATS, BOOL, INTS

ELEMENTWISE = "elementwise"
BROADCAST = "broadcast"
REDUCE = "reduce"
VIEW = "view"
MOVE = "move"
EACH = 1 << 16
"""As `outputs`: all that the operator has."""

ALIGNED_RULES = frozenset(
    ("map", "natural", "by_kind", "relu", "relu6", "square", "squared_difference", "reciprocal",
     "gradient", "cast")
)
"""Lowering rules that are element-wise and align the dims of their operands from the right."""

FLOAT = frozenset(ALL_FLOATS)
WIDE_FLOAT = frozenset(("float32", "float64"))
SIGNED = frozenset(("int8", "int16", "int32", "int64"))
NUMERIC = FLOAT | INTS
SIGNED_NUMERIC = FLOAT | SIGNED
EVERY = NUMERIC | BOOL
# Types of TensorFlow kernels that exist for few integers only.
INT32_64 = frozenset(("int32", "int64"))
FLOAT32 = frozenset(("float32",))
NORMAL = frozenset(("float32", "float16", "bfloat16"))
SPECIAL = WIDE_FLOAT | frozenset(("float16",))


@dataclass(frozen=True)
class OpInfo:
    """`dtypes` are the allowed types of the first data input, `attrs` those lowering reads.

    `data` is the number of inputs that are data, 0 for all and -1 for all but the last, counted
    from input `first` on; the others are parameters (axes, a shape), which lowering takes from
    constants or from the shape of the result. `outputs` is the number of outputs that lowering
    gives.
    """

    ge: str
    tf: Tuple[str, ...]
    kind: str
    dtypes: FrozenSet[str]
    lower: str
    attrs: Tuple[str, ...] = ()
    data: int = 0
    outputs: int = 1
    first: int = 0

    def data_ports(self, inputs: int) -> range:
        """Which of `inputs` inputs are data."""
        end = inputs + self.data if self.data < 0 else self.first + self.data
        return range(self.first, min(end, inputs) if self.data else inputs)


def _row(
    ge: str,
    kind: str,
    dtypes: FrozenSet[str],
    lower: str,
    *tf: str,
    attrs: Tuple[str, ...] = (),
    data: int = 0,
    outputs: int = 1,
    first: int = 0
) -> OpInfo:
    data = data or int(kind == REDUCE)
    return OpInfo(ge, tf or (ge,), kind, dtypes, lower, attrs, data, outputs, first)


_NATURAL = ("base", "scale", "shift")
_KEEP = ("keep_dims",)
_KEEP_AXES = ("keep_dims", "axes")
_FORMAT = ("data_format",)
_MASKS = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")
_BLOCK = ("block_size", "data_format")
_SCAN = ("exclusive", "reverse")
_SLOPE = ("negative_slope",)
_SCALES = ("alpha", "scale", "input_scale")
_QUANT = ("num_bits", "narrow_range")
_RANGE = _QUANT + ("signed_input", "range_given", "round_mode", "axis")
_NORM = _FORMAT + ("epsilon", "is_training")


_ROWS = (
    # dims only
    _row("Identity", VIEW, EVERY, "same"),
    _row("StopGradient", VIEW, EVERY, "same"),
    _row("PreventGradient", VIEW, EVERY, "same"),
    _row("Snapshot", VIEW, EVERY, "same"),
    _row("GuaranteeConst", VIEW, EVERY, "same"),
    _row("DebugGradientIdentity", VIEW, EVERY, "same"),
    _row("IdentityN", VIEW, EVERY, "each", outputs=EACH),
    _row("EnsureShape", VIEW, EVERY, "ensure_shape", attrs=("shape",)),
    _row("Reshape", VIEW, EVERY, "reshape", data=1),
    _row("ExpandDims", VIEW, EVERY, "reshape", data=1),
    _row("Squeeze", VIEW, EVERY, "reshape", data=1),
    _row("BroadcastTo", BROADCAST, EVERY, "broadcast", data=1),
    _row("Tile", BROADCAST, EVERY, "broadcast", data=1),
    # parts of a tensor, in another order
    _row("Transpose", MOVE, EVERY, "transpose", data=1),
    _row("Slice", MOVE, EVERY, "slice", data=1),
    _row("StridedSlice", MOVE, EVERY, "strided_slice", attrs=_MASKS, data=1),
    _row("ReverseV2", MOVE, EVERY, "reverse", data=1),
    _row("Split", MOVE, EVERY, "split", first=1, data=1, outputs=EACH),
    _row("SplitV", MOVE, EVERY, "split_v", data=1, outputs=EACH),
    _row("Concat", MOVE, EVERY, "concat:first", first=1),
    _row("ConcatV2", MOVE, EVERY, "concat:last", data=-1),
    _row("Pack", MOVE, EVERY, "pack", attrs=("axis",)),
    _row("Pad", MOVE, EVERY, "pad", data=1),
    _row("PadV2", MOVE, EVERY, "pad", data=1),
    _row("MirrorPad", MOVE, EVERY, "mirror_pad", attrs=("mode",), data=1),
    _row("OneHot", MOVE, INT32_64 | frozenset(("int8", "uint8")), "one_hot", attrs=("axis",),
         data=1),
    _row("Gather", MOVE, EVERY, "gather", data=2),
    _row("GatherV2", MOVE, EVERY, "gather", attrs=("batch_dims",), data=2),
    _row("GatherNd", MOVE, EVERY, "gather_nd", data=2),
    _row("ReverseSequence", MOVE, EVERY, "reverse_sequence", attrs=("seq_dim", "batch_dim"),
         data=2),
    _row("DiagPart", MOVE, EVERY, "diag_part", data=1),
    _row("MatrixDiagPart", MOVE, EVERY, "diag_part", data=1),
    _row("MatrixDiagPartV2", MOVE, EVERY, "diag_part", data=1),
    _row("MatrixDiagPartV3", MOVE, EVERY, "diag_part", data=1),
    _row("RollV2", MOVE, EVERY, "roll", "Roll", data=1),
    _row("DepthToSpace", MOVE, EVERY, "depth_to_space", attrs=_BLOCK, data=1),
    _row("SpaceToDepth", MOVE, EVERY, "space_to_depth", attrs=_BLOCK, data=1),
    _row("BatchToSpaceND", MOVE, EVERY, "batch_to_space", data=1),
    _row("BatchToSpace", MOVE, EVERY, "batch_to_space", attrs=_BLOCK, data=1),
    _row("SpaceToBatchND", MOVE, EVERY, "space_to_batch", data=1),
    _row("SpaceToBatch", MOVE, EVERY, "space_to_batch", attrs=_BLOCK, data=1),
    _row("ConjugateTranspose", MOVE, EVERY, "transpose", data=1),
    _row("Diag", MOVE, NUMERIC, "diag"),
    _row("MatrixDiag", MOVE, EVERY, "matrix_diag", data=1),
    _row("MatrixDiagV2", MOVE, EVERY, "matrix_diag", data=1),
    _row("MatrixDiagV3", MOVE, EVERY, "matrix_diag", data=1),
    _row("StridedSliceGrad", MOVE, EVERY, "strided_slice_grad", attrs=_MASKS, first=4, data=1),
    _row("MirrorPadGrad", MOVE, NUMERIC, "mirror_pad_grad", attrs=("mode",), data=1),
    _row("Range", MOVE, NUMERIC, "range", first=3),
    _row("LinSpace", MOVE, WIDE_FLOAT, "lin_space", data=2),
    _row("Fill", BROADCAST, EVERY, "broadcast", first=1, data=1),
    _row("Unpack", MOVE, EVERY, "unpack", attrs=("axis",), outputs=EACH),
    # element-wise, one input
    _row("Abs", ELEMENTWISE, SIGNED_NUMERIC, "map:abs"),
    _row("Neg", ELEMENTWISE, SIGNED_NUMERIC, "map:neg"),
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
    _row("Sign", ELEMENTWISE, SIGNED_NUMERIC, "by_kind:sign|int_sign"),
    _row("Floor", ELEMENTWISE, FLOAT, "map:floor"),
    _row("Ceil", ELEMENTWISE, FLOAT, "map:ceil"),
    _row("Rint", ELEMENTWISE, WIDE_FLOAT, "map:rint"),
    _row("Round", ELEMENTWISE, FLOAT, "map:rint"),
    _row("Expm1", ELEMENTWISE, FLOAT, "map:expm1"),
    _row("Log1p", ELEMENTWISE, FLOAT, "map:log1p"),
    _row("Sin", ELEMENTWISE, FLOAT, "map:sin"),
    _row("Cos", ELEMENTWISE, FLOAT, "map:cos"),
    _row("Tan", ELEMENTWISE, FLOAT, "map:tan"),
    _row("Asin", ELEMENTWISE, FLOAT, "map:asin"),
    _row("Acos", ELEMENTWISE, FLOAT, "map:acos"),
    _row("Atan", ELEMENTWISE, FLOAT, "map:atan"),
    _row("Sinh", ELEMENTWISE, FLOAT, "map:sinh"),
    _row("Cosh", ELEMENTWISE, FLOAT, "map:cosh"),
    _row("Asinh", ELEMENTWISE, FLOAT, "map:asinh"),
    _row("Acosh", ELEMENTWISE, FLOAT, "map:acosh"),
    _row("Atanh", ELEMENTWISE, FLOAT, "map:atanh"),
    _row("Erf", ELEMENTWISE, FLOAT, "map:erf"),
    _row("Erfc", ELEMENTWISE, FLOAT, "map:erfc"),
    _row("Erfinv", ELEMENTWISE, WIDE_FLOAT, "map:erfinv"),
    _row("Ndtri", ELEMENTWISE, WIDE_FLOAT, "map:ndtri"),
    _row("Lgamma", ELEMENTWISE, SPECIAL, "map:lgamma"),
    _row("Digamma", ELEMENTWISE, SPECIAL, "map:digamma"),
    _row("BesselI0", ELEMENTWISE, SPECIAL, "map:bessel_i0"),
    _row("BesselI1", ELEMENTWISE, SPECIAL, "map:bessel_i1"),
    _row("BesselI0e", ELEMENTWISE, SPECIAL, "map:bessel_i0e"),
    _row("BesselI1e", ELEMENTWISE, SPECIAL, "map:bessel_i1e"),
    _row("BesselK0", ELEMENTWISE, SPECIAL, "map:bessel_k0"),
    _row("BesselK1", ELEMENTWISE, SPECIAL, "map:bessel_k1"),
    _row("BesselK0e", ELEMENTWISE, SPECIAL, "map:bessel_k0e"),
    _row("BesselK1e", ELEMENTWISE, SPECIAL, "map:bessel_k1e"),
    _row("BesselJ0", ELEMENTWISE, SPECIAL, "map:bessel_j0"),
    _row("BesselJ1", ELEMENTWISE, SPECIAL, "map:bessel_j1"),
    _row("BesselY0", ELEMENTWISE, SPECIAL, "map:bessel_y0"),
    _row("BesselY1", ELEMENTWISE, SPECIAL, "map:bessel_y1"),
    _row("Dawsn", ELEMENTWISE, WIDE_FLOAT, "map:dawsn"),
    _row("Spence", ELEMENTWISE, WIDE_FLOAT, "map:spence"),
    _row("Expint", ELEMENTWISE, WIDE_FLOAT, "map:expint"),
    _row("FresnelCos", ELEMENTWISE, WIDE_FLOAT, "map:fresnel_cos"),
    _row("FresnelSin", ELEMENTWISE, WIDE_FLOAT, "map:fresnel_sin"),
    _row("Relu6", ELEMENTWISE, NUMERIC, "relu6"),
    _row("LeakyRelu", ELEMENTWISE, FLOAT, "leaky_relu", attrs=_SLOPE),
    _row("Swish", ELEMENTWISE, FLOAT, "swish", "_MklSwish"),
    _row("Elu", ELEMENTWISE, FLOAT, "elu", attrs=_SCALES),
    _row("Selu", ELEMENTWISE, FLOAT, "map:selu"),
    _row("Softplus", ELEMENTWISE, FLOAT, "map:softplus"),
    _row("Softsign", ELEMENTWISE, FLOAT, "map:softsign"),
    _row("IsNan", ELEMENTWISE, FLOAT, "is_nan"),
    _row("IsInf", ELEMENTWISE, FLOAT, "is_inf"),
    _row("IsFinite", ELEMENTWISE, FLOAT, "is_finite"),
    _row("ZerosLike", ELEMENTWISE, EVERY, "like:0"),
    _row("OnesLike", ELEMENTWISE, EVERY, "like:1"),
    _row("Invert", ELEMENTWISE, INTS, "map:bit_not"),
    _row("PopulationCount", ELEMENTWISE, INTS, "count_bits"),
    _row("LogicalNot", ELEMENTWISE, BOOL, "map:not"),
    _row("Cast", ELEMENTWISE, EVERY, "cast"),
    _row("Bitcast", ELEMENTWISE, NUMERIC, "bitcast"),
    _row("Bucketize", ELEMENTWISE, WIDE_FLOAT | INT32_64, "bucketize", attrs=("boundaries",)),
    _row("MatrixBandPart", ELEMENTWISE, EVERY, "band_part"),
    _row("DataFormatDimMap", ELEMENTWISE, INT32_64, "dim_map",
         attrs=("src_format", "dst_format")),
    _row("MatrixSetDiag", ELEMENTWISE, EVERY, "set_diag"),
    _row("MatrixSetDiagV2", ELEMENTWISE, EVERY, "set_diag"),
    _row("MatrixSetDiagV3", ELEMENTWISE, EVERY, "set_diag"),
    # simulated quantisation
    _row("FakeQuantWithMinMaxArgs", ELEMENTWISE, FLOAT32, "fake_quant:mul",
         attrs=_QUANT + ("min", "max")),
    _row("FakeQuantWithMinMaxArgsGradient", ELEMENTWISE, FLOAT32, "fake_quant_grad",
         attrs=_QUANT + ("min", "max")),
    _row("FakeQuantWithMinMaxVars", ELEMENTWISE, FLOAT32, "fake_quant:div", attrs=_QUANT),
    _row("FakeQuantWithMinMaxVarsGradient", REDUCE, FLOAT32, "fake_quant_grad", attrs=_QUANT,
         data=4, outputs=3),
    _row("FakeQuantWithMinMaxVarsPerChannel", BROADCAST, FLOAT32, "fake_quant:mul", attrs=_QUANT),
    _row("FakeQuantWithMinMaxVarsPerChannelGradient", REDUCE, FLOAT32, "fake_quant_grad",
         attrs=_QUANT, data=4, outputs=3),
    _row("QuantizeAndDequantize", ELEMENTWISE, WIDE_FLOAT, "quantize_and_dequantize",
         attrs=_RANGE + ("input_min", "input_max")),
    _row("QuantizeAndDequantizeV2", ELEMENTWISE, WIDE_FLOAT, "quantize_and_dequantize",
         attrs=_RANGE),
    _row("QuantizeAndDequantizeV3", ELEMENTWISE, WIDE_FLOAT, "quantize_and_dequantize",
         attrs=_RANGE),
    _row("QuantizeAndDequantizeV4", ELEMENTWISE, WIDE_FLOAT, "quantize_and_dequantize",
         attrs=_RANGE),
    _row("QuantizeAndDequantizeV4Grad", ELEMENTWISE, WIDE_FLOAT, "quantize_and_dequantize_grad",
         attrs=("axis",)),
    # element-wise with broadcast
    _row("Add", BROADCAST, NUMERIC, "map:add"),
    _row("AddV2", BROADCAST, NUMERIC, "map:add"),
    _row("Sub", BROADCAST, NUMERIC, "map:sub"),
    _row("Mul", BROADCAST, NUMERIC, "map:mul"),
    _row("RealDiv", BROADCAST, FLOAT, "map:div"),
    _row("Div", BROADCAST, NUMERIC, "by_kind:div|trunc_div"),
    _row("Maximum", BROADCAST, NUMERIC, "map:max"),
    _row("Minimum", BROADCAST, NUMERIC, "map:min"),
    _row("SquaredDifference", BROADCAST, FLOAT | INT32_64, "squared_difference"),
    _row("DivNoNan", BROADCAST, FLOAT, "map:div_no_nan"),
    _row("MulNoNan", BROADCAST, FLOAT, "map:mul_no_nan"),
    _row("Xdivy", BROADCAST, FLOAT, "map:xdivy"),
    _row("Xlogy", BROADCAST, FLOAT, "map:xlogy"),
    _row("Xlog1py", BROADCAST, FLOAT, "map:xlog1py"),
    _row("FloorDiv", BROADCAST, NUMERIC, "quotient:floor"),
    _row("TruncateDiv", BROADCAST, NUMERIC, "quotient:trunc"),
    _row("FloorMod", BROADCAST, NUMERIC, "by_kind:floor_mod|int_floor_mod"),
    _row("TruncateMod", BROADCAST, WIDE_FLOAT | INT32_64, "by_kind:fmod|trunc_mod"),
    _row("Mod", BROADCAST, WIDE_FLOAT | INT32_64, "by_kind:fmod|trunc_mod"),
    _row("Pow", BROADCAST, SIGNED_NUMERIC, "pow"),
    _row("Atan2", BROADCAST, FLOAT, "map:atan2"),
    _row("NextAfter", BROADCAST, WIDE_FLOAT, "map:next_after"),
    _row("Igamma", BROADCAST, WIDE_FLOAT, "map:igamma"),
    _row("Igammac", BROADCAST, WIDE_FLOAT, "map:igammac"),
    _row("IgammaGradA", BROADCAST, WIDE_FLOAT, "map:igamma_grad_a"),
    _row("Zeta", BROADCAST, WIDE_FLOAT, "map:zeta"),
    _row("Polygamma", BROADCAST, WIDE_FLOAT, "map:polygamma"),
    _row("Betainc", BROADCAST, WIDE_FLOAT, "betainc"),
    _row("BitwiseAnd", BROADCAST, INTS, "map:bit_and"),
    _row("BitwiseOr", BROADCAST, INTS, "map:bit_or"),
    _row("BitwiseXor", BROADCAST, INTS, "map:bit_xor"),
    _row("LeftShift", BROADCAST, INTS, "map:shift_left"),
    _row("RightShift", BROADCAST, INTS, "map:shift_right"),
    _row("ApproximateEqual", ELEMENTWISE, WIDE_FLOAT, "approximate_equal", attrs=("tolerance",)),
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
    _row("ClipByValue", BROADCAST, NUMERIC, "clip"),
    _row("BiasAdd", BROADCAST, NUMERIC, "bias_add", attrs=_FORMAT),
    _row("BiasAddV1", BROADCAST, NUMERIC, "bias_add"),
    _row("BatchNorm", BROADCAST, NORMAL, "batch_norm", "FusedBatchNormV3", attrs=_NORM),
    _row("FusedBatchNormV2", BROADCAST, NORMAL, "batch_norm", attrs=_NORM),
    _row("FusedBatchNorm", BROADCAST, FLOAT32, "batch_norm", attrs=_NORM),
    _row("BatchNormWithGlobalNormalization", BROADCAST, SPECIAL, "global_norm",
         attrs=("variance_epsilon", "scale_after_normalization")),
    _row("AdjustContrastv2", BROADCAST, FLOAT32, "adjust_contrast"),
    _row("Einsum", BROADCAST, NUMERIC, "einsum", attrs=("equation",)),
    _row("LowerBound", BROADCAST, NUMERIC, "bound:lower"),
    _row("UpperBound", BROADCAST, NUMERIC, "bound:upper"),
    _row("Cross", BROADCAST, NUMERIC, "cross"),
    _row("AddN", BROADCAST, NUMERIC, "add_n"),
    _row("AccumulateNV2", BROADCAST, NUMERIC, "add_n"),
    # gradients
    _row("ReluGrad", ELEMENTWISE, NUMERIC, "relu_grad"),
    _row("Relu6Grad", ELEMENTWISE, NUMERIC, "relu6_grad"),
    _row("LeakyReluGrad", ELEMENTWISE, FLOAT, "leaky_relu_grad", attrs=_SLOPE),
    _row("EluGrad", ELEMENTWISE, FLOAT, "gradient:elu_grad"),
    _row("SeluGrad", ELEMENTWISE, FLOAT, "gradient:selu_grad"),
    _row("SoftplusGrad", ELEMENTWISE, FLOAT, "gradient:softplus_grad"),
    _row("SoftsignGrad", ELEMENTWISE, FLOAT, "gradient:softsign_grad"),
    _row("TanhGrad", ELEMENTWISE, FLOAT, "gradient:tanh_grad"),
    _row("SigmoidGrad", ELEMENTWISE, FLOAT, "gradient:sigmoid_grad"),
    _row("RsqrtGrad", ELEMENTWISE, FLOAT, "gradient:rsqrt_grad"),
    _row("SqrtGrad", ELEMENTWISE, FLOAT, "gradient:sqrt_grad"),
    _row("ReciprocalGrad", ELEMENTWISE, FLOAT, "gradient:reciprocal_grad"),
    _row("InvGrad", ELEMENTWISE, FLOAT, "gradient:reciprocal_grad"),
    # reductions
    _row("ReduceSum", REDUCE, NUMERIC, "reduce:sum", "Sum", attrs=_KEEP),
    _row("ReduceMean", REDUCE, NUMERIC, "reduce:mean", "Mean", attrs=_KEEP),
    _row("ReduceMax", REDUCE, NUMERIC, "reduce:max", "Max", attrs=_KEEP),
    _row("ReduceMin", REDUCE, NUMERIC, "reduce:min", "Min", attrs=_KEEP),
    _row("ReduceProd", REDUCE, NUMERIC, "reduce:prod", "Prod", attrs=_KEEP),
    _row("ReduceAll", REDUCE, BOOL, "reduce:all", "All", attrs=_KEEP),
    _row("ReduceAny", REDUCE, BOOL, "reduce:any", "Any", attrs=_KEEP),
    # the forms of GE's own passes, with the axes as an attribute
    _row("ReduceSumD", REDUCE, NUMERIC, "reduce:sum", attrs=_KEEP_AXES),
    _row("ReduceMeanD", REDUCE, NUMERIC, "reduce:mean", attrs=_KEEP_AXES),
    _row("ReduceMaxD", REDUCE, NUMERIC, "reduce:max", attrs=_KEEP_AXES),
    _row("ReduceMinD", REDUCE, NUMERIC, "reduce:min", attrs=_KEEP_AXES),
    _row("ReduceProdD", REDUCE, NUMERIC, "reduce:prod", attrs=_KEEP_AXES),
    _row("Cumsum", MOVE, NUMERIC, "cumulative:sum", attrs=_SCAN, data=1),
    _row("Cumprod", MOVE, NUMERIC, "cumulative:prod", attrs=_SCAN, data=1),
    _row("EuclideanNorm", REDUCE, NUMERIC, "euclidean_norm", attrs=_KEEP),
    _row("L2Loss", REDUCE, FLOAT, "l2_loss"),
    _row("ArgMaxV2", REDUCE, EVERY, "arg:max", "ArgMax"),
    _row("ArgMin", REDUCE, EVERY, "arg:min"),
    _row("SoftmaxV2", REDUCE, FLOAT, "softmax", "Softmax", attrs=("axes",)),
    _row("LogSoftmaxV2", REDUCE, FLOAT, "log_softmax", "LogSoftmax", attrs=("axes",)),
    _row("SoftmaxCrossEntropyWithLogits", REDUCE, FLOAT, "cross_entropy", data=2,
         outputs=2),
    _row("SparseSoftmaxCrossEntropyWithLogits", REDUCE, FLOAT, "sparse_cross_entropy", data=2,
         outputs=2),
    _row("InTopK", REDUCE, FLOAT32, "in_top_k", attrs=("k",), data=2),
    _row("InTopKV2", REDUCE, FLOAT32, "in_top_k", data=3),
    _row("BatchNormGrad", REDUCE, NORMAL, "batch_norm_grad", "FusedBatchNormGradV3", attrs=_NORM,
         data=5, outputs=3),
    _row("FusedBatchNormGradV2", REDUCE, NORMAL, "batch_norm_grad", attrs=_NORM, data=5,
         outputs=3),
    _row("FusedBatchNormGrad", REDUCE, FLOAT32, "batch_norm_grad", attrs=_NORM, data=5,
         outputs=3),
    _row("BiasAddGrad", REDUCE, NUMERIC, "bias_add_grad", attrs=_FORMAT),
)

OPS: Dict[str, OpInfo] = {row.ge: row for row in _ROWS}
