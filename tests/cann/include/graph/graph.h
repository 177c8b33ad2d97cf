// Stand-in for tests: ge::Graph and ge::GNode over one small table of nodes. A GNode holds its node
// weakly: once the graph dropped it, every call fails.
#ifndef STANDIN_GRAPH_GRAPH_H_
#define STANDIN_GRAPH_GRAPH_H_

#include <algorithm>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "graph/ascend_string.h"
#include "graph/error_codes.h"
#include "graph/types.h"

namespace ge {

class Shape {
 public:
  Shape() = default;
  explicit Shape(const std::vector<int64_t>& dims) : dims_(dims) {}
  std::vector<int64_t> GetDims() const { return dims_; }

 private:
  std::vector<int64_t> dims_;
};

class TensorDesc {
 public:
  TensorDesc() = default;
  explicit TensorDesc(Shape shape, Format format = FORMAT_ND, DataType dtype = DT_FLOAT)
      : shape_(shape), origin_(shape), format_(format), origin_format_(format), dtype_(dtype) {}
  Shape GetShape() const { return shape_; }
  Shape GetOriginShape() const { return origin_; }
  Format GetFormat() const { return format_; }
  Format GetOriginFormat() const { return origin_format_; }
  DataType GetDataType() const { return dtype_; }
  void SetOriginShape(const Shape& shape) { origin_ = shape; }
  void SetOriginFormat(Format format) { origin_format_ = format; }

 private:
  Shape shape_, origin_;
  Format format_ = FORMAT_ND, origin_format_ = FORMAT_ND;
  DataType dtype_ = DT_FLOAT;
};

class Tensor {
 public:
  TensorDesc GetTensorDesc() const { return desc; }
  const uint8_t* GetData() const { return data.data(); }
  size_t GetSize() const { return data.size(); }

  TensorDesc desc;
  std::vector<uint8_t> data;
};

struct NodeBody {
  std::string name, type;
  std::vector<std::pair<std::weak_ptr<NodeBody>, int32_t>> inputs;
  std::vector<std::weak_ptr<NodeBody>> in_controls;
  std::vector<TensorDesc> input_descs, output_descs;
  std::map<AscendString, AscendString> texts;
  std::map<AscendString, int64_t> integers;
  std::map<AscendString, float> numbers;
  std::map<AscendString, bool> truths;
  std::map<AscendString, std::vector<AscendString>> text_lists;
  std::map<AscendString, std::vector<int64_t>> integer_lists;
  std::map<AscendString, Tensor> tensors;
  std::vector<std::shared_ptr<NodeBody>>* nodes = nullptr;  // of the graph
};

class GNode;
using GNodePtr = std::shared_ptr<GNode>;

class GNode {
 public:
  GNode() = default;
  explicit GNode(const std::shared_ptr<NodeBody>& body) : body_(body) {}

  graphStatus GetName(AscendString& name) const {
    const auto body = body_.lock();
    if (body != nullptr) name = AscendString(body->name.c_str());
    return body == nullptr ? GRAPH_FAILED : GRAPH_SUCCESS;
  }
  graphStatus GetType(AscendString& type) const {
    const auto body = body_.lock();
    if (body != nullptr) type = AscendString(body->type.c_str());
    return body == nullptr ? GRAPH_FAILED : GRAPH_SUCCESS;
  }
  size_t GetInputsSize() const { return Live() ? body_.lock()->inputs.size() : 0; }
  size_t GetOutputsSize() const { return Live() ? body_.lock()->output_descs.size() : 0; }

  std::pair<GNodePtr, int32_t> GetInDataNodesAndPortIndexs(int32_t index) const {
    if (index < 0 || index >= static_cast<int32_t>(GetInputsSize())) return {nullptr, 0};
    const auto& edge = body_.lock()->inputs[index];
    const auto source = edge.first.lock();
    if (source == nullptr) return {nullptr, 0};
    return {std::make_shared<GNode>(source), edge.second};
  }
  std::vector<std::pair<GNodePtr, int32_t>> GetOutDataNodesAndPortIndexs(int32_t index) const {
    std::vector<std::pair<GNodePtr, int32_t>> found;
    const auto body = body_.lock();
    for (const auto& other : *body->nodes) {
      for (size_t port = 0; port < other->inputs.size(); ++port) {
        if (other->inputs[port].first.lock() == body && other->inputs[port].second == index) {
          found.emplace_back(std::make_shared<GNode>(other), static_cast<int32_t>(port));
        }
      }
    }
    return found;
  }
  std::vector<GNodePtr> GetInControlNodes() const {
    std::vector<GNodePtr> found;
    for (const auto& source : body_.lock()->in_controls) {
      if (source.lock() != nullptr) found.push_back(std::make_shared<GNode>(source.lock()));
    }
    return found;
  }
  std::vector<GNodePtr> GetOutControlNodes() const {
    std::vector<GNodePtr> found;
    const auto body = body_.lock();
    for (const auto& other : *body->nodes) {
      for (const auto& source : other->in_controls) {
        if (source.lock() == body) found.push_back(std::make_shared<GNode>(other));
      }
    }
    return found;
  }

