"""C++ texts of a bundle that are made from its kernel: device source, tiling and infer-shape."""
from __future__ import annotations

import hashlib
import inspect
import re

from tf_autofuse.codegen.ascendc import print_ascendc
from tf_autofuse.kernel.ir import Kernel
from tf_autofuse.platforms import platform
from tf_autofuse.tiling.cpp import print_tiling

STRUCT = "DeviceTiling"
FUNCTION = "DeviceTilingOf"

_CALL = """\
  AutofuseLaunch launch = {};
  const int32_t code = %s(sizes, strides, cores, static_cast<%s*>(data), &launch);
  *blocks = launch.blocks;
  *workspace = launch.workspace_bytes;
  return code;"""
_CALL_ONE_KEY = """\
  *workspace = 0;
  return %s(sizes, strides, cores, static_cast<%s*>(data), blocks);"""

_TILING_TAIL = """
AUTOFUSE_DEVICE_EXPORT int32_t autofuse_device_abi_version(void) {{
  return AUTOFUSE_DEVICE_ABI_VERSION;
}}

AUTOFUSE_DEVICE_EXPORT const char* autofuse_device_entry(void) {{ return "{entry}"; }}

AUTOFUSE_DEVICE_EXPORT const char* autofuse_device_chip(void) {{ return "{chip}"; }}

AUTOFUSE_DEVICE_EXPORT int32_t autofuse_device_npu_arch(void) {{ return {arch}; }}

AUTOFUSE_DEVICE_EXPORT int32_t autofuse_device_together(void) {{ return {together}; }}

AUTOFUSE_DEVICE_EXPORT int64_t autofuse_device_tiling_bytes(void) {{ return sizeof({struct}); }}

AUTOFUSE_DEVICE_EXPORT int32_t autofuse_device_tiling(const int64_t* sizes, const int64_t* strides,
                                                      int64_t cores, void* data, int64_t* blocks,
                                                      int64_t* workspace) {{
{call}
}}
"""

_INFER_SHAPE = """\
// Output shapes of one fused node; build it with shape_spec.cc and infer_shape.cc.
#include "infer_shape.h"

#include <cstring>

// Fills `out` with the sizes of all outputs from those of all inputs (-1: unknown). Returns 0, or 1
// with a text of at most `room` bytes in `message`.
extern "C" __attribute__((visibility("default"))) int32_t autofuse_infer_shape(
    const int64_t* in, int64_t* out, char* message, int64_t room) {{
  static const char kSpec[] =
      "{spec}";
  autofuse::ShapeSpec spec;
  std::string error;
  std::vector<std::vector<int64_t>> shapes;
  if (!autofuse::ShapeSpec::Parse(kSpec, &spec, &error) ||
      !autofuse::InferOutputs(spec, in, &shapes, &error)) {{
    if (room > 0) {{
      std::strncpy(message, error.c_str(), room - 1);
      message[room - 1] = '\\0';
    }}
    return 1;
  }}
  for (const auto& shape : shapes) {{
    for (const int64_t size : shape) *out++ = size;
  }}
  return 0;
}}
"""


def device_source(kernel: Kernel, entry: str) -> str:
    """Ascend C that bisheng and aclrtc take as it is: the tiling structure comes by value."""
    if "target" in inspect.signature(print_ascendc).parameters:
        return print_ascendc(kernel, kernel.platform, name=entry, target="rtc").text
    printed = print_ascendc(kernel, kernel.platform, name=entry)
    text = printed.text.replace("GM_ADDR tiling) {", printed.tiling_struct + " t) {")
    text = text.replace("__global__ __aicore__", "__global__ __vector__")
    return re.sub(r"  (KERNEL_TASK_TYPE_DEFAULT|GET_TILING_DATA_WITH_STRUCT).*;\n", "", text)


def tiling_source(kernel: Kernel, entry: str) -> str:
    """C++ of the tiling library (csrc/core/device_tiling.h) of a kernel."""
    head = '#include "device_tiling.h"\n\nnamespace {\n\n'
    body = print_tiling(kernel, STRUCT, FUNCTION)
    chip = platform(kernel.platform)
    call = _CALL if "AutofuseLaunch" in body else _CALL_ONE_KEY
    tail = _TILING_TAIL.format(
        entry=entry, struct=STRUCT, chip=chip.name, arch=chip.npu_arch,
        together=int("__mix__" in device_source(kernel, entry)), call=call % (FUNCTION, STRUCT),
    )  # fmt: skip
    return head + body.replace("#include <stdint.h>\n\n", "") + "\n}  // namespace\n" + tail


def infer_shape_source(spec: str) -> str:
    """C++ that infers the output shapes of a node with this shape spec."""
    return _INFER_SHAPE.format(spec=spec)


def infer_shape_file(spec: str) -> str:
    """Its file name: nodes with different specs may share a kernel."""
    return "infershape_%s.cpp" % hashlib.sha256(spec.encode()).hexdigest()[:8]


def named_kernel(kernel: Kernel, name: str) -> str:
    """Ascend C of `kernel` for an op project, where an entry is named after its operator."""
    text = print_ascendc(kernel, kernel.platform, name=name)
    line = "  GET_TILING_DATA_WITH_STRUCT("
    register = "  REGISTER_TILING_DEFAULT(%s);\n" % text.tiling_struct
    return text.text.replace(line, register + line)
