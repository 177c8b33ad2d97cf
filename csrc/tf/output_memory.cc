#include "output_memory.h"

#include <unistd.h>

#include <algorithm>
#include <string>

#include "tensorflow/core/framework/allocator.h"

namespace autofuse {
namespace {

using tensorflow::Tensor;

// From here on the C library maps fresh pages for every request, or may do so.
constexpr size_t kLeastPooledBytes = size_t{4} << 20;
// oneDNN's allocator keeps large blocks itself: of smaller tensors one pool is enough, and what
// waits in two is memory lost. Beyond this the pages of ours, which are huge, pay.
constexpr size_t kLeastBesideOneDnn = size_t{32} << 20;
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
                   const tensorflow::AllocatorAttributes& attributes) {
  return ctx->get_allocator(attributes)->Name() == kOneDnnAllocator ? kLeastBesideOneDnn
                                                                    : kLeastPooledBytes;
}

}  // namespace

BufferPool* OutputPool() {
  static BufferPool* const pool = new BufferPool(MostIdleBytes(), kMostIdleSeconds);
  return pool;
}

Status MakeOutput(tensorflow::OpKernelContext* ctx, int index, int reused,
                  const tensorflow::TensorShape& shape, Tensor** output) {
  if (reused >= 0 && ctx->forward_input_to_output_with_shape(reused, index, shape, output)) {
    return Status();
  }
  const tensorflow::DataType dtype = ctx->expected_output_dtype(index);
  const size_t bytes = static_cast<size_t>(shape.num_elements()) * DataTypeSize(dtype);
  const tensorflow::AllocatorAttributes attributes = ctx->output_alloc_attr(index);
  if (bytes >= kLeastPooledBytes && bytes >= LeastPooled(ctx, attributes) && IsPlain(attributes)) {
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
