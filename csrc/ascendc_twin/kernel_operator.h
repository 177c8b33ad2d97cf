// The Ascend C API on the CPU: what a kernel includes. See docs of the API for the meaning of each
// call; the headers below say which rules are checked.
#ifndef ASCENDC_TWIN_KERNEL_OPERATOR_H_
#define ASCENDC_TWIN_KERNEL_OPERATOR_H_

#include "mask_forms.h"

#endif  // ASCENDC_TWIN_KERNEL_OPERATOR_H_
