"""The order in which the values of a kernel are computed."""
from __future__ import annotations

from dataclasses import replace
from typing import Dict, Hashable, Iterable, List, Mapping, Sequence, Set, TypeVar

from tf_autofuse.loop.ir import LoopKernel

T = TypeVar("T", bound=Hashable)


def on_demand(roots: Iterable[T], args: Mapping[T, Sequence[T]]) -> List[T]:
    """Items in the order in which `roots` need them: each stands behind its `args`, and what only
    one item needs right before it. Few of them are then waited with at a time."""
    found: Dict[T, None] = {}
    open_: Set[T] = set()
    stack = list(roots)[::-1]
    while stack:
        item = stack[-1]
        if item in found or item in open_:
            found.setdefault(stack.pop())
            continue
        open_.add(item)
        stack += [arg for arg in reversed(args[item]) if arg not in found]
    return list(found)


def in_demand_order(loop: LoopKernel) -> LoopKernel:
    """The kernel with its values in the order of demand, output by output."""
    by_name = {value.name: value for value in loop.body}
    names = on_demand((store.value for store in loop.stores),
                      {value.name: value.args for value in loop.body})
    return replace(loop, body=tuple(by_name[name] for name in names))
