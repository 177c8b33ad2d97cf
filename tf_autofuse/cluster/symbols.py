"""Sizes of run time that are equal, though TensorFlow's shape functions do not see it.

    [s, 16, 64] -> reshape [v, 64] -> reshape [u, 16, 64]        v = 16 * s, u = s
    x [s, 64] + y [u, 64] -> [w, 64], where u = s                w = s

What a broadcast adds up in its gradient is then known as well: the axes of a ReduceSum that
BroadcastGradientArgs computes from two shapes. Nothing is guessed: no size is divided by another
one that may be 0.
"""
from __future__ import annotations

from dataclasses import replace
from typing import Dict, Optional, Sequence, Tuple

from tf_autofuse.cluster.view import GraphView, ViewNode, read_attr
from tf_autofuse.errors import Unsupported
from tf_autofuse.ge.reading import CONST_TYPES
from tf_autofuse.loop.rules.moves import entries
from tf_autofuse.loop.source import TensorInfo, TensorRef
from tf_autofuse.loop.windows import Window
from tf_autofuse.ops import ALIGNED_RULES, BROADCAST, ELEMENTWISE, OPS

Dims = Tuple[int, ...]
Product = Tuple[int, Dims]
"""A factor and symbols in order."""

_SHAPED = {"BroadcastTo": 1, "Fill": 0}
"""The input that holds the shape of the result."""

MAX_SIZES = 16
"""Elements of a constant that may be a shape."""

MAX_WALKS = 4
"""Walks over a graph; bounds the time."""

_SIZE_TYPES = ("int32", "int64")  # narrower ones wrap
_WHOLE = Window("slice", None, None, 1)
_EXACT = 1 << 24  # below it, float32 holds every integer
_SIZES = frozenset(
    ("ReduceProd", "Size", "Cast", "Identity", "StridedSlice", "GatherV2", "ExpandDims", "Reshape",
     "Squeeze", "Pack", "ConcatV2", "DynamicStitch"))
"""Types that make sizes of sizes."""
_MATRIX_PRODUCTS = frozenset(("BatchMatMulV2", "BatchMatMul"))


def refine(view: GraphView, order: Sequence[int]) -> None:
    """Put what is found into the infos and axes of `view`; `order` is topological."""
    if any(min(info.dims or (0,)) < 0 for info in view.infos.values()):
        _Refiner(view).run(order)


