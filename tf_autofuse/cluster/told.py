"""How shapes come about that a kernel's tensors tell.

    y = f(x)   ->   Shape(y)   ->   Reshape(g(y), shape)

A kernel with all but the Shape has no use for it: where nobody else reads it either, it is gone
with the operators that the kernel takes the place of, and y need not be written for its sake.
"""
from __future__ import annotations

from typing import Iterable, List, Set

from tf_autofuse.cluster.view import GraphView, ViewNode

SHAPE_TYPES = frozenset(
    ("Shape", "ShapeN", "BroadcastGradientArgs", "StridedSlice", "GatherV2", "Pack", "ConcatV2")
)
"""Types that find out a shape, or what follows from it, and do nothing else."""
_COUNT_TYPES = frozenset(("ReduceProd", "Cast"))
"""Types that make of a shape the number of elements."""


def told_shapes(view: GraphView, members: Iterable[int]) -> List[int]:
    """Indices of the nodes that only tell `members` a shape; each before those it reads."""
    inside = set(members)
    todo = [index for member in inside for index in _asked(view, view.nodes[member])]
    order: List[int] = []
    seen: Set[int] = set()
    while todo:  # readers first, but for those that are found later: these go to the end again
        index = todo.pop()
        node = view.nodes[index]
        others = node.controls_in or set(node.controls_out) - inside
        if others or node.type not in SHAPE_TYPES | _COUNT_TYPES or index in inside:
            continue
        if index in seen:
            order.remove(index)
        seen.add(index)
        order.append(index)
        todo += [view.index[ref[0]] for ref in node.inputs if ref is not None]
    found: Set[int] = set()
    for index in order:
        if all(reader in found or reader in inside and _holds(view, reader, index)
               for reader in view.successors(index)):
            found.add(index)
    return [index for index in order if index in found]


def _asked(view: GraphView, node: ViewNode) -> List[int]:
    """What tells a node a shape, and what it only waits for."""
    held = [view.index[ref[0]] for ref in node.inputs if ref is not None and view.holds(node, ref)]
    return held + list(node.controls_in)


def _holds(view: GraphView, reader: int, index: int) -> bool:
    node = view.nodes[index]
    return all(view.holds(view.nodes[reader], (node.name, port))
               for port in range(len(node.outputs))
               if (node.name, port) in view.nodes[reader].inputs)
