"""The vector instructions a program may use: meaning in numpy, operand types, Ascend C call.

`NAN_NOTE` marks instructions whose result for NaN operands the chip's manual leaves open: the
schedule uses them only where a NaN cannot occur or where the loop IR says so.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Dict, FrozenSet

import numpy as np

from tf_autofuse.loop.functions import REAL_FUNCTIONS, wide

REAL = frozenset(("float16", "float32"))
NUMBER = REAL | frozenset(("int16", "int32"))
SELECTABLE = frozenset(("float16", "float32", "int32"))


@dataclass(frozen=True)
class VectorOp:
    """`call`: Ascend C name. `scalar`: takes a scalar. `mask`: 'out', 'in' or ''.

    `mode`: how a Cast rounds, where the pair of types does not say. `scratch`: bytes that the call
    wants at least for the type that wants most; calls are faster with more. `words`: the call works
    on words of 16 bits, so that wider types are two elements each.
    """

    arity: int
    dtypes: FrozenSet[str]
    numpy: Callable
    call: str
    scalar: bool = False
    mask: str = ""
    in_place: bool = True
    mode: str = ""
    scratch: int = 0
    words: bool = False


def _compare(function: Callable, mode: str, dtypes: FrozenSet[str] = REAL) -> VectorOp:
    return VectorOp(2, dtypes, function, "CMPMODE::" + mode, mask="out", in_place=False)


def _compares(function: Callable, mode: str) -> VectorOp:
    return VectorOp(1, REAL, function, "CMPMODE::" + mode, scalar=True, mask="out",
                    in_place=False)


def _math(name: str, call: str, scratch: int) -> VectorOp:
    """A call of several instructions; it reads its operand while it writes its result."""
    return VectorOp(1, REAL, wide(REAL_FUNCTIONS[name][1]), call, in_place=False, scratch=scratch)


def _bits(arity: int, function: Callable, call: str) -> VectorOp:
    return VectorOp(arity, frozenset(("int16", "int32")), function, call, words=True)


def _shift(function: Callable, call: str) -> VectorOp:
    return VectorOp(1, frozenset(("int16", "int32")), function, call, scalar=True)


def _round(function: Callable, mode: str) -> VectorOp:
    return VectorOp(1, frozenset(("float32",)), function, "Cast", mode=mode)


VECTOR_OPS: Dict[str, VectorOp] = {
    "abs": VectorOp(1, REAL, np.abs, "Abs"),
    "exp": VectorOp(1, REAL, wide(np.exp), "Exp"),
    "ln": VectorOp(1, REAL, wide(np.log), "Ln"),
    "sqrt": VectorOp(1, REAL, np.sqrt, "Sqrt"),
    "tanh": _math("tanh", "Tanh", 1024),
    "erf": _math("erf", "Erf", 2048),
    "erfc": _math("erfc", "Erfc", 4096),
    "sin": _math("sin", "Sin", 2080),
    "cos": _math("cos", "Cos", 2080),
    "tan": _math("tan", "Tan", 2560),
    "power": VectorOp(2, frozenset(("float32",)), wide(np.power), "Power", in_place=False,
                      scratch=1024),
    "floor": _round(np.floor, "FLOOR"),
    "ceil": _round(np.ceil, "CEIL"),
    "rint": _round(np.rint, "RINT"),
    "cut": _round(np.trunc, "TRUNC"),
    "add": VectorOp(2, NUMBER, np.add, "Add"),
    "sub": VectorOp(2, NUMBER, np.subtract, "Sub"),
    "mul": VectorOp(2, NUMBER, np.multiply, "Mul"),
    "div": VectorOp(2, REAL, np.divide, "Div"),
    "max": VectorOp(2, NUMBER, np.maximum, "Max"),
    "min": VectorOp(2, NUMBER, np.minimum, "Min"),
    "adds": VectorOp(1, NUMBER, np.add, "Adds", scalar=True),
    "muls": VectorOp(1, NUMBER, np.multiply, "Muls", scalar=True),
    "maxs": VectorOp(1, NUMBER, np.maximum, "Maxs", scalar=True),
    "mins": VectorOp(1, NUMBER, np.minimum, "Mins", scalar=True),
    "and": _bits(2, np.bitwise_and, "And"),
    "or": _bits(2, np.bitwise_or, "Or"),
    "not": _bits(1, np.invert, "Not"),
    "shls": _shift(np.left_shift, "ShiftLeft"),
    "shrs": _shift(np.right_shift, "ShiftRight"),
    "lt": _compare(np.less, "LT"),
    "gt": _compare(np.greater, "GT"),
    "le": _compare(np.less_equal, "LE"),
    "ge": _compare(np.greater_equal, "GE"),
    "ne": _compare(np.not_equal, "NE"),
    "eq": _compare(np.equal, "EQ", SELECTABLE),
    "lts": _compares(np.less, "LT"),
    "gts": _compares(np.greater, "GT"),
    "les": _compares(np.less_equal, "LE"),
    "ges": _compares(np.greater_equal, "GE"),
    "nes": _compares(np.not_equal, "NE"),
    "eqs": _compares(np.equal, "EQ"),
    "select": VectorOp(3, SELECTABLE | {"int16"}, np.where, "Select", mask="in", in_place=False),
    "selects": VectorOp(2, REAL, np.where, "Select", scalar=True, mask="in", in_place=False),
    "cast": VectorOp(1, NUMBER, np.asarray, "Cast", in_place=False),
    "trunc": VectorOp(1, NUMBER, np.trunc, "Cast", in_place=False, mode="TRUNC"),
    "floor_to": VectorOp(1, NUMBER, np.floor, "Cast", in_place=False, mode="FLOOR"),
    "ceil_to": VectorOp(1, NUMBER, np.ceil, "Cast", in_place=False, mode="CEIL"),
}
"""`cast` rounds to nearest even; `trunc`, `floor_to` and `ceil_to` give an integer type, `cut`,
`floor` and `ceil` float32. `selects` has the scalar for false."""

CASTS: Dict[str, Callable] = {
    "cast": np.rint, "trunc": np.trunc, "floor_to": np.floor, "ceil_to": np.ceil,
}
"""How the instructions that change the type make a real number whole."""

NAN_NOTE = frozenset(("max", "min", "maxs", "mins"))

ROUND_MODES: Dict[str, Dict[str, str]] = {
    "float16": {"float32": "NONE", "int8": "NONE", "uint8": "NONE", "int16": "RINT",
                "int32": "RINT"},
    "bfloat16": {"float32": "NONE", "int32": "RINT"},
    "float32": {"float16": "NONE", "bfloat16": "RINT", "int16": "RINT", "int32": "RINT",
                "int64": "RINT"},
    "int8": {"float16": "NONE"},
    "uint8": {"float16": "NONE"},
    "int16": {"float16": "NONE", "float32": "NONE"},
    "int32": {"float32": "NONE", "int16": "NONE", "int64": "NONE"},
    "int64": {"float32": "RINT", "int32": "NONE"},
}
"""Casts the chip has, source to target, with the mode `cast` uses. Pairs from a float to an integer
know TRUNC too. NONE rounds to the nearest where a pair rounds, and some chips take only that."""

ITEM_BYTES: Dict[str, int] = {
    "float16": 2, "bfloat16": 2, "float32": 4, "int8": 1, "uint8": 1, "int16": 2, "int32": 4,
    "int64": 8,
}
