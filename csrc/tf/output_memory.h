// Where the outputs of a fused kernel come from.
#ifndef AUTOFUSE_TF_OUTPUT_MEMORY_H_
#define AUTOFUSE_TF_OUTPUT_MEMORY_H_

#include "buffer_pool.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tf_compat.h"

namespace autofuse {

// Makes output `index`: of the memory of input `reused` (-1 for none) when nobody else needs that,
// from the pool when it is large and TensorFlow asks for nothing special, else of TensorFlow's own.
// Smaller tensors are as fast from the C library. `alone` is a kernel beside which no operator of
// TensorFlow runs.
Status MakeOutput(tensorflow::OpKernelContext* ctx, int index, int reused, bool alone,
                  const tensorflow::TensorShape& shape, tensorflow::Tensor** output);

// The pool of this process.
BufferPool* OutputPool();

}  // namespace autofuse

#endif  // AUTOFUSE_TF_OUTPUT_MEMORY_H_
