// Kernel libraries opened by this process.
#ifndef AUTOFUSE_TF_KERNEL_LIBRARY_H_
#define AUTOFUSE_TF_KERNEL_LIBRARY_H_

#include <string>

#include "../core/kernel_abi.h"

namespace autofuse {

struct KernelLibrary {
  decltype(&autofuse_tiling) tiling;
  decltype(&autofuse_run) run;
};

// Opens the shared object at `path` and checks its ABI version. Every path is opened once and stays
// open for the life of the process. Returns null and sets *error on failure. Thread-safe.
const KernelLibrary* OpenKernelLibrary(const std::string& path, std::string* error);

}  // namespace autofuse

#endif  // AUTOFUSE_TF_KERNEL_LIBRARY_H_
