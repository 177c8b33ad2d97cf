// An array whose length is known at run time and is nearly always small: no heap up to N elements.
#ifndef AUTOFUSE_CORE_SMALL_ARRAY_H_
#define AUTOFUSE_CORE_SMALL_ARRAY_H_

#include <cstddef>
#include <memory>

namespace autofuse {

// Elements start undefined. T is trivial.
template <typename T, size_t N>
class SmallArray {
 public:
  explicit SmallArray(size_t size) {
    if (size > N) {
      heap_.reset(new T[size]);
      data_ = heap_.get();
    }
  }
  SmallArray(const SmallArray&) = delete;
  SmallArray& operator=(const SmallArray&) = delete;

  T* data() { return data_; }
  T& operator[](size_t index) { return data_[index]; }

 private:
  T inline_[N];
  std::unique_ptr<T[]> heap_;
  T* data_ = inline_;
};

}  // namespace autofuse

#endif  // AUTOFUSE_CORE_SMALL_ARRAY_H_
