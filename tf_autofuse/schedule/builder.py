"""The steps and buffers of a vector program.

Each value becomes a buffer of the shape it varies with inside the tile; operands of a smaller
shape are broadcast. Values that do not change inside the walk over reduced axes are computed
outside of it, those that a pass produced stay in UB for the next one. Values that several tasks
of a core have in common are held between them.
"""
from __future__ import annotations

from typing import Callable, Dict, FrozenSet, List, Optional, Sequence, Set, Tuple

from tf_autofuse.errors import ScheduleError
from tf_autofuse.kernel.ir import (
    KEEPING_VARIANTS,
    Accumulate,
    Broadcast,
    Buffer,
    Compute,
    CopyIn,
    CopyOut,
    Fill,
    Finish,
    Loop,
    SizeOf,
    Step,
)
from tf_autofuse.kernel.layout import apart
from tf_autofuse.kernel.nest import Nest, Pass, needed
from tf_autofuse.kernel.vector import ITEM_BYTES, VECTOR_OPS
from tf_autofuse.loop.ir import (
    Const,
    Count,
    Index,
    Inside,
    Load,
    LoopKernel,
    Map,
    Place,
    Reduce,
    Value,
)
from tf_autofuse.loop.ops import REDUCE_OPS
from tf_autofuse.schedule.crossing import Crossing
from tf_autofuse.schedule.expand import MEMORY, expand, reduced_type, register_type
from tf_autofuse.schedule.follow import Follower
from tf_autofuse.schedule.holding import Holding
from tf_autofuse.schedule.online import Walk, plan_walks
from tf_autofuse.schedule.points import count, guards, index, inside, needed_guards, placed
from tf_autofuse.schedule.scalars import with_scalar


