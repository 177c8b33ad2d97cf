"""Cheap producers that the kernels of their readers compute again.

Where producer and reader are in two kernels, their tensor is written and read. If the producer is
element-wise and cheap, the reader's kernel can read what the producer reads and compute the
tensor itself. That pays when all kernels together move fewer bytes: the reader has the producer's
inputs anyway, they are smaller (a cast, a broadcast), or nobody reads the tensor any more, so that
it is not written. An operator without readers is in no kernel but those that compute it again.
"""
from __future__ import annotations

from typing import Callable, Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

from tf_autofuse.cluster.fusible import saves_work
from tf_autofuse.cluster.lowering import UNKNOWN_SIZE, Lowering, LoweringMemo
from tf_autofuse.cluster.result import Cluster, Joined
from tf_autofuse.cluster.told import told_shapes
from tf_autofuse.cluster.view import GraphView
from tf_autofuse.errors import Unsupported
from tf_autofuse.ge.reading import CONST_TYPES
from tf_autofuse.loop.ir import Map
from tf_autofuse.loop.ops import HEAVY, REFUSING, item_bytes
from tf_autofuse.loop.source import Operator, TensorRef
from tf_autofuse.ops import ALIGNED_RULES, OPS, VIEW

MAX_COPIES = 8
"""Operators that one kernel computes again."""

MAX_TRIES = 16
"""Times that one kernel is lowered to see whether computing again pays; bounds the time."""

MAX_DEPTH = 3
"""Operators on a path that are computed again at once."""

_COSTLY = HEAVY | REFUSING
_CHEAP_RULES = ALIGNED_RULES | frozenset(("same", "reshape", "broadcast", "select_v1"))


def is_cheap(op_type: str) -> bool:
    """Whether kernels may compute operators of a type again, as far as the type tells."""
    info = OPS.get(op_type)
    if info is None or info.outputs != 1:
        return False
    rule, _, operation = info.lower.partition(":")
    return rule in _CHEAP_RULES and operation not in _COSTLY


class Graph(NamedTuple):
    """What the clusterer knows: `operators` by node index, `order` (nodes in topological order),
    and whether two nodes may be in one kernel."""

    view: GraphView
    operators: Dict[int, Operator]
    memo: LoweringMemo
    order: Sequence[int]
    fit: Callable[[int, int], bool]


def recompute(graph: Graph, joined: Sequence[Joined], min_ops: int) -> List[Cluster]:
    """The clusters, with copies of cheap producers where that saves bytes; those that have
    nothing left to compute are gone, and all have at least `min_ops` operators of their own."""
    return _Recompute(graph, joined, min_ops).run()


class _Kernel:
    """`members` and `copies` are node indices; `lowered` belongs to them, None where there are
    none."""

    def __init__(self, members: Set[int], lowered: Lowering):
        self.members = members
        self.copies: Set[int] = set()
        self.lowered: Optional[Lowering] = lowered
        self.tries = 0
        self.reads: Optional[Set[TensorRef]] = None

    @property
    def moved(self) -> int:
        """Bytes that it moves."""
        return self.lowered.candidate.moved if self.lowered is not None else 0

    def state(self) -> tuple:
        return set(self.members), set(self.copies), self.lowered

    def restore(self, state: tuple) -> None:
        self.members, self.copies, self.lowered = state
        self.reads = None

    def has(self, index: int) -> bool:
        return index in self.members or index in self.copies


