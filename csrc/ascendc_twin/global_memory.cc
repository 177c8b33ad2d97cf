#include "global_memory.h"

namespace ascendc_twin {

const char* PipeName(uint32_t pipe) {
  static const char* const names[] = {"S", "V", "MTE2", "MTE3"};
  return names[pipe];
}

int32_t GlobalMemory::Find(const uint8_t* p) const {
  for (size_t i = 0; i < buffers.size(); ++i) {
    const GlobalBuffer& b = buffers[i];
    if (p >= b.data && p <= b.data + b.bytes) return static_cast<int32_t>(i);
  }
  return -1;
}

bool GlobalMemory::Holds(int32_t buffer, const uint8_t* p, int64_t bytes, const GmUse& use) {
  Bounds(buffer, p, bytes, use);
  return check;
}

void GlobalMemory::Read(int32_t buffer, const uint8_t* p, int64_t bytes, const GmUse& use) {
  GlobalBuffer& b = Bounds(buffer, p, bytes, use);
  b.read += bytes;
  b.requests.Add({epoch, use.stage}, use.core, p - b.data, p - b.data + bytes);
  bytes_of[use.pipe] += bytes;
  if (!check || b.kind == kInput) return;
  for (int64_t i = p - b.data, end = i + bytes; i < end; ++i) {
    const uint64_t w = b.writers[i];
    if (w == 0) {
      Refuse(use.at, use.api, "unwritten GM",
             "reads byte %lld of GM buffer %d, which nothing wrote", static_cast<long long>(i),
             buffer);
    }
    if (Stranger(w, use.core)) {
      Refuse(use.at, use.api, "GM race",
             "core %lld reads byte %lld of GM buffer %d, written by core %d "
             "with no SyncAll between",
             static_cast<long long>(use.core), static_cast<long long>(i), buffer, CoreOf(w));
    }
    RequireEnded(w, "reads", "wrote", i, buffer, use);
    RequireCache(w, i, buffer, use);
    uint64_t& r = b.readers[i];
    r = Stranger(r, use.core) ? SeveralReaders() : Stamp(use, false);
  }
}

void GlobalMemory::Write(int32_t buffer, const uint8_t* p, int64_t bytes, const GmUse& use) {
  GlobalBuffer& b = Bounds(buffer, p, bytes, use);
  b.written += bytes;
  bytes_of[use.pipe] += bytes;
  if (!check) return;
  if (b.kind == kInput) {
    Refuse(use.at, use.api, "GM input", "writes into GM buffer %d, which is an input", buffer);
  }
  CheckLines(b, buffer, p - b.data, p - b.data + bytes, use);
  for (int64_t i = p - b.data, end = i + bytes; i < end; ++i) {
    uint64_t& w = b.writers[i];
    const bool both_atomic = use.atomic && (w & kAtomicBit);
    CheckWrite(w, b.readers[i], both_atomic, i, buffer, use);
    // Adding to what this core itself set in this epoch does not make the setting atomic.
    const bool set_now = Now(w) && !(w & kAtomicBit);
    w = Stamp(use, use.atomic && !set_now);
  }
}

uint64_t GlobalMemory::Stamp(const GmUse& use, bool atomic) const {
  return uint64_t{epoch & 0xffffu} << 48 | (atomic ? kAtomicBit : 0) |
         static_cast<uint64_t>(use.core + 1) << 32 | use.number << 2 | use.pipe;
}

uint64_t GlobalMemory::SeveralReaders() const {
  return uint64_t{epoch & 0xffffu} << 48 | kSeveral << 32;
}

int GlobalMemory::CoreOf(uint64_t stamp) { return static_cast<int>(stamp >> 32 & 0x7fffu) - 1; }

bool GlobalMemory::Now(uint64_t stamp) const {
  return stamp != 0 && stamp >> 48 == (epoch & 0xffffu);
}

bool GlobalMemory::Stranger(uint64_t stamp, int64_t core) const {
  return Now(stamp) && CoreOf(stamp) != core;
}

void GlobalMemory::CheckWrite(uint64_t w, uint64_t r, bool both_atomic, int64_t i, int32_t buffer,
                              const GmUse& use) const {
  const long long core = use.core, byte = i;
  if (use.atomic && w == 0) {
    Refuse(use.at, use.api, "unwritten GM",
           "adds atomically to byte %lld of GM buffer %d, which nothing set first", byte, buffer);
  }
  if (Stranger(w, use.core) && !both_atomic) {
    Refuse(use.at, use.api, "GM race",
           "cores %d and %lld both write byte %lld of GM buffer %d with no SyncAll between",
           CoreOf(w), core, byte, buffer);
  }
  if (Stranger(r, use.core)) {
    Refuse(use.at, use.api, "GM race",
           "core %lld writes byte %lld of GM buffer %d, which another core reads with no "
           "SyncAll between",
           core, byte, buffer);
  }
  if (!both_atomic) RequireEnded(w, "writes", "wrote", i, buffer, use);
  RequireEnded(r, "writes", "reads", i, buffer, use);
}

void GlobalMemory::RequireEnded(uint64_t stamp, const char* verb, const char* did, int64_t i,
                                int32_t buffer, const GmUse& use) const {
  if (!Now(stamp) || CoreOf(stamp) != use.core) return;
  const uint32_t number = static_cast<uint32_t>(stamp) >> 2, pipe = stamp & 3u;
  if (number <= (*use.known)[pipe] || (pipe == use.pipe && number == use.number)) return;
  Refuse(use.at, use.api, "missing wait",
         "%s %s byte %lld of GM buffer %d that %s %s before: no %s between", PipeName(use.pipe),
         verb, static_cast<long long>(i), buffer, PipeName(pipe), did,
         pipe == use.pipe ? "PipeBarrier" : "flag or queue");
}

void GlobalMemory::RequireCache(uint64_t w, int64_t i, int32_t buffer, const GmUse& use) const {
  const uint32_t number = static_cast<uint32_t>(w) >> 2, pipe = w & 3u;
  const int64_t writer = CoreOf(w);
  const bool own = writer == use.core;
  const ScalarCache& cache = caches[use.core];
  const bool dirty =
      pipe == kPipeS && !(own && use.pipe == kPipeS) && number > caches[writer].cleaned;
  const bool stale = use.pipe == kPipeS && pipe != kPipeS &&
                     (own && Now(w) ? number > cache.seen[pipe] : cache.epoch != epoch);
  if (!dirty && !stale) return;
  Refuse(use.at, use.api, "data cache",
         "byte %lld of GM buffer %d was written by %s: DataCacheCleanAndInvalid is missing",
         static_cast<long long>(i), buffer, PipeName(pipe));
}

void GlobalMemory::CheckLines(const GlobalBuffer& b, int32_t buffer, int64_t begin, int64_t end,
                              const GmUse& use) const {
  const int64_t first = begin / kLineBytes * kLineBytes;
  const int64_t last = std::min(b.bytes, (end + kLineBytes - 1) / kLineBytes * kLineBytes);
  for (int64_t i = first; i < last; ++i) {
    const uint64_t w = b.writers[i];
    if (!Now(w)) continue;
    const uint32_t number = static_cast<uint32_t>(w) >> 2, pipe = w & 3u;
    const bool scalar = use.pipe == kPipeS, other = CoreOf(w) != use.core;
    if (i >= begin && i < end) continue;
    if (other && (scalar || pipe == kPipeS)) {
      Refuse(use.at, use.api, "cache line",
             "core %lld writes byte %lld of GM buffer %d, core %d byte %lld of the same 64: one "
             "of them by the scalar unit, which writes whole lines",
             static_cast<long long>(use.core), static_cast<long long>(begin), buffer, CoreOf(w),
             static_cast<long long>(i));
    }
    const ScalarCache& cache = caches[use.core];
    const bool dirty = !scalar && pipe == kPipeS && number > cache.cleaned;
    const bool stale = scalar && pipe != kPipeS && number > cache.seen[pipe];
    if (other || (!dirty && !stale)) continue;
    Refuse(use.at, use.api, "cache line",
           "byte %lld of GM buffer %d shares a line of the cache with byte %lld, which %s wrote: "
           "DataCacheCleanAndInvalid is missing",
           static_cast<long long>(begin), buffer, static_cast<long long>(i), PipeName(pipe));
  }
}

GlobalBuffer& GlobalMemory::Bounds(int32_t buffer, const uint8_t* p, int64_t bytes,
                                   const GmUse& use) {
  if (buffer < 0) {
    Refuse(use.at, use.api, "GM bounds", "the GM address belongs to no buffer");
  }
  GlobalBuffer& b = buffers[buffer];
  const int64_t begin = p - b.data;
  if (begin < 0 || begin + bytes > b.bytes) {
    Refuse(use.at, use.api, "GM bounds", "touches bytes [%lld, %lld) of GM buffer %d of %lld bytes",
           static_cast<long long>(begin), static_cast<long long>(begin + bytes), buffer,
           static_cast<long long>(b.bytes));
  }
  if (check && b.kind != kInput && !b.writers) {
    b.writers = MakeZeroed<uint64_t>(b.bytes);
    b.readers = MakeZeroed<uint64_t>(b.bytes);
  }
  return b;
}

}  // namespace ascendc_twin
