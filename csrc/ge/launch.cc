#include "launch.h"

#include <cstring>

namespace autofuse {
namespace {

constexpr uint32_t kBatchMode = 1;

bool Check(const char* call, aclError code, std::string* error) {
  if (code == ACL_SUCCESS) return true;
  *error = std::string(call) + " failed with " + std::to_string(code);
  return false;
}

Bytes Arguments(const Launch& launch) {
  const size_t size = launch.addresses.size() * sizeof(uint64_t);
  Bytes arguments(size + launch.tiling.size());
  std::memcpy(arguments.data(), launch.addresses.data(), size);
  std::memcpy(arguments.data() + size, launch.tiling.data(), launch.tiling.size());
  return arguments;
}

}  // namespace

bool Start(const Launch& launch, gert::EagerOpExecutionContext* context, std::string* error) {
  aclrtLaunchKernelAttr batch;
  batch.id = ACL_RT_LAUNCH_KERNEL_ATTR_SCHEM_MODE;
  batch.value.schemMode = kBatchMode;
  aclrtLaunchKernelCfg config;
  config.attrs = &batch;
  config.numAttrs = 1;
  aclrtLaunchKernelCfg* chosen = launch.together ? &config : nullptr;
  Bytes arguments = Arguments(launch);
  const gert::KernelArgs* kept = context->MallocReadOnlyDevArgs(arguments.data(), arguments.size());
  if (kept == nullptr || kept->args_data == nullptr) {
    return Check(
        "aclrtLaunchKernelWithHostArgs",
        aclrtLaunchKernelWithHostArgs(launch.function, launch.blocks, context->GetStream(), chosen,
                                      arguments.data(), arguments.size(), nullptr, 0),
        error);
  }
  return Check("aclrtLaunchKernelV2",
               aclrtLaunchKernelV2(launch.function, launch.blocks, kept->args_data, kept->args_size,
                                   chosen, context->GetStream()),
               error);
}

}  // namespace autofuse
