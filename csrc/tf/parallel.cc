#include "parallel.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>

namespace autofuse {
namespace {

// A helper begins some 12 microseconds after it is called, and its core's caches have nothing of
// what it reads and writes: it must have more to do than that.
constexpr double kMinNanosecondsPerThread = 40000;
// More ranges than threads even out threads that start late or run slower.
constexpr int64_t kRangesPerThread = 4;

// Going to sleep and being woken takes the caller some 10 microseconds, mostly more than what a
// helper has left to do. So it looks for the end that long before it sleeps.
constexpr std::chrono::microseconds kLookout(50);

// Leaves the core to the other thread that may run on it.
inline void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

// Shared by the caller and its helpers. A helper that starts after the work is gone touches only
// the counters, so `work` may be gone by then.
class Job {
 public:
  Job(int64_t total, int64_t range, const std::function<void(int64_t, int64_t)>& work)
      : total_(total), range_(range), work_(work) {}

  void Work() {
    int64_t done = 0;
    for (;;) {
      const int64_t begin = next_.fetch_add(range_, std::memory_order_relaxed);
      if (begin >= total_) break;
      const int64_t end = std::min(begin + range_, total_);
      work_(begin, end);
      done += end - begin;
    }
    if (done > 0 && done_.fetch_add(done, std::memory_order_acq_rel) + done == total_) {
      std::lock_guard<std::mutex> lock(mutex_);
      finished_ = true;
      finished_event_.notify_all();
    }
  }

  void Wait() {
    if (IsDone()) return;
    const auto end = std::chrono::steady_clock::now() + kLookout;
    do {
      for (int i = 0; i < 16; ++i) Pause();
      if (IsDone()) return;
    } while (std::chrono::steady_clock::now() < end);
    std::unique_lock<std::mutex> lock(mutex_);
    finished_event_.wait(lock, [this] { return finished_; });
  }

 private:
  bool IsDone() const { return done_.load(std::memory_order_acquire) == total_; }

  const int64_t total_;
  const int64_t range_;
  const std::function<void(int64_t, int64_t)>& work_;
  std::atomic<int64_t> next_{0};
  std::atomic<int64_t> done_{0};
  std::mutex mutex_;
  std::condition_variable finished_event_;
  bool finished_ = false;
};

int64_t ThreadsWorthwhile(int threads, int64_t total, int64_t cost) {
  const double by_cost =
      static_cast<double>(total) * static_cast<double>(cost) / kMinNanosecondsPerThread;
  const int64_t most = std::min<int64_t>(threads, total);
  return by_cost >= static_cast<double>(most) ? most : static_cast<int64_t>(by_cost);
}

}  // namespace

void ParallelRanges(tensorflow::thread::ThreadPool* pool, int threads, int64_t total, int64_t cost,
                    const std::function<void(int64_t, int64_t)>& work) {
  if (total <= 0) return;
  const int64_t workers = pool == nullptr ? 1 : ThreadsWorthwhile(threads, total, cost);
  if (workers <= 1) {
    work(0, total);
    return;
  }
  const int64_t range = std::max<int64_t>(1, total / (workers * kRangesPerThread));
  auto job = std::make_shared<Job>(total, range, work);
  for (int64_t i = 1; i < workers; ++i) {
    pool->Schedule([job] { job->Work(); });
  }
  job->Work();
  job->Wait();
}

}  // namespace autofuse
