"""What clustering gives."""
from __future__ import annotations

from typing import Dict, FrozenSet, List, NamedTuple, Tuple

from tf_autofuse.cluster.lowering import Lowering
from tf_autofuse.cluster.reasons import FuseDecision
from tf_autofuse.cluster.view import ViewNode
from tf_autofuse.loop.lower import LoweredKernel


class Cluster(NamedTuple):
    """Operators in topological order, and the kernel they lower to.

    `copies` are the indices of those that are computed for this kernel alone and are no output,
    `shared` those of them that another cluster has as well, or that stay in the graph.
    """

    nodes: Tuple[ViewNode, ...]
    lowered: LoweredKernel
    copies: FrozenSet[int] = frozenset()
    shared: FrozenSet[int] = frozenset()

    @property
    def members(self) -> Tuple[ViewNode, ...]:
        """The operators without the copies."""
        return tuple(node for node in self.nodes if node.index not in self.copies)

    @property
    def own(self) -> Tuple[ViewNode, ...]:
        """The operators that count for this cluster; each counts once in a graph."""
        return tuple(node for node in self.nodes if node.index not in self.shared)


class Joined(NamedTuple):
    """Operators in topological order that are one kernel, whose names are still to be put in."""

    nodes: Tuple[ViewNode, ...]
    lowered: Lowering


class Clustering(NamedTuple):
    """`alone`: per node index, why it is not in a cluster; `apart`: per pair of neighbours that
    were tried (producer and consumer, or two readers of a tensor) and are not in one cluster, why;
    `unfit`: per node that no kernel can have, why."""

    clusters: List[Cluster]
    alone: Dict[int, FuseDecision]
    apart: Dict[Tuple[int, int], FuseDecision]
    unfit: Dict[int, FuseDecision]
