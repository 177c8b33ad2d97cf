"""Vector loops over tensors that stand behind each other along an axis (tf.concat, tf.stack, and
tf.pad, where one of them is nothing but zeros).

A point belongs to one of them, but is written as a selection among all. Machines with masks for
loads and stores compute that as fast, as long as there are few; others take a multiple of the time,
and with many every compiler leaves the loop scalar and computes each one for every point. So the
loop is printed for every piece, without what belongs to others: text and compile time grow with the
number of pieces, and not with its square. Along the vector axis the loop is cut where a piece ends.
"""
from __future__ import annotations

from dataclasses import replace
from typing import Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from tf_autofuse.codegen.host_alike import alike
from tf_autofuse.codegen.host_near import NearPrinter
from tf_autofuse.codegen.host_scalar import MEMORY_TYPES
from tf_autofuse.codegen.host_values import inside_test
from tf_autofuse.kernel.nest import Nest, needed
from tf_autofuse.loop.ir import Inside, Load, LoopKernel, Map, Reduce, Value, renamed
from tf_autofuse.loop.ops import NARROW_FLOATS

# Up to here a machine with masks selects. Measured with g++ 12 and AVX-512: six tensors along an
# outer axis take a third of the time, seven along the vector axis the same time.
MANY_PIECES = 6

# Most values that are left of the loop in all pieces together: the compiler takes about 3 ms for
# each. Slices that lie over each other, and tensors that are joined from joined ones, had more than
# 10000, which took a minute instead of two seconds.
MOST_COPIES = 4000


class Pieces(NamedTuple):
    """Intervals of one axis; those inside of others come first."""

    axis: str
    insides: Tuple[Inside, ...]


NO_PIECES = Pieces("", ())


def pieces_of(loop: LoopKernel, nest: Nest) -> Pieces:
    """The axis with the most intervals, if they are not too many for the compiler."""
    along: Dict[str, List[Inside]] = {}
    values = needed(loop, [loop.stores[number].value for number in nest.stores])
    for value in values:
        if isinstance(value, Inside):
            along.setdefault(value.axes[0], []).append(value)
    axis = max(along, key=lambda a: len(along[a]), default="")
    found = along.get(axis, [])
    order = _in_order(loop)
    found.sort(key=lambda v: order.index(v.name) if v.name in order else len(order))
    if _copies(loop, [loop.stores[n].value for n in nest.stores], found) > MOST_COPIES:
        return NO_PIECES
    return Pieces(axis, tuple(found))


def _copies(loop: LoopKernel, roots: Sequence[str], insides: Sequence[Inside]) -> int:
    """How many values are left in all pieces together, or in so many pieces that they are too many;
    a narrow float is computed in two forms, and again behind the blocks of a row."""
    count = 0
    for piece in range(len(insides) + 1):
        body = loop_of_piece(loop, insides, piece, roots).body
        count += sum(3 if value.dtype in NARROW_FLOATS else 1 for value in body)
        if count > MOST_COPIES:
            break
    return count


def _in_order(loop: LoopKernel) -> List[str]:
    """Intervals in the order in which they decide: of selections inside each other by `else` the
    outer one first; but all that choose among pieces of a piece before what chooses that one."""
    by_name = {value.name: value for value in loop.body}
    chains: Dict[str, List[str]] = {}  # by the outermost selection so far
    for value in loop.body:
        if isinstance(value, Map) and value.op == "select":
            condition, _, other = value.operands
            last = by_name[other]
            chain = chains.pop(other, list(last.when) if isinstance(last, Load) else [])
            chains[value.name] = [condition] + chain
    return [name for chain in chains.values() for name in chain]


