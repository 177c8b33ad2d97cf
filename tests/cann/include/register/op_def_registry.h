// Stand-in for tests: defining an operator of an op project, and the contexts of its functions.
#ifndef STANDIN_REGISTER_OP_DEF_REGISTRY_H_
#define STANDIN_REGISTER_OP_DEF_REGISTRY_H_

#include <string>
#include <vector>

#include "graph/custom_op.h"

namespace gert {

class TilingContext {
 public:
  explicit TilingContext(size_t bytes) : data_(bytes / sizeof(int64_t)) {}
  const StorageShape* GetInputShape(size_t index) const { return &inputs[index]; }
  void* GetPlatformInfo() const { return nullptr; }
  template <typename T>
  T* GetTilingData() {
    return reinterpret_cast<T*>(data_.data());
  }
  void SetBlockDim(uint32_t count) { blocks = count; }
  void SetTilingKey(uint64_t value) { key = value; }
  void SetScheduleMode(uint32_t mode) { schedule_mode = mode; }
  size_t* GetWorkspaceSizes(size_t) { return &workspace; }

  std::vector<StorageShape> inputs;
  uint32_t blocks = 0, schedule_mode = 0;
  uint64_t key = 0;
  size_t workspace = 0;

 private:
  std::vector<int64_t> data_;
};

}  // namespace gert

namespace ops {

enum ParamKind { REQUIRED };

struct OpParam {
  OpParam& ParamType(ParamKind) { return *this; }
  OpParam& DataType(const std::vector<ge::DataType>&) { return *this; }
  OpParam& Format(const std::vector<ge::Format>&) { return *this; }
};

struct AICoreDef {
  AICoreDef& SetTiling(ge::graphStatus (*)(gert::TilingContext*)) { return *this; }
  AICoreDef& AddConfig(const char*) { return *this; }
};

class OpDef {
 public:
  explicit OpDef(const char* name) : name_(name) {}
  OpParam& Input(const char*) { return param_; }
  OpParam& Output(const char*) { return param_; }
  OpDef& SetInferShape(ge::graphStatus (*)(gert::InferShapeContext*)) { return *this; }
  OpDef& SetInferDataType(ge::graphStatus (*)(gert::InferDataTypeContext*)) { return *this; }
  AICoreDef& AICore() { return core_; }

 private:
  std::string name_;
  OpParam param_;
  AICoreDef core_;
};

}  // namespace ops

#define OP_ADD(type) static const type g_op_##type(#type)

#endif  // STANDIN_REGISTER_OP_DEF_REGISTRY_H_
