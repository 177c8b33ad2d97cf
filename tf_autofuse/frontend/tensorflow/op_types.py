"""TF operators and attributes as GE knows them.

The tables follow GE's own TensorFlow parser: one GE node per TF node, data inputs by position,
every TF attribute kept under its TF name, plus the attributes that GE's plug-ins add for single
operators.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional

from tf_autofuse.ge.types import DataType, Format

FRAMEWORK_OP = "FrameworkOp"
FUSED_OP = "AutofusedKernel"
CHOICE_OP = "AutofusedChoice"
COMPOSITION_OP = "_UnaryOpsComposition"
FRAMEWORK_TENSORFLOW = 3

# TF operator -> GE type, where the two names differ.
RENAMED: Dict[str, str] = {
    "Placeholder": "Data",
    "_Arg": "Data",
    "_MklSwish": "Swish",
    "VariableV2": "Variable",
    "VarHandleOp": "Variable",
    "TemporaryVariable": "Variable",
    "IsVariableInitialized": "VarIsInitializedOp",
    "AssignVariableOp": "Assign",
    "AssignAddVariableOp": "AssignAdd",
    "AssignSubVariableOp": "AssignSub",
    "Softmax": "SoftmaxV2",
    "LogSoftmax": "LogSoftmaxV2",
    "Sum": "ReduceSum",
    "Mean": "ReduceMean",
    "Max": "ReduceMax",
    "Min": "ReduceMin",
    "Prod": "ReduceProd",
    "All": "ReduceAll",
    "Any": "ReduceAny",
    "ArgMax": "ArgMaxV2",
    "TopKV2": "TopK",
    "ResourceStridedSliceAssign": "StridedSliceAssign",
    "Roll": "RollV2",
    "ScatterNdNonAliasingAdd": "ScatterNonAliasingAdd",
    "UniqueV2": "UniqueExt2",
    "MatMul": "MatMulV2",
    "BatchMatMul": "BatchMatMulV2",
    "BatchMatMulV3": "BatchMatMulV2",
    "DepthwiseConv2dNative": "DepthwiseConv2D",
    "FusedBatchNormV3": "BatchNorm",
    "FusedBatchNormGradV3": "BatchNormGrad",
    "ResizeBilinear": "ResizeBilinearV2",
    "ResizeNearestNeighbor": "ResizeNearestNeighborV2",
    "ResourceApplyAdagrad": "ApplyAdagrad",
    "ResourceApplyKerasMomentum": "ApplyKerasMomentum",
    "ResourceApplyAdam": "ApplyAdam",
    "ResourceApplyMomentum": "ApplyMomentum",
    "ResourceApplyGradientDescent": "ApplyGradientDescent",
    "ResourceApplyRMSProp": "ApplyRMSProp",
    "ResourceApplyFtrl": "ApplyFtrl",
    "ResourceApplyAdadelta": "ApplyAdadelta",
}

# TF operators that GE knows under the same name.
SAME_NAME = frozenset(
    """
    AutofusedKernel PlaceholderWithDefault Const Variable DestroyTemporaryVariable
    ReadVariableOp VarIsInitializedOp Assign AssignAdd AssignSub NoOp Identity IdentityN
    Snapshot StopGradient PreventGradient GuaranteeConst ControlTrigger CheckNumerics Assert
    Switch RefSwitch Merge RefMerge Enter RefEnter Exit RefExit NextIteration RefNextIteration
    LoopCond If StatelessIf While StatelessWhile Case StatelessCase PartitionedCall
    StatefulPartitionedCall Abs Acos Acosh Asin Asinh Atan Atanh BesselI0e BesselI1e Ceil Cos
    Cosh Dawsn Erf Erfc Expint Expm1 Floor FresnelCos FresnelSin Inv Invert Log1p LogicalNot
    Ndtri Neg OnesLike PopulationCount Reciprocal Relu Relu6 Rint Rsqrt Selu Sigmoid Sign Sin
    Sinh Softplus Softsign Spence Sqrt Square Tan Tanh ZerosLike IsFinite IsInf IsNan Digamma
    Lgamma Conj Erfinv Elu Exp Log Round LeakyRelu Cast Bitcast Angle Real Imag ComplexAbs Add
    AddV2 Sub Mul MulNoNan Div RealDiv DivNoNan FloorDiv TruncateDiv Mod FloorMod TruncateMod
    Pow Maximum Minimum SquaredDifference Atan2 Xdivy Xlogy Xlog1py ApproximateEqual Equal
    NotEqual Less LessEqual Greater GreaterEqual LogicalAnd LogicalOr BitwiseAnd BitwiseOr
    BitwiseXor LeftShift RightShift Complex NextAfter Igamma Igammac Zeta Betainc Cross
    CompareAndBitpack BiasAdd PRelu SelectV2 Select ClipByValue AddN AccumulateNV2 IgammaGradA
    ReluGrad Relu6Grad LeakyReluGrad EluGrad SeluGrad SoftplusGrad SoftsignGrad TanhGrad
    SigmoidGrad SqrtGrad RsqrtGrad InvGrad ReciprocalGrad AcosGrad AsinGrad AsinhGrad AtanGrad
    BiasAddGrad SoftmaxGrad LogSoftmaxGrad MirrorPadGrad StridedSliceGrad BroadcastGradientArgs
    SoftmaxCrossEntropyWithLogits SparseSoftmaxCrossEntropyWithLogits LRNGrad
    SigmoidCrossEntropyWithLogits EuclideanNorm ArgMin Cumsum Cumprod CumulativeLogsumexp L2Loss
    SegmentSum SegmentMax UnsortedSegmentSum UnsortedSegmentMax UnsortedSegmentMin
    UnsortedSegmentProd SparseSegmentSum SparseSegmentMean Bincount DenseBincount
    HistogramFixedWidth InTopKV2 InTopK NthElement Reshape Squeeze ExpandDims Shape ShapeN Size
    Rank Transpose ConjugateTranspose Pack Unpack Concat ConcatV2 ConcatOffset Split SplitV
    Slice StridedSlice StridedSliceAssign Tile BroadcastTo BroadcastArgs Fill Empty OneHot
    LinSpace Range Pad PadV2 MirrorPad ReverseV2 ReverseSequence InvertPermutation Gather
    GatherV2 GatherNd ScatterNd TensorScatterUpdate TensorScatterAdd TensorScatterSub
    TensorScatterMax TensorScatterMin ScatterAdd ScatterSub ScatterMul ScatterDiv ScatterMax
    ScatterMin ScatterUpdate ScatterNdAdd ScatterNdSub ScatterNdMax ScatterNdMin ScatterNdUpdate
    Where Unique UniqueWithCounts ListDiff DynamicPartition DynamicStitch ParallelDynamicStitch
    DepthToSpace SpaceToDepth BatchToSpace BatchToSpaceND SpaceToBatch SpaceToBatchND Diag
    DiagPart MatrixDiag MatrixDiagPart MatrixSetDiag MatrixDiagV2 MatrixDiagPartV2
    MatrixSetDiagV2 MatrixDiagV3 MatrixDiagPartV3 MatrixSetDiagV3 MatrixBandPart
    ExtractImagePatches Bucketize UpperBound LowerBound DataFormatDimMap DataFormatVecPermute
    InplaceAdd InplaceSub InplaceUpdate _ParallelConcatStart BatchMatMulV2 Einsum
    SparseTensorDenseMatMul Conv2D Conv3D Conv2DBackpropInput Conv2DBackpropFilter MaxPool
    MaxPoolV2 AvgPool MaxPoolGrad AvgPoolGrad MaxPool3D AvgPool3DGrad MaxPoolWithArgmax
    FusedBatchNormV2 LayerNorm LayerNormGrad Dropout LRN RandomUniform RandomStandardNormal
    TruncatedNormal RandomUniformInt Multinomial RandomShuffle StatelessRandomUniformV2
    StatelessRandomNormalV2 StatelessTruncatedNormalV2 ApplyAdam ApplyMomentum
    ApplyGradientDescent ApplyRMSProp ApplyCenteredRMSProp ApplyAdagrad ApplyAdadelta
    ApplyAdaMax ApplyFtrl ApplyFtrlV2 ApplyProximalGradientDescent ApplyProximalAdagrad
    ApplyAddSign ApplyPowerSign ApplyAdagradDA ApplyAdagradV2
    """.split()
)

# TF DataType number -> ge::DataType; quantised types become plain integers, as in GE's parser.
GE_DTYPE: Dict[int, DataType] = {
    1: DataType.DT_FLOAT,
    2: DataType.DT_DOUBLE,
    3: DataType.DT_INT32,
    4: DataType.DT_UINT8,
    5: DataType.DT_INT16,
    6: DataType.DT_INT8,
    7: DataType.DT_STRING,
    8: DataType.DT_COMPLEX64,
    9: DataType.DT_INT64,
    10: DataType.DT_BOOL,
    11: DataType.DT_INT8,
    12: DataType.DT_UINT8,
    13: DataType.DT_INT32,
    14: DataType.DT_BF16,
    15: DataType.DT_INT16,
    16: DataType.DT_UINT16,
    17: DataType.DT_UINT16,
    18: DataType.DT_COMPLEX128,
    19: DataType.DT_FLOAT16,
    20: DataType.DT_RESOURCE,
    21: DataType.DT_VARIANT,
    22: DataType.DT_UINT32,
    23: DataType.DT_UINT64,
}
# What a fused kernel may read or write; quantised numbers above never come back.
TF_DTYPE: Dict[int, int] = {
    int(ge): tf for tf, ge in GE_DTYPE.items() if tf not in (11, 12, 13, 15, 16)
}
REF_DTYPE_OFFSET = 100

_FORMATS = {
    "NCHW": Format.FORMAT_NCHW,
    "NHWC": Format.FORMAT_NHWC,
    "NDHWC": Format.FORMAT_NDHWC,
    "NCDHW": Format.FORMAT_NCDHW,
    "ND": Format.FORMAT_ND,
}


def ge_type(tf_op: str) -> str:
    """GE type of a TF operator; `FRAMEWORK_OP` for one that GE does not know."""
    return RENAMED.get(tf_op) or (tf_op if tf_op in SAME_NAME else FRAMEWORK_OP)


def ge_dtype(tf_dtype: int) -> DataType:
    """ge::DataType of a TF DataType number; a reference type counts as its base type."""
    return GE_DTYPE.get(base_dtype(tf_dtype), DataType.DT_UNDEFINED)


def base_dtype(tf_dtype: int) -> int:
    """TF DataType number without the reference mark."""
    return tf_dtype - REF_DTYPE_OFFSET if tf_dtype > REF_DTYPE_OFFSET else tf_dtype


def ge_format(node_def: Any) -> Format:
    """Format of a node's tensor descs: its ``data_format`` where it has one, else ND."""
    if "data_format" not in node_def.attr:
        return Format.FORMAT_ND
    text = node_def.attr["data_format"].s.decode("utf-8", "replace")
    return _FORMATS.get(text, Format.FORMAT_RESERVED)


