// Output shapes of a fused kernel from its shape spec, also while some input sizes are unknown.
#ifndef AUTOFUSE_CORE_INFER_SHAPE_H_
#define AUTOFUSE_CORE_INFER_SHAPE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "shape_spec.h"

namespace autofuse {

// Fills one list of sizes per output. `flat` holds the sizes of all inputs one after the other,
// kUnknownSize where a size is not known; an output size that depends on one is kUnknownSize.
// On a mismatch of known sizes returns false; *error names input, dimension and sizes.
bool InferOutputs(const ShapeSpec& spec, const int64_t* flat,
                  std::vector<std::vector<int64_t>>* outputs, std::string* error);

}  // namespace autofuse

#endif  // AUTOFUSE_CORE_INFER_SHAPE_H_
