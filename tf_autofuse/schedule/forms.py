"""Real operations of the loop IR as vector instructions.

The chip has no expm1 or log1p, and its own Rsqrt and Reciprocal are approximations, so these are
composed of what is exact enough:

    expm1(x) = x + x x P(x) up to 1/2, beyond it e^x - 1
    log1p(x) = log(u) + (x - (u - 1)) / u with u = 1 + x, and x where u is 1

Its Erf and Erfc clip their operand, which may lose a NaN, and its Sin and Cos say nothing of
infinities: these cases are put back. What stays is accuracy. Erfc squares in float32 and keeps five
digits where it is small. Sin and Cos subtract multiples of pi in float32: good for |x| up to 65504,
with fewer and in the end no right digits beyond. The signs of zeros are those of the calls.
"""
from __future__ import annotations

from typing import Dict

from tf_autofuse.loop.functions import SELU_SCALE, SELU_SCALE_ALPHA
from tf_autofuse.schedule.inverse_forms import INVERSE_FORMS
from tf_autofuse.schedule.mod_forms import MOD_FORMS
from tf_autofuse.schedule.pieces import (
    Form,
    expm1,
    half_exp,
    keep_nan,
    log1p,
    of_finite,
    steps,
    where,
)


def _one(name: str, operands: int) -> Form:
    return [(name, "r", ("a", "b")[:operands], None)]


def _reciprocal(dst: str, of: str, one: float = 1.0) -> Form:
    return [("fill", dst + "1", (), one), ("div", dst, (dst + "1", of), None)]


_NO_NAN: Form = [("nes", "m", ("b",), 0.0), ("selects", "r", ("m", "p"), 0.0)]
"""The product `p` where `b` is not 0, else 0."""

REAL_FORMS: Dict[str, Form] = {
    "neg": [("muls", "r", ("a",), -1.0)],
    "abs": _one("abs", 1), "exp": _one("exp", 1), "log": _one("ln", 1), "sqrt": _one("sqrt", 1),
    "tanh": _one("tanh", 1), "add": _one("add", 2), "sub": _one("sub", 2), "mul": _one("mul", 2),
    "div": _one("div", 2), "floor": _one("floor", 1), "ceil": _one("ceil", 1),
    "rint": _one("rint", 1), "trunc": _one("cut", 1), "erf": keep_nan("erf"),
    "erfc": keep_nan("erfc"), "sin": of_finite("sin"), "cos": of_finite("cos"),
    "rsqrt": [("sqrt", "t", ("a",), None)] + _reciprocal("r", "t"),
    "sigmoid": [
        ("muls", "t", ("a",), -1.0), ("exp", "e", ("t",), None), ("adds", "d", ("e",), 1.0),
    ] + _reciprocal("r", "d"),
    "sign": [
        ("fill", "o", (), 1.0), ("gts", "g", ("a",), 0.0), ("selects", "p", ("g", "o"), 0.0),
        ("fill", "q", (), -1.0), ("lts", "l", ("a",), 0.0), ("selects", "n", ("l", "q"), 0.0),
        ("add", "s", ("p", "n"), None), ("eq", "k", ("a", "a"), None),
        ("select", "r", ("k", "s", "a"), None),
    ],
    "expm1": expm1("s") + where("nes", "a", "s", "a"),
    "log1p": log1p("r", "a"),
    # h + 1 / (4 h) with h = e^|x| / 2
    "cosh": steps("t = abs a") + half_exp("h", "t") + _reciprocal("i", "h", 0.25) + [
        ("add", "r", ("h", "i"), None)],
    "elu": expm1("q") + where("lts", "a", "q", "a"),
    "selu": expm1("q") + [
        ("muls", "y", ("q",), SELU_SCALE_ALPHA), ("muls", "z", ("a",), SELU_SCALE),
    ] + where("lts", "a", "y", "z"),
    "softplus": [
        ("abs", "t", ("a",), None), ("muls", "n", ("t",), -1.0), ("exp", "e", ("n",), None),
    ] + log1p("q", "e") + [
        ("gts", "m", ("a",), 0.0), ("selects", "p", ("m", "a"), 0.0),
        ("add", "r", ("q", "p"), None),
    ],
    "softsign": [
        ("abs", "t", ("a",), None), ("adds", "d", ("t",), 1.0), ("div", "r", ("a", "d"), None),
    ],
    # A chip cannot refuse: where `a` is false it gives NaN.
    "require": steps("d = sub b b; n = div d d; m = nes a 0.0; r = select m b n"),
    "mul_no_nan": [("mul", "p", ("a", "b"), None)] + _NO_NAN,
    "div_no_nan": [("div", "p", ("a", "b"), None)] + _NO_NAN,
    "xdivy": [("div", "p", ("a", "b"), None)] + where("nes", "a", "p", "a"),
    "xlogy": [
        ("ln", "l", ("b",), None), ("mul", "p", ("a", "l"), None),
    ] + where("nes", "a", "p", "a"),
    "xlog1py": log1p("l", "b") + [("mul", "p", ("a", "l"), None)] + where("nes", "a", "p", "a"),
    "tanh_grad": [
        ("mul", "t", ("a", "a"), None), ("muls", "u", ("t",), -1.0), ("adds", "v", ("u",), 1.0),
        ("mul", "r", ("b", "v"), None),
    ],
    "sigmoid_grad": [
        ("muls", "t", ("a",), -1.0), ("adds", "u", ("t",), 1.0), ("mul", "v", ("a", "u"), None),
        ("mul", "r", ("b", "v"), None),
    ],
    "rsqrt_grad": [
        ("mul", "t", ("a", "a"), None), ("muls", "u", ("t",), -0.5),
        ("mul", "v", ("a", "b"), None), ("mul", "p", ("u", "v"), None),
    ] + _NO_NAN,
    "sqrt_grad": [
        ("fill", "t", (), 0.5), ("div", "u", ("t", "a"), None), ("mul", "p", ("u", "b"), None),
    ] + _NO_NAN,
    "reciprocal_grad": [
        ("mul", "t", ("a", "a"), None), ("muls", "u", ("t",), -1.0), ("mul", "p", ("u", "b"), None),
    ] + _NO_NAN,
    "elu_grad": [
        ("adds", "t", ("b",), 1.0), ("mul", "p", ("a", "t"), None),
    ] + where("lts", "b", "p", "a"),
    "selu_grad": [
        ("adds", "t", ("b",), SELU_SCALE_ALPHA), ("mul", "p", ("a", "t"), None),
        ("muls", "q", ("a",), SELU_SCALE),
    ] + where("lts", "b", "p", "q"),
    "softplus_grad": [
        ("muls", "t", ("b",), -1.0), ("exp", "e", ("t",), None), ("adds", "d", ("e",), 1.0),
        ("div", "r", ("a", "d"), None),
    ],
    "softsign_grad": [
        ("abs", "t", ("b",), None), ("adds", "d", ("t",), 1.0), ("mul", "e", ("d", "d"), None),
        ("div", "r", ("a", "e"), None),
    ],
}
REAL_FORMS.update(INVERSE_FORMS)
REAL_FORMS.update(MOD_FORMS)
