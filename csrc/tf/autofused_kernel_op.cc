// The AutofusedKernel op: runs the CPU build of a fused kernel in place of the operators it fuses.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "../core/small_array.h"
#include "kernel_stats.h"
#include "launch_plan.h"
#include "output_memory.h"
#include "parallel.h"
#include "shape_function.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/util/work_sharder.h"
#include "tf_compat.h"

namespace autofuse {
namespace {

using tensorflow::OpKernel;
using tensorflow::OpKernelConstruction;
using tensorflow::OpKernelContext;
using tensorflow::Tensor;
using tensorflow::errors::InvalidArgument;

REGISTER_OP("AutofusedKernel")
    .Input("x: Tin")
    .Output("y: Tout")
    .Attr("Tin: list(type) >= 0")
    .Attr("Tout: list(type) >= 1")
    .Attr("kernel_key: string")
    .Attr("spec: string")
    .Attr("host_library: string")
    .Attr("host_digest: string = ''")
    .Attr("output_shapes: list(shape) = []")
    .Attr("node_name: string = ''")
    .SetShapeFn(AutofusedKernelShape)
    .Doc(
        "Runs a fused kernel. `spec` says which loop axis every dimension is; `node_name` is the "
        "name of its node where it is called without one.");

constexpr size_t kInlineDims = 64;
constexpr size_t kInlineTensors = 16;

void* DataOf(const Tensor& tensor) { return const_cast<char*>(tensor.tensor_data().data()); }

class AutofusedKernelOp : public OpKernel {
 public:
  explicit AutofusedKernelOp(OpKernelConstruction* ctx) : OpKernel(ctx) {
    std::string kernel_key, spec_text, path, digest, node_name, error;
    OP_REQUIRES_OK(ctx, ctx->GetAttr("kernel_key", &kernel_key));
    OP_REQUIRES_OK(ctx, ctx->GetAttr("spec", &spec_text));
    OP_REQUIRES_OK(ctx, ctx->GetAttr("host_library", &path));
    OP_REQUIRES_OK(ctx, ctx->GetAttr("host_digest", &digest));
    OP_REQUIRES_OK(ctx, ctx->GetAttr("node_name", &node_name));
    OP_REQUIRES(ctx, ShapeSpec::Parse(spec_text, &spec_, &error),
                InvalidArgument(name(), ": ", error));
    OP_REQUIRES(ctx,
                static_cast<int>(spec_.inputs().size()) == num_inputs() &&
                    static_cast<int>(spec_.outputs().size()) == num_outputs(),
                InvalidArgument(name(), ": spec '", spec_text, "' does not have ", num_inputs(),
                                " inputs and ", num_outputs(), " outputs"));
    OP_REQUIRES(ctx, AllPlain(input_types()) && AllPlain(output_types()),
                InvalidArgument(name(), ": only plain data types can be fused"));
    OP_REQUIRES(ctx, !path.empty(), InvalidArgument(name(), ": no host library was built"));
    library_ = OpenKernelLibrary(path, digest, &error);
    OP_REQUIRES(ctx, library_ != nullptr, InvalidArgument(name(), ": ", error));
    const auto* workers = ctx->device()->tensorflow_cpu_worker_threads();
    threads_ = workers == nullptr ? 1 : std::max(1, workers->num_threads);
    alone_ = !node_name.empty();
    stats_ = StatsOfNode(alone_ ? node_name : name(), kernel_key);
    for (int i = 0; i < num_outputs(); ++i) {
      reused_.push_back(library_->reused == nullptr ? -1 : library_->reused(i));
    }
  }

  void Compute(OpKernelContext* ctx) override {
    std::shared_ptr<const LaunchPlan> plan;
    OP_REQUIRES_OK(ctx, FindPlan(ctx, &plan));
    stats_->Count(plan->id, plan->input_shapes);

    SmallArray<const void*, kInlineTensors> inputs(num_inputs());
    for (int i = 0; i < num_inputs(); ++i) inputs[i] = DataOf(ctx->input(i));
    SmallArray<void*, kInlineTensors> outputs(num_outputs());
    for (int i = 0; i < num_outputs(); ++i) {
      Tensor* output = nullptr;
      OP_REQUIRES_OK(ctx, MakeOutput(ctx, i, reused_[i], alone_, plan->output_shapes[i], &output));
      outputs[i] = DataOf(*output);
    }
    if (!plan->has_output_elements) return;

    Tensor workspace;
    OP_REQUIRES_OK(ctx, AllocateWorkspace(ctx, plan->tiling.workspace_bytes, &workspace));
    const AutofuseArgs args = {inputs.data(), outputs.data(), plan->merged_sizes.data(),
                               plan->strides.empty() ? nullptr : plan->strides.data(),
                               workspace.NumElements() > 0 ? DataOf(workspace) : nullptr};
    const auto start = std::chrono::steady_clock::now();
    OP_REQUIRES_OK(ctx, Run(ctx, args, plan->tiling));
    const auto took = std::chrono::steady_clock::now() - start;
    stats_->AddTime(std::chrono::duration_cast<std::chrono::nanoseconds>(took).count());
  }

