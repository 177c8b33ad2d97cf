"""A classic CANN op project of fused kernels: op_host, op_kernel and CMake.

Every fused node becomes an operator type of its own, `Autofused<key>`, with fixed data types; the
graph must name that type instead of AutofusedKernel.
"""
from __future__ import annotations

import hashlib
import os
import shutil
from typing import Any, Dict, List, Tuple

from tf_autofuse import paths
from tf_autofuse.bundle import device, opproject_text
from tf_autofuse.bundle.folder import put, read_kernel
from tf_autofuse.bundle.sources import FUNCTION, named_kernel
from tf_autofuse.errors import BuildError
from tf_autofuse.kernel.ir import Kernel
from tf_autofuse.tiling.cpp import print_struct, print_tiling

CORE_FILES = (
    "windows.h", "windows.cc", "shape_spec.h", "shape_spec.cc", "infer_shape.h", "infer_shape.cc",
)  # fmt: skip
GE_TYPES = {
    "float32": "DT_FLOAT", "float16": "DT_FLOAT16", "bfloat16": "DT_BF16", "int8": "DT_INT8",
    "uint8": "DT_UINT8", "int16": "DT_INT16", "uint16": "DT_UINT16", "int32": "DT_INT32",
    "uint32": "DT_UINT32", "int64": "DT_INT64", "uint64": "DT_UINT64", "bool": "DT_BOOL",
    "float64": "DT_DOUBLE",
}  # fmt: skip


def write_project(out: str, nodes: List[Any], soc: str) -> Dict[Tuple[str, str], str]:
    """Write the project of all fused nodes into `out`; the operator type by kernel key and spec.

    Raises BuildError for a bundle without a kernel for the chip, OSError when a file cannot be
    written.
    """
    names: Dict[Tuple[str, str], str] = {}
    for node in nodes:
        key = (node.get_attr("kernel_key"), node.get_attr("spec"))
        if key not in names:
            names[key] = "autofused_" + hashlib.sha256("".join(key).encode()).hexdigest()[:12]
            kernel = read_kernel(node.get_attr("bundle_dir"))
            _write_operator(out, names[key], kernel, key[1], soc)
    core = os.path.join(out, "op_host", "core")
    os.makedirs(core, exist_ok=True)
    for name in CORE_FILES:
        shutil.copy(os.path.join(paths.csrc_dir(), "core", name), os.path.join(core, name))
    put(out, "CMakeLists.txt", opproject_text.CMAKE.format(
        arch=device.chip(soc).npu_arch, config=soc_config(soc)))  # fmt: skip
    listing = "".join("%s  %s  %s\n" % ((op_type(names[key]),) + key) for key in sorted(names))
    put(out, "operators.txt", listing)
    return {key: op_type(name) for key, name in names.items()}


def op_type(name: str) -> str:
    """Operator type of an entry: autofused_ab12 -> AutofusedAb12."""
    return "".join(word.capitalize() for word in name.split("_"))


def soc_config(soc: str) -> str:
    """Chip name as AddConfig spells it: Ascend910B2 -> ascend910b."""
    return device.chip(soc).name.lower()


def _write_operator(out: str, name: str, kernel: Kernel, spec: str, soc: str) -> None:
    unknown = {param.dtype for param in kernel.loop.inputs + kernel.loop.outputs} - set(GE_TYPES)
    if unknown:
        raise BuildError("no GE type for %s" % ", ".join(sorted(unknown)), node=name)
    host = os.path.join(out, "op_host", name)
    device_folder = os.path.join(out, "op_kernel", name)
    for folder in (host, device_folder):
        os.makedirs(folder, exist_ok=True)
    inputs, outputs = kernel.loop.inputs, kernel.loop.outputs
    ports = [_port("Input", "x%d" % i, p.dtype) for i, p in enumerate(inputs)]
    ports += [_port("Output", "y%d" % i, p.dtype) for i, p in enumerate(outputs)]
    types = ", ".join("ge::" + GE_TYPES[param.dtype] for param in outputs)
    struct = op_type(name) + "Tiling"
    device_text = named_kernel(kernel, name)
    together = "MIX_AIV" in device_text
    text = opproject_text.HOST.format(
        name=name, type=op_type(name), spec=spec, struct=struct, function=FUNCTION,
        ports="\n".join(ports), types=types, config=soc_config(soc),
        cores=device.chip(soc).vector_cores,
        schedule="  context->SetScheduleMode(1);  // blocks wait for each other\n" * together,
    )  # fmt: skip
    put(host, name + "_tiling.h", opproject_text.HEADER.format(
        guard=name.upper(), struct=print_struct(kernel, struct)))  # fmt: skip
    functions = print_tiling(kernel, struct, FUNCTION)
    for shared in (print_struct(kernel, struct), "#include <stdint.h>\n\n"):
        functions = functions.replace(shared, "")
    put(host, name + "_tiling_function.h", opproject_text.FUNCTIONS.format(
        guard=name.upper(), name=name, body=functions))  # fmt: skip
    put(host, name + ".cpp", text)
    put(device_folder, name + ".cpp", device_text)


def _port(kind: str, name: str, dtype: str) -> str:
    return opproject_text.PORT.format(kind=kind, name=name, dtype=GE_TYPES[dtype])
