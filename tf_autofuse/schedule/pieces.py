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


def expm1_below(dst: str) -> Form:
    """e^-|a| - 1"""
    return steps("x0 = abs a; x1 = muls x0 -0.5; x2 = tanh x1; x3 = muls x2 2.0"
                 "; x4 = muls x2 -1.0; x5 = adds x4 1.0; %s = div x3 x5" % dst)


def log1p(dst: str, of: str) -> Form:
    """log(1 + x). Above 1e30, where the quotient may be of infinities, 1 + x is x."""
    return steps(
        "y0 = adds {of} 1.0; y1 = adds y0 -1.0; y2 = ln y0; y3 = div {of} y1; y4 = mul y2 y3"
        "; ym = nes y1 0.0; y5 = select ym y4 {of}; yn = lts {of} 1e30; {dst} = select yn y5 y2"
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
