"""Enumerations of GE as its Python package numbers them, and their other spellings.

GE has two numberings of data types: its own (`DataType`, used in attributes and in the API) and
that of ge_ir.proto (used in tensor descriptors). `PROTO_OF` and `DATA_TYPE_OF_PROTO` translate.
"""

from __future__ import annotations

from enum import Enum, IntEnum
from typing import Dict, Optional

import numpy as np

STATUS_SUCCESS = 0
STATUS_FAILED = 4294967295
STATUS_NOT_CHANGED = 1343242304


class DataType(IntEnum):
    """Element types in GE's own numbering."""

    DT_FLOAT = 0
    DT_FLOAT16 = 1
    DT_INT8 = 2
    DT_INT32 = 3
    DT_UINT8 = 4
    DT_INT16 = 6
    DT_UINT16 = 7
    DT_UINT32 = 8
    DT_INT64 = 9
    DT_UINT64 = 10
    DT_DOUBLE = 11
    DT_BOOL = 12
    DT_STRING = 13
    DT_DUAL_SUB_INT8 = 14
    DT_DUAL_SUB_UINT8 = 15
    DT_COMPLEX64 = 16
    DT_COMPLEX128 = 17
    DT_QINT8 = 18
    DT_QINT16 = 19
    DT_QINT32 = 20
    DT_QUINT8 = 21
    DT_QUINT16 = 22
    DT_RESOURCE = 23
    DT_STRING_REF = 24
    DT_DUAL = 25
    DT_VARIANT = 26
    DT_BF16 = 27
    DT_UNDEFINED = 28
    DT_INT4 = 29
    DT_UINT1 = 30
    DT_INT2 = 31
    DT_UINT2 = 32
    DT_COMPLEX32 = 33
    DT_HIFLOAT8 = 34
    DT_FLOAT8_E5M2 = 35
    DT_FLOAT8_E4M3FN = 36
    DT_FLOAT8_E8M0 = 37
    DT_FLOAT6_E3M2 = 38
    DT_FLOAT6_E2M3 = 39
    DT_FLOAT4_E2M1 = 40
    DT_FLOAT4_E1M2 = 41


# Names in the order of ge_ir.proto, where the first is 0.
PROTO_NAMES = tuple(
    "DT_" + name
    for name in (
        "UNDEFINED FLOAT FLOAT16 INT8 UINT8 INT16 UINT16 INT32 INT64 UINT32 UINT64 BOOL DOUBLE"
        " STRING DUAL_SUB_INT8 DUAL_SUB_UINT8 COMPLEX64 COMPLEX128 QINT8 QINT16 QINT32 QUINT8"
        " QUINT16 RESOURCE STRING_REF DUAL VARIANT BF16 INT4 UINT1 INT2 UINT2 COMPLEX32 HIFLOAT8"
        " FLOAT8_E5M2 FLOAT8_E4M3FN FLOAT8_E8M0 FLOAT6_E3M2 FLOAT6_E2M3 FLOAT4_E2M1 FLOAT4_E1M2"
    ).split()
)
DATA_TYPE_OF_PROTO = tuple(DataType[name] for name in PROTO_NAMES)
PROTO_OF: Dict[DataType, int] = {dtype: number for number, dtype in enumerate(DATA_TYPE_OF_PROTO)}

# ONNX TensorProto.DataType of the types ONNX knows; GE leaves the others (bf16 too) out.
ONNX_OF: Dict[DataType, int] = {
    DataType.DT_FLOAT: 1,
    DataType.DT_UINT8: 2,
    DataType.DT_INT8: 3,
    DataType.DT_UINT16: 4,
    DataType.DT_INT16: 5,
    DataType.DT_INT32: 6,
    DataType.DT_INT64: 7,
    DataType.DT_STRING: 8,
    DataType.DT_BOOL: 9,
    DataType.DT_FLOAT16: 10,
    DataType.DT_DOUBLE: 11,
    DataType.DT_UINT32: 12,
    DataType.DT_UINT64: 13,
    DataType.DT_COMPLEX64: 14,
    DataType.DT_COMPLEX128: 15,
}

# How a tensor of the type lies in memory; bfloat16 has no numpy type and is held as its 16 bits.
NUMPY_OF: Dict[DataType, np.dtype] = {
    dtype: np.dtype(name)
    for dtype, name in (
        (DataType.DT_FLOAT, "float32"),
        (DataType.DT_FLOAT16, "float16"),
        (DataType.DT_INT8, "int8"),
        (DataType.DT_INT32, "int32"),
        (DataType.DT_UINT8, "uint8"),
        (DataType.DT_INT16, "int16"),
        (DataType.DT_UINT16, "uint16"),
        (DataType.DT_UINT32, "uint32"),
        (DataType.DT_INT64, "int64"),
        (DataType.DT_UINT64, "uint64"),
        (DataType.DT_DOUBLE, "float64"),
        (DataType.DT_BOOL, "bool"),
        (DataType.DT_COMPLEX64, "complex64"),
        (DataType.DT_COMPLEX128, "complex128"),
        (DataType.DT_BF16, "uint16"),
    )
}


def type_text(data_type: DataType) -> str:
    """The name in dumps for people; of all types only bfloat16 has another one there."""
    return "DT_BFLOAT16" if data_type is DataType.DT_BF16 else data_type.name


