#include "infer_shape.h"

namespace autofuse {

bool InferOutputs(const ShapeSpec& spec, const int64_t* flat,
                  std::vector<std::vector<int64_t>>* outputs, std::string* error) {
  std::vector<int64_t> sizes(spec.axes());
  if (!spec.BindAxes(flat, sizes.data(), error)) return false;
  outputs->clear();
  for (const TensorSpec& output : spec.outputs()) {
    outputs->emplace_back();
    for (const DimSpec& dim : output.dims) {
      outputs->back().push_back(ShapeSpec::DimSize(dim, sizes.data()));
    }
  }
  return true;
}

}  // namespace autofuse
