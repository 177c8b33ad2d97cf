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
           ReadGroups(axes, spec) && ReadFixed(axes, spec) && ReadIntervals(axes, spec) &&
           Expect(";in=") && ReadTensors(axes, &spec->inputs_) && Expect(";out=") &&
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

  bool ReadIntervals(int32_t axes, ShapeSpec* spec) {
    if (text_.compare(at_, 8, ";inside=") != 0) return true;
    at_ += 8;
    do {
      Interval read = {0, 0, 0};
      if (!ReadNumber(&read.axis) || !Expect(":") || !ReadSize(&read.before) || !Expect(":") ||
          !ReadSize(&read.behind)) {
        return false;
      }
      if (read.axis >= axes) return Fail("axis out of range");
      spec->intervals_.push_back(read);
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
    int32_t last = kAlwaysOne;
    do {
      DimSpec dim;
      if (!ReadDim(axes, *tensor, &dim)) return false;
      tensor->may_broadcast |= dim.may_be_one;
      tensor->in_table |= dim.may_be_one || !dim.windows.empty() || !Follows(dim, &last);
      tensor->dims.push_back(dim);
    } while (Accept('.'));
    return true;
  }

  bool ReadDim(int32_t axes, const TensorSpec& before, DimSpec* dim) {
    if (Accept('-')) return ReadWindows(dim);
    if (!ReadAxis(axes, before, *dim, &dim->axis)) return false;
    dim->guest = Accept('!');
    dim->may_be_one = dim->guest || Accept('?');
    while (!dim->may_be_one && Accept('*')) {
      int32_t axis = 0;
      if (!ReadAxis(axes, before, *dim, &axis)) return false;
      dim->more.push_back(axis);
    }
    return dim->may_be_one || ReadWindows(dim);
  }

  bool ReadWindows(DimSpec* dim) {
    while (At('[')) {
      Window window;
      if (!ReadWindow(text_, &at_, &window)) return Fail("expected a window");
      dim->windows.push_back(window);
    }
    return true;
  }

  // Whether the axes of a dimension stand behind *last and each other; *last becomes the last one.
  static bool Follows(const DimSpec& dim, int32_t* last) {
    if (dim.axis == kAlwaysOne) return true;
    bool in_order = dim.axis > *last;
    *last = dim.axis;
    for (int32_t axis : dim.more) {
      in_order = in_order && axis > *last;
      *last = axis;
    }
    return in_order;
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
  table_size_ = 2 * static_cast<int>(intervals_.size());
  for (const TensorSpec& input : inputs_) {
    if (input.in_table) table_size_ += merged_axes_ + 1;
    for (const DimSpec& dim : input.dims) {
      flat_.push_back(dim);
      if (dim.axis == kAlwaysOne || dim.guest) continue;
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
    for (const DimSpec& dim : output.dims) {
      if (!dim.windows.empty()) *error = "an output dimension cannot have windows";
    }
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

int64_t ShapeSpec::PartSize(const DimSpec& dim, int64_t size, std::string* error) {
  if (size < 0 || dim.windows.empty()) return size;
  Walk walk;
  return WalkWindows(dim.windows, size, &walk, error) ? walk.size : -2;
}

// The size that dimension `i` of all inputs gives to its axes.
bool ShapeSpec::Part(const int64_t* flat, int i, int64_t* size, std::string* error) const {
  std::string misfit;
  *size = PartSize(flat_[i], flat[i], &misfit);
  if (misfit.empty()) return true;
  *error = Mismatch(i, flat[i], "another one: " + misfit);
  return false;
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
  return CheckGuests(flat, sizes, error);
}

bool ShapeSpec::CheckGuests(const int64_t* flat, const int64_t* sizes, std::string* error) const {
  const bool reads_nothing = std::find(sizes, sizes + axes(), 0) != sizes + axes();
  const int count = flat_dims();
  for (int i = 0; i < count; ++i) {
    const DimSpec& dim = flat_[i];
    if (!dim.guest || flat[i] < 0 || flat[i] == 1 || sizes[dim.axis] < 0) continue;
    if (flat[i] == sizes[dim.axis] || (reads_nothing && sizes[dim.axis] == 1)) continue;
    *error = Mismatch(i, flat[i], "1 or " + std::to_string(sizes[dim.axis]));
    return false;
  }
  return true;
}

bool ShapeSpec::BindPlain(const int64_t* flat, int64_t* sizes, std::string* error) const {
  const int count = flat_dims();
  for (int i = 0; i < count; ++i) {
    const DimSpec& dim = flat_[i];
    if (dim.may_be_one || !dim.more.empty()) continue;
    int64_t size = 0, expected = 1;
    if (!Part(flat, i, &size, error)) return false;
    if (dim.axis != kAlwaysOne) {
      if (sizes[dim.axis] < 0) sizes[dim.axis] = size < 0 ? kOpen : size;
      expected = sizes[dim.axis];
    }
    if (size >= 0 && size != expected) {
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
      int64_t rest = 1, size = 0;
      if (!Part(flat, i, &size, error)) return false;
      for (size_t k = 0; k <= dim.more.size(); ++k) {
        const int32_t axis = k == 0 ? dim.axis : dim.more[k - 1];
        if (sizes[axis] >= 0) {
          rest *= sizes[axis];
        } else {
          unknown = axis;
          ++unknowns;
        }
      }
      if (unknowns == 1 && rest > 0 && size >= 0) sizes[unknown] = size / rest;
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
    int64_t size = 0;
    if (!Part(flat, i, &size, error)) return false;
    if (size >= 0 && product >= 0 && size != product) {
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
    if (!dim.may_be_one || dim.guest || flat[i] == 1) continue;
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

void ShapeSpec::Strides(const int64_t* flat, const int64_t* sizes, int64_t* strides) const {
  std::fill(strides, strides + stride_count(), 0);
  for (const TensorSpec& input : inputs_) {
    if (input.in_table) {
      FillRow(input, flat, sizes, strides);
      strides += merged_axes_ + 1;
    }
    flat += input.dims.size();
  }
  for (const Interval& interval : intervals_) {
    *strides++ = interval.before;
    *strides++ = sizes[interval.axis] - interval.behind;
  }
}

void ShapeSpec::FillRow(const TensorSpec& input, const int64_t* flat, const int64_t* sizes,
                        int64_t* row) const {
  int64_t pitch = 1;
  int64_t* const offset = row + merged_axes_;
  std::string no_error;
  for (int d = static_cast<int>(input.dims.size()) - 1; d >= 0; --d) {
    const DimSpec& dim = input.dims[d];
    Walk walk;
    WalkWindows(dim.windows, flat[d], &walk, &no_error);
    *offset += walk.start * pitch;
    int64_t step = dim.may_be_one && flat[d] == 1 ? 0 : walk.step * pitch;
    for (int k = static_cast<int>(dim.more.size()); k >= 0 && dim.axis != kAlwaysOne; --k) {
      const int32_t axis = k == 0 ? dim.axis : dim.more[k - 1];
      // Axes of one merged axis lie side by side: the innermost gives the stride.
      if (row[groups_[axis]] == 0) row[groups_[axis]] = step;
      step *= sizes[axis];
    }
    pitch *= flat[d];
  }
}

}  // namespace autofuse
