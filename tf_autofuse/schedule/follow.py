"""Steps of a walk in which reductions follow others (see `schedule.online`).

What is carried from tile to tile has the shape of a kept value: for each reference what it was, for
each power sum and each sum of exponentials what it is relative to that. A tile first takes its part
in the plain reductions, then the references move, then the sums move along and take their part. The
parts of a split are combined by the same moves.

Sums carry what their additions have lost (Neumaier), so that many tiles cost no digits. Powers are
taken of the float32 difference, whatever narrow types the operators between round to.

A sum may overflow, so that a mean is infinite though all values are finite. From then on powers of
the differences are infinite as well, which a tile shows: sums need not move by an infinite
distance. Parts that are combined have to, as their own means may be finite.
"""
from __future__ import annotations

from math import factorial
from typing import Callable, Dict, List, NamedTuple, Sequence, Tuple

from tf_autofuse.kernel.ir import Accumulate, Compute, Fill, SizeOf, TileOf
from tf_autofuse.schedule.online import Follow, Walk, moved_by

LOWEST = -3.4028234663852886e38
Key = Tuple[str, ...]
COUNT: Key = ("count",)


class Family(NamedTuple):
    """Sums that move together: the same difference and weights. `sums` are (degree, key), the
    highest degree first; the key of a reduction ends in its name, others serve only these."""

    follow: Follow
    sums: Tuple[Tuple[int, Key], ...]

    def key(self, degree: int) -> Key:
        """The sum of a degree; of degree 0 without weights it is the count."""
        return next((key for other, key in self.sums if other == degree), COUNT)


def families(walk: Walk) -> List[Family]:
    """The families of a walk, in the order of their reductions."""
    found: Dict[Follow, List[Tuple[int, Key]]] = {}
    for name, follow in walk.follows.items():
        found.setdefault(follow._replace(degree=0), []).append((follow.degree, ("sum", name)))
    return [Family(follow, _with_lower(follow, sums)) for follow, sums in found.items()]


def _with_lower(follow: Follow, sums: Sequence[Tuple[int, Key]]) -> Tuple[Tuple[int, Key], ...]:
    """`sums` and the lower powers that they need to move."""
    least = 0 if follow.weights else 1
    have = {degree for degree, _ in sums}
    top = max(have) if follow.rule == "power" else 0
    lower = [(d, ("moment", follow.offset, str(d)) + follow.weights)
             for d in range(least, top) if d not in have]
    return tuple(sorted(list(sums) + lower, key=lambda item: -item[0]))


