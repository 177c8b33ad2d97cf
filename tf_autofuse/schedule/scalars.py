"""Instructions whose operand is a constant take it as a scalar."""
from __future__ import annotations

from typing import List, Sequence, Tuple

from tf_autofuse.loop.ir import Const, Value
from tf_autofuse.schedule.expand import Instruction

_SCALAR_FORMS = {
    ("add", 0): "adds", ("add", 1): "adds", ("mul", 0): "muls", ("mul", 1): "muls",
    ("eq", 1): "eqs", ("ne", 1): "nes", ("lt", 1): "lts", ("le", 1): "les", ("gt", 1): "gts",
    ("ge", 1): "ges",
}
"""Instructions that take the constant operand of that position as a scalar."""


def with_scalar(form: Sequence[Instruction],
                operands: Sequence[Value]) -> Tuple[List[Instruction], str]:
    """`form` with a constant operand in the scalar form of its first instruction, and the letter of
    that operand; the same form and no letter where there is none."""
    for position, value in enumerate(operands[:2]):
        other = operands[1 - position] if len(operands) == 2 else value
        if not isinstance(value, Const) or isinstance(other, Const):
            continue
        op, kind, dst, srcs, _ = form[0]
        name = _SCALAR_FORMS.get((op, position))
        plain = len(form) == 1 or kind == "mask" and len(form) == 3
        if name is None or not plain or srcs != ("a", "b") or value.dtype == "int32" and (
                kind == "mask"):
            continue
        first = (name, kind, dst, ("b" if position == 0 else "a",), value.value)
        return [first] + list(form[1:]), "ab"[position]
    return list(form), ""
