// Runs Python passes on a ge::Graph: in the interpreter of the process, or in one started here.
#include "python_bridge.h"

#include <pybind11/embed.h>

#include <memory>
#include <mutex>

#include "graph_face.h"

namespace py = pybind11;

namespace autofuse {
namespace {

// An interpreter started here lives as long as the process: GE may compile graphs until its end.
void EnsureInterpreter() {
  static std::once_flag once;
  std::call_once(once, [] {
    if (Py_IsInitialized() != 0) return;
    py::initialize_interpreter(false);
    (void)PyEval_SaveThread();  // every call takes the lock for itself
  });
}

// The module of handles; made here because the interpreter may be older than this library.
py::module_ Handles() {
  static PyModuleDef definition;
  py::dict modules = py::module_::import("sys").attr("modules");
  const char* name = "_autofuse_ge";
  if (modules.contains(name)) return py::reinterpret_borrow<py::module_>(modules[name]);
  py::module_ made = py::module_::create_extension_module(name, nullptr, &definition);
  DefineGraphFace(&made);
  modules[name] = made;
  return made;
}

ge::Status Run(const ge::GraphPtr& graph, ge::CustomPassContext* context) {
  py::gil_scoped_acquire lock;
  auto handle = std::make_shared<ContextHandle>(ContextHandle{context});
  ge::Status status = ge::SUCCESS;
  try {
    (void)Handles();
    const py::object run = py::module_::import("tf_autofuse.runtime.legacy_ge").attr("run");
    status = run(GraphHandle{graph}, handle).cast<bool>() ? ge::SUCCESS : ge::FAILED;
  } catch (const std::exception& error) {  // also what Python raised
    context->SetErrorMessage(ge::AscendString(error.what()));
  }
  handle->context = nullptr;
  return status;
}

}  // namespace
}  // namespace autofuse

extern "C" __attribute__((visibility("default"))) ge::Status autofuse_run_passes(
    ge::GraphPtr* graph, ge::CustomPassContext* context) {
  autofuse::EnsureInterpreter();
  return autofuse::Run(*graph, context);
}
