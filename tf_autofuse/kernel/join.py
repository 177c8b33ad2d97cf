"""Small outputs of element-wise math that join the walk of a larger nest which reads the same.

A nest that walks x[a, b] and reads c[a] for it has every c[a] in hand: an output over a alone is
stored once its row has been walked. The axes it lacks are walked as reduced ones are, although
nothing is reduced, so that an empty one leaves the output complete.
"""
from __future__ import annotations

from typing import AbstractSet, Collection, FrozenSet, List, Optional, Tuple

from tf_autofuse.kernel.nest import Nest, build_nest, needed
from tf_autofuse.loop.ir import PARTS, Load, LoopKernel


def join_nests(loop: LoopKernel, nests: Tuple[Nest, ...], sync: bool) -> Tuple[Nest, ...]:
    """`nests` of `loop`, element-wise ones taken along by others of their stage that read one of
    their inputs and keep, or may keep, exactly their axes.

    The innermost axis is not kept for this: strips of columns are a poor way through memory. Nor is
    an element-wise walk made one task, or, where cores cannot wait for each other (not `sync`) and
    so cannot share a task, one of few long rows.
    """
    found = list(nests)
    for guest in sorted(nests, key=lambda nest: -len(nest.axes)):
        host = None if guest.reduced else _host(loop, found, guest, sync)
        if host is not None:
            rest = tuple(axis for axis in host.axes if axis not in guest.kept)
            stores = sorted(host.stores + guest.stores)
            found[found.index(host)] = build_nest(loop, guest.kept, rest, host.stage, stores)
            found.remove(guest)
    return tuple(found)


def may_keep(kept: AbstractSet[str], reduced: Collection[str], inner: str,
             axes: AbstractSet[str]) -> bool:
    """Whether a nest, by its kept and reduced axes and the innermost of both, keeps exactly `axes`,
    or, where nothing is reduced, may do so."""
    if reduced:
        return kept == axes
    return bool(axes) and kept > axes and inner not in axes


def _host(loop: LoopKernel, nests: List[Nest], guest: Nest, sync: bool) -> Optional[Nest]:
    kept, reads = set(guest.kept), _reads(loop, guest)
    for nest in nests:
        if nest is guest or nest.stage != guest.stage or PARTS in nest.axes or nest.crosses:
            continue
        fits = may_keep(set(nest.kept), nest.reduced, nest.inner, kept)
        if fits and (sync or nest.reduced) and reads & _reads(loop, nest):
            return nest
    return None


def _reads(loop: LoopKernel, nest: Nest) -> FrozenSet[str]:
    """The loads of a nest."""
    roots = [loop.stores[number].value for number in nest.stores]
    return frozenset(v.name for v in needed(loop, roots) if isinstance(v, Load))
