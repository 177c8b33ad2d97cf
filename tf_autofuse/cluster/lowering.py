"""Lowering of candidate clusters, done once for each structure.

A network repeats its blocks, and so do the clusters that the clusterer tries. Two clusters with the
same operators, shapes and edges lower to the same kernel, or are refused in the same words, but for
the names of their nodes. So lowering works on placeholders, and names are put in afterwards.
"""
from __future__ import annotations

import re
from array import array
from dataclasses import replace
from typing import Dict, Hashable, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from tf_autofuse import interrupts
from tf_autofuse.cluster.legal import check
from tf_autofuse.cluster.told import is_size, told_shapes
from tf_autofuse.cluster.view import GraphView, ViewNode
from tf_autofuse.errors import Unsupported
from tf_autofuse.kernel.moved import moved_bytes
from tf_autofuse.loop.ir import LoopKernel
from tf_autofuse.loop.lower import LoweredKernel, lower
from tf_autofuse.loop.source import Dims, Operator, TensorInfo, TensorRef
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
    """What became of a structure, with placeholders for names."""

    lowered: Optional[LoweredKernel]
    candidate: Candidate
    refusal: Optional[Unsupported]


class Lowering(NamedTuple):
    """A cluster that is one kernel; its names are put in when they are asked for."""

    candidate: Candidate
    kernel: LoopKernel  # origins are placeholders
    inputs: Tuple[TensorRef, ...]
    outputs: Tuple[TensorRef, ...]
    sizes: Tuple[int, ...]
    signature: "_Signature"

    def named(self) -> LoweredKernel:
        """The kernel of the operators, as `lower_legal` gives it."""
        named = self.signature.named
        body = tuple(replace(value, origin=named(value.origin)) for value in self.kernel.body)
        return LoweredKernel(
            replace(self.kernel, body=body),
            tuple((named(name), port) for name, port in self.inputs),
            self.outputs,
            tuple(self.signature.symbol(size) for size in self.sizes),
        )


class LoweringMemo:
    """Lowers clusters of one graph, with a memory of what was lowered and what was refused."""

    def __init__(self, infos: Mapping[TensorRef, TensorInfo]):
        self._facts = _Facts(infos)
        self._known: Dict[bytes, _Known] = {}

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
        known = self._known.get(signature.key)
        if known is None:
            known = self._known[signature.key] = _lower(signature, operators, outputs)
        if known.lowered is None:
            said = known.refusal
            assert said is not None
            text, node = signature.named(said.message), signature.named(said.node)
            raise Unsupported(text, node=node, stage=said.stage, code=said.code)
        kernel, inputs, _, sizes = known.lowered
        return Lowering(known.candidate, kernel, inputs, tuple(outputs), sizes, signature)


def _lower(
    signature: "_Signature", operators: Sequence[Operator], outputs: Sequence[TensorRef]
) -> _Known:
    ends = [signature.tensor(ref) for ref in outputs]
    try:
        lowered = lower(signature.operators(operators), ends, signature.infos())
        kernel, nests = check(lowered.kernel)
    except Unsupported as said:
        # Anew: its traceback would keep all that was lowered so far.
        refusal = Unsupported(said.message, node=said.node, stage=said.stage, code=said.code)
        return _Known(None, Candidate(0, 0), refusal)
    sizes = [size if size >= 0 else UNKNOWN_SIZE for size in lowered.sizes]
    named = dict(zip(lowered.kernel.axes, sizes))
    moved = moved_bytes(kernel, nests, named)
    return _Known(lowered, Candidate(len(nests), moved), None)


