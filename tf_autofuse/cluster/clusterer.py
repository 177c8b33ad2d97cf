"""The clusterer: greedy joining of producers and consumers, in topological order.

Every fusible operator starts as a group of its own. Walking consumers in topological order, each
group is joined to the groups that produce its inputs, those with most bytes on the shared edge
first, when that makes no cycle and the result lowers to one legal kernel. Joining an edge saves
writing and reading its tensor, so every legal join pays.
"""
from __future__ import annotations

from typing import Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

from tf_autofuse.cluster.fusible import SILENT_TYPES, judge
from tf_autofuse.cluster.order import CONTROL_FLOW_TYPES, contexts, topological_order
from tf_autofuse.cluster.reasons import FuseDecision
from tf_autofuse.cluster.view import SETTING_ATTRS, GraphView, ViewNode, read_attr
from tf_autofuse.errors import Unsupported
from tf_autofuse.loop.legal import check
from tf_autofuse.loop.lower import LoweredKernel, lower
from tf_autofuse.loop.source import Operator, TensorRef
from tf_autofuse.loop.views import VIEW_RULES
from tf_autofuse.ops import OPS, REDUCE, VIEW


class Cluster(NamedTuple):
    """Members in topological order, and the kernel they lower to."""

    nodes: Tuple[ViewNode, ...]
    lowered: LoweredKernel


class Clustering(NamedTuple):
    """`alone`: per node index, why it is not in a cluster."""

    clusters: List[Cluster]
    alone: Dict[int, FuseDecision]


def find_clusters(view: GraphView, min_ops: int = 2) -> Clustering:
    """Clusters of at least `min_ops` operators, in topological order of their first member."""
    return _Clusterer(view).run(min_ops)


def lower_nodes(view: GraphView, nodes: Sequence[ViewNode]) -> LoweredKernel:
    """Lower a set of nodes (topological order) to a legal kernel; Unsupported when impossible."""
    return _lower_legal(view, nodes, [view.operator(node) for node in nodes])


def _lower_legal(
    view: GraphView, nodes: Sequence[ViewNode], operators: Sequence[Operator]
) -> LoweredKernel:
    lowered = lower(operators, outputs_of(view, nodes), view.infos)
    check(lowered.kernel)
    return lowered


def outputs_of(view: GraphView, nodes: Sequence[ViewNode]) -> List[TensorRef]:
    """Tensors of `nodes` that something outside reads; all of them when nothing does."""
    inside = {node.index for node in nodes}
    used = [
        (node.name, port)
        for node in nodes
        for port, consumers in enumerate(node.consumers[:OPS[node.type].outputs])
        if any(index not in inside for index, _ in consumers)
    ]
    return used or [(nodes[-1].name, 0)]


