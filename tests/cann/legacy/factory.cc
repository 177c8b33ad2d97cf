// Makes graphs and runs the registered pass on them, for ctypes and for the program below.
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "acl/acl.h"
#include "register/register_custom_pass.h"

namespace {

std::string g_text;

class Plain : public ge::Operator {
 public:
  Plain(const char* name, const char* type, int inputs, int outputs) : ge::Operator(name, type) {
    DynamicInputRegister("x", inputs);
    DynamicOutputRegister("y", outputs);
  }
};

ge::GNode Add(ge::Graph* graph, const char* name, const char* type, int inputs, int outputs) {
  ge::GNode node = graph->AddNodeByOp(Plain(name, type, inputs, outputs));
  const ge::TensorDesc desc(ge::Shape({8, 32}), ge::FORMAT_ND, ge::DT_FLOAT);
  for (int i = 0; i < inputs; ++i) node.UpdateInputDesc(i, desc);
  for (int i = 0; i < outputs; ++i) node.UpdateOutputDesc(i, desc);
  return node;
}

}  // namespace

extern "C" {

void aclAppLog(aclLogLevel, const char*, const char*, uint32_t, const char* fmt, ...) {
  char text[4096];
  va_list arguments;
  va_start(arguments, fmt);
  vsnprintf(text, sizeof(text), fmt, arguments);
  va_end(arguments);
  g_text += std::string(text) + "\n";
}

// x -> Abs -> Exp -> out, Abs also read by a MatMulV2; a NoOp before Abs and one after Exp.
// Returns the status; what the graph looks like then is in legacy_text().
uint32_t legacy_run(int excluded) {
  auto graph = std::make_shared<ge::Graph>("legacy");
  ge::GNode x = Add(graph.get(), "x", "Data", 0, 1);
  ge::GNode before = Add(graph.get(), "before", "NoOp", 0, 0);
  ge::GNode abs = Add(graph.get(), "net/Abs", "Abs", 1, 1);
  ge::GNode exp = Add(graph.get(), "net/Exp", "Exp", 1, 1);
  ge::GNode mat = Add(graph.get(), "mat", "MatMulV2", 2, 1);
  ge::GNode out = Add(graph.get(), "out", "NetOutput", 2, 0);
  ge::GNode after = Add(graph.get(), "after", "NoOp", 0, 0);
  graph->AddDataEdge(x, 0, abs, 0);
  graph->AddDataEdge(abs, 0, exp, 0);
  graph->AddDataEdge(abs, 0, mat, 0);
  graph->AddDataEdge(abs, 0, mat, 1);
  graph->AddDataEdge(exp, 0, out, 0);
  graph->AddDataEdge(mat, 0, out, 1);
  graph->AddControlEdge(before, abs);
  graph->AddControlEdge(exp, after);
  bool yes = true;
  if (excluded != 0) abs.SetAttr("_disable_autofuse_scope", yes);
  ge::CustomPassContext context;
  g_text.clear();
  auto& table = ge::PassRegistrationData::Table();
  const ge::Status status = table.begin()->second(graph, context);
  g_text += context.GetErrorMessage().GetString();
  g_text += "\n";
  for (const ge::GNode& node : graph->GetDirectNode()) {
    ge::AscendString name, type, text;
    node.GetName(name);
    node.GetType(type);
    g_text += std::string(name.GetString()) + " " + type.GetString();
    for (size_t i = 0; i < node.GetInputsSize(); ++i) {
      ge::AscendString source;
      const auto edge = node.GetInDataNodesAndPortIndexs(static_cast<int32_t>(i));
      if (edge.first != nullptr) edge.first->GetName(source);
      g_text += std::string(" <") + source.GetString() + ":" + std::to_string(edge.second);
    }
    for (const auto& control : node.GetInControlNodes()) {
      ge::AscendString source;
      control->GetName(source);
      g_text += std::string(" ^") + source.GetString();
    }
    if (node.GetAttr("spec", text) == ge::GRAPH_SUCCESS) {
      g_text += std::string(" spec=") + text.GetString();
    }
    g_text += "\n";
  }
  return status;
}

const char* legacy_text() { return g_text.c_str(); }

}  // extern "C"

#ifdef LEGACY_PROGRAM
int main() {
  const uint32_t status = legacy_run(0);
  std::puts(legacy_text());
  return status == 0 ? 0 : 1;
}
#endif