class _Facts:
    """Numbers for what operators and tensors are, equal ones for what lowers alike; and their
    sizes that are symbols, which only the cluster can number."""

    def __init__(self, infos: Mapping[TensorRef, TensorInfo]):
        self.infos = infos
        self._numbers: Dict[Hashable, int] = {}
        self._operators: Dict[str, Tuple[int, Dims]] = {}
        self._tensors: Dict[TensorRef, Tuple[int, Dims]] = {}

    def operator(self, operator: Operator) -> Tuple[int, Dims]:
        """Number and symbols of an operator but for its name and inputs."""
        known = self._operators.get(operator.name)
        if known is None:
            attrs = repr((sorted(operator.attrs.items()), operator.axes,
                          sorted(operator.params.items()), operator.outputs))
            facts = (operator.type, attrs, len(operator.inputs))
            known = self._operators[operator.name] = self._numbered(facts, operator.out_dims)
        return known

    def tensor(self, ref: TensorRef) -> Tuple[int, Dims]:
        """Number and symbols of a tensor but for its name."""
        known = self._tensors.get(ref)
        if known is None:
            info = self.infos[ref]
            # repr keeps 0.0 and -0.0, and 1 and True, apart.
            const = "" if info.const is None else repr(info.const)
            factor, counted = info.count or (0, ())
            number, symbols = self._numbered((info.dtype, const, factor), info.dims)
            known = self._tensors[ref] = (number, symbols + counted)
        return known

    def _numbered(self, facts: Tuple, dims: Optional[Dims]) -> Tuple[int, Dims]:
        symbols = tuple(dim for dim in dims or () if dim < 0)
        places = dims and tuple(max(dim, -1) for dim in dims)
        number = self._numbers.setdefault(facts + (places,), len(self._numbers))
        return number, symbols


class _Signature:
    """A cluster with its nodes and symbolic sizes numbered in the order in which they are met.

    `key` is equal for clusters of one structure: for every operator its facts; its inputs by
    number, with node, port, facts and sizes where the number is new; its own node and sizes; in the
    end the outputs, like inputs.
    """

    def __init__(
        self, facts: _Facts, operators: Sequence[Operator], outputs: Sequence[TensorRef]
    ):
        self._infos = facts.infos
        self._names: Dict[str, int] = {}
        self._refs: Dict[TensorRef, int] = {}
        self._symbols: Dict[int, int] = {}
        parts = array("q")
        for operator in operators:
            number, symbols = facts.operator(operator)
            parts.append(number)
            self._add_tensors(facts, operator.inputs, parts)
            parts.append(self._names.setdefault(operator.name, len(self._names)))
            self._add_symbols(symbols, parts)
        self._add_tensors(facts, outputs, parts)
        self.key = parts.tobytes()
        self._named = list(self._names)

    def _add_tensors(self, facts: _Facts, refs: Sequence[TensorRef], parts: "array[int]") -> None:
        for ref in refs:
            known = self._refs.get(ref)
            if known is not None:
                parts.append(known)
                continue
            number, symbols = facts.tensor(ref)
            parts.append(len(self._refs))
            parts.append(self._names.setdefault(ref[0], len(self._names)))
            parts.append(ref[1])
            parts.append(number)
            self._refs[ref] = len(self._refs)
            self._add_symbols(symbols, parts)

    def _add_symbols(self, symbols: Dims, parts: "array[int]") -> None:
        for symbol in symbols:
            parts.append(self._symbols.setdefault(symbol, len(self._symbols)))

    # ---- under placeholders ----------------------------------------------------------------

    def tensor(self, ref: TensorRef) -> TensorRef:
        """The placeholder of a tensor."""
        return (self._name(ref[0]), ref[1])

    def infos(self) -> Dict[TensorRef, TensorInfo]:
        """The facts of all tensors."""
        found = {}
        for ref in self._refs:
            info = self._infos[ref]
            count = info.count and (info.count[0], self._dims(info.count[1]) or ())
            found[self.tensor(ref)] = replace(info, dims=self._dims(info.dims), count=count)
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
        return dims and tuple(dim if dim >= 0 else -2 - self._symbols[dim] for dim in dims)

    # ---- and back --------------------------------------------------------------------------

    def named(self, text: str) -> str:
        """`text` with the names of this cluster in the place of placeholders."""
        return _PLACEHOLDER.sub(lambda match: self._named[int(match.group(1))], text)

    def symbol(self, size: int) -> int:
        """The size that a size of the signature stands for."""
        return next((own for own, number in self._symbols.items() if -2 - number == size), size)
