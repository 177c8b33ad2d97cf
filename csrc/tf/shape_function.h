// Shape inference of the AutofusedKernel op.
#ifndef AUTOFUSE_TF_SHAPE_FUNCTION_H_
#define AUTOFUSE_TF_SHAPE_FUNCTION_H_

#include "tensorflow/core/framework/shape_inference.h"
#include "tf_compat.h"

namespace autofuse {

// Output dimensions are those of the input dimensions on the same axis (so that unknown sizes keep
// their identity), merged with the shapes of attribute `output_shapes` where it is given.
Status AutofusedKernelShape(tensorflow::shape_inference::InferenceContext* context);

}  // namespace autofuse

#endif  // AUTOFUSE_TF_SHAPE_FUNCTION_H_
