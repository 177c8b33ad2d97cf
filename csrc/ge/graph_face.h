// ge::Graph and ge::GNode as plain handles for Python; runtime/legacy_ge.py makes GE's face of
// them.
#ifndef AUTOFUSE_GE_GRAPH_FACE_H_
#define AUTOFUSE_GE_GRAPH_FACE_H_

#include <pybind11/pybind11.h>

#include <string>

#include "graph/graph.h"
#include "register/register_custom_pass.h"

namespace autofuse {

// Keeps the graph alive for as long as Python holds it.
struct GraphHandle {
  ge::GraphPtr graph;
};

// Dead after the call it was made for.
struct ContextHandle {
  ge::CustomPassContext* context;
};

// Defines both and the nodes in `module`.
void DefineGraphFace(pybind11::module_* module);

}  // namespace autofuse

#endif  // AUTOFUSE_GE_GRAPH_FACE_H_
