"""Run a case on the twin in check mode and hold it to the loop interpreter."""
from dataclasses import replace
from typing import Dict, NamedTuple, Sequence, Tuple

import numpy as np
from kernel_samples import random_array
from sweep.patterns import COLS, DEPTH, ROWS, Case

from tf_autofuse.autofuse.traffic import item_bytes
from tf_autofuse.build import compile_host_kernel
from tf_autofuse.cluster.legal import check
from tf_autofuse.codegen.ascendc import print_ascendc
from tf_autofuse.codegen.host import print_host
from tf_autofuse.errors import Unsupported
from tf_autofuse.kernel.nest import needed
from tf_autofuse.kernel.text import kernel_key
from tf_autofuse.loop import interp
from tf_autofuse.loop.ir import Load, LoopKernel, Param
from tf_autofuse.loop.merge import merge_axes
from tf_autofuse.loop.ops import NARROW_FLOATS
from tf_autofuse.loop.spec import axis_sizes, shape_spec
from tf_autofuse.platforms import platform as find_platform
from tf_autofuse.runtime.host import run_host
from tf_autofuse.runtime.spec_text import Bound, SpecText
from tf_autofuse.runtime.twin import TwinResult, run_twin
from tf_autofuse.schedule import schedule
from tf_autofuse.tiling import solve
from tf_autofuse.tiling.cpp import Tiling, tiling

SHAPES: Dict[str, Tuple[int, int]] = {
    "aligned": (64, 1024), "odd": (33, 1001), "one row": (1, 777), "one column": (129, 1),
    "empty": (0, 16), "large": (5, 40000),
}
"""Rows and columns; `large` rows do not fit UB. The third axis of a pattern is 9."""

RELATIVE = {"float32": 3e-5, "float16": 4e-3, "bfloat16": 3e-2}


class Outcome(NamedTuple):
    """`error` is the largest relative error against the interpreter, or against the same in float32
    where that is less: a kernel may round less often than the operators did. `ratio` is the GM
    bytes of inputs and outputs over the least possible (each once), `requests` all that cores ask
    for, workspace included and L2 not regarded, over it. `allowed` is the most that `ratio` may
    be: rows that do not fit UB, as those of the shape `large`, may be read once more. `variants`
    names what the tiling chose for each nest."""

    case: str
    shape: str
    error: float
    ratio: float
    requests: float = 1.0
    allowed: float = 1.02
    variants: Tuple[str, ...] = ()

    @property
    def right(self) -> bool:
        return self.error <= RELATIVE[self.case.rsplit(" ", 1)[1]]

    @property
    def sparing(self) -> bool:
        """Whether global memory is not read more than it must be."""
        return self.ratio <= self.allowed


def symbols(shape: str) -> Dict[int, int]:
    """What the symbols of a case stand for in a shape of SHAPES."""
    rows, cols = SHAPES[shape]
    return {ROWS: rows, COLS: cols, DEPTH: 9}


class _Data(NamedTuple):
    """Inputs of a kernel, and what its outputs shall be: as the operators say, and in float32."""

    inputs: Sequence[np.ndarray]
    want: Sequence[np.ndarray]
    exact: Sequence[np.ndarray]
    outputs: Sequence[Param]

    def error(self, found: Sequence[np.ndarray]) -> float:
        """The largest relative error, against the closer of both."""
        return max(
            min(relative_error(got, expected, param.dtype),
                relative_error(got, interp.encode(best, param.dtype), param.dtype))
            for got, expected, best, param in zip(found, self.want, self.exact, self.outputs)
        )


