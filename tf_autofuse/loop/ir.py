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

from dataclasses import dataclass, field, replace
from typing import List, Mapping, Optional, Sequence, Tuple

from tf_autofuse.loop.ops import Scalar
from tf_autofuse.loop.windows import Window

PARTS = "parts"
"""The axis of partial results: one for each core that had a share. Its size is the schedule's."""


@dataclass(frozen=True)
class Dim:
    """One dimension of a tensor in memory, or one factor of it.

    `axis` is None for a dimension of which one element is used. `maybe` marks a dimension that is
    either the size of the axis or 1 (a broadcast that only the run-time shape decides). `joined`
    marks a further, inner factor of the dimension before: [a0*a1] is one dimension. `windows` say
    which part of the dimension (of all its factors) is walked. A `maybe` dim that is a `guest` says
    nothing of the size of the axis: others do. Only loads have `maybe` dims and windows, and the
    mark `loose` that stays when axes are merged and windows are gone: neighbours along the axis are
    no neighbours in the dimension.
    """

    axis: Optional[str]
    maybe: bool = False
    joined: bool = False
    windows: Tuple[Window, ...] = ()
    loose: bool = False
    guest: bool = False

    def __str__(self) -> str:
        text = (self.axis or "-") + "".join(map(str, self.windows))
        return text + "!" * self.guest + "?" * (self.maybe and not self.guest) + "~" * self.loose

    @property
    def plain(self) -> bool:
        """Whether the axis walks the whole dimension as it lies."""
        return not (self.maybe or self.windows or self.loose)


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


def unit_axis(dims: Sequence[Dim]) -> Optional[str]:
    """The axis along which the elements of a load are neighbours, as far as `dims` tell."""
    last = dims[-1] if dims else None
    return None if last is None or last.maybe or last.loose else last.axis


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
    """Element of input number `input` at the point; `dims` gives the memory layout.

    The dims of a `moved` load stand in another order than the axes, or have windows: where its
    elements lie is said by the run-time table of the kernel. A load is zero, and reads nothing,
    where one of the `Inside` values `when` is false; it varies along their axes, too. `at` are
    pairs of an axis and the `Place` value that stands for the coordinate along it.
    """

    input: int = 0
    dims: Tuple[Dim, ...] = ()
    moved: bool = False
    when: Tuple[str, ...] = ()
    at: Tuple[Tuple[str, str], ...] = ()

    @property
    def args(self) -> Tuple[str, ...]:
        return self.when + tuple(name for _, name in self.at)

    @property
    def walked(self) -> Tuple[str, ...]:
        """The axes of the dims, in their order, but for those with a `Place`."""
        placed = [axis for axis, _ in self.at]
        return tuple(dim.axis for dim in self.dims
                     if dim.axis is not None and dim.axis not in placed)


@dataclass(frozen=True)
class Const(Value):
    """The same scalar everywhere; `value` is exact in `dtype`."""

    value: Scalar = 0


@dataclass(frozen=True)
class Index(Value):
    """The coordinate along the one axis of its domain, in an integer type."""


@dataclass(frozen=True)
class Count(Value):
    """How many points the axes `over` have together, in int32 (which wraps) or int64. It varies
    along no axis."""

    over: Tuple[str, ...] = ()


@dataclass(frozen=True)
class Inside(Value):
    """Whether the coordinate along the one axis of its domain is inside of interval `number`.

    The run-time table ends with the intervals: the first coordinate of each, and the one behind
    the last.
    """

    number: int = 0


