"""The clusterer: greedy joining of producers and consumers, in topological order.

Every fusible operator starts as a group of its own. Walking consumers in topological order, each
group is joined to the groups that produce its inputs, those with most bytes on the shared edge
first, when that makes no cycle and the result lowers to one legal kernel. Joining an edge saves
writing and reading its tensor, so every legal join into one loop nest pays; one that needs
several nests, which may each read an input, must not move more bytes than the groups apart.
"""
from __future__ import annotations

import itertools
from typing import Dict, List, Sequence, Set, Tuple

from tf_autofuse.cluster.follow import Followers
from tf_autofuse.cluster.fusible import SILENT_TYPES, judge, saves_work
from tf_autofuse.cluster.groups import GroupGraph
from tf_autofuse.cluster.lowering import UNKNOWN_SIZE, Candidate, LoweringMemo, outputs_of
from tf_autofuse.cluster.order import CONTROL_FLOW_TYPES, contexts, places
from tf_autofuse.cluster.reasons import FuseDecision
from tf_autofuse.cluster.recompute import Graph, recompute
from tf_autofuse.cluster.result import Cluster, Clustering, Joined
from tf_autofuse.cluster.symbols import refine
from tf_autofuse.cluster.told import is_size, told_shapes
from tf_autofuse.cluster.view import SETTING_ATTRS, GraphView, ViewNode, read_attr
from tf_autofuse.cluster.views import without_last_views
from tf_autofuse.errors import Unsupported
from tf_autofuse.loop.source import Operator, TensorRef
from tf_autofuse.ops import MOVE, OPS, REDUCE, VIEW

MOST_BETWEEN = 200
"""Groups looked at for a way to join what lies between two groups; bounds the time it takes."""


def find_clusters(view: GraphView, min_ops: int = 2, copies: bool = True) -> Clustering:
    """Clusters of at least `min_ops` operators, in topological order of their first member.
    With `copies` they may compute cheap operators again that are elsewhere as well."""
    order = list(places(view))
    refine(view, order)
    return _Clusterer(view, order).run(min_ops, copies)


