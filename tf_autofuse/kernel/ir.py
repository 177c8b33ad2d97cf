"""Node classes of the kernel IR: for each loop nest one or more programs of vector steps.

The programs of a nest are variants that compute the same; the tiling function picks one for the
sizes at hand. A program works on tiles of two axes: `x`, the innermost axis of the nest, and `y`,
the one before it (or none). Variants:

    stream    walks over the reduced axes tile by tile, once per pass
    resident  the tile holds the whole reduced axis: inputs are read once for all passes
    kept      like stream, but tiles that are needed again stay in UB: inputs are read once
    split     like stream, but several cores share one walk; partial results meet in workspace
    shared    like split, and each core keeps the tiles of its one part in UB

A buffer has the shape of the tile axes its value varies with:

    yx     ty rows of tx elements, rows a pitch apart that keeps them aligned
    y, x   one element per row, or one row;   1   one element
    lanes  per row one vector register of partial results;   lane   one register for the tile
    pyx, py, px, p1   one of these for each of the parts at hand, in whole blocks

Sizes are symbols: `ty` and `tx` are found at run time by the tiling function of the kernel.
"""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Mapping, NamedTuple, Optional, Tuple, Union

from tf_autofuse.kernel.nest import Nest
from tf_autofuse.loop.ir import Dim, LoopKernel

SHAPES = ("yx", "y", "x", "1", "lanes", "lane", "pyx", "py", "px", "p1")
POSITIONS = ("VECIN", "VECOUT", "VECCALC", "KEPT")
VARIANTS = ("stream", "resident", "kept", "split", "shared")
SPLIT_VARIANTS = ("split", "shared")
KEEPING_VARIANTS = ("kept", "shared")


@dataclass(frozen=True)
class SizeOf:
    """A scalar known at run time: the product of the sizes of `axes`."""

    axes: Tuple[str, ...]


@dataclass(frozen=True)
class TileOf:
    """A scalar known at run time: the number of points of `axes` in the tile at hand."""

    axes: Tuple[str, ...]


@dataclass(frozen=True)
class EdgeOf:
    """A scalar known at run time: how far from the start of the tile along `axis` the interval
    `number` begins (`end` "low") or has ended ("high")."""

    number: int
    end: str
    axis: str


StepScalar = Union[None, bool, int, float, SizeOf, TileOf, EdgeOf]


@dataclass(frozen=True)
class Buffer:
    """A tensor in UB. Buffers of one `slot` share memory, their lifetimes being disjoint.

    dtype `mask` holds one bit per element. Queue buffers (VECIN, VECOUT) have a slot each; where
    they lie is said by `kernel.layout`. A KEPT buffer is there once for each tile of the walk: what
    one walk has copied in is found by the next walks. `origin` names the operator the buffer
    belongs to.
    """

    name: str
    position: str
    dtype: str
    shape: str
    slot: int
    origin: str = field(default="", compare=False)


class Placed(NamedTuple):
    """The coordinate along `axis` is read from input number `input`, which varies along `axes`."""

    axis: str
    input: int
    axes: Tuple[str, ...]


@dataclass(frozen=True)
class CopyIn:
    """GM tile of input number `input` to a VECIN or KEPT buffer; `dims` is the layout in GM.

    A `maybe` dim has a stride that the launch decides: 0 repeats one element along the axis. Where
    the elements of a `moved` one lie is said by the run-time table. Outside of the intervals
    `when` (number, axis) nothing is read and zeros come; along an axis of the tile that `dst` lacks
    all is read if a point of the tile is inside. Zeros also come where the coordinate `at` is none;
    its dim is not one of `dims`.
    """

    dst: str
    input: int
    dims: Tuple[Dim, ...]
    moved: bool = False
    when: Tuple[Tuple[int, str], ...] = ()
    at: Optional[Placed] = None

    @property
    def axes(self) -> Tuple[str, ...]:
        """The axes that what is read varies along."""
        found = [dim.axis for dim in self.dims if dim.axis is not None]
        found += [axis for _, axis in self.when] + list(self.at.axes if self.at else ())
        return tuple(dict.fromkeys(found))


@dataclass(frozen=True)
class Points:
    """Coordinates along the tile axis `axis`: those of the loop, or counted from the tile."""

    dst: str
    axis: str
    counted: bool = False


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
    """Fold a tile into an accumulator: each row into its lanes, all rows into one (x) or into
    one register (lane); or all parts at hand into one.

    The tile is folded by halves first, so that rounding errors stay small. `scratch` is a buffer
    of the shape of `src` that this may destroy; there is none when the shapes are equal.
    """

    op: str
    dst: str
    src: str
    scratch: str = ""