class Follower:
    """Emits, through a builder, the steps of one walk."""

    def __init__(self, builder, walk: Walk) -> None:
        self.builder, self.walk = builder, walk
        self.moved = moved_by(builder.loop, walk)
        self.families = families(walk)
        self.references = list(dict.fromkeys(
            name for family in self.families for name in family.follow.references))
        self.clamped = {f.references[0] for f in walk.follows.values() if f.rule == "exp"}
        self.counts = any(f.rule == "power" for f in walk.follows.values())
        self.carried: Dict[Key, str] = {}
        self.lost: Dict[Key, str] = {}
        self.delta: Dict[str, str] = {}
        self.count = ""

    def keys(self) -> List[Key]:
        """All that is carried besides plain accumulators, in a fixed order."""
        return (([COUNT] if self.counts else [])
                + [("reference", name) for name in self.references]
                + [key for family in self.families for _, key in family.sums])

    def begin(self) -> None:
        """Fill what is carried."""
        for key in self.keys():
            start = LOWEST if key[0] == "reference" and key[1] in self.clamped else 0.0
            self.carried[key] = self._fill(start)
            if key[0] in ("sum", "moment"):
                self.lost[key] = self._fill(0.0)

    def tile(self, accs: Dict[str, str]) -> None:
        """The part of the tile in all reductions of the walk; `accs` are the plain ones."""
        b = self.builder
        if self.counts:
            self.count = self._do("adds", self.carried[COUNT], scalar=TileOf(b.nest.reduced))

        def take(name: str) -> str:
            value = b.by_name[name]
            b.values([value.args[0]], lambda v: True)
            b.accumulate(value, accs[name])
            return b.whole(value, accs[name]) if name in self.moved else ""

        self._all(take, self._take_family)

    def combine(self, totals: Dict[str, str], pieces: Dict[Key, str]) -> None:
        """Some parts into what those before them gave; `totals` are the plain reductions."""
        b = self.builder
        if self.counts:
            self.count = self._do("add", self.carried[COUNT], self._sum(pieces[COUNT]))

        def take(name: str) -> str:
            self._fold(b.fold(name), totals[name], pieces[("plain", name)])
            return totals[name]

        def family(family: Family) -> None:
            follow = family.follow
            delta = {name: self._do("sub", *self._both(pieces, name))
                     for name in follow.references}
            moved = self._move(family, self._distance(follow, delta), pieces)
            for key, buffer in moved.items():
                self._grow(key, self._sum(buffer))

        self._all(take, family)

    def totals(self) -> Dict[str, str]:
        """The reductions that follow, when the walk has ended and the others are known."""
        found = {}
        for name, follow in self.walk.follows.items():
            total = self.ended(("sum", name))
            if follow.rule == "exp":
                total = self._of_lowest(total, follow.references[0])
            found[name] = total
        return found

    def ended(self, key: Key) -> str:
        """What is carried, a sum with what it has lost."""
        total = self.carried[key]
        if key not in self.lost:
            return total
        # Of an infinite sum nothing can be lost.
        finite = self._finite(total)
        return self._do("select", finite, self._do("add", total, self.lost[key]), total)

    def _grow(self, key: Key, part: str) -> None:
        """Add to a sum, and keep what the addition loses."""
        old, lost = self.carried[key], self.lost[key]
        total = self._do("add", old, part)
        taken = self._do("sub", total, old)
        rest = self._do("sub", old, self._do("sub", total, taken))
        error = self._do("add", rest, self._do("sub", part, taken))
        self._do("add", lost, error, into=lost)
        self._do("muls", total, into=old, scalar=1)

    # One tile or part

    def _all(self, take: Callable[[str], str], family: Callable[[Family], None]) -> None:
        b, done = self.builder, []
        for name in self.walk.step.reduces:
            value = b.by_name[name]
            if name not in self.walk.follows:
                total = take(name)
            else:
                own = next(f for f in self.families if ("sum", name) in [k for _, k in f.sums])
                if own not in done:
                    done.append(own)
                    self._advance(own)
                    family(own)
                total = self.carried[("sum", name)]
            if name in self.moved:
                b.home[name] = self._do("div", total, self.count) if value.op == "mean" else total
        if self.counts:
            self._do("muls", self.count, into=self.carried[COUNT], scalar=1)
        self.delta = {}

    def _advance(self, family: Family) -> None:
        """Compute the references as they are now, and move what is carried along."""
        b = self.builder
        for name in family.follow.references:
            if name in self.delta:
                continue
            b.values([name], lambda v: True)
            if name in self.clamped:
                b.home[name] = self._do("max", b.home[name], self._fill(LOWEST))
            old = self.carried[("reference", name)]
            self.delta[name] = self._do("sub", old, b.home[name])
            self._do("muls", b.home[name], into=old, scalar=1)
        by = self._distance(family.follow, self.delta)
        finite = self._finite(by) if family.follow.rule == "power" else ""
        for degree, key in family.sums:
            if family.follow.rule == "exp":
                for sums in (self.carried, self.lost):
                    self._do("mul", sums[key], by, into=sums[key])
            elif degree > 0:
                step = self._horner(family, degree, by, self.carried)
                self._grow(key, self._do("selects", finite, step, scalar=0.0))

    def _distance(self, follow: Follow, delta: Dict[str, str]) -> str:
        """How far c has moved, the other way for the negative of u - c; for exp the factor."""
        total = delta[follow.references[0]]
        for name in follow.references[1:]:
            total = self._do("add", total, delta[name])
        if follow.rule == "exp":
            return self._do("exp", total)
        return self._do("muls", total, scalar=-1.0) if follow.reverse else total

    def _finite(self, buffer: str) -> str:
        """The mask of finite elements."""
        zero = self._do("sub", buffer, buffer)
        finite = self.builder.new("mask", self.builder.shape_of(buffer))
        self.builder.scope.append(Compute("eq", finite, (zero, zero)))
        return finite

    def _move(self, family: Family, by: str, sums: Dict[Key, str]) -> Dict[Key, str]:
        """The sums of parts after a move of the reference."""
        moved, b = {}, self.builder
        finite = same = ""
        if family.follow.rule == "power":
            name = family.follow.references[0]
            finite, same = self._finite(by), b.new("mask", b.shape_of(by))
            b.scope.append(Compute("eq", same, self._both(sums, name)))
        for degree, key in family.sums:
            if family.follow.rule == "exp":
                moved[key] = self._do("mul", sums[key], by)
            elif degree == 0:
                moved[key] = sums[key]
            else:
                power = by
                for _ in range(1, degree):
                    power = self._do("mul", power, by)
                power = self._do("select", same, self._fill(0.0, power), power)
                step = self._do("select", finite, self._horner(family, degree, by, sums), power)
                moved[key] = self._do("add", sums[key], step)
        return moved

    def _horner(self, family: Family, degree: int, by: str, sums: Dict[Key, str]) -> str:
        total = self._do("mul", sums[family.key(0)], by)
        for j in range(1, degree):
            ways = factorial(degree) // factorial(j) // factorial(degree - j)
            lower = self._do("muls", sums[family.key(j)], scalar=float(ways))
            total = self._do("mul", self._do("add", total, lower), by)
        return total

    def _take_family(self, family: Family) -> None:
        """Add what the tile gives to the sums of a family."""
        b, follow = self.builder, family.follow
        value = b.by_name[next(key[1] for _, key in family.sums if key[0] == "sum")]
        if follow.rule == "exp":
            b.values([value.args[0]], lambda v: True)
        else:
            b.values((follow.offset,) + follow.weights, lambda v: True)
        for degree, key in family.sums:
            acc = b.accumulator(value)
            b.accumulate(value, acc, "" if follow.rule == "exp" else self._power(follow, degree))
            self._grow(key, b.whole(value, acc))

    def _power(self, follow: Follow, degree: int) -> str:
        """The buffer of (u - c)^degree, with the weights."""
        b = self.builder
        names = follow.weights + (follow.offset,) * degree
        shape = b.shape(b.nest.axes)
        total = b.operand(names[0], shape)
        for name in names[1:]:
            into = b.new("float32", shape)
            b.scope.append(Compute("mul", into, (total, b.operand(name, shape))))
            total = into
        return total

    def _of_lowest(self, total: str, reference: str) -> str:
        """The sum of exponentials, NaN where the maximum of at least one point is -inf."""
        b = self.builder
        b.values([reference], lambda v: True)
        finite, some = b.new("mask", b.shape_of(total)), b.new("mask", b.shape_of(total))
        b.scope.append(Compute("gts", finite, (b.home[reference],), float("-inf")))
        nan = self._do("sub", b.home[reference], b.home[reference])
        none = self._do("select", finite, total, nan)
        points = self._fill(SizeOf(b.nest.reduced))
        b.scope.append(Compute("gts", some, (points,), 0.0))
        return self._do("select", some, none, total)

    # Emitting

    def _new(self, like: str = "") -> str:
        """A buffer of the shape of `like`, or of a kept value."""
        b = self.builder
        return b.new("float32", b.shape_of(like) if like else b.shape(b.nest.kept))

    def _fill(self, scalar, like: str = "") -> str:
        buffer = self._new(like)
        self.builder.scope.append(Fill(buffer, scalar))
        return buffer

    def _both(self, pieces: Dict[Key, str], name: str) -> Tuple[str, str]:
        """A reference as each of the parts knows it, and as it is now for each of them."""
        piece = pieces[("reference", name)]
        return piece, self.builder.operand(name, self.builder.shape_of(piece))

    def _sum(self, pieces: str) -> str:
        """The sum of what several parts have."""
        total = self._fill(0.0)
        self._fold("sum", total, pieces)
        return total

    def _fold(self, op: str, total: str, pieces: str) -> None:
        """What several parts have into a total."""
        scratch = self.builder.new(self.builder.dtype_of(pieces), self.builder.shape_of(pieces))
        self.builder.scope.append(Accumulate(op, total, pieces, scratch))

    def _do(self, op: str, *sources: str, into: str = "", scalar=None) -> str:
        dst = into or self._new(sources[-1])
        self.builder.scope.append(Compute(op, dst, sources, scalar))
        return dst
