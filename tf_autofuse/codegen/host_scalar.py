"""Scalar C++ expressions of the loop IR for the CPU (functions of csrc/host).

A narrow float has two forms: its bits (`uint16_t`), for memory, and the same value as `float`, for
tests and exact arithmetic; the compiler drops the form nobody reads. bool is C++ `bool` in
registers and a byte in memory.
"""
from __future__ import annotations

import math
import struct
from typing import Dict, Sequence

from tf_autofuse.errors import ScheduleError
from tf_autofuse.loop.functions import REAL_FUNCTIONS
from tf_autofuse.loop.ir import Scalar
from tf_autofuse.loop.ops import DIVISIONS, FLOATS, INTS, NARROW_FLOATS

MEMORY_TYPES: Dict[str, str] = {
    "float32": "float", "float64": "double", "float16": "uint16_t", "bfloat16": "uint16_t",
    "bool": "uint8_t",
}
MEMORY_TYPES.update((name, name + "_t") for name in INTS)

VALUE_TYPES: Dict[str, str] = dict(MEMORY_TYPES, bool="bool")

_INT_MAPS = {
    "neg": "wrap_neg<{t}>({0})", "abs": "wrap_abs<{t}>({0})", "add": "wrap_add<{t}>({0}, {1})",
    "sub": "wrap_sub<{t}>({0}, {1})", "mul": "wrap_mul<{t}>({0}, {1})",
    "max": "({0} > {1} ? {0} : {1})", "min": "({0} < {1} ? {0} : {1})",
    "bit_not": "({t})~{0}", "bit_and": "({t})({0} & {1})", "bit_or": "({t})({0} | {1})",
    "bit_xor": "({t})({0} ^ {1})", "int_sign": "int_sign<{t}>({0})",
    "count_bits": "count_bits<{s}>({0})",
}
_INT_MAPS.update(
    (name, name + "<{t}>({0}, {1})")
    for name in DIVISIONS | frozenset(("int_pow", "shift_left", "shift_right"))
)
_FLOAT_MAPS = {
    "neg": "-{0}", "abs": "math_abs({0})", "sqrt": "math_sqrt({0})", "add": "{0} + {1}",
    "sub": "{0} - {1}", "mul": "{0} * {1}", "div": "{0} / {1}", "max": "pick_max({0}, {1})",
    "min": "pick_min({0}, {1})", "next_after": "math_next_after({0}, {1})",
}
_FLOAT_MAPS.update(
    (name, "math_%s(%s)" % (name, ("{0}", "{0}, {1}", "{0}, {1}, {2}")[arity - 1]))
    for name, (arity, _) in REAL_FUNCTIONS.items()
)
# Bits of the result: {w0}, {w1} are the operands as float; between equals the first one is kept.
_NARROW_MAPS = {
    "neg": "(uint16_t)({0} ^ 0x8000u)", "abs": "(uint16_t)({0} & 0x7fffu)",
    "max": "AF_AT_LEAST({w0}, {w1}) ? {0} : {1}", "min": "AF_AT_MOST({w0}, {w1}) ? {0} : {1}",
}
_WIDE_MAPS = {
    "neg": "-{0}", "abs": "math_abs({0})",
    "max": "AF_AT_LEAST({0}, {1}) ? {0} : {1}", "min": "AF_AT_MOST({0}, {1}) ? {0} : {1}",
    "select": "{0} ? {1} : {2}",
}
_BOOL_MAPS = {"and": "{0} & {1}", "or": "{0} | {1}", "not": "!{0}"}
_COMPARES = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


_NARROW_NAMES = {"float16": "half", "bfloat16": "bfloat16"}


def widen(text: str, dtype: str) -> str:
    """`text` of a narrow float as a C++ float; other types unchanged."""
    return "%s_to_float(%s)" % (_NARROW_NAMES[dtype], text) if dtype in _NARROW_NAMES else text