class Sweep:
    """One case on one chip; the kernel is printed once and run for every shape.

    With a `shape` the case is lowered for that shape alone, and sizes and tiles are constants of
    the text. What is right is still said by the case of run-time sizes.
    """

    def __init__(self, case: Case, chip_name: str, shape: str = "") -> None:
        self.reference, self.shape = case, shape
        self.case = case.at(symbols(shape)) if shape else case
        self.chosen: Tuple[str, ...] = ()
        self.chip = find_platform(chip_name)
        merged, self.groups = merge_axes(self.case.lowered.kernel)
        self.kernel = schedule(merged, self.chip)
        self.form = self.kernel
        self.spec = SpecText.parse(shape_spec(self.case.lowered.kernel, self.groups))
        static = self._static() if shape else None
        self.source = print_ascendc(self.kernel, self.chip, static=static)

    def run(self, shape: str, seed: int = 0) -> Outcome:
        """The outcome for a shape of SHAPES; TwinError when a hardware rule is broken."""
        data = self._data(shape, seed)
        result = self._twin(data.inputs, data.want)
        return self._outcome(shape, data.error(result.outputs), data.inputs, data.want, result)

    def run_on_cpu(self, shape: str, seed: int = 0) -> float:
        """The error of the kernel's build for the CPU, as `Outcome` has it."""
        data = self._data(shape, seed)
        bound, _ = self._bound([array.shape for array in data.inputs])
        outputs = [(array.shape, param.dtype) for array, param in zip(data.want, data.outputs)]
        library = compile_host_kernel(print_host(self.kernel), key=kernel_key(self.kernel))
        return data.error(run_host(library, data.inputs, bound.sizes, bound.strides, outputs))

    def _data(self, shape: str, seed: int) -> "_Data":
        assert self.shape in ("", shape), "the kernel is for another shape"
        known, rng = symbols(shape), np.random.RandomState(seed)
        refs, loop = self.reference.lowered.inputs, self.reference.lowered.kernel
        shapes = [[known.get(dim, dim) for dim in dims] for dims in self.reference.dims]
        arrays = [random_array(rng, s, p.dtype) for s, p in zip(shapes, loop.inputs)]
        sizes, wider = axis_sizes(loop, shapes), list(map(wide, arrays, loop.inputs))
        by_ref = dict(zip(refs, arrays))
        return _Data(
            [by_ref[ref] for ref in self.case.lowered.inputs],
            interp.run(loop, arrays, sizes), interp.run(widened(loop), wider, sizes), loop.outputs)

    def _outcome(self, shape: str, error: float, inputs, want, result: TwinResult) -> Outcome:
        loop, count = self.case.lowered.kernel, len(inputs) + len(want)
        block, cores = (self.chip.block_bytes, self.chip.vector_cores) if (
            "DataCopyPad" in self.chip.lacks) else (1, 1)
        sizes = [
            least_bytes(array, item_bytes(param.dtype), block, cores)
            for array, param in zip(list(inputs) + list(want), loop.inputs + loop.outputs)
        ]
        times = [self._walks(number) for number in range(len(inputs))] + [1] * len(want)
        sizes = [size * walks for size, walks in zip(sizes, times)]
        least = max(1, sum(sizes))
        moved = sum(result.gm_fetched[:count]) + sum(result.gm_written[:count])
        asked = sum(result.gm_read) + sum(result.gm_written)
        again = shape == "large" or not self._rows_fit(inputs)
        extra = sum(sizes[: len(inputs)]) / least if again else 0.0
        return Outcome(
            self.case.name, shape, error, moved / least, asked / least, 1.02 + extra, self.chosen
        )

    def _rows_fit(self, inputs: Sequence[np.ndarray]) -> bool:
        """Whether UB, that of all cores where they can share a row, has room for what reductions
        over all axes of an input walk."""
        room = self.chip.ub_bytes * (self.chip.vector_cores if self.chip.has_sync else 1)
        loads = [value for value in self.form.loop.body if isinstance(value, Load)]
        whole = [inputs[value.input].nbytes for nest in self.form.nests for value in loads
                 if nest.reduced and set(value.axes) == set(nest.reduced)
                 and value.input < len(inputs)]
        return max(whole, default=0) <= room

    def _walks(self, number: int) -> int:
        """How often an input must be read: where cores cannot wait for each other, no walk finds
        both the sums of rows and the sums of columns."""
        if self.chip.has_sync:
            return 1
        found = set()
        loop = self.form.loop
        for nest in self.form.nests:
            roots = [loop.stores[n].value
                     for step in nest.passes for n in step.stores + step.after]
            if any(isinstance(value, Load) and value.input == number
                   for value in needed(loop, roots)):
                found.add(nest.reduced)
        return max(1, len(found - {()}))

    def _bound(self, shapes: Sequence[Sequence[int]]) -> Tuple[Bound, Dict[str, int]]:
        """What shapes of the inputs bind, and the sizes of axes by name."""
        bound = self.spec.bind(shapes)
        return bound, dict(zip(self.kernel.loop.axes, bound.sizes))

    def _static(self) -> Tiling:
        """The launch that a kernel of static shapes is for."""
        bound, sizes = self._bound(self.case.dims)
        return tiling(self.kernel, sizes, bound.strides, self.chip.vector_cores)

    def _twin(self, inputs: Sequence[np.ndarray], want) -> TwinResult:
        bound, sizes = self._bound([array.shape for array in inputs])
        assert [list(array.shape) for array in want] == bound.outputs, bound.outputs
        form = self.form = self.kernel.at(sizes)
        tilings, _ = solve(form, sizes, self.chip.vector_cores)
        programs = [v[t.variant] for v, t in zip(form.variants, tilings)]
        self.chosen = tuple(program.variant for program in programs)
        return launch(self.kernel, self.source, self.chip, inputs, sizes, bound.strides, want)