def loop_of_piece(
    loop: LoopKernel, insides: Sequence[Inside], piece: int, roots: Iterable[str]
) -> LoopKernel:
    """The values that `roots` need where interval number `piece` is the first one that a point is
    in (their number: it is in none), with the selections made that this decides."""
    axes = {value.name: value.axes for value in loop.body}
    truth = {inside.name: number == piece for number, inside in enumerate(insides[:piece + 1])}
    wanted = set(roots)
    names: Dict[str, str] = {}
    kept: List[Value] = []
    for value in reversed(loop.body):
        if value.name not in wanted:
            continue
        value = _decided(value, truth)
        names[value.name] = value.name
        # A sum over an axis needs an operand that has it.
        if isinstance(value, Map) and value.op == "select" and (
                value.args[1] == value.args[2] and axes[value.args[1]] == value.axes):
            names[value.name] = value.args[1]
            wanted.add(value.args[1])
            continue
        kept.append(value)
        wanted.update(value.args)
    for value in loop.body:  # an operand comes before what is selected from it
        if value.name in names:
            names[value.name] = names[names[value.name]]
    body = tuple(renamed(value, names) for value in reversed(kept))
    stores = tuple(replace(store, value=names.get(store.value, store.value))
                   for store in loop.stores)
    return replace(loop, body=body, stores=stores)


def _decided(value: Value, truth: Mapping[str, bool]) -> Value:
    """The value where the intervals `truth` hold or do not."""
    if isinstance(value, Load):
        return replace(value, when=tuple(name for name in value.when if not truth.get(name)))
    if isinstance(value, Map) and value.op == "select" and value.args[0] in truth:
        test, yes, no = value.operands
        taken = yes if truth[test] else no
        return replace(value, operands=(test, taken, taken))
    return value


class _Head(NamedTuple):
    """A place in the text of a function, before its loops, and what is to be put there."""

    lines: List[str]
    place: int
    margin: str
    more: List[str]


