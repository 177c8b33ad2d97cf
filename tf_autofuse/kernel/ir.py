"""Node classes of the kernel IR: one program of vector steps per loop nest.

A program works on tiles of two axes: `x`, the innermost axis of the nest, and `y`, the one before
it (or none). Block loops hand tiles of kept axes to cores; walk loops run over reduced axes inside
one block. A buffer has the shape of the tile axes its value varies with:

    yx     ty rows of tx elements, rows a pitch apart that keeps them aligned
    y, x   one element per row, or one row;   1   one element
    lanes  per row one vector register of partial results

Sizes are symbols: `ty` and `tx` are found at run time by the tiling function of the kernel.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import Optional, Tuple, Union

from tf_autofuse.kernel.nest import Nest
from tf_autofuse.loop.ir import Dim, LoopKernel

SHAPES = ("yx", "y", "x", "1", "lanes")
POSITIONS = ("VECIN", "VECOUT", "VECCALC")


@dataclass(frozen=True)
class SizeOf:
    """A scalar known at run time: the product of the sizes of `axes`."""

    axes: Tuple[str, ...]


StepScalar = Union[None, bool, int, float, SizeOf]


@dataclass(frozen=True)
class Buffer:
    """A tensor in UB. Buffers of one `slot` share memory, their lifetimes being disjoint.

    dtype `mask` holds one bit per element. Queue buffers (VECIN, VECOUT) have a slot each.
    """

    name: str
    position: str
    dtype: str
    shape: str
    slot: int


@dataclass(frozen=True)
class CopyIn:
    """GM tile of input number `input` to a VECIN buffer; `dims` is the layout in GM.

    A `maybe` dim has a stride that the launch decides: 0 repeats one element along the axis.
    """

    dst: str
    input: int
    dims: Tuple[Dim, ...]


@dataclass(frozen=True)
class CopyOut:
    """VECOUT buffer to the GM tile of output number `output`, which varies with `axes`."""

    src: str
    output: int
    axes: Tuple[str, ...]


@dataclass(frozen=True)
class Compute:
    """Vector instruction `op` of `kernel.vector.VECTOR_OPS` on buffers of one shape."""

    op: str
    dst: str
    srcs: Tuple[str, ...]
    scalar: StepScalar = None


@dataclass(frozen=True)
class Broadcast:
    """Repeat `src` (shape y, x or 1) over the shape of `dst`."""

    dst: str
    src: str


@dataclass(frozen=True)
class Fill:
    """Every element of `dst` becomes `scalar`."""

    dst: str
    scalar: StepScalar


@dataclass(frozen=True)
class Accumulate:
    """Fold a tile into an accumulator: rows into lanes (y, lanes) or all rows into one (x)."""

    op: str
    dst: str
    src: str


@dataclass(frozen=True)
class Finish:
    """Reduce the lanes of `src` to one element per row of `dst`."""

    op: str
    dst: str
    src: str


@dataclass(frozen=True)
class Loop:
    """Steps for every point (or tile, for the axes y and x) of `axes`.

    kind `block`: iterations are independent and dealt out to cores. kind `walk`: in sequence.
    """

    kind: str
    axes: Tuple[str, ...]
    body: Tuple["Step", ...]


Step = Union[CopyIn, CopyOut, Compute, Broadcast, Fill, Accumulate, Finish, Loop]


@dataclass(frozen=True)
class Program:
    """The vector program of one nest. `template` names its form for people and tiling keys."""

    nest: Nest
    template: str
    y: Optional[str]
    x: Optional[str]
    buffers: Tuple[Buffer, ...]
    steps: Tuple[Step, ...]
    queue_depth: int

    def buffer(self, name: str) -> Buffer:
        """The buffer called `name`; KeyError when there is none."""
        for buffer in self.buffers:
            if buffer.name == name:
                return buffer
        raise KeyError(name)


@dataclass(frozen=True)
class Kernel:
    """A scheduled loop kernel: what to compute and, nest by nest, how."""

    loop: LoopKernel
    platform: str
    programs: Tuple[Program, ...]

    @property
    def nests(self) -> Tuple[Nest, ...]:
        return tuple(program.nest for program in self.programs)


def walk_steps(steps: Tuple[Step, ...]):
    """All steps in order, loops before their bodies."""
    for step in steps:
        yield step
        if isinstance(step, Loop):
            yield from walk_steps(step.body)


def written(step: Step) -> Optional[str]:
    """The buffer a step writes, if any."""
    return None if isinstance(step, (CopyOut, Loop)) else step.dst


def read(step: Step) -> Tuple[str, ...]:
    """The buffers a step reads."""
    if isinstance(step, Compute):
        return step.srcs
    if isinstance(step, Accumulate):
        return (step.dst, step.src)
    if isinstance(step, (Broadcast, Finish, CopyOut)):
        return (step.src,)
    return ()
