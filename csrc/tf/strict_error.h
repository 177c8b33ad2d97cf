// Strict mode: a graph that could not be fused fails to run, with the reason as its error.
#ifndef AUTOFUSE_TF_STRICT_ERROR_H_
#define AUTOFUSE_TF_STRICT_ERROR_H_

#include <string>
#include <vector>

#include "tensorflow/core/framework/graph.pb.h"

namespace autofuse {

// Adds a node whose kernel cannot be made, because of `text`, and makes everything fetched depend
// on it. Does nothing if the graph has the node already.
void AddErrorNode(const std::string& text, const std::vector<std::string>& fetch,
                  tensorflow::GraphDef* graph);

}  // namespace autofuse

#endif  // AUTOFUSE_TF_STRICT_ERROR_H_
