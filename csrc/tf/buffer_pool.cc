#include "buffer_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>

namespace autofuse {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;

size_t RoundUp(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

// Anonymous memory aligned to a huge page; null when there is none.
void* Map(size_t size) {
  const size_t total = size + kHugePage;
  void* raw = mmap(nullptr, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  char* const begin = static_cast<char*>(raw);
  char* const block = reinterpret_cast<char*>(RoundUp(reinterpret_cast<uintptr_t>(raw), kHugePage));
  if (block > begin) munmap(begin, block - begin);
  char* const end = begin + total;
  if (end > block + size) munmap(block + size, end - (block + size));
#ifdef MADV_HUGEPAGE
  madvise(block, size, MADV_HUGEPAGE);  // a wish: small pages do as well, more slowly
#endif
  return block;
}

}  // namespace

BufferPool::BufferPool(size_t max_idle_bytes, double max_idle_seconds)
    : max_idle_bytes_(max_idle_bytes),
      max_idle_(std::chrono::duration_cast<Clock::duration>(
          std::chrono::duration<double>(max_idle_seconds))) {}

BufferPool::~BufferPool() { Trim(); }

size_t BufferPool::ClassSize(size_t bytes) {
  size_t octave = kHugePage;
  while (octave <= bytes / 2) octave *= 2;
  return RoundUp(std::max<size_t>(bytes, 1), std::max(kHugePage, octave / 8));
}

void* BufferPool::Allocate(size_t bytes) {
  const size_t size = ClassSize(bytes);
  Released released;
  void* block;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    block = TakeIdle(size);
    const bool reused = block != nullptr;
    stats_.in_use_bytes += size;
    stats_.peak_in_use_bytes = std::max(stats_.peak_in_use_bytes, stats_.in_use_bytes);
    while (!idle_.empty() && stats_.in_use_bytes + stats_.idle_bytes > stats_.peak_in_use_bytes) {
      DropOldest(&released);
    }
    DropExpired(Clock::now(), &released);
    if (reused) {
      ++stats_.reused;
      in_use_[block] = size;
    }
  }
  Unmap(released);  // before more is asked for
  return block != nullptr ? block : MapFresh(size);
}

void BufferPool::Free(void* block) {
  Released released;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = in_use_.find(block);
    if (found == in_use_.end()) return;
    const auto now = Clock::now();
    idle_.push_back({block, found->second, now});
    stats_.in_use_bytes -= found->second;
    stats_.idle_bytes += found->second;
    in_use_.erase(found);
    while (!idle_.empty() && stats_.idle_bytes > max_idle_bytes_) DropOldest(&released);
    DropExpired(now, &released);
  }
  Unmap(released);
}

void BufferPool::Trim() {
  Released released;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    while (!idle_.empty()) DropOldest(&released);
  }
  Unmap(released);
}

BufferPool::Stats BufferPool::GetStats() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return stats_;
}

// The block of the class that was freed last: its lines may still be in the cache.
void* BufferPool::TakeIdle(size_t size) {
  for (auto it = idle_.rbegin(); it != idle_.rend(); ++it) {
    if (it->size != size) continue;
    void* const block = it->block;
    stats_.idle_bytes -= size;
    idle_.erase(std::next(it).base());
    return block;
  }
  return nullptr;
}

// Maps a block that `in_use_bytes` counts already.
void* BufferPool::MapFresh(size_t size) {
  void* block = Map(size);
  if (block == nullptr) {
    Trim();
    block = Map(size);
  }
  std::lock_guard<std::mutex> lock(mutex_);
  if (block == nullptr) {
    stats_.in_use_bytes -= size;
    return nullptr;
  }
  ++stats_.mapped;
  in_use_[block] = size;
  return block;
}

void BufferPool::DropOldest(Released* released) {
  released->emplace_back(idle_.front().block, idle_.front().size);
  stats_.idle_bytes -= idle_.front().size;
  idle_.pop_front();
}

void BufferPool::DropExpired(Clock::time_point now, Released* released) {
  while (!idle_.empty() && now - idle_.front().since > max_idle_) DropOldest(released);
}

void BufferPool::Unmap(const Released& released) {
  for (const auto& entry : released) munmap(entry.first, entry.second);
}

}  // namespace autofuse
