"""Enumerations in GE's own numbering."""
from enum import IntEnum

_TYPES = (
    "FLOAT:0 FLOAT16:1 INT8:2 INT32:3 UINT8:4 INT16:6 UINT16:7 UINT32:8 INT64:9 UINT64:10 DOUBLE:11"
    " BOOL:12 STRING:13 RESOURCE:23 VARIANT:26 BF16:27 UNDEFINED:28"
)
_PROTO = {
    0: 1, 1: 2, 2: 3, 3: 7, 4: 4, 6: 5, 7: 6, 8: 9, 9: 8, 10: 10, 11: 12, 12: 11, 13: 13, 23: 23,
    26: 26, 27: 27, 28: 0,
}  # fmt: skip
_FORMATS = (
    "NCHW NHWC ND NC1HWC0 FRACTAL_Z NC1C0HWPAD NHWC1C0 FSR_NCHW FRACTAL_DECONV C1HWNC0"
    " FRACTAL_DECONV_TRANSPOSE FRACTAL_DECONV_SP_STRIDE_TRANS NC1HWC0_C04 FRACTAL_Z_C04 CHWN"
    " FRACTAL_DECONV_SP_STRIDE8_TRANS HWCN NC1KHKWHWC0 BN_WEIGHT FILTER_HWCK"
    " HASHTABLE_LOOKUP_LOOKUPS HASHTABLE_LOOKUP_KEYS HASHTABLE_LOOKUP_VALUE"
    " HASHTABLE_LOOKUP_OUTPUT HASHTABLE_LOOKUP_HITS C1HWNCoC0 MD NDHWC FRACTAL_ZZ FRACTAL_NZ NCDHW"
)

DataType = IntEnum(  # type: ignore[misc]
    "DataType",
    [("DT_" + name, int(number)) for name, number in (w.split(":") for w in _TYPES.split())],
)
Format = IntEnum(  # type: ignore[misc]
    "Format",
    [("FORMAT_" + name, number) for number, name in enumerate(_FORMATS.split())]
    + [("FORMAT_RESERVED", 40)],
)


def to_proto(data_type):
    """Number of a data type in tensor descriptors."""
    return _PROTO[int(data_type)]


def of_proto(number):
    """Data type of a number in tensor descriptors."""
    return DataType({proto: own for own, proto in _PROTO.items()}[number])


def to_layout(fmt):
    """Name of a format in tensor descriptors."""
    return fmt.name if fmt.name == "FORMAT_RESERVED" else fmt.name[len("FORMAT_") :]


def of_layout(text):
    """Format of a name in tensor descriptors."""
    return getattr(Format, "FORMAT_" + text, Format.FORMAT_RESERVED)
