"""Lowering: the operators of one cluster become one `LoopKernel`.

Axes are found by unification. Every dim of an outside tensor that is not 1 starts as an axis of
its own; operators that walk two dims together unify them. What cannot be unified (a square matrix
against its own transpose, say) raises `Unsupported` with a code, and the clusterer keeps those
operators apart.
"""
from __future__ import annotations

from contextlib import contextmanager
from typing import (
    Any,
    Dict,
    FrozenSet,
    Iterator,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    Set,
    Tuple,
)

from tf_autofuse.errors import Unsupported
from tf_autofuse.loop.axes import AxisTable, leads, topological
from tf_autofuse.loop.broadcasts import Broadcasts
from tf_autofuse.loop.finish import Finisher, Layout, LoweredKernel
from tf_autofuse.loop.fold import fold_reduction
from tf_autofuse.loop.ir import Scalar
from tf_autofuse.loop.ops import NARROW_FLOATS
from tf_autofuse.loop.rules import COMPARING_RULES, RULES
from tf_autofuse.loop.source import Operator, TensorInfo, TensorRef, told_by, told_symbols
from tf_autofuse.ops import OPS

Dims = Tuple[Optional[int], ...]
"""The axis ids of the dims of a tensor, None for a dim of size 1."""


class Tensor(NamedTuple):
    """A lowered tensor: the value that computes it, and its dims."""

    value: int
    dtype: str
    dims: Dims


class _Node(NamedTuple):
    """A value under construction; axis ids are resolved when the kernel is finished.

    `data` is the (number of the input, layout) of a load, the value of a constant, the axis of an
    index, (axis, before, behind) of an interval, the axis of a place, the reduced axes of a
    reduction, the symbols of a count. The `args` of a load are the intervals outside of which it
    reads nothing, and places.
    """

    kind: str
    op: str
    args: Tuple[int, ...]
    dtype: str
    axes: Tuple[int, ...]
    data: Any
    origin: str


def lower(
    operators: Sequence[Operator],
    outputs: Sequence[TensorRef],
    infos: Mapping[TensorRef, TensorInfo],
) -> LoweredKernel:
    """Lower `operators` (topological order) to one kernel that stores `outputs`.

    `infos` covers every tensor the operators read. Unsupported when they cannot be one kernel.
    """
    lowering = Lowering(infos, _symbols(operators, infos))
    for operator in operators:
        lowering.add(operator)
    return lowering.finish(outputs)


def _symbols(
    operators: Sequence[Operator], infos: Mapping[TensorRef, TensorInfo]
) -> FrozenSet[int]:
    """The sizes of run time that the tensors tell; none where nobody asks for a count of them."""
    read = [[infos[ref] for ref in operator.inputs if ref in infos] for operator in operators]
    if not any(info.count for found in read for info in found):
        return frozenset()
    return frozenset(size for operator, found in zip(operators, read) for size in told_symbols(
        operator.type, [info.dims for info in found], operator.out_dims))


