// NpuOptimizer: the grappler optimizer that NPU scripts name in rewrite_options.custom_optimizers.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <unordered_set>

#include "interrupts.h"
#include "optimizer_bridge.h"
#include "strict_error.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/grappler/costs/graph_properties.h"
#include "tensorflow/core/grappler/grappler_item.h"
#include "tensorflow/core/grappler/optimizers/custom_graph_optimizer.h"
#include "tensorflow/core/grappler/optimizers/custom_graph_optimizer_registry.h"
#include "tf_compat.h"

namespace autofuse {
namespace {

using tensorflow::AttrValue;
using tensorflow::GraphDef;
using tensorflow::grappler::GraphProperties;
using tensorflow::grappler::GrapplerItem;

constexpr char kName[] = "NpuOptimizer";

std::atomic<OptimizeHook*> g_hook{nullptr};
std::atomic<bool> g_strict{false};
std::atomic<bool> g_shut_down{false};
std::atomic<int> g_calls_inside{0};

// Counts a call of the hook, so that ShutDownOptimizer can wait for it.
class CallCounter {
 public:
  CallCounter() { g_calls_inside.fetch_add(1); }
  ~CallCounter() { g_calls_inside.fetch_sub(1); }
};

Parameter ParameterOf(Parameter::Kind kind, const std::string& s, int64_t i, double f) {
  Parameter parameter;
  parameter.kind = kind;
  parameter.s = s;
  parameter.i = i;
  parameter.f = f;
  return parameter;
}

Parameter ListParameter(const AttrValue::ListValue& values) {
  Parameter parameter;
  parameter.kind = Parameter::Kind::kList;
  auto& list = parameter.list;
  for (const auto& s : values.s()) {
    list.push_back(ParameterOf(Parameter::Kind::kString, std::string(s), 0, 0));
  }
  for (const auto i : values.i()) list.push_back(ParameterOf(Parameter::Kind::kInt, "", i, 0));
  for (const auto f : values.f()) list.push_back(ParameterOf(Parameter::Kind::kFloat, "", 0, f));
  for (const auto b : values.b()) list.push_back(ParameterOf(Parameter::Kind::kBool, "", b, 0));
  for (const auto t : values.type()) list.push_back(ParameterOf(Parameter::Kind::kInt, "", t, 0));
  return parameter;
}

Parameter ConvertParameter(const AttrValue& value) {
  switch (value.value_case()) {
    case AttrValue::kI:
      return ParameterOf(Parameter::Kind::kInt, "", value.i(), 0);
    case AttrValue::kType:
      return ParameterOf(Parameter::Kind::kInt, "", value.type(), 0);
    case AttrValue::kF:
      return ParameterOf(Parameter::Kind::kFloat, "", 0, value.f());
    case AttrValue::kB:
      return ParameterOf(Parameter::Kind::kBool, "", value.b(), 0);
    case AttrValue::kList:
      return ListParameter(value.list());
    default:
      return ParameterOf(Parameter::Kind::kString, std::string(value.s()), 0, 0);
  }
}

TensorInfo InfoOf(const tensorflow::OpInfo::TensorProperties& properties) {
  TensorInfo info;
  info.dtype = properties.dtype();
  info.has_rank = !properties.shape().unknown_rank();
  if (info.has_rank) {
    for (const auto& dim : properties.shape().dim()) info.dims.push_back(dim.size());
  }
  return info;
}

bool IsPlaceholder(const std::string& op) {
  return op == "Placeholder" || op == "PlaceholderV2" || op == "PlaceholderWithDefault";
}

// The item without the feeds of placeholders.
GrapplerItem WithoutPlaceholderFeeds(const GrapplerItem& item) {
  std::unordered_set<std::string> placeholders;
  for (const auto& node : item.graph.node()) {
    if (IsPlaceholder(node.op())) placeholders.insert(node.name());
  }
  GrapplerItem copy = item;
  const auto is_placeholder = [&](const std::pair<std::string, tensorflow::Tensor>& feed) {
    return placeholders.count(feed.first.substr(0, feed.first.find(':'))) > 0;
  };
  copy.feed.erase(std::remove_if(copy.feed.begin(), copy.feed.end(), is_placeholder),
                  copy.feed.end());
  return copy;
}

// Output types and shapes of every node that has some. Empty when inference fails as a whole.
//
// TensorFlow takes the shape of whatever is fed for unknown. For a placeholder that would throw
// away the shape which the session holds every feed to, so only other fed tensors count as fed.
void AddShapes(const GrapplerItem& item, OptimizeHook* hook, OptimizeRequest* request) {
  const GrapplerItem filtered = item.feed.empty() ? GrapplerItem() : WithoutPlaceholderFeeds(item);
  GraphProperties properties(item.feed.empty() ? item : filtered);
  const Status status = properties.InferStatically(
      /*assume_valid_feeds=*/false, /*aggressive_shape_inference=*/false,
      /*include_tensor_values=*/false);
  if (!status.ok()) {
    hook->Log("no shapes are known in '" + item.id + "': " + status.ToString(), false);
    return;
  }
  for (const auto& node : item.graph.node()) {
    if (!properties.HasOutputProperties(node.name())) continue;
    std::vector<TensorInfo> outputs;
    for (const auto& output : properties.GetOutputProperties(node.name())) {
      outputs.push_back(InfoOf(output));
    }
    request->shapes.emplace_back(node.name(), std::move(outputs));
  }
}

OptimizeRequest RequestFor(const GrapplerItem& item, OptimizeHook* hook,
                           const std::map<std::string, Parameter>& parameters) {
  OptimizeRequest request;
  item.graph.SerializeToString(&request.graph_def);
  request.id = item.id;
  request.fetch.assign(item.fetch.begin(), item.fetch.end());
  for (const auto& feed : item.feed) request.feed.push_back(feed.first);
  const auto preserve = item.NodesToPreserve();
  request.preserve.assign(preserve.begin(), preserve.end());
  std::sort(request.preserve.begin(), request.preserve.end());
  AddShapes(item, hook, &request);
  request.parameters = parameters;
  return request;
}

class NpuOptimizer : public tensorflow::grappler::CustomGraphOptimizer {
 public:
  std::string name() const override { return kName; }

