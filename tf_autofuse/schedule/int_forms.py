"""Integer operations as lists of vector instructions.

Everything happens in int32, whose Add, Sub and Mul wrap, and with masks of all ones or zeros in
the place of comparisons: x >> 31 is -1 where x is negative, (x | -x) >> 31 where it is not 0. An
exclusive or is (a | b) - (a & b). Narrower integers are widened, computed, and cut to their bits.

A quotient is a float32 one twice corrected by that of the remainder, then brought to the quotient
rounded down by at most one step each way. There is no way to refuse a zero divisor on the chip: its
quotient is some number, as with the chip's own operators.
"""
from __future__ import annotations

from typing import Dict, List, Tuple

from tf_autofuse.kernel.ir import StepScalar
from tf_autofuse.schedule.pieces import steps

Instruction = Tuple[str, str, str, Tuple[str, ...], StepScalar]
"""(instruction, register type of the result, result, operands, scalar)"""

BITS: Dict[str, int] = {"int8": 8, "uint8": 8, "int16": 16, "int32": 32}
_FLOAT32 = frozenset(("rf", "qf", "sf", "af", "bf"))


def _typed(text: str) -> List[Instruction]:
    """Steps in int32, but for the temporaries of `_FLOAT32`."""
    return [(name, "float32" if dst in _FLOAT32 else "int32", dst, srcs, scalar)
            for name, dst, srcs, scalar in steps(text)]


def _xor(dst: str, left: str, right: str) -> str:
    return "xo = or {1} {2}; xa = and {1} {2}; {0} = sub xo xa;".format(dst, left, right)


def _nonzero(dst: str, of: str) -> str:
    """-1 where `of` is not 0."""
    return "zn = muls {1} -1; zo = or {1} zn; {0} = shrs zo 31;".format(dst, of)


def _against(dst: str, left: str, right: str) -> str:
    """-1 where `left` is not 0 and has another sign than `right`."""
    return _xor("ax", left, right) + "as = shrs ax 31;" + _nonzero("an", left) + (
        "{0} = and as an;".format(dst))


# The quotient q rounded down, and the remainder w.
_FLOOR = (
    "af = cast a; bf = cast b; qf = div af bf; q0 = trunc qf; p0 = mul q0 b; w0 = sub a p0;"
    "rf = cast w0; sf = div rf bf; q1 = trunc sf; q2 = add q0 q1; p1 = mul q1 b; w1 = sub w0 p1;"
    + _against("d", "w1", "b") + "q3 = add q2 d; db = and d b; w3 = add w1 db; v = sub w3 b;"
    + _nonzero("fz", "w3") + _against("i", "v", "b")  # 0 - b is b for the lowest b
    + "io = not i; o = and fz io; q = sub q3 o; ob = and o b; w = sub w3 ob;"
)
# Where a quotient is not whole and negative, it is rounded up instead.
_UP = _against("u", "w", "a") + "t = sub q u; ub = and u b; s = sub w ub;"


def _shift(instruction: str, bits: int) -> str:
    """a shifted by b, brought into 0 .. bits - 1, one binary digit of b after the other."""
    text = "c = maxs b 0; c = mins c %d; y = adds a 0;" % (bits - 1)
    for digit in range(bits.bit_length() - 1):
        text += ("k = fill {0}; g0 = and c k; g1 = muls g0 -1; g = shrs g1 31;"
                 "f = {1} y {0}; h = not g; e0 = and f g; e1 = and y h; y = or e0 e1;"
                 ).format(1 << digit, instruction)
    return text + "r = adds y 0"


def _in_int32(bits: int) -> Dict[str, str]:
    return {
        "add": "r = add a b", "sub": "r = sub a b", "mul": "r = mul a b", "neg": "r = muls a -1",
        "abs": "t = muls a -1; r = max a t", "max": "r = max a b", "min": "r = min a b",
        "bit_not": "r = not a", "bit_and": "r = and a b", "bit_or": "r = or a b",
        "bit_xor": _xor("r", "a", "b"),
        "int_sign": "g = shrs a 31;" + _nonzero("z", "a") + "o = fill 1; p = and z o; r = or g p",
        "floor_div": _FLOOR + "r = adds q 0", "int_floor_mod": _FLOOR + "r = adds w 0",
        "trunc_div": _FLOOR + _UP + "r = adds t 0", "trunc_mod": _FLOOR + _UP + "r = adds s 0",
        "shift_left": _shift("shls", bits), "shift_right": _shift("shrs", bits),
    }


