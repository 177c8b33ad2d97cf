"""The rules of the loop IR. A breach is a bug of ours, so it is an `IRError`, not a fallback."""
from __future__ import annotations

from typing import Dict, NoReturn, Tuple

from tf_autofuse.errors import IRError
from tf_autofuse.loop.ir import (
    PARTS,
    Const,
    Count,
    Index,
    Inside,
    Load,
    LoopKernel,
    Map,
    Place,
    Reduce,
    Store,
    Value,
    print_dims,
)
from tf_autofuse.loop.ops import ANY, INTS, MAP_OPS, REDUCE_OPS
from tf_autofuse.loop.windows import unit_step

STAGE = "loop"


def verify(kernel: LoopKernel) -> None:
    """Check names, types, domains and layouts of a kernel; IRError names the first bad value."""
    if len(set(kernel.axes)) != len(kernel.axes):
        raise IRError("axis names repeat: " + " ".join(kernel.axes), stage=STAGE)
    if not {axis for axis, _ in kernel.fixed} <= set(kernel.axes):
        raise IRError("a fixed size of an unknown axis", stage=STAGE)
    if not all(first < other < len(kernel.inputs) for first, other in kernel.repeats):
        raise IRError("a repeated input that is none", stage=STAGE)
    seen: Dict[str, Value] = {}
    for value in kernel.body:
        if value.name in seen:
            raise IRError("defined twice", node=value.name, stage=STAGE)
        for name in value.args:
            if name not in seen:
                raise IRError("uses %s before it is defined" % name, node=value.name, stage=STAGE)
        _check_value(kernel, value, seen)
        seen[value.name] = value
    _check_stores(kernel, seen)


def _check_value(kernel: LoopKernel, value: Value, seen: Dict[str, Value]) -> None:
    if value.dtype not in ANY:
        _bad(value, "unknown dtype %s" % value.dtype)
    if value.axes != _ordered(kernel, value.axes):
        _bad(value, "domain [%s] is not in kernel axis order" % ", ".join(value.axes))
    if isinstance(value, Load):
        _check_load(kernel, value)
    elif isinstance(value, Map):
        _check_map(kernel, value, seen)
    elif isinstance(value, Reduce):
        _check_reduce(value, seen)
    elif isinstance(value, Place):
        _check_place(kernel, value, seen[value.operand])
    elif isinstance(value, (Index, Inside)):
        _check_point(value)
    elif isinstance(value, Count):
        _check_count(kernel, value)
    elif not isinstance(value, Const):
        _bad(value, "unknown kind %s" % type(value).__name__)
    elif value.axes:
        _bad(value, "a constant has no axes")


def _check_point(value: Value) -> None:
    if isinstance(value, Index) and (len(value.axes) != 1 or value.dtype not in INTS):
        _bad(value, "an index has one axis and an integer type")
    if isinstance(value, Inside) and (len(value.axes) != 1 or value.dtype != "bool"):
        _bad(value, "an interval has one axis and is true or false")


def _check_count(kernel: LoopKernel, value: Count) -> None:
    if value.axes or value.dtype not in ("int32", "int64"):
        _bad(value, "a count has no axes, and is int32 or int64")
    if not set(value.over) <= set(kernel.axes):
        _bad(value, "counts along no axis")


def _check_place(kernel: LoopKernel, value: Place, source: Value) -> None:
    if (source.axes, source.dtype, value.dtype) != (value.axes, "int64", "int64"):
        _bad(value, "a place has the domain of its operand, and both are int64")
    if value.axis not in kernel.axes:
        _bad(value, "a place along no axis")


