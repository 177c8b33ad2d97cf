// The kernels of this process by key: one operator object may serve nodes of many kernels.
#ifndef AUTOFUSE_GE_KERNEL_STORE_H_
#define AUTOFUSE_GE_KERNEL_STORE_H_

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "device_binary.h"
#include "files.h"
#include "tiling_library.h"

namespace autofuse {

// Both halves of one kernel, ready to be launched.
struct DeviceKernel {
  TilingLibrary tiling;
  DeviceBinary binary;
};

class KernelStore {
 public:
  // The kernel `key`, read from its bundle when it is new: the binary that was built for the chip,
  // else one compiled now. nullptr with *error set when that fails.
  std::shared_ptr<DeviceKernel> Get(const std::string& key, const std::string& bundle_dir,
                                    std::string* error);

  // All kernels as bytes, and back, for offline models. Restoring adds to what is there; false
  // when the bytes are damaged.
  Bytes Save() const;
  bool Restore(const Bytes& bytes, std::string* error);

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<DeviceKernel>> kernels_;
};

}  // namespace autofuse

#endif  // AUTOFUSE_GE_KERNEL_STORE_H_
