#include "shape_function.h"

#include <string>
#include <vector>

#include "../core/shape_spec.h"
#include "tensorflow/core/framework/tensor_shape.h"

namespace autofuse {
namespace {

using tensorflow::PartialTensorShape;
using tensorflow::errors::InvalidArgument;
using tensorflow::shape_inference::DimensionHandle;
using tensorflow::shape_inference::InferenceContext;
using tensorflow::shape_inference::ShapeHandle;

#define AUTOFUSE_RETURN_IF_ERROR(expression)         \
  do {                                               \
    const Status status_of_call = expression;        \
    if (!status_of_call.ok()) return status_of_call; \
  } while (0)

// The size of the part of a dimension that is walked.
Status PartSize(InferenceContext* c, const DimSpec& dim, DimensionHandle* size) {
  if (dim.windows.empty()) return Status();
  if (!c->ValueKnown(*size)) {
    *size = c->UnknownDim();
    return Status();
  }
  std::string error;
  const int64_t part = ShapeSpec::PartSize(dim, c->Value(*size), &error);
  if (part < 0) return InvalidArgument(error);
  *size = c->MakeDim(part);
  return Status();
}

// Binds the axes of the plain dimensions; collects those of dimensions that may be 1.
Status BindInput(InferenceContext* c, int index, const TensorSpec& spec,
                 std::vector<DimensionHandle>* axes, std::vector<bool>* bound,
                 std::vector<std::vector<DimensionHandle>>* loose) {
  ShapeHandle shape;
  AUTOFUSE_RETURN_IF_ERROR(c->WithRank(c->input(index), spec.dims.size(), &shape));
  for (size_t d = 0; d < spec.dims.size(); ++d) {
    const DimSpec& dim = spec.dims[d];
    DimensionHandle size = c->Dim(shape, d);
    if (!dim.more.empty()) continue;
    AUTOFUSE_RETURN_IF_ERROR(PartSize(c, dim, &size));
    if (dim.axis == kAlwaysOne) {
      AUTOFUSE_RETURN_IF_ERROR(c->WithValue(size, 1, &size));
    } else if (dim.may_be_one) {
      if (dim.guest) continue;
      (*loose)[dim.axis].push_back(size);
    } else {
      AUTOFUSE_RETURN_IF_ERROR(c->Merge((*axes)[dim.axis], size, &(*axes)[dim.axis]));
      (*bound)[dim.axis] = true;
    }
  }
  return Status();
}

// The product of the axes of a dimension, without the axis `except`.
Status Product(InferenceContext* c, const DimSpec& dim, const std::vector<DimensionHandle>& axes,
               int32_t except, DimensionHandle* size) {
  *size = dim.axis == except ? c->MakeDim(1) : axes[dim.axis];
  for (int32_t axis : dim.more) {
    if (axis == except) continue;
    AUTOFUSE_RETURN_IF_ERROR(c->Multiply(*size, axes[axis], size));
  }
  return Status();
}

// An axis that is only a factor of a dimension is what the other factors leave of it.
Status BindProducts(InferenceContext* c, ShapeHandle shape, const TensorSpec& spec,
                    std::vector<DimensionHandle>* axes, std::vector<bool>* bound) {
  for (size_t d = 0; d < spec.dims.size(); ++d) {
    const DimSpec& dim = spec.dims[d];
    if (dim.more.empty()) continue;
    std::vector<int32_t> unknown;
    if (!(*bound)[dim.axis]) unknown.push_back(dim.axis);
    for (int32_t axis : dim.more) {
      if (!(*bound)[axis]) unknown.push_back(axis);
    }
    if (unknown.size() != 1) continue;
    DimensionHandle rest, size;
    AUTOFUSE_RETURN_IF_ERROR(Product(c, dim, *axes, unknown[0], &rest));
    if (c->ValueKnown(rest) && c->Value(rest) == 0) continue;
    DimensionHandle whole = c->Dim(shape, d);
    AUTOFUSE_RETURN_IF_ERROR(PartSize(c, dim, &whole));
    AUTOFUSE_RETURN_IF_ERROR(c->Divide(whole, rest, true, &size));
    (*axes)[unknown[0]] = size;
    (*bound)[unknown[0]] = true;
  }
  return Status();
}

// The size of an axis with '?' dimensions only: what TensorFlow's broadcasting says.
DimensionHandle BroadcastSize(InferenceContext* c, const std::vector<DimensionHandle>& sizes) {
  DimensionHandle unknown;
  int unknown_count = 0;
  for (const DimensionHandle& size : sizes) {
    if (c->ValueKnown(size) && c->Value(size) != 1) return size;
    if (c->ValueKnown(size) || (unknown_count > 0 && size.SameHandle(unknown))) continue;
    unknown = size;
    ++unknown_count;
  }
  if (unknown_count == 0) return c->MakeDim(1);
  return unknown_count == 1 ? unknown : c->UnknownDim();
}

}  // namespace

Status AutofusedKernelShape(InferenceContext* c) {
  std::string text, error;
  std::vector<PartialTensorShape> declared;
  AUTOFUSE_RETURN_IF_ERROR(c->GetAttr("spec", &text));
  AUTOFUSE_RETURN_IF_ERROR(c->GetAttr("output_shapes", &declared));
  ShapeSpec spec;
  if (!ShapeSpec::Parse(text, &spec, &error)) return InvalidArgument(error);
  if (static_cast<int>(spec.inputs().size()) != c->num_inputs() ||
      static_cast<int>(spec.outputs().size()) != c->num_outputs()) {
    return InvalidArgument("spec '", text, "' does not have ", c->num_inputs(), " inputs and ",
                           c->num_outputs(), " outputs");
  }

  std::vector<DimensionHandle> axes(spec.axes());
  for (DimensionHandle& axis : axes) axis = c->UnknownDim();
  std::vector<bool> bound(spec.axes(), false);
  std::vector<std::vector<DimensionHandle>> loose(spec.axes());
  for (int i = 0; i < c->num_inputs(); ++i) {
    AUTOFUSE_RETURN_IF_ERROR(BindInput(c, i, spec.inputs()[i], &axes, &bound, &loose));
  }
  for (int axis = 0; axis < spec.axes(); ++axis) {
    if (bound[axis] || spec.fixed_sizes()[axis] < 0) continue;
    axes[axis] = c->MakeDim(spec.fixed_sizes()[axis]);
    bound[axis] = true;
  }
  // One product may tell the factor that the next one needs.
  for (int round = 0; round < spec.axes(); ++round) {
    for (int i = 0; i < c->num_inputs(); ++i) {
      AUTOFUSE_RETURN_IF_ERROR(BindProducts(c, c->input(i), spec.inputs()[i], &axes, &bound));
    }
  }
  for (int axis = 0; axis < spec.axes(); ++axis) {
    if (!bound[axis] && !loose[axis].empty()) axes[axis] = BroadcastSize(c, loose[axis]);
  }

  for (int i = 0; i < c->num_outputs(); ++i) {
    std::vector<DimensionHandle> dims;
    for (const DimSpec& dim : spec.outputs()[i].dims) {
      DimensionHandle size = c->MakeDim(1);
      if (dim.axis != kAlwaysOne) {
        AUTOFUSE_RETURN_IF_ERROR(Product(c, dim, axes, kAlwaysOne, &size));
      }
      dims.push_back(size);
    }
    ShapeHandle shape = c->MakeShape(dims);
    if (static_cast<int>(declared.size()) == c->num_outputs()) {
      ShapeHandle from_attr;
      AUTOFUSE_RETURN_IF_ERROR(c->MakeShapeFromPartialTensorShape(declared[i], &from_attr));
      AUTOFUSE_RETURN_IF_ERROR(c->Merge(shape, from_attr, &shape));
    }
    c->set_output(i, shape);
  }
  return Status();
}

}  // namespace autofuse
