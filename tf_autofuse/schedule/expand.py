"""Loop IR operations as sequences of vector instructions that the chip has.

A value lives in UB in a *register type*: bfloat16 as float32 (the chip has no bfloat16
arithmetic; every bfloat16 is a float32), bool and 8-bit integers as float16 (exact up to 2048).
"""
from __future__ import annotations

from typing import Dict, FrozenSet, List, Tuple

from tf_autofuse.errors import ScheduleError
from tf_autofuse.kernel.vector import REAL, SELECTABLE, VECTOR_OPS
from tf_autofuse.loop.ir import Index, LoopKernel, Map, Reduce, Value
from tf_autofuse.loop.ops import INTS
from tf_autofuse.schedule.forms import REAL_FORMS
from tf_autofuse.schedule.int_forms import (
    Instruction,
    compare_by_bits,
    int_form,
    without_shifts,
    wrapped,
)
from tf_autofuse.schedule.pieces import steps

REGISTER: Dict[str, str] = {
    "float32": "float32", "float16": "float16", "bfloat16": "float32", "bool": "float16",
    "int32": "int32", "int16": "int16", "int8": "float16", "uint8": "float16", "int64": "int64",
}
MEMORY: Dict[str, str] = dict({name: name for name in REGISTER}, bool="uint8")

_TESTS = frozenset(name for name, op in VECTOR_OPS.items() if op.mask == "out")


def register_type(dtype: str, node: str = "") -> str:
    """Register type of a loop IR dtype; ScheduleError when the vector core has none."""
    if dtype not in REGISTER:
        raise ScheduleError("the vector core has no %s" % dtype, node=node, stage="schedule")
    return REGISTER[dtype]


def reduced_type(value: Value) -> str:
    """Register type in which a reduction accumulates; ScheduleError when there is none."""
    register = register_type(value.dtype, value.name)
    if register not in ("float32", "float16", "int32"):
        raise ScheduleError("no vector reduction of %s" % value.dtype, node=value.name,
                            stage="schedule")
    return register


def missing_instruction(loop: LoopKernel) -> str:
    """What `loop` needs and the vector core has not, in words; empty when nothing is missing."""
    for value in loop.body:
        try:
            kind = register_type(value.dtype, value.name)
            if isinstance(value, Index) and value.dtype not in ("int32", "int64"):
                raise ScheduleError("no vector form of a coordinate in %s" % value.dtype,
                                    stage="schedule")
            if isinstance(value, Map):
                dtypes = tuple(loop.value(name).dtype for name in value.operands)
                expand(value.op, dtypes, value.dtype)
            elif isinstance(value, Reduce):
                _check_reduce(value, kind)
        except ScheduleError as error:
            return error.message + (" (%s)" % value.origin if value.origin else "")
    return ""


def _check_reduce(value: Reduce, kind: str) -> None:
    exact = value.op in ("max", "min", "all", "any")
    known = exact or value.op in ("sum", "mean", "prod")
    if not known or kind not in SELECTABLE or value.dtype in ("int8", "uint8") and not exact:
        raise ScheduleError("no vector reduction %s of %s" % (value.op, value.dtype),
                            stage="schedule")


def expand(op: str, dtypes: Tuple[str, ...], dtype: str, node: str = "",
           lacks: FrozenSet[str] = frozenset()) -> List[Instruction]:
    """Instructions for `op` on operands of loop dtypes `dtypes` with result `dtype`.

    (instruction, register type of the result, result, operands, scalar): `a`, `b`, `c` are the
    operands of the operation, `r` its result, other names temporaries; type `mask` is a mask.
    `lacks` are instructions to do without. Raises ScheduleError when the chip cannot do it.
    """
    form = _expand(op, dtypes, dtype, node, lacks)
    form = without_shifts(form) if "shrs" in lacks else form
    return [step for whole in form for step in _without_rounding(whole, lacks)]


