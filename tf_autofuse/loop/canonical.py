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
from tf_autofuse.loop.ir import Const, Load, LoopKernel, Map, Reduce, Value, print_dims, renamed
from tf_autofuse.loop.merge import merge_axes
from tf_autofuse.loop.sequence import on_demand
from tf_autofuse.loop.text import print_loop

_COMMUTE = frozenset(("add", "mul"))
_MAX_CHOICES = 8
"""How often one of several values that nothing tells apart is made the first; bounds the time."""

Labels = Dict[str, str]


class _Order(NamedTuple):
    """Values by their places in the body, with the names of their operands; inputs and stores by
    their numbers."""

    values: Tuple[Tuple[int, Tuple[str, ...]], ...]
    inputs: Tuple[int, ...]
    stores: Tuple[int, ...]


_MAX_ORDERS = 1024
_ORDERS: "OrderedDict[str, Optional[_Order]]" = OrderedDict()


def in_canonical_order(lowered: LoweredKernel) -> LoweredKernel:
    """The kernel with inputs, outputs, values and operands in an order that does not depend on the
    one they have. Kernels with a run-time table of more than strides stay as they are."""
    memo = print_loop(lowered.kernel)
    if memo not in _ORDERS:
        _ORDERS[memo] = _find_order(lowered.kernel)
        if len(_ORDERS) > _MAX_ORDERS:
            _ORDERS.popitem(last=False)
    _ORDERS.move_to_end(memo)
    order = _ORDERS[memo]
    return lowered if order is None else _applied(order, lowered)


def _find_order(kernel: LoopKernel) -> Optional[_Order]:
    loads = [value for value in kernel.body if isinstance(value, Load)]
    fixed = kernel.intervals or kernel.repeats or kernel.temps
    if fixed or any(load.moved or load.when or load.at for load in loads):
        return None
    kernel, _ = merge_axes(kernel)  # kernels of more axes than others may be alike once merged
    labels = _labels(kernel)
    operands = {value.name: _in_order(value, labels) for value in kernel.body}
    stores = sorted(range(len(kernel.stores)), key=lambda n: labels[kernel.stores[n].value])
    names = on_demand([kernel.stores[n].value for n in stores], operands)
    place = {value.name: at for at, value in enumerate(kernel.body)}
    values = [kernel.body[place[name]] for name in names]
    inputs = [value.input for value in values if isinstance(value, Load)]
    if sorted(inputs) != list(range(len(kernel.inputs))):
        return None
    return _Order(tuple((place[name], operands[name]) for name in names), tuple(inputs),
                  tuple(stores))


def _applied(order: _Order, lowered: LoweredKernel) -> LoweredKernel:
    kernel = lowered.kernel
    names = {kernel.body[at].name: str(new) for new, (at, _) in enumerate(order.values)}
    number = {old: new for new, old in enumerate(order.inputs)}
    body: List[Value] = []
    for at, operands in order.values:
        value = kernel.body[at]
        if isinstance(value, Load):
            value = replace(value, input=number[value.input])
        elif isinstance(value, Map):
            value = replace(value, operands=operands)
        body.append(renamed(value, names))
    stores = [kernel.stores[old] for old in order.stores]
    outputs = [store.output for store in stores]
    made = replace(
        kernel, body=tuple(body),
        inputs=tuple(replace(kernel.inputs[old], name="in%d" % new)
                     for new, old in enumerate(order.inputs)),
        outputs=tuple(replace(kernel.outputs[old], name="out%d" % new)
                      for new, old in enumerate(outputs)),
        stores=tuple(replace(store, output=new, value=names[store.value])
                     for new, store in enumerate(stores)))
    return lowered._replace(kernel=made,
                            inputs=tuple(lowered.inputs[old] for old in order.inputs),
                            outputs=tuple(lowered.outputs[old] for old in outputs))


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
    if isinstance(value, Map):
        return kind + (value.op,)
    return kind + ((value.op, value.over, value.counted) if isinstance(value, Reduce) else ())
