"""Infer-shape and infer-dtype of a fused operator as C++, from its shape spec.

The functions are what an operator project registers with GE: output shapes follow from input
shapes alone, and output types are fixed. They use <stdint.h> only; -1 is an unknown size, and a
size that several inputs share is known when one of them knows it.
"""
from __future__ import annotations

from typing import Dict, List, Sequence, Tuple

from tf_autofuse.errors import ScheduleError
from tf_autofuse.loop.ir import LoopKernel

# Values of ge::DataType.
GE_TYPES: Dict[str, int] = {
    "float32": 0, "float16": 1, "int8": 2, "int32": 3, "uint8": 4, "int16": 6, "uint16": 7,
    "uint32": 8, "int64": 9, "uint64": 10, "float64": 11, "bool": 12, "bfloat16": 27,
}

_HEAD = """\
#include <stdint.h>

struct AutofuseShape {
  int64_t rank;
  int64_t dims[8];
};

// Meets what is known of an axis; false when two sizes differ.
static inline bool meet(int64_t* axis, int64_t size) {
  if (size < 0 || *axis == size) return true;
  const bool unknown = *axis < 0;
  if (unknown) *axis = size;
  return unknown;
}

// As `meet`, for a dimension that may be 1 where the axis is not.
static inline void widen(int64_t* axis, int64_t size) {
  if (*axis < 0 && size != 1) *axis = size;
}

// The product of axes, -1 when one is unknown.
static inline int64_t product(int64_t a, int64_t b) { return a < 0 || b < 0 ? -1 : a * b; }

// An unknown factor of a dimension is what the others leave of it.
static inline void solve(int64_t* axis, int64_t rest, int64_t size) {
  if (*axis < 0 && rest > 0 && size >= 0) *axis = size / rest;
}
"""

Dims = Tuple[Tuple[Tuple[int, ...], bool], ...]


def print_infer_shape(spec: str, loop: LoopKernel, name: str) -> str:
    """C++ of `name_infer_shape(in, out)` and `name_infer_dtype(out)`; 0 is success.

    `spec` is the shape spec of the node (`loop.spec`), `loop` its kernel. Raises ScheduleError for
    a spec that cannot be read or a type that GE has not.
    """
    count, inputs, outputs, fixed = parse_spec(spec)
    lines = [_HEAD, "// 1: a rank is wrong; 2: two sizes of one axis differ.",
             "int32_t %s_infer_shape(const AutofuseShape* in, AutofuseShape* out) {" % name]
    lines += ["  int64_t a%d = %d;" % (axis, fixed.get(axis, -1)) for axis in range(count)]
    for number, dims in enumerate(inputs):
        lines.append("  if (in[%d].rank != %d) return 1;" % (number, len(dims)))
        for place, (axes, maybe) in enumerate(dims):
            size = "in[%d].dims[%d]" % (number, place)
            if not axes:
                lines.append("  if (%s >= 0 && %s != 1) return 2;" % (size, size))
            elif len(axes) == 1 and not maybe:
                lines.append("  if (!meet(&a%d, %s)) return 2;" % (axes[0], size))
    lines += _products(inputs)
    lines += _maybe_dims(count, inputs)
    for number, dims in enumerate(outputs):
        sizes = ", ".join(_product(axes) for axes, _ in dims)
        lines.append("  out[%d] = AutofuseShape{%d, {%s}};" % (number, len(dims), sizes))
    lines += ["  return 0;", "}", "", "// Values of ge::DataType.",
              "void %s_infer_dtype(int32_t* out) {" % name]
    for number, param in enumerate(loop.outputs):
        if param.dtype not in GE_TYPES:
            raise ScheduleError("GE has no type %s" % param.dtype, node=param.name,
                                stage="infer shape")
        lines.append("  out[%d] = %d;  // %s" % (number, GE_TYPES[param.dtype], param.dtype))
    return "\n".join(lines + ["}"]) + "\n"


def _product(axes: Sequence[int]) -> str:
    text = "a%d" % axes[0] if axes else "1"
    for axis in axes[1:]:
        text = "product(%s, a%d)" % (text, axis)
    return text


def _products(inputs: Sequence[Dims]) -> List[str]:
    """Factors that follow from products, in as many rounds as there are; then all are checked."""
    dims = [(axes, "in[%d].dims[%d]" % (number, place)) for number, of in enumerate(inputs)
            for place, (axes, _) in enumerate(of) if len(axes) > 1]
    lines: List[str] = []
    for _ in dims:
        for axes, size in dims:
            lines += ["  solve(&a%d, %s, %s);" % (axis, _product([a for a in axes if a != axis]),
                                                  size) for axis in axes]
    for axes, size in dims:
        text = _product(axes)
        lines.append("  if (%s >= 0 && %s >= 0 && %s != %s) return 2;" % (size, text, text, size))
    return lines


def _maybe_dims(count: int, inputs: Sequence[Dims]) -> List[str]:
    """An axis with nothing but `?` dims is the one that is not 1, else 1."""
    lines: List[str] = []
    for axis in range(count):
        sizes = ["in[%d].dims[%d]" % (number, place) for number, dims in enumerate(inputs)
                 for place, (of, maybe) in enumerate(dims) if of == (axis,) and maybe]
        fixed = any(axis in of and not maybe for dims in inputs for of, maybe in dims)
        if not sizes:
            continue
        if not fixed:
            lines += ["  widen(&a%d, %s);" % (axis, size) for size in sizes]
            known = " && ".join("%s == 1" % size for size in sizes)
            lines.append("  if (a%d < 0 && %s) a%d = 1;" % (axis, known, axis))
        for size in sizes:
            lines.append("  if (%s > 1 && !meet(&a%d, %s)) return 2;" % (size, axis, size))
    return lines


def parse_spec(
    spec: str,
) -> Tuple[int, Tuple[Dims, ...], Tuple[Dims, ...], Dict[int, int]]:
    """Axis count, per input and output the axes of each dimension and whether it is `?`, and the
    fixed sizes of axes."""
    fields = dict(part.split("=", 1) for part in spec.split(";") if "=" in part)
    if not spec.startswith("v1;") or not {"axes", "in", "out"} <= set(fields):
        raise ScheduleError("shape spec %r cannot be read" % spec, stage="infer shape")
    pairs = [word.split(":") for word in fields.get("fixed", "").split(",") if word]
    fixed = {int(axis): int(size) for axis, size in pairs}
    return int(fields["axes"]), _tensors(fields["in"]), _tensors(fields["out"]), fixed


def _tensors(text: str) -> Tuple[Dims, ...]:
    return tuple(_dims(part) for part in text.split("/")) if text else ()


def _dims(text: str) -> Dims:
    if text == "s":
        return ()
    return tuple(
        (() if word == "-" else tuple(int(part) for part in word.rstrip("?").split("*")),
         word.endswith("?"))
        for word in text.split(".")
    )
