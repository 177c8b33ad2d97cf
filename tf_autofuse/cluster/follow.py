"""Joins of a lone operator that are sure to be legal, so that nothing is lowered to find out.

Most operators do cheap element-wise math on what one other operator makes. Their result is as
large as the tensor they read, and they stand in the nest that would write this tensor.
"""
from __future__ import annotations

from typing import Dict, List, Mapping, Optional, Set

from tf_autofuse.cluster.recompute import is_cheap
from tf_autofuse.cluster.view import GraphView, ViewNode
from tf_autofuse.cluster.views import has_equal_dims
from tf_autofuse.loop.ops import item_bytes
from tf_autofuse.loop.source import Dims, Operator, TensorRef
from tf_autofuse.loop.views import VIEW_RULES
from tf_autofuse.ops import ALIGNED_RULES, MOVE, OPS, REDUCE


class Followers:
    """What is known of the axes of groups; `operators`, `group` (of each operator) and `members`
    (of each group) are those of the clusterer, which says what it starts with and merges."""

    def __init__(self, view: GraphView, operators: Mapping[int, Operator],
                 group: Mapping[int, int], members: Mapping[int, List[int]]):
        self._view = view
        self._operators = operators
        self._group = group
        self._members = members
        self._delicate: Dict[int, bool] = {}
        self._aligned: Dict[int, bool] = {}

    def start(self, node: ViewNode, operator: Operator) -> None:
        """Take note of an operator, which is a group of its own."""
        info = OPS[node.type]
        rule = info.lower.partition(":")[0]
        self._delicate[node.index] = info.kind == MOVE or rule in VIEW_RULES or any(
            has_equal_dims(self._view.infos[ref].dims)
            for ref in operator.inputs + ((node.name, 0),))
        self._aligned[node.index] = rule in ALIGNED_RULES

    def merge(self, kept: int, gone: int) -> None:
        """Two groups have become one."""
        self._delicate[kept] |= self._delicate.pop(gone)
        self._aligned[kept] &= self._aligned.pop(gone)

    def follows(self, first: int, second: int, consumer: int) -> bool:
        """True for a lone operator that walks just what its producer's group walks, if both are
        kernels: then the result is as large as the output it reads, and lowering would find
        nothing to refuse.

        Either its operands and its result have the same dims, no tensor of the group has two dims
        of one size, and none is a broadcast or a reshape, so that the axes can be unified in one
        way only. Or it aligns dims from the right, what it reads of the group is as large as its
        result, and all operators of the group align dims, too, or the two meet in one tensor. Or it
        only adds or drops dims of 1.
        """
        operator = self._operators[consumer]
        if len(self._members[second]) > 1 or OPS[operator.type].kind == REDUCE:
            return False
        read = [self._view.infos[ref] for ref in operator.inputs]
        result = self._view.infos[(operator.name, 0)]
        dims = result.dims
        if not (self._delicate[first] or self._delicate[second]) and all(
                info.dims == dims for info in read):
            return True
        if dims is None or any(info.count for info in read):
            return False
        if not self._aligned[second]:
            return OPS[operator.type].lower == "reshape" and _long(read[0].dims) == _long(dims)
        inside = {ref for ref in operator.inputs
                  if self._group.get(self._view.index[ref[0]]) == first}
        if any(self._view.infos[ref].dims != dims for ref in inside):
            return False
        static = min([min(info.dims or (0,)) for info in [result, *read]]) >= 0
        return static and self._aligned[first] or self._meets_once(first, operator, inside, static)

    def _meets_once(self, first: int, operator: Operator, inside: Set[TensorRef],
                    static: bool) -> bool:
        """Whether a cheap operator and a group share but one tensor that varies, which the group
        makes, and no size of run time decides about a broadcast. No axes of the group are unified
        then. An operator that is not cheap may not follow a broadcast: it has to be lowered."""
        others = [ref for ref in operator.inputs
                  if ref not in inside and _long(self._view.infos[ref].dims)]
        return (len(inside) == 1 and is_cheap(operator.type) and (static or not others)
                and not any(self._reads(first, ref) for ref in others))

    def _reads(self, group: int, ref: TensorRef) -> bool:
        readers = self._view.node(ref[0]).consumers[ref[1]]
        return any(self._group.get(reader) == group for reader, _ in readers)

    def leads(self, producer: int, second: int) -> bool:
        """True for a lone cheap operator on one tensor, of whose result a joined group is the only
        reader: it can read that tensor instead, and lowering would find nothing to refuse."""
        operator, node = self._operators[producer], self._view.nodes[producer]
        infos = self._view.infos
        result = infos[(operator.name, 0)]
        reads = [infos[ref] for ref in operator.inputs if infos[ref].const is None]
        return (
            len(self._members[self._group[producer]]) == 1 < len(self._members[second])
            and is_cheap(operator.type) and self._aligned[producer]
            and not (self._delicate[producer] or self._delicate[second])
            and len(node.consumers[0]) == 1 and not node.controls_out
            and [info.dims for info in reads] == [result.dims]
            and item_bytes(reads[0].dtype) <= item_bytes(result.dtype)
            and all(not infos[ref].dims for ref in operator.inputs if infos[ref].const is not None)
        )


def _long(dims: Optional[Dims]) -> List[int]:
    """The dims along which a tensor varies."""
    return [size for size in dims or () if size != 1]
