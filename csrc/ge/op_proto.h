// Prototype of the operator that runs fused kernels. The runtime hands attributes over by their
// place here, so new ones go to the end.
#ifndef AUTOFUSE_GE_OP_PROTO_H_
#define AUTOFUSE_GE_OP_PROTO_H_

#include "graph/operator_reg.h"

namespace ge {

// kernel_key     name of the kernel: the folder of its bundle
// spec           which loop axis every dimension is (csrc/core/shape_spec.h)
// bundle_dir     folder of the bundle where the graph was fused
// output_dtypes  ge::DataType of every output
// autofuse_name  the node's name before GE renamed it
// vector_cores   most vector cores that the user grants the node; 0: all
REG_OP(AutofusedKernel)
    .DYNAMIC_INPUT(x, TensorType::ALL())
    .DYNAMIC_OUTPUT(y, TensorType::ALL())
    .REQUIRED_ATTR(kernel_key, String)
    .REQUIRED_ATTR(spec, String)
    .ATTR(bundle_dir, String, "")
    .ATTR(output_dtypes, ListInt, {})
    .ATTR(autofuse_name, String, "")
    .ATTR(vector_cores, Int, 0)
    .OP_END_FACTORY_REG(AutofusedKernel)

}  // namespace ge

#endif  // AUTOFUSE_GE_OP_PROTO_H_
