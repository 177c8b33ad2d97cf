"""Kernels and shapes that tilings are judged by: `scripts/bench.py tiling` and the tests."""
import kernel_samples as samples

from tf_autofuse.loop.ir import LoopKernel

SHAPES = {
    1: [(n,) for n in (1, 100, 1000, 4096, 30000, 100003, 1 << 18, 1 << 20, 3000017, 1 << 23,
                       1 << 24, 1 << 26)],
    2: [(1, 1000), (64, 1000), (64, 1001), (1024, 1024), (4096, 768), (4097, 31), (100000, 8),
        (8, 100000), (3, 1 << 20), (8192, 4096), (1 << 20, 64), (31, 4095)],
    3: [(1, 1, 1000), (8, 16, 64), (8, 512, 768), (32, 3136, 64), (32, 64, 3136), (2, 3, 50000),
        (64, 64, 64), (128, 1, 4096), (16, 1000, 31), (1000, 16, 16), (4, 4096, 512),
        (7, 77, 777)],
}
"""Twelve shapes by the number of axes."""


def elementwise(dtype: str, ops: str, inputs: int = 1) -> LoopKernel:
    """A chain of float32 operations on the sum of `inputs` tensors of `dtype`."""
    lines, last = [], ""
    for i in range(inputs):
        lines.append("%%l%d = load in%d [m0] : %s" % (i, i, dtype))
        lines.append("%%w%d = cast %%l%d : float32 [m0]" % (i, i))
        lines += ["%%s%d = add %s %%w%d : float32 [m0]" % (i, last, i)] if last else []
        last = "%%s%d" % i if last else "%w0"
    for i, op in enumerate(ops.split()):
        lines.append("%%o%d = %s %s : float32 [m0]" % (i, op, last))
        last = "%%o%d" % i
    lines += ["%%r = cast %s : %s [m0]" % (last, dtype), "store out0 [m0] %r"]
    return samples.kernel([dtype] * inputs, [dtype], "m0", *lines)


def kernels():
    """Name to loop kernel: 30 of them."""
    found = {
        "abs_relu_exp": samples.abs_relu_exp(),
        "abs_relu_exp_bf16": samples.abs_relu_exp("bfloat16"),
        "row": samples.abs_add_relu("m1"), "column": samples.abs_add_relu("m0"),
        "run_time": samples.run_time_broadcast(), "full": samples.reduction("m0", "m0"),
        "full_many": samples.reduction("m0", "m0", ("sum", "max", "min")),
        "ara": samples.reduction("m0 m1 m2", "m1"), "rar": samples.reduction("m0 m1 m2", "m0 m2"),
        "softmax": samples.softmax("m1"), "softmax_columns": samples.softmax("m0"),
        "softmax_3d": samples.softmax("m1", "m0 m1 m2"), "layer_norm": samples.layer_norm(),
        "layer_norm_f16": samples.layer_norm("float16"),
        "layer_norm_bf16": samples.layer_norm("bfloat16"),
        "nests": samples.bias_gradient_and_loss(),
    }
    for dtype in ("float32", "float16"):
        found["ar_" + dtype] = samples.reduction("m0 m1", "m1", ("max",), dtype)
        found["ra_" + dtype] = samples.reduction("m0 m1", "m0", ("max",), dtype)
        found["ar_two_" + dtype] = samples.reduction("m0 m1", "m1", ("max", "min"), dtype)
        found["exp_" + dtype] = elementwise(dtype, "exp")
        found["chain_" + dtype] = elementwise(dtype, "abs sqrt exp tanh", 2)
        found["add6_" + dtype] = elementwise(dtype, "neg", 6)
        found["sigmoid_" + dtype] = elementwise(dtype, "sigmoid")
    return found
