"""Which neighbours every operator of a graph is fused with, and why not with the others."""
from __future__ import annotations

from typing import Any, Dict, Iterator, List, NamedTuple, Tuple

from tf_autofuse.cluster.clusterer import Clustering, find_clusters
from tf_autofuse.cluster.fusible import SILENT_TYPES
from tf_autofuse.cluster.reasons import FuseDecision
from tf_autofuse.cluster.view import GraphView

PRODUCER, CONSUMER, SIBLING = "reads", "read by", "beside"


class Neighbour(NamedTuple):
    """A neighbour in another kernel or in none. `relation`: the node reads it, is read by it, or
    both read one tensor; `reason` names both."""

    relation: str
    name: str
    type: str
    code: str
    reason: str


class Story(NamedTuple):
    """`kernel` holds the operators fused with the node, itself included; empty when it is alone,
    and then `code` and `reason` say why."""

    node: str
    type: str
    kernel: Tuple[str, ...]
    code: str
    reason: str
    apart: Tuple[Neighbour, ...]

    def to_dict(self) -> Dict[str, Any]:
        """Plain lists, dicts and strings."""
        apart = [dict(neighbour._asdict()) for neighbour in self.apart]
        return dict(self._asdict(), kernel=list(self.kernel), apart=apart)


def explain(view: GraphView) -> List[Story]:
    """One story for each node that computes something, in graph order."""
    return _Explainer(view, find_clusters(view)).stories()


class _Explainer:
    def __init__(self, view: GraphView, clustering: Clustering):
        self._view = view
        self._clustering = clustering
        self._home = {node.index: number for number, cluster in enumerate(clustering.clusters)
                      for node in cluster.own}
        self._siblings: Dict[int, List[int]] = {}
        edges = {(i, j) for i in range(len(view.nodes)) for j in view.successors(i)}
        for pair in clustering.apart:
            if pair not in edges:
                for one, other in (pair, pair[::-1]):
                    self._siblings.setdefault(one, []).append(other)

    def stories(self) -> List[Story]:
        return [self._story(index) for index in range(len(self._view.nodes))
                if self._is_told(index)]

    def _is_told(self, index: int) -> bool:
        return self._view.nodes[index].type not in SILENT_TYPES

    def _story(self, index: int) -> Story:
        node = self._view.nodes[index]
        kernel: Tuple[str, ...] = ()
        decision = FuseDecision.yes()
        if index in self._home:
            members = self._clustering.clusters[self._home[index]].nodes
            kernel = tuple(member.name for member in members)
        else:
            single = FuseDecision.no("SINGLE", "%s has no fusible neighbour" % node.name)
            decision = self._clustering.alone.get(index, single)
        apart = tuple(self._neighbours(index))
        return Story(node.name, node.type, kernel, decision.code, decision.reason, apart)

    def _neighbours(self, index: int) -> Iterator[Neighbour]:
        near = [(PRODUCER, i) for i in self._view.predecessors(index)]
        near += [(CONSUMER, i) for i in self._view.successors(index)]
        near += [(SIBLING, i) for i in self._siblings.get(index, ())]
        for relation, other in dict.fromkeys(near):
            together = index in self._home and self._home[index] == self._home.get(other)
            if self._is_told(other) and not together:
                node = self._view.nodes[other]
                decision = self._between(index, other)
                yield Neighbour(relation, node.name, node.type, decision.code,
                                decision.reason)

    def _between(self, index: int, other: int) -> FuseDecision:
        for pair in ((index, other), (other, index)):
            if pair in self._clustering.apart:
                return self._clustering.apart[pair]
        names = tuple(self._view.nodes[i].name for i in (index, other))
        for one in (index, other):
            unfit = self._clustering.unfit.get(one)
            if unfit is not None:
                return FuseDecision.no(unfit.code, "%s and %s: %s" % (names + (unfit.reason,)))
        return FuseDecision.no("SINGLE", "%s and %s: no tensor goes from one to the other" % names)
