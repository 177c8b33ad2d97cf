"""Views at the end of a cluster: when it is better to leave them to the framework; dims alike."""
from __future__ import annotations

from typing import List, Optional, Sequence, Set, Tuple

from tf_autofuse.cluster.view import GraphView
from tf_autofuse.ops import OPS, VIEW


def without_last_views(
    view: GraphView, members: Sequence[int]
) -> Tuple[List[int], List[Tuple[int, int]]]:
    """Members (topological order) but the views at the end whose tensor is written anyway: a view
    of the written tensor is free, writing it a second time is not. And (producer, view) pairs of
    those that were dropped."""
    inside = set(members)
    dropped: List[Tuple[int, int]] = []
    for index in reversed(members):
        if not _is_last(view, index, inside):
            continue
        producer = _producer(view, index)
        others = [reader for reader in _readers(view, producer) if reader != index]
        if any(reader not in inside or _is_last(view, reader, inside) for reader in others):
            inside.remove(index)
            dropped.append((producer, index))
    return [index for index in members if index in inside], dropped


def _is_last(view: GraphView, index: int, inside: Set[int]) -> bool:
    """A view of a member's tensor that nothing inside reads."""
    if index not in inside or OPS[view.nodes[index].type].kind != VIEW:
        return False
    readers = _readers(view, index)
    return _producer(view, index) in inside and not any(reader in inside for reader in readers)


def _producer(view: GraphView, index: int) -> int:
    ref = view.nodes[index].inputs[0]
    assert ref is not None
    return view.index[ref[0]]


def _readers(view: GraphView, index: int) -> List[int]:
    return [reader for port in view.nodes[index].consumers for reader, _ in port]


def has_equal_dims(dims: Optional[Tuple[int, ...]]) -> bool:
    """Whether two dims of a tensor are of one size, so that there are several ways to walk it."""
    sizes = [size for size in dims or () if size != 1]
    return len(set(sizes)) != len(sizes)
