"""What vector forms are put together from.

Operands are `a` and `b`, the result is `r`, other names are temporaries; a form is a list of
(instruction, result, operands, scalar).
"""
from __future__ import annotations

from typing import List, Sequence, Tuple

from tf_autofuse.kernel.ir import StepScalar

Form = List[Tuple[str, str, Tuple[str, ...], StepScalar]]


def steps(text: str) -> Form:
    """A form in words: one `result = instruction operands scalar` for each line or semicolon."""
    form: Form = []
    for line in text.replace(";", "\n").splitlines():
        if not line.strip():
            continue
        dst, _, rest = line.partition("=")
        name, *words = rest.split()
        scalar: StepScalar = None
        if words and (words[-1][0].isdigit() or words[-1][0] == "-"):
            number = words.pop()
            scalar = int(number) if number.lstrip("-").isdigit() else float(number)
        form.append((name, dst.strip(), tuple(words), scalar))
    return form


def polynomial(dst: str, of: str, coefficients: Sequence[float]) -> Form:
    """Horner's scheme, the coefficient of the lowest power first."""
    form: Form = [("muls", "h", (of,), coefficients[-1])]
    for coefficient in reversed(coefficients[1:-1]):
        form += [("adds", "h", ("h",), coefficient), ("mul", "h", ("h", of), None)]
    return form + [("adds", dst, ("h",), coefficients[0])]


_EXPM1 = (0.5000000121691625, 0.16666667139685734, 0.041665790959646884, 0.008333182040869667,
          0.0013982196861941029, 0.00019962186056405443)


def expm1(dst: str) -> Form:
    """e^a - 1: a + a^2 P(a) up to 1/2, where the difference would lose digits. Of -0.0 it is 0."""
    return steps("x2 = mul a a") + polynomial("xp", "a", _EXPM1) + steps(
        "x3 = mul xp x2; x4 = add a x3; x5 = exp a; x6 = adds x5 -1.0; x7 = abs a"
        "; xm = lts x7 0.5; %s = select xm x4 x6" % dst)


def log1p(dst: str, of: str) -> Form:
    """log(1 + x) = log(u) + (x - (u - 1)) / u with u = 1 + x as rounded, and x where u is 1.

    The second summand is what the rounding left out; at -1 and infinity it is NaN and does not
    count.
    """
    return steps(
        "y0 = adds {of} 1.0; y1 = adds y0 -1.0; y2 = sub {of} y1; y3 = div y2 y0; y4 = ln y0"
        "; y5 = add y4 y3; yn = eq y3 y3; y6 = select yn y5 y4; ym = nes y1 0.0"
        "; {dst} = select ym y6 {of}".format(of=of, dst=dst))


def half_exp(dst: str, of: str) -> Form:
    """e^x / 2 where it fits float32 though e^x may not: beyond 88, e^c / 2 times e^(x - c).

    `c` is chosen so that e^c / 2 is a float32 to ten digits, and is subtracted exactly.
    """
    return steps(
        "em = gts {of} 88.0; e0 = adds {of} -10.28125; e1 = select em e0 {of}; e2 = exp e1"
        "; e3 = muls e2 0.5; e4 = muls e2 14590.1630859375; {dst} = select em e4 e3"
        .format(of=of, dst=dst))


def where(test: str, operand: str, yes: str, no: str) -> Form:
    """The result is `yes` where the test of the operand against 0 holds, else `no`."""
    return [(test, "m", (operand,), 0.0), ("select", "r", ("m", yes, no), None)]


def keep_nan(name: str) -> Form:
    """A call that may give a number for NaN."""
    return steps("t = %s a; m = eq a a; r = select m t a" % name)


def of_finite(name: str) -> Form:
    """A call whose result is NaN for infinities and NaN, which a - a tells from numbers."""
    return steps("t = %s a; d = sub a a; m = eq d d; r = select m t d" % name)
