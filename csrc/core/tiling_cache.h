// The last few tilings of a kernel by what they were found for. One per thread, so no locks.
#ifndef AUTOFUSE_CORE_TILING_CACHE_H_
#define AUTOFUSE_CORE_TILING_CACHE_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

namespace autofuse {

// `kNumbers` is the length of a key: sizes, run-time table and cores.
template <class Value, size_t kNumbers>
class TilingCache {
 public:
  // The value of a key, or null.
  const Value* Find(const int64_t* key) const {
    for (size_t i = 0; i < used_; ++i) {
      if (memcmp(entries_[i].key, key, sizeof(entries_[i].key)) == 0) return &entries_[i].value;
    }
    return nullptr;
  }

  // Keeps a value in the place of the oldest one.
  void Insert(const int64_t* key, const Value& value) {
    Entry& entry = entries_[next_];
    memcpy(entry.key, key, sizeof(entry.key));
    entry.value = value;
    next_ = (next_ + 1) % kCapacity;
    if (used_ < kCapacity) ++used_;
  }

 private:
  static constexpr size_t kCapacity = 8;
  struct Entry {
    int64_t key[kNumbers];
    Value value;
  };

  Entry entries_[kCapacity];
  size_t used_ = 0, next_ = 0;
};

}  // namespace autofuse

#endif  // AUTOFUSE_CORE_TILING_CACHE_H_
