#include "launch_plan.h"

#include <algorithm>
#include <atomic>

namespace autofuse {
namespace {

bool IsSane(const AutofuseTiling& tiling) {
  if (tiling.phases < 0 || tiling.phases > AUTOFUSE_MAX_PHASES) return false;
  for (int64_t phase = 0; phase < tiling.phases; ++phase) {
    if (tiling.blocks[phase] < 0) return false;
  }
  return tiling.workspace_bytes >= 0;
}

Shapes SplitShapes(const ShapeSpec& spec, const int64_t* flat) {
  Shapes shapes;
  for (const TensorSpec& input : spec.inputs()) {
    shapes.emplace_back(flat, flat + input.dims.size());
    flat += input.dims.size();
  }
  return shapes;
}

void SetOutputShapes(const ShapeSpec& spec, const int64_t* axis_sizes, LaunchPlan* plan) {
  plan->has_output_elements = false;
  for (const TensorSpec& output : spec.outputs()) {
    tensorflow::TensorShape shape;
    for (const DimSpec& dim : output.dims) shape.AddDim(ShapeSpec::DimSize(dim, axis_sizes));
    plan->has_output_elements |= shape.num_elements() > 0;
    plan->output_shapes.push_back(shape);
  }
}

}  // namespace

std::shared_ptr<const LaunchPlan> MakeLaunchPlan(const ShapeSpec& spec,
                                                 const KernelLibrary& library, int threads,
                                                 const int64_t* flat, std::string* error) {
  static std::atomic<uint64_t> next_id{1};
  std::vector<int64_t> axis_sizes(spec.axes());
  if (!spec.BindAxes(flat, axis_sizes.data(), error)) return nullptr;
  auto plan = std::make_shared<LaunchPlan>();
  plan->id = next_id.fetch_add(1, std::memory_order_relaxed);
  plan->flat.assign(flat, flat + spec.flat_dims());
  plan->merged_sizes.resize(spec.merged_axes());
  spec.MergeSizes(axis_sizes.data(), plan->merged_sizes.data());
  plan->strides.resize(spec.stride_count());
  spec.Strides(flat, axis_sizes.data(), plan->strides.data());
  SetOutputShapes(spec, axis_sizes.data(), plan.get());
  plan->input_shapes = SplitShapes(spec, flat);
  plan->tiling = AutofuseTiling();
  const int64_t* strides = plan->strides.empty() ? nullptr : plan->strides.data();
  const int32_t code = library.tiling(plan->merged_sizes.data(), spec.merged_axes(), strides,
                                      threads, &plan->tiling);
  if (code != 0 || !IsSane(plan->tiling)) {
    *error = "the kernel has no tiling for these shapes (code " + std::to_string(code) + ")";
    return nullptr;
  }
  return plan;
}

std::shared_ptr<const LaunchPlan> LaunchPlanCache::Find(const int64_t* flat, size_t count) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (size_t i = 0; i < plans_.size(); ++i) {
    if (!std::equal(flat, flat + count, plans_[i]->flat.begin())) continue;
    if (i > 0) std::rotate(plans_.begin(), plans_.begin() + i, plans_.begin() + i + 1);
    return plans_.front();
  }
  return nullptr;
}

void LaunchPlanCache::Insert(std::shared_ptr<const LaunchPlan> plan) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (plans_.size() == kCapacity) plans_.pop_back();
  plans_.insert(plans_.begin(), std::move(plan));
}

}  // namespace autofuse
