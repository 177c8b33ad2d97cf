"""C++ texts of a bundle that are made from its kernel: device source, tiling and infer-shape."""
from __future__ import annotations

import hashlib

from tf_autofuse.codegen.ascendc import print_ascendc
from tf_autofuse.codegen.infershape import print_infer_shape
from tf_autofuse.kernel.ir import Kernel
from tf_autofuse.platforms import platform
from tf_autofuse.tiling.cpp import print_tiling, table_fields

STRUCT = "DeviceTiling"
FUNCTION = "DeviceTilingOf"

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
  struct Found {{
    {struct} tiling;
    AutofuseLaunch launch;
  }};
  thread_local autofuse::TilingCache<Found, {sizes} + {table} + 1> cache;
  int64_t key[{sizes} + {table} + 1];
  for (int i = 0; i < {sizes}; ++i) key[i] = sizes[i];
  for (int i = 0; i < {table}; ++i) key[{sizes} + i] = strides[i];
  key[{sizes} + {table}] = cores;
  const Found* found = cache.Find(key);
  if (found == nullptr) {{
    Found fresh = {{}};
    const int32_t code = {function}(sizes, strides, cores, &fresh.tiling, &fresh.launch);
    if (code != 0) return code;
    cache.Insert(key, fresh);
    found = cache.Find(key);
  }}
  *static_cast<{struct}*>(data) = found->tiling;
  *blocks = found->launch.blocks;
  *workspace = found->launch.workspace_bytes;
  return 0;
}}
"""

_INFER_TAIL = """
// What a loader finds: sizes of all outputs from those of all inputs, and their types.
extern "C" __attribute__((visibility("default"))) int32_t autofuse_infer_shape(
    const AutofuseShape* in, AutofuseShape* out) {
  return node_infer_shape(in, out);
}

extern "C" __attribute__((visibility("default"))) void autofuse_infer_dtype(int32_t* out) {
  node_infer_dtype(out);
}
"""


def device_source(kernel: Kernel, entry: str) -> str:
    """Ascend C that bisheng and aclrtc take as it is: the tiling structure comes by value."""
    return print_ascendc(kernel, kernel.platform, name=entry, target="rtc").text


def tiling_source(kernel: Kernel, entry: str) -> str:
    """C++ of the tiling library (csrc/core/device_tiling.h) of a kernel."""
    head = '#include "device_tiling.h"\n#include "tiling_cache.h"\n\nnamespace {\n\n'
    body = print_tiling(kernel, STRUCT, FUNCTION)
    chip = platform(kernel.platform)
    tail = _TILING_TAIL.format(
        entry=entry, struct=STRUCT, chip=chip.name, arch=chip.npu_arch,
        together=int("__mix__" in device_source(kernel, entry)), function=FUNCTION,
        sizes=len(kernel.loop.sized_axes), table=len(table_fields(kernel)),
    )  # fmt: skip
    return head + body.replace("#include <stdint.h>\n\n", "") + "\n}  // namespace\n" + tail


def infer_shape_source(spec: str, kernel: Kernel) -> str:
    """C++ that infers the output shapes and types of a node with this shape spec."""
    return print_infer_shape(spec, kernel.loop, "node") + _INFER_TAIL


def infer_shape_file(spec: str) -> str:
    """Its file name: nodes with different specs may share a kernel."""
    return "infershape_%s.cpp" % hashlib.sha256(spec.encode()).hexdigest()[:8]


def named_kernel(kernel: Kernel, name: str) -> str:
    """Ascend C of `kernel` for an op project, where an entry is named after its operator."""
    text = print_ascendc(kernel, kernel.platform, name=name)
    line = "  GET_TILING_DATA_WITH_STRUCT("
    register = "  REGISTER_TILING_DEFAULT(%s);\n" % text.tiling_struct
    return text.text.replace(line, register + line)
