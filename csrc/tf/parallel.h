// Runs the blocks of a kernel phase on TensorFlow's own worker threads.
#ifndef AUTOFUSE_TF_PARALLEL_H_
#define AUTOFUSE_TF_PARALLEL_H_

#include <cstdint>
#include <functional>

#include "tensorflow/core/lib/core/threadpool.h"

namespace autofuse {

// Calls work(begin, end) until [0, total) is done and returns then. Ranges run in parallel when
// `cost` (nanoseconds for one unit) makes that worth it. The caller works too and never waits for
// a range nobody has begun, so a busy pool costs time but cannot block. `pool` may be null.
// `work` must not throw.
void ParallelRanges(tensorflow::thread::ThreadPool* pool, int threads, int64_t total, int64_t cost,
                    const std::function<void(int64_t, int64_t)>& work);

}  // namespace autofuse

#endif  // AUTOFUSE_TF_PARALLEL_H_
