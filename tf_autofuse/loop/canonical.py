"""One order for kernels that are alike.

Clusters of a network often compute the same but for the order in which a graph names things: which
of two tensors is the first input, which of two values comes first, a + b or b + a. In one order
they are one kernel, planned and compiled once.

Values are told apart by what they are computed from and by what is computed from them, not by the
numbers they hold: kernels that differ in these alone keep one text but for them.
"""
from __future__ import annotations

import hashlib
from collections import OrderedDict
from dataclasses import replace
from typing import Dict, List, NamedTuple, Optional, Tuple

from tf_autofuse.loop.finish import LoweredKernel
from tf_autofuse.loop.ir import Const, Load, LoopKernel, Map, Value, print_dims, renamed
from tf_autofuse.loop.merge import merge_axes
from tf_autofuse.loop.sequence import on_demand
from tf_autofuse.loop.text import print_loop

_COMMUTE = frozenset(("add", "mul"))
_MAX_CHOICES = 8
"""How often one of several values that nothing tells apart is made the first; bounds the time."""

Labels = Dict[str, str]


class _Ordered(NamedTuple):
    """A kernel in order, and the numbers that its inputs and outputs had."""

    kernel: LoopKernel
    inputs: Tuple[int, ...]
    outputs: Tuple[int, ...]


_MAX_KNOWN = 512
_KNOWN: "OrderedDict[str, Optional[_Ordered]]" = OrderedDict()


def in_canonical_order(lowered: LoweredKernel) -> LoweredKernel:
    """The kernel with inputs, outputs, values and operands in an order that does not depend on the
    one they have. Kernels with a run-time table of more than strides stay as they are.

    One object serves all clusters of a structure, with the origins of the first.
    """
    memo = print_loop(lowered.kernel)
    if memo not in _KNOWN:
        _KNOWN[memo] = _ordered(lowered.kernel)
        if len(_KNOWN) > _MAX_KNOWN:
            _KNOWN.popitem(last=False)
    _KNOWN.move_to_end(memo)
    known = _KNOWN[memo]
    if known is None:
        return lowered
    return lowered._replace(kernel=known.kernel,
                            inputs=tuple(lowered.inputs[old] for old in known.inputs),
                            outputs=tuple(lowered.outputs[old] for old in known.outputs))


def _ordered(kernel: LoopKernel) -> Optional[_Ordered]:
    loads = [value for value in kernel.body if isinstance(value, Load)]
    fixed = kernel.intervals or kernel.repeats or kernel.temps
    if fixed or any(load.moved or load.when or load.at for load in loads):
        return None
    merged, _ = merge_axes(kernel)  # kernels of more axes than others may be alike once merged
    labels = _labels(merged)
    operands = {value.name: _in_order(value, labels) for value in kernel.body}
    stores = sorted(kernel.stores, key=lambda store: labels[store.value])
    order = on_demand([store.value for store in stores], operands)
    names = {name: str(new) for new, name in enumerate(order)}
    inputs: List[int] = []
    body: List[Value] = []
    for value in (kernel.value(name) for name in order):
        if isinstance(value, Load):
            inputs.append(value.input)
            value = replace(value, input=len(inputs) - 1)
        elif isinstance(value, Map):
            value = replace(value, operands=operands[value.name])
        body.append(renamed(value, names))
    if sorted(inputs) != list(range(len(kernel.inputs))):
        return None
    outputs = [store.output for store in stores]
    made = replace(
        kernel, body=tuple(body),
        inputs=tuple(replace(kernel.inputs[old], name="in%d" % new)
                     for new, old in enumerate(inputs)),
        outputs=tuple(replace(kernel.outputs[old], name="out%d" % new)
                      for new, old in enumerate(outputs)),
        stores=tuple(replace(store, output=new, value=names[store.value])
                     for new, store in enumerate(stores)))
    return _Ordered(made, tuple(inputs), tuple(outputs))


# ---- telling values apart ------------------------------------------------------------------


def _labels(kernel: LoopKernel) -> Labels:
    """A label for every value, equal ones where nothing tells values apart."""
    labels = {value.name: "" for value in kernel.body}
    for _ in range(_MAX_CHOICES):
        labels = _refined(kernel, _refined(kernel, labels))
        alike: Dict[str, List[str]] = {}
        for name, label in labels.items():
            alike.setdefault(label, []).append(name)
        open_ = [label for label, names in alike.items() if len(names) > 1]
        if not open_:
            break
        labels[alike[min(open_)][0]] += " first"
    return labels


def _refined(kernel: LoopKernel, labels: Labels) -> Labels:
    """Labels that tell more: of what a value is computed from and what is computed from it."""
    up: Labels = {}
    for value in kernel.body:
        args = [up[name] for name in value.args]
        up[value.name] = _digest(labels[value.name], _facts(value),
                                 sorted(args) if _commutes(value) else args)
    down: Dict[str, List[str]] = {value.name: [] for value in kernel.body}
    for store in kernel.stores:
        down[store.value].append(print_dims(store.dims))
    found: Labels = {}
    for value in reversed(kernel.body):
        found[value.name] = _digest(up[value.name], sorted(down[value.name]))
        for place, name in enumerate(value.args):
            down[name].append("%s %d" % (found[value.name], 0 if _commutes(value) else place))
    return {value.name: found[value.name] for value in kernel.body}


def _digest(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:24]


def _commutes(value: Value) -> bool:
    return isinstance(value, Map) and value.op in _COMMUTE


def _in_order(value: Value, labels: Labels) -> Tuple[str, ...]:
    return tuple(sorted(value.args, key=labels.__getitem__)) if _commutes(value) else value.args


def _facts(value: Value) -> Tuple[object, ...]:
    """What a value is, but for its operands and the number it holds."""
    kind: Tuple[object, ...] = (type(value).__name__, value.dtype, value.axes)
    if isinstance(value, Load):
        return kind + (print_dims(value.dims),)
    if isinstance(value, Const):
        return kind + (str(value.value) if value.value in (0, 1) else "",)
    return kind + tuple(getattr(value, field, "") for field in ("op", "over", "counted"))
