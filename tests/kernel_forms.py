"""Runs one loop kernel in every form there is."""
import numpy as np
from kernel_samples import random_array

from tf_autofuse.build import compile_host_kernel
from tf_autofuse.codegen.ascendc import print_ascendc
from tf_autofuse.codegen.host import print_host
from tf_autofuse.kernel import interp as kernel_interp
from tf_autofuse.kernel.text import kernel_key, parse_kernel, print_kernel
from tf_autofuse.kernel.verify import verify
from tf_autofuse.loop import interp
from tf_autofuse.loop.merge import merge_axes
from tf_autofuse.loop.spec import axis_sizes, shape_spec
from tf_autofuse.loop.text import parse_loop, print_loop
from tf_autofuse.platforms import platform
from tf_autofuse.runtime.host import run_host
from tf_autofuse.runtime.spec_text import SpecText
from tf_autofuse.runtime.twin import run_twin
from tf_autofuse.schedule import schedule
from tf_autofuse.tiling.cpp import tiling

CHIP = platform("Ascend910B")


def on_twin(kernel, inputs, bound, want, chip=CHIP):
    """The twin's result for a scheduled kernel."""
    source = print_ascendc(kernel, chip)
    launch = tiling(kernel, dict(zip(kernel.loop.axes, bound.sizes)), bound.strides,
                    chip.vector_cores)
    outputs = [(w.shape, p.dtype) for w, p in zip(want, kernel.loop.outputs)]
    return run_twin(source.text, source.entry, inputs, outputs, launch.data, launch.blocks, chip,
                    launch.workspace_bytes, tiling_key=launch.key)


def run_all(loop, shapes):
    """The kernel in every form against the loop interpreter; the twin's result."""
    rng = np.random.RandomState(1)
    inputs = [random_array(rng, shape, param.dtype) for shape, param in zip(shapes, loop.inputs)]
    want = interp.run(loop, inputs, axis_sizes(loop, shapes))
    assert parse_loop(print_loop(loop)) == loop
    merged, groups = merge_axes(loop)
    bound = SpecText.parse(shape_spec(loop, groups)).bind(shapes)
    kernel = schedule(merged, CHIP)
    verify(kernel)
    assert print_kernel(parse_kernel(print_kernel(kernel))) == print_kernel(kernel)
    sizes = dict(zip(kernel.loop.axes, bound.sizes))
    twin = on_twin(kernel, inputs, bound, want)
    outputs = [(w.shape, p.dtype) for w, p in zip(want, loop.outputs)]
    library = compile_host_kernel(print_host(kernel), key=kernel_key(kernel))
    forms = {
        "merged": interp.run(merged, inputs, dict(zip(merged.axes, bound.sizes)), bound.strides),
        "kernel": kernel_interp.run(kernel, inputs, sizes, bound.strides),
        "tiles": kernel_interp.run(kernel, inputs, sizes, bound.strides, [(3, 7)]),
        "host": run_host(library, inputs, bound.sizes, bound.strides, outputs, threads=2),
        "twin": twin.outputs,
    }
    for name, results in forms.items():
        for got, expected in zip(results, want):
            np.testing.assert_array_equal(got.reshape(expected.shape), expected, err_msg=name)
    return twin
