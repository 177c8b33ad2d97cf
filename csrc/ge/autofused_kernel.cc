// The GE operator AutofusedKernel: one type for all fused kernels, each known by its key.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "../core/infer_shape.h"
#include "../core/shape_spec.h"
#include "graph/custom_op.h"
#include "kernel_store.h"
#include "launch.h"
#include "log.h"
#include "op_proto.h"

namespace autofuse {
namespace {

// Places of the attributes in op_proto.h.
enum Attribute : size_t {
  kKernelKey,
  kSpec,
  kBundleDir,
  kOutputDtypes,
  kAutofuseName,
  kVectorCores
};

// What AscendC::GetUserWorkspace skips at the front of a kernel's workspace.
constexpr size_t kSystemWorkspace = 16U << 20;

// What the attributes of a node say.
struct NodeFacts {
  std::string key;
  std::string bundle_dir;
  ShapeSpec spec;
  int64_t granted_cores = 0;  // 0: all
};

bool ReadText(const gert::RuntimeAttrs* attrs, size_t index, std::string* text) {
  const char* value = attrs->GetAttrNum() > index ? attrs->GetStr(index) : nullptr;
  if (value != nullptr) *text = value;
  return value != nullptr;
}

template <typename Context>
bool ReadFacts(Context* context, NodeFacts* facts, std::string* error) {
  const gert::RuntimeAttrs* attrs = context->GetAttrs();
  std::string spec;
  if (attrs == nullptr || !ReadText(attrs, kKernelKey, &facts->key) ||
      !ReadText(attrs, kSpec, &spec)) {
    *error = "the node has no kernel_key or spec";
    return false;
  }
  (void)ReadText(attrs, kBundleDir, &facts->bundle_dir);
  const int64_t* cores = attrs->GetAttrNum() > kVectorCores ? attrs->GetInt(kVectorCores) : nullptr;
  facts->granted_cores = cores == nullptr ? 0 : *cores;
  if (!ShapeSpec::Parse(spec, &facts->spec, error)) return false;
  if (facts->spec.inputs().size() != context->GetComputeNodeInputNum()) {
    *error = "the spec has " + std::to_string(facts->spec.inputs().size()) + " inputs, the node " +
             std::to_string(context->GetComputeNodeInputNum());
    return false;
  }
  return true;
}

bool AppendShape(const gert::Shape& shape, size_t rank, size_t input, std::vector<int64_t>* flat,
                 std::string* error) {
  if (shape.GetDimNum() != rank) {
    *error = "input " + std::to_string(input) + ": rank " + std::to_string(shape.GetDimNum()) +
             ", expected " + std::to_string(rank);
    return false;
  }
  for (size_t i = 0; i < rank; ++i) flat->push_back(shape.GetDim(i));
  return true;
}

// Sizes of all inputs of a run, and the addresses of their data.
bool ReadInputs(const gert::EagerOpExecutionContext& context, const ShapeSpec& spec,
                std::vector<int64_t>* flat, std::vector<uint64_t>* addresses, std::string* error) {
  for (size_t i = 0; i < spec.inputs().size(); ++i) {
    const gert::Tensor* tensor = context.GetInputTensor(i);
    if (tensor == nullptr) {
      *error = "no tensor for input " + std::to_string(i);
      return false;
    }
    if (!AppendShape(tensor->GetStorageShape(), spec.inputs()[i].dims.size(), i, flat, error)) {
      return false;
    }
    addresses->push_back(reinterpret_cast<uint64_t>(tensor->GetAddr()));
  }
  return true;
}

gert::StorageShape ToStorageShape(const TensorSpec& output, const int64_t* sizes) {
  gert::StorageShape shape;
  for (const DimSpec& dim : output.dims) {
    shape.MutableOriginShape().AppendDim(ShapeSpec::DimSize(dim, sizes));
    shape.MutableStorageShape().AppendDim(ShapeSpec::DimSize(dim, sizes));
  }
  return shape;
}

// Vector cores of the device in use; 0 when the runtime does not say.
int64_t VectorCores() {
  int32_t device = 0;
  int64_t cores = 0;
  if (aclrtGetDevice(&device) != ACL_SUCCESS) return 0;
  const uint32_t number = static_cast<uint32_t>(device);
  const aclError code = aclrtGetDeviceInfo(number, ACL_DEV_ATTR_VECTOR_CORE_NUM, &cores);
  return code == ACL_SUCCESS ? cores : 0;
}

template <typename Context>
const char* Name(const Context* context) {
  return context == nullptr ? nullptr : context->GetNodeName();
}

}  // namespace

class AutofusedKernel : public ge::EagerExecuteOp,
                        public ge::ShapeInferOp,
                        public ge::CompilableOp,
                        public ge::PortableOp,
                        public ge::ArgsUpdater {
 public:
  ge::graphStatus InferShape(gert::InferShapeContext* context) override {
    NodeFacts facts;
    std::string error;
    std::vector<int64_t> flat;
    std::vector<std::vector<int64_t>> outputs;
    if (!ReadFacts(context, &facts, &error)) return Fail(Name(context), error);
    for (size_t i = 0; i < facts.spec.inputs().size(); ++i) {
      const gert::Shape* shape = context->GetInputShape(i);
      const size_t rank = facts.spec.inputs()[i].dims.size();
      if (shape == nullptr || !AppendShape(*shape, rank, i, &flat, &error)) {
        return Fail(Name(context), shape == nullptr ? "an input has no shape" : error);
      }
    }
    if (!InferOutputs(facts.spec, flat.data(), &outputs, &error)) {
      return Fail(Name(context), error);
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      gert::Shape* shape = context->GetOutputShape(i);
      if (shape == nullptr) return Fail(Name(context), "an output has no shape");
      shape->SetDimNum(outputs[i].size());
      for (size_t d = 0; d < outputs[i].size(); ++d) shape->SetDim(d, outputs[i][d]);
    }
    return ge::GRAPH_SUCCESS;
  }

  ge::graphStatus InferDataType(gert::InferDataTypeContext* context) override {
    std::string error;
    std::vector<ge::DataType> types;
    if (!ReadTypes(context, &types, &error)) return Fail(Name(context), error);
    for (size_t i = 0; i < types.size(); ++i) {
      if (context->SetOutputDataType(i, types[i]) != ge::GRAPH_SUCCESS) {
        return Fail(Name(context), "output " + std::to_string(i) + " takes no data type");
      }
    }
    return ge::GRAPH_SUCCESS;
  }

  // Builds the kernel while the graph is compiled, so that a failure shows before anything runs.
  ge::graphStatus Compile(gert::OpCompileContext* context) override {
    NodeFacts facts;
    std::string error;
    if (!ReadFacts(context, &facts, &error) ||
        kernels_.Get(facts.key, facts.bundle_dir, &error) == nullptr) {
      return Fail(Name(context), error);
    }
    return ge::GRAPH_SUCCESS;
  }

  ge::graphStatus Execute(gert::EagerOpExecutionContext* context) override {
    NodeFacts facts;
    std::string error;
    if (!ReadFacts(context, &facts, &error) || !Run(context, facts, &error)) {
      return Fail(Name(context), error);
    }
    return ge::GRAPH_SUCCESS;
  }

  ge::graphStatus Serialize(std::vector<uint8_t>& buffer) override {
    buffer = kernels_.Save();
    return ge::GRAPH_SUCCESS;
  }

  ge::graphStatus Deserialize(const std::vector<uint8_t>& buffer) override {
    std::string error;
    return kernels_.Restore(buffer, &error) ? ge::GRAPH_SUCCESS : Fail(nullptr, error);
  }

  // New addresses of inputs and outputs; workspace and tiling data stay where they are.
  ge::graphStatus UpdateHostArgs(gert::UpdateArgsContext* context) override {
    const gert::KernelArgs* arguments =
        context->GetKernelArgs(gert::Placement::kPlacementHost, kArgumentBlock);
    const size_t inputs = context->GetComputeNodeInputNum();
    const size_t outputs = context->GetComputeNodeOutputNum();
    if (arguments == nullptr || arguments->args_size < (inputs + outputs) * sizeof(uint64_t)) {
      return Fail(Name(context), "the kernel's arguments are not there to be refreshed");
    }
    auto* addresses = static_cast<uint64_t*>(arguments->args_data);
    for (size_t i = 0; i < inputs + outputs; ++i) {
      const gert::Tensor* tensor =
          i < inputs ? context->GetInputTensor(i) : context->GetOutputTensor(i - inputs);
      if (tensor == nullptr) return Fail(Name(context), "a tensor to be refreshed is missing");
      addresses[i] = reinterpret_cast<uint64_t>(tensor->GetAddr());
    }
    return ge::GRAPH_SUCCESS;
  }

 private:
  template <typename Context>
  static bool ReadTypes(Context* context, std::vector<ge::DataType>* types, std::string* error) {
    const gert::RuntimeAttrs* attrs = context->GetAttrs();
    const auto* list = attrs != nullptr && attrs->GetAttrNum() > kOutputDtypes
                           ? attrs->GetListInt(kOutputDtypes)
                           : nullptr;
    if (list == nullptr || list->GetSize() != context->GetComputeNodeOutputNum()) {
      *error = "output_dtypes does not have a data type for every output";
      return false;
    }
    for (size_t i = 0; i < list->GetSize(); ++i) {
      types->push_back(static_cast<ge::DataType>(list->GetData()[i]));
    }
    return true;
  }

  bool Run(gert::EagerOpExecutionContext* context, const NodeFacts& facts, std::string* error) {
    const auto kernel = kernels_.Get(facts.key, facts.bundle_dir, error);
    if (kernel == nullptr) return false;
    Launch launch;
    std::vector<int64_t> flat;
    std::vector<int64_t> sizes(facts.spec.axes());
    if (!ReadInputs(*context, facts.spec, &flat, &launch.addresses, error) ||
        !facts.spec.BindAxes(flat.data(), sizes.data(), error)) {
      return false;
    }
    bool empty = true;
    if (!MakeOutputs(context, facts.spec, sizes.data(), &launch.addresses, &empty, error)) {
      return false;
    }
    if (empty) return true;
    if (!Solve(*kernel, facts, flat.data(), sizes.data(), context, &launch, error)) {
      return false;
    }
    launch.together = kernel->tiling.together();
    launch.function = kernel->binary.Function(kernel->tiling.entry(), launch.together, error);
    return launch.function != nullptr && Start(launch, context, error);
  }

  static bool MakeOutputs(gert::EagerOpExecutionContext* context, const ShapeSpec& spec,
                          const int64_t* sizes, std::vector<uint64_t>* addresses, bool* empty,
                          std::string* error) {
    std::vector<ge::DataType> types;
    if (!ReadTypes(context, &types, error)) return false;
    if (types.size() != spec.outputs().size()) {
      *error = "the spec has " + std::to_string(spec.outputs().size()) + " outputs, the node " +
               std::to_string(types.size());
      return false;
    }
    const gert::StorageFormat format(ge::FORMAT_ND, ge::FORMAT_ND, gert::ExpandDimsType());
    for (size_t i = 0; i < types.size(); ++i) {
      const gert::StorageShape shape = ToStorageShape(spec.outputs()[i], sizes);
      const gert::Tensor* tensor = context->MallocOutputTensor(i, shape, format, types[i]);
      if (tensor == nullptr) {
        *error = "no memory for output " + std::to_string(i);
        return false;
      }
      *empty = *empty && shape.GetStorageShape().GetShapeSize() == 0;
      addresses->push_back(reinterpret_cast<uint64_t>(tensor->GetAddr()));
    }
    return true;
  }

  // Tiling data, number of blocks and workspace.
  static bool Solve(const DeviceKernel& kernel, const NodeFacts& facts, const int64_t* flat,
                    const int64_t* sizes, gert::EagerOpExecutionContext* context, Launch* launch,
                    std::string* error) {
    const ShapeSpec& spec = facts.spec;
    std::vector<int64_t> merged(spec.merged_axes()), strides(spec.stride_count());
    spec.MergeSizes(sizes, merged.data());
    spec.Strides(flat, sizes, strides.data());
    int64_t cores = VectorCores();
    if (facts.granted_cores > 0) cores = std::min(cores, facts.granted_cores);
    if (cores <= 0) {
      *error = "the runtime does not say how many vector cores the device has";
      return false;
    }
    int64_t blocks = 1, workspace = 0;
    launch->tiling.resize(static_cast<size_t>(kernel.tiling.tiling_bytes()));
    const int32_t code = kernel.tiling.Solve(merged.data(), strides.data(), cores,
                                             launch->tiling.data(), &blocks, &workspace);
    if (code != 0 || blocks <= 0 || workspace < 0) {
      *error = "the kernel has no tiling for these shapes (code " + std::to_string(code) + ")";
      return false;
    }
    launch->blocks = static_cast<uint32_t>(blocks);
    void* scratch =
        workspace == 0 ? nullptr : context->MallocWorkSpace(kSystemWorkspace + workspace);
    if (workspace != 0 && scratch == nullptr) {
      *error = "no workspace of " + std::to_string(workspace) + " bytes";
      return false;
    }
    launch->addresses.push_back(reinterpret_cast<uint64_t>(scratch));
    return true;
  }

  KernelStore kernels_;
};

REG_AUTO_MAPPING_OP(AutofusedKernel);

}  // namespace autofuse