@dataclass(frozen=True)
class Place(Value):
    """The int64 `operand` as a coordinate along `axis`, of which it has to be one: otherwise the
    kernel fails, and loads at this place read nothing. It varies with the operand alone."""

    operand: str = ""
    axis: str = ""

    @property
    def args(self) -> Tuple[str, ...]:
        return (self.operand,)


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
    """Reduction `op` of `loop.ops.REDUCE_OPS` of `operand` over the axes `over` of its domain.

    A mean of what was partly summed already divides by the points of the axes `counted`. One whose
    domain has PARTS gives a partial result for every share of `over`.
    """

    op: str = ""
    operand: str = ""
    over: Tuple[str, ...] = ()
    counted: Tuple[str, ...] = ()

    @property
    def args(self) -> Tuple[str, ...]:
        return (self.operand,)

    @property
    def partial(self) -> bool:
        """Whether the result has a part for every share of the reduced axes."""
        return PARTS in self.axes


def renamed(value: Value, names: Mapping[str, str]) -> Value:
    """The value, and what it is computed from, under the names that `names` gives."""
    name = names[value.name]
    if isinstance(value, Map):
        return replace(value, name=name, operands=tuple([names[arg] for arg in value.operands]))
    if isinstance(value, Load):
        return replace(value, name=name, when=tuple(names[arg] for arg in value.when),
                       at=tuple((axis, names[arg]) for axis, arg in value.at))
    if isinstance(value, (Place, Reduce)):
        return replace(value, name=name, operand=names[value.operand])
    return replace(value, name=name)


@dataclass(frozen=True)
class Store:
    """Write `value` to output number `output`, whose layout `dims` gives.

    Its axes hold those of the value; along the others the same element is written again. What a
    stage stores is there for loads of the stages after it.
    """

    output: int
    value: str
    dims: Tuple[Dim, ...]
    stage: int = 0

    @property
    def axes(self) -> Tuple[str, ...]:
        """The axes of the output, in kernel order."""
        return tuple(dim.axis for dim in self.dims if dim.axis is not None)


@dataclass(frozen=True)
class LoopKernel:
    """One cluster: parameters, axes in loop order, values in order of computation, stores.

    `fixed` holds sizes of axes that a run-time shape alone does not tell: factors of a dimension,
    and axes that no input has. `intervals` are those of the `Inside` values: how many coordinates
    of the axis lie before and behind each. Kernels with merged axes have neither.

    `repeats` are pairs of inputs, of which the second is the same tensor as the first, which comes
    before it: only where an operand may be broadcast, so that this matters.

    `temps` lie in memory while the kernel runs: number k is stored as output len(outputs) + k and
    loaded as input len(inputs) + k.
    """

    inputs: Tuple[Param, ...]
    outputs: Tuple[Param, ...]
    axes: Tuple[str, ...]
    body: Tuple[Value, ...]
    stores: Tuple[Store, ...]
    fixed: Tuple[Tuple[str, int], ...] = ()
    intervals: Tuple[Tuple[int, int], ...] = ()
    temps: Tuple[Param, ...] = ()
    repeats: Tuple[Tuple[int, int], ...] = ()

    @property
    def sources(self) -> Tuple[Param, ...]:
        """All that loads read, by number: inputs, then temps."""
        return self.inputs + self.temps

    @property
    def targets(self) -> Tuple[Param, ...]:
        """All that stores write, by number: outputs, then temps."""
        return self.outputs + self.temps

    @property
    def sized_axes(self) -> Tuple[str, ...]:
        """The axes whose sizes a launch gives."""
        return tuple(axis for axis in self.axes if axis != PARTS)

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

    @property
    def runtime_loads(self) -> Tuple[Load, ...]:
        """Loads with a row in the run-time table, in order of their inputs.

        A row holds the stride along every axis and the offset of the first point.
        """
        loads = {v.input: v for v in self.body if isinstance(v, Load)
                 and (v.moved or any(d.maybe for d in v.dims))}
        return tuple(loads[number] for number in sorted(loads))

    @property
    def insides(self) -> Tuple[Inside, ...]:
        """The `Inside` values in order of their intervals."""
        found = {value.number: value for value in self.body if isinstance(value, Inside)}
        return tuple(found[number] for number in sorted(found))
