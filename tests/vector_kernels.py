"""Kernels of many operations at once, run on the twin."""
import kernel_samples as samples

from tf_autofuse.codegen.ascendc import print_ascendc
from tf_autofuse.loop import interp
from tf_autofuse.runtime.twin import run_twin
from tf_autofuse.schedule import schedule
from tf_autofuse.tiling.cpp import tiling


def many(ops, dtype, count, results=()):
    """One kernel with an output for every operation of `count` operands."""
    lines = ["%{} = load in{} [m0] : {}".format(i, i, dtype) for i in range(count)]
    args = " ".join("%{}".format(i) for i in range(count))
    kinds = dict(dict.fromkeys(ops, dtype), **dict(results))
    for number, op in enumerate(ops):
        lines.append("%{} = {} {} : {} [m0]".format(count + number, op, args, kinds[op]))
    lines += ["store out{} [m0] %{}".format(n, count + n) for n in range(len(ops))]
    return samples.kernel([dtype] * count, [kinds[op] for op in ops], "m0", *lines)


def on_the_twin(loop, arrays, chip):
    """(twin's outputs, the interpreter's)"""
    kernel = schedule(loop, chip)
    source = print_ascendc(kernel, chip)
    sizes = samples.sizes_of(kernel.loop, len(arrays[0]))
    want = interp.run(kernel.loop, arrays, sizes)
    launch = tiling(kernel, sizes, [], 4, True)
    outputs = [(w.shape, p.dtype) for w, p in zip(want, loop.outputs)]
    result = run_twin(source.text, source.entry, arrays, outputs, launch.data, launch.blocks, chip,
                      launch.workspace_bytes, tiling_key=launch.key)
    return result.outputs, want
