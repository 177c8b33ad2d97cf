"""The last step of lowering: live nodes become IR values with named axes."""
from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from tf_autofuse.errors import Unsupported
from tf_autofuse.loop.ir import (
    Const,
    Count,
    Dim,
    Index,
    Inside,
    Load,
    LoopKernel,
    Map,
    Param,
    Place,
    Reduce,
    Store,
    Value,
    whole_dims,
)
from tf_autofuse.loop.source import TensorRef
from tf_autofuse.loop.spec import input_dims
from tf_autofuse.loop.windows import Window, unit_step

GUEST = 2
Layout = Sequence[Tuple[Optional[int], int, Tuple[Window, ...]]]
"""How a tensor is walked: per dim the axis id, whether it may be broadcast (GUEST: to a size that
others tell), and windows."""


class LoweredKernel(NamedTuple):
    """`inputs` names the outside tensor of each kernel input, `outputs` of each output; `sizes`
    holds per axis of the kernel its size, or the negative symbol of a size of run time. Where it is
    not `measured`, other sizes, equal where these are, would give the same kernel."""

    kernel: LoopKernel
    inputs: Tuple[TensorRef, ...]
    outputs: Tuple[TensorRef, ...]
    sizes: Tuple[int, ...]
    measured: bool = True


def _repeats(refs: Sequence[TensorRef], body: Sequence[Value]) -> Tuple[Tuple[int, int], ...]:
    """Pairs of inputs with one tensor, if one of all inputs may be broadcast."""
    if not any(dim.maybe for value in body if isinstance(value, Load) for dim in value.dims):
        return ()
    return tuple((refs.index(ref), number) for number, ref in enumerate(refs)
                 if refs.index(ref) != number)