def _expand(op: str, dtypes: Tuple[str, ...], dtype: str, node: str,
            lacks: FrozenSet[str]) -> List[Instruction]:
    if op == "cast":
        return _cast(dtypes[0], dtype, node, lacks)
    kind = register_type(dtypes[-1], node)
    if op in ("eq", "ne", "lt", "le", "gt", "ge"):
        if kind == "int32" and "eq int32" in lacks:
            return compare_by_bits(op)
        return _compare(op, kind, node)
    if op == "select":
        if kind not in VECTOR_OPS["select"].dtypes:
            raise _missing("select", dtypes[-1], node)
        return [("nes", "mask", "m", ("a",), 0.0), ("select", kind, "r", ("m", "b", "c"), None)]
    if op in _LOGIC and dtypes[0] == "bool":
        return _LOGIC[op]
    if dtypes[0] in INTS:
        form = int_form(op, dtypes[0], len(dtypes))
        if not form:
            raise _missing(op, dtypes[0], node)
        return form
    if op in ("max", "min"):
        return _pick(op, kind, narrow=dtypes[0] != "float32")
    real = REAL_FORMS.get(op)
    if real is None or kind not in REAL:
        raise _missing(op, dtypes[-1], node)
    return [
        (name, "mask" if name in _TESTS else kind, dst, srcs, scalar)
        for name, dst, srcs, scalar in real
    ]


def _missing(op: str, dtype: str, node: str) -> ScheduleError:
    return ScheduleError("no vector form of %s for %s" % (op, dtype), node=node, stage="schedule")


# Instruction that rounds float32, and the one that rounds to int32.
_ROUNDINGS = {"floor": "floor_to", "ceil": "ceil_to", "rint": "cast", "cut": "trunc"}


def _without_rounding(step: Instruction, lacks: FrozenSet[str]) -> List[Instruction]:
    """A rounding that the chip lacks, by way of int32; from 2^23 on every float is whole. 0 keeps
    its sign. Any other step stays."""
    name, _, result, operands, _ = step
    if name not in lacks or name not in _ROUNDINGS:
        return [step]
    kinds = {"i": "int32", "m": "mask", "n": "mask"}
    names = {"a": operands[0], "r": result}
    return [(call, kinds.get(dst, "float32"), names.get(dst, result + "_" + dst),
             tuple(names.get(s, result + "_" + s) for s in srcs), scalar)
            for call, dst, srcs, scalar in
            steps("i = %s a; f = cast i; k = abs a; m = lts k 8388608.0; z = muls a 0.0"
                  "; n = nes f 0.0; g = select n f z; r = select m g a" % _ROUNDINGS[name])]


_LOGIC: Dict[str, List[Instruction]] = {
    "and": [("mul", "float16", "r", ("a", "b"), None)],
    "or": [("max", "float16", "r", ("a", "b"), None)],
    "not": [("muls", "float16", "t", ("a",), -1.0), ("adds", "float16", "r", ("t",), 1.0)],
}


def _pick(op: str, kind: str, narrow: bool) -> List[Instruction]:
    """Maximum or minimum by compare and select: NaN and ties as the loop IR has them."""
    test = {"max": "g", "min": "l"}[op] + ("e" if narrow else "t")
    return [
        (test, "mask", "m", ("a", "b"), None),
        ("select", kind, "t", ("m", "a", "b"), None),
        ("eq", "mask", "n", ("a", "a"), None),
        ("select", kind, "r", ("n", "t", "a"), None),
    ]


def _compare(op: str, kind: str, node: str) -> List[Instruction]:
    if kind == "int32":
        return _compare_ints(op)
    if kind == "int16":
        return [("cast", "float32", "v", ("a",), None), ("cast", "float32", "w", ("b",), None),
                (op, "mask", "m", ("v", "w"), None)] + _to_bool("m", False)
    if kind not in ("float16", "float32"):
        raise ScheduleError("no vector compare for %s" % kind, node=node, stage="schedule")
    return [(op, "mask", "m", ("a", "b"), None)] + _to_bool("m", False)


def _compare_ints(op: str) -> List[Instruction]:
    """The chip compares int32 for equality only; the rest goes by max(a, b)."""
    if op in ("eq", "ne"):
        return [("eq", "mask", "m", ("a", "b"), None)] + _to_bool("m", op == "ne")
    other = "a" if op in ("ge", "lt") else "b"
    return [
        ("max", "int32", "t", ("a", "b"), None), ("eq", "mask", "m", ("t", other), None),
    ] + _to_bool("m", op in ("lt", "gt"))


