// The one function between the pass that GE loads and the library that speaks to Python.
#ifndef AUTOFUSE_GE_PYTHON_BRIDGE_H_
#define AUTOFUSE_GE_PYTHON_BRIDGE_H_

#include "register/register_custom_pass.h"

// Runs the Python passes on a graph; only called where an interpreter can be had. GE_SUCCESS also
// when they cannot be loaded: the graph then stays as it is.
using AutofuseRunPasses = ge::Status (*)(ge::GraphPtr* graph, ge::CustomPassContext* context);
#define AUTOFUSE_RUN_PASSES "autofuse_run_passes"

#endif  // AUTOFUSE_GE_PYTHON_BRIDGE_H_
