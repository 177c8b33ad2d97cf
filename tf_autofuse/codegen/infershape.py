"""Infer-shape and infer-dtype of a fused operator as C++, from its shape spec.

The functions are what an operator project registers with GE: output shapes follow from input
shapes alone, and output types are fixed. They use <stdint.h> only; -1 is an unknown size, and a
size that several inputs share is known when one of them knows it.
"""
from __future__ import annotations

from typing import Dict, List, Sequence

from tf_autofuse.errors import ScheduleError
from tf_autofuse.loop.ir import LoopKernel
from tf_autofuse.loop.spec import SpecDim, parse_spec
from tf_autofuse.loop.windows import Window

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

// Meets what is known of an axis; false when two sizes differ, or when `size` is that of no part.
static inline bool meet(int64_t* axis, int64_t size) {
  if (size < -1) return false;
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

_PARTS = """
// The part of a dimension of `size` that a window takes; -1 if the size is unknown, -2 if it does
// not fit. As Python's slice, the counting of equal parts and of elements from `first` on.
static inline int64_t slice_of(int64_t size, int64_t first, int64_t last, int64_t step) {
  if (size < 0) return size;
  const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
  int64_t ends[2] = {first, last};
  for (int64_t& end : ends) {
    if (end < 0 && end >= -size) end += size;
    end = end < low ? low : end > high ? high : end;
  }
  const int64_t span = step > 0 ? ends[1] - ends[0] : ends[0] - ends[1];
  const int64_t stride = step > 0 ? step : -step;
  return span > 0 ? (span + stride - 1) / stride : 0;
}
static inline int64_t part_of(int64_t size, int64_t of) {
  return size < 0 ? size : size % of ? -2 : size / of;
}
static inline int64_t from_of(int64_t size, int64_t first, int64_t count) {
  if (size < 0) return size;
  if (count < 0) count = size - first;
  return count < 0 || first + count > size ? -2 : count;
}
static inline int64_t pick_of(int64_t size, int64_t which) {
  return size < 0 ? size : which < -size || which >= size ? -2 : 1;
}
static inline bool is_one(int64_t size) { return size == -1 || size == 1; }
static inline int64_t pad_of(int64_t size, int64_t more) { return size < 0 ? size : size + more; }
"""
_FAR = 1 << 62  # as an end of a slice: beyond any dimension

Dims = Sequence[SpecDim]


def print_infer_shape(spec: str, loop: LoopKernel, name: str) -> str:
    """C++ of `name_infer_shape(in, out)` and `name_infer_dtype(out)`; 0 is success.

    `spec` is the shape spec of the node (`loop.spec`), `loop` its kernel. Raises ScheduleError for
    a spec that cannot be read or a type that GE has not.
    """
    try:
        groups, inputs, outputs, fixed, _ = parse_spec(spec)
    except ValueError:
        raise ScheduleError("shape spec %r cannot be read" % spec, stage="infer shape") from None
    count = len(groups)
    parts = _PARTS if any(dim.windows for dims in inputs for dim in dims) else ""
    lines = [_HEAD + parts, "// 1: a rank is wrong; 2: a size does not fit.",
             "int32_t %s_infer_shape(const AutofuseShape* in, AutofuseShape* out) {" % name]
    lines += ["  int64_t a%d = %d;" % (axis, fixed.get(axis, -1)) for axis in range(count)]
    for number, dims in enumerate(inputs):
        lines.append("  if (in[%d].rank != %d) return 1;" % (number, len(dims)))
        for place, dim in enumerate(dims):
            lines += _bind_dim(_size(number, place, dim), dim)
    lines += _products(inputs)
    lines += _maybe_dims(count, inputs, fixed)
    for number, dims in enumerate(outputs):
        sizes = ", ".join(_product(dim.axes) for dim in dims)
        lines.append("  out[%d] = AutofuseShape{%d, {%s}};" % (number, len(dims), sizes))
    lines += ["  return 0;", "}", "", "// Values of ge::DataType.",
              "void %s_infer_dtype(int32_t* out) {" % name]
    for number, param in enumerate(loop.outputs):
        if param.dtype not in GE_TYPES:
            raise ScheduleError("GE has no type %s" % param.dtype, node=param.name,
                                stage="infer shape")
        lines.append("  out[%d] = %d;  // %s" % (number, GE_TYPES[param.dtype], param.dtype))
    return "\n".join(lines + ["}"]) + "\n"


def _size(number: int, place: int, dim: SpecDim) -> str:
    """C++ for the size that an input dimension gives to its axes."""
    size = "in[%d].dims[%d]" % (number, place)
    for window in dim.windows:
        size = _part(size, window)
    return size


def _bind_dim(size: str, dim: SpecDim) -> List[str]:
    """What an input dimension says of its axis."""
    if dim.maybe or len(dim.axes) > 1:
        return []
    if dim.axes:
        return ["  if (!meet(&a%d, %s)) return 2;" % (dim.axes[0], size)]
    if dim.windows:
        return ["  if (!is_one(%s)) return 2;" % size]
    return ["  if (%s >= 0 && %s != 1) return 2;" % (size, size)]


def _part(size: str, window: Window) -> str:
    """C++ for the size of what a window takes of a dimension of `size`."""
    first, last, step = window.first, window.last, window.step
    if window.kind == "slice":
        start = (0 if step > 0 else _FAR) if first is None else first
        end = (_FAR if step > 0 else -_FAR) if last is None else last
        return "slice_of(%s, %d, %d, %d)" % (size, start, end, step)
    if window.kind == "part":
        return "part_of(%s, %d)" % (size, last or 1)
    if window.kind == "from":
        return "from_of(%s, %d, %d)" % (size, first or 0, -1 if last is None else last)
    if window.kind == "pick":
        return "pick_of(%s, %d)" % (size, first or 0)
    return "pad_of(%s, %d)" % (size, (first or 0) + (last or 0))


def _product(axes: Sequence[int]) -> str:
    text = "a%d" % axes[0] if axes else "1"
    for axis in axes[1:]:
        text = "product(%s, a%d)" % (text, axis)
    return text


def _products(inputs: Sequence[Dims]) -> List[str]:
    """Factors that follow from products, in as many rounds as there are; then all are checked."""
    dims = [(dim.axes, _size(number, place, dim)) for number, of in enumerate(inputs)
            for place, dim in enumerate(of) if len(dim.axes) > 1]
    lines: List[str] = []
    for _ in dims:
        for axes, size in dims:
            lines += ["  solve(&a%d, %s, %s);" % (axis, _product([a for a in axes if a != axis]),
                                                  size) for axis in axes]
    for axes, size in dims:
        text = _product(axes)
        lines.append("  if (%s < -1 || (%s >= 0 && %s >= 0 && %s != %s)) return 2;"
                     % (size, size, text, text, size))
    return lines


def _maybe_dims(count: int, inputs: Sequence[Dims], fixed: Dict[int, int]) -> List[str]:
    """An axis with nothing but `?` dims is the one that is not 1, else 1. Guests are looked at when
    all sizes are known, at the launch."""
    lines: List[str] = []
    for axis in range(count):
        sizes = ["in[%d].dims[%d]" % (number, place) for number, dims in enumerate(inputs)
                 for place, dim in enumerate(dims)
                 if dim.axes == (axis,) and dim.maybe and not dim.guest]
        told = axis in fixed or any(
            axis in dim.axes and not dim.maybe for dims in inputs for dim in dims)
        if not sizes:
            continue
        if not told:
            lines += ["  widen(&a%d, %s);" % (axis, size) for size in sizes]
            known = " && ".join("%s == 1" % size for size in sizes)
            lines.append("  if (a%d < 0 && %s) a%d = 1;" % (axis, known, axis))
        for size in sizes:
            lines.append("  if (%s > 1 && !meet(&a%d, %s)) return 2;" % (size, axis, size))
    return lines