class PiecePrinter(NearPrinter):
    """Prints vector loops piece by piece."""

    def __init__(self, loop: LoopKernel, nest: Nest) -> None:
        super().__init__(loop, nest)
        self.pieces = pieces_of(loop, nest)
        self._head: Optional[_Head] = None

    def bodies(self) -> List[LoopKernel]:
        """The loop as it is computed in each piece."""
        loop, insides = self.loop, self.pieces.insides
        roots = [loop.stores[number].value for number in self.nest.stores]
        return [loop_of_piece(loop, insides, number, roots) for number in range(len(insides) + 1)]

    def _declare_pieces(self) -> None:
        """Where the axis is cut."""
        axis, insides = self.pieces
        if not insides or axis != self.nest.order[-1] and len(insides) < MANY_PIECES:
            return
        ends = ", ".join("low{0}, high{0}".format(v.number) for v in insides)
        self.put("const int64_t ends[] = {%s};" % ends)
        self.put("const Stretches<%d> cuts(ends, %s);" % (len(insides), self.size[axis]))
        if axis != self.nest.order[-1]:
            self.put("int stretch = 0;")
        self._head = _Head(self.lines, len(self.lines), "  " * self.indent, [])

    def _vectors(self, depth: int, lines: Dict[int, List[Value]], reduces: List[Reduce],
                 stores: Sequence[int]) -> None:
        axis, insides = self.pieces
        values = needed(self.loop, [v.name for v in lines.get(depth, [])])
        if not any(value in insides for value in values):
            super()._vectors(depth, lines, reduces, stores)
            return
        few = len(insides) < MANY_PIECES
        if few:
            self.open("if (%s) {" % self._selects(depth))
            super()._vectors(depth, lines, reduces, stores)
            self.close()
            self.open("else {")
        if axis == self.nest.order[depth]:
            self._stretches(depth, lines, reduces, stores)
        else:
            self._choice(depth, lines, reduces, stores)
        if few:
            self.close()

    def _selects(self, depth: int) -> str:
        """Whether a loop over few pieces selects among them, as a C++ expression."""
        axis = self.pieces.axis
        return "selects(%s)" % self.size[axis] if axis == self.nest.order[depth] else "AF_MASKS"

    def _choice(self, depth: int, lines: Dict[int, List[Value]], reduces: List[Reduce],
                stores: Sequence[int]) -> None:
        """The loop of the piece that a point of an outer axis is in."""
        axis, insides = self.pieces
        if self._head is not None and len(insides) >= MANY_PIECES:
            self.put("const int first = cuts.at(%s, &stretch);" % self.point[axis])
            self._cases("first", depth, lines, reduces, stores)
            return
        for number, inside in enumerate(insides):
            self.open("%sif (%s) {" % (
                "else " * bool(number), inside_test(self.point[axis], inside)))
            self._piece(number, depth, lines, reduces, stores)
            self.close()
        self.open("else {")
        self._piece(len(insides), depth, lines, reduces, stores)
        self.close()

    def _stretches(self, depth: int, lines: Dict[int, List[Value]], reduces: List[Reduce],
                   stores: Sequence[int]) -> None:
        """The stretches of a row, each in the form of the first interval that it is in."""
        axis, insides = self.pieces
        limits = self._limits(axis)
        self.open("for (int s = 0; s < cuts.count; ++s) {")
        self.put("const int64_t c0 = larger(%s, cuts.from[s]);" % limits[0])
        self.put("const int64_t e0 = smaller(%s, cuts.from[s + 1]);" % limits[1])
        self.put("if (c0 >= e0) continue;")
        self.stretch[axis] = ("c0", "e0")
        self._cases("cuts.first[s]", depth, lines, reduces, stores)
        self.close()
        del self.stretch[axis]

    def _cases(self, first: str, depth: int, lines: Dict[int, List[Value]], reduces: List[Reduce],
               stores: Sequence[int]) -> None:
        """The loop of the piece with the number `first`; of pieces that are alike one for all."""
        last, whole = len(self.pieces.insides), self.lines
        self.open("switch (%s) {" % first)
        self.indent += 1
        texts = []
        for number in range(last + 1):
            self.lines = []
            own = self._piece(number, depth, lines, reduces, stores)
            texts.append((self.lines, own if self._head else ()))
        self.lines = whole
        self.indent -= 1
        for group in alike(texts, self.loop, self.index):
            self.open("%s {" % " ".join("case %d:" % piece.number if piece.number < last
                                        else "default:" for piece in group))
            for at, name in enumerate(group[0].reads if len(group) > 1 else ()):
                self._read_from_table(name, first, {piece.number: piece.reads[at]
                                                    for piece in group})
            self.lines += group[0].lines
            self.put("break;")
            self.close()
        self.close()

    def _read_from_table(self, name: str, first: str, names: Dict[int, str]) -> None:
        """`name` for the piece with the number `first`; `names` are those of all that are alike."""
        assert self._head is not None
        table = "from%d" % len(self._head.more)
        found = ", ".join(names.get(number, name) for number in range(len(self.pieces.insides) + 1))
        kind = "const int64_t "
        if name.startswith("in"):
            number = int(name[2:])
            kind = "const %s* %s" % (MEMORY_TYPES[self.loop.sources[number].dtype],
                                     self.restricted(number))
        place = self._head.place + len(self._head.more)
        text = "%s%s[] = {%s};" % (kind, table, found)
        self._head.lines.insert(place, self._head.margin + text)
        self._head.more.append(text)
        self.put("%s%s = %s[%s];" % (kind, name, table, first))

    def _piece(self, number: int, depth: int, lines: Dict[int, List[Value]],
               reduces: List[Reduce], stores: Sequence[int]) -> Sequence[Value]:
        """The vector loop where interval `number` is the first one that the points are in; its
        values."""
        whole, known, by_name = self.loop, self.known, self.by_name
        insides = self.pieces.insides
        roots = self._roots(lines.get(depth, []), reduces, stores)
        self.loop = loop_of_piece(whole, insides, number, roots)
        here = {value.name: value for value in self.loop.body}
        self.by_name = {**by_name, **here}
        self._flags(number, [inside for inside in insides if inside.name in here])
        self.known = known | {inside.name for inside in insides}
        own = [here[value.name] for value in lines.get(depth, [])
               if value.name in here and value.name not in self.known]
        super()._vectors(depth, {**lines, depth: own}, [
            self._reduction(value.name) for value in reduces], stores)
        self.loop, self.known, self.by_name = whole, known, by_name
        return own

    def _flags(self, number: int, insides: Sequence[Inside]) -> None:
        """In which intervals the points of a piece are, where something still asks."""
        axis = self.pieces.axis
        point = self.stretch[axis][0] if axis in self.stretch else self.point[axis]
        for inside in insides:
            place = self.pieces.insides.index(inside)
            text = inside_test(point, inside) if place > number else (
                "true" if place == number else "false")
            self.put("const bool %s = %s;" % (self.var(inside), text))