def numpy_dtype(data_type: DataType) -> Optional[np.dtype]:
    """The numpy type that holds `data_type`, None when there is none; bfloat16 gives uint16."""
    return NUMPY_OF.get(data_type)


class Format(IntEnum):
    """Storage formats in GE's numbering."""

    FORMAT_NCHW = 0
    FORMAT_NHWC = 1
    FORMAT_ND = 2
    FORMAT_NC1HWC0 = 3
    FORMAT_FRACTAL_Z = 4
    FORMAT_NC1C0HWPAD = 5
    FORMAT_NHWC1C0 = 6
    FORMAT_FSR_NCHW = 7
    FORMAT_FRACTAL_DECONV = 8
    FORMAT_C1HWNC0 = 9
    FORMAT_FRACTAL_DECONV_TRANSPOSE = 10
    FORMAT_FRACTAL_DECONV_SP_STRIDE_TRANS = 11
    FORMAT_NC1HWC0_C04 = 12
    FORMAT_FRACTAL_Z_C04 = 13
    FORMAT_CHWN = 14
    FORMAT_FRACTAL_DECONV_SP_STRIDE8_TRANS = 15
    FORMAT_HWCN = 16
    FORMAT_NC1KHKWHWC0 = 17
    FORMAT_BN_WEIGHT = 18
    FORMAT_FILTER_HWCK = 19
    FORMAT_HASHTABLE_LOOKUP_LOOKUPS = 20
    FORMAT_HASHTABLE_LOOKUP_KEYS = 21
    FORMAT_HASHTABLE_LOOKUP_VALUE = 22
    FORMAT_HASHTABLE_LOOKUP_OUTPUT = 23
    FORMAT_HASHTABLE_LOOKUP_HITS = 24
    FORMAT_C1HWNCoC0 = 25
    FORMAT_MD = 26
    FORMAT_NDHWC = 27
    FORMAT_FRACTAL_ZZ = 28
    FORMAT_FRACTAL_NZ = 29
    FORMAT_NCDHW = 30
    FORMAT_DHWCN = 31
    FORMAT_NDC1HWC0 = 32
    FORMAT_FRACTAL_Z_3D = 33
    FORMAT_CN = 34
    FORMAT_NC = 35
    FORMAT_DHWNC = 36
    FORMAT_FRACTAL_Z_3D_TRANSPOSE = 37
    FORMAT_FRACTAL_ZN_LSTM = 38
    FORMAT_FRACTAL_Z_G = 39
    FORMAT_RESERVED = 40
    FORMAT_ALL = 41
    FORMAT_NULL = 42
    FORMAT_ND_RNN_BIAS = 43
    FORMAT_FRACTAL_ZN_RNN = 44
    FORMAT_NYUV = 45
    FORMAT_NYUV_A = 46
    FORMAT_NCL = 47
    FORMAT_FRACTAL_Z_WINO = 48
    FORMAT_C1HWC0 = 49
    FORMAT_FRACTAL_NZ_C0_16 = 50
    FORMAT_FRACTAL_NZ_C0_32 = 51
    FORMAT_FRACTAL_NZ_C0_2 = 52
    FORMAT_FRACTAL_NZ_C0_4 = 53
    FORMAT_FRACTAL_NZ_C0_8 = 54


# Descriptors spell a format without the prefix; these keep it.
_LAYOUT_OF: Dict[Format, str] = {fmt: fmt.name[len("FORMAT_") :] for fmt in Format}
_LAYOUT_OF[Format.FORMAT_RESERVED] = "FORMAT_RESERVED"
_FORMAT_OF_LAYOUT: Dict[str, Format] = {layout: fmt for fmt, layout in _LAYOUT_OF.items()}


def layout_name(fmt: Format) -> str:
    """`Format` as the text of a descriptor: FORMAT_ND -> "ND"."""
    return _LAYOUT_OF[fmt]


def format_of_layout(layout: str) -> Format:
    """The text of a descriptor as `Format`; unknown text is FORMAT_RESERVED."""
    return _FORMAT_OF_LAYOUT.get(layout, Format.FORMAT_RESERVED)


class DumpFormat(IntEnum):
    """Kinds of graph dumps."""

    kOnnx = 0
    kTxt = 1
    kReadable = 2


class PassStage(Enum):
    """When a fusion pass runs within one graph compile."""

    BEFORE_INFER_SHAPE = "BeforeInferShape"
    AFTER_INFER_SHAPE = "AfterInferShape"
    AFTER_BUILTIN_FUSION_PASS = "AfterBuiltinFusionPass"
    AFTER_ORIGIN_GRAPH_OPTIMIZE = "AfterOriginGraphOptimize"


# What GE appends to the dump made right after the passes of a stage.
STAGE_DUMP_SUFFIX: Dict[PassStage, str] = {
    PassStage.BEFORE_INFER_SHAPE: "RunCustomPassBeforeInfershape",
    PassStage.AFTER_INFER_SHAPE: "RunCustomPass_AfterInferShape",
    PassStage.AFTER_BUILTIN_FUSION_PASS: "RunCustomPassAfterBuiltinFusionPass",
    PassStage.AFTER_ORIGIN_GRAPH_OPTIMIZE: "RunCustomPassAfterOriginGraphOptimize",
}
