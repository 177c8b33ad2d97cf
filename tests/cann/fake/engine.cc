// A fake engine: nodes, contexts and the callbacks of the registered operator, for ctypes.
#include <cstdlib>
#include <cstring>
#include <map>

#include "../../../csrc/ge/op_proto.h"
#include "fake.h"
#include "graph/custom_op.h"

namespace fake {
namespace {

std::map<void*, Buffer>& Table() {
  static std::map<void*, Buffer> table;
  return table;
}

}  // namespace

void* Allocate(size_t bytes, int32_t kind) {
  void* address = std::aligned_alloc(512, (bytes + 512) / 512 * 512);
  std::memset(address, 0xCD, bytes);
  Table()[address] = Buffer{static_cast<int64_t>(bytes), kind};
  return address;
}

const Buffer* Find(void* address) {
  const auto found = Table().find(address);
  return found == Table().end() ? nullptr : &found->second;
}

std::string& Log() {
  static std::string log;
  return log;
}

int& Blocks() {
  static int count = 0;
  return count;
}

int& Compiles() {
  static int count = 0;
  return count;
}

}  // namespace fake

namespace gert {

Tensor* EagerOpExecutionContext::MallocOutputTensor(size_t index, const StorageShape& shape,
                                                    const StorageFormat&, ge::DataType dtype) {
  if (index >= node_->outputs.size()) return nullptr;
  Tensor& tensor = node_->outputs[index];
  tensor.shape = shape;
  tensor.dtype = dtype;
  tensor.address = fake::Allocate(shape.GetStorageShape().GetShapeSize() * 4, 1);
  return &tensor;
}

void* EagerOpExecutionContext::MallocWorkSpace(size_t size) { return fake::Allocate(size, 2); }

const KernelArgs* EagerOpExecutionContext::MallocReadOnlyDevArgs(void* host, size_t size) const {
  if (!node_->static_graph) return nullptr;
  KernelArgs mine, device;
  mine.args_data = std::malloc(size);
  device.args_data = fake::Allocate(size, 3);
  mine.args_size = device.args_size = size;
  std::memcpy(mine.args_data, host, size);
  std::memcpy(device.args_data, host, size);
  node_->host_args.push_back(mine);
  node_->device_args.reserve(8);
  node_->device_args.push_back(device);
  return &node_->device_args.back();
}

}  // namespace gert

namespace {

std::vector<uint8_t> g_saved;

template <typename Interface>
Interface* As(void* op) {
  return dynamic_cast<Interface*>(static_cast<ge::BaseCustomOp*>(op));
}

}  // namespace

extern "C" {

void* fake_op() {
  const auto found = ge::CustomOpCreatorRegister::Table().find("AutofusedKernel");
  return found == ge::CustomOpCreatorRegister::Table().end() ? nullptr : found->second();
}

void fake_op_delete(void* op) { delete static_cast<ge::BaseCustomOp*>(op); }

const char* fake_prototype_attribute(size_t index) {
  const auto& names = ge::Prototype::Last().attributes;
  return index < names.size() ? names[index].c_str() : nullptr;
}

void* fake_node(const char* key, const char* spec, const char* folder, int outputs,
                int static_graph) {
  auto* node = new gert::FakeNode;
  node->attrs.texts = {key, spec, folder, "", "name", ""};
  node->attrs.lists[5].values = {0};
  node->attrs.lists[3].values.assign(outputs, ge::DT_FLOAT);
  node->outputs.resize(outputs);
  node->static_graph = static_graph != 0;
  return node;
}

void fake_node_input(void* node, const int64_t* dims, int rank, const float* data) {
  gert::Tensor tensor;
  for (int i = 0; i < rank; ++i) tensor.shape.MutableStorageShape().AppendDim(dims[i]);
  if (data != nullptr) {
    const size_t bytes = tensor.GetStorageShape().GetShapeSize() * sizeof(float);
    tensor.address = fake::Allocate(bytes, 0);
    std::memcpy(tensor.address, data, bytes);
  }
  static_cast<gert::FakeNode*>(node)->inputs.push_back(tensor);
}

void fake_node_cores(void* node, int64_t cores) {
  static_cast<gert::FakeNode*>(node)->attrs.lists[5].values = {cores};
}

int fake_blocks() { return fake::Blocks(); }

uint32_t fake_call(void* op, void* node, const char* what) {
  auto* fake_node = static_cast<gert::FakeNode*>(node);
  const std::string call(what);
  gert::InferShapeContext shape(fake_node);
  gert::InferDataTypeContext dtype(fake_node);
  gert::OpCompileContext compile(fake_node);
  gert::EagerOpExecutionContext execute(fake_node);
  gert::UpdateArgsContext update(fake_node);
  if (call == "InferShape") return As<ge::ShapeInferOp>(op)->InferShape(&shape);
  if (call == "InferDataType") return As<ge::ShapeInferOp>(op)->InferDataType(&dtype);
  if (call == "Compile") return As<ge::CompilableOp>(op)->Compile(&compile);
  if (call == "Execute") return As<ge::EagerExecuteOp>(op)->Execute(&execute);
  if (call == "UpdateHostArgs") return As<ge::ArgsUpdater>(op)->UpdateHostArgs(&update);
  if (call == "Serialize") return As<ge::PortableOp>(op)->Serialize(g_saved);
  if (call == "Deserialize") return As<ge::PortableOp>(op)->Deserialize(g_saved);
  return 12345;
}

void fake_saved_cut(size_t size) { g_saved.resize(size); }

int fake_output_dims(void* node, int index, int64_t* dims) {
  const auto& shape = static_cast<gert::FakeNode*>(node)->outputs[index].GetStorageShape();
  for (size_t i = 0; i < shape.GetDimNum(); ++i) dims[i] = shape.GetDim(i);
  return static_cast<int>(shape.GetDimNum());
}

const float* fake_output_data(void* node, int index) {
  return static_cast<float*>(static_cast<gert::FakeNode*>(node)->outputs[index].address);
}

uint64_t fake_host_argument(void* node, int index) {
  return static_cast<uint64_t*>(static_cast<gert::FakeNode*>(node)->host_args[0].args_data)[index];
}

// Moves an input to other memory, as between two runs of a static graph.
uint64_t fake_move_input(void* node, int index) {
  auto& tensor = static_cast<gert::FakeNode*>(node)->inputs[index];
  const size_t bytes = tensor.GetStorageShape().GetShapeSize() * sizeof(float);
  void* moved = fake::Allocate(bytes, 0);
  std::memcpy(moved, tensor.address, bytes);
  tensor.address = moved;
  return reinterpret_cast<uint64_t>(moved);
}

const char* fake_log() { return fake::Log().c_str(); }
void fake_log_clear() { fake::Log().clear(); }
int fake_compiles() { return fake::Compiles(); }

}  // extern "C"