def is_kernel_on(chip: str, case: Case) -> bool:
    """Whether a case is one kernel on the chip: its dtype is known there, and stages need cores
    that wait for each other."""
    try:
        check(case.lowered.kernel, chip)
    except Unsupported:
        return False
    return case.dtype in find_platform(chip).dtypes


def least_bytes(array: np.ndarray, item: int, block: int, cores: int) -> int:
    """Least traffic of a tensor where each of its rows moves in blocks of `block` bytes; one row,
    or a column, is cut for the cores."""
    cols = max(1, array.shape[-1]) if array.ndim else 1
    rows = array.size // cols
    if rows == 1 or cols == 1:
        rows = min(array.size, cores)
        cols = -(-array.size // max(1, rows))
    return rows * -(-cols * item // block) * block


def widened(loop: LoopKernel) -> LoopKernel:
    """The same with float32 in the place of narrower floats."""

    def wide_type(thing):
        return replace(thing, dtype="float32") if thing.dtype in NARROW_FLOATS else thing

    parts = {part: tuple(map(wide_type, getattr(loop, part)))
             for part in ("inputs", "outputs", "body")}
    return replace(loop, **parts)


def wide(array: np.ndarray, param: Param) -> np.ndarray:
    """An input of `widened`."""
    return interp.decode(array, param.dtype).astype(np.float32) if (
        param.dtype in NARROW_FLOATS) else array


def launch(kernel, source, chip, inputs, sizes, strides, want) -> TwinResult:
    """Run a printed kernel on all cores with the variants that its tiling chooses."""
    chosen = tiling(kernel, sizes, strides, chip.vector_cores)
    outputs = [(array.shape, param.dtype) for array, param in zip(want, kernel.loop.outputs)]
    return run_twin(
        source.text, source.entry, inputs, outputs, chosen.data, chosen.blocks, chip,
        chosen.workspace_bytes, tiling_key=chosen.key,
    )


def relative_error(got: np.ndarray, want: np.ndarray, dtype: str) -> float:
    """Largest error relative to the value, or to a twentieth of the largest one: what is left when
    rounded numbers nearly cancel has few right digits in any order of work."""
    got = interp.decode(got, dtype).astype(np.float64)
    want = interp.decode(want, dtype).astype(np.float64)
    if got.shape != want.shape or not np.array_equal(np.isnan(got), np.isnan(want)):
        return float("inf")
    finite = np.isfinite(want)
    if not np.array_equal(got[~finite & ~np.isnan(want)], want[~finite & ~np.isnan(want)]):
        return float("inf")
    if not finite.any():
        return 0.0
    scale = np.maximum(np.abs(want[finite]), 0.05 * np.abs(want[finite]).max() + 1e-30)
    return float((np.abs(got[finite] - want[finite]) / scale).max())
