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
from tf_autofuse.loop.ir import Load
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


def run_on(chip, loop, shapes, given, check=True):
    """The twin's result on a chip, and the inputs; `check`ed against the loop interpreter."""
    rng = np.random.RandomState(1)
    inputs = [random_array(rng, shape, param.dtype) for shape, param in zip(shapes, loop.inputs)]
    for number, array in given.items():
        inputs[number] = array
    clipped = [np.clip(array, 0, 1) if number in given else array
               for number, array in enumerate(inputs)]
    want = interp.run(loop, inputs if check else clipped, axis_sizes(loop, shapes))
    merged, groups = merge_axes(loop)
    bound = SpecText.parse(shape_spec(loop, groups)).bind(shapes)
    twin = on_twin(schedule(merged, chip), inputs, bound, want, chip)
    if check:
        for got, expected in zip(twin.outputs, want):
            np.testing.assert_array_equal(got.reshape(expected.shape), expected)
    return twin, inputs


def in_axes(loop, number, array, sizes):
    """An input with one dim for each axis where it is simply dense."""
    load = next(v for v in loop.body if isinstance(v, Load) and v.input == number)
    plain = not load.moved and all(dim.plain for dim in load.dims)
    return array.reshape([sizes[axis] for axis in load.walked]) if plain else array


def run_all(loop, shapes, given=None):
    """The kernel in every form against the loop interpreter; the twin's result. Inputs are random
    but for those that are `given` by number."""
    rng = np.random.RandomState(1)
    inputs = [random_array(rng, shape, param.dtype) for shape, param in zip(shapes, loop.inputs)]
    for number, array in (given or {}).items():
        inputs[number] = array
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
    dense = [in_axes(kernel.loop, number, array, sizes) for number, array in enumerate(inputs)]
    forms = {
        "merged": interp.run(merged, dense, dict(zip(merged.axes, bound.sizes)), bound.strides),
        "kernel": kernel_interp.run(kernel, dense, sizes, bound.strides),
        "tiles": kernel_interp.run(kernel, dense, sizes, bound.strides,
                                   [(3, 7)] * len(kernel.nests)),
        "host": run_host(library, inputs, bound.sizes, bound.strides, outputs, threads=2),
        "twin": twin.outputs,
    }
    for name, results in forms.items():
        for got, expected in zip(results, want):
            np.testing.assert_array_equal(got.reshape(expected.shape), expected, err_msg=name)
    return twin
