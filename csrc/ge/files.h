// Files of kernel bundles.
#ifndef AUTOFUSE_GE_FILES_H_
#define AUTOFUSE_GE_FILES_H_

#include <cstdint>
#include <string>
#include <vector>

namespace autofuse {

using Bytes = std::vector<uint8_t>;

// Reads a whole file; false when it cannot be read.
bool ReadFile(const std::string& path, Bytes* content);

// The folder of a kernel: `bundle_dir`, else <p>/<key> for a <p> of AUTOFUSE_BUNDLE_PATH (split by
// ':'). Empty when there is none.
std::string FindBundle(const std::string& bundle_dir, const std::string& key);

}  // namespace autofuse

#endif  // AUTOFUSE_GE_FILES_H_