  graphStatus GetInputDesc(int32_t index, TensorDesc& desc) const {
    return At(body_.lock()->input_descs, index, &desc);
  }
  graphStatus GetOutputDesc(int32_t index, TensorDesc& desc) const {
    return At(body_.lock()->output_descs, index, &desc);
  }
  graphStatus UpdateInputDesc(int32_t index, const TensorDesc& desc) {
    body_.lock()->input_descs.at(index) = desc;
    return GRAPH_SUCCESS;
  }
  graphStatus UpdateOutputDesc(int32_t index, const TensorDesc& desc) {
    body_.lock()->output_descs.at(index) = desc;
    return GRAPH_SUCCESS;
  }

  bool HasAttr(const AscendString& name) {
    const auto body = body_.lock();
    return body->texts.count(name) + body->integers.count(name) + body->numbers.count(name) +
               body->truths.count(name) + body->text_lists.count(name) +
               body->integer_lists.count(name) + body->tensors.count(name) >
           0;
  }

#define STANDIN_ATTR(kind, table)                                    \
  graphStatus GetAttr(const AscendString& name, kind& value) const { \
    const auto& values = body_.lock()->table;                        \
    const auto found = values.find(name);                            \
    if (found == values.end()) return GRAPH_FAILED;                  \
    value = found->second;                                           \
    return GRAPH_SUCCESS;                                            \
  }                                                                  \
  graphStatus SetAttr(const AscendString& name, kind& value) const { \
    body_.lock()->table[name] = value;                               \
    return GRAPH_SUCCESS;                                            \
  }
  STANDIN_ATTR(AscendString, texts)
  STANDIN_ATTR(int64_t, integers)
  STANDIN_ATTR(float, numbers)
  STANDIN_ATTR(bool, truths)
  STANDIN_ATTR(std::vector<AscendString>, text_lists)
  STANDIN_ATTR(std::vector<int64_t>, integer_lists)
  STANDIN_ATTR(Tensor, tensors)
#undef STANDIN_ATTR
  graphStatus GetAttr(const AscendString&, DataType&) const { return GRAPH_FAILED; }
  graphStatus GetAttr(const AscendString&, std::vector<float>&) const { return GRAPH_FAILED; }
  graphStatus GetAttr(const AscendString&, std::vector<bool>&) const { return GRAPH_FAILED; }

  std::shared_ptr<NodeBody> body() const { return body_.lock(); }

 private:
  bool Live() const { return body_.lock() != nullptr; }
  static graphStatus At(const std::vector<TensorDesc>& descs, int32_t index, TensorDesc* desc) {
    if (index < 0 || index >= static_cast<int32_t>(descs.size())) return GRAPH_FAILED;
    *desc = descs[index];
    return GRAPH_SUCCESS;
  }

  std::weak_ptr<NodeBody> body_;
};

class Operator {
 public:
  Operator(const char* name, const char* type) : body_(std::make_shared<NodeBody>()) {
    body_->name = name;
    body_->type = type;
  }
  std::shared_ptr<NodeBody> body() const { return body_; }

 protected:
  void DynamicInputRegister(const char*, uint32_t count, bool = true) {
    body_->inputs.resize(count);
    body_->input_descs.resize(count);
  }
  void DynamicOutputRegister(const char*, uint32_t count, bool = true) {
    body_->output_descs.resize(count);
  }

 private:
  std::shared_ptr<NodeBody> body_;
};

class Graph;
using GraphPtr = std::shared_ptr<Graph>;

class Graph {
 public:
  explicit Graph(const char* name) : name_(name) {}

  graphStatus GetName(AscendString& name) const {
    name = AscendString(name_.c_str());
    return GRAPH_SUCCESS;
  }
  std::vector<GNode> GetDirectNode() const {
    std::vector<GNode> found;
    for (const auto& body : nodes_) found.emplace_back(body);
    return found;
  }
  std::vector<GraphPtr> GetAllSubgraphs() const { return {}; }
  graphStatus SaveToFile(const char*) const { return GRAPH_FAILED; }
  GNode AddNodeByOp(const Operator& op) {
    nodes_.push_back(op.body());
    op.body()->nodes = &nodes_;
    return GNode(op.body());
  }
  graphStatus RemoveNode(GNode& node) {
    const auto found = std::find(nodes_.begin(), nodes_.end(), node.body());
    if (found == nodes_.end()) return GRAPH_FAILED;
    nodes_.erase(found);
    return GRAPH_SUCCESS;
  }
  graphStatus AddDataEdge(GNode& from, int32_t out, GNode& to, int32_t in) {
    auto& edge = to.body()->inputs.at(in);
    if (edge.first.lock() != nullptr) return GRAPH_FAILED;
    edge = {from.body(), out};
    return GRAPH_SUCCESS;
  }
  graphStatus RemoveEdge(GNode& from, int32_t out, GNode& to, int32_t in) {
    auto& edge = to.body()->inputs.at(in);
    if (edge.first.lock() != from.body() || edge.second != out) return GRAPH_FAILED;
    edge.first.reset();
    return GRAPH_SUCCESS;
  }
  graphStatus AddControlEdge(GNode& from, GNode& to) {
    to.body()->in_controls.push_back(from.body());
    return GRAPH_SUCCESS;
  }

 private:
  std::string name_;
  std::vector<std::shared_ptr<NodeBody>> nodes_;
};

}  // namespace ge

#endif  // STANDIN_GRAPH_GRAPH_H_