class Builder:
    """Steps and buffers of one program; `scope` is the list of steps being filled."""

    def __init__(self, loop: LoopKernel, nest: Nest, number: int, variant: str,
                 lacks: FrozenSet[str] = frozenset()) -> None:
        self.lacks = lacks
        self.loop, self.nest, self.number, self.variant = loop, nest, number, variant
        self.by_name = {v.name: v for v in loop.body}
        self.index = {v.name: i for i, v in enumerate(loop.body)}
        self.x = nest.inner or None
        self.y: Optional[str] = nest.axes[-2] if len(nest.axes) > 1 else None
        self.buffers: List[Buffer] = []
        self.origin = ""
        self.scope: List[Step] = []
        self.home: Dict[str, str] = {}
        self.spread: Dict[Tuple[str, str], str] = {}
        self.kept_loads: Dict[str, str] = {}
        self.crossing, self.holding = Crossing(self), Holding(self)
        self.after_reduce: Set[str] = set()
        self.read = {name for value in loop.body for name in value.args}
        self.places = frozenset(v.name for v in loop.body if isinstance(v, Place))
        for value in loop.body:
            if isinstance(value, Reduce) or set(value.args) & self.after_reduce:
                self.after_reduce.add(value.name)

    # Shapes and buffers

    def shape(self, axes: Sequence[str]) -> str:
        text = ("y" if self.y in axes else "") + ("x" if self.x in axes else "")
        return text or "1"

    def new(self, dtype: str, shape: str, position: str = "VECCALC") -> str:
        if dtype != "mask" and dtype not in ITEM_BYTES:
            raise ScheduleError("the vector core has no %s" % dtype, stage="schedule")
        name = "n%d_b%d" % (self.number, len(self.buffers))
        self.buffers.append(Buffer(name, position, dtype, shape, -1, self.origin))
        return name

    def shape_of(self, buffer: str) -> str:
        return self.buffers[int(buffer.rsplit("_b", 1)[1])].shape

    def dtype_of(self, buffer: str) -> str:
        return self.buffers[int(buffer.rsplit("_b", 1)[1])].dtype

    # Structure

    def build(self) -> Tuple[Step, ...]:
        body: List[Step] = []
        if not self.nest.reduced or self.variant == "resident":
            for step in self.nest.passes:
                self.scope = body
                self._resident(step)
        else:
            for walk in self.plan():
                self.scope = body
                self._streamed(walk)
        block = Loop("block", self.nest.kept, tuple(self.holding.of_tasks() + body))
        return (self.crossing.around(block),) if self.nest.crosses else (block,)

    def plan(self) -> Tuple[Walk, ...]:
        """The walks. Over tiles in UB one more costs no memory, so that nothing has to follow."""
        walks = plan_walks(self.loop, self.nest)
        if self.variant in KEEPING_VARIANTS:
            walks = tuple(Walk(step, {}) for step in self.nest.passes)
            uses = [name for walk in walks for name in self._walked_loads(walk)]
            again = [name for name in uses if uses.count(name) > 1]
            if not again:
                raise ScheduleError("no tile is needed again", stage="schedule")
            self.kept_loads = dict.fromkeys(again, "")
        return walks

    def _walked_loads(self, walk: Walk) -> List[str]:
        """The loads that a walk needs tile by tile, and that are worth keeping."""
        done = frozenset(name for step in self.nest.passes for name in step.reduces)
        roots = set(self.targets(walk.step)) - done
        return [value.name for value in needed(self.loop, roots, done | self.places)
                if isinstance(value, Load) and self.keeps(value)]

    def keeps(self, value: Load) -> bool:
        """Whether tiles of a load may stay in UB for other walks."""
        return bool(set(value.axes) & set(self.nest.reduced))

    def _resident(self, step: Pass) -> None:
        """A pass over rows that are in UB."""
        self.values(self.targets(step), lambda value: True)
        for name in step.reduces:
            value = self.by_name[name]
            acc = self.accumulator(value)
            self.accumulate(value, acc)
            self.home[name] = self.mean(value, self.whole(value, acc))
        for number in step.crosses:
            self.crossing.take(number)
        for number in step.stores:
            self.store(number)
        self._after(step)

    def _streamed(self, walk: Walk) -> None:
        accs, follower = self.walk(walk)
        for name, acc in accs.items():
            value = self.by_name[name]
            self.home[name] = self.mean(value, self.whole(value, acc))
        for name, total in follower.totals().items():
            self.home[name] = self.mean(self.by_name[name], total)
        self._after(walk.step)

    def _after(self, step: Pass) -> None:
        for number in step.after:
            self.values([self.loop.stores[number].value], lambda value: True)
            self.store(number)

    def targets(self, step: Pass) -> List[str]:
        targets = [self.by_name[n].args[0] for n in step.reduces]
        targets += [self.by_name[self.loop.stores[n].value].args[0] for n in step.crosses]
        return targets + [self.loop.stores[n].value for n in step.stores]

    def walk(self, walk: Walk) -> Tuple[Dict[str, str], Follower]:
        """One walk; the accumulators it has filled, and what it carried for other reductions."""
        block = self.scope
        accs, follower = self.begin(walk)
        kept, spread = dict(self.home), dict(self.spread)
        self.scope = []
        self.tile(walk, accs, follower)
        block.append(self.holding.walk(self.scope))
        self.scope, self.home, self.spread = block, kept, spread
        return accs, follower

    def begin(self, walk: Walk) -> Tuple[Dict[str, str], Follower]:
        """What comes before the tiles of a walk."""
        step, targets = walk.step, self.targets(walk.step)
        known = {value.name for value in needed(self.loop, targets, frozenset(self.home))
                 if not self._waits_for(value, step)}
        self.values(targets, lambda v: v.name in known and not set(v.axes) & set(self.nest.reduced))
        accs = {name: self.accumulator(self.by_name[name]) for name in step.reduces
                if name not in walk.follows}
        follower = Follower(self, walk)
        if walk.follows:
            follower.begin()
        return accs, follower

    def tile(self, walk: Walk, accs: Dict[str, str], follower: Follower) -> None:
        """One tile of a walk."""
        step = walk.step
        if walk.follows:
            follower.tile(accs)
        else:
            self.values(self.targets(step), lambda value: True)
            for name, acc in accs.items():
                self.accumulate(self.by_name[name], acc)
        for number in step.crosses:
            self.values([self.crossing.operand(number)], lambda value: True)
            self.crossing.take(number)
        for number in step.stores:
            self.values([self.loop.stores[number].value], lambda value: True)
            self.store(number)

    def _waits_for(self, value: Value, step: Pass) -> bool:
        """Whether a value needs a reduction of this walk."""
        return any(v.name in step.reduces for v in needed(self.loop, [value.name]))

    def values(self, targets: Sequence[str], wanted: Callable[[Value], bool]) -> None:
        """Compute the wanted values among all that `targets` need and that have no buffer yet."""
        for value in needed(self.loop, targets, self.places.union(self.home)):
            if isinstance(value, Const) or not wanted(value):
                continue
            scope = self.scope
            self.scope, self.origin = self.hold(value), value.origin
            if isinstance(value, Load):
                self.home[value.name] = self._load(value)
            elif isinstance(value, Count):
                self.home[value.name] = count(self, value)
            elif isinstance(value, Index):
                self.home[value.name] = index(self, value)
            elif isinstance(value, Inside):
                self.home[value.name] = inside(self, value)
            elif isinstance(value, Map):
                self.home[value.name] = self._map(value)
            self.scope = scope

    def hold(self, value: Value) -> List[Step]:
        """The scope to compute `value` in."""
        return self.holding.scope(value)

    # Values

    def _load(self, value: Load) -> str:
        memory, register = MEMORY.get(value.dtype), register_type(value.dtype, value.name)
        at = placed(self, value)
        shape = self.shape(value.walked + (at.axes if at else ()))
        buffer = self.kept_loads.get(value.name, "")
        if not buffer:
            place = "KEPT" if value.name in self.kept_loads else "VECIN"
            buffer = self.new(memory or "", shape, place)
            dims = tuple(dim for dim in value.dims if at is None or dim.axis != at.axis)
            copy = CopyIn(buffer, value.input, dims, value.moved, guards(self, value), at)
            far = apart(copy, shape, self.y, self.x)
            if far:  # elements that are no neighbours have no guarded form
                copy = needed_guards(self, value, copy)
            odd = copy.when or copy.at or ITEM_BYTES[memory or ""] not in (2, 4)
            if odd and far:
                raise ScheduleError("no vector form of a move of %s" % value.dtype,
                                    node=value.name, stage="schedule")
            self.scope.append(copy)
            if place == "KEPT":
                self.kept_loads[value.name] = buffer
        if memory == register:
            return buffer
        wide = self.new(register, shape)
        self.scope.append(Compute("cast", wide, (buffer,)))
        return wide

    def _map(self, value: Map) -> str:
        operands = [self.by_name[name] for name in value.operands]
        dtypes = tuple(v.dtype for v in operands)
        form = expand(value.op, dtypes, value.dtype, value.name, self.lacks)
        shape = self.shape(value.axes)
        if not form:
            return self.operand(operands[0].name, shape)
        form, scalar_at = with_scalar(form, operands)
        names = {letter: self.operand(v.name, shape)
                 for letter, v in zip("abc", operands) if letter != scalar_at}
        for op, kind, dst, srcs, scalar in form:
            sources = tuple(names[s] for s in srcs)
            names[dst] = self.new(kind, shape)
            self.scope.append(Fill(names[dst], scalar) if op == "fill"
                              else Compute(op, names[dst], sources, scalar))
        return names["r"]

    def operand(self, name: str, shape: str) -> str:
        """The buffer of a value, broadcast to `shape` where it is smaller."""
        value = self.by_name[name]
        if isinstance(value, Const):
            buffer = self.new(register_type(value.dtype, name), shape)
            self.scope.append(Fill(buffer, value.value))
            return buffer
        if isinstance(value, Place):  # the scalar unit has it, and gives it to loads alone
            raise ScheduleError("no vector form of a place that is computed with", node=name,
                                stage="schedule")
        buffer = self.home[name]
        if self.shape_of(buffer) == shape:
            return buffer
        known = self.spread.get((name, shape))
        if known is None:
            known = self.new(self.dtype_of(buffer), shape)
            self.scope.append(Broadcast(known, buffer))
            self.spread[(name, shape)] = known
        return known

    # Reductions

    def accumulator(self, value: Value, lanes: bool = True) -> str:
        """A buffer with the identity of a reduction; with `lanes` one that a walk can fold into."""
        assert isinstance(value, Reduce)
        self.origin = value.origin
        register = reduced_type(value)
        lanes = lanes and self.x in self.nest.reduced
        whole = self.y is not None and self.y in self.nest.reduced
        shape = ("lane" if whole else "lanes") if lanes else self.shape(value.axes)
        acc = self.new(register, shape)
        self.scope.append(Fill(acc, REDUCE_OPS[value.op].identity(value.dtype)))
        return acc

    def fold(self, name: str) -> str:
        """What a walk does: a mean is a sum until the walk has ended; bools are 0 or 1."""
        value = self.by_name[name]
        assert isinstance(value, Reduce)
        return {"mean": "sum", "any": "max", "all": "min"}.get(value.op, value.op)

    def accumulate(self, value: Value, acc: str, operand: str = "") -> None:
        """Fold the operand of a reduction, or another buffer, into its accumulator."""
        assert isinstance(value, Reduce)
        self.origin = value.origin
        shape = into = self.shape_of(acc)
        if into in ("lanes", "lane") or into == "x" and self.y in self.nest.reduced:
            shape = "yx" if self.y is not None else "x"
        scratch = "" if shape == into else self.new(self.dtype_of(acc), shape)
        operand = operand or self.operand(value.operand, shape)
        self.scope.append(Accumulate(self.fold(value.name), acc, operand, scratch))

    def whole(self, value: Value, acc: str) -> str:
        """The accumulator with its lanes reduced."""
        if self.shape_of(acc) not in ("lanes", "lane"):
            return acc
        result = self.new(self.dtype_of(acc), self.shape(value.axes))
        op = self.fold(value.name)
        blocks = (self.shape_of(acc) == "lanes" and self.y is not None and op != "prod"
                  and self.dtype_of(acc) == "float32" and "BlockReduce" not in self.lacks)
        self.scope.append(Finish(op, result, acc, blocks))
        return result

    def mean(self, value: Value, total: str) -> str:
        """The total, divided by the number of points if the value is a mean."""
        assert isinstance(value, Reduce)
        if value.op != "mean":
            return total
        count = self.new(self.dtype_of(total), self.shape_of(total))
        mean = self.new(self.dtype_of(total), self.shape_of(total))
        self.scope.append(Fill(count, SizeOf(value.counted or value.over)))
        self.scope.append(Compute("div", mean, (total, count)))
        return mean

    # Stores

    def store(self, number: int) -> None:
        store = self.loop.stores[number]
        self.origin = self.by_name[store.value].origin
        self.put_out(number, self.operand(store.value, self.shape(store.axes)))

    def put_out(self, number: int, source: str) -> None:
        """Write a buffer where a store says."""
        store = self.loop.stores[number]
        value = self.by_name[store.value]
        memory, register = MEMORY[value.dtype], register_type(value.dtype, value.name)
        out = self.new(memory, self.shape_of(source), "VECOUT")
        if memory != register:
            self.scope.append(Compute("cast", out, (source,)))
        elif not self.retarget(source, out):
            if register not in VECTOR_OPS["muls"].dtypes:
                raise ScheduleError("no vector copy of " + register, node=value.name,
                                    stage="schedule")
            self.scope.append(Compute("muls", out, (source,), 1))
        self.scope.append(CopyOut(out, store.output, store.axes))

    def retarget(self, source: str, out: str, final: bool = False) -> bool:
        """Let the instruction that made `source` write `out` if nothing else uses that value.

        `final`: the caller knows that nothing does.
        """
        last = self.scope[-1] if self.scope else None
        if not isinstance(last, (Compute, Broadcast, Fill, Finish)) or last.dst != source:
            return False
        if not final and any(home == source and self._used_again(name)
                             for name, home in self.home.items()):
            return False
        fields = dict(vars(last), dst=out)
        self.scope[-1] = type(last)(**fields)
        for table in (self.home, self.spread):
            for key in [k for k, buffer in table.items() if buffer == source]:
                table[key] = out  # type: ignore[index]
        return True

    def _used_again(self, name: str) -> bool:
        """Whether anything but one store reads a value."""
        return name in self.read or sum(s.value == name for s in self.loop.stores) > 1
