// Who else could put something into a file: code is loaded only from where nobody could.
#ifndef AUTOFUSE_CORE_TRUSTED_FILE_H_
#define AUTOFUSE_CORE_TRUSTED_FILE_H_

#include <string>

namespace autofuse {

// Why somebody else could change what lies at `path`; empty when only root and the user can. The
// path and all its parents, links resolved, belong to the user or to root; others may not write,
// except to a folder with the sticky bit; a group only when nobody but the user is in it.
std::string WhyUntrusted(const std::string& path);

}  // namespace autofuse

#endif  // AUTOFUSE_CORE_TRUSTED_FILE_H_
