// What differs between the TensorFlow releases this extension is built for (1.15 to current).
// AUTOFUSE_TF_VERSION is 100 * major + minor of the installed TensorFlow, given by the build.
#ifndef AUTOFUSE_TF_TF_COMPAT_H_
#define AUTOFUSE_TF_TF_COMPAT_H_

#include "tensorflow/core/lib/core/errors.h"
#include "tensorflow/core/lib/core/status.h"

#ifndef AUTOFUSE_TF_VERSION
#error "AUTOFUSE_TF_VERSION is not set"
#endif

namespace autofuse {

#if AUTOFUSE_TF_VERSION >= 214
using Status = absl::Status;
#else
using Status = tensorflow::Status;
#endif

}  // namespace autofuse

#endif  // AUTOFUSE_TF_TF_COMPAT_H_
