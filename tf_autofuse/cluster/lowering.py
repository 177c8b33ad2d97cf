"""Lowering of candidate clusters, done once for each structure.

A network repeats its blocks, and so do the clusters that the clusterer tries. Two clusters with the
same operators, shapes and edges lower to the same kernel, or are refused in the same words, but for
the names of their nodes. So lowering works on placeholders, and names are put in afterwards.
"""
from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from tf_autofuse import interrupts
from tf_autofuse.cluster.legal import check
from tf_autofuse.cluster.view import GraphView, ViewNode
from tf_autofuse.errors import Unsupported
from tf_autofuse.kernel.moved import moved_bytes
from tf_autofuse.loop.lower import LoweredKernel, lower
from tf_autofuse.loop.source import Operator, TensorInfo, TensorRef
from tf_autofuse.ops import OPS

UNKNOWN_SIZE = 1024
"""What a size of run time counts where bytes are compared."""

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
    """Tensors of `nodes` that something outside reads; all of them when nothing does."""
    inside = {node.index for node in nodes}
    used = [
        (node.name, port)
        for node in nodes
        for port, consumers in enumerate(node.consumers[:OPS[node.type].outputs])
        if any(index not in inside for index, _ in consumers)
    ]
    return used or [(nodes[-1].name, 0)]


class Candidate(NamedTuple):
    """A cluster as one kernel: its loop nests, and the bytes they move."""

    nests: int
    moved: int


class _Known(NamedTuple):
    """What became of a structure, with placeholders for names."""

    lowered: Optional[LoweredKernel]
    candidate: Candidate
    refusal: Optional[Unsupported]


class LoweringMemo:
    """Lowers clusters of one graph, with a memory of what was lowered and what was refused."""

    def __init__(self, infos: Mapping[TensorRef, TensorInfo]):
        self._infos = infos
        self._known: Dict[tuple, _Known] = {}
        self._facts: Dict[str, tuple] = {}

    def candidate(
        self, operators: Sequence[Operator], outputs: Sequence[TensorRef]
    ) -> Candidate:
        """Nests and bytes of the operators as one kernel; Unsupported when they cannot be one."""
        return self._find(operators, outputs)[0].candidate

    def lower(
        self, operators: Sequence[Operator], outputs: Sequence[TensorRef]
    ) -> LoweredKernel:
        """The kernel of the operators, as `lower_legal` gives it."""
        known, signature = self._find(operators, outputs)
        assert known.lowered is not None
        kernel, inputs, _, sizes = known.lowered
        named = signature.named
        body = tuple(replace(value, origin=named(value.origin)) for value in kernel.body)
        return LoweredKernel(
            replace(kernel, body=body),
            tuple((named(name), port) for name, port in inputs),
            tuple(outputs),
            tuple(signature.symbol(size) for size in sizes),
        )

    def _find(
        self, operators: Sequence[Operator], outputs: Sequence[TensorRef]
    ) -> Tuple[_Known, "_Signature"]:
        signature = _Signature(self._infos)
        for operator in operators:
            signature.add(operator, self._facts_of(operator))
        ends = tuple([signature.ref(output) for output in outputs])
        key = (tuple(signature.parts), ends)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = _lower(signature, ends)
        if known.refusal is not None:
            said = known.refusal
            text, node = signature.named(said.message), signature.named(said.node)
            raise Unsupported(text, node=node, stage=said.stage, code=said.code)
        return known, signature

    def _facts_of(self, operator: Operator) -> tuple:
        facts = self._facts.get(operator.name)
        if facts is None:
            attrs = repr((sorted(operator.attrs.items()), operator.axes,
                          sorted(operator.params.items()), operator.outputs))
            facts = self._facts[operator.name] = (operator.type, attrs)
        return facts


def _lower(signature: "_Signature", outputs: Sequence[TensorRef]) -> _Known:
    try:
        lowered = lower_legal(signature.operators(), outputs, signature.infos)
    except Unsupported as refusal:
        return _Known(None, Candidate(0, 0), refusal)
    kernel, nests = check(lowered.kernel)
    sizes = [size if size >= 0 else UNKNOWN_SIZE for size in lowered.sizes]
    named = dict(zip(lowered.kernel.axes, sizes))
    moved = moved_bytes(kernel, nests, named)
    return _Known(lowered, Candidate(len(nests), moved), None)


class _Signature:
    """A cluster with its nodes and symbolic sizes numbered in the order in which they are met."""

    def __init__(self, infos: Mapping[TensorRef, TensorInfo]):
        self.parts: List[Any] = []
        self.infos: Dict[TensorRef, TensorInfo] = {}
        self._infos = infos
        self._operators: List[Tuple[Operator, Tuple[TensorRef, ...], Any]] = []
        self._names: List[str] = []
        self._numbers: Dict[str, str] = {}
        self._refs: Dict[TensorRef, TensorRef] = {}
        self._symbols: Dict[int, int] = {}

    def add(self, operator: Operator, facts: tuple) -> None:
        """Add an operator, all of whose producers in the cluster are there."""
        inputs = tuple([self.ref(ref) for ref in operator.inputs])
        name, dims = self._name(operator.name), self._dims(operator.out_dims)
        self._operators.append((operator, inputs, dims))
        self.parts.append((facts, inputs, name, dims))

    def ref(self, ref: TensorRef) -> TensorRef:
        """The placeholder of a tensor, whose facts become part of the signature."""
        known = self._refs.get(ref)
        if known is None:
            known = self._refs[ref] = (self._name(ref[0]), ref[1])
            info = self._infos[ref]
            dims = self._dims(info.dims)
            self.infos[known] = TensorInfo(info.dtype, dims, info.const)
            # repr keeps 0.0 and -0.0, and 1 and True, apart.
            const = "" if info.const is None else repr(info.const)
            self.parts.append((known, info.dtype, dims, const))
        return known

    def _name(self, name: str) -> str:
        known = self._numbers.get(name)
        if known is None:
            known = self._numbers[name] = "\0%d\0" % len(self._names)
            self._names.append(name)
        return known

    def _dims(self, dims: Any) -> Any:
        if dims is None or not dims or min(dims) >= 0:
            return dims
        symbols = self._symbols
        return tuple(
            [dim if dim >= 0 else symbols.setdefault(dim, -2 - len(symbols)) for dim in dims]
        )

    def operators(self) -> List[Operator]:
        """The operators under their placeholders."""
        return [
            replace(operator, name=self._name(operator.name), inputs=inputs, out_dims=dims)
            for operator, inputs, dims in self._operators
        ]

    def named(self, text: str) -> str:
        """`text` with the names of this cluster in the place of placeholders."""
        return _PLACEHOLDER.sub(lambda match: self._names[int(match.group(1))], text)

    def symbol(self, size: int) -> int:
        """The size that a size of the signature stands for."""
        return next((own for own, number in self._symbols.items() if number == size), size)
