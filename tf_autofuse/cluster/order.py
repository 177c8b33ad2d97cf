"""Topological order and control-flow contexts of a graph.

TF1 control flow (Switch, Merge, Enter, Exit, NextIteration, LoopCond) kills tensors and repeats
frames. A fused node is dead as soon as one input is, so only operators that live and die together
may be joined: those with the same *context*, the set of (frame, token) that reach them.
"""
from __future__ import annotations

from typing import Dict, FrozenSet, List, Tuple

from tf_autofuse.cluster.view import GraphView, ViewNode, read_attr

Context = FrozenSet[Tuple[str, str]]

BACK_EDGE_TYPES = ("NextIteration", "RefNextIteration")
SWITCH_TYPES = ("Switch", "RefSwitch")
MERGE_TYPES = ("Merge", "RefMerge")
ENTER_TYPES = ("Enter", "RefEnter")
EXIT_TYPES = ("Exit", "RefExit")

CONTROL_FLOW_TYPES = frozenset(
    BACK_EDGE_TYPES + SWITCH_TYPES + MERGE_TYPES + ENTER_TYPES + EXIT_TYPES + ("LoopCond",)
)


def topological_order(view: GraphView) -> List[int]:
    """Node indices, producers first; the edges out of NextIteration do not count.

    Nodes on any other cycle are left out, so that they are never fused.
    """
    waiting = [0] * len(view.nodes)
    for node in view.nodes:
        if node.type not in BACK_EDGE_TYPES:
            for successor in view.successors(node.index):
                waiting[successor] += 1
    ready = [index for index, count in enumerate(waiting) if count == 0]
    order: List[int] = []
    while ready:
        index = ready.pop()
        order.append(index)
        if view.nodes[index].type in BACK_EDGE_TYPES:
            continue
        for successor in view.successors(index):
            waiting[successor] -= 1
            if waiting[successor] == 0:
                ready.append(successor)
    return order


def places(view: GraphView) -> Dict[int, int]:
    """Place of each node in the topological order, of those that have one; found once."""
    if not view.places:
        view.places = {index: place for place, index in enumerate(topological_order(view))}
    return view.places


def contexts(view: GraphView, order: List[int]) -> Dict[int, Context]:
    """Context of every node in `order`; all empty when the graph has no TF1 control flow."""
    found: Dict[int, Context] = {}
    if not any(node.type in CONTROL_FLOW_TYPES for node in view.nodes):
        return {index: frozenset() for index in order}
    for index in order:
        node = view.nodes[index]
        before = [found[i] for i in view.predecessors(index) if i in found]
        found[index] = _context(view, node, before)
    return found


def _context(view: GraphView, node: ViewNode, before: List[Context]) -> Context:
    merged: Context = frozenset().union(*before) if before else frozenset()
    if node.type in MERGE_TYPES:
        return frozenset.intersection(*before) if before else frozenset()
    if node.type in ENTER_TYPES:
        frame = str(read_attr(node.handle, "frame_name") or node.name)
        return merged | {(frame, "frame")}
    if node.type in EXIT_TYPES:
        frames = {frame for frame, token in merged if token == "frame"}
        inner = max(frames, key=len) if frames else ""
        return frozenset(item for item in merged if item[0] != inner)
    if node.type in SWITCH_TYPES:
        # Both outputs share a token: consumers of different branches only meet behind a Merge.
        predicate = node.inputs[1][0] if len(node.inputs) > 1 and node.inputs[1] else node.name
        inside = [frame for frame, token in merged if token == "frame"]
        return merged | {(max(inside, key=len) if inside else "", "switch:" + predicate)}
    return merged
