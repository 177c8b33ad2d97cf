// Memory for large tensors that is kept for the next one: fresh pages cost more than a kernel does.
//
// Blocks are aligned to 2 MiB and ask for huge pages. Their sizes come in classes, eight to an
// octave, and a freed block waits for the next request of its class. Three rules bound the wait:
// all blocks together never exceed the most that was in use at one time, idle blocks never exceed
// `max_idle_bytes`, and a block idle for `max_idle_seconds` goes back to the system at the next
// call. Thread-safe.
#ifndef AUTOFUSE_TF_BUFFER_POOL_H_
#define AUTOFUSE_TF_BUFFER_POOL_H_

#include <chrono>
#include <cstddef>
#include <list>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

namespace autofuse {

class BufferPool {
 public:
  struct Stats {
    size_t in_use_bytes;
    size_t idle_bytes;
    size_t peak_in_use_bytes;
    size_t reused;  // requests answered with a waiting block
    size_t mapped;  // requests that took fresh memory
  };

  BufferPool(size_t max_idle_bytes, double max_idle_seconds);
  ~BufferPool();  // no block may be in use
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;

  // A block of at least `bytes`, contents undefined; null when the system has no memory.
  void* Allocate(size_t bytes);
  void Free(void* block);

  // Gives all idle blocks back.
  void Trim();
  Stats GetStats() const;

  // The size of the block that serves a request.
  static size_t ClassSize(size_t bytes);

 private:
  using Clock = std::chrono::steady_clock;
  struct Idle {
    void* block;
    size_t size;
    Clock::time_point since;
  };
  using Released = std::vector<std::pair<void*, size_t>>;

  void* TakeIdle(size_t size);
  void* MapFresh(size_t size);
  void DropOldest(Released* released);
  void DropExpired(Clock::time_point now, Released* released);
  static void Unmap(const Released& released);

  const size_t max_idle_bytes_;
  const Clock::duration max_idle_;
  mutable std::mutex mutex_;
  std::list<Idle> idle_;  // the block that waits longest comes first
  std::unordered_map<void*, size_t> in_use_;
  Stats stats_{};
};

}  // namespace autofuse

#endif  // AUTOFUSE_TF_BUFFER_POOL_H_
