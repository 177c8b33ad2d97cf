"""UB slots by liveness: buffers whose lifetimes do not meet share one."""
from __future__ import annotations

from dataclasses import replace
from typing import Any, Dict, List, Sequence, Tuple

from tf_autofuse.kernel.ir import (
    Accumulate,
    Buffer,
    Compute,
    Loop,
    Step,
    read,
    walk_steps,
    written,
)
from tf_autofuse.kernel.vector import ITEM_BYTES, VECTOR_OPS

Span = Tuple[int, int]


def assign_slots(buffers: Sequence[Buffer], steps: Tuple[Step, ...]) -> Tuple[Buffer, ...]:
    """`buffers` that some step uses, with their slots.

    A buffer made outside of a loop and used inside lives until the loop ends; one made in a held
    scope lives as long as the loop around it. An instruction that may work in place gives its
    result the slot of an operand that ends there, and so does a fold its scratch.
    """
    order: List[Tuple[Step, Tuple[Span, ...]]] = []
    held: Dict[str, Span] = {}
    _flatten(steps, (), order, held)
    spans, in_place = _lifetimes(order)
    spans.update((name, span) for name, span in held.items() if name in spans)
    free: Dict[Tuple[str, int], List[Tuple[int, int]]] = {}
    placed: List[Buffer] = []
    count = 0
    for buffer in sorted((b for b in buffers if b.name in spans), key=lambda b: spans[b.name]):
        start, end = spans[buffer.name]
        key = (buffer.shape, 0 if buffer.dtype == "mask" else ITEM_BYTES[buffer.dtype])
        pool = free.setdefault(key, [])
        latest = start if buffer.name in in_place else start - 1
        fit = [entry for entry in pool if entry[0] <= latest]
        if buffer.position == "VECCALC" and fit:
            pool.remove(fit[0])
            slot = fit[0][1]
        else:
            slot, count = count, count + 1
        if buffer.position == "VECCALC":
            pool.append((end, slot))
        placed.append(replace(buffer, slot=slot))
    return tuple(placed)


def numbered(number: int, buffers: Sequence[Buffer],
             steps: Tuple[Step, ...]) -> Tuple[Tuple[Buffer, ...], Tuple[Step, ...]]:
    """The same with the buffers of nest `number` counted in their order."""
    names = {buffer.name: "n%d_b%d" % (number, at) for at, buffer in enumerate(buffers)}
    renamed = tuple(replace(buffer, name=names[buffer.name]) for buffer in buffers)
    return renamed, tuple(_renamed(step, names) for step in steps)


def _renamed(step: Step, names: Dict[str, str]) -> Step:
    if isinstance(step, Loop):
        return replace(step, body=tuple(_renamed(inner, names) for inner in step.body))
    changes: Dict[str, Any] = {field: names.get(getattr(step, field), "")
                               for field in ("dst", "src", "scratch") if hasattr(step, field)}
    if isinstance(step, Compute):
        changes["srcs"] = tuple(names[name] for name in step.srcs)
    return replace(step, **changes)


def _flatten(steps: Tuple[Step, ...], loops: Tuple[Span, ...], order: List,
             held: Dict[str, Span]) -> None:
    for step in steps:
        at = len(order)
        order.append((step, loops))
        if isinstance(step, Loop):
            inner = loops if step.kind == "hold" else loops + ((at, at + _count(step.body)),)
            _flatten(step.body, inner, order, held)
            if step.kind == "hold":
                for made in walk_steps(step.body):
                    if written(made) is not None:
                        held[written(made) or ""] = loops[-1]


def _count(steps: Tuple[Step, ...]) -> int:
    return sum(1 + (_count(s.body) if isinstance(s, Loop) else 0) for s in steps)


def _lifetimes(order: List) -> Tuple[Dict[str, Span], set]:
    spans: Dict[str, Span] = {}
    loops_of: Dict[str, Tuple[Span, ...]] = {}
    in_place = set()
    for at, (step, loops) in enumerate(order):
        for name in read(step):
            outside = [span for span in loops if span not in loops_of[name]]
            end = outside[0][1] if outside else at
            spans[name] = (spans[name][0], max(spans[name][1], end))
        made = written(step)
        if made is not None and made not in spans:
            spans[made] = (at, at)
            loops_of[made] = loops
            if isinstance(step, Compute) and VECTOR_OPS[step.op].in_place:
                in_place.add(made)
        if isinstance(step, Accumulate) and step.scratch:
            spans[step.scratch] = (at, at)
            in_place.add(step.scratch)
    return spans, in_place