def ge_attrs(node_def: Any) -> Dict[str, Any]:
    """All attributes that the GE node of a NodeDef carries.

    Values are what ``Node.set_attr`` takes. TF values without a GE kind on the Python face
    (functions, empty lists, lists of shapes, ...) are left to the NodeDef, which an import keeps.
    """
    attrs: Dict[str, Any] = {}
    for name, value in node_def.attr.items():
        converted = _convert(value, value.WhichOneof("value"))
        if converted is not None:
            attrs[name] = converted
    extra = _EXTRA.get(node_def.op)
    if extra is not None:
        extra(node_def.attr, attrs)
    if ge_type(node_def.op) == FRAMEWORK_OP:
        attrs["original_type"] = node_def.op
        attrs["framework_type"] = FRAMEWORK_TENSORFLOW
    return attrs


def tensor_shape(shape: Any) -> List[int]:
    """GE dims of a TensorShapeProto: -1 for an unknown size, [-2] for an unknown rank."""
    return [-2] if shape.unknown_rank else [dim.size for dim in shape.dim]


def _convert(value: Any, kind: Optional[str]) -> Any:
    if kind == "s":
        return _text(value.s)
    if kind in ("i", "b", "f"):
        return getattr(value, kind)
    if kind == "type":
        return ge_dtype(value.type)
    if kind == "shape":
        return ([-1] if value.shape.unknown_rank else [dim.size for dim in value.shape.dim]) or None
    if kind == "list":
        return _convert_list(value.list)
    return None