def map_expression(op: str, operands: Sequence[str], wide: Sequence[str], dtypes: Sequence[str],
                   dtype: str) -> str:
    """C++ of one map operation on operands of `dtypes` with a result of type `dtype`.

    `operands` are expressions in memory form, `wide` the same with narrow floats as float.
    Raises ScheduleError for an operation without a CPU form.
    """
    if op == "cast":
        return cast_expression(wide[0] if dtype != dtypes[0] else operands[0], dtypes[0], dtype)
    if op == "bitcast":
        return "same_bits<%s>(%s)" % (VALUE_TYPES[dtype], operands[0])
    if op == "select":
        return "{0} ? {1} : {2}".format(*operands)
    if op == "require":
        return "require<%s>(%s, %s)" % (VALUE_TYPES[dtype], operands[0], operands[1])
    if op in _COMPARES:
        return "%s %s %s" % (wide[0], _COMPARES[op], wide[1])
    form = _forms(dtypes[0]).get(op)
    if form is None:
        raise ScheduleError("no CPU form of %s for %s" % (op, dtypes[0]), stage="host code")
    names = {"w%d" % i: text for i, text in enumerate(wide)}
    return form.format(*operands, t=VALUE_TYPES[dtype], s=VALUE_TYPES[dtypes[0]], **names)


def wide_expression(op: str, wide: Sequence[str], bits: str, dtype: str) -> str:
    """The result of a map operation of narrow type as float; `bits` is the result in bits."""
    form = _WIDE_MAPS.get(op)
    return widen(bits, dtype) if form is None else form.format(*wide)


def _forms(dtype: str) -> Dict[str, str]:
    if dtype in FLOATS:
        return _FLOAT_MAPS
    if dtype in NARROW_FLOATS:
        return _NARROW_MAPS
    return _INT_MAPS if dtype in INTS else _BOOL_MAPS


def cast_expression(text: str, source: str, target: str) -> str:
    """C++ of TensorFlow's Cast between any two types; a narrow source comes as float."""
    if source == target:
        return text
    if source == "bool":  # a selection: a conversion keeps g++ from vectorising the loop
        return "%s ? %s : %s" % (text, constant(1, target), constant(0, target))
    real = source in FLOATS or source in NARROW_FLOATS
    if target == "bool":
        return "%s != 0" % text
    if target in NARROW_FLOATS:
        wide = "from_integer<float>(%s)" if source in INTS else "(float)%s"
        return "float_to_%s(%s)" % (_NARROW_NAMES[target], wide % text)
    if source in INTS and target in FLOATS:
        return "from_integer<%s>(%s)" % (VALUE_TYPES[target], text)
    if real and target in INTS:
        step = {"int64": "to_int64", "uint64": "to_uint64", "uint32": "to_int64"}
        return "(%s)%s(%s)" % (VALUE_TYPES[target], step.get(target, "to_int32"), text)
    return "(%s)%s" % (VALUE_TYPES[target], text)


def constant(value: Scalar, dtype: str) -> str:
    """A C++ literal with exactly this value."""
    if dtype == "bool":
        return "true" if value else "false"
    if dtype == "float16":
        return "(uint16_t)0x%04xu" % struct.unpack("<H", struct.pack("<e", value))[0]
    if dtype == "bfloat16":
        return "(uint16_t)0x%04xu" % (struct.unpack("<I", struct.pack("<f", value))[0] >> 16)
    if dtype in FLOATS:
        return _float_constant(float(value), "f" if dtype == "float32" else "")
    if dtype == "int64" and value == -2 ** 63:
        return "INT64_MIN"
    suffix = {"int64": "ll", "uint64": "ull", "uint32": "u"}.get(dtype, "")
    literal = "(-%d%s - 1)" % (-value - 1, suffix) if value < 0 else "%d%s" % (value, suffix)
    return "(%s)%s" % (VALUE_TYPES[dtype], literal)


def _float_constant(value: float, suffix: str) -> str:
    if math.isnan(value):
        return "__builtin_nan%s(\"\")" % suffix
    if math.isinf(value):
        return "%s__builtin_inf%s()" % ("-" if value < 0 else "", suffix)
    text = value.hex() if value != int(value) or abs(value) > 1e6 else repr(value)
    return "(%s%s)" % (text, suffix) if math.copysign(1, value) < 0 else text + suffix
