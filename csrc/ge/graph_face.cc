#include "graph_face.h"

#include <pybind11/stl.h>

#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

namespace py = pybind11;

namespace autofuse {
namespace {

using ge::AscendString;
using ge::GNode;
using Edge = std::pair<GNode, int32_t>;
// dims, format, data type, origin dims, origin format
using Desc = std::tuple<std::vector<int64_t>, int, int, std::vector<int64_t>, int>;

void Check(ge::graphStatus status, const std::string& what) {
  if (status != ge::GRAPH_SUCCESS) throw std::runtime_error("GE failed to " + what);
}

std::string Text(const AscendString& text) {
  return text.GetString() == nullptr ? "" : text.GetString();
}

AscendString Ascend(const std::string& text) { return AscendString(text.c_str()); }

std::string NameOf(const GNode& node) {
  AscendString name;
  Check(node.GetName(name), "name a node: it has left its graph");
  return Text(name);
}

std::string TypeOf(const GNode& node) {
  AscendString type;
  Check(node.GetType(type), "tell the type of a node: it has left its graph");
  return Text(type);
}

std::vector<GNode> Values(const std::vector<ge::GNodePtr>& nodes) {
  std::vector<GNode> values;
  for (const ge::GNodePtr& node : nodes) {
    if (node != nullptr) values.push_back(*node);
  }
  return values;
}

py::object InputOf(const GNode& node, int32_t index) {
  const auto edge = node.GetInDataNodesAndPortIndexs(index);
  if (edge.first == nullptr) return py::none();
  return py::cast(Edge(*edge.first, edge.second));
}

std::vector<Edge> ConsumersOf(const GNode& node, int32_t index) {
  std::vector<Edge> edges;
  for (const auto& edge : node.GetOutDataNodesAndPortIndexs(index)) {
    if (edge.first != nullptr) edges.emplace_back(*edge.first, edge.second);
  }
  return edges;
}

Desc ToDesc(const ge::TensorDesc& desc) {
  return Desc(desc.GetShape().GetDims(), static_cast<int>(desc.GetFormat()),
              static_cast<int>(desc.GetDataType()), desc.GetOriginShape().GetDims(),
              static_cast<int>(desc.GetOriginFormat()));
}

ge::TensorDesc FromDesc(const Desc& desc) {
  ge::TensorDesc made(ge::Shape(std::get<0>(desc)), static_cast<ge::Format>(std::get<1>(desc)),
                      static_cast<ge::DataType>(std::get<2>(desc)));
  made.SetOriginShape(ge::Shape(std::get<3>(desc)));
  made.SetOriginFormat(static_cast<ge::Format>(std::get<4>(desc)));
  return made;
}

Desc DescOf(const GNode& node, int32_t index, bool input) {
  ge::TensorDesc desc;
  Check(input ? node.GetInputDesc(index, desc) : node.GetOutputDesc(index, desc),
        "describe a tensor of " + NameOf(node));
  return ToDesc(desc);
}

template <typename T>
bool TryAttr(const GNode& node, const AscendString& name, T* value) {
  return node.GetAttr(name, *value) == ge::GRAPH_SUCCESS;
}

py::list Strings(const std::vector<AscendString>& texts) {
  py::list list;
  for (const AscendString& text : texts) list.append(Text(text));
  return list;
}

// GE tells the kind of an attribute only by refusing the others. None when it has no kind here.
py::object ScalarAttr(const GNode& node, const AscendString& name) {
  AscendString text;
  int64_t integer = 0;
  float number = 0;
  bool truth = false;
  ge::DataType dtype = ge::DT_FLOAT;
  if (TryAttr(node, name, &text)) return py::str(Text(text));
  if (TryAttr(node, name, &integer)) return py::int_(integer);
  if (TryAttr(node, name, &number)) return py::float_(number);
  if (TryAttr(node, name, &truth)) return py::bool_(truth);
  if (TryAttr(node, name, &dtype)) return py::make_tuple("dtype", static_cast<int>(dtype));
  return py::none();
}

py::object AttrOf(const GNode& node, const std::string& key) {
  (void)NameOf(node);
  const AscendString name = Ascend(key);
  py::object scalar = ScalarAttr(node, name);
  if (!scalar.is_none()) return scalar;
  std::vector<AscendString> texts;
  std::vector<int64_t> integers;
  std::vector<float> numbers;
  std::vector<bool> truths;
  ge::Tensor tensor;
  if (TryAttr(node, name, &texts)) return Strings(texts);
  if (TryAttr(node, name, &integers)) return py::cast(integers);
  if (TryAttr(node, name, &numbers)) return py::cast(numbers);
  if (TryAttr(node, name, &truths)) return py::cast(truths);
  if (TryAttr(node, name, &tensor)) {
    const auto* data = reinterpret_cast<const char*>(tensor.GetData());
    return py::make_tuple("tensor", ToDesc(tensor.GetTensorDesc()),
                          py::bytes(data, tensor.GetSize()));
  }
  throw std::runtime_error("no attribute " + key + " that Python can hold");
}

template <typename T>
void Set(const GNode& node, const AscendString& name, T value) {
  Check(node.SetAttr(name, value), "set attribute " + Text(name));
}

void SetAttr(const GNode& node, const std::string& key, const py::object& value) {
  const AscendString name = Ascend(key);
  if (py::isinstance<py::str>(value)) return Set(node, name, Ascend(value.cast<std::string>()));
  if (py::isinstance<py::bool_>(value)) return Set(node, name, value.cast<bool>());
  if (py::isinstance<py::int_>(value)) return Set(node, name, value.cast<int64_t>());
  if (py::isinstance<py::float_>(value)) return Set(node, name, value.cast<float>());
  const py::list list = value.cast<py::list>();
  if (list.size() > 0 && py::isinstance<py::str>(list[0])) {
    std::vector<AscendString> texts;
    for (const auto& item : list) texts.push_back(Ascend(item.cast<std::string>()));
    return Set(node, name, texts);
  }
  Set(node, name, value.cast<std::vector<int64_t>>());
}

// An operator whose ports are made here, so that no prototype need be registered.
class FusedOperator : public ge::Operator {
 public:
  FusedOperator(const std::string& name, uint32_t inputs, uint32_t outputs)
      : ge::Operator(name.c_str(), "AutofusedKernel") {
    DynamicInputRegister("x", inputs);
    DynamicOutputRegister("y", outputs);
  }
};

GNode AddFused(const GraphHandle& self, const std::string& name, const std::vector<Desc>& inputs,
               const std::vector<Desc>& outputs, const py::dict& attrs) {
  FusedOperator made(name, static_cast<uint32_t>(inputs.size()),
                     static_cast<uint32_t>(outputs.size()));
  GNode node = self.graph->AddNodeByOp(made);
  for (size_t i = 0; i < inputs.size(); ++i) {
    Check(node.UpdateInputDesc(static_cast<int32_t>(i), FromDesc(inputs[i])), "describe an input");
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    Check(node.UpdateOutputDesc(static_cast<int32_t>(i), FromDesc(outputs[i])),
          "describe an output");
  }
  for (const auto& item : attrs) {
    SetAttr(node, item.first.cast<std::string>(), py::reinterpret_borrow<py::object>(item.second));
  }
  return node;
}

void DefineNode(py::module_* module) {
  py::class_<GNode>(*module, "Node")
      .def("name", &NameOf)
      .def("type", &TypeOf)
      .def("inputs_size", &GNode::GetInputsSize)
      .def("outputs_size", &GNode::GetOutputsSize)
      .def("input", &InputOf)
      .def("consumers", &ConsumersOf)
      .def("in_controls", [](const GNode& self) { return Values(self.GetInControlNodes()); })
      .def("out_controls", [](const GNode& self) { return Values(self.GetOutControlNodes()); })
      .def("has_attr",
           [](GNode& self, const std::string& key) {
             (void)NameOf(self);
             return self.HasAttr(Ascend(key));
           })
      .def("attr", &AttrOf)
      .def("set_attr", &SetAttr)
      .def("input_desc", [](const GNode& self, int32_t i) { return DescOf(self, i, true); })
      .def("output_desc", [](const GNode& self, int32_t i) { return DescOf(self, i, false); });
}

void DefineGraph(py::module_* module) {
  py::class_<GraphHandle>(*module, "Graph")
      .def("name",
           [](const GraphHandle& self) {
             AscendString name;
             Check(self.graph->GetName(name), "name a graph");
             return Text(name);
           })
      .def("nodes", [](const GraphHandle& self) { return self.graph->GetDirectNode(); })
      .def("subgraphs",
           [](const GraphHandle& self) {
             std::vector<GraphHandle> found;
             for (const auto& graph : self.graph->GetAllSubgraphs()) found.push_back({graph});
             return found;
           })
      .def("save",
           [](const GraphHandle& self, const std::string& path) {
             Check(self.graph->SaveToFile(path.c_str()), "save a graph");
           })
      .def("remove_node", [](const GraphHandle& self,
                             GNode& node) { Check(self.graph->RemoveNode(node), "remove a node"); })
      .def("remove_edge",
           [](const GraphHandle& self, GNode& from, int32_t out, GNode& to, int32_t in) {
             Check(self.graph->RemoveEdge(from, out, to, in), "remove an edge");
           })
      .def("add_data_edge",
           [](const GraphHandle& self, GNode& from, int32_t out, GNode& to, int32_t in) {
             Check(self.graph->AddDataEdge(from, out, to, in), "add an edge");
           })
      .def("add_control_edge",
           [](const GraphHandle& self, GNode& from, GNode& to) {
             Check(self.graph->AddControlEdge(from, to), "add a control edge");
           })
      .def("add_fused", &AddFused);
}

ge::CustomPassContext& Live(const ContextHandle& self) {
  if (self.context == nullptr) throw std::runtime_error("the pass context is not valid any more");
  return *self.context;
}

void DefineContext(py::module_* module) {
  py::class_<ContextHandle, std::shared_ptr<ContextHandle>>(*module, "Context")
      .def("set_error", [](const ContextHandle& self, const std::string& text) {
        Live(self).SetErrorMessage(Ascend(text));
      });
}

}  // namespace

void DefineGraphFace(py::module_* module) {
  DefineNode(module);
  DefineGraph(module);
  DefineContext(module);
}

}  // namespace autofuse
