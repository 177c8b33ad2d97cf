#include "launch.h"

#include <cstring>

namespace autofuse {
namespace {

bool Check(const char* call, aclError code, std::string* error) {
  if (code == ACL_SUCCESS) return true;
  *error = std::string(call) + " failed with " + std::to_string(code);
  return false;
}

// [addresses][address of the tiling data][tiling data]: the runtime copies all of it and puts the
// device address of the data into the placeholder.
bool StartWithHostArguments(const Launch& launch, aclrtStream stream, std::string* error) {
  const size_t place = launch.addresses.size() * sizeof(uint64_t);
  Bytes arguments(place + sizeof(uint64_t) + launch.tiling.size());
  std::memcpy(arguments.data(), launch.addresses.data(), place);
  std::memcpy(arguments.data() + place + sizeof(uint64_t), launch.tiling.data(),
              launch.tiling.size());
  aclrtPlaceHolderInfo holder;
  holder.addrOffset = static_cast<uint32_t>(place);
  holder.dataOffset = static_cast<uint32_t>(place + sizeof(uint64_t));
  return Check("aclrtLaunchKernelWithHostArgs",
               aclrtLaunchKernelWithHostArgs(launch.function, launch.blocks, stream, nullptr,
                                             arguments.data(), arguments.size(), &holder, 1),
               error);
}

}  // namespace

bool Start(const Launch& launch, gert::EagerOpExecutionContext* context, std::string* error) {
  Bytes tiling = launch.tiling;
  const gert::KernelArgs* data = context->MallocReadOnlyDevArgs(tiling.data(), tiling.size());
  if (data == nullptr || data->args_data == nullptr) {
    return StartWithHostArguments(launch, context->GetStream(), error);
  }
  std::vector<uint64_t> addresses = launch.addresses;
  addresses.push_back(reinterpret_cast<uint64_t>(data->args_data));
  const gert::KernelArgs* arguments =
      context->MallocReadOnlyDevArgs(addresses.data(), addresses.size() * sizeof(uint64_t));
  if (arguments == nullptr || arguments->args_data == nullptr) {
    *error = "no device memory for the kernel's arguments";
    return false;
  }
  return Check("aclrtLaunchKernelV2",
               aclrtLaunchKernelV2(launch.function, launch.blocks, arguments->args_data,
                                   arguments->args_size, nullptr, context->GetStream()),
               error);
}

}  // namespace autofuse