class Lowering:
    """Builds the values of one kernel; rules in `loop.rules` call the methods below `add`."""

    def __init__(
        self, infos: Mapping[TensorRef, TensorInfo], symbols: FrozenSet[int] = frozenset()
    ):
        self._infos = infos
        self._symbols = symbols
        self._nodes: List[_Node] = []
        self._tensors: Dict[TensorRef, Tensor] = {}
        self._inputs: List[TensorRef] = []
        self._known: Dict[tuple, int] = {}
        self._loads: Dict[tuple, int] = {}
        self.axes = AxisTable()
        self._broadcasts = Broadcasts()
        self._origin = ""

    # ---- operators -------------------------------------------------------------------------

    def add(self, operator: Operator) -> None:
        """Lower one operator; its inputs are lowered tensors or become loads."""
        self._origin = operator.name
        info = OPS[operator.type]
        rule, _, argument = info.lower.partition(":")
        self.axes.measured |= rule not in COMPARING_RULES
        result = RULES[rule](self, operator, argument)
        tensors = result if isinstance(result, list) else [result]
        self._broadcasts.name_sizes(self, tensors[0].dims, operator.out_dims)
        for port, tensor in enumerate(tensors):
            self._tensors[(operator.name, port)] = tensor

    def tensor(self, ref: TensorRef) -> Tensor:
        """The lowered tensor of `ref`, loading it from outside at first use."""
        found = self._tensors.get(ref)
        if found is None:
            found = self._tensors[ref] = self._load(ref)
        return found

    def constant(self, ref: TensorRef) -> Optional[Scalar]:
        """Value of an outside one-element constant, None for any other tensor."""
        info = self._infos.get(ref)
        one = info is not None and all(size == 1 for size in info.dims or ())
        return info.const if info is not None and one else None

    def _load(self, ref: TensorRef) -> Tensor:
        info = self._infos[ref]
        if info.dims is None:
            raise Unsupported("%s:%d has unknown rank" % ref, node=self._origin, code="RANK")
        if info.const is not None:
            value = self.const(info.const, info.dtype).value
            dims = tuple(None if size == 1 else self.new_axis(size) for size in info.dims)
            return Tensor(value, info.dtype, dims)
        if info.count is not None and told_by(info.count, self._symbols):
            return self.counted(*info.count, dtype=info.dtype)
        dims = tuple(None if size == 1 else self.new_axis(size) for size in info.dims)
        layout = tuple((axis, False, ()) for axis in dims)
        return Tensor(self._new_load(ref, info.dtype, layout), info.dtype, dims)

    def _new_load(self, ref: TensorRef, dtype: str, layout, when: Tuple[int, ...] = ()) -> int:
        known = self._loads.get((ref, layout, when))
        if known is None:
            self._inputs.append(ref)
            args = [self._nodes[arg] for arg in when]
            placed = {self.axes.root(arg.data) for arg in args if arg.kind == "place"}
            axes = [axis for axis, _, _ in layout
                    if axis is not None and self.axes.root(axis) not in placed]
            axes += [axis for arg in args for axis in arg.axes]
            data = (len(self._inputs) - 1, layout)
            known = self._append("load", "", when, dtype, tuple(dict.fromkeys(axes)), data)
            self._loads[(ref, layout, when)] = known
        return known

    def load_again(self, node: _Node, layout: Layout, when: Tuple[int, ...]) -> int:
        """The input that the load `node` reads, walked in another way, where `when` says; the
        places among its args stand for the coordinates along their axes."""
        return self._new_load(self._inputs[node.data[0]], node.dtype, layout, when)

    # ---- values ----------------------------------------------------------------------------

    def const(self, value: Scalar, dtype: str) -> Tensor:
        """A scalar constant; `value` must be exact in `dtype`."""
        return Tensor(self._append("const", "", (), dtype, (), value), dtype, ())

    def counted(self, factor: int, symbols: Sequence[int], dtype: str) -> Tensor:
        """A product of sizes; which axes they are is known in the end."""
        count = Tensor(self._append("count", "", (), dtype, (), tuple(symbols)), dtype, ())
        return count if factor == 1 else self.map("mul", [count, self.const(factor, dtype)])

    def index(self, tensor: Tensor, position: int, dtype: str) -> Tensor:
        """Coordinate along a dim of `tensor`, in the dims of the whole; 0 along a dim of 1."""
        axis = tensor.dims[position]
        if axis is None:
            return self.const(0, dtype)
        dims = tuple(a if p == position else None for p, a in enumerate(tensor.dims))
        return Tensor(self._append("index", "", (), dtype, (axis,), axis), dtype, dims)

    def inside(self, axis: int, before: int, behind: int, rank: int, place: int) -> Tensor:
        """Whether the coordinate along `axis`, the dim at `place` of `rank` dims, has at least
        `before` coordinates before it and `behind` ones behind it."""
        data = (axis, before, behind)
        dims = tuple(axis if p == place else None for p in range(rank))
        return Tensor(self._append("inside", "", (), "bool", (axis,), data), "bool", dims)

    def place(self, tensor: Tensor, axis: int) -> Tensor:
        """An int64 tensor as coordinates along `axis`; the kernel fails where one is none."""
        axes = self._nodes[tensor.value].axes
        value = self._append("place", "", (tensor.value,), "int64", axes, axis)
        return tensor._replace(value=value)

    def map(self, op: str, args: Sequence[Tensor], dtype: Optional[str] = None) -> Tensor:
        """Element-wise `op`; operands of different shape are broadcast. `dtype` of the result."""
        args, dims = self.broadcast(args)
        dtype = dtype or args[-1].dtype
        axes = tuple(axis for axis in dims if axis is not None)
        index = self._append("map", op, tuple(arg.value for arg in args), dtype, axes, None)
        return Tensor(index, dtype, dims)

    def cast(self, tensor: Tensor, dtype: str) -> Tensor:
        """`tensor` in another dtype (itself when it has it already)."""
        return tensor if tensor.dtype == dtype else self.map("cast", [tensor], dtype)

    def widen(self, tensor: Tensor) -> Tensor:
        """float32 form of a 16-bit float, for arithmetic that rounds; others as they are."""
        return self.cast(tensor, "float32") if tensor.dtype in NARROW_FLOATS else tensor

    def reduce(
        self, op: str, tensor: Tensor, positions: Sequence[int], keep_dims: bool
    ) -> Tensor:
        """Reduce the dims at `positions`. Dims of size 1 reduce to themselves."""
        reduced = [tensor.dims[p] for p in positions]
        over = tuple(axis for axis in reduced if axis is not None)
        dims = self._reduced_dims(tensor, positions, keep_dims)
        if not over:
            return Tensor(tensor.value, tensor.dtype, dims)
        axes = tuple(axis for axis in dims if axis is not None)
        folded = fold_reduction(self, op, self._nodes[tensor.value], over)
        if folded is not None:
            index = self._append(
                "reduce", folded.op, (folded.value,), tensor.dtype, axes, folded.over)
            return self._times(Tensor(index, tensor.dtype, dims), folded.factor, folded.symbols)
        index = self._append("reduce", op, (tensor.value,), tensor.dtype, axes, over)
        return Tensor(index, tensor.dtype, dims)

    def _times(self, tensor: Tensor, factor: int, symbols: Sequence[int]) -> Tensor:
        """`tensor` times a product of sizes; 0 if one of `symbols` is."""
        if not symbols:
            return tensor if factor == 1 else self.map(
                "mul", [tensor, self.const(float(factor), tensor.dtype)])
        count = self.cast(self.counted(1, symbols, "int64"), tensor.dtype)
        count = self._times(count, factor, ())
        zero = self.const(0.0, tensor.dtype)
        return self.map("select", [self.map("ne", [count, zero], "bool"),
                                   self.map("mul", [tensor, count]), zero])

    @staticmethod
    def _reduced_dims(tensor: Tensor, positions: Sequence[int], keep_dims: bool):
        dims: List[Optional[int]] = []
        for position, axis in enumerate(tensor.dims):
            if position not in positions:
                dims.append(axis)
            elif keep_dims:
                dims.append(None)
        return tuple(dims)

    def _append(self, kind, op, args, dtype, axes, data) -> int:
        return self.append(_Node(kind, op, args, dtype, axes, data, self._origin))

    def append(self, node: _Node) -> int:
        """Number of the value; an equal one that is there already is taken."""
        # repr keeps 0.0 and -0.0, and 1 and True, apart.
        key = (node.kind, node.op, node.args, node.dtype, repr(node.data))
        known = self._known.get(key)
        if known is None:
            self._nodes.append(node)
            known = self._known[key] = len(self._nodes) - 1
        return known

    def node(self, value: int) -> _Node:
        """The value of that number."""
        return self._nodes[value]

    # ---- axes ------------------------------------------------------------------------------

    def new_axis(self, token: int) -> int:
        """An axis of a size, or of a symbol (negative), that is nobody else's yet."""
        return self.axes.new(token)

    def new_symbol(self) -> int:
        """A size that is known at run time only, and not known to equal any other."""
        return -1 - len(self.axes) - (1 << 40)

    def size(self, axis: int) -> int:
        """Size of an axis, or its symbol."""
        return self.axes.size(axis)

    def unify(self, left: Optional[int], right: Optional[int]) -> None:
        """Make two axes one; None (size 1) unifies with nothing."""
        if left is not None and right is not None:
            with self._blame():
                self.axes.unify(left, right)

    def reshape(self, tensor: Tensor, sizes: Sequence[int]) -> Tensor:
        """`tensor` with other dims over the same elements in row-major order."""
        dims = tuple(None if size == 1 else self.new_axis(size) for size in sizes)
        before, after = ([axis for axis in walk if axis is not None]
                         for walk in (tensor.dims, dims))
        with self._blame():
            self._broadcasts.settle(self, before, after)
            self.axes.match(before, after)
        return tensor._replace(dims=dims)

    @contextmanager
    def _blame(self) -> Iterator[None]:
        """What the axis table refuses is refused for the operator at hand."""
        try:
            yield
        except Unsupported as error:
            raise Unsupported(error.message, node=self._origin, code=error.code) from None

    def same_shape(self, args: Sequence[Tensor]) -> Sequence[Tensor]:
        """Unify all dims of operands that TensorFlow requires to have one shape."""
        if len({len(arg.dims) for arg in args}) != 1:
            raise Unsupported("operands of different rank", node=self._origin, code="SHAPE")
        for arg in args[1:]:
            for left, right in zip(args[0].dims, arg.dims):
                self.unify(left, right)
        return args

    def broadcast(self, args: Sequence[Tensor]):
        """Align the dims of `args` from the right and unify them: (args, dims of the result)."""
        first = args[0].dims
        if all(arg.dims == first for arg in args):
            return args, first
        args = list(args)
        rank = max(len(arg.dims) for arg in args)
        dims: List[Optional[int]] = []
        for position in range(-rank, 0):
            here = [
                (number, arg.dims[position])
                for number, arg in enumerate(args)
                if len(arg.dims) >= -position and arg.dims[position] is not None
            ]
            dims.append(self._broadcasts.join(self, args, position, here) if here else None)
        return [_aligned(arg, dims) for arg in args], tuple(dims)

    def refused(self, code: str, text: str) -> Unsupported:
        """What says that the operator at hand cannot be lowered."""
        return Unsupported(text, node=self._origin, code=code)

    # ---- the finished kernel ---------------------------------------------------------------

    def finish(self, outputs: Sequence[TensorRef]) -> LoweredKernel:
        """Resolve axes, drop what no output needs, and build the kernel."""
        self._merge_equal()
        live = self._live({self._tensors[ref].value for ref in outputs})
        order = self._axis_order(live, [self._tensors[ref].dims for ref in outputs])
        names = {root: "a%d" % i for i, root in enumerate(order)}
        return Finisher(self, live, names).build(outputs)

    def _merge_equal(self) -> None:
        """Values that are the same since their axes were unified become one: what was loaded along
        two axes is loaded once."""
        same: List[int] = []
        known: Dict[tuple, int] = {}
        for index, node in enumerate(self._nodes):
            node = self._settled(node._replace(args=tuple([same[arg] for arg in node.args])))
            data = self._rooted(node)
            if node.kind == "load":
                data = (self._inputs[node.data[0]], data)
            key = (node.kind, node.op, node.args, node.dtype, repr(data))
            same.append(known.setdefault(key, index))
            self._nodes[index] = node
        for ref, tensor in self._tensors.items():
            self._tensors[ref] = tensor._replace(value=same[tensor.value])

    def _settled(self, node: _Node) -> _Node:
        """The value; of a load with what is found out now about dims that may be broadcast."""
        if node.kind != "load" or not any(maybe for _, maybe, _ in node.data[1]):
            return node
        number, layout = node.data
        sizes = self._infos[self._inputs[number]].dims or ()
        layout = tuple(
            (axis, maybe and self._broadcasts.kind(self, axis, self.axes.resolved(size)), windows)
            for (axis, maybe, windows), size in zip(layout, sizes))
        return node._replace(data=(number, layout))

    def _rooted(self, node: _Node) -> Any:
        """The data of a value with the axes that stand for those it was made with."""
        root, data = self.axes.root, node.data
        if node.kind == "load":
            return tuple((None if axis is None else root(axis), maybe, windows)
                         for axis, maybe, windows in data[1])
        if node.kind == "inside":
            return (root(data[0]),) + data[1:]
        if node.kind in ("index", "place"):
            return root(data)
        return sorted(map(root, data)) if node.kind == "reduce" else data

    def _live(self, roots: Set[int]) -> List[int]:
        seen: Set[int] = set()
        stack = list(roots)
        while stack:
            index = stack.pop()
            if index not in seen:
                seen.add(index)
                stack.extend(self._nodes[index].args)
        return sorted(seen)

    def _axis_order(self, live: Sequence[int], stored: Sequence[Dims]) -> List[int]:
        """Axis roots in an order that all `stored` dims agree with, and loads if they can; those
        along which nothing varies, as there are places on them, come last."""
        after: Dict[int, Set[int]] = {}
        for dims in stored:
            self._follow(after, [axis for axis in dims if axis is not None], True)
        for index in live:
            node = self._nodes[index]
            axes = node.axes
            if node.kind == "load":
                axes = tuple(axis for axis, _, _ in node.data[1] if axis is not None)
            self._follow(after, axes, False)
            if node.kind in ("reduce", "place"):
                self._follow(after, node.data if node.kind == "reduce" else [node.data], False)
        domains = [self._nodes[index].axes for index in live] + list(stored)
        varying = {leaf for axes in domains for axis in axes if axis is not None
                   for leaf in self.axes.leaves(axis)}
        return sorted(topological(after), key=lambda root: root not in varying)

    def _follow(self, after: Dict[int, Set[int]], axes: Sequence[int], must: bool) -> None:
        """Let each of `axes` stand behind the one before, if no order so far forbids it."""
        roots = [leaf for axis in axes for leaf in self.axes.leaves(axis)]
        if len(set(roots)) != len(roots):
            raise Unsupported("two dims would be one axis", node=self._origin,
                              code="AXES_CONFLICT")
        for root in roots:
            after.setdefault(root, set())
        for first, second in zip(roots, roots[1:]):
            if not leads(after, second, first):
                after[first].add(second)
            elif must:
                raise Unsupported("axes in two orders", node=self._origin, code="AXES_ORDER")


def _aligned(tensor: Tensor, dims: List[Optional[int]]) -> Tensor:
    """`tensor` with the axis ids of the joined dims, so that equal layouts compare equal."""
    skip = len(dims) - len(tensor.dims)
    axes = tuple(
        None if axis is None else dims[skip + position]
        for position, axis in enumerate(tensor.dims)
    )
    return tensor._replace(dims=axes)
