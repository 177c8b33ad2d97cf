"""Templates of the op project; braces of C++ are doubled."""

HEADER = """\
// Tiling data of one fused kernel, shared by host and chip.
#ifndef {guard}_TILING_H_
#define {guard}_TILING_H_

#include <stdint.h>

{struct}
#endif  // {guard}_TILING_H_
"""

FUNCTIONS = """\
// Tiling function of one fused kernel.
#ifndef {guard}_TILING_FUNCTION_H_
#define {guard}_TILING_FUNCTION_H_

#include "{name}_tiling.h"

namespace {{

{body}
}}  // namespace

#endif  // {guard}_TILING_FUNCTION_H_
"""

PORT = """\
    this->{kind}("{name}").ParamType(REQUIRED).DataType({{ge::{dtype}}}).Format({{ge::FORMAT_ND}});"""

HOST = """\
// Host side of one fused operator: tiling, infer-shape and its definition.
#include "register/op_def_registry.h"
#include "tiling/platform/platform_ascendc.h"

#include "../core/infer_shape.h"
#include "{name}_tiling_function.h"

namespace {{

constexpr size_t kSystemWorkspace = 16U * 1024U * 1024U;
const char* const kSpec =
    "{spec}";

const autofuse::ShapeSpec* Spec() {{
  static const autofuse::ShapeSpec* const spec = []() -> const autofuse::ShapeSpec* {{
    auto* made = new autofuse::ShapeSpec;
    std::string error;
    return autofuse::ShapeSpec::Parse(kSpec, made, &error) ? made : nullptr;
  }}();
  return spec;
}}

// Sizes of all inputs one after the other; false when a rank is not the spec's.
template <typename Shape>
bool Flatten(const Shape* shape, size_t rank, std::vector<int64_t>* flat) {{
  if (shape == nullptr || shape->GetDimNum() != rank) return false;
  for (size_t i = 0; i < rank; ++i) flat->push_back(shape->GetDim(i));
  return true;
}}

}}  // namespace

namespace optiling {{

ge::graphStatus TilingFunc(gert::TilingContext* context) {{
  const autofuse::ShapeSpec* spec = Spec();
  if (spec == nullptr) return ge::GRAPH_FAILED;
  std::vector<int64_t> flat;
  for (size_t i = 0; i < spec->inputs().size(); ++i) {{
    const gert::StorageShape* shape = context->GetInputShape(i);
    if (shape == nullptr ||
        !Flatten(&shape->GetStorageShape(), spec->inputs()[i].dims.size(), &flat)) {{
      return ge::GRAPH_FAILED;
    }}
  }}
  std::vector<int64_t> sizes(spec->axes()), merged(spec->merged_axes()),
      strides(spec->stride_count());
  std::string error;
  if (!spec->BindAxes(flat.data(), sizes.data(), &error)) return ge::GRAPH_FAILED;
  spec->MergeSizes(sizes.data(), merged.data());
  spec->Strides(flat.data(), sizes.data(), strides.data());
  const auto platform = platform_ascendc::PlatformAscendC(context->GetPlatformInfo());
  const int64_t cores = platform.GetCoreNumAiv() > 0 ? platform.GetCoreNumAiv() : {cores};
  AutofuseLaunch launch = {{}};
  if ({function}(merged.data(), strides.data(), cores, context->GetTilingData<{struct}>(),
                 &launch) != 0) {{
    return ge::GRAPH_FAILED;
  }}
  context->SetBlockDim(static_cast<uint32_t>(launch.blocks));
  context->SetTilingKey(static_cast<uint64_t>(launch.key));
  context->GetWorkspaceSizes(1)[0] = kSystemWorkspace + launch.workspace_bytes;
  return ge::GRAPH_SUCCESS;
}}

}}  // namespace optiling

namespace ge {{

graphStatus InferShape(gert::InferShapeContext* context) {{
  const autofuse::ShapeSpec* spec = Spec();
  if (spec == nullptr) return GRAPH_FAILED;
  std::vector<int64_t> flat;
  for (size_t i = 0; i < spec->inputs().size(); ++i) {{
    if (!Flatten(context->GetInputShape(i), spec->inputs()[i].dims.size(), &flat)) {{
      return GRAPH_FAILED;
    }}
  }}
  std::vector<std::vector<int64_t>> outputs;
  std::string error;
  if (!autofuse::InferOutputs(*spec, flat.data(), &outputs, &error)) return GRAPH_FAILED;
  for (size_t i = 0; i < outputs.size(); ++i) {{
    gert::Shape* shape = context->GetOutputShape(i);
    if (shape == nullptr) return GRAPH_FAILED;
    shape->SetDimNum(outputs[i].size());
    for (size_t d = 0; d < outputs[i].size(); ++d) shape->SetDim(d, outputs[i][d]);
  }}
  return GRAPH_SUCCESS;
}}

graphStatus InferDataType(gert::InferDataTypeContext* context) {{
  const DataType types[] = {{{types}}};
  size_t index = 0;
  for (const DataType type : types) {{
    if (context->SetOutputDataType(index++, type) != GRAPH_SUCCESS) return GRAPH_FAILED;
  }}
  return GRAPH_SUCCESS;
}}

}}  // namespace ge

namespace ops {{

class {type} : public OpDef {{
 public:
  explicit {type}(const char* name) : OpDef(name) {{
{ports}
    this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
    this->AICore().SetTiling(optiling::TilingFunc).AddConfig("{config}");
  }}
}};

OP_ADD({type});

}}  // namespace ops
"""

CMAKE = """\
# Fused operators as an op package: cmake -B build && cmake --build build --target package
cmake_minimum_required(VERSION 3.16)
project(autofused_ops LANGUAGES CXX)

if(NOT DEFINED ENV{{ASCEND_HOME_PATH}})
  message(FATAL_ERROR "ASCEND_HOME_PATH is not set: source set_env.sh of the CANN toolkit first")
endif()
list(APPEND CMAKE_PREFIX_PATH $ENV{{ASCEND_HOME_PATH}}/compiler/tikcpp/ascendc_kernel_cmake)
find_package(ASC REQUIRED)

set(PACKAGE autofused_ops)
file(GLOB HOST_SOURCES ${{CMAKE_CURRENT_SOURCE_DIR}}/op_host/*/*.cpp
     ${{CMAKE_CURRENT_SOURCE_DIR}}/op_host/core/*.cc)

npu_op_package(${{PACKAGE}} TYPE RUN CONFIG ENABLE_SOURCE_PACKAGE True
               ENABLE_BINARY_PACKAGE True INSTALL_PATH ${{CMAKE_BINARY_DIR}}/package)
npu_op_code_gen(SRC ${{HOST_SOURCES}} PACKAGE ${{PACKAGE}}
                COMPILE_OPTIONS -std=c++17 OUT_DIR ${{CMAKE_BINARY_DIR}}/autogen
                OPTIONS OPS_PRODUCT_NAME {config})
npu_op_library(cust_optiling TILING ${{HOST_SOURCES}})
npu_op_library(cust_op_proto GRAPH ${{HOST_SOURCES}})
npu_op_kernel_sources(ascendc_kernels KERNEL_DIR ${{CMAKE_CURRENT_SOURCE_DIR}}/op_kernel)
npu_op_kernel_library(ascendc_kernels SRC_BASE ${{CMAKE_CURRENT_SOURCE_DIR}}/op_kernel
                      TILING_LIBRARY cust_optiling)
npu_op_package_add(${{PACKAGE}} LIBRARY cust_optiling cust_op_proto ascendc_kernels)
"""