  // Not an override in the oldest TensorFlow.
  bool UsesFunctionLibrary() const { return true; }

  Status Init(const tensorflow::RewriterConfig_CustomGraphOptimizer* config) override {
    parameters_.clear();
    if (config == nullptr) return Status();
    for (const auto& entry : config->parameter_map()) {
      parameters_[std::string(entry.first)] = ConvertParameter(entry.second);
    }
    return Status();
  }

  Status Optimize(tensorflow::grappler::Cluster*, const GrapplerItem& item,
                  GraphDef* optimized) override {
    *optimized = item.graph;
    const CallCounter counter;
    OptimizeHook* hook = g_hook.load();
    if (hook == nullptr || g_shut_down.load() || InterruptPending()) return Status();
    std::string result;
    Outcome outcome = hook->Optimize(RequestFor(item, hook, parameters_), &result);
    if (outcome == Outcome::kReplaced && !Replace(result, optimized)) {
      result = "the new graph of '" + item.id + "' is not a readable GraphDef";
      outcome = Outcome::kFailed;
    }
    if (outcome != Outcome::kFailed) return Status();
    if (g_strict.load()) {
      // TensorFlow drops the error of a failing optimizer, so this one travels in the graph.
      AddErrorNode(result, item.fetch, optimized);
    } else {
      hook->Log("the graph runs as it is: " + result, /*is_warning=*/true);
    }
    return Status();
  }

  // Called by the oldest TensorFlow only, after measuring a rewritten graph.
  void Feedback(tensorflow::grappler::Cluster*, const GrapplerItem&, const GraphDef&, double) {}

 private:
  static bool Replace(const std::string& serialised, GraphDef* graph) {
    GraphDef parsed;
    if (!parsed.ParseFromString(serialised)) return false;
    graph->Swap(&parsed);
    return true;
  }

  std::map<std::string, Parameter> parameters_;
};

}  // namespace

void SetOptimizeHook(OptimizeHook* hook) { g_hook.store(hook); }

void ShutDownOptimizer(double seconds) {
  g_shut_down.store(true);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (g_calls_inside.load() > 0 && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void SetStrict(bool strict) { g_strict.store(strict); }

bool RegisterNpuOptimizer() {
  using tensorflow::grappler::CustomGraphOptimizerRegistry;
  static const bool ours = [] {
    const auto names = CustomGraphOptimizerRegistry::GetRegisteredOptimizers();
    if (std::find(names.begin(), names.end(), kName) != names.end()) return false;
    CustomGraphOptimizerRegistry::RegisterOptimizerOrDie([] { return new NpuOptimizer; }, kName);
    return true;
  }();
  return ours;
}

}  // namespace autofuse
