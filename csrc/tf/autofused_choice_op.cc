// The AutofusedChoice op: runs the operators of a cluster as they were while their kernel is being
// built, and the fused kernel afterwards. Both are functions of the graph's library.
#include <atomic>
#include <string>
#include <vector>

#include "shape_function.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tf_compat.h"
#include "tickets.h"

namespace autofuse {
namespace {

using tensorflow::AsyncOpKernel;
using tensorflow::FunctionLibraryRuntime;
using tensorflow::NameAttrList;
using tensorflow::OpKernelConstruction;
using tensorflow::OpKernelContext;
using tensorflow::Tensor;

REGISTER_OP("AutofusedChoice")
    .Input("x: Tin")
    .Output("y: Tout")
    .Attr("Tin: list(type) >= 0")
    .Attr("Tout: list(type) >= 1")
    .Attr("plain: func")
    .Attr("fused: func")
    .Attr("ticket: string")
    .Attr("spec: string")
    .Attr("output_shapes: list(shape) = []")
    .SetShapeFn(AutofusedKernelShape)
    .Doc("Runs `fused` once `ticket` has been published, and `plain` until then.");

class AutofusedChoiceOp : public AsyncOpKernel {
 public:
  explicit AutofusedChoiceOp(OpKernelConstruction* ctx) : AsyncOpKernel(ctx) {
    std::string ticket;
    OP_REQUIRES_OK(ctx, ctx->GetAttr("plain", &plain_.function));
    OP_REQUIRES_OK(ctx, ctx->GetAttr("fused", &fused_.function));
    OP_REQUIRES_OK(ctx, ctx->GetAttr("ticket", &ticket));
    ready_ = FindTicket(ticket);
  }

  void ComputeAsync(OpKernelContext* ctx, DoneCallback done) override {
    FunctionLibraryRuntime* library = ctx->function_library();
    OP_REQUIRES_ASYNC(ctx, library != nullptr,
                      tensorflow::errors::Internal(name(), ": no function library"), done);
    FunctionLibraryRuntime::Handle handle;
    OP_REQUIRES_OK_ASYNC(ctx, Choose(library, &handle), done);
    FunctionLibraryRuntime::Options options;
    options.rendezvous = ctx->rendezvous();
    options.cancellation_manager = ctx->cancellation_manager();
    options.step_container = ctx->step_container();
    options.runner = ctx->runner();
    std::vector<Tensor> inputs;
    for (int i = 0; i < num_inputs(); ++i) inputs.push_back(ctx->input(i));
    auto* results = new std::vector<Tensor>;
    library->Run(options, handle, inputs, results, [ctx, results, done](const Status& status) {
      if (!status.ok()) {
        ctx->SetStatus(status);
      } else {
        for (size_t i = 0; i < results->size(); ++i) {
          ctx->set_output(static_cast<int>(i), (*results)[i]);
        }
      }
      delete results;
      done();
    });
  }

 private:
  struct Side {
    NameAttrList function;
    std::atomic<FunctionLibraryRuntime::Handle> handle{tensorflow::kInvalidHandle};
  };

  // Instantiating a function twice gives the same handle, so threads may race for it. A kernel that
  // cannot be loaded is the end of it: the plain operators stay.
  Status Choose(FunctionLibraryRuntime* library, FunctionLibraryRuntime::Handle* handle) {
    if (ready_->load() && !broken_.load() && Find(library, &fused_, handle).ok()) return Status();
    if (ready_->load()) broken_.store(true);
    return Find(library, &plain_, handle);
  }

  static Status Find(FunctionLibraryRuntime* library, Side* side,
                     FunctionLibraryRuntime::Handle* handle) {
    *handle = side->handle.load();
    if (*handle != tensorflow::kInvalidHandle) return Status();
    const Status status = library->Instantiate(
        side->function.name(), tensorflow::AttrSlice(&side->function.attr()), handle);
    if (status.ok()) side->handle.store(*handle);
    return status;
  }

  Side plain_;
  Side fused_;
  const std::atomic<bool>* ready_ = nullptr;
  std::atomic<bool> broken_{false};
};

REGISTER_KERNEL_BUILDER(Name("AutofusedChoice").Device(tensorflow::DEVICE_CPU), AutofusedChoiceOp);

}  // namespace
}  // namespace autofuse