def _check_load(kernel: LoopKernel, value: Load) -> None:
    if not 0 <= value.input < len(kernel.sources):
        _bad(value, "input %d of %d" % (value.input, len(kernel.sources)))
    if value.dtype != kernel.sources[value.input].dtype:
        _bad(value, "dtype differs from in%d" % value.input)
    guards = {name: kernel.value(name) for name in value.when}
    if any(not isinstance(guard, Inside) for guard in guards.values()):
        _bad(value, "is guarded by something else than an interval")
    places = [(axis, kernel.value(name)) for axis, name in value.at]
    if any(not isinstance(place, Place) or place.axis != axis for axis, place in places) or (
            not {axis for axis, _ in places} <= {dim.axis for dim in value.dims if dim.loose}):
        _bad(value, "is placed by something else than a place along a loose dim")
    domain = set(value.walked).union(
        *[arg.axes for arg in list(guards.values()) + [place for _, place in places]])
    in_order = value.moved or value.walked == _laid_out(kernel, value.walked)
    if domain != set(value.axes) or len(set(value.walked)) < len(value.walked) or not in_order:
        _bad(value, "dims %s do not give its domain" % print_dims(value.dims))
    if not value.moved and any(dim.windows or dim.loose for dim in value.dims):
        _bad(value, "has windows and is not moved")
    if any(dim.axis and not dim.loose and not unit_step(dim.windows) for dim in value.dims):
        _bad(value, "walks in steps and is not marked so")


def _check_map(kernel: LoopKernel, value: Map, seen: Dict[str, Value]) -> None:
    op = MAP_OPS.get(value.op)
    if op is None:
        _bad(value, "unknown operation %s" % value.op)
    if len(value.operands) != op.arity:
        _bad(value, "%s takes %d operands, got %d" % (value.op, op.arity, len(value.operands)))
    operands = [seen[name] for name in value.operands]
    domain = _ordered(kernel, {axis for v in operands for axis in v.axes})
    if domain != value.axes:
        _bad(value, "domain must be [%s]" % ", ".join(domain))
    if value.op in ("select", "require"):
        if operands[0].dtype != "bool":
            _bad(value, "condition is %s, not bool" % operands[0].dtype)
        operands = operands[1:]
    dtypes = {v.dtype for v in operands}
    if len(dtypes) != 1 or not dtypes <= op.dtypes:
        _bad(value, "%s does not take %s" % (value.op, " and ".join(sorted(dtypes))))
    expected = {"same": dtypes.pop(), "bool": "bool", "any": value.dtype}[op.result]
    if value.dtype != expected:
        _bad(value, "%s gives %s, not %s" % (value.op, expected, value.dtype))


def _check_reduce(value: Reduce, seen: Dict[str, Value]) -> None:
    op = REDUCE_OPS.get(value.op)
    if op is None:
        _bad(value, "unknown reduction %s" % value.op)
    operand = seen[value.operand]
    if value.dtype != operand.dtype or value.dtype not in op.dtypes:
        _bad(value, "%s of %s to %s" % (value.op, operand.dtype, value.dtype))
    if not value.over or not set(value.over) <= set(operand.axes):
        _bad(value, "reduces over axes its operand does not have")
    left = tuple(axis for axis in operand.axes if axis not in value.over)
    if value.axes != left + (PARTS,) * value.partial:
        _bad(value, "domain must be that of %s without the reduced axes" % value.operand)


def _check_stores(kernel: LoopKernel, seen: Dict[str, Value]) -> None:
    if sorted(store.output for store in kernel.stores) != list(range(len(kernel.targets))):
        raise IRError("every output needs exactly one store", stage=STAGE)
    for store in kernel.stores:
        _check_store(kernel, store, seen)


def _check_store(kernel: LoopKernel, store: Store, seen: Dict[str, Value]) -> None:
    where = "out%d" % store.output
    if store.value not in seen:
        raise IRError("stores unknown value %s" % store.value, node=where, stage=STAGE)
    value = seen[store.value]
    if value.dtype != kernel.targets[store.output].dtype:
        raise IRError("stores %s" % value.dtype, node=where, stage=STAGE)
    plain = all(dim.plain for dim in store.dims) and store.axes == _laid_out(kernel, store.axes)
    if not plain or not set(value.axes) <= set(store.axes):
        raise IRError("dims do not match the domain of the value", node=where, stage=STAGE)


def _ordered(kernel: LoopKernel, axes) -> Tuple[str, ...]:
    return tuple(axis for axis in kernel.axes if axis in set(axes))


def _laid_out(kernel: LoopKernel, axes) -> Tuple[str, ...]:
    """`axes` as they lie in memory: parts one after the other."""
    return (PARTS,) * (PARTS in axes) + _ordered(kernel, set(axes) - {PARTS})


def _bad(value: Value, message: str) -> NoReturn:
    raise IRError(message, node=value.name, stage=STAGE)

