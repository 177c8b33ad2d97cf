// The Python face of csrc/tf: the one file that knows pybind11.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "../core/kernel_abi.h"
#include "interrupts.h"
#include "kernel_stats.h"
#include "optimizer_bridge.h"
#include "output_memory.h"
#include "tickets.h"

namespace py = pybind11;

namespace autofuse {
namespace {

bool InterpreterIsUsable() {
#if PY_VERSION_HEX >= 0x030D0000
  return Py_IsInitialized() && !Py_IsFinalizing();
#else
  return Py_IsInitialized() && !_Py_IsFinalizing();
#endif
}

// Text from TensorFlow is nearly always UTF-8; other bytes must not raise.
py::str ToStr(const std::string& text) {
  PyObject* decoded =
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogateescape");
  if (decoded == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::str>(decoded);
}

py::list ToList(const std::vector<std::string>& texts) {
  py::list list;
  for (const std::string& text : texts) list.append(ToStr(text));
  return list;
}

py::object ToPython(const Parameter& parameter) {
  switch (parameter.kind) {
    case Parameter::Kind::kInt:
      return py::int_(parameter.i);
    case Parameter::Kind::kFloat:
      return py::float_(parameter.f);
    case Parameter::Kind::kBool:
      return py::bool_(parameter.i != 0);
    case Parameter::Kind::kList: {
      py::list list;
      for (const Parameter& item : parameter.list) list.append(ToPython(item));
      return list;
    }
    case Parameter::Kind::kString:
      break;
  }
  return ToStr(parameter.s);
}

py::dict ShapesToPython(const OptimizeRequest& request) {
  py::dict shapes;
  for (const auto& node : request.shapes) {
    py::list outputs;
    for (const TensorInfo& info : node.second) {
      py::object dims = info.has_rank ? py::cast(info.dims) : py::object(py::none());
      outputs.append(py::make_tuple(info.dtype, std::move(dims)));
    }
    shapes[ToStr(node.first)] = std::move(outputs);
  }
  return shapes;
}

py::dict InfoToPython(const OptimizeRequest& request) {
  py::dict parameters;
  for (const auto& entry : request.parameters) {
    parameters[ToStr(entry.first)] = ToPython(entry.second);
  }
  py::dict info;
  info["id"] = ToStr(request.id);
  info["fetch"] = ToList(request.fetch);
  info["feed"] = ToList(request.feed);
  info["preserve"] = ToList(request.preserve);
  info["shapes"] = ShapesToPython(request);
  info["parameters"] = std::move(parameters);
  return info;
}

// "ValueError: what it says", without the stack that what() adds.
std::string Describe(const py::error_already_set& error) {
  try {
    const auto kind = py::cast<std::string>(error.type().attr("__name__"));
    return kind + ": " + py::cast<std::string>(py::str(error.value()));
  } catch (const std::exception&) {
    return error.what();
  }
}

bool OnMainThread() {
  const py::object main = py::module_::import("threading").attr("main_thread")();
  return py::cast<unsigned long>(main.attr("ident")) == PyThread_get_thread_ident();
}

// What a signal handler raised while the main thread was in here, KeyboardInterrupt as a rule. It
// waits until that thread is back in the user's code: raised any earlier, it would be lost in a
// destructor or in TensorFlow. Guarded by the GIL.
py::object& WaitingException() {
  static auto* waiting = new py::object;
  return *waiting;
}

int RaiseWaiting(void*) {
  SetInterruptPending(false);
  const py::object exception = std::move(WaitingException());
  if (!exception) return 0;
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
  return -1;
}

// Lets graphs run as they are until Python's main thread has been told.
void TellMainThread(py::object exception) {
  if (exception) {
    // The frames in here say nothing to the user, and would keep a graph alive.
    PyException_SetTraceback(exception.ptr(), Py_None);
    PyException_SetContext(exception.ptr(), nullptr);
  }
  SetInterruptPending(true);
  if (exception) WaitingException() = std::move(exception);
  if (Py_AddPendingCall(&RaiseWaiting, nullptr) == 0) return;
  SetInterruptPending(false);  // the queue is full
  if (WaitingException()) PyErr_SetInterrupt();
  WaitingException() = py::object();
}

// Calls a Python callable. Takes the GIL itself; no Python exception leaves it.
class PythonHook : public OptimizeHook {
 public:
  explicit PythonHook(py::object callable) : callable_(std::move(callable)) {}

  Outcome Optimize(const OptimizeRequest& request, std::string* result) override {
    if (!InterpreterIsUsable()) return Outcome::kUnchanged;
    py::gil_scoped_acquire gil;
    py::object interrupt;
    const Outcome outcome = Call(request, result, &interrupt);
    // Only now: whatever Python still had to tidy up has been tidied up.
    if (interrupt || InterruptPending()) TellMainThread(std::move(interrupt));
    return outcome;
  }

  void Log(const std::string& text, bool is_warning) override {
    if (!InterpreterIsUsable()) return;
    py::gil_scoped_acquire gil;
    try {
      const py::object logger = py::module_::import("logging").attr("getLogger")("tf_autofuse");
      logger.attr(is_warning ? "warning" : "info")("%s", ToStr(text));
    } catch (const std::exception&) {
      // Nothing is left to tell it to.
    }
  }

 private:
  // *interrupt: what a signal handler raised on the main thread.
  Outcome Call(const OptimizeRequest& request, std::string* result, py::object* interrupt) {
    try {
      const py::object graph = callable_(py::bytes(request.graph_def), InfoToPython(request));
      if (graph.is_none()) return Outcome::kUnchanged;
      *result = py::cast<py::bytes>(graph);
      return Outcome::kReplaced;
    } catch (py::error_already_set& error) {
      if (!error.matches(PyExc_Exception) && OnMainThread()) *interrupt = error.value();
      if (*interrupt || error.matches(PyExc_KeyboardInterrupt)) return Outcome::kUnchanged;
      *result = Describe(error);
      return Outcome::kFailed;
    } catch (const std::exception& exception) {
      *result = exception.what();
      return Outcome::kFailed;
    }
  }

  py::object callable_;
};

void SetOptimizer(const py::object& callable) {
  if (callable.is_none()) {
    SetOptimizeHook(nullptr);
    return;
  }
  if (PyCallable_Check(callable.ptr()) == 0) throw py::type_error("the optimizer is not callable");
  // Kept for ever: another thread may be inside it.
  SetOptimizeHook(new PythonHook(callable));
}

// No thread may enter Python once the interpreter goes down: close the door before it does.
void CloseAtExit() {
  constexpr double kSeconds = 10;
  py::module_::import("atexit").attr("register")(py::cpp_function([] {
    py::gil_scoped_release no_gil;
    ShutDownOptimizer(kSeconds);
  }));
}

py::dict KernelStats() {
  py::dict stats;
  for (const NodeStatsEntry& entry : SnapshotStats()) {
    py::dict node;
    node["calls"] = entry.calls;
    node["nanos"] = entry.nanos;
    node["input_shapes"] = entry.input_shapes;
    node["kernel_key"] = ToStr(entry.kernel_key);
    stats[ToStr(entry.node)] = std::move(node);
  }
  return stats;
}

py::dict PoolStats() {
  const BufferPool::Stats stats = OutputPool()->GetStats();
  py::dict numbers;
  numbers["in_use_bytes"] = stats.in_use_bytes;
  numbers["idle_bytes"] = stats.idle_bytes;
  numbers["peak_in_use_bytes"] = stats.peak_in_use_bytes;
  numbers["reused"] = stats.reused;
  numbers["mapped"] = stats.mapped;
  return numbers;
}

}  // namespace
}  // namespace autofuse

PYBIND11_MODULE(_tf_shim, m) {
  m.doc() = "NpuOptimizer and AutofusedKernel for the TensorFlow this module was built for.";
  m.attr("tf_version") = AUTOFUSE_TF_VERSION_STRING;
  m.attr("abi_version") = AUTOFUSE_ABI_VERSION;
  m.attr("owns_optimizer") = autofuse::RegisterNpuOptimizer();
  autofuse::CloseAtExit();
  m.def("set_optimizer", &autofuse::SetOptimizer, py::arg("optimizer").none(true),
        "Sets callable(graph_def: bytes, info: dict) -> bytes or None, or None for no rewriting.");
  m.def("set_strict", &autofuse::SetStrict, py::arg("strict"),
        "Strict: a failing optimizer makes the model fail with its text.");
  m.def("kernel_stats", &autofuse::KernelStats,
        "{node: {'calls', 'nanos' of all calls, 'input_shapes' of the last call, 'kernel_key'}} "
        "since the last reset.");
  m.def("pool_stats", &autofuse::PoolStats, "Memory of large outputs, see buffer_pool.h.");
  m.def("trim_pool", [] { autofuse::OutputPool()->Trim(); }, "Gives idle memory back.");
  m.def("reset_kernel_stats", &autofuse::ResetStats);
  m.def("watch_interrupts", &autofuse::WatchInterrupts, "See interrupts.h; on any thread.");
  m.def("unwatch_interrupts", &autofuse::UnwatchInterrupts);
  m.def("interrupt_pending", &autofuse::InterruptPending,
        "Whether Ctrl-C was pressed and Python's main thread does not know yet.");
  m.def("publish_ticket", &autofuse::PublishTicket, py::arg("ticket"),
        "From the next call on, nodes with this ticket run their fused kernel.");
}