class _Clusterer:
    def __init__(self, view: GraphView, order: List[int]):
        self._view = view
        self._order = order
        self._rank = {index: rank for rank, index in enumerate(self._order)}
        self._contexts = contexts(view, self._order)
        self._alone: Dict[int, FuseDecision] = {}
        self._group: Dict[int, int] = {}
        self._members: Dict[int, List[int]] = {}
        self._settings: Dict[int, tuple] = {}
        self._operators: Dict[int, Operator] = {}
        self._followers = Followers(view, self._operators, self._group, self._members)
        self._memo = LoweringMemo(view.infos)
        self._kernels: Dict[int, bool] = {}  # whether a lone operator is one
        self._groups = GroupGraph(
            self._order, {index: list(set(view.successors(index))) for index in self._order}
        )
        self._refused: Dict[Tuple[int, int], Tuple[int, ...]] = {}
        self._apart: Dict[Tuple[int, int], FuseDecision] = {}
        self._unfit: Dict[int, FuseDecision] = {}

    def run(self, min_ops: int, copies: bool) -> Clustering:
        for index in self._order:
            self._start(self._view.nodes[index])
        self._join_all()
        self._join_siblings()
        return self._collect(min_ops, copies)

    def _join_all(self) -> None:
        """Join along edges until nothing joins: what may not be written by itself (a broadcast)
        can be joined to its producer once its consumers are with it."""
        changed = True
        while changed:
            before = len(self._members)
            for index in self._order:
                if index in self._operators:
                    self._join_producers(self._view.nodes[index])
            changed = len(self._members) < before

    def _start(self, node: ViewNode) -> None:
        self._group[node.index] = node.index
        self._members[node.index] = [node.index]
        decision = judge(self._view, node)
        if not decision.ok:
            self._unfit[node.index] = decision
            self._leave(node.index, decision)
            return
        operator = self._operators[node.index] = self._view.operator(node)
        self._followers.start(node, operator)
        self._settings[node.index] = tuple(
            str(read_attr(node.handle, key)) for key in SETTING_ATTRS
        )

    def _leave(self, index: int, decision: FuseDecision) -> None:
        """Note why an operator stays alone; the first reason counts."""
        node = self._view.nodes[index]
        if node.type not in SILENT_TYPES and node.type not in CONTROL_FLOW_TYPES:
            self._alone.setdefault(index, decision)

    # ---- joining ---------------------------------------------------------------------------

    def _join_producers(self, node: ViewNode) -> None:
        asked = self._view.asked
        edges = [asked.get(ref, ref) for ref in self._operators[node.index].inputs]
        edges.sort(key=self._bytes, reverse=True)
        for ref in edges:
            producer = self._view.index[ref[0]]
            if producer not in self._operators:
                continue
            here = (producer, node.index)
            pair = (self._group[producer], self._group[node.index])
            versions = tuple(len(self._members[group]) for group in pair)
            if pair[0] == pair[1] or self._refused.get(pair) == versions:
                continue
            decision = self._judge_views(producer, node)
            if decision.ok:
                decision = self._try_join(producer, node.index)
            if not decision.ok:
                self._refused[pair] = versions
                self._apart[here] = decision
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
        if kind in (VIEW, MOVE) or self._view.infos[ref].const is not None:
            return False
        return kind == REDUCE or self._bytes(ref) >= self._bytes((operator.name, 0))

    def _try_sibling(self, first: int, second: int) -> None:
        left, right = self._group[first], self._group[second]
        if self._groups.stands_before(right, left):
            left, right = right, left
        waits = self._groups.leads_to(left, right) or self._groups.gap(left, right) is None
        decision = self._judge_pair(first, second)
        if decision.ok and waits:
            decision = FuseDecision.no("CYCLE", "%s and %s: one waits for the other"
                                       % self._names(first, second))
        if decision.ok:
            decision = self._join_if_cheap(first, second, (left, right))
        if not decision.ok:
            self._apart[(first, second)] = decision

    def _judge_pair(self, first: int, second: int) -> FuseDecision:
        names = self._names(first, second)
        if self._contexts[first] != self._contexts[second]:
            return FuseDecision.no("CONTEXT", "%s and %s: different control flow" % names)
        if self._settings[first] != self._settings[second]:
            return FuseDecision.no("SETTINGS", "%s and %s: different settings" % names)
        return FuseDecision.yes()

    def _names(self, first: int, second: int) -> Tuple[str, str]:
        return (self._view.nodes[first].name, self._view.nodes[second].name)

    def _join_if_cheap(
        self, first: int, second: int, groups: Sequence[int], held: Sequence[int] = ()
    ) -> FuseDecision:
        """Join `groups`, among them those of two operators, if that is legal and moves no more
        bytes where the kernel needs several nests; `held` as `_closed` gives it."""
        try:
            more = self._extra_bytes(groups)
        except Unsupported as error:
            return FuseDecision.no(
                error.code, "%s and %s: %s" % (self._names(first, second) + (error.message,)))
        if more > 0:
            return FuseDecision.no("TRAFFIC", "%s and %s: one kernel would move %d bytes more" % (
                self._names(first, second) + (more,)))
        for constant in held:
            for group in groups:
                self._groups.cut(constant, group)
        self._merge(groups)
        return FuseDecision.yes()

    def _judge_views(self, producer: int, node: ViewNode) -> FuseDecision:
        """Views cost nothing by themselves, so they only ride along behind the operator that
        makes their tensor, never as the head of a cluster."""
        names = self._names(producer, node.index)
        members = self._members[self._group[producer]]
        if not any(self._computes(index) or self._is_repeated(index) for index in members):
            return FuseDecision.no("VIEW", "%s and %s: the first is only a view" % names)
        return FuseDecision.yes()

    def _is_repeated(self, index: int) -> bool:
        """Whether a view is of a broadcast, which gets its sizes from what reads it."""
        maker = self._view.index[self._operators[index].inputs[0][0]]
        return maker in self._operators and self._operators[maker].type in ("Tile", "BroadcastTo")

    def _computes(self, index: int) -> bool:
        return OPS[self._operators[index].type].kind != VIEW

    def _bytes(self, ref: TensorRef) -> int:
        dims = self._view.infos[ref].dims or ()
        size = 1
        for dim in dims:
            size *= dim if dim >= 0 else UNKNOWN_SIZE
        return size

    def _try_join(self, producer: int, consumer: int) -> FuseDecision:
        decision = self._judge_pair(producer, consumer)
        if not decision.ok:
            return decision
        pair = (self._group[producer], self._group[consumer])
        if self._groups.gap(*pair) is not None:
            follows = self._followers.follows(pair[0], pair[1], consumer)
            if follows and all(map(self._is_kernel, pair)) or (
                    self._followers.leads(producer, pair[1])):
                self._merge(pair)
                return FuseDecision.yes()
            return self._join_if_cheap(producer, consumer, pair)
        groups, held = self._closed(pair, producer)
        if not groups:
            return FuseDecision.no("CYCLE", "%s and %s: another path joins them"
                                   % self._names(producer, consumer))
        return self._join_if_cheap(producer, consumer, groups, held)

    def _closed(
        self, pair: Tuple[int, int], producer: int
    ) -> Tuple[Sequence[int], Sequence[int]]:
        """The groups of a pair with all groups on paths between them, in topological order, and
        what is between them that the kernel does not read: constants that it holds, and how shapes
        come about; no groups when something else is there."""
        found = self._groups.between(pair[0], pair[1], MOST_BETWEEN)
        if found is None:
            return (), ()
        inside = {group for group in found
                  if group in self._operators and self._judge_pair(group, producer).ok}
        union = inside.union(pair)
        held = sorted(found - inside)
        if not all(self._is_held(other, union) for other in held):
            return (), ()
        return self._groups.in_order(union), held

    def _is_held(self, index: int, union: Set[int]) -> bool:
        """Whether what waits for the kernel is no input of it: all readers among the groups of
        `union` hold its value, or have it for a shape that their tensors tell. Nothing happens when
        a shape is found out, so that to wait for one is nothing."""
        node = self._view.nodes[index]
        if len(self._members[index]) > 1:
            return False
        readers = [i for i in self._view.successors(index) if self._group.get(i) in union]
        waits = set(readers) & set(node.controls_out)
        return not (waits and not is_size(self._view, index)) and all(
            self._view.holds(self._view.nodes[reader], (node.name, port),
                             (i for group in union for i in self._members[group]))
            for reader in readers for port in range(len(node.outputs)))

    def _is_kernel(self, group: int) -> bool:
        """Whether a group is a kernel by itself, as those are that were joined."""
        if len(self._members[group]) > 1:
            return True
        if group not in self._kernels:
            try:
                self._kernels[group] = bool(self._candidate(self._members[group]))
            except Unsupported:
                self._kernels[group] = False
        return self._kernels[group]

    def _extra_bytes(self, groups: Sequence[int]) -> int:
        """Bytes that the joined groups move beyond what they move apart; negative: fewer."""
        joined = self._candidate(self._together(groups))
        if joined.nests == 1:
            return -1
        try:
            apart = [self._candidate(self._members[group]) for group in groups]
        except Unsupported:  # a group that is no kernel by itself: a broadcast before its readers
            return -1
        return joined.moved - sum(candidate.moved for candidate in apart)

    def _candidate(self, members: Sequence[int]) -> Candidate:
        return self._memo.candidate(*self._operators_and_outputs(members))

    def _operators_and_outputs(
        self, members: Sequence[int]
    ) -> Tuple[List[Operator], List[TensorRef]]:
        nodes = [self._view.nodes[index] for index in members]
        return [self._operators[index] for index in members], outputs_of(self._view, nodes)

    def _together(self, groups: Sequence[int]) -> List[int]:
        """Members of several groups in topological order."""
        members = [index for group in groups for index in self._members[group]]
        return sorted(members, key=self._rank.__getitem__)

    def _merge(self, groups: Sequence[int]) -> None:
        """Make groups in topological order, with nothing else between them, one."""
        members = self._together(groups)
        kept = groups[0]
        for other in groups[1:]:
            gap = self._groups.gap(kept, other)
            assert gap is not None
            group = self._groups.merge(gap)
            gone = kept if group == other else other
            for index in self._members.pop(gone):
                self._group[index] = group
            self._members[group] = members
            self._followers.merge(group, gone)
            kept = group

    # ---- result ----------------------------------------------------------------------------

    def _collect(self, min_ops: int, copies: bool) -> Clustering:
        joined: List[Joined] = []
        for members in self._members.values():
            if members[0] not in self._operators:
                continue
            members = self._without_last_views(members)
            if sum(saves_work(self._view, self._operators[i]) for i in members) >= min_ops:
                self._finish(members, joined)
                continue
            for index in members:
                name = self._view.nodes[index].name
                decision = FuseDecision.no("SINGLE", "%s has no fusible neighbour" % name)
                self._leave(index, decision)
        graph = Graph(self._view, self._operators, self._memo, self._order,
                      lambda first, second: self._judge_pair(first, second).ok)
        clusters = recompute(graph, joined, min_ops) if copies else [
            Cluster(nodes, lowered.named()) for nodes, lowered in joined]
        clusters.sort(key=lambda cluster: self._rank[cluster.own[0].index])
        home = {node.index: n for n, cluster in enumerate(clusters) for node in cluster.own}
        told = [told_shapes(self._view, [node.index for node in c.members]) for c in clusters]
        for index in itertools.chain(home, *told):
            self._alone.pop(index, None)
        apart = {pair: decision for pair, decision in self._apart.items()
                 if home.get(pair[0], -1) != home.get(pair[1], -2)}
        return Clustering(clusters, self._alone, apart, self._unfit)

    def _without_last_views(self, members: List[int]) -> List[int]:
        kept, dropped = without_last_views(self._view, members)
        for pair in dropped:
            decision = FuseDecision.no("VIEW", "%s and %s: the tensor is written anyway"
                                       % self._names(*pair))
            self._apart[pair] = decision
            self._leave(pair[1], decision)
        return kept

    def _finish(self, members: List[int], joined: List[Joined]) -> None:
        nodes = tuple(self._view.nodes[index] for index in members)
        try:
            lowered = self._memo.find(*self._operators_and_outputs(members))
            joined.append(Joined(nodes, lowered))
        except Unsupported as error:
            decision = FuseDecision.no(error.code, str(error))
            self._alone.update((index, decision) for index in members)
