#include "output_memory.h"

#include <unistd.h>

#include <algorithm>
#include <string>

#include "tensorflow/core/framework/allocator.h"

namespace autofuse {
namespace {

using tensorflow::Tensor;

// From here on the C library maps fresh pages for every request. What is smaller it keeps itself
// when it is freed, as oneDNN's allocator does: that memory serves TensorFlow's operators and the
// kernels between them alike, and what waits in a second pool beside it is memory lost.
constexpr size_t kLeastPooledBytes = size_t{32} << 20;
// A kernel that is alone shares with nobody: huge pages that wait for its next call are faster.
constexpr size_t kLeastPooledAlone = size_t{4} << 20;
constexpr char kOneDnnAllocator[] = "mklcpu";
constexpr size_t kMostIdleBytes = size_t{2} << 30;
constexpr size_t kIdleShareOfMachine = 8;
constexpr double kMostIdleSeconds = 2;

size_t MostIdleBytes() {
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGE_SIZE);
  if (pages <= 0 || page <= 0) return kMostIdleBytes;
  const size_t machine = static_cast<size_t>(pages) * static_cast<size_t>(page);
  return std::min(kMostIdleBytes, machine / kIdleShareOfMachine);
}

class PoolAllocator : public tensorflow::Allocator {
 public:
  std::string Name() override { return "autofuse_pool"; }
  void* AllocateRaw(size_t, size_t bytes) override { return OutputPool()->Allocate(bytes); }
  void DeallocateRaw(void* block) override { OutputPool()->Free(block); }
};

// Tensors may outlive every static object, so this is never destroyed.
PoolAllocator* TheAllocator() {
  static PoolAllocator* const allocator = new PoolAllocator;
  return allocator;
}

bool IsPlain(const tensorflow::AllocatorAttributes& attributes) {
  return !attributes.nic_compatible() && !attributes.gpu_compatible() && attributes.scope_id <= 0;
}

size_t LeastPooled(tensorflow::OpKernelContext* ctx,
                   const tensorflow::AllocatorAttributes& attributes, bool alone) {
  return alone && ctx->get_allocator(attributes)->Name() != kOneDnnAllocator ? kLeastPooledAlone
                                                                             : kLeastPooledBytes;
}

}  // namespace

BufferPool* OutputPool() {
  static BufferPool* const pool = new BufferPool(MostIdleBytes(), kMostIdleSeconds);
  return pool;
}

Status MakeOutput(tensorflow::OpKernelContext* ctx, int index, int reused, bool alone,
                  const tensorflow::TensorShape& shape, Tensor** output) {
  if (reused >= 0 && ctx->forward_input_to_output_with_shape(reused, index, shape, output)) {
    return Status();
  }
  const tensorflow::DataType dtype = ctx->expected_output_dtype(index);
  const size_t bytes = static_cast<size_t>(shape.num_elements()) * DataTypeSize(dtype);
  const tensorflow::AllocatorAttributes attributes = ctx->output_alloc_attr(index);
  if (bytes >= kLeastPooledAlone && bytes >= LeastPooled(ctx, attributes, alone) &&
      IsPlain(attributes)) {
    Tensor pooled(TheAllocator(), dtype, shape);
    if (pooled.IsInitialized()) {
      ctx->set_output(index, pooled);
      *output = ctx->mutable_output(index);
      return Status();
    }
  }
  return ctx->allocate_output(index, shape, output);
}

}  // namespace autofuse
