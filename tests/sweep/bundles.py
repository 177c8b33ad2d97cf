"""Kernels that other runs left in their bundles: on the twin and in their build for the CPU, both
against the interpreter. Nothing generated goes unchecked."""
import json
import os
from typing import Iterator, List, Sequence, Tuple
from unittest import mock

import numpy as np
from kernel_samples import sizes_of
from sweep.runner import Outcome, launch, relative_error
from sweep.tables import random_inputs

from tf_autofuse import build
from tf_autofuse.codegen.ascendc import AscendCSource
from tf_autofuse.codegen.host import print_host
from tf_autofuse.kernel.ir import Kernel
from tf_autofuse.loop import interp
from tf_autofuse.loop.ops import INTS
from tf_autofuse.platforms import platform as find_platform
from tf_autofuse.runtime.host import run_host

CAST = interp.cast
SIZES: Tuple[Tuple[int, ...], ...] = (
    (5, 3, 67, 2, 3, 2, 1, 2, 1, 2), (1, 130, 4, 3, 2, 2, 3, 1, 2, 1))
"""Sizes of the merged axes, first axis first."""


def kernels(folder: str) -> Iterator[Tuple[str, str, str]]:
    """(name, chip, text of the kernel) of every bundle under `folder` that has Ascend C."""
    for where, _, names in sorted(os.walk(folder)):
        if "kernel.txt" not in names or "kernel.cpp" not in names:
            continue
        with open(os.path.join(where, "kernel.json"), encoding="utf-8") as file:
            about = json.load(file)
        with open(os.path.join(where, "kernel.txt"), encoding="utf-8") as file:
            yield about["key"][:12], about["soc"], file.read()


def run(name: str, kernel: Kernel, source: AscendCSource, sizes_at: Tuple[int, ...]) -> Outcome:
    """The kernel on the twin and on the CPU against the interpreter, axes of the given sizes."""
    loop = kernel.loop
    chip = find_platform(kernel.platform)
    sizes = sizes_of(loop, *sizes_at)
    inputs, strides = random_inputs(loop, sizes)
    # Division of integers by zero is an error of the CPU kernel.
    inputs = [np.where(a == 0, 1, a).astype(a.dtype) if a.dtype.kind in "iu" else a for a in inputs]
    try:
        want = interp.run(loop, inputs, sizes, strides)
    except IndexError:  # numbers of no class
        inputs = [a * 0 if a.dtype.kind in "iu" else a for a in inputs]
        want = interp.run(loop, inputs, sizes, strides)
    on_twin = launch(kernel, source, chip, inputs, sizes, strides, want).outputs
    with mock.patch.object(interp, "cast", _saturating_cast):
        on_twin = _where_defined(on_twin, want, interp.run(loop, inputs, sizes, strides))
    library = build.compile_host_kernel(print_host(kernel), key=name)
    shapes = [(array.shape, param.dtype) for array, param in zip(want, loop.outputs)]
    on_cpu = run_host(library, inputs, list(sizes.values()), strides, shapes)
    error = max(
        relative_error(got, expected, param.dtype)
        for outputs in (on_twin, on_cpu)
        for got, expected, param in zip(outputs, want, loop.outputs)
    )
    dtypes = {param.dtype for param in loop.inputs + loop.outputs}
    narrow = [dtype for dtype in ("bfloat16", "float16") if dtype in dtypes]
    label = "%s %s" % (name, (narrow or ["float32"])[0])
    return Outcome(label, "x".join(map(str, sizes.values())) or "scalar", error, 1.0)


def _saturating_cast(array: np.ndarray, source: str, target: str) -> np.ndarray:
    """A cast as the chip does it: what an integer type cannot hold becomes its nearest value, and
    NaN 0. x86 has the lowest value for all of these; TensorFlow takes what the machine gives."""
    usual = CAST(array, source, target)
    if target not in INTS or array.dtype.kind != "f":
        return usual
    limits = np.iinfo(target)
    found = np.where(array >= limits.max, usual.dtype.type(limits.max), usual)
    found = np.where(array <= limits.min, usual.dtype.type(limits.min), found)
    return np.where(np.isnan(array), usual.dtype.type(0), found)


def _where_defined(got: Sequence[np.ndarray], want: Sequence[np.ndarray],
                   other: Sequence[np.ndarray]) -> List[np.ndarray]:
    """`got`, and `want` where that depends on casts which are the machine's."""
    return [np.where(_same(a, b), x, a) for x, a, b in zip(got, want, other)]


def _same(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (a == b) | ((a != a) & (b != b))