class Finisher:
    """Turns the live nodes of a lowering into IR values with named axes."""

    def __init__(self, lowering: Any, live: Sequence[int], names: Dict[int, str]):
        self._low = lowering
        self._live = live
        self._names = names
        self._order = tuple(names.values())
        loads = [i for i in live if lowering._nodes[i].kind == "load"]
        self._input_number = {
            lowering._nodes[i].data[0]: number for number, i in enumerate(loads)
        }
        self._values: Dict[int, Value] = {}
        self._intervals: List[Tuple[int, int]] = []

    def build(self, outputs: Sequence[TensorRef]) -> LoweredKernel:
        for number, index in enumerate(self._live):
            self._values[index] = self._value("v%d" % number, self._low._nodes[index])
        refs = [self._low._inputs[old] for old in self._input_number]
        params = tuple(
            Param("in%d" % i, self._low._infos[ref].dtype) for i, ref in enumerate(refs)
        )
        tensors = [self._low._tensors[ref] for ref in outputs]
        results = tuple(Param("out%d" % i, t.dtype) for i, t in enumerate(tensors))
        stores = tuple(
            Store(i, self._values[tensor.value].name, self._dims([(axis, False, ())
                                                                  for axis in tensor.dims]))
            for i, tensor in enumerate(tensors)
        )
        body = tuple(self._values[index] for index in self._live)
        kernel = LoopKernel(params, results, self._order, body, stores, self._fixed(body),
                            tuple(self._intervals), repeats=_repeats(refs, body))
        self._check_bound(kernel)
        sizes = tuple(self._low.size(root) for root in self._names)
        return LoweredKernel(kernel, tuple(refs), tuple(outputs), sizes, self._low.axes.measured)

    def _fixed(self, body: Sequence[Value]) -> Tuple[Tuple[str, int], ...]:
        """Static sizes of axes that no input is sure to tell: they are only ever factors of a dim,
        or every dim of theirs may be 1 at run time, or there is none."""
        layouts = [whole_dims(value.dims) for value in body if isinstance(value, Load)]
        dims = [dim for layout in layouts for dim in layout]
        told = {dim[0].axis for dim in dims if len(dim) == 1 and not dim[0].maybe}
        sizes = {name: self._low.size(root) for root, name in self._names.items()}
        return tuple((name, sizes[name]) for name in self._order
                     if name not in told and sizes[name] >= 0)

    def _check_bound(self, kernel: LoopKernel) -> None:
        """Every size of run time must follow from the shapes of the inputs."""
        dims = [dim for layout in input_dims(kernel) for dim in whole_dims(layout)]
        if any(dim[0].maybe for dim in dims) and any(len(dim) > 1 for dim in dims):
            raise Unsupported("a broadcast of run time together with a reshape",
                              node=self._live_origin(), code="RESHAPE")
        products = [{factor.axis for factor in dim} for dim in dims if len(dim) > 1]
        known = {dim[0].axis for dim in dims if len(dim) == 1 and not dim[0].guest}
        known |= {name for name, _ in kernel.fixed}
        solved = True
        while solved:
            solved = False
            for product in products:
                if len(product - known) == 1:
                    known |= product
                    solved = True
        if any(product - known for product in products):
            raise Unsupported("run-time sizes do not tell the factors of a dim",
                              node=self._live_origin(), code="RESHAPE")
        if set(kernel.axes) - known:
            raise Unsupported("the size of a dim comes from no input", node=self._live_origin(),
                              code="SIZE_UNKNOWN")

    def _live_origin(self) -> str:
        return self._low._nodes[self._live[-1]].origin

    def _leaves(self, axis: int) -> List[int]:
        return self._low.axes.leaves(axis)

    def _dims(self, layout: Layout, placed: Sequence[str] = ()) -> Tuple[Dim, ...]:
        """One element of a larger dim puts the elements of the dims before it apart; along an axis
        of `placed` there are no neighbours."""
        dims: List[Dim] = []
        apart = False
        for axis, maybe, windows in reversed(layout):
            if axis is None:
                dims.append(Dim(None, windows=windows))
                apart = apart or bool(windows)
                continue
            leaves = self._leaves(axis)
            for number, leaf in reversed(list(enumerate(leaves))):
                loose = not unit_step(windows) or (apart and number == len(leaves) - 1) or (
                    self._names[leaf] in placed)
                dims.append(Dim(self._names[leaf], bool(maybe), number > 0,
                                () if number else windows, loose, maybe == GUEST))
            apart = False
        return tuple(reversed(dims))

    def _axes(self, axes) -> Tuple[str, ...]:
        named = {self._names[leaf] for axis in axes if axis is not None
                 for leaf in self._leaves(axis)}
        return tuple(name for name in self._order if name in named)

    def _axis(self, axis: int, node: Any) -> str:
        """Name of an axis along which there is a position."""
        leaves = self._leaves(axis)
        if len(leaves) > 1:
            raise Unsupported("a position along a dim that a reshape cuts",
                              node=node.origin, code="RESHAPE")
        return self._names[leaves[0]]

    def _value(self, name: str, node: Any) -> Value:
        args = tuple(self._values[index].name for index in node.args)
        common = {"origin": node.origin}
        if node.kind == "load":
            number, layout = node.data
            nodes = [self._low._nodes[index] for index in node.args]
            at = tuple((self._axis(other.data, node), arg) for other, arg in zip(nodes, args)
                       if other.kind == "place")
            args = tuple(arg for other, arg in zip(nodes, args) if other.kind == "inside")
            dims = self._dims(layout, [axis for axis, _ in at])
            walked = [dim.axis for dim in dims if dim.axis is not None]
            # A place that is a constant varies along no axis.
            domain = set(walked).difference(axis for axis, _ in at).union(
                *[self._values[index].axes for index in node.args])
            axes = tuple(axis for axis in self._order if axis in domain)
            in_order = walked == [axis for axis in self._order if axis in walked]
            moved = not in_order or any(dim.windows for dim in dims)
            return Load(name, node.dtype, axes, input=self._input_number[number], dims=dims,
                        moved=moved, when=args, at=at, **common)
        if node.kind == "const":
            return Const(name, node.dtype, (), value=node.data, **common)
        if node.kind == "count":
            return Count(name, node.dtype, (), over=self._counted(node), **common)
        if node.kind == "index":
            return Index(name, node.dtype, (self._axis(node.axes[0], node),), **common)
        if node.kind == "inside":
            self._intervals.append(node.data[1:])
            return Inside(name, node.dtype, (self._axis(node.axes[0], node),),
                          number=len(self._intervals) - 1, **common)
        if node.kind == "place":
            return Place(name, node.dtype, self._values[node.args[0]].axes, operand=args[0],
                         axis=self._axis(node.data, node), **common)
        if node.kind == "reduce":
            return self._reduce(name, node, args)
        domain = {axis for index in node.args for axis in self._values[index].axes}
        axes = tuple(axis for axis in self._order if axis in domain)
        return Map(name, node.dtype, axes, op=node.op, operands=args, **common)

    def _counted(self, node: Any) -> Tuple[str, ...]:
        """The axes whose sizes the symbols of a count are."""
        axes = self._low.axes
        known = {axes.size(axis): axes.leaves(axis) for axis in range(len(axes))
                 if set(axes.leaves(axis)) <= set(self._names)}
        parts = [known.get(axes.resolved(symbol), []) for symbol in node.data]
        found = [leaf for leaves in parts for leaf in leaves]
        if [] in parts or len(set(found)) < len(found):
            raise Unsupported("the size of a dim comes from no input", node=node.origin,
                              code="SIZE_UNKNOWN")
        return self._axes(found)

    def _reduce(self, name: str, node: Any, args: Tuple[str, ...]) -> Value:
        operand = self._values[node.args[0]]
        over = self._axes(node.data)
        if not set(over) <= set(operand.axes):
            raise Unsupported(
                "reduces an axis its operand is constant along",
                node=node.origin,
                code="REDUCE_BROADCAST",
            )
        axes = tuple(axis for axis in operand.axes if axis not in over)
        return Reduce(
            name, node.dtype, axes, op=node.op, operand=args[0], over=over, origin=node.origin
        )
