"""Lowering of candidate clusters, done once for each structure.

A network repeats its blocks, and so do the clusters that the clusterer tries. Two clusters with the
same operators, shapes and edges lower to the same kernel, or are refused in the same words, but for
the names of their nodes. So lowering works on placeholders, and names are put in afterwards.

Most lowering asks of sizes only which are equal, and which are 1. What it gives then serves all
clusters that are alike in this, with their own sizes in the place of those it was lowered with.
"""
from __future__ import annotations

import re
from array import array
from dataclasses import replace
from itertools import chain
from typing import (
    Dict,
    Hashable,
    Iterable,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
    TypeVar,
)

from tf_autofuse import interrupts
from tf_autofuse.cluster.legal import check
from tf_autofuse.cluster.told import is_size, told_shapes
from tf_autofuse.cluster.view import GraphView, ViewNode
from tf_autofuse.errors import Unsupported
from tf_autofuse.kernel.moved import moved_bytes
from tf_autofuse.kernel.nest import Nest
from tf_autofuse.loop.ir import LoopKernel
from tf_autofuse.loop.lower import LoweredKernel, lower
from tf_autofuse.loop.source import Dims, Operator, TensorInfo, TensorRef
from tf_autofuse.ops import OPS

UNKNOWN_SIZE = 1024
"""What a size of run time counts where bytes are compared."""

Word = TypeVar("Word", str, int)

_PLACEHOLDER = re.compile("\0([0-9]+)\0")


def lower_legal(
    operators: Sequence[Operator],
    outputs: Sequence[TensorRef],
    infos: Mapping[TensorRef, TensorInfo],
) -> LoweredKernel:
    """Lower operators (topological order) to a legal kernel; Unsupported when impossible."""
    lowered = lower(operators, outputs, infos)
    check(lowered.kernel)
    return lowered


def lower_nodes(view: GraphView, nodes: Sequence[ViewNode]) -> LoweredKernel:
    """Lower a set of nodes (topological order) to a legal kernel; Unsupported when impossible."""
    interrupts.check()
    operators = [view.operator(node) for node in nodes]
    return lower_legal(operators, outputs_of(view, nodes), view.infos)


def outputs_of(view: GraphView, nodes: Sequence[ViewNode]) -> List[TensorRef]:
    """Tensors of `nodes` that something outside reads, but for a shape of their own; the last one
    when nothing does."""
    inside = {node.index for node in nodes}
    readers = {
        (node.name, port): {index for index, _ in consumers} - inside
        for node in nodes for port, consumers in enumerate(node.consumers[:OPS[node.type].outputs])
    }
    outside = set().union(*readers.values())
    if any(is_size(view, index) for index in outside):
        outside -= set(told_shapes(view, inside))
    used = [ref for ref, indices in readers.items() if indices & outside]
    return used or [(nodes[-1].name, 0)]


class Candidate(NamedTuple):
    """A cluster as one kernel: its loop nests, and the bytes they move."""

    nests: int
    moved: int


class _Known(NamedTuple):
    """What became of a structure of some sizes, with placeholders for names."""

    lowered: Optional[LoweredKernel]
    candidate: Candidate
    refusal: Optional[Unsupported]


class _Template(NamedTuple):
    """What a structure lowers to where its signature has the sizes `sizes`; `legal` is what
    `cluster.legal` makes of it, the kernel in stages and its nests."""

    lowered: LoweredKernel
    legal: Tuple[LoopKernel, Tuple[Nest, ...]]
    sizes: Tuple[int, ...]

    def of(self, sizes: Tuple[int, ...]) -> _Known:
        """The same with other sizes, of which those are equal that are equal here."""
        own = dict(zip(self.sizes, sizes))
        kernel = self.lowered.kernel
        if kernel.fixed:
            fixed = tuple((axis, own.get(size, size)) for axis, size in kernel.fixed)
            kernel = replace(kernel, fixed=fixed)
        lowered = self.lowered._replace(
            kernel=kernel, sizes=tuple(own.get(size, size) for size in self.lowered.sizes))
        counted = [size if size >= 0 else UNKNOWN_SIZE for size in lowered.sizes]
        moved = moved_bytes(*self.legal, dict(zip(kernel.axes, counted)))
        return _Known(lowered, Candidate(len(self.legal[1]), moved), None)