def compare_by_bits(op: str) -> List[Instruction]:
    """A comparison of int32 as a bool in float16, for chips that compare only floats.

    a < b is the sign of a - b, and where the signs differ, and a - b may wrap, that of a.
    """
    left, right = ("b", "a") if op in ("gt", "le") else ("a", "b")
    if op in ("eq", "ne"):
        text = "d = sub a b;" + _nonzero("g", "d")
    else:
        text = _xor("x", left, right) + (
            "d = sub %s %s; nx = not x; d1 = and d nx; d0 = and %s x; e = or d0 d1; g = shrs e 31"
            % (left, right, left))
    form = _typed(text) + [("cast", "float32", "gf", ("g",), None),
                           ("cast", "float16", "gh", ("gf",), None)]
    if op in ("lt", "gt", "ne"):
        return form + [("muls", "float16", "r", ("gh",), -1.0)]
    return form + [("adds", "float16", "r", ("gh",), 1.0)]


def without_shifts(form: List[Instruction]) -> List[Instruction]:
    """The same for chips that do not shift: the sign by clamping, a shift to the left by a product.

    Other shifts to the right stay; such a chip has no form of them.
    """
    found: List[Instruction] = []
    for step in form:
        name, kind, dst, srcs, scalar = step
        if name == "shls":
            found.append(("muls", kind, dst, srcs, 1 << int(scalar)))  # type: ignore[arg-type]
        elif name == "shrs" and scalar == 31:
            found.append(("mins", kind, dst + "_low", srcs, 0))
            found.append(("maxs", kind, dst, (dst + "_low",), -1))
        else:
            found.append(step)
    return found


_SAME_IN_INT16 = frozenset(("add", "sub", "mul", "neg", "abs", "max", "min", "bit_not", "bit_and",
                            "bit_or", "bit_xor"))


def wrapped(dtype: str, source: str, result: str) -> List[Instruction]:
    """The low bits of int32 `source` as an integer of `dtype`, in its register type."""
    if dtype == "int32":
        return [("adds", "int32", result, (source,), 0)]
    half, mask = {"uint8": (0, 255), "int8": (128, 255), "int16": (32768, 65535)}[dtype]
    cut = _typed("n0 = adds %s %d; nk = fill %d; n1 = and n0 nk; n2 = adds n1 %d"
                 % (source, half, mask, -half))
    if dtype == "int16":
        return cut + [("cast", "int16", result, ("n2",), None)]
    return cut + [("cast", "float32", "n3", ("n2",), None),
                  ("cast", "float16", result, ("n3",), None)]


def _widened(dtype: str, source: str, result: str) -> List[Instruction]:
    if dtype == "int16":
        return [("cast", "float32", result + "w", (source,), None),
                ("cast", "int32", result, (result + "w",), None)]
    return [("cast", "int32", result, (source,), None)]


def int_form(op: str, dtype: str, operands: int) -> List[Instruction]:
    """`op` on integers of `dtype` in their register type; empty when there is no form."""
    text = _in_int32(BITS[dtype]).get(op) if dtype in BITS else None
    if text is None:
        return []
    if dtype == "int32":
        return _typed(text)
    if dtype == "int16" and op in _SAME_IN_INT16:
        return [(name, "int16", dst, srcs, scalar) for name, _, dst, srcs, scalar in _typed(text)]
    if op in ("max", "min"):
        return [(op, "float16", "r", ("a", "b"), None)]
    form: List[Instruction] = []
    for letter in "ab"[:operands]:
        form += _widened(dtype, letter, "in_" + letter)
    rename = {"a": "in_a", "b": "in_b", "r": "out"}
    form += [(name, kind, rename.get(dst, dst), tuple(rename.get(s, s) for s in srcs), scalar)
             for name, kind, dst, srcs, scalar in _typed(text)]
    return form + wrapped(dtype, "out", "r")
