// What NpuOptimizer hands to its user and takes back. Knows neither TensorFlow nor Python.
#ifndef AUTOFUSE_TF_OPTIMIZER_BRIDGE_H_
#define AUTOFUSE_TF_OPTIMIZER_BRIDGE_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace autofuse {

// A value of the optimizer's parameter_map.
struct Parameter {
  enum class Kind { kString, kInt, kFloat, kBool, kList };
  Kind kind = Kind::kString;
  std::string s;
  int64_t i = 0;  // also the bool
  double f = 0;
  std::vector<Parameter> list;
};

struct TensorInfo {
  int dtype;                  // tensorflow::DataType
  bool has_rank;              // false: dims is empty and means nothing
  std::vector<int64_t> dims;  // -1 unknown; below -1 a symbol: equal numbers are equal sizes
};

struct OptimizeRequest {
  std::string graph_def;  // serialised
  std::string id;
  std::vector<std::string> fetch;
  std::vector<std::string> feed;
  std::vector<std::string> preserve;  // nodes that must keep their names, sorted
  std::vector<std::pair<std::string, std::vector<TensorInfo>>> shapes;  // outputs by node
  std::map<std::string, Parameter> parameters;
};

enum class Outcome { kUnchanged, kReplaced, kFailed };

// The user of the optimizer. Called on TensorFlow's threads; must not throw.
class OptimizeHook {
 public:
  virtual ~OptimizeHook() = default;
  // kReplaced: *result is the new GraphDef, serialised. kFailed: *result says why.
  virtual Outcome Optimize(const OptimizeRequest& request, std::string* result) = 0;
  // A line for the log of the user: a warning, or information only.
  virtual void Log(const std::string& text, bool is_warning) = 0;
};

// Sets the hook; null makes the optimizer leave every graph as it is. The hook is never freed.
void SetOptimizeHook(OptimizeHook* hook);

// Takes the hook away for good and waits, at most `seconds`, for calls that are inside it.
void ShutDownOptimizer(double seconds);

// Strict: a failing hook makes the model fail with its text, instead of leaving the graph as it is.
void SetStrict(bool strict);

// Registers the optimizer as "NpuOptimizer" unless that name is taken. True if the name is ours.
bool RegisterNpuOptimizer();

}  // namespace autofuse

#endif  // AUTOFUSE_TF_OPTIMIZER_BRIDGE_H_
