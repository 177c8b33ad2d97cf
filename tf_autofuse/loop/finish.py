"""The last step of lowering: live nodes become IR values with named axes."""
from __future__ import annotations

from typing import Any, Dict, NamedTuple, Optional, Sequence, Tuple

from tf_autofuse.errors import Unsupported
from tf_autofuse.loop.ir import (
    Const,
    Dim,
    Index,
    Load,
    LoopKernel,
    Map,
    Param,
    Reduce,
    Store,
    Value,
)
from tf_autofuse.loop.source import TensorRef


class LoweredKernel(NamedTuple):
    """`inputs` names the outside tensor of each kernel input, `outputs` of each output."""

    kernel: LoopKernel
    inputs: Tuple[TensorRef, ...]
    outputs: Tuple[TensorRef, ...]


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

    def build(self, outputs: Sequence[TensorRef]) -> LoweredKernel:
        for number, index in enumerate(self._live):
            self._values[index] = self._value("v%d" % number, self._low._nodes[index])
        refs = [self._low._inputs[old] for old in self._input_number]
        params = tuple(
            Param("in%d" % i, self._low._infos[ref].dtype) for i, ref in enumerate(refs)
        )
        tensors = [self._low._tensors[ref] for ref in outputs]
        results = tuple(Param("out%d" % i, t.dtype) for i, t in enumerate(tensors))
        stores = tuple(self._store(i, ref) for i, ref in enumerate(outputs))
        body = tuple(self._values[index] for index in self._live)
        kernel = LoopKernel(params, results, self._order, body, stores)
        return LoweredKernel(kernel, tuple(refs), tuple(outputs))

    def _store(self, number: int, ref: TensorRef) -> Store:
        tensor = self._low._tensors[ref]
        value = self._values[tensor.value]
        if any(axis is not None and self._low._root(axis) not in self._names
               for axis in tensor.dims) or self._axes(tensor.dims) != value.axes:
            raise Unsupported("a broadcast would be written", node=ref[0], code="BROADCAST_ONLY")
        return Store(number, value.name, tuple(Dim(self._name(axis)) for axis in tensor.dims))

    def _name(self, axis: Optional[int]) -> Optional[str]:
        return None if axis is None else self._names[self._low._root(axis)]

    def _axes(self, axes) -> Tuple[str, ...]:
        named = {self._name(axis) for axis in axes if axis is not None}
        return tuple(name for name in self._order if name in named)

    def _value(self, name: str, node: Any) -> Value:
        args = tuple(self._values[index].name for index in node.args)
        common = {"origin": node.origin}
        if node.kind == "load":
            number, layout = node.data
            dims = tuple(Dim(self._name(axis), maybe) for axis, maybe in layout)
            axes = self._axes(node.axes)
            return Load(
                name, node.dtype, axes, input=self._input_number[number], dims=dims, **common
            )
        if node.kind == "const":
            return Const(name, node.dtype, (), value=node.data, **common)
        if node.kind == "index":
            return Index(name, node.dtype, self._axes(node.axes), **common)
        if node.kind == "reduce":
            return self._reduce(name, node, args)
        domain = {axis for index in node.args for axis in self._values[index].axes}
        axes = tuple(axis for axis in self._order if axis in domain)
        return Map(name, node.dtype, axes, op=node.op, operands=args, **common)

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
