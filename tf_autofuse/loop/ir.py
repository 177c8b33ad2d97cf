"""Node classes of the loop IR.

A `LoopKernel` is a list of values in SSA form over named axes. Every value has a *domain*: the
axes it varies over, in kernel axis order. A value used under a larger domain is broadcast. Axis
sizes are not part of the IR; they arrive at run time, so one kernel serves every shape of its
structure.

    loop {
      in0: float16, in1: float32
      out0: float32
      axes a0 a1
      %0 = load in0 [a0, a1] : float16
      %1 = abs %0 : float16 [a0, a1]
      %2 = cast %1 : float32 [a0, a1]
      %3 = load in1 [a1?] : float32
      %4 = add %2 %3 : float32 [a0, a1]
      %5 = sum %4 over a1 : float32 [a0]
      store out0 [a0] %5
    }
"""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import List, Optional, Sequence, Tuple

from tf_autofuse.loop.ops import Scalar


@dataclass(frozen=True)
class Dim:
    """One dimension of a tensor in memory, or one factor of it.

    `axis` is None for a dimension of size 1. `maybe` marks a dimension that is either the size of
    the axis or 1 (a broadcast that only the run-time shape decides); only loads may have one.
    `joined` marks a further, inner factor of the dimension before: [a0*a1] is one dimension.
    """

    axis: Optional[str]
    maybe: bool = False
    joined: bool = False

    def __str__(self) -> str:
        if self.axis is None:
            return "-"
        return self.axis + ("?" if self.maybe else "")


def print_dims(dims: Sequence[Dim]) -> str:
    """[a0, a1*a2, -]"""
    text = "".join(("*" if dim.joined else ", ") + str(dim) for dim in dims)
    return "[%s]" % text[2:]


def whole_dims(dims: Sequence[Dim]) -> List[List[Dim]]:
    """The factors of every dimension of a tensor: as many lists as it has dimensions."""
    found: List[List[Dim]] = []
    for dim in dims:
        if dim.joined:
            found[-1].append(dim)
        else:
            found.append([dim])
    return found


@dataclass(frozen=True)
class Param:
    """A tensor in global memory that the kernel reads or writes, row-major and dense."""

    name: str
    dtype: str


@dataclass(frozen=True)
class Value:
    """A scalar computed for every point of its domain. `origin` names the source operator."""

    name: str
    dtype: str
    axes: Tuple[str, ...]
    origin: str = field(default="", compare=False)

    @property
    def args(self) -> Tuple[str, ...]:
        return ()


@dataclass(frozen=True)
class Load(Value):
    """Element of input number `input` at the point; `dims` gives the memory layout."""

    input: int = 0
    dims: Tuple[Dim, ...] = ()


@dataclass(frozen=True)
class Const(Value):
    """The same scalar everywhere; `value` is exact in `dtype`."""

    value: Scalar = 0


@dataclass(frozen=True)
class Index(Value):
    """The coordinate along the one axis of its domain, in an integer type."""


@dataclass(frozen=True)
class Map(Value):
    """Element-wise operation `op` of `loop.ops.MAP_OPS` (including `cast`) on `operands`."""

    op: str = ""
    operands: Tuple[str, ...] = ()

    @property
    def args(self) -> Tuple[str, ...]:
        return self.operands


@dataclass(frozen=True)
class Reduce(Value):
    """Reduction `op` of `loop.ops.REDUCE_OPS` of `operand` over the axes `over` of its domain."""

    op: str = ""
    operand: str = ""
    over: Tuple[str, ...] = ()

    @property
    def args(self) -> Tuple[str, ...]:
        return (self.operand,)


@dataclass(frozen=True)
class Store:
    """Write `value` to output number `output`; the axes of `dims` are the domain of the value."""

    output: int
    value: str
    dims: Tuple[Dim, ...]


@dataclass(frozen=True)
class LoopKernel:
    """One cluster: parameters, axes in loop order, values in order of computation, stores.

    `fixed` holds sizes of axes that a run-time shape alone does not tell: factors of a dimension.
    """

    inputs: Tuple[Param, ...]
    outputs: Tuple[Param, ...]
    axes: Tuple[str, ...]
    body: Tuple[Value, ...]
    stores: Tuple[Store, ...]
    fixed: Tuple[Tuple[str, int], ...] = ()

    def value(self, name: str) -> Value:
        """The value called `name`; KeyError when there is none."""
        for value in self.body:
            if value.name == name:
                return value
        raise KeyError(name)

    @property
    def reduce_axes(self) -> Tuple[str, ...]:
        """Axes that some reduction runs over, in kernel order."""
        over = {axis for v in self.body if isinstance(v, Reduce) for axis in v.over}
        return tuple(axis for axis in self.axes if axis in over)

    @property
    def maybe_axes(self) -> Tuple[str, ...]:
        """Axes along which some load is broadcast or not, as the run-time shape decides."""
        maybe = {d.axis for v in self.body if isinstance(v, Load) for d in v.dims if d.maybe}
        return tuple(axis for axis in self.axes if axis in maybe)