def _convert_list(values: Any) -> Optional[list]:
    if values.s:
        texts = [_text(item) for item in values.s]
        return None if None in texts else texts
    for field in ("i", "f", "b"):
        items = getattr(values, field)
        if items:
            return list(items)
    if values.type:
        return [int(ge_dtype(item)) for item in values.type]
    return None


def _text(data: bytes) -> Optional[str]:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _natural_base(_: Any, attrs: Dict[str, Any]) -> None:
    attrs.update(base=-1.0, scale=1.0, shift=0.0)


def _dtype_number(
    tf_name: str, ge_name: str, default: int
) -> Callable[[Any, Dict[str, Any]], None]:
    """An Int attribute in ge numbering beside the TF type attribute."""

    def add(tf_attrs: Any, attrs: Dict[str, Any]) -> None:
        attrs[ge_name] = int(ge_dtype(tf_attrs[tf_name].type if tf_name in tf_attrs else default))

    return add


def _output_type(tf_attrs: Any, attrs: Dict[str, Any]) -> None:
    attrs["dtype"] = ge_dtype(tf_attrs["output_type"].type if "output_type" in tf_attrs else 9)


def _copy(pairs: Dict[str, str]) -> Callable[[Any, Dict[str, Any]], None]:
    """Attributes under their GE names, the TF ones stay as well."""

    def add(_: Any, attrs: Dict[str, Any]) -> None:
        for tf_name, ge_name in pairs.items():
            if tf_name in attrs:
                attrs[ge_name] = attrs[tf_name]

    return add