class Lowering(NamedTuple):
    """A cluster that is one kernel; its names are put in when they are asked for."""

    candidate: Candidate
    lowered: LoweredKernel  # under placeholders, but for the outputs
    signature: "_Signature"

    @property
    def kernel(self) -> LoopKernel:
        """The kernel; the origins of its values are placeholders."""
        return self.lowered.kernel

    @property
    def outputs(self) -> Tuple[TensorRef, ...]:
        """The outside tensor of each output."""
        return self.lowered.outputs

    def named(self) -> LoweredKernel:
        """The kernel of the operators, as `lower_legal` gives it."""
        named = self.signature.named
        body = tuple(replace(value, origin=named(value.origin)) for value in self.kernel.body)
        return self.lowered._replace(
            kernel=replace(self.kernel, body=body),
            inputs=tuple((named(name), port) for name, port in self.lowered.inputs),
            sizes=tuple(self.signature.symbol(size) for size in self.lowered.sizes),
        )


class LoweringMemo:
    """Lowers clusters of one graph, with a memory of what was lowered and what was refused."""

    def __init__(self, infos: Mapping[TensorRef, TensorInfo]):
        self._facts = _Facts(infos)
        self._known: Dict[Tuple[bytes, Tuple[int, ...]], _Known] = {}
        self._templates: Dict[bytes, _Template] = {}  # those for all sizes

    def candidate(
        self, operators: Sequence[Operator], outputs: Sequence[TensorRef]
    ) -> Candidate:
        """Nests and bytes of the operators as one kernel; Unsupported when they cannot be one."""
        return self.find(operators, outputs).candidate

    def lower(
        self, operators: Sequence[Operator], outputs: Sequence[TensorRef]
    ) -> LoweredKernel:
        """The kernel of the operators, as `lower_legal` gives it."""
        return self.find(operators, outputs).named()

    def find(self, operators: Sequence[Operator], outputs: Sequence[TensorRef]) -> Lowering:
        """The operators (topological order) as one kernel; Unsupported when they cannot be one."""
        signature = _Signature(self._facts, operators, outputs)
        key = (signature.key, signature.sizes)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._new(signature, operators, outputs)
        if known.lowered is None:
            said = known.refusal
            assert said is not None
            text, node = signature.named(said.message), signature.named(said.node)
            raise Unsupported(text, node=node, stage=said.stage, code=said.code)
        lowered = known.lowered._replace(outputs=tuple(outputs))
        return Lowering(known.candidate, lowered, signature)

    def _new(
        self, signature: "_Signature", operators: Sequence[Operator], outputs: Sequence[TensorRef]
    ) -> _Known:
        template = self._templates.get(signature.key)
        if template is None:
            try:
                template = _lower(signature, operators, outputs)
            except Unsupported as said:
                # Anew: its traceback would keep all that was lowered so far.
                refusal = Unsupported(said.message, node=said.node, stage=said.stage,
                                      code=said.code)
                return _Known(None, Candidate(0, 0), refusal)
            if not template.lowered.measured:
                self._templates[signature.key] = template
        return template.of(signature.sizes)


def _lower(
    signature: "_Signature", operators: Sequence[Operator], outputs: Sequence[TensorRef]
) -> _Template:
    ends = [signature.tensor(ref) for ref in outputs]
    lowered = lower(signature.operators(operators), ends, signature.infos(operators))
    return _Template(lowered, check(lowered.kernel), signature.sizes)


