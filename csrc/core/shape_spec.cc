#include "shape_spec.h"

#include <algorithm>

namespace autofuse {
namespace {

constexpr int32_t kMaxAxes = 1024;  // refuses absurd text, not a limit of the evaluation
constexpr int64_t kMaxSize = int64_t{1} << 48;  // the same
constexpr int64_t kOpen = -2;  // an axis of which only dimensions of unknown size were seen

}  // namespace

// One pass over the text. Every Read... returns false after setting error().
class SpecReader {
 public:
  explicit SpecReader(const std::string& text) : text_(text) {}

  const std::string& error() const { return error_; }

  bool ReadSpec(ShapeSpec* spec) {
    int32_t axes = 0;
    return Expect("v1;axes=") && ReadNumber(&axes) && Expect(";groups=") &&
           ReadGroups(axes, spec) && ReadFixed(axes, spec) && Expect(";in=") &&
           ReadTensors(axes, &spec->inputs_) && Expect(";out=") &&
           ReadTensors(axes, &spec->outputs_) && Expect(";") && ReadEnd();
  }

 private:
  bool Fail(const std::string& what) {
    error_ = "shape spec '" + text_ + "': " + what + " at position " + std::to_string(at_);
    return false;
  }

  bool At(char c) const { return at_ < text_.size() && text_[at_] == c; }

  bool Accept(char c) {
    if (!At(c)) return false;
    ++at_;
    return true;
  }

  bool Expect(const std::string& word) {
    if (text_.compare(at_, word.size(), word) != 0) return Fail("expected '" + word + "'");
    at_ += word.size();
    return true;
  }

  bool ReadEnd() { return at_ == text_.size() || Fail("unexpected text"); }

  bool ReadSize(int64_t* value) {
    const size_t start = at_;
    int64_t number = 0;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
      number = number * 10 + (text_[at_++] - '0');
      if (number > kMaxSize) return Fail("number too large");
    }
    *value = number;
    return at_ > start || Fail("expected a number");
  }

  bool ReadFixed(int32_t axes, ShapeSpec* spec) {
    spec->fixed_.assign(axes, kUnknownSize);
    if (text_.compare(at_, 7, ";fixed=") != 0) return true;
    at_ += 7;
    do {
      int32_t axis = 0;
      if (!ReadNumber(&axis) || !Expect(":")) return false;
      if (axis >= axes) return Fail("axis out of range");
      if (!ReadSize(&spec->fixed_[axis])) return false;
    } while (Accept(','));
    return true;
  }

  bool ReadNumber(int32_t* value) {
    const size_t start = at_;
    int32_t number = 0;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
      number = number * 10 + (text_[at_++] - '0');
      if (number > kMaxAxes) return Fail("number too large");
    }
    *value = number;
    return at_ > start || Fail("expected a number");
  }

  bool ReadGroups(int32_t axes, ShapeSpec* spec) {
    for (int32_t i = 0; i < axes; ++i) {
      int32_t group = 0;
      if ((i > 0 && !Expect(",")) || !ReadNumber(&group)) return false;
      if (group >= axes) return Fail("merged axis out of range");
      spec->groups_.push_back(group);
      spec->merged_axes_ = std::max(spec->merged_axes_, group + 1);
    }
    return true;
  }

  bool ReadTensors(int32_t axes, std::vector<TensorSpec>* tensors) {
    if (At(';')) return true;
    do {
      tensors->emplace_back();
      if (!ReadTensor(axes, &tensors->back())) return false;
    } while (Accept('/'));
    return true;
  }

  bool ReadTensor(int32_t axes, TensorSpec* tensor) {
    if (Accept('s')) return true;
    do {
      DimSpec dim;
      if (!ReadDim(axes, *tensor, &dim)) return false;
      tensor->may_broadcast |= dim.may_be_one;
      tensor->dims.push_back(dim);
    } while (Accept('.'));
    return true;
  }

  bool ReadDim(int32_t axes, const TensorSpec& before, DimSpec* dim) {
    if (Accept('-')) return true;
    if (!ReadAxis(axes, before, *dim, &dim->axis)) return false;
    dim->may_be_one = Accept('?');
    while (!dim->may_be_one && Accept('*')) {
      int32_t axis = 0;
      if (!ReadAxis(axes, before, *dim, &axis)) return false;
      dim->more.push_back(axis);
    }
    return true;
  }

  bool ReadAxis(int32_t axes, const TensorSpec& before, const DimSpec& so_far, int32_t* axis) {
    int32_t number = 0;
    if (!ReadNumber(&number)) return false;
    if (number >= axes) return Fail("axis out of range");
    bool used = Has(so_far, number);
    for (const DimSpec& other : before.dims) used |= Has(other, number);
    if (used) return Fail("axis used twice in one tensor");
    *axis = number;
    return true;
  }

  static bool Has(const DimSpec& dim, int32_t axis) {
    return dim.axis == axis || std::count(dim.more.begin(), dim.more.end(), axis) > 0;
  }

  const std::string& text_;
  size_t at_ = 0;
  std::string error_;
};

