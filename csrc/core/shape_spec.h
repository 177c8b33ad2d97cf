// The shape rule of a fused kernel: which loop axis every dimension of every input and output is.
//
// Text form, as the pass writes it into the node:
//
//   v1;axes=3;groups=0,0,1;in=0.1.2/-.-.2/0?.1/s;out=0.1.2/0.1/s;
//
//   axes     loop axes before merging
//   groups   the merged axis of every axis; a merged size is the product of its axes' sizes
//   in, out  tensors split by '/', dimensions by '.': `k` is axis k, `k?` is axis k or 1 (broadcast
//            decided at run time), `k!` the same for a guest, which says nothing of the size of
//            axis k, and may have any size beside an axis of one if some axis has no points (then
//            nothing is read), `-` is always 1, `k*l` is the product of axes (a dimension that
//            a reshape splits or merges), and `s` alone is a tensor of rank 0. Windows (windows.h)
//            behind an input's dimension say which part of it is walked; its size is that of the
//            part
//
//   v1;axes=3;groups=0,1,1;fixed=2:64;in=0[::-1].1*2[1:-1:1];out=0.1.2;
//
//   fixed    sizes of axes that no dimension tells; left out when there are none
//
//   v1;axes=1;groups=0;inside=0:2:3;in=0[2|3];out=0;
//
//   inside   intervals of axes: how many coordinates lie before and behind those inside; left out
//            when there are none
//
// The size of an axis is what its plain dimensions agree on; without a plain dimension it is what
// the other factors of a product leave, or the size of the `?` dimensions that are not 1, or 1.
//
// Plain C++14: errors are strings, evaluation allocates nothing.
#ifndef AUTOFUSE_CORE_SHAPE_SPEC_H_
#define AUTOFUSE_CORE_SHAPE_SPEC_H_

#include <cstdint>
#include <string>
#include <vector>

#include "windows.h"

namespace autofuse {

constexpr int32_t kAlwaysOne = -1;
constexpr int64_t kUnknownSize = -1;

struct DimSpec {
  int32_t axis = kAlwaysOne;  // loop axis, or kAlwaysOne
  bool may_be_one = false;    // the size is the axis' size or 1
  bool guest = false;         // and does not tell the size of the axis
  std::vector<int32_t> more;  // further axes: the size is the product
  std::vector<Window> windows;
};

struct Interval {
  int32_t axis;
  int64_t before, behind;
};

struct TensorSpec {
  std::vector<DimSpec> dims;
  bool may_broadcast = false;  // has a dimension with may_be_one
  // Where its elements lie is said by the run-time table: a dimension may be one or has windows, or
  // the dimensions stand in another order than their axes.
  bool in_table = false;
};

class ShapeSpec {
 public:
  // Reads the text form. On failure returns false and says in *error what is wrong and where.
  static bool Parse(const std::string& text, ShapeSpec* spec, std::string* error);

  const std::vector<TensorSpec>& inputs() const { return inputs_; }
  const std::vector<TensorSpec>& outputs() const { return outputs_; }
  int axes() const { return static_cast<int>(groups_.size()); }
  int merged_axes() const { return merged_axes_; }
  int stride_count() const { return table_size_; }
  // Number of dimensions of all inputs together: the length of `flat` below.
  int flat_dims() const { return static_cast<int>(flat_.size()); }

  // `flat` holds the sizes of input 0, then of input 1, and so on, with the ranks of the spec.

  // Fills sizes[axes()]. On a mismatch returns false; *error names input, dimension and sizes.
  // A size in `flat` may be kUnknownSize, and so is then every axis that depends on it.
  bool BindAxes(const int64_t* flat, int64_t* sizes, std::string* error) const;
  // Fills merged[merged_axes()] from the sizes of BindAxes.
  void MergeSizes(const int64_t* sizes, int64_t* merged) const;
  // Fills the run-time table strides[stride_count()]; `sizes` are those of BindAxes. Every input
  // `in_table` has a row: its element stride along every merged axis, 0 where it lacks the axis or
  // is broadcast along it, and the offset of the first point. Behind the rows every interval has
  // its first coordinate and the one behind its last.
  void Strides(const int64_t* flat, const int64_t* sizes, int64_t* strides) const;
  // Size of the part of an input dimension that is walked; kUnknownSize for an unknown size, -2
  // when a window does not fit.
  static int64_t PartSize(const DimSpec& dim, int64_t size, std::string* error);
  // The size of one output dimension; kUnknownSize when it is not known.
  static int64_t DimSize(const DimSpec& dim, const int64_t* sizes) {
    if (dim.axis == kAlwaysOne) return 1;
    int64_t size = sizes[dim.axis];
    for (int32_t axis : dim.more) {
      if (size < 0 || sizes[axis] < 0) return kUnknownSize;
      size *= sizes[axis];
    }
    return size;
  }
  // Sizes that no tensor tells: kUnknownSize for all other axes.
  const std::vector<int64_t>& fixed_sizes() const { return fixed_; }

 private:
  friend class SpecReader;

  bool Finish(std::string* error);
  bool BindPlain(const int64_t* flat, int64_t* sizes, std::string* error) const;
  bool BindProducts(const int64_t* flat, int64_t* sizes, std::string* error) const;
  bool BindLoose(const int64_t* flat, int64_t* sizes, std::string* error) const;
  bool CheckGuests(const int64_t* flat, const int64_t* sizes, std::string* error) const;
  void FillRow(const TensorSpec& input, const int64_t* flat, const int64_t* sizes,
               int64_t* row) const;
  bool Part(const int64_t* flat, int i, int64_t* size, std::string* error) const;
  std::string Mismatch(int flat_index, int64_t got, const std::string& expected) const;

  std::vector<TensorSpec> inputs_;
  std::vector<TensorSpec> outputs_;
  std::vector<int32_t> groups_;
  std::vector<DimSpec> flat_;  // dims of all inputs, in order
  std::vector<int64_t> fixed_;
  std::vector<Interval> intervals_;
  int products_ = 0;  // dimensions with several axes
  int merged_axes_ = 0;
  int table_size_ = 0;
};

}  // namespace autofuse

#endif  // AUTOFUSE_CORE_SHAPE_SPEC_H_