 private:
  static bool AllPlain(const tensorflow::DataTypeVector& types) {
    return std::all_of(types.begin(), types.end(), tensorflow::DataTypeCanUseMemcpy);
  }

  // The plan for the input shapes of this call.
  Status FindPlan(OpKernelContext* ctx, std::shared_ptr<const LaunchPlan>* plan) {
    SmallArray<int64_t, kInlineDims> flat(spec_.flat_dims());
    int64_t* next = flat.data();
    for (int i = 0; i < num_inputs(); ++i) {
      const tensorflow::TensorShape& shape = ctx->input(i).shape();
      const int rank = static_cast<int>(spec_.inputs()[i].dims.size());
      if (shape.dims() != rank) {
        return InvalidArgument(name(), ": input ", i, " has rank ", shape.dims(), ", expected ",
                               rank);
      }
      for (int d = 0; d < rank; ++d) *next++ = shape.dim_size(d);
    }
    *plan = plans_.Find(flat.data(), spec_.flat_dims());
    if (*plan != nullptr) return Status();
    std::string error;
    *plan = MakeLaunchPlan(spec_, *library_, threads_, flat.data(), &error);
    if (*plan == nullptr) return InvalidArgument(name(), ": ", error);
    plans_.Insert(*plan);
    return Status();
  }

  static Status AllocateWorkspace(OpKernelContext* ctx, int64_t bytes, Tensor* workspace) {
    if (bytes == 0) return Status();
    return ctx->allocate_temp(tensorflow::DT_INT8, tensorflow::TensorShape({bytes}), workspace);
  }

  // Runs all phases, each over the device's worker threads.
  Status Run(OpKernelContext* ctx, const AutofuseArgs& args, const AutofuseTiling& tiling) const {
    const auto* workers = ctx->device()->tensorflow_cpu_worker_threads();
    auto* pool = workers == nullptr ? nullptr : workers->workers;
    const int threads = std::min(threads_, tensorflow::GetPerThreadMaxParallelism());
    std::atomic<int32_t> failure{AUTOFUSE_OK};
    std::atomic<int64_t> coordinate{0}, size{-1};
    for (int32_t phase = 0; phase < tiling.phases; ++phase) {
      ParallelRanges(pool, threads, tiling.blocks[phase], tiling.block_cost[phase],
                     [&](int64_t begin, int64_t end) {
                       const int32_t code = library_->run(&args, &tiling, phase, begin, end);
                       if (code == AUTOFUSE_OK) return;
                       failure.store(code, std::memory_order_relaxed);
                       if (code != AUTOFUSE_OUT_OF_RANGE || library_->refused == nullptr) return;
                       int64_t refused[2];
                       library_->refused(&refused[0], &refused[1]);
                       coordinate.store(refused[0], std::memory_order_relaxed);
                       size.store(refused[1], std::memory_order_relaxed);
                     });
    }
    const int32_t code = failure.load(std::memory_order_relaxed);
    if (code == AUTOFUSE_OK) return Status();
    if (code == AUTOFUSE_DIVISION_BY_ZERO) return InvalidArgument("Integer division by zero");
    if (code == AUTOFUSE_OUT_OF_RANGE && size >= 0) {
      return InvalidArgument(name(), ": indices[...] = ", coordinate.load(), " is not in [0, ",
                             size.load(), ")");
    }
    if (code == AUTOFUSE_OUT_OF_RANGE) {
      return InvalidArgument(name(), ": an index or label is outside the valid range");
    }
    return tensorflow::errors::Internal(name(), ": the kernel failed with code ", code);
  }

  ShapeSpec spec_;
  const KernelLibrary* library_ = nullptr;
  int threads_ = 1;
  bool alone_ = false;       // called without a graph
  std::vector<int> reused_;  // for each output the input whose memory it may take, or -1
  NodeStats* stats_ = nullptr;
  LaunchPlanCache plans_;
};

REGISTER_KERNEL_BUILDER(Name("AutofusedKernel").Device(tensorflow::DEVICE_CPU), AutofusedKernelOp);

}  // namespace
}  // namespace autofuse
