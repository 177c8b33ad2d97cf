"""Infer-shape and infer-dtype of a fused operator as C++, from its shape spec.

The functions are what an operator project registers with GE: output shapes follow from input
shapes alone, and output types are fixed. They use <stdint.h> only; -1 is an unknown size, and a
size that several inputs share is known when one of them knows it.
"""
from __future__ import annotations

from typing import Dict, List, Optional, Sequence, Tuple

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
"""

Dims = Tuple[Tuple[Optional[int], bool], ...]


def print_infer_shape(spec: str, loop: LoopKernel, name: str) -> str:
    """C++ of `name_infer_shape(in, out)` and `name_infer_dtype(out)`; 0 is success.

    `spec` is the shape spec of the node (`loop.spec`), `loop` its kernel. Raises ScheduleError for
    a spec that cannot be read or a type that GE has not.
    """
    count, inputs, outputs = parse_spec(spec)
    lines = [_HEAD, "// 1: a rank is wrong; 2: two sizes of one axis differ.",
             "int32_t %s_infer_shape(const AutofuseShape* in, AutofuseShape* out) {" % name]
    lines += ["  int64_t a%d = -1;" % axis for axis in range(count)]
    for number, dims in enumerate(inputs):
        lines.append("  if (in[%d].rank != %d) return 1;" % (number, len(dims)))
        for place, (axis, maybe) in enumerate(dims):
            size = "in[%d].dims[%d]" % (number, place)
            if axis is None:
                lines.append("  if (%s >= 0 && %s != 1) return 2;" % (size, size))
            elif not maybe:
                lines.append("  if (!meet(&a%d, %s)) return 2;" % (axis, size))
    lines += _maybe_dims(count, inputs)
    for number, dims in enumerate(outputs):
        sizes = ", ".join("1" if axis is None else "a%d" % axis for axis, _ in dims)
        lines.append("  out[%d] = AutofuseShape{%d, {%s}};" % (number, len(dims), sizes))
    lines += ["  return 0;", "}", "", "// Values of ge::DataType.",
              "void %s_infer_dtype(int32_t* out) {" % name]
    for number, param in enumerate(loop.outputs):
        if param.dtype not in GE_TYPES:
            raise ScheduleError("GE has no type %s" % param.dtype, node=param.name,
                                stage="infer shape")
        lines.append("  out[%d] = %d;  // %s" % (number, GE_TYPES[param.dtype], param.dtype))
    return "\n".join(lines + ["}"]) + "\n"


def _maybe_dims(count: int, inputs: Sequence[Dims]) -> List[str]:
    """An axis with nothing but `?` dims is the one that is not 1, else 1."""
    lines: List[str] = []
    for axis in range(count):
        sizes = ["in[%d].dims[%d]" % (number, place) for number, dims in enumerate(inputs)
                 for place, (of, maybe) in enumerate(dims) if of == axis and maybe]
        fixed = any(of == axis and not maybe for dims in inputs for of, maybe in dims)
        if not sizes:
            continue
        if not fixed:
            lines += ["  widen(&a%d, %s);" % (axis, size) for size in sizes]
            known = " && ".join("%s == 1" % size for size in sizes)
            lines.append("  if (a%d < 0 && %s) a%d = 1;" % (axis, known, axis))
        for size in sizes:
            lines.append("  if (%s > 1 && !meet(&a%d, %s)) return 2;" % (size, axis, size))
    return lines


def parse_spec(spec: str) -> Tuple[int, Tuple[Dims, ...], Tuple[Dims, ...]]:
    """Axis count, and per input and output the axis of each dimension and whether it is `?`."""
    fields = dict(part.split("=", 1) for part in spec.split(";") if "=" in part)
    if not spec.startswith("v1;") or not {"axes", "in", "out"} <= set(fields):
        raise ScheduleError("shape spec %r cannot be read" % spec, stage="infer shape")
    return int(fields["axes"]), _tensors(fields["in"]), _tensors(fields["out"])


def _tensors(text: str) -> Tuple[Dims, ...]:
    return tuple(_dims(part) for part in text.split("/")) if text else ()


def _dims(text: str) -> Dims:
    if text == "s":
        return ()
    return tuple((None, False) if word == "-" else (int(word.rstrip("?")), word.endswith("?"))
                 for word in text.split("."))
