"""Inverse trigonometric, hyperbolic and error functions, and powers, as vector instructions.

The chip's calls of these promise four digits, so they are composed of what is exact enough:

    asinh(x) = a + a^3 P(a a) up to a = |x| = 1, beyond it log1p(a + a a / (1 + sqrt(a a + 1))) or,
               if large, log(a) + log(2)
    acosh(x) = sqrt(2 t) (1 + t P(t)) with t = x - 1 up to 1, beyond it log1p(t + sqrt(t (t + 2)))
    atanh(x) = a + a^3 P(a a) up to 1/2, beyond it log1p(2 a / (1 - a)) / 2
    sinh(x)  = a + a^3 P(a a) up to 1, beyond it h - 1 / (4 h) with h = e^a / 2
    asin(x)  = a + a^3 P(a a) up to 1/2, beyond it pi/2 - 2 asin(sqrt((1 - a) / 2))
    atan(x)  = a P(a a) up to 1, beyond it pi/2 - atan(1 / a)
    erfinv(x) = x P(w) with w = -log((1 - x) (1 + x)), by w below 5 and by its root above

The polynomials are Chebyshev fits of these with relative errors below 2^-22. Of powers, the call
does the work and its limits are put back.
"""
from __future__ import annotations

import math
from typing import Dict, Sequence

from tf_autofuse.schedule.pieces import Form, half_exp, log1p, of_finite, polynomial, steps

_ATAN = (1.0, -0.33333322405815125, 0.1999959647655487, -0.14279048144817352,
         0.11053784936666489, -0.08796117454767227, 0.0671011433005333, -0.04427366703748703,
         0.02220345474779606, -0.007166164927184582, 0.0010844927746802568)
_ASIN = (0.1666666567325592, 0.07500098645687103, 0.04459803178906441, 0.03111615590751171,
         0.017077859491109848, 0.03380574658513069)
_SINH = (0.16666666646810355, 0.008333339681641018, 0.00019838100441790793,
         2.806290439539884e-06)
_ASINH = (-0.16666666388236628, 0.0749995297607463, -0.04462962517940704, 0.030236003699322563,
          -0.021542996527107033, 0.014581356600731309, -0.008059144701848054,
          0.00297653362296197, -0.0005214084290643244)
_ACOSH = (-0.08333333191370987, 0.018749856814975176, -0.0055779747053826614,
          0.0018837522620345634, -0.0006520439170097985, 0.00019119986979257707,
          -3.160015318499203e-05)
_ATANH = (0.3333333157370417, 0.2000049601533857, 0.14263242354063282, 0.11478225087646725,
          0.06455003822151059, 0.15813754748109737)
_ERFINV_NEAR = (1.5014094114303589, 0.24664029479026794, -0.004177389666438103,
                -0.0012527484213933349, 0.0002183469187002629, -4.959743364452152e-06,
                -3.4633562790986616e-06, 4.654287408811797e-07, 2.3285844363840624e-08,
                -8.73983108107268e-09)
_ERFINV_FAR = (2.832977056503296, 1.001675009727478, 0.009433859959244728,
               -0.007636678405106068, 0.005774279125034809, -0.003624142613261938,
               0.0012673796154558659, 5.349397179088555e-05, -0.00013639124517794698)
_HALF_PI, _PI, _LOG2 = math.pi / 2, math.pi, math.log(2)
_HALF_PI_REST = -4.371139e-08
"""What float32 rounds off from pi / 2."""


def _signed(of: str, size: str) -> Form:
    """`size` with the sign of `of`, and `of` itself where it is 0."""
    return steps("sn = muls %s -1.0; sm = lts %s 0.0; ss = select sm sn %s; sz = nes %s 0.0"
                 "; r = select sz ss %s" % (size, of, size, of, of))


def _log_when_large(of: str, near: str, dst: str) -> Form:
    return steps("lg = ln {of}; lh = adds lg {log2!r}; lm = lts {of} 1e18"
                 "; {dst} = select lm {near} lh".format(of=of, near=near, dst=dst, log2=_LOG2))


def _odd(dst: str, of: str, coefficients: Sequence[float]) -> Form:
    """x + x^3 P(x x)"""
    return steps("oz = mul {0} {0}".format(of)) + polynomial("op", "oz", coefficients) + steps(
        "o1 = mul op oz; o2 = mul o1 {0}; {1} = add {0} o2".format(of, dst))


def _arc(angle: str, ratio: str) -> Form:
    """atan of a ratio in [0, 1]."""
    return steps("z = mul {0} {0}".format(ratio)) + polynomial("ap", "z", _ATAN) + steps(
        "%s = mul %s ap" % (angle, ratio))


