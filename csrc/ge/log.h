// Errors of the operator: a GE status, with its text in CANN's log.
#ifndef AUTOFUSE_GE_LOG_H_
#define AUTOFUSE_GE_LOG_H_

#include <string>

#include "acl/acl.h"
#include "graph/error_codes.h"

namespace autofuse {

// Writes "AutofusedKernel <node>: <text>" to the log and returns GRAPH_FAILED.
inline ge::graphStatus Fail(const char* node, const std::string& text) {
  aclAppLog(ACL_ERROR, __FUNCTION__, __FILE__, __LINE__, "AutofusedKernel %s: %s",
            node == nullptr ? "?" : node, text.c_str());
  return ge::GRAPH_FAILED;
}

}  // namespace autofuse

#endif  // AUTOFUSE_GE_LOG_H_
