#include "tiling_library.h"

#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../core/device_tiling.h"

namespace autofuse {
namespace {

// A file in memory; the C library of older hosts has no function for it.
int MemoryFile() { return static_cast<int>(syscall(SYS_memfd_create, "autofuse_tiling", 1U)); }

bool WriteAll(int file, const Bytes& bytes) {
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = write(file, bytes.data() + done, bytes.size() - done);
    if (count <= 0) return false;
    done += static_cast<size_t>(count);
  }
  return true;
}

}  // namespace

TilingLibrary::~TilingLibrary() {
  if (handle_ != nullptr) dlclose(handle_);
  if (file_ >= 0) close(file_);
}

template <typename F>
bool TilingLibrary::Find(const char* name, F* function, std::string* error) {
  *function = reinterpret_cast<F>(dlsym(handle_, name));
  if (*function == nullptr) *error = std::string("the tiling library has no ") + name;
  return *function != nullptr;
}

bool TilingLibrary::Load(Bytes bytes, std::string* error) {
  bytes_ = std::move(bytes);
  file_ = MemoryFile();
  if (file_ < 0 || !WriteAll(file_, bytes_)) {
    *error = "no memory for the tiling library";
    return false;
  }
  // The file stays open while the library is loaded: the loader knows a library by its path, and
  // the number of a closed file may come again.
  handle_ = dlopen(("/proc/self/fd/" + std::to_string(file_)).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle_ == nullptr) {
    *error = dlerror();
    return false;
  }
  int32_t (*version)() = nullptr;
  if (!Find("autofuse_device_abi_version", &version, error) ||
      !Find("autofuse_device_entry", &entry_, error) ||
      !Find("autofuse_device_chip", &chip_, error) ||
      !Find("autofuse_device_npu_arch", &npu_arch_, error) ||
      !Find("autofuse_device_together", &together_, error) ||
      !Find("autofuse_device_tiling_bytes", &tiling_bytes_, error) ||
      !Find("autofuse_device_tiling", &solve_, error)) {
    return false;
  }
  if (version() != AUTOFUSE_DEVICE_ABI_VERSION) {
    *error = "the tiling library has version " + std::to_string(version()) + ", this operator " +
             std::to_string(AUTOFUSE_DEVICE_ABI_VERSION);
    return false;
  }
  return true;
}

}  // namespace autofuse
