// The device's half of a kernel: its ELF, compiled here when the bundle brings none.
#ifndef AUTOFUSE_GE_DEVICE_BINARY_H_
#define AUTOFUSE_GE_DEVICE_BINARY_H_

#include <mutex>
#include <string>

#include "acl/acl.h"
#include "files.h"

namespace autofuse {

// Compiles Ascend C with aclrtc for dav-<npu_arch>. On failure returns false; *error holds the
// compiler's words.
bool CompileKernel(const std::string& source, const std::string& name, int32_t npu_arch,
                   Bytes* binary, std::string* error);

// A loaded ELF. Loading waits for the first launch: at compile time there may be no device.
class DeviceBinary {
 public:
  DeviceBinary() = default;
  ~DeviceBinary();
  DeviceBinary(const DeviceBinary&) = delete;
  DeviceBinary& operator=(const DeviceBinary&) = delete;

  void Set(Bytes bytes) { bytes_ = std::move(bytes); }
  const Bytes& bytes() const { return bytes_; }

  // The handle of the entry function; nullptr with *error set when it cannot be had.
  // `together`: the kernel's blocks wait for each other.
  aclrtFuncHandle Function(const char* entry, bool together, std::string* error);

 private:
  Bytes bytes_;
  std::mutex mutex_;
  aclrtBinHandle binary_ = nullptr;
  aclrtFuncHandle function_ = nullptr;
};

}  // namespace autofuse

#endif  // AUTOFUSE_GE_DEVICE_BINARY_H_
