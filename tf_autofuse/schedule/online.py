"""Which reductions one walk can do together although some depend on others.

A later reduction is taken relative to a reference that is known only when the walk has ended: a sum
of exp(u - max), of (u - mean)^2. It can be taken relative to what the reference is so far and, when
that moves by d = old - new, moved along:

    exp:      sum of w exp(u - c)    times exp(d)
    power:    sum of (u - c)^k       plus d (k S[k-1] + d (... + d S[0])), S[j] the sum of power j

The second is how T. Chan et al. combine variances. Sums of weights are S[0] of a weighted power 1.
What is exact only in real numbers is allowed where it costs no digits: exp for the maximum of u
itself, powers above 1 for its mean.
"""
from __future__ import annotations

from typing import Dict, List, NamedTuple, Optional, Tuple

from tf_autofuse.kernel.nest import Nest, Pass, needed
from tf_autofuse.loop.ir import LoopKernel, Map, Reduce, Value

MAX_DEGREE = 3


class Follow(NamedTuple):
    """How a reduction follows its `references` (kept values, c is their sum).

    `rule` is exp or power. `offset` is the value u - c, the negative of it if `reverse`;
    `weights` are factors of the operand that depend on no reduction.
    """

    rule: str
    degree: int
    offset: str
    references: Tuple[str, ...]
    weights: Tuple[str, ...] = ()
    reverse: bool = False


class Walk(NamedTuple):
    """One walk over the reduced axes; reductions in `follows` follow others of the same walk."""

    step: Pass
    follows: Dict[str, Follow]


def plan_walks(loop: LoopKernel, nest: Nest) -> Tuple[Walk, ...]:
    """The passes of `nest` in as few walks as the rules allow."""
    if not nest.reduced:
        return tuple(Walk(step, {}) for step in nest.passes)
    planner = _Planner(loop, nest)
    for step in nest.passes:
        for name in step.reduces:
            planner.place(name)
    return planner.walks()