@dataclass(frozen=True)
class Finish:
    """Reduce the lanes of `src` to one element per row of `dst`; `blocks`: block by block, 8 rows
    at a time."""

    op: str
    dst: str
    src: str
    blocks: bool = False


@dataclass(frozen=True)
class LoadPart:
    """The tile of partial result `number` as each of the parts at hand has stored it."""

    dst: str
    number: int
    axes: Tuple[str, ...]


@dataclass(frozen=True)
class StorePart:
    """VECOUT buffer to the tile of partial result `number`, in the place of this part."""

    src: str
    number: int
    axes: Tuple[str, ...]


@dataclass(frozen=True)
class Sync:
    """All cores wait for each other; what they stored is visible to all."""


@dataclass(frozen=True)
class Loop:
    """Steps for every point (or tile, for the axes y and x) of `axes`.

    kind `block`: iterations are independent and dealt out to cores.
    kind `split`: as `block`, and each iteration is cut in parts that share the walks inside.
    kind `walk`: in sequence, the last axis fastest; inside `split` only over the share of the part.
    kind `hold`: not a loop: the body is run when a coordinate of `axes` is another one than when
    it ran last since the loop around it began, and its buffers keep their contents in between.
    kind `parts`: over the parts of a split, in order, as many at a time as buffers have room for.
    kind `core`: once on each core that has a share of the block loop inside, whose number is the
    coordinate of PARTS. What its body makes before that loop is there for all tasks.
    kind `strips`: as `core` for groups of tasks, whose number is the coordinate of PARTS, and for
    each tile of the reduced axes: several cores share the tasks of a group.
    """

    kind: str
    axes: Tuple[str, ...]
    body: Tuple["Step", ...]


Step = Union[CopyIn, CopyOut, Points, Compute, Broadcast, Fill, Accumulate, Finish, LoadPart,
             StorePart, Sync, Loop]


@dataclass(frozen=True)
class Program:
    """A vector program of nest `number`. `template` names the form of the nest for people."""

    nest: Nest
    number: int
    template: str
    variant: str
    y: Optional[str]
    x: Optional[str]
    buffers: Tuple[Buffer, ...]
    steps: Tuple[Step, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "_named", {buffer.name: buffer for buffer in self.buffers})

    @property
    def strips(self) -> bool:
        """Whether groups of cores share the rows of a nest with reductions over its kept axes."""
        return self.nest.crosses and self.variant in SPLIT_VARIANTS

    def buffer(self, name: str) -> Buffer:
        """The buffer called `name`; KeyError when there is none."""
        return self._named[name]  # type: ignore[attr-defined]


@dataclass(frozen=True)
class Kernel:
    """A scheduled loop kernel: what to compute and, nest by nest, how.

    `programs` are in order of nests; the first one of a nest runs for all sizes. Where some axes
    have one point, the last one of `thin` that is for these runs instead.
    """

    loop: LoopKernel
    platform: str
    programs: Tuple[Program, ...]
    thin: Tuple["Thin", ...] = ()

    @property
    def forms(self) -> Tuple["Kernel", ...]:
        """The kernel itself and those of `thin`: one of them runs."""
        return (self,) + tuple(thin.kernel for thin in self.thin)

    def at(self, sizes: Mapping[str, int]) -> "Kernel":
        """The form that runs for these sizes of axes."""
        for thin in reversed(self.thin):
            if all(sizes[axis] == 1 for axis in thin.ones):
                return thin.kernel
        return self

    @property
    def nests(self) -> Tuple[Nest, ...]:
        return tuple(variants[0].nest for variants in self.variants)

    @property
    def variants(self) -> Tuple[Tuple[Program, ...], ...]:
        """The programs of each nest."""
        count = 1 + max(program.number for program in self.programs)
        return tuple(tuple(p for p in self.programs if p.number == n) for n in range(count))


class Thin(NamedTuple):
    """What runs where each of the axes `ones` has one point: a kernel of the same parameters, axes
    and run-time table, in which nothing varies along these (`loop.thin`)."""

    ones: Tuple[str, ...]
    kernel: Kernel


def walk_steps(steps: Tuple[Step, ...]):
    """All steps in order, loops before their bodies."""
    for step in steps:
        yield step
        if isinstance(step, Loop):
            yield from walk_steps(step.body)


def written(step: Step) -> Optional[str]:
    """The buffer a step writes, if any."""
    return None if isinstance(step, (CopyOut, StorePart, Sync, Loop)) else step.dst


def read(step: Step) -> Tuple[str, ...]:
    """The buffers a step reads."""
    if isinstance(step, Compute):
        return step.srcs
    if isinstance(step, Accumulate):
        return (step.dst, step.src)
    if isinstance(step, (Broadcast, Finish, CopyOut, StorePart)):
        return (step.src,)
    return ()
