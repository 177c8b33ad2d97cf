// The device of one run: global memory buffers, the turn-taking of cores, and what a rule says when
// it is broken. Cores are threads of which one runs at a time, in a fixed order, so that every run
// of a kernel is the same.
#ifndef ASCENDC_TWIN_DEVICE_H_
#define ASCENDC_TWIN_DEVICE_H_

#include <condition_variable>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "api_types.h"

namespace ascendc_twin {

constexpr uint32_t kBlockBytes = 32;
constexpr uint32_t kRepeatBytes = 256;
constexpr uint32_t kSelectScratch = 8192;   // above the UB a kernel may use
constexpr int64_t kSystemWorkspace = 4096;  // stands for the 16 MiB the system keeps in front

// A line of the kernel text: the place of the API call that has Loc::Here() as default argument.
struct Loc {
  int line;
  static constexpr Loc Here(int line = __builtin_LINE()) { return Loc{line}; }
};

class Violation : public std::exception {
 public:
  Violation(int at, std::string name, std::string broken, std::string detail)
      : line(at), api(std::move(name)), rule(std::move(broken)), text(std::move(detail)) {}
  const char* what() const noexcept override { return text.c_str(); }
  int line;
  std::string api, rule, text;
};

// Thrown in the other cores when one has failed.
struct Stopped {};

[[noreturn]] inline __attribute__((format(printf, 4, 5))) void Refuse(Loc at, const char* api,
                                                                      const char* rule,
                                                                      const char* format, ...) {
  char text[512];
  va_list list;
  va_start(list, format);
  std::vsnprintf(text, sizeof(text), format, list);
  va_end(list);
  throw Violation(at.line, api, rule, text);
}

struct Free {
  void operator()(void* p) const { std::free(p); }
};
// Zeroed memory that costs nothing until it is touched.
template <class T>
using Zeroed = std::unique_ptr<T[], Free>;
template <class T>
Zeroed<T> MakeZeroed(size_t count) {
  void* memory = std::calloc(count ? count : 1, sizeof(T));
  if (memory == nullptr) throw std::bad_alloc();
  return Zeroed<T>(static_cast<T*>(memory));
}

enum BufferKind : int32_t { kInput = 0, kOutput = 1, kWorkspace = 2 };

// One tensor in global memory. For outputs and workspace each byte knows who wrote it and in which
// epoch (the stretch between two SyncAll): a core may not rely on another one of its own epoch.
struct GlobalBuffer {
  uint8_t* data = nullptr;
  int64_t bytes = 0;
  BufferKind kind = kInput;
  int64_t read = 0, written = 0;
  Zeroed<uint32_t> writers;
};

class Device {
 public:
  std::vector<GlobalBuffer> buffers;
  const uint8_t* tiling = nullptr;
  int64_t tiling_bytes = 0, tiling_key = 0;
  int32_t block_dim = 1, vector_cores = 1;
  uint32_t ub_bytes = 0;
  bool check = true;
  int64_t vector_instructions = 0, vector_repeats = 0;

  // The buffer a pointer belongs to, its end included; -1 when none.
  int32_t Find(const uint8_t* p) const {
    for (size_t i = 0; i < buffers.size(); ++i) {
      const GlobalBuffer& b = buffers[i];
      if (p >= b.data && p <= b.data + b.bytes) return static_cast<int32_t>(i);
    }
    return -1;
  }

  void Read(int32_t buffer, const uint8_t* p, int64_t bytes, int64_t core, Loc at,
            const char* api) {
    GlobalBuffer& b = Bounds(buffer, p, bytes, at, api);
    b.read += bytes;
    if (!check || b.kind == kInput) return;
    for (int64_t i = p - b.data, end = i + bytes; i < end; ++i) {
      const uint32_t w = b.writers[i];
      if (w == 0) {
        Refuse(at, api, "unwritten GM", "reads byte %lld of GM buffer %d, which nothing wrote",
               static_cast<long long>(i), buffer);
      }
      if (Stranger(w, core)) {
        Refuse(at, api, "GM race",
               "core %lld reads byte %lld of GM buffer %d, written by core %d "
               "with no SyncAll between",
               static_cast<long long>(core), static_cast<long long>(i), buffer, CoreOf(w));
      }
    }
  }

