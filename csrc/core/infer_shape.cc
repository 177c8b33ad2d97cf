#include "infer_shape.h"

namespace autofuse {
namespace {

// Whether the size of an axis cannot be told: nothing known names it, and something unknown does.
class Unknowns {
 public:
  explicit Unknowns(int axes) : known_(axes, kUnknownSize), open_(axes, false) {}

  void See(const DimSpec& dim, int64_t size) {
    if (dim.axis == kAlwaysOne) return;
    if (size < 0) {
      open_[dim.axis] = true;
    } else if (!dim.may_be_one || size != 1) {
      known_[dim.axis] = size;
    }
  }

  // What may stand for an unknown size without a contradiction.
  int64_t Filler(const DimSpec& dim) const {
    if (dim.axis == kAlwaysOne || known_[dim.axis] == kUnknownSize) return 1;
    return known_[dim.axis];
  }

  bool Open(const DimSpec& dim) const {
    return dim.axis != kAlwaysOne && open_[dim.axis] && known_[dim.axis] == kUnknownSize;
  }

 private:
  std::vector<int64_t> known_;
  std::vector<bool> open_;
};

}  // namespace

bool InferOutputs(const ShapeSpec& spec, const int64_t* flat,
                  std::vector<std::vector<int64_t>>* outputs, std::string* error) {
  Unknowns unknowns(spec.axes());
  int at = 0;
  for (const TensorSpec& input : spec.inputs()) {
    for (const DimSpec& dim : input.dims) unknowns.See(dim, flat[at++]);
  }
  std::vector<int64_t> filled;
  for (const TensorSpec& input : spec.inputs()) {
    for (const DimSpec& dim : input.dims) {
      const int64_t size = flat[filled.size()];
      filled.push_back(size < 0 ? unknowns.Filler(dim) : size);
    }
  }
  std::vector<int64_t> sizes(spec.axes());
  if (!spec.BindAxes(filled.data(), sizes.data(), error)) return false;
  outputs->clear();
  for (const TensorSpec& output : spec.outputs()) {
    outputs->emplace_back();
    for (const DimSpec& dim : output.dims) {
      const int64_t size =
          unknowns.Open(dim) ? kUnknownSize : ShapeSpec::DimSize(dim, sizes.data());
      outputs->back().push_back(size);
    }
  }
  return true;
}

}  // namespace autofuse