bool ShapeSpec::Parse(const std::string& text, ShapeSpec* spec, std::string* error) {
  *spec = ShapeSpec();
  SpecReader reader(text);
  if (!reader.ReadSpec(spec)) {
    *error = reader.error();
    return false;
  }
  if (!spec->Finish(error)) {
    *error = "shape spec '" + text + "': " + *error;
    return false;
  }
  return true;
}

// Checks what only the whole text can tell, and precomputes what evaluation needs.
bool ShapeSpec::Finish(std::string* error) {
  std::vector<bool> known(axes(), false);
  for (const TensorSpec& input : inputs_) {
    broadcast_inputs_ += input.may_broadcast;
    for (const DimSpec& dim : input.dims) {
      flat_.push_back(dim);
      if (dim.axis == kAlwaysOne) continue;
      known[dim.axis] = true;
      for (int32_t axis : dim.more) known[axis] = true;
      products_ += !dim.more.empty();
      if (input.may_broadcast && !dim.more.empty()) {
        *error = "a tensor that may broadcast must not have a product of axes";
      }
    }
  }
  std::vector<int> members(merged_axes_, 0);
  for (int axis = 0; axis < axes(); ++axis) {
    if (!known[axis] && fixed_[axis] < 0) *error = "no input has axis " + std::to_string(axis);
    ++members[groups_[axis]];
  }
  for (const DimSpec& dim : flat_) {
    if (dim.may_be_one && members[groups_[dim.axis]] > 1) {
      *error = "axis " + std::to_string(dim.axis) + " may broadcast and must not be merged";
    }
  }
  for (int merged = 0; merged < merged_axes_; ++merged) {
    if (members[merged] == 0) *error = "merged axis " + std::to_string(merged) + " is empty";
  }
  for (const TensorSpec& output : outputs_) {
    if (output.may_broadcast) *error = "an output dimension cannot have '?'";
  }
  return error->empty();
}

std::string ShapeSpec::Mismatch(int flat_index, int64_t got, const std::string& expected) const {
  int input = 0;
  while (flat_index >= static_cast<int>(inputs_[input].dims.size())) {
    flat_index -= static_cast<int>(inputs_[input++].dims.size());
  }
  return "input " + std::to_string(input) + " has size " + std::to_string(got) + " in dimension " +
         std::to_string(flat_index) + ", expected " + expected;
}

bool ShapeSpec::BindAxes(const int64_t* flat, int64_t* sizes, std::string* error) const {
  std::copy(fixed_.begin(), fixed_.end(), sizes);
  if (!BindPlain(flat, sizes, error) || !BindProducts(flat, sizes, error) ||
      !BindLoose(flat, sizes, error)) {
    return false;
  }
  const bool all_known = std::all_of(flat, flat + flat_dims(), [](int64_t n) { return n >= 0; });
  for (int axis = 0; axis < axes(); ++axis) {
    if (sizes[axis] >= 0) continue;
    sizes[axis] = sizes[axis] == kOpen ? kUnknownSize : 1;
    if (all_known && sizes[axis] < 0) {
      *error = "the input sizes do not tell the size of axis " + std::to_string(axis);
      return false;
    }
  }
  return true;
}

