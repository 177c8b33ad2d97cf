// Everything about a launch that depends on the input shapes only, kept from one call to the next.
#ifndef AUTOFUSE_TF_LAUNCH_PLAN_H_
#define AUTOFUSE_TF_LAUNCH_PLAN_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "../core/kernel_abi.h"
#include "../core/shape_spec.h"
#include "kernel_library.h"
#include "kernel_stats.h"
#include "tensorflow/core/framework/tensor_shape.h"

namespace autofuse {

struct LaunchPlan {
  uint64_t id;                // unique in the process, not 0
  std::vector<int64_t> flat;  // sizes of all inputs, see ShapeSpec
  std::vector<int64_t> merged_sizes;
  std::vector<int64_t> strides;
  std::vector<tensorflow::TensorShape> output_shapes;
  Shapes input_shapes;
  AutofuseTiling tiling;
  bool has_output_elements;
};

// Makes the plan for input sizes `flat`. Returns null and sets *error when they do not fit the spec
// or the kernel refuses them.
std::shared_ptr<const LaunchPlan> MakeLaunchPlan(const ShapeSpec& spec,
                                                 const KernelLibrary& library, int threads,
                                                 const int64_t* flat, std::string* error);

// The last few plans of one kernel, most recent first. Thread-safe.
class LaunchPlanCache {
 public:
  std::shared_ptr<const LaunchPlan> Find(const int64_t* flat, size_t count);
  void Insert(std::shared_ptr<const LaunchPlan> plan);

 private:
  static constexpr size_t kCapacity = 8;

  std::mutex mutex_;
  std::vector<std::shared_ptr<const LaunchPlan>> plans_;
};

}  // namespace autofuse

#endif  // AUTOFUSE_TF_LAUNCH_PLAN_H_