class _Clusterer:
    def __init__(self, view: GraphView):
        self._view = view
        self._order = topological_order(view)
        self._rank = {index: rank for rank, index in enumerate(self._order)}
        self._contexts = contexts(view, self._order)
        self._alone: Dict[int, FuseDecision] = {}
        self._group: Dict[int, int] = {}
        self._members: Dict[int, List[int]] = {}
        self._last: Dict[int, int] = {}
        self._settings: Dict[int, tuple] = {}
        self._operators: Dict[int, Operator] = {}
        self._delicate: Dict[int, bool] = {}
        self._succ: Dict[int, Tuple[int, ...]] = {}

    def run(self, min_ops: int) -> Clustering:
        for index in self._order:
            self._start(self._view.nodes[index])
        for index in self._order:
            if index in self._operators:
                self._join_producers(self._view.nodes[index])
        self._join_siblings()
        return self._collect(min_ops)

    def _start(self, node: ViewNode) -> None:
        self._group[node.index] = node.index
        self._members[node.index] = [node.index]
        self._last[node.index] = self._rank[node.index]
        self._succ[node.index] = tuple(set(self._view.successors(node.index)))
        decision = judge(self._view, node)
        if not decision.ok:
            self._leave(node.index, decision)
            return
        operator = self._operators[node.index] = self._view.operator(node)
        self._delicate[node.index] = OPS[node.type].lower in VIEW_RULES or any(
            _has_equal_dims(self._view.infos[ref].dims)
            for ref in operator.inputs + ((node.name, 0),)
        )
        self._settings[node.index] = tuple(
            str(read_attr(node.handle, key)) for key in SETTING_ATTRS
        )

    def _leave(self, index: int, decision: FuseDecision) -> None:
        """Note why an operator stays alone; the first reason counts."""
        node = self._view.nodes[index]
        if node.shown_type not in SILENT_TYPES and node.type not in CONTROL_FLOW_TYPES:
            self._alone.setdefault(index, decision)

    # ---- joining ---------------------------------------------------------------------------

    def _join_producers(self, node: ViewNode) -> None:
        edges = list(self._operators[node.index].inputs)
        edges.sort(key=self._bytes, reverse=True)
        for ref in edges:
            producer = self._view.index[ref[0]]
            if producer not in self._operators:
                continue
            if self._group[producer] == self._group[node.index]:
                continue
            decision = self._judge_views(producer, node)
            if decision.ok:
                decision = self._try_join(producer, node.index)
            if not decision.ok:
                self._leave(producer, decision)
                self._leave(node.index, decision)

    def _join_siblings(self) -> None:
        """Join groups that read one outside tensor and do not wait for each other: the tensor is
        then read once. Large tensors first; a broadcast operand (a learning rate that all updates
        share) is not worth it."""
        readers: Dict[TensorRef, List[int]] = {}
        for index, operator in self._operators.items():
            for ref in operator.inputs:
                if self._worth_sharing(operator, ref):
                    readers.setdefault(ref, []).append(index)
        for ref in sorted(readers, key=self._bytes, reverse=True):
            indices = sorted(readers[ref], key=self._rank.__getitem__)
            for first, second in zip(indices, indices[1:]):
                if self._group[first] != self._group[second]:
                    self._try_sibling(first, second)

    def _worth_sharing(self, operator: Operator, ref: TensorRef) -> bool:
        kind = OPS[operator.type].kind
        if kind == VIEW or self._view.infos[ref].const is not None:
            return False
        return kind == REDUCE or self._bytes(ref) >= self._bytes((operator.name, 0))

    def _try_sibling(self, first: int, second: int) -> None:
        left, right = self._group[first], self._group[second]
        if self._settings[first] != self._settings[second]:
            return
        if self._contexts[first] != self._contexts[second]:
            return
        if self._path(left, right) or self._path(right, left):
            return
        members = self._together(left, right)
        try:
            self._lower(members)
        except Unsupported:
            return
        self._merge(left, right, members)

    def _judge_views(self, producer: int, node: ViewNode) -> FuseDecision:
        """Views cost nothing by themselves, so they only ride along: behind the operator that
        makes their tensor, when nothing else reads it, and never as the head of a cluster."""
        names = (self._view.nodes[producer].name, node.name)
        if not any(self._computes(index) for index in self._members[self._group[producer]]):
            return FuseDecision.no("VIEW", "%s and %s: the first is only a view" % names)
        shared = len(self._view.nodes[producer].consumers[0]) > 1
        if shared and not self._computes(node.index):
            return FuseDecision.no("VIEW", "%s and %s: the tensor is shared" % names)
        return FuseDecision.yes()

    def _computes(self, index: int) -> bool:
        return OPS[self._operators[index].type].kind != VIEW

    def _bytes(self, ref: TensorRef) -> int:
        dims = self._view.infos[ref].dims or ()
        size = 1
        for dim in dims:
            size *= dim if dim >= 0 else 1024
        return size

    def _try_join(self, producer: int, consumer: int) -> FuseDecision:
        names = (self._view.nodes[producer].name, self._view.nodes[consumer].name)
        if self._contexts[producer] != self._contexts[consumer]:
            return FuseDecision.no("CONTEXT", "%s and %s: different control flow" % names)
        if self._settings[producer] != self._settings[consumer]:
            return FuseDecision.no("SETTINGS", "%s and %s: different settings" % names)
        first, second = self._group[producer], self._group[consumer]
        if self._path_around(first, second):
            return FuseDecision.no("CYCLE", "%s and %s: another path joins them" % names)
        members = self._together(first, second)
        try:
            if not self._follows(first, second, consumer):
                self._lower(members)
        except Unsupported as error:
            text = "%s and %s: %s" % (names[0], names[1], error.message)
            return FuseDecision.no(error.code, text)
        self._merge(first, second, members)
        return FuseDecision.yes()

    def _follows(self, first: int, second: int, consumer: int) -> bool:
        """True for a lone operator that walks just what its producer's group walks.

        Its operands and its result have the same dims, no tensor of the group has two dims of one
        size, and none is a broadcast or a reshape. Then the axes can be unified in one way only,
        and the result is as large as the output it reads: lowering would find nothing to refuse.
        """
        operator = self._operators[consumer]
        if len(self._members[second]) > 1 or OPS[operator.type].kind == REDUCE:
            return False
        infos = self._view.infos
        dims = infos[(operator.name, 0)].dims
        if any(infos[ref].dims != dims for ref in operator.inputs):
            return False
        return not (self._delicate[first] or self._delicate[second])

    def _lower(self, members: Sequence[int]) -> LoweredKernel:
        nodes = [self._view.nodes[index] for index in members]
        return _lower_legal(self._view, nodes, [self._operators[index] for index in members])

    def _together(self, first: int, second: int) -> List[int]:
        """Members of two groups in topological order."""
        return sorted(self._members[first] + self._members[second], key=self._rank.__getitem__)

    def _merge(self, first: int, second: int, members: List[int]) -> None:
        for index in self._members.pop(second):
            self._group[index] = first
        self._members[first] = members
        self._delicate[first] |= self._delicate.pop(second)
        self._last[first] = max(self._last[first], self._last.pop(second))

    def _path(self, first: int, second: int) -> bool:
        """True when `second` waits for `first`, directly or through other groups."""
        direct = any(
            self._group.get(successor) == second
            for index in self._members[first]
            for successor in self._succ[index]
        )
        return direct or self._path_around(first, second)

    def _path_around(self, first: int, second: int) -> bool:
        """True when a path leaves `first` and reaches `second` through another group."""
        limit = self._last[second]
        stack: List[int] = []
        seen: Set[int] = {first, second}
        self._push_groups(first, limit, seen, stack)
        while stack:
            group = stack.pop()
            for index in self._members[group]:
                if any(self._group.get(s) == second for s in self._succ[index]):
                    return True
            self._push_groups(group, limit, seen, stack)
        return False

    def _push_groups(self, group: int, limit: int, seen: Set[int], stack: List[int]) -> None:
        for index in self._members[group]:
            for successor in self._succ[index]:
                target = self._group.get(successor)
                # Nothing behind the last member of the target group can lead back to it.
                if target is None or target in seen or self._rank[successor] > limit:
                    continue
                seen.add(target)
                stack.append(target)

    # ---- result ----------------------------------------------------------------------------

    def _collect(self, min_ops: int) -> Clustering:
        clusters: List[Cluster] = []
        for members in self._members.values():
            if members[0] not in self._operators:
                continue
            if sum(self._computes(index) for index in members) >= min_ops:
                self._finish(members, clusters)
                continue
            for index in members:
                name = self._view.nodes[index].name
                decision = FuseDecision.no("SINGLE", "%s has no fusible neighbour" % name)
                self._leave(index, decision)
        clusters.sort(key=lambda cluster: self._rank[cluster.nodes[0].index])
        return Clustering(clusters, self._alone)

    def _finish(self, members: List[int], clusters: List[Cluster]) -> None:
        nodes = tuple(self._view.nodes[index] for index in members)
        try:
            clusters.append(Cluster(nodes, self._lower(members)))
        except Unsupported as error:
            decision = FuseDecision.no(error.code, str(error))
            self._alone.update((index, decision) for index in members)
        else:
            for index in members:
                self._alone.pop(index, None)


def _has_equal_dims(dims: Optional[Tuple[int, ...]]) -> bool:
    sizes = [size for size in dims or () if size != 1]
    return len(set(sizes)) != len(sizes)
