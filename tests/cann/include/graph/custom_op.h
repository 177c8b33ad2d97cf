// Stand-in for tests: the interfaces of a custom operator and the contexts its callbacks get. A
// context is a view of one fake node.
#ifndef STANDIN_GRAPH_CUSTOM_OP_H_
#define STANDIN_GRAPH_CUSTOM_OP_H_

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "graph/error_codes.h"
#include "graph/types.h"

namespace gert {

using rtStream = void*;
using Placement = ge::Placement;

class Shape {
 public:
  size_t GetDimNum() const { return dims_.size(); }
  int64_t GetDim(size_t index) const { return dims_[index]; }
  void SetDimNum(size_t count) { dims_.resize(count); }
  void SetDim(size_t index, int64_t size) { dims_[index] = size; }
  Shape& AppendDim(int64_t size) {
    dims_.push_back(size);
    return *this;
  }
  int64_t GetShapeSize() const {
    int64_t size = 1;
    for (const int64_t dim : dims_) size *= dim;
    return size;
  }

 private:
  std::vector<int64_t> dims_;
};

class StorageShape {
 public:
  const Shape& GetOriginShape() const { return origin_; }
  const Shape& GetStorageShape() const { return storage_; }
  Shape& MutableOriginShape() { return origin_; }
  Shape& MutableStorageShape() { return storage_; }

 private:
  Shape origin_, storage_;
};

class ExpandDimsType {};

class StorageFormat {
 public:
  StorageFormat(ge::Format, ge::Format, const ExpandDimsType&) {}
};

class Tensor {
 public:
  const Shape& GetStorageShape() const { return shape.GetStorageShape(); }
  const StorageShape& GetShape() const { return shape; }
  ge::DataType GetDataType() const { return dtype; }
  const void* GetAddr() const { return address; }

  StorageShape shape;
  ge::DataType dtype = ge::DT_FLOAT;
  void* address = nullptr;
};

struct KernelArgs {
  void* args_data = nullptr;
  size_t args_size = 0;
};

template <typename T>
class TypedContinuousVector {
 public:
  size_t GetSize() const { return values.size(); }
  const T* GetData() const { return values.data(); }
  std::vector<T> values;
};

class RuntimeAttrs {
 public:
  size_t GetAttrNum() const { return texts.size(); }
  const char* GetStr(size_t index) const { return texts[index].c_str(); }
  const TypedContinuousVector<int64_t>* GetListInt(size_t index) const {
    const auto found = lists.find(index);
    return found == lists.end() ? nullptr : &found->second;
  }

  const int64_t* GetInt(size_t index) const {
    const auto* list = GetListInt(index);
    return list == nullptr ? nullptr : list->GetData();
  }

  std::vector<std::string> texts;  // one per attribute; empty for lists
  std::map<size_t, TypedContinuousVector<int64_t>> lists;
};

struct FakeNode {
  std::string name = "node";
  RuntimeAttrs attrs;
  std::vector<Tensor> inputs, outputs;
  bool static_graph = false;
  std::vector<KernelArgs> host_args, device_args;
};

class ExtendedKernelContext {
 public:
  explicit ExtendedKernelContext(FakeNode* node) : node_(node) {}
  const RuntimeAttrs* GetAttrs() const { return &node_->attrs; }
  size_t GetComputeNodeInputNum() const { return node_->inputs.size(); }
  size_t GetComputeNodeOutputNum() const { return node_->outputs.size(); }
  const char* GetNodeName() const { return node_->name.c_str(); }

 protected:
  FakeNode* node_;
};

class InferShapeContext : public ExtendedKernelContext {
 public:
  using ExtendedKernelContext::ExtendedKernelContext;
  const Shape* GetInputShape(size_t index) const {
    return index < node_->inputs.size() ? &node_->inputs[index].GetStorageShape() : nullptr;
  }
  Shape* GetOutputShape(size_t index) {
    return index < node_->outputs.size() ? &node_->outputs[index].shape.MutableStorageShape()
                                         : nullptr;
  }
};

class InferDataTypeContext : public ExtendedKernelContext {
 public:
  using ExtendedKernelContext::ExtendedKernelContext;
  ge::graphStatus SetOutputDataType(size_t index, ge::DataType dtype) {
    if (index >= node_->outputs.size()) return ge::GRAPH_FAILED;
    node_->outputs[index].dtype = dtype;
    return ge::GRAPH_SUCCESS;
  }
};

class OpCompileContext : public ExtendedKernelContext {
 public:
  using ExtendedKernelContext::ExtendedKernelContext;
};

class EagerOpExecutionContext : public ExtendedKernelContext {
 public:
  using ExtendedKernelContext::ExtendedKernelContext;
  rtStream GetStream() const { return node_; }
  const Tensor* GetInputTensor(size_t index) const {
    return index < node_->inputs.size() ? &node_->inputs[index] : nullptr;
  }
  const Tensor* GetOutputTensor(size_t index) const {
    return index < node_->outputs.size() ? &node_->outputs[index] : nullptr;
  }
  Tensor* MallocOutputTensor(size_t index, const StorageShape& shape, const StorageFormat& format,
                             ge::DataType dtype);
  void* MallocWorkSpace(size_t size);
  const KernelArgs* MallocReadOnlyDevArgs(void* host_args, size_t size) const;
};

class UpdateArgsContext : public EagerOpExecutionContext {
 public:
  using EagerOpExecutionContext::EagerOpExecutionContext;
  const KernelArgs* GetKernelArgs(Placement placement, size_t index) const {
    const auto& args = placement == ge::kPlacementHost ? node_->host_args : node_->device_args;
    return index < args.size() ? &args[index] : nullptr;
  }
};

}  // namespace gert

namespace ge {

using gert::Placement;

class BaseCustomOp {
 public:
  virtual ~BaseCustomOp() = default;
};

class EagerExecuteOp : virtual public BaseCustomOp {
 public:
  virtual graphStatus Execute(gert::EagerOpExecutionContext* ctx) = 0;
};

class ShapeInferOp : virtual public BaseCustomOp {
 public:
  virtual graphStatus InferShape(gert::InferShapeContext* ctx) = 0;
  virtual graphStatus InferDataType(gert::InferDataTypeContext* ctx) = 0;
};

class CompilableOp : virtual public BaseCustomOp {
 public:
  virtual graphStatus Compile(gert::OpCompileContext* ctx) = 0;
};

class PortableOp : virtual public BaseCustomOp {
 public:
  virtual graphStatus Serialize(std::vector<uint8_t>& buffer) = 0;
  virtual graphStatus Deserialize(const std::vector<uint8_t>& buffer) = 0;
};

class ArgsUpdater : virtual public BaseCustomOp {
 public:
  virtual graphStatus UpdateHostArgs(gert::UpdateArgsContext* ctx) = 0;
};

using CustomOpCreateFunc = BaseCustomOp* (*)();

class CustomOpCreatorRegister {
 public:
  CustomOpCreatorRegister(const char* type, CustomOpCreateFunc create) { Table()[type] = create; }
  static std::map<std::string, CustomOpCreateFunc>& Table() {
    static std::map<std::string, CustomOpCreateFunc> table;
    return table;
  }
};

}  // namespace ge

#define REG_AUTO_MAPPING_OP(type)                                  \
  static ge::BaseCustomOp* CreateOp##type() { return new type(); } \
  static const ge::CustomOpCreatorRegister g_register_##type(#type, CreateOp##type)

#endif  // STANDIN_GRAPH_CUSTOM_OP_H_
