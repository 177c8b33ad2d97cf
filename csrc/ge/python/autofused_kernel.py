"""AutofusedKernel in Python, for a first run on hosts where the C++ operator cannot be built.

Put this file's folder into ASCEND_CUSTOM_OPP_PATH. It launches kernels that are built already
(bin/ of their bundle) and cannot refresh addresses, so it serves dynamic graphs. GE loads the file
when it initialises: whatever is missing leaves the operator unregistered, with a warning.
"""
import logging

LOG = logging.getLogger("tf_autofuse.operator")
# Places in csrc/ge/op_proto.h.
KERNEL_KEY, SPEC, BUNDLE_DIR, OUTPUT_DTYPES, _, GRANTED_CORES = range(6)
_KERNELS = {}


def execute(ctx):
    """Run one fused node."""
    import acl
    from ge.graph.types import DataType
    from ge.runtime import StorageShape

    from tf_autofuse.runtime.acl import SYSTEM_WORKSPACE, VECTOR_CORES, Kernel, check
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
    device = check(acl.rt.get_device(), "rt.get_device")
    cores = check(acl.rt.get_device_info(device, VECTOR_CORES), "rt.get_device_info")
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
