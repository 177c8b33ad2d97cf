"""Remainders of float32 as vector instructions, exact for quotients below 2^66 and NaN beyond.

A quotient q is what the division gives, cut to an integer; it is off by half a unit at most, so
that a - q b is a float32 again: the product as a sum of two (T. Dekker), taken off one after the
other. Three of these steps leave less than b, up to one b, which is put right. Operands whose parts
would overflow or vanish are scaled by a power of two first.
"""
from __future__ import annotations

from typing import Dict

from tf_autofuse.schedule.pieces import Form, steps

_STEPS = 3
_HIGH, _LOW = 2.0**-40, 2.0**60
"""Factors of operands where b is above 1e30, and below 1e-18."""

_SCALED = (
    "ka = abs a; kb = abs b; s1 = fill 1.0; high = fill {high!r}; low = fill {low!r}"
    "; unhigh = fill {unhigh!r}; unlow = fill {unlow!r}; mh = gts kb 1e30; ml = lts kb 1e-18"
    "; s2 = select mh high s1; s = select ml low s2; u2 = select mh unhigh s1"
    "; u = select ml unlow u2; r0 = mul ka s; d = mul kb s"
).format(high=_HIGH, low=_LOW, unhigh=1 / _HIGH, unlow=1 / _LOW)
# dh + dl is the divisor, each with half of the digits.
_SPLIT = "; c0 = muls d 4097.0; c1 = sub c0 d; dh = sub c0 c1; dl = sub d dh"
_STEP = (
    "; v{0} = div r{0} d; q{0} = cut v{0}; p{0} = mul q{0} d; x{0} = muls q{0} 4097.0"
    "; y{0} = sub x{0} q{0}; qh{0} = sub x{0} y{0}; ql{0} = sub q{0} qh{0}"
    "; e1{0} = mul qh{0} dh; e2{0} = sub e1{0} p{0}; e3{0} = mul qh{0} dl; e4{0} = add e2{0} e3{0}"
    "; e5{0} = mul ql{0} dh; e6{0} = add e4{0} e5{0}; e7{0} = mul ql{0} dl; e8{0} = add e6{0} e7{0}"
    "; w{0} = sub r{0} p{0}; r{1} = sub w{0} e8{0}"
)
# Into [0, d), NaN where that was not reached; then the scale and the sign of a.
_ENDED = (
    "; g0 = lts {0} 0.0; g1 = add {0} d; g2 = select g0 g1 {0}; g3 = ge g2 d; g4 = sub g2 d"
    "; g5 = select g3 g4 g2; z0 = sub d d; z1 = div z0 z0; m0 = ges g5 0.0; g6 = select m0 g5 z1"
    "; m1 = lt g5 d; g7 = select m1 g6 z1; g8 = mul g7 u; g9 = muls g8 -1.0; n0 = lts a 0.0"
    "; h0 = select n0 g9 g8; n2 = lt ka kb; {1} = select n2 a h0"
)


def _fmod(dst: str) -> Form:
    """a - trunc(a / b) b; a where it is the smaller one."""
    text = _SCALED + _SPLIT
    for number in range(_STEPS):
        text += _STEP.format(number, number + 1)
    return steps(text + _ENDED.format("r%d" % _STEPS, dst))


MOD_FORMS: Dict[str, Form] = {
    "fmod": _fmod("r"),
    # One b more where the signs differ.
    "floor_mod": _fmod("f") + steps(
        "j0 = add f b; k0 = fill 1.0; k1 = lts f 0.0; k2 = selects k1 k0 0.0"
        "; k3 = lts b 0.0; k4 = selects k3 k0 0.0; k5 = eq k2 k4; k6 = select k5 f j0"
        "; k7 = nes f 0.0; r = select k7 k6 f"),
}
"""By the name of the loop IR."""