class _Facts:
    """What operators and tensors are, as numbers that are equal for what lowers alike, and what
    only a cluster can number: names of nodes, and sizes but for 0 and 1."""

    def __init__(self, infos: Mapping[TensorRef, TensorInfo]):
        self.infos = infos
        self._numbers: Dict[Hashable, int] = {}
        self._operators: Dict[str, _Fact] = {}
        self._tensors: Dict[TensorRef, _Fact] = {}

    def operator(self, operator: Operator) -> "_Fact":
        """An operator with its inputs."""
        known = self._operators.get(operator.name)
        if known is None:
            attrs = repr((sorted(operator.attrs.items()), operator.axes,
                          sorted(operator.params.items()), operator.outputs))
            names = [name for name, _ in operator.inputs] + [operator.name]
            inputs = [self._tensor(ref) for ref in operator.inputs]
            shapes = [dims for ref in operator.inputs for dims in self._shapes(ref)]
            shapes.append(operator.out_dims)
            known = self._fact((operator.type, attrs) + tuple(inputs), names, shapes)
            self._operators[operator.name] = known
        return known

    def tensor(self, ref: TensorRef) -> "_Fact":
        """A tensor that is an output."""
        known = self._tensors.get(ref)
        if known is None:
            known = self._fact(self._tensor(ref), ref[:1], self._shapes(ref))
            self._tensors[ref] = known
        return known

    def _tensor(self, ref: TensorRef) -> Tuple:
        info = self.infos[ref]
        # repr keeps 0.0 and -0.0, and 1 and True, apart.
        const = "" if info.const is None else repr(info.const)
        return (ref[1], info.dtype, const, info.count and info.count[0])

    def _shapes(self, ref: TensorRef) -> List[Optional[Dims]]:
        info = self.infos[ref]
        return [info.dims, info.count and info.count[1]]

    def _fact(
        self, facts: Tuple, names: Sequence[str], shapes: Sequence[Optional[Dims]]
    ) -> "_Fact":
        sizes: Dict[int, int] = {}

        def place(size: int) -> Tuple[int, int]:
            if size in (0, 1):
                return size, 0
            return -1 if size < 0 else 2, sizes.setdefault(size, len(sizes))

        places = tuple(None if dims is None else tuple(map(place, dims)) for dims in shapes)
        number = self._numbers.setdefault((facts, places), len(self._numbers))
        return _Fact(number, tuple(names), tuple(sizes))


class _Fact(NamedTuple):
    """See `_Facts`."""

    number: int
    names: Tuple[str, ...]
    sizes: Tuple[int, ...]


class _Signature:
    """A cluster with its nodes and sizes numbered in the order in which they are met.

    `key` is equal for clusters of one structure, where sizes count as names do. `sizes` are those
    that were numbered; -1 for a symbol.
    """

    def __init__(
        self, facts: _Facts, operators: Sequence[Operator], outputs: Sequence[TensorRef]
    ):
        self._infos = facts.infos
        found = [facts.operator(operator) for operator in operators]
        found += [facts.tensor(ref) for ref in outputs]
        self._names: Dict[str, int] = {}
        self._sizes: Dict[int, int] = {}
        parts = [len(found)] + [fact.number for fact in found]
        parts += _places(self._names, [fact.names for fact in found])
        parts += _places(self._sizes, [fact.sizes for fact in found])
        self.key = array("q", parts).tobytes()
        self.sizes = tuple([max(size, -1) for size in self._sizes])

    # ---- under placeholders ----------------------------------------------------------------

    def tensor(self, ref: TensorRef) -> TensorRef:
        """The placeholder of a tensor."""
        return (self._name(ref[0]), ref[1])

    def infos(self, operators: Sequence[Operator]) -> Dict[TensorRef, TensorInfo]:
        """The facts of all tensors that are read."""
        found = {}
        for ref in {ref: None for operator in operators for ref in operator.inputs}:
            info = self._infos[ref]
            count = info.count and (info.count[0], self._dims(info.count[1]) or ())
            found[self.tensor(ref)] = TensorInfo(
                info.dtype, self._dims(info.dims), info.const, count)
        return found

    def operators(self, operators: Sequence[Operator]) -> List[Operator]:
        """The operators."""
        return [
            replace(
                operator,
                name=self._name(operator.name),
                inputs=tuple(self.tensor(ref) for ref in operator.inputs),
                out_dims=self._dims(operator.out_dims),
            )
            for operator in operators
        ]

    def _name(self, name: str) -> str:
        return "\0%d\0" % self._names[name]

    def _dims(self, dims: Optional[Dims]) -> Optional[Dims]:
        return dims and tuple(dim if dim >= 0 else -2 - self._sizes[dim] for dim in dims)

    # ---- and back --------------------------------------------------------------------------

    def named(self, text: str) -> str:
        """`text` with the names of this cluster in the place of placeholders."""
        names = list(self._names)
        return _PLACEHOLDER.sub(lambda match: names[int(match.group(1))], text)

    def symbol(self, size: int) -> int:
        """The size that a size of the signature stands for."""
        return next((own for own, number in self._sizes.items() if -2 - number == size), size)


def _places(numbers: Dict[Word, int], words: Iterable[Sequence[Word]]) -> List[int]:
    """The number of each word; one that has none yet gets the next."""
    return [numbers.setdefault(word, len(numbers)) for word in chain.from_iterable(words)]