  void Write(int32_t buffer, const uint8_t* p, int64_t bytes, int64_t core, bool atomic, Loc at,
             const char* api) {
    GlobalBuffer& b = Bounds(buffer, p, bytes, at, api);
    b.written += bytes;
    if (!check) return;
    if (b.kind == kInput) {
      Refuse(at, api, "GM input", "writes into GM buffer %d, which is an input", buffer);
    }
    for (int64_t i = p - b.data, end = i + bytes; i < end; ++i) {
      const uint32_t w = b.writers[i];
      if (atomic && w == 0) {
        Refuse(at, api, "unwritten GM",
               "adds atomically to byte %lld of GM buffer %d, which "
               "nothing set first",
               static_cast<long long>(i), buffer);
      }
      if (Stranger(w, core) && !(atomic && (w & kAtomicBit))) {
        Refuse(at, api, "GM race",
               "cores %d and %lld both write byte %lld of GM buffer %d with no "
               "SyncAll between",
               CoreOf(w), static_cast<long long>(core), static_cast<long long>(i), buffer);
      }
      // Adding to what this core itself set in this epoch does not make the setting atomic.
      const bool set_now = w != 0 && w >> 16 == (epoch_ & 0xffffu) && !(w & kAtomicBit);
      b.writers[i] = Stamp(core, atomic && !set_now);
    }
  }

  // Cores take turns, the lowest number first: one runs from Enter until it waits in Barrier or has
  // called Leave.
  void Start() { waits_for_.assign(block_dim, 0); }
  void Enter(std::unique_lock<std::mutex>& lock, int64_t core) {
    lock = std::unique_lock<std::mutex>(mutex_);
    AwaitTurn(lock, core);
  }
  void Leave(int64_t core) {
    waits_for_[core] = kEnded;
    PassTurn(core);
  }
  void Fail() {
    failed_ = true;
    changed_.notify_all();
  }

  void Barrier(std::unique_lock<std::mutex>& lock, int64_t core, Loc at) {
    barrier_at_ = at;
    waits_for_[core] = epoch_ + 1;
    if (++arrived_ == block_dim) {
      arrived_ = 0;
      ++epoch_;
    }
    PassTurn(core);
    AwaitTurn(lock, core);
  }

 private:
  static constexpr uint32_t kAtomicBit = 1u << 15;
  static constexpr uint32_t kEnded = ~0u;

  uint32_t Stamp(int64_t core, bool atomic) const {
    return ((epoch_ & 0xffffu) << 16) | (atomic ? kAtomicBit : 0) | static_cast<uint32_t>(core + 1);
  }
  static int CoreOf(uint32_t writer) { return static_cast<int>(writer & 0x7fffu) - 1; }
  bool Stranger(uint32_t writer, int64_t core) const {
    return writer != 0 && writer >> 16 == (epoch_ & 0xffffu) && CoreOf(writer) != core;
  }

  GlobalBuffer& Bounds(int32_t buffer, const uint8_t* p, int64_t bytes, Loc at, const char* api) {
    if (buffer < 0) Refuse(at, api, "GM bounds", "the GM address belongs to no buffer");
    GlobalBuffer& b = buffers[buffer];
    const int64_t begin = p - b.data;
    if (begin < 0 || begin + bytes > b.bytes) {
      Refuse(at, api, "GM bounds", "touches bytes [%lld, %lld) of GM buffer %d of %lld bytes",
             static_cast<long long>(begin), static_cast<long long>(begin + bytes), buffer,
             static_cast<long long>(b.bytes));
    }
    if (check && b.kind != kInput && !b.writers) b.writers = MakeZeroed<uint32_t>(b.bytes);
    return b;
  }

  void AwaitTurn(std::unique_lock<std::mutex>& lock, int64_t core) {
    changed_.wait(lock, [&] { return failed_ || turn_ == core; });
    if (failed_) throw Stopped();
  }

  // To the next core that can go on. When none can, some wait for cores that have ended.
  void PassTurn(int64_t from) {
    int32_t ended = 0;
    for (int64_t k = 1; k <= block_dim; ++k) {
      const int64_t next = (from + k) % block_dim;
      ended += waits_for_[next] == kEnded;
      if (waits_for_[next] > epoch_) continue;
      turn_ = next;
      changed_.notify_all();
      return;
    }
    if (ended == block_dim) return;
    Refuse(barrier_at_, "SyncAll", "SyncAll", "%d of %d cores wait; the others have ended",
           arrived_, block_dim);
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool failed_ = false;
  int32_t arrived_ = 0;
  uint32_t epoch_ = 1;
  int64_t turn_ = 0;
  std::vector<uint32_t> waits_for_;  // per core the epoch it waits for
  Loc barrier_at_{0};
};

}  // namespace ascendc_twin

#endif  // ASCENDC_TWIN_DEVICE_H_
