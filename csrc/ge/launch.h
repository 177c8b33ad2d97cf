// Launching a kernel: its arguments as the device sees them.
#ifndef AUTOFUSE_GE_LAUNCH_H_
#define AUTOFUSE_GE_LAUNCH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "acl/acl.h"
#include "files.h"
#include "graph/custom_op.h"

namespace autofuse {

// One launch. The kernel's arguments are `addresses`, those of inputs, outputs and workspace, then
// the tiling structure by value. `together` kernels wait for each other, so that all blocks must be
// started at once.
struct Launch {
  aclrtFuncHandle function = nullptr;
  uint32_t blocks = 1;
  bool together = false;
  std::vector<uint64_t> addresses;
  Bytes tiling;
};

// Position of the arguments among the argument blocks of a node.
constexpr size_t kArgumentBlock = 0;

// Starts the kernel on the context's stream. The arguments live in device memory of GE where the
// context has some, so that a static graph can refresh them; else they go along with the launch.
bool Start(const Launch& launch, gert::EagerOpExecutionContext* context, std::string* error);

}  // namespace autofuse

#endif  // AUTOFUSE_GE_LAUNCH_H_