class _Planner:
    def __init__(self, loop: LoopKernel, nest: Nest) -> None:
        self.loop, self.nest = loop, nest
        self.by_name = {value.name: value for value in loop.body}
        self.after: Dict[str, frozenset] = {}
        for value in loop.body:
            below = frozenset().union(*[self.after[name] for name in value.args])
            own = frozenset((value.name,)) if isinstance(value, Reduce) else frozenset()
            self.after[value.name] = below | own
        self.walk_of: Dict[str, int] = {}
        self.follows: Dict[str, Follow] = {}

    def place(self, name: str) -> None:
        """Put a reduction whose references have been placed into a walk."""
        value = self.by_name[name]
        below = [self.walk_of[other] for other in self.after[value.args[0]]]
        follow = self._follow(value) if below else None
        if follow is not None:
            self.follows[name] = follow
        self.walk_of[name] = max(below + [0]) + (1 if below and follow is None else 0)

    def walks(self) -> Tuple[Walk, ...]:
        found: Dict[int, List[List]] = {}
        for step in self.nest.passes:
            for name in step.reduces:
                found.setdefault(self.walk_of[name], [[], [], [], []])[0].append(name)
        for step in self.nest.passes:
            for place, stores in ((1, step.stores), (2, step.after), (3, step.crosses)):
                for number in stores:
                    last = max([self.walk_of[name] for name in self._below(number)] + [-1])
                    walk = max(last, 0) if place == 2 else last + 1
                    found.setdefault(walk, [[], [], [], []])[place].append(number)
        return tuple(
            Walk(Pass(tuple(reduces), tuple(stores), tuple(after), tuple(crosses)),
                 {name: self.follows[name] for name in reduces if name in self.follows})
            for _, (reduces, stores, after, crosses) in sorted(found.items()))

    def _below(self, store: int) -> frozenset:
        """The reductions of the nest that a store waits for."""
        name = self.loop.stores[store].value
        value = self.by_name[name]
        partial = isinstance(value, Reduce) and value.partial
        return self.after[value.args[0] if partial else name]

    # Rules

    def _follow(self, value: Value) -> Optional[Follow]:
        assert isinstance(value, Reduce)
        if value.op not in ("sum", "mean") or value.dtype != "float32":
            return None
        found = self._form(value.operand)
        return found if found is not None and self._safe(found, value) else None

    def _safe(self, found: Follow, value: Value) -> bool:
        """Whether following costs no digits and no infinities."""
        references = [self._bare(name) for name in found.references]
        if any(self.by_name[name].axes != value.axes for name in found.references):
            return False
        if found.rule == "exp" or found.degree > 1:
            c = self.by_name[references[0]]
            want = "max" if found.rule == "exp" else "mean"
            return (len(references) == 1 and found.degree <= MAX_DEGREE
                    and not (found.weights and found.rule == "power")
                    and isinstance(c, Reduce) and c.op == want
                    and self._bare(c.operand) == self._base(found.offset))
        return all(self._steady(name) for name in references)

    def _steady(self, name: str) -> bool:
        """Whether a kept value is finite at every time of the walk over finite numbers."""
        value = self.by_name[self._bare(name)]
        if isinstance(value, Reduce):
            return value.op in ("mean", "max", "min") and value.dtype.startswith("float")
        if isinstance(value, Map) and value.op in ("add", "sub"):
            return all(self._steady(arg) for arg in value.args)
        if isinstance(value, Map) and value.op == "log":
            follow = self.follows.get(self._bare(value.args[0]))
            return follow is not None and follow.rule == "exp" and not follow.weights
        return False

    def _bare(self, name: str) -> str:
        """The value without casts between floats."""
        value = self.by_name[name]
        while isinstance(value, Map) and value.op == "cast" and "float" in value.dtype:
            inner = self.by_name[value.operands[0]]
            if "float" not in inner.dtype:
                break
            value = inner
        return value.name

    def _base(self, offset: str) -> str:
        """u of the difference `offset` without casts."""
        value = self.by_name[self._bare(offset)]
        if not self.after[value.name]:
            return value.name
        return self._base([a for a in value.args if not self._kept(self.by_name[a])][0])

    def _kept(self, value: Value) -> bool:
        return not set(value.axes) & set(self.nest.reduced)

    def _form(self, name: str) -> Optional[Follow]:
        """The operand of a reduction as a form that can follow; None when it has none."""
        value = self.by_name[self._bare(name)]
        if not isinstance(value, Map) or self._kept(value):
            return None
        if value.op == "sub":
            return self._difference(value)
        if value.op == "exp":
            inner = self._form(value.operands[0])
            plain = inner is not None and inner[:2] == ("power", 1) and not inner.weights
            return inner._replace(rule="exp") if inner and plain and not inner.reverse else None
        if value.op == "mul":
            return self._product(value)
        return None

    def _difference(self, value: Map) -> Optional[Follow]:
        a, b = (self.by_name[name] for name in value.operands)
        for left, right, reverse in ((a, b, False), (b, a, True)):
            if not self._kept(right) or self._kept(left) or not self.after[right.name]:
                continue
            if not self.after[left.name]:
                return Follow("power", 1, value.name, (right.name,), (), reverse)
            inner = self._form(left.name)
            if inner is not None and inner[:2] == ("power", 1) and not (inner.weights
                                                                        or inner.reverse):
                return inner._replace(offset=value.name, reverse=reverse,
                                      references=inner.references + (right.name,))
        return None

    def _product(self, value: Map) -> Optional[Follow]:
        a, b = value.operands
        if not self.after[a] or not self.after[b]:
            free, other = (a, b) if not self.after[a] else (b, a)
            inner = self._form(other)
            weighted = inner and inner._replace(weights=inner.weights + (free,))
            return weighted if inner and (inner.rule == "exp" or inner.degree == 1) else None
        first, second = self._form(a), self._form(b)
        if first is None or second is None or first.rule + second.rule != "powerpower":
            return None
        if first.offset != second.offset or first.weights or second.weights:
            return None
        return first._replace(degree=first.degree + second.degree)


def moved_by(loop: LoopKernel, walk: Walk) -> Tuple[str, ...]:
    """Reductions of the walk that references of others are computed from, in body order."""
    roots = [name for follow in walk.follows.values() for name in follow.references]
    return tuple(value.name for value in needed(loop, roots) if value.name in walk.step.reduces)