bool ShapeSpec::BindPlain(const int64_t* flat, int64_t* sizes, std::string* error) const {
  const int count = flat_dims();
  for (int i = 0; i < count; ++i) {
    const DimSpec& dim = flat_[i];
    if (dim.may_be_one || !dim.more.empty()) continue;
    int64_t expected = 1;
    if (dim.axis != kAlwaysOne) {
      if (sizes[dim.axis] < 0) sizes[dim.axis] = flat[i] < 0 ? kOpen : flat[i];
      expected = sizes[dim.axis];
    }
    if (flat[i] >= 0 && flat[i] != expected) {
      *error = Mismatch(i, flat[i], std::to_string(expected));
      return false;
    }
  }
  return true;
}

// A product with one unknown factor tells it, which may help the next product.
bool ShapeSpec::BindProducts(const int64_t* flat, int64_t* sizes, std::string* error) const {
  const int count = flat_dims();
  for (int round = 0; round < products_; ++round) {
    for (int i = 0; i < count; ++i) {
      const DimSpec& dim = flat_[i];
      if (dim.more.empty()) continue;
      int32_t unknown = kAlwaysOne;
      int unknowns = 0;
      int64_t rest = 1;
      for (size_t k = 0; k <= dim.more.size(); ++k) {
        const int32_t axis = k == 0 ? dim.axis : dim.more[k - 1];
        if (sizes[axis] >= 0) {
          rest *= sizes[axis];
        } else {
          unknown = axis;
          ++unknowns;
        }
      }
      if (unknowns == 1 && rest > 0 && flat[i] >= 0) sizes[unknown] = flat[i] / rest;
    }
  }
  for (int i = 0; i < count; ++i) {
    const DimSpec& dim = flat_[i];
    if (dim.more.empty()) continue;
    if (sizes[dim.axis] < 0) sizes[dim.axis] = kOpen;
    for (int32_t axis : dim.more) {
      if (sizes[axis] < 0) sizes[axis] = kOpen;
    }
    const int64_t product = DimSize(dim, sizes);
    if (flat[i] >= 0 && product >= 0 && flat[i] != product) {
      *error = Mismatch(i, flat[i], std::to_string(product));
      return false;
    }
  }
  return true;
}

// The first size that is not 1 is the size of an axis without other dimensions.
bool ShapeSpec::BindLoose(const int64_t* flat, int64_t* sizes, std::string* error) const {
  const int count = flat_dims();
  for (int i = 0; i < count; ++i) {
    const DimSpec& dim = flat_[i];
    if (!dim.may_be_one || flat[i] == 1) continue;
    if (sizes[dim.axis] < 0) sizes[dim.axis] = flat[i] < 0 ? kOpen : flat[i];
    if (flat[i] >= 0 && flat[i] != sizes[dim.axis]) {
      *error = Mismatch(i, flat[i], "1 or " + std::to_string(sizes[dim.axis]));
      return false;
    }
  }
  return true;
}

void ShapeSpec::MergeSizes(const int64_t* sizes, int64_t* merged) const {
  std::fill(merged, merged + merged_axes_, 1);
  for (int axis = 0; axis < axes(); ++axis) merged[groups_[axis]] *= sizes[axis];
}

void ShapeSpec::Strides(const int64_t* flat, int64_t* strides) const {
  std::fill(strides, strides + stride_count(), 0);
  for (const TensorSpec& input : inputs_) {
    const int rank = static_cast<int>(input.dims.size());
    if (input.may_broadcast) {
      int64_t step = 1;
      for (int d = rank - 1; d >= 0; --d) {
        const DimSpec dim = input.dims[d];
        // Axes of one merged axis lie side by side: the innermost gives the stride.
        if (dim.axis != kAlwaysOne && strides[groups_[dim.axis]] == 0 &&
            !(dim.may_be_one && flat[d] == 1)) {
          strides[groups_[dim.axis]] = step;
        }
        step *= flat[d];
      }
      strides += merged_axes_;
    }
    flat += rank;
  }
}

}  // namespace autofuse
