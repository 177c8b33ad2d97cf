"""AutofusedKernel in Python, for a first run on hosts where the C++ operator cannot be built.

Put this file's folder into ASCEND_CUSTOM_OPP_PATH. It launches kernels that are built already
(bin/ of their bundle) and cannot refresh addresses, so it serves dynamic graphs. GE loads the file
when it initialises: whatever is missing leaves the operator unregistered, with a warning.
"""
import ctypes
import logging
import os

LOG = logging.getLogger("tf_autofuse.operator")
# Places in csrc/ge/op_proto.h.
KERNEL_KEY, SPEC, BUNDLE_DIR, OUTPUT_DTYPES, _, GRANTED_CORES = range(6)
LIBRARY = "libautofuse_tiling.so"
SYSTEM_WORKSPACE = 16 << 20  # what AscendC::GetUserWorkspace skips
VECTOR_CORES = 201  # ACL_DEV_ATTR_VECTOR_CORE_NUM


class Kernel:
    """One kernel: its tiling library and the function on the device."""

    def __init__(self, acl, folder):
        self.acl = acl
        self.library = ctypes.CDLL(os.path.join(folder, LIBRARY))
        self.library.autofuse_device_entry.restype = ctypes.c_char_p
        self.library.autofuse_device_chip.restype = ctypes.c_char_p
        self.library.autofuse_device_tiling_bytes.restype = ctypes.c_int64
        chip = self.library.autofuse_device_chip().decode()
        path = os.path.join(folder, "bin", chip, "kernel.o")
        self.binary = check(acl.rt.binary_load_from_file(path, []), "binary_load_from_file")
        entry = self.library.autofuse_device_entry().decode()
        self.function = check(
            acl.rt.binary_get_function(self.binary, entry), "binary_get_function"
        )

    def solve(self, bound, cores):
        """(tiling structure, blocks, workspace bytes) for these shapes."""
        data = ctypes.create_string_buffer(self.library.autofuse_device_tiling_bytes())
        blocks, workspace = ctypes.c_int64(), ctypes.c_int64()
        code = self.library.autofuse_device_tiling(
            numbers(bound.sizes), numbers(bound.strides), ctypes.c_int64(cores), data,
            ctypes.byref(blocks), ctypes.byref(workspace),
        )  # fmt: skip
        if code != 0:
            raise RuntimeError("no tiling for sizes {} (code {})".format(bound.sizes, code))
        return data, blocks.value, workspace.value

    def launch(self, blocks, stream, addresses, tiling):
        """Start the kernel: its arguments are the addresses, then the structure by value."""
        arguments = check(self.acl.rt.kernel_args_init(self.function), "kernel_args_init")
        values = [ctypes.c_uint64(address) for address in addresses] + [tiling]
        for value in values:
            result = self.acl.rt.kernel_args_append(
                arguments, ctypes.addressof(value), ctypes.sizeof(value)
            )
            check(result, "kernel_args_append")
        check(self.acl.rt.kernel_args_finalize(arguments), "kernel_args_finalize")
        result = self.acl.rt.launch_kernel_with_config(
            self.function, blocks, stream, [], arguments, 0
        )
        check(result, "launch_kernel_with_config")


def numbers(values):
    """A C array; never empty."""
    return (ctypes.c_int64 * max(1, len(values)))(*values)


def check(result, call):
    """The value of a pyACL call, which answers (value, code) or code; RuntimeError for a code."""
    value, code = result if isinstance(result, tuple) else (None, result)
    if code != 0:
        raise RuntimeError("acl.rt.{} failed with {}".format(call, code))
    return value


_KERNELS = {}


def execute(ctx):
    """Run one fused node."""
    import acl
    from ge.graph.types import DataType
    from ge.runtime import StorageShape

    from tf_autofuse.runtime.spec_text import SpecText

    attrs = ctx.get_attrs()
    key = attrs.get_str(KERNEL_KEY)
    if key not in _KERNELS:
        _KERNELS[key] = Kernel(acl, attrs.get_str(BUNDLE_DIR))
    kernel = _KERNELS[key]
    inputs = [ctx.get_input_tensor(i) for i in range(ctx.get_input_num())]
    bound = SpecText.parse(attrs.get_str(SPEC)).bind([list(x.storage_shape.dims) for x in inputs])
    outputs = [
        ctx.malloc_output_tensor(
            number, StorageShape(dims, dims), inputs[0].format, DataType(int(dtype))
        )
        for number, (dims, dtype) in enumerate(
            zip(bound.outputs, attrs.get_list_int(OUTPUT_DTYPES))
        )
    ]
    device = check(acl.rt.get_device(), "get_device")
    cores = check(acl.rt.get_device_info(device, VECTOR_CORES), "get_device_info")
    cores = min(cores, attrs.get_int(GRANTED_CORES) or cores)
    tiling, blocks, workspace = kernel.solve(bound, cores)
    scratch = ctx.malloc_workspace(SYSTEM_WORKSPACE + workspace) if workspace else 0
    addresses = [int(tensor.addr) for tensor in inputs + outputs] + [scratch]
    kernel.launch(blocks, ctx.get_stream(), addresses, tiling)


def _register():
    from ge.custom_op import EagerExecuteOp, register_op_impl

    @register_op_impl(op_type="AutofusedKernel")
    class AutofusedKernel(EagerExecuteOp):
        """Runs fused kernels by their key."""

        def execute(self, ctx):
            execute(ctx)


try:
    _register()
except Exception as error:
    LOG.warning("the operator AutofusedKernel is not registered: %s", error)
