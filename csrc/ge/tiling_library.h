// The host's half of a kernel: a small shared library, kept as bytes so that it can travel in an
// offline model.
#ifndef AUTOFUSE_GE_TILING_LIBRARY_H_
#define AUTOFUSE_GE_TILING_LIBRARY_H_

#include <cstdint>
#include <string>

#include "files.h"

namespace autofuse {

class TilingLibrary {
 public:
  TilingLibrary() = default;
  ~TilingLibrary();
  TilingLibrary(const TilingLibrary&) = delete;
  TilingLibrary& operator=(const TilingLibrary&) = delete;

  // Loads the library from its bytes. On failure returns false and says why.
  bool Load(Bytes bytes, std::string* error);

  const Bytes& bytes() const { return bytes_; }
  const char* entry() const { return entry_(); }
  const char* chip() const { return chip_(); }
  int32_t npu_arch() const { return npu_arch_(); }
  bool together() const { return together_() != 0; }
  int64_t tiling_bytes() const { return tiling_bytes_(); }
  // See autofuse_device_tiling.
  int32_t Solve(const int64_t* sizes, const int64_t* strides, int64_t cores, void* data,
                int64_t* blocks, int64_t* workspace) const {
    return solve_(sizes, strides, cores, data, blocks, workspace);
  }

 private:
  template <typename F>
  bool Find(const char* name, F* function, std::string* error);

  Bytes bytes_;
  int file_ = -1;
  void* handle_ = nullptr;
  const char* (*entry_)() = nullptr;
  const char* (*chip_)() = nullptr;
  int32_t (*npu_arch_)() = nullptr;
  int32_t (*together_)() = nullptr;
  int64_t (*tiling_bytes_)() = nullptr;
  int32_t (*solve_)(const int64_t*, const int64_t*, int64_t, void*, int64_t*, int64_t*) = nullptr;
};

}  // namespace autofuse

#endif  // AUTOFUSE_GE_TILING_LIBRARY_H_
