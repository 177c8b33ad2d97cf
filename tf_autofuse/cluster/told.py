"""How shapes come about that a kernel's tensors tell.

    y = f(x)   ->   Shape(y)   ->   Reshape(g(y), shape)

A kernel with all but the Shape has no use for it: where nobody else reads it either, it is gone
with the operators that the kernel takes the place of, and y need not be written for its sake.
"""
from __future__ import annotations

from typing import Iterable, List, Set, Tuple

from tf_autofuse.cluster.view import GraphView, ViewNode
from tf_autofuse.ge.reading import CONST_TYPES

SHAPE_TYPES = frozenset(
    ("Shape", "ShapeN", "BroadcastGradientArgs", "StridedSlice", "GatherV2", "Pack", "ConcatV2")
)
"""Types that find out a shape, or what follows from it, and do nothing else."""
_COUNT_TYPES = frozenset(("ReduceProd", "Cast"))
"""Types that make of a shape the number of elements."""


def is_size(view: GraphView, index: int) -> bool:
    """Whether a node finds out sizes, and does nothing else."""
    return view.nodes[index].type in SHAPE_TYPES or index in view.sizes


def told_shapes(view: GraphView, members: Iterable[int]) -> List[int]:
    """Indices of the nodes that only tell `members` a shape; each before those it reads."""
    inside = set(members)
    todo = [index for member in inside for index in _asked(view, view.nodes[member], inside)]
    order: List[int] = []
    seen: Set[int] = set()
    while todo:  # readers first, but for those that are found later: these go to the end again
        index = todo.pop()
        node = view.nodes[index]
        if index in inside or not _only_tells(view, node, inside):
            continue
        if index in seen:
            order.remove(index)
        else:
            todo += _held_back(view, node)
        seen.add(index)
        order.append(index)
        todo += [view.index[ref[0]] for ref in node.inputs if ref is not None]
        todo += node.controls_in
    found: Set[int] = set()
    for index in order:
        if all(reader in found or reader in inside and _holds(view, reader, index, inside)
               for reader in view.successors(index)):
            found.add(index)
    return [index for index in order if index in found]


def _tells(view: GraphView, node: ViewNode) -> bool:
    """Whether a node tells sizes, and nothing but a size comes before it."""
    if node.type in CONST_TYPES:
        return bool(node.controls_in) and all(is_size(view, maker) for maker in node.controls_in)
    return not node.controls_in and (node.type in _COUNT_TYPES or is_size(view, node.index))


def _only_tells(view: GraphView, node: ViewNode, inside: Set[int]) -> bool:
    """Whether a node tells sizes, and nothing but that, and `inside`, waits for it."""
    return _tells(view, node) and (node.type in CONST_TYPES or not (
        set(node.controls_out) - inside - set(_held_back(view, node))))


def _held_back(view: GraphView, node: ViewNode) -> Tuple[int, ...]:
    """Constants that wait for a node, as folding leaves them."""
    return tuple(i for i in node.controls_out if view.nodes[i].type in CONST_TYPES)


def _asked(view: GraphView, node: ViewNode, inside: Set[int]) -> List[int]:
    """What tells a node a shape, and what it only waits for."""
    makers = [(view.index[ref[0]], ref) for ref in node.inputs if ref is not None]
    held = [maker for maker, ref in makers
            if _tells(view, view.nodes[maker]) and view.holds(node, ref, inside)]
    return held + list(node.controls_in)


def _holds(view: GraphView, reader: int, index: int, inside: Set[int]) -> bool:
    node = view.nodes[index]
    return all(view.holds(view.nodes[reader], (node.name, port), inside)
               for port in range(len(node.outputs))
               if (node.name, port) in view.nodes[reader].inputs)
