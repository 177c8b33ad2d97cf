"""Long elementary functions of one loop that wait for each other.

A core has some hundred instructions in flight. Two polynomials that follow each other are more than
that for one vector, so that the second one waits where it could work on the next vector. The first
one then gets a loop of its own, which leaves its values in a small buffer.

Functions of whole vectors (csrc/host/lanes.h) are called for buffers: between loops over a block,
whose buffers stay in registers, or between the loops of stages.
"""
from __future__ import annotations

from typing import FrozenSet, List, Sequence

from tf_autofuse.kernel.nest import needed
from tf_autofuse.loop.ir import Const, LoopKernel, Map, Place, Value
from tf_autofuse.loop.ops import REFUSING

_LONG = frozenset("elu erf erfc exp expm1 log log1p sigmoid softplus tanh".split())
_LANES = frozenset("erf erfc tanh".split())

# Values of a loop with functions of whole vectors, up to which it goes in blocks: with more, a core
# does not look ahead to the next block.
_BLOCK_VALUES = 8


def staged_values(loop: LoopKernel, values: Sequence[Value], known: FrozenSet[str]) -> List[Value]:
    """Those of the values of a vector loop that get a loop of their own, in order."""
    if _refuse(values):
        return []
    long = [v for v in values if isinstance(v, Map) and v.op in _LONG and v.dtype == "float32"]
    waited = {before.name for value in long
              for before in needed(loop, value.args, known)}
    return [value for value in long if value.name in waited]


def lane_values(values: Sequence[Value], rough: FrozenSet[str]) -> List[Value]:
    """Those of the values of a vector loop that are functions of whole vectors, in order; `rough`
    are functions of other polynomials."""
    if _refuse(values):
        return []
    return [v for v in values if isinstance(v, Map) and v.op in _LANES and v.dtype == "float32"
            and v.name not in rough]


def have_much_around(values: Sequence[Value]) -> bool:
    """Whether a loop of these values with functions of whole vectors goes by stages."""
    return sum(not isinstance(value, Const) for value in values) > _BLOCK_VALUES


def _refuse(values: Sequence[Value]) -> bool:
    return any(isinstance(v, Place) or isinstance(v, Map) and v.op in REFUSING for v in values)