def _to_bool(mask: str, inverted: bool) -> List[Instruction]:
    yes, no = (0.0, 1.0) if inverted else (1.0, 0.0)
    return [("fill", "float16", "y", (), yes), ("selects", "float16", "r", (mask, "y"), no)]


def _cast(source: str, target: str, node: str, lacks: FrozenSet[str]) -> List[Instruction]:
    start, end = register_type(source, node), register_type(target, node)
    if source == target:
        return []
    if target == "bool":
        return _to_test(start, source, node, lacks)
    if target == "bfloat16" and source == "float32":
        return [("cast", "bfloat16", "t", ("a",), None), ("cast", "float32", "r", ("t",), None)]
    if target in ("int8", "uint8") and source != "bool":
        return _to_bytes(start, target)
    if (start, target) == ("int32", "int16"):
        return wrapped("int16", "a", "r")
    path = _CAST_PATHS.get((start, end))
    if path is None:
        raise ScheduleError("no vector cast from %s to %s" % (source, target), node=node,
                            stage="schedule")
    steps: List[Instruction] = []
    for number, kind in enumerate(path):
        last = number == len(path) - 1
        cuts = kind in INTS and (path[number - 1] if number else start) not in INTS
        steps.append(("trunc" if cuts else "cast", kind, "r" if last else "t%d" % number,
                      ("a",) if number == 0 else ("t%d" % (number - 1),), None))
    if target == "bfloat16" and source not in ("bool", "int8", "uint8") and start != "float32":
        steps[-1] = steps[-1][:2] + ("w",) + steps[-1][3:]
        steps += [("cast", "bfloat16", "q", ("w",), None), ("cast", "float32", "r", ("q",), None)]
    return steps


def _to_test(start: str, source: str, node: str, lacks: FrozenSet[str]) -> List[Instruction]:
    """Whether a value is not 0."""
    if start == "int32":
        zero: List[Instruction] = [("fill", start, "b", (), 0)]
        if "eq int32" in lacks:
            return zero + compare_by_bits("ne")
        return zero + [("eq", "mask", "m", ("a", "b"), None)] + _to_bool("m", True)
    if start == "int16":
        return [("cast", "float32", "v", ("a",), None), ("nes", "mask", "m", ("v",), 0.0)
                ] + _to_bool("m", False)
    if start not in ("float16", "float32"):
        raise ScheduleError("no vector cast from %s to bool" % source, node=node, stage="schedule")
    return [("nes", "mask", "m", ("a",), 0.0)] + _to_bool("m", False)


def _to_bytes(start: str, target: str) -> List[Instruction]:
    """By way of int32, of which the low bits stay."""
    form: List[Instruction] = []
    source = "a"
    if start == "int16":
        form, source = [("cast", "float32", "u", ("a",), None)], "u"
    if start != "int32":
        cut = "cast" if start == "int64" else "trunc"
        form.append((cut, "int32", "w", (source,), None))
        source = "w"
    return form + wrapped(target, source, "r")


# Register types on the way; empty when the value stays as it is.
_CAST_PATHS: Dict[Tuple[str, str], Tuple[str, ...]] = {
    ("float16", "float16"): (), ("float32", "float32"): (), ("int32", "int32"): (),
    ("int16", "int16"): (), ("int64", "int64"): (),
    ("float16", "float32"): ("float32",), ("float32", "float16"): ("float16",),
    ("float16", "int32"): ("int32",), ("float32", "int32"): ("int32",),
    ("int32", "float32"): ("float32",), ("int32", "float16"): ("float32", "float16"),
    ("int64", "int32"): ("int32",), ("int32", "int64"): ("int64",),
    ("int64", "float32"): ("float32",), ("float32", "int64"): ("int64",),
    ("int16", "float32"): ("float32",), ("int16", "float16"): ("float16",),
    ("float16", "int64"): ("float32", "int64"), ("int64", "float16"): ("float32", "float16"),
    ("float16", "int16"): ("int16",), ("float32", "int16"): ("int16",),
    ("int16", "int32"): ("float32", "int32"),
}
