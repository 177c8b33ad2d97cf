"""Which elementary functions need only the few bits of a narrow float.

float16 and bfloat16 math is done in float32 and rounded once. A function whose value is rounded to
11 or 8 bits at once, or after operations that keep relative errors as small as they are, takes a
shorter polynomial (csrc/host/rough_math.h).
"""
from __future__ import annotations

from typing import Dict, FrozenSet, List, Set

from tf_autofuse.loop.ir import LoopKernel, Map, Value
from tf_autofuse.loop.ops import NARROW_FLOATS

ROUGH_FUNCTIONS = frozenset(("exp", "tanh", "sigmoid"))
_KEEPING = frozenset(("mul", "div", "neg", "abs", "select"))


def rough_values(loop: LoopKernel) -> FrozenSet[str]:
    """Names of float32 values of ROUGH_FUNCTIONS that nobody reads with more than narrow bits."""
    users: Dict[str, List[Value]] = {}
    for value in loop.body:
        for name in value.args:
            users.setdefault(name, []).append(value)
    stored = {store.value for store in loop.stores}
    narrowed: Set[str] = set()
    for value in reversed(loop.body):
        if value.name in users and value.name not in stored and all(
                _narrows(user, narrowed) for user in users[value.name]):
            narrowed.add(value.name)
    return frozenset(value.name for value in loop.body
                     if isinstance(value, Map) and value.op in ROUGH_FUNCTIONS
                     and value.dtype == "float32" and value.name in narrowed)


def _narrows(user: Value, narrowed: Set[str]) -> bool:
    """Whether a reader of a value makes it narrow, perhaps after operations that keep errors."""
    if not isinstance(user, Map):
        return False
    if user.op == "cast":
        return user.dtype in NARROW_FLOATS
    return user.op in _KEEPING and user.name in narrowed