class _Refiner:
    def __init__(self, view: GraphView):
        self._view = view
        self._same: Dict[int, int] = {}
        self._products: Dict[int, Product] = {}
        self._symbols: Dict[Product, int] = {}

    def run(self, order: Sequence[int]) -> None:
        for _ in range(MAX_WALKS):  # what is found late may tell more about what came before
            known = len(self._same)
            for index in order:
                self._visit(self._view.nodes[index])
            if len(self._same) == known:
                break
        infos = self._view.infos
        for ref, info in infos.items():
            if min(info.dims or (0,)) < 0:
                infos[ref] = TensorInfo(info.dtype, self._dims(ref), info.const)
        for index in order:
            self._size(self._view.nodes[index])
            self._math(self._view.nodes[index])
        self._view.nodes = [self._told(node) for node in self._view.nodes]

    def _told(self, node: ViewNode) -> ViewNode:
        """The node with what was found; a sum over nothing moves nothing, as a reshape."""
        outputs = tuple(self._view.infos[(node.name, port)] for port in range(len(node.outputs)))
        nothing = self._view.axes.get(node.name) == ()
        return replace(node, outputs=outputs, type="Reshape" if nothing else node.type)

    def _visit(self, node: ViewNode) -> None:
        if not node.outputs or not node.inputs or None in node.inputs:
            return
        if node.type == "Reshape":
            self._reshape(node)
        elif node.type == "StridedSlice":
            self._part(node)
        elif node.type in _SHAPED:
            self._named((node.name, 0), node.inputs[_SHAPED[node.type]])
        elif node.type in _MATRIX_PRODUCTS:
            self._broadcast((node.name, 0), node.inputs, 2)
        elif node.type == "ReduceSum":
            self._unbroadcast(node)
        elif node.type in OPS and OPS[node.type].lower.partition(":")[0] in ALIGNED_RULES:
            self._broadcast((node.name, 0), node.inputs, 0)

    # ---- sizes -----------------------------------------------------------------------------

    def _dims(self, ref: Optional[TensorRef]) -> Optional[Dims]:
        dims = self._view.infos[ref].dims if ref is not None else None
        return None if dims is None else tuple(map(self._root, dims))

    def _root(self, size: int) -> int:
        while size in self._same:
            size = self._same[size]
        return size

    def _equal(self, size: int, other: int) -> None:
        """`size`, a symbol, is `other`."""
        size, other = self._root(size), self._root(other)
        if size < 0 and size != other:
            self._same[size] = other

    def _reshape(self, node: ViewNode) -> None:
        """Sizes that the shape names, and the one that follows from the number of elements."""
        before, after = self._dims(node.inputs[0]), self._dims((node.name, 0))
        if before is None or after is None:
            return
        self._named((node.name, 0), node.inputs[1])
        after = tuple(map(self._root, after))
        unknown = [size for size in after if size < 0]
        factor, symbols = self._product(before)
        rest, _ = self._product([max(size, 1) for size in after])
        if 0 in after or len(unknown) != 1 or not symbols or factor % rest:
            return
        self._is_product(unknown[0], (factor // rest, symbols))

    def _named(self, ref: TensorRef, shape: Optional[TensorRef]) -> None:
        """The dims of a tensor are the numbers in `shape`; -1 says nothing."""
        for size, wanted in zip(self._dims(ref) or (), self._shape(shape) or ()):
            if wanted != -1:
                self._equal(size, wanted)

    def _is_product(self, size: int, found: Product) -> None:
        """Note that `size`, a symbol, is a product of others."""
        factor, symbols = found
        if size in symbols:
            return
        if factor == 1 and len(symbols) == 1:
            self._equal(size, symbols[0])
        elif found in self._symbols:
            self._equal(size, self._symbols[found])
        elif size not in self._products:
            self._products[size], self._symbols[found] = found, size

    def _product(self, dims: Sequence[int]) -> Product:
        factor, symbols = 1, ()  # type: int, Dims
        for size in dims:
            more, own = self._products.get(size, (1, (size,))) if size < 0 else (size, ())
            factor *= more
            symbols += tuple(map(self._root, own))
        return factor, tuple(sorted(symbols))

    def _part(self, node: ViewNode) -> None:
        """Dims of which a slice takes all keep their sizes."""
        before, after = self._dims(node.inputs[0]), self._dims((node.name, 0))
        if before is None or after is None or min(after or (0,)) >= 0 or len(before) < 2:
            return
        try:
            taken = list(entries(self._view.operator(node), len(before)))
        except Unsupported:
            return
        left = [(place, window) for place, window in taken
                if window is None or window.kind != "pick"]
        for size, (place, window) in zip(after, left):
            if place is not None and window in (None, _WHOLE):
                self._equal(size, before[place])

    def _broadcast(self, ref: TensorRef, inputs: Sequence[Optional[TensorRef]], last: int) -> None:
        """The dims of a result, but for the `last` ones, are those of operands that have equal
        sizes, or 1."""
        result = self._dims(ref)
        operands = [self._dims(read) for read in inputs]
        if result is None or None in operands:
            return
        for place in range(last + 1, len(result) + 1):
            sizes = {dims[-place] for dims in operands if dims is not None and len(dims) >= place}
            sizes.discard(1)
            if len(sizes) == 1 and result[-place] < 0:
                self._equal(result[-place], sizes.pop())

    def _size(self, node: ViewNode) -> None:
        """Note what only finds out sizes, and which tensors are a product of them."""
        source = node.inputs[0] if node.type in _SIZES and node.outputs else None
        if source is None:
            return
        ref = (node.name, 0)
        info = self._view.infos[ref]
        if info.const is not None or read_attr(node.handle, "_autofuse_fed"):
            return
        if node.type == "Cast" and info.dtype == "float32":
            self._constant(ref, info, source)
            return
        if info.dtype not in _SIZE_TYPES or info.dims is None or len(info.dims) > 1:
            return
        sizes = self._counted(node, ref, source)
        if sizes is None or -1 in sizes:
            return
        self._view.sizes.add(node.index)
        if info.dims == ():
            self._count(ref, info, self._product(sizes))

    def _math(self, node: ViewNode) -> None:
        """Note what computes sizes, element by element, of nothing but sizes: how often a gradient
        is repeated is found out so."""
        row = OPS.get(node.type)
        info = self._view.infos.get((node.name, 0))
        if row is None or info is None or row.kind not in (ELEMENTWISE, BROADCAST) or (
                info.dtype not in _SIZE_TYPES or len(info.dims or ()) != 1):
            return
        makers = [self._view.node(ref[0]) for ref in node.inputs if ref is not None]
        computed = [maker for maker in makers if maker.type not in CONST_TYPES]
        if computed and all(map(self._tells, computed)):
            self._view.sizes.add(node.index)

    def _tells(self, node: ViewNode) -> bool:
        return node.type in ("Shape", "ShapeN") or node.index in self._view.sizes

    def _counted(self, node: ViewNode, ref: TensorRef, source: TensorRef) -> Optional[Dims]:
        """The sizes of which a tensor has the product or each."""
        if node.type == "ReduceProd":
            return None if self._view.infos[ref].dims else self._shape(source)
        return self._dims(source) if node.type == "Size" else self._shape(ref)

    def _count(self, ref: TensorRef, info: TensorInfo, product: Product) -> None:
        """How many elements there are along dims of known size is a constant."""
        factor, symbols = product
        if symbols:
            self._view.infos[ref] = replace(info, count=product)
            asked = self._asked(ref)
            if asked is not None:
                self._view.asked[ref] = asked
        elif factor < _EXACT:
            self._view.infos[ref] = replace(info, const=factor)

    def _constant(self, ref: TensorRef, info: TensorInfo, source: TensorRef) -> None:
        """The float of a constant count, by which the gradient of a mean divides."""
        number = self._view.infos[source].const
        if number is not None and self._view.index[source[0]] in self._view.sizes:
            self._view.infos[ref] = replace(info, const=float(number))

    def _asked(self, ref: TensorRef) -> Optional[TensorRef]:
        """The tensor whose size is found out."""
        node = self._view.node(ref[0])
        if node.type in ("Shape", "ShapeN", "Size"):
            return node.inputs[ref[1]]
        source = node.inputs[0] if node.type in _SIZES - {"DynamicStitch"} and node.inputs else None
        return None if source is None else self._asked(source)

    # ---- gradients of broadcasts -----------------------------------------------------------

    def _unbroadcast(self, node: ViewNode) -> None:
        """The axes of a sum that are those of a broadcast, if nobody sees its rank."""
        view, source = self._view, node.inputs[-1]
        dims, keep = self._dims(node.inputs[0]), bool(read_attr(node.handle, "keep_dims"))
        if source is None or dims is None or not (keep or self._is_reshaped(node)):
            return
        maker = view.node(source[0])
        if maker.type != "BroadcastGradientArgs":
            return
        shapes = [self._shape(ref) for ref in maker.inputs]
        axes = _added_up(shapes[source[1]], shapes[1 - source[1]])
        if axes is None or max(axes + (0,)) >= max(len(dims), 1):
            return
        view.axes[node.name] = axes
        left = [1 if place in axes else size for place, size in enumerate(dims)
                if keep or place not in axes]
        ref = (node.name, 0)
        view.infos[ref] = TensorInfo(view.infos[ref].dtype, tuple(left))

    def _is_reshaped(self, node: ViewNode) -> bool:
        return {self._view.nodes[index].type for index, _ in node.consumers[0]} == {"Reshape"}

    def _shape(self, ref: Optional[TensorRef]) -> Optional[Dims]:
        """The elements of a tensor that is a shape or a part of one."""
        if ref is None:
            return None
        node = self._view.node(ref[0])
        if read_attr(node.handle, "_autofuse_fed"):
            return None
        if node.type in CONST_TYPES:
            large = max(self._view.infos[ref].dims or (0,)) > MAX_SIZES
            values = None if large else self._view.constant_of(ref)
            return None if values is None else tuple(int(value) for value in values)
        if node.type in ("Shape", "ShapeN"):
            return self._dims(node.inputs[ref[1]])
        if node.type == "Identity" or (
                node.type == "Cast" and self._view.infos[ref].dtype in _SIZE_TYPES):
            return self._shape(node.inputs[0])
        if node.type == "StridedSlice":
            return self._slice(node)
        if node.type == "GatherV2":
            return self._gathered(node)
        if node.type in ("ExpandDims", "Reshape", "Squeeze"):
            whole = self._shape(node.inputs[0])
            return whole if len(self._view.infos[ref].dims or ()) < 2 else None
        if node.type == "DynamicStitch":
            return self._stitched(node)
        if node.type in ("Pack", "ConcatV2"):
            parts = [self._shape(read) for read in node.inputs[:len(node.inputs) - (
                node.type == "ConcatV2")]]
            return None if None in parts else tuple(
                size for part in parts for size in part or ())
        return None

    def _stitched(self, node: ViewNode) -> Optional[Dims]:
        """Pieces put to places of one whole; later ones win."""
        half = len(node.inputs) // 2
        found: Dict[int, int] = {}
        for places, piece in zip(node.inputs[:half], node.inputs[half:]):
            at, sizes = self._shape(places), self._shape(piece)
            if at is None or sizes is None or len(at) != len(sizes):
                return None
            found.update(zip(at, sizes))
        whole = range(len(found))
        return tuple(found[at] for at in whole) if set(whole) == set(found) else None

    def _gathered(self, node: ViewNode) -> Optional[Dims]:
        whole = self._shape(node.inputs[0])
        places = self._shape(node.inputs[1])
        if whole is None or places is None or not all(0 <= at < len(whole) for at in places):
            return None
        return tuple(whole[at] for at in places)

    def _slice(self, node: ViewNode) -> Optional[Dims]:
        """Of one dim; one element of it stands for a part of one element."""
        whole = self._shape(node.inputs[0])
        ends = [self._view.constant_of(ref) for ref in node.inputs[1:] if ref is not None]
        bits = [int(read_attr(node.handle, key) or 0) for key in (
            "ellipsis_mask", "new_axis_mask", "shrink_axis_mask", "begin_mask", "end_mask")]
        if whole is None or any(bits[:2]) or any(end is None or len(end) != 1 for end in ends):
            return None
        first, last, step = [int(end[0]) for end in ends if end is not None]
        if bits[2]:
            return whole[first:][:1]
        return whole[None if bits[3] else first:None if bits[4] else last:step]


def _added_up(own: Optional[Dims], other: Optional[Dims]) -> Optional[Tuple[int, ...]]:
    """Along which axes a tensor of `own` dims was repeated for one of `other` dims; None where
    that depends on the run time. Axes of one element may or may not be among them."""
    if own is None or other is None:
        return None
    rank = max(len(own), len(other))
    pairs = list(zip((1,) * (rank - len(own)) + own, (1,) * (rank - len(other)) + other))
    if any(size < 0 and size != wanted and wanted != 1 for size, wanted in pairs):
        return None
    return tuple(place for place, (size, wanted) in enumerate(pairs) if size == 1 and wanted != 1)
