"""A topological order of a graph that survives rewrites, for cheap cycle checks.

Ranks are tuples: nodes that take the place of one with rank r get r + (serial,), so nobody
is renumbered. An edge that breaks the order is repaired by moving only the nodes between its ends
(Pearce and Kelly, "A dynamic topological sort algorithm for directed acyclic graphs", 2006).
"""

from __future__ import annotations

from typing import Callable, Iterable, List, Optional, Set

from tf_autofuse.ge.graph import GraphData
from tf_autofuse.ge.node import NodeData

# Their outputs lead into the next round of a loop, so they close no cycle within one.
_BACK_EDGES = frozenset(("NextIteration", "RefNextIteration"))


def successors(node: NodeData) -> Iterable[NodeData]:
    """Consumers by data and control edges, with repeats; none behind a loop's back edge."""
    if node.type in _BACK_EDGES:
        return
    for consumers in node.outputs:
        for consumer, _ in consumers:
            yield consumer
    for consumer in node.out_controls:
        yield consumer


def predecessors(node: NodeData) -> Iterable[NodeData]:
    """Producers by data and control edges, with repeats; none across a loop's back edge."""
    for edge in node.inputs:
        if edge is not None and edge[0].type not in _BACK_EDGES:
            yield edge[0]
    for producer in node.in_controls:
        if producer.type not in _BACK_EDGES:
            yield producer


def rank_nodes(graph: GraphData) -> bool:
    """Give every node a rank unless they are up to date; False when the graph has a cycle."""
    if graph.ranked:
        return True
    waiting = {node: sum(1 for _ in predecessors(node)) for node in graph.ordered()}
    ready = [node for node, count in waiting.items() if count == 0]
    for place, node in enumerate(ready):  # grows while it is walked
        node.rank = (place,)
        for consumer in successors(node):
            waiting[consumer] -= 1
            if waiting[consumer] == 0:
                ready.append(consumer)
    graph.ranked = len(ready) == len(waiting)
    return graph.ranked


def _reach(
    starts: Iterable[NodeData],
    step: Callable[[NodeData], Iterable[NodeData]],
    inside: Callable[[NodeData], bool],
) -> Set[NodeData]:
    found: Set[NodeData] = set()
    stack = [node for node in starts if inside(node)]
    while stack:
        node = stack.pop()
        if node in found:
            continue
        found.add(node)
        stack.extend(near for near in step(node) if near not in found and inside(near))
    return found


def closes_cycle(members: Set[NodeData]) -> Optional[NodeData]:
    """A node outside of `members` on a path from one of them to another, or None.

    All members belong to one graph.
    """
    graph = next(iter(members)).graph
    ranked = rank_nodes(graph)
    last = max(node.rank for node in members) if ranked else ()

    def inside(node: NodeData) -> bool:
        return node not in members and (not ranked or node.rank < last)

    starts = (near for node in members for near in successors(node))
    for node in _reach(starts, successors, inside):
        if any(near in members for near in successors(node)):
            return node
    return None


def place_new_nodes(graph: GraphData, new: List[NodeData], after: tuple) -> None:
    """Rank `new` (in topological order) right behind rank `after`, then repair the order.

    Call it when all their edges are in place. A cycle makes the graph unranked.
    """
    for node in new:
        node.rank = after + (graph.next_serial(),)
    for node in new:
        for consumer in list(successors(node)):
            if consumer.rank <= node.rank and not _repair(node, consumer):
                graph.ranked = False
                return


def _repair(source: NodeData, target: NodeData) -> bool:
    """Reorder around the edge source -> target, which runs against the ranks; False on a cycle."""
    low, high = target.rank, source.rank
    forward = _reach([target], successors, lambda node: node.rank <= high)
    if source in forward:
        return False
    backward = _reach([source], predecessors, lambda node: node.rank >= low)
    moved = sorted(backward, key=_rank) + sorted(forward, key=_rank)
    for node, rank in zip(moved, sorted(node.rank for node in moved)):
        node.rank = rank
    return True


def _rank(node: NodeData) -> tuple:
    return node.rank