# t: asin of |a| where it is at most 1/2 (mask `small`), else of sqrt((1 - |a|) / 2).
_HALF_ASIN = steps("s = abs a; small = les s 0.5; w0 = mul s s; w1 = muls s -0.5"
                   "; w2 = adds w1 0.5; w = select small w0 w2; w3 = sqrt w"
                   "; v = select small s w3") + polynomial("p", "w", _ASIN) + steps(
    "p1 = mul p w; p2 = mul p1 v; t = add v p2")

INVERSE_FORMS: Dict[str, Form] = {
    "asinh": steps("k = abs a") + _odd("near", "k", _ASINH) + steps(
        "s = mul k k; s1 = adds s 1.0; s2 = sqrt s1; s3 = adds s2 1.0; s4 = div s s3; u = add k s4"
    ) + log1p("l", "u") + _log_when_large("k", "l", "far")
    + steps("m = lts k 1.0; w = select m near far") + _signed("a", "w"),
    "acosh": steps("t = adds a -1.0") + polynomial("p", "t", _ACOSH) + steps(
        "p1 = mul p t; v = muls t 2.0; v1 = sqrt v; p2 = mul p1 v1; near = add v1 p2"
        "; t2 = adds t 2.0; s = mul t t2; s1 = sqrt s; u = add t s1"
    ) + log1p("l", "u") + _log_when_large("a", "l", "far")
    + steps("m = lts a 2.0; r = select m near far"),
    "atanh": steps("k = abs a") + _odd("near", "k", _ATANH) + steps(
        "d0 = muls k -1.0; d = adds d0 1.0; n = muls k 2.0; u = div n d"
    ) + log1p("l", "u") + steps("far = muls l 0.5; m = lts k 0.5; w = select m near far")
    + _signed("a", "w"),
    "sinh": steps("k = abs a") + _odd("near", "k", _SINH) + half_exp("h", "k") + steps(
        "q = fill 0.25; i = div q h; far = sub h i; m = lts k 1.0; w = select m near far")
    + _signed("a", "w"),
    "tan": of_finite("tan"),
    "asin": _HALF_ASIN + steps("t2 = muls t -2.0; t3 = adds t2 %r; t4 = adds t3 %r"
                               "; w = select small t t4" % (_HALF_PI, _HALF_PI_REST))
    + _signed("a", "w"),
    "acos": _HALF_ASIN + steps(
        "below = lts a 0.0; n = muls t -1.0; e = select below n t; e1 = muls e -1.0"
        "; near = adds e1 {half!r}; f = muls t 2.0; f1 = muls f -1.0; f2 = adds f1 {pi!r}"
        "; far = select below f2 f; r = select small near far".format(half=_HALF_PI, pi=_PI)),
    "atan": steps("k = abs a; big = gts k 1.0; o = fill 1.0; i = div o k; q = select big i k")
    + _arc("t", "q") + steps("n = muls t -1.0; n1 = adds n %r; w = select big n1 t" % _HALF_PI)
    + _signed("a", "w"),
    # The sign of b, also of -0.0, is that of min(b, 1 / b).
    "atan2": steps("k = abs a; l = abs b; hi = max k l; lo = min k l; q0 = div lo hi"
                   "; e = eq lo hi; o = fill 1.0; q1 = select e o q0; z0 = nes hi 0.0"
                   "; q = selects z0 q1 0.0")
    + _arc("t", "q") + steps(
        "n = muls t -1.0; n1 = adds n {half!r}; up = gt k l; t1 = select up n1 t"
        "; i = div o b; i1 = min b i; left = lts i1 0.0; n2 = muls t1 -1.0; n3 = adds n2 {pi!r}"
        "; t2 = select left n3 t1; j = div o a; j1 = min a j; down = lts j1 0.0"
        "; n4 = muls t2 -1.0; t3 = select down n4 t2; c = eq a a; t4 = select c t3 a"
        "; c1 = eq b b; r = select c1 t4 b".format(half=_HALF_PI, pi=_PI)),
    # The call wants operands in buffers of one size.
    "pow": steps("u = muls a 1.0; v = muls b 1.0; p = power u v"
                 "; c = eq a a; p1 = select c p a; c1 = eq b b; p2 = select c1 p1 b"
                 "; o = fill 1.0; z = nes b 0.0; p3 = select z p2 o; z1 = nes a 1.0"
                 "; r = select z1 p3 o"),
    "erfinv": steps("k = abs a; d0 = muls k -1.0; d = adds d0 1.0; d1 = adds k 1.0"
                    "; v = mul d d1; w0 = ln v; w = muls w0 -1.0; w1 = adds w -2.5")
    + polynomial("near", "w1", _ERFINV_NEAR) + steps("w2 = sqrt w; w3 = adds w2 -3.0")
    + polynomial("far", "w3", _ERFINV_FAR) + steps(
        "m = lts w 5.0; p = select m near far; t = mul p a; t1 = adds t 0.0; o = fill 1.0"
        "; y = sub k k; i = div a y; e = nes k 1.0; r = select e t1 i"),
}
"""By the name of the loop IR."""
