// Global memory: bounds, traffic, and who touched which byte when.
//
// Outputs and workspace remember for each byte the last writer and the last reader: core, epoch
// (the stretch between two SyncAll), pipe and number of the instruction. A core may not rely on
// another one of its own epoch, nor on its own copies before it has waited for them.
#ifndef ASCENDC_TWIN_GLOBAL_MEMORY_H_
#define ASCENDC_TWIN_GLOBAL_MEMORY_H_

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include "api_types.h"
#include "served.h"

namespace ascendc_twin {

enum Pipe : uint32_t { kPipeS = 0, kPipeV, kPipeMte2, kPipeMte3, kPipes };
ASCENDC_TWIN_CORE const char* PipeName(uint32_t pipe);

// Up to which instruction of each pipe all have ended, as somebody knows it.
using Clock = std::array<uint32_t, kPipes>;
inline void Raise(Clock& clock, const Clock& other) {
  for (uint32_t q = 0; q < kPipes; ++q) clock[q] = std::max(clock[q], other[q]);
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

struct GlobalBuffer {
  uint8_t* data = nullptr;
  int64_t bytes = 0;
  BufferKind kind = kInput;
  int64_t read = 0, written = 0;
  Requests requests;
  Zeroed<uint64_t> writers, readers;
};

// The scalar unit's cache of global memory, as of the last DataCacheCleanAndInvalid.
struct ScalarCache {
  Clock seen{};          // what the scalar unit knew to have ended
  uint32_t cleaned = 0;  // its own writes up to this number are in memory
  uint32_t epoch = 0;
};

// One instruction that touches global memory.
struct GmUse {
  int64_t core;
  uint32_t stage;  // of the core: how often it has given its buffers back
  uint32_t pipe, number;
  const Clock* known;
  bool atomic;
  Loc at;
  const char* api;
};

class ASCENDC_TWIN_CORE GlobalMemory {
 public:
  std::vector<GlobalBuffer> buffers;
  std::vector<ScalarCache> caches;  // of each core
  std::array<int64_t, kPipes> bytes_of{}, copies_of{};
  uint32_t epoch = 1;
  bool check = true;

  // The buffer a pointer belongs to, its end included; -1 when none.
  int32_t Find(const uint8_t* p) const;

  // Whether a stretch lies inside a buffer and is to be looked at; refuses what is outside.
  bool Holds(int32_t buffer, const uint8_t* p, int64_t bytes, const GmUse& use);

  void Read(int32_t buffer, const uint8_t* p, int64_t bytes, const GmUse& use);

  void Write(int32_t buffer, const uint8_t* p, int64_t bytes, const GmUse& use);

 private:
  // 16 bits of epoch, 1 atomic, 15 core + 1, 30 number, 2 pipe.
  static constexpr uint64_t kAtomicBit = uint64_t{1} << 47;
  static constexpr uint64_t kSeveral = 0x7fff;
  static constexpr int64_t kLineBytes = 64;

  uint64_t Stamp(const GmUse& use, bool atomic) const;
  uint64_t SeveralReaders() const;
  static int CoreOf(uint64_t stamp);
  bool Now(uint64_t stamp) const;
  bool Stranger(uint64_t stamp, int64_t core) const;

  void CheckWrite(uint64_t w, uint64_t r, bool both_atomic, int64_t i, int32_t buffer,
                  const GmUse& use) const;

  // An access of this core's own epoch must be known to have ended.
  void RequireEnded(uint64_t stamp, const char* verb, const char* did, int64_t i, int32_t buffer,
                    const GmUse& use) const;

  // The scalar unit works in its cache: what it wrote must be cleaned before a copy or another
  // core reads it, and what others wrote is seen after an invalidation only.
  void RequireCache(uint64_t w, int64_t i, int32_t buffer, const GmUse& use) const;

  // What lies beside the bytes [begin, end) in the same lines of the scalar unit's cache: those go
  // to memory as a whole, over what another core, or a copy that the cache has not seen, wrote.
  void CheckLines(const GlobalBuffer& b, int32_t buffer, int64_t begin, int64_t end,
                  const GmUse& use) const;

  GlobalBuffer& Bounds(int32_t buffer, const uint8_t* p, int64_t bytes, const GmUse& use);
};

}  // namespace ascendc_twin

#endif  // ASCENDC_TWIN_GLOBAL_MEMORY_H_
