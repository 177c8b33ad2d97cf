// Kernel libraries opened by this process.
#ifndef AUTOFUSE_TF_KERNEL_LIBRARY_H_
#define AUTOFUSE_TF_KERNEL_LIBRARY_H_

#include <string>

#include "../core/kernel_abi.h"

namespace autofuse {

struct KernelLibrary {
  decltype(&autofuse_tiling) tiling;
  decltype(&autofuse_run) run;
  decltype(&autofuse_refused) refused;  // null in a kernel without coordinates to refuse
  decltype(&autofuse_reused) reused;    // null in a kernel that cannot run in place
};

// Opens the shared object at `path` and checks its ABI version. Every path is opened once and stays
// open for the life of the process. Returns null and sets *error on failure. Thread-safe.
//
// A file that this process has not opened before must lie where only the user can write, and have
// the SHA-256 `digest` unless that is empty.
const KernelLibrary* OpenKernelLibrary(const std::string& path, const std::string& digest,
                                       std::string* error);

}  // namespace autofuse

#endif  // AUTOFUSE_TF_KERNEL_LIBRARY_H_
