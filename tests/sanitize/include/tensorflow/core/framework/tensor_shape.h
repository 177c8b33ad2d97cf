// The one class of TensorFlow that csrc/tf/launch_plan.cc needs, so that it runs under sanitizers.
#pragma once
#include <cstdint>

namespace tensorflow {

class TensorShape {
 public:
  void AddDim(int64_t size) { num_elements_ *= size; }
  int64_t num_elements() const { return num_elements_; }

 private:
  int64_t num_elements_ = 1;
};

}  // namespace tensorflow