class _Recompute:
    def __init__(self, graph: Graph, joined: Sequence[Joined], min_ops: int):
        self._graph = graph
        self._view = graph.view
        self._min_ops = min_ops
        self._rank = {index: rank for rank, index in enumerate(graph.order)}
        self._kernels = [_Kernel({node.index for node in nodes}, lowered)
                         for nodes, lowered in joined]
        self._places: Dict[int, List[_Kernel]] = {}
        for kernel in self._kernels:
            for index in kernel.members:
                self._places[index] = [kernel]
        self._gone: Set[int] = set()

    def run(self) -> List[Cluster]:
        for index in reversed(self._graph.order):
            if index in self._graph.operators and self._is_cheap(index):
                self._try(index)
        owned: Set[int] = set()
        return [self._cluster(kernel, owned) for kernel in self._kernels if kernel.members]

    def _cluster(self, kernel: _Kernel, owned: Set[int]) -> Cluster:
        """An operator that is gone counts for the first kernel that computes it."""
        assert kernel.lowered is not None
        taken = (kernel.copies & self._gone) - owned
        owned |= taken
        indices = self._sorted(kernel.members | kernel.copies)
        nodes = tuple(self._view.nodes[index] for index in indices)
        copies = frozenset(kernel.copies)
        return Cluster(nodes, kernel.lowered.named(), copies, copies - taken)

    def _sorted(self, indices: Set[int]) -> List[int]:
        return sorted(indices, key=self._rank.__getitem__)

    # ---- what may be computed again --------------------------------------------------------

    def _is_cheap(self, index: int) -> bool:
        node = self._view.nodes[index]
        makers = [self._view.node(ref[0]) for ref in node.inputs if ref is not None]
        held = any(maker.type in CONST_TYPES and maker.controls_in for maker in makers)
        return is_cheap(node.type) and not (node.controls_in or node.controls_out or held)

    def _try(self, index: int) -> None:
        readers = [kernel for kernel in self._readers(index)
                   if kernel is not None and self._may_have(kernel, index)]
        if not readers:
            return
        for copied in self._paths(index):
            wanted = [kernel for kernel in readers if self._is_worth(kernel, index, copied)]
            if wanted and self._accept(wanted, copied):
                return
            single = wanted if len(wanted) > 1 else []
            if True in [self._accept([kernel], copied) for kernel in single]:
                return

    def _may_have(self, kernel: _Kernel, index: int) -> bool:
        member = next(iter(kernel.members))
        return kernel.tries < MAX_TRIES and self._graph.fit(index, member)

    def _paths(self, index: int) -> List[List[int]]:
        """The operator, the operator with its cheap producers, with theirs, ..."""
        found = [index]
        paths = [list(found)]
        last = [index]
        for _ in range(MAX_DEPTH - 1):
            last = list(dict.fromkeys(
                producer for reader in last for producer in self._cheap_producers(reader)
                if producer not in found))
            if not last or len(found) + len(last) > MAX_COPIES:
                break
            found = found + last
            paths.append(found)
        return paths

    def _cheap_producers(self, reader: int) -> List[int]:
        size = self._elements((self._view.nodes[reader].name, 0))
        refs = self._graph.operators[reader].inputs
        producers = [self._view.index[ref[0]] for ref in refs if self._elements(ref) >= size]
        return [index for index in producers
                if index in self._graph.operators and self._is_cheap(index)
                and self._graph.fit(index, reader)]

    def _is_worth(self, kernel: _Kernel, index: int, copied: Sequence[int]) -> bool:
        """Whether the kernel would read no more for the copies than it reads now, and compute no
        value more often than the kernel that has it; lowering tells the rest."""
        more = {i for i in copied if not kernel.has(i)}
        if len(kernel.copies) + len(more) > MAX_COPIES:
            return False
        ref = (self._view.nodes[index].name, 0)
        users = [i for i, _ in self._view.nodes[index].consumers[0] if kernel.has(i)]
        size = self._elements(ref)
        if any(self._elements((self._view.nodes[user].name, 0)) > size for user in users):
            return False
        outside = {read for i in more for read in self._view.nodes[i].inputs
                   if read is not None and not self._is_within(kernel, more, read)}
        if any(self._view.index[read[0]] in self._gone for read in outside):
            return False
        new = {
            read for i in more for read in self._graph.operators[i].inputs
            if read in outside and self._view.infos[read].const is None
        }
        reads = sum(map(self._bytes, new - self._reads(kernel)))
        if reads == self._bytes(ref) and len(copied) == 1 and self._is_idle(index):
            return False
        return reads <= self._bytes(ref)

    def _is_idle(self, index: int) -> bool:
        """Whether no bytes are saved where nobody has a view any more: it is in no kernel, or its
        kernel then writes the operand in its place. (Of a size of run time a kernel may know more
        with the view than without.)"""
        node = self._view.nodes[index]
        name, port = self._graph.operators[index].inputs[0]
        sizes = [size for ref in ((name, port), (node.name, 0))
                 for size in self._view.infos[ref].dims or ()]
        if OPS[node.type].kind != VIEW or min(sizes, default=0) < 0:
            return False
        operand = self._view.index[name]
        homes = [place for place in self._places.get(index, ()) if index in place.members]
        return all(operand in home.members for home in homes) and not (
            homes and self._readers(operand, port))

    def _is_within(self, kernel: _Kernel, more: Set[int], ref: TensorRef) -> bool:
        index = self._view.index[ref[0]]
        return index in more or kernel.has(index)

    def _reads(self, kernel: _Kernel) -> Set[TensorRef]:
        if kernel.reads is None:
            kernel.reads = {read for i in kernel.members | kernel.copies
                            for read in self._graph.operators[i].inputs}
        return kernel.reads

    def _elements(self, ref: TensorRef) -> int:
        count = 1
        for dim in self._view.infos[ref].dims or ():
            count *= dim if dim >= 0 else UNKNOWN_SIZE
        return count

    def _bytes(self, ref: TensorRef) -> int:
        return self._elements(ref) * item_bytes(self._view.infos[ref].dtype)

    # ---- one trial -------------------------------------------------------------------------

    def _accept(self, kernels: Sequence[_Kernel], copied: Sequence[int]) -> bool:
        """Let `kernels` compute `copied`; all is as it was when that saves nothing."""
        homes = [home for i in copied for home in self._places.get(i, ()) if i in home.members]
        touched = list(dict.fromkeys(list(kernels) + homes))
        if any(kernel.tries >= MAX_TRIES for kernel in touched):
            return False
        states = [kernel.state() for kernel in touched]
        places = {i: list(self._places.get(i, ())) for i in copied}
        gone = set(self._gone)
        try:
            before = sum(kernel.moved for kernel in touched)
            heavy = [_heavy(kernel) for kernel in kernels]
            for kernel in touched:
                kernel.tries += 1
            for kernel in kernels:
                self._copy(kernel, copied)
            saved = self._remove_unread(copied)
            after = sum(self._lower(kernel) for kernel in touched)
            if after - saved < before and heavy == [_heavy(kernel) for kernel in kernels]:
                return True
        except Unsupported:
            pass
        for kernel, state in zip(touched, states):
            kernel.restore(state)
        self._places.update(places)
        self._gone = gone
        return False

    def _copy(self, kernel: _Kernel, copied: Sequence[int]) -> None:
        for index in copied:
            if not kernel.has(index):
                kernel.copies.add(index)
                kernel.reads = None
                self._places[index] = self._places.get(index, []) + [kernel]

    def _remove_unread(self, copied: Sequence[int]) -> int:
        """Take operators that nobody reads any more out of their kernels; the bytes that those
        which are in none would have moved; views are free."""
        saved = 0
        for index in sorted(copied, key=self._rank.__getitem__, reverse=True):
            if index in self._gone or self._is_read(index):
                continue
            self._gone.add(index)
            homes = [kernel for kernel in self._places[index] if index in kernel.members]
            for home in homes:
                home.members.remove(index)
                home.reads = None
                self._places[index].remove(home)
            if not homes and OPS[self._view.nodes[index].type].kind != VIEW:
                operator = self._graph.operators[index]
                saved += sum(self._bytes(ref) for ref in operator.inputs + ((operator.name, 0),))
        return saved

    def _is_read(self, index: int) -> bool:
        """Whether something reads the operator where it was before it was copied."""
        return any(
            place is None or index not in place.copies
            for reader, _ in self._view.nodes[index].consumers[0]
            for place in self._where(reader))

    def _where(self, index: int) -> List[Optional[_Kernel]]:
        """The kernels that compute an operator; None where it stays in the graph."""
        places = [place for place in self._places.get(index, ()) if place.has(index)]
        stays = index not in self._gone and not any(index in place.members for place in places)
        return [*places, None] if stays else [*places]

    def _readers(
        self, index: int, port: int = 0, gone: Set[int] = frozenset()  # type: ignore[assignment]
    ) -> List[Optional[_Kernel]]:
        """Kernels that read a tensor of an operator from outside; None for what is in none. The
        readers `gone` do not count."""
        found = [
            place for reader, _ in self._view.nodes[index].consumers[port] if reader not in gone
            for place in self._where(reader) if place is None or not place.has(index)
        ]
        return list(dict.fromkeys(found))

    def _lower(self, kernel: _Kernel) -> int:
        """Bytes that a changed kernel moves; Unsupported where it cannot be one."""
        if not kernel.members:
            kernel.copies, kernel.lowered = set(), None
            return 0
        own = [self._graph.operators[index] for index in kernel.members]
        if sum(saves_work(self._view, operator) for operator in own) < self._min_ops:
            raise Unsupported("too few operators are left", code="SINGLE")
        indices = self._sorted(kernel.members | kernel.copies)
        operators = [self._graph.operators[index] for index in indices]
        outputs = self._outputs(kernel, indices)
        kernel.lowered = self._graph.memo.find(operators, outputs)
        return kernel.moved

    def _outputs(self, kernel: _Kernel, indices: Sequence[int]) -> List[TensorRef]:
        """What others read of a kernel; what it had if nobody reads anything of it."""
        found: List[Tuple[str, int]] = []
        told = set(told_shapes(self._view, kernel.members))
        for index in indices:
            node = self._view.nodes[index]
            if index in kernel.members:
                found += [
                    (node.name, port)
                    for port in range(min(len(node.consumers), OPS[node.type].outputs))
                    if self._readers(index, port, told)
                ]
        if found:
            return found
        assert kernel.lowered is not None
        if not all(self._view.index[ref[0]] in kernel.members for ref in kernel.lowered.outputs):
            raise Unsupported("nobody reads what is left", code="SINGLE")
        return list(kernel.lowered.outputs)


def _heavy(kernel: _Kernel) -> int:
    """Costly operations of a kernel, and those that may make it fail."""
    body = kernel.lowered.kernel.body if kernel.lowered is not None else ()
    return sum(isinstance(value, Map) and value.op in _COSTLY for value in body)