def _fixed(values: Dict[str, Any]) -> Callable[[Any, Dict[str, Any]], None]:
    """Attributes that a TF operator implies, unless it says otherwise."""

    def add(_: Any, attrs: Dict[str, Any]) -> None:
        for name, value in values.items():
            attrs.setdefault(name, value)

    return add


def _leaky(tf_attrs: Any, attrs: Dict[str, Any]) -> None:
    attrs["negative_slope"] = tf_attrs["alpha"].f if "alpha" in tf_attrs else 0.2


_KEEP_DIMS = _fixed({"keep_dims": False})
_NHWC = _fixed({"data_format": "NHWC"})
_MATMUL = _copy({"transpose_a": "transpose_x1", "transpose_b": "transpose_x2"})
_BATCH_MATMUL = _copy({"adj_x": "adj_x1", "adj_y": "adj_x2"})

_EXTRA: Dict[str, Callable[[Any, Dict[str, Any]], None]] = {
    "Cast": _dtype_number("DstT", "dst_type", 0),
    "Shape": _dtype_number("out_type", "dtype", 3),
    "ShapeN": _dtype_number("out_type", "dtype", 3),
    "Size": _dtype_number("out_type", "dtype", 3),
    "Empty": _dtype_number("dtype", "dtype", 1),
    "Placeholder": _dtype_number("dtype", "data_type", 1),
    "VariableV2": _dtype_number("dtype", "dtype", 1),
    "VarHandleOp": _dtype_number("dtype", "dtype", 1),
    "Exp": _natural_base,
    "Log": _natural_base,
    "Elu": _fixed({"alpha": 1.0, "scale": 1.0, "input_scale": 1.0}),
    "LeakyRelu": _leaky,
    "LeakyReluGrad": _leaky,
    "BiasAdd": _NHWC,
    "BiasAddGrad": _NHWC,
    "Softmax": _fixed({"axes": [-1]}),
    "LogSoftmax": _fixed({"axes": [-1]}),
    "ArgMax": _output_type,
    "ArgMin": _output_type,
    "Squeeze": _copy({"squeeze_dims": "axis"}),
    "TopKV2": _fixed({"sorted": True, "largest": True, "dim": -1}),
    "MatMul": _MATMUL,
    "BatchMatMul": _BATCH_MATMUL,
    "BatchMatMulV2": _BATCH_MATMUL,
    "BatchMatMulV3": _BATCH_MATMUL,
    "Sum": _KEEP_DIMS,
    "Mean": _KEEP_DIMS,
    "Max": _KEEP_DIMS,
    "Min": _KEEP_DIMS,
    "Prod": _KEEP_DIMS,
    "All": _KEEP_DIMS,
    "Any": _KEEP_DIMS,
    "EuclideanNorm": _KEEP_DIMS,
}
