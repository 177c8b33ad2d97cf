#include "kernel_library.h"

#include <dlfcn.h>

#include <memory>
#include <mutex>
#include <unordered_map>

#include "../core/sha256.h"
#include "../core/trusted_file.h"

namespace autofuse {
namespace {

template <typename Function>
bool Find(void* handle, const char* name, Function* function, std::string* error) {
  *function = reinterpret_cast<Function>(dlsym(handle, name));
  if (*function == nullptr) *error = std::string("it has no function ") + name;
  return *function != nullptr;
}

bool Resolve(void* handle, KernelLibrary* library, std::string* error) {
  decltype(&autofuse_abi_version) version = nullptr;
  if (!Find(handle, "autofuse_abi_version", &version, error)) return false;
  if (version() != AUTOFUSE_ABI_VERSION) {
    *error = "its ABI version is " + std::to_string(version()) + ", expected " +
             std::to_string(AUTOFUSE_ABI_VERSION);
    return false;
  }
  std::string absent;
  Find(handle, "autofuse_refused", &library->refused, &absent);
  Find(handle, "autofuse_reused", &library->reused, &absent);
  return Find(handle, "autofuse_tiling", &library->tiling, error) &&
         Find(handle, "autofuse_run", &library->run, error);
}

// Opens a file that this process has not opened yet.
void* OpenFile(const std::string& path, const std::string& digest, std::string* error) {
  *error = WhyUntrusted(path);
  if (!error->empty()) return nullptr;
  if (!digest.empty() && FileDigest(path) != digest) {
    *error = "it was changed after the graph was fused";
    return nullptr;
  }
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* reason = dlerror();
    *error = reason != nullptr ? reason : "dlopen failed";
  }
  return handle;
}

std::unique_ptr<KernelLibrary> Open(const std::string& path, const std::string& digest,
                                    std::string* error) {
  // The pass opens what it builds, and its file may be gone by now.
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  if (handle == nullptr) handle = OpenFile(path, digest, error);
  if (handle == nullptr) return nullptr;
  std::unique_ptr<KernelLibrary> library(new KernelLibrary);
  if (!Resolve(handle, library.get(), error)) {
    dlclose(handle);
    return nullptr;
  }
  return library;
}

}  // namespace

const KernelLibrary* OpenKernelLibrary(const std::string& path, const std::string& digest,
                                       std::string* error) {
  // Never destroyed: kernels may still run while the process exits.
  static std::mutex* mutex = new std::mutex;
  static auto* libraries = new std::unordered_map<std::string, std::unique_ptr<KernelLibrary>>;
  std::lock_guard<std::mutex> lock(*mutex);
  std::unique_ptr<KernelLibrary>& entry = (*libraries)[path];
  if (entry == nullptr) entry = Open(path, digest, error);
  if (entry == nullptr) *error = "cannot use kernel library '" + path + "': " + *error;
  return entry.get();
}

}  // namespace autofuse
