#include "kernel_store.h"

#include <cstring>

namespace autofuse {
namespace {

constexpr char kMagic[] = "AUTOFUSE1";

std::shared_ptr<DeviceKernel> ReadBundle(const std::string& folder, const std::string& key,
                                         std::string* error) {
  auto kernel = std::make_shared<DeviceKernel>();
  Bytes bytes;
  if (!ReadFile(folder + "/libautofuse_tiling.so", &bytes)) {
    *error = folder + " has no libautofuse_tiling.so";
    return nullptr;
  }
  if (!kernel->tiling.Load(std::move(bytes), error)) return nullptr;
  Bytes binary;
  const std::string built = folder + "/bin/" + kernel->tiling.chip() + "/kernel.o";
  if (!ReadFile(built, &binary)) {
    Bytes source;
    if (!ReadFile(folder + "/device_kernel.cpp", &source)) {
      *error = folder + " has neither a built kernel nor device_kernel.cpp";
      return nullptr;
    }
    const std::string text(source.begin(), source.end());
    if (!CompileKernel(text, key, kernel->tiling.npu_arch(), &binary, error)) return nullptr;
  }
  kernel->binary.Set(std::move(binary));
  return kernel;
}

void Append(const void* data, uint64_t size, Bytes* out) {
  const auto* length = reinterpret_cast<const uint8_t*>(&size);
  out->insert(out->end(), length, length + sizeof(size));
  const auto* from = static_cast<const uint8_t*>(data);
  out->insert(out->end(), from, from + size);
}

// Takes one block off bytes[*at..]; false when the bytes end before it does.
bool Take(const Bytes& bytes, size_t* at, Bytes* block) {
  uint64_t size = 0;
  if (bytes.size() - *at < sizeof(size)) return false;
  std::memcpy(&size, bytes.data() + *at, sizeof(size));
  *at += sizeof(size);
  if (bytes.size() - *at < size) return false;
  block->assign(bytes.begin() + *at, bytes.begin() + *at + size);
  *at += size;
  return true;
}

}  // namespace

std::shared_ptr<DeviceKernel> KernelStore::Get(const std::string& key,
                                               const std::string& bundle_dir, std::string* error) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = kernels_.find(key);
  if (found != kernels_.end()) return found->second;
  const std::string folder = FindBundle(bundle_dir, key);
  if (folder.empty()) {
    *error = "no bundle of kernel " + key + " in '" + bundle_dir + "' or AUTOFUSE_BUNDLE_PATH";
    return nullptr;
  }
  auto kernel = ReadBundle(folder, key, error);
  if (kernel != nullptr) kernels_[key] = kernel;
  return kernel;
}

Bytes KernelStore::Save() const {
  std::lock_guard<std::mutex> lock(mutex_);
  Bytes bytes;
  Append(kMagic, sizeof(kMagic), &bytes);
  for (const auto& entry : kernels_) {
    const Bytes& library = entry.second->tiling.bytes();
    const Bytes& binary = entry.second->binary.bytes();
    Append(entry.first.data(), entry.first.size(), &bytes);
    Append(library.data(), library.size(), &bytes);
    Append(binary.data(), binary.size(), &bytes);
  }
  return bytes;
}

bool KernelStore::Restore(const Bytes& bytes, std::string* error) {
  size_t at = 0;
  Bytes magic;
  if (!Take(bytes, &at, &magic) || magic.size() != sizeof(kMagic) ||
      std::memcmp(magic.data(), kMagic, sizeof(kMagic)) != 0) {
    *error = "the model holds no kernels of this operator";
    return false;
  }
  while (at < bytes.size()) {
    Bytes key, library, binary;
    if (!Take(bytes, &at, &key) || !Take(bytes, &at, &library) || !Take(bytes, &at, &binary)) {
      *error = "the kernels in the model are cut off";
      return false;
    }
    auto kernel = std::make_shared<DeviceKernel>();
    if (!kernel->tiling.Load(std::move(library), error)) return false;
    kernel->binary.Set(std::move(binary));
    std::lock_guard<std::mutex> lock(mutex_);
    kernels_[std::string(key.begin(), key.end())] = kernel;
  }
  return true;
}

}  // namespace autofuse
