"""The loops and scopes of a program as Ascend C: tasks of a core, walks, held scopes, copies."""
from __future__ import annotations

from typing import List, Optional, Sequence, Set, Tuple

from tf_autofuse.codegen.ascendc_groups import group_lines
from tf_autofuse.codegen.ascendc_steps import C_TYPES, COUNTS, StepPrinter
from tf_autofuse.kernel.ir import (
    KEEPING_VARIANTS,
    SPLIT_VARIANTS,
    Compute,
    CopyIn,
    CopyOut,
    Kernel,
    LoadPart,
    Loop,
    Program,
    Step,
    StorePart,
    read,
    written,
)
from tf_autofuse.kernel.layout import Extent, scope_loads, task_order
from tf_autofuse.kernel.vector import ITEM_BYTES
from tf_autofuse.loop.ir import PARTS
from tf_autofuse.platforms import Platform

_TENSOR = "AscendC::LocalTensor<%s> %s = %s;"


class LoopPrinter(StepPrinter):
    """Prints the steps of `program` with the loops around them."""

    def __init__(self, kernel: Kernel, program: Program, chip: Platform) -> None:
        super().__init__(kernel, program, chip)
        self.declared: Set[str] = set()
        self.dirty: Optional[Set[str]] = None
        self.busy: Set[str] = set()
        self.comment = ""
        self.held = 0
        self.grouped = False

    # Scopes

    def scope(self, steps: Sequence[Step]) -> None:
        """One scope: copies in first, so that they overlap with what came before."""
        loads = scope_loads(self.program, tuple(steps))
        fresh = [s for s in steps if isinstance(s, CopyIn) and s not in loads]
        self.dirty = None
        temps = [s for s in loads
                 if isinstance(s, CopyIn) and s.input >= len(self.kernel.loop.inputs)]
        if temps and self.program.nest.crosses and self.program.variant == "stream":
            self.put("// What this core has found so far is in memory.")
            self.put("Sync<AscendC::HardEvent::MTE3_MTE2>();")
        for load in fresh:
            self.copy_in(load)
        slab = self._load_slab(loads) if loads else ("", "", "")
        if fresh:
            self.put("Sync<AscendC::HardEvent::MTE2_V>();")
        for step in steps:
            if isinstance(step, Loop):
                self._loop(step)
                self.dirty = None
            elif not isinstance(step, (CopyIn, LoadPart)):
                self._step(step)
        if loads:
            self.put("%s.FreeTensor(%s);" % slab[:2])

    def _load_slab(self, loads: Sequence[Step]) -> Tuple[str, str, str]:
        """Copy in all loads of a scope through one buffer of their queue."""
        names = [written(load) or "" for load in loads]
        queue = self.layout.homes[names[0]][0]
        kind = C_TYPES[self.buffer(names[0]).dtype] if len(names) == 1 else "uint8_t"
        slab = self.name(names[0]) if len(names) == 1 else queue + "Slab"
        fresh = slab not in self.declared
        self.put("// Copy in.")
        self.put("%s%s = %s.AllocTensor<%s>();" % (
            "AscendC::LocalTensor<%s> " % kind if fresh else "", slab, queue, kind))
        for load, name in zip(loads, names):
            if len(names) > 1:
                self._declare(name, "%s[%s].ReinterpretCast<%s>()" % (
                    slab, self.bytes(self.layout.homes[name][1]),
                    C_TYPES[self.buffer(name).dtype]))
            if isinstance(load, LoadPart):
                self.load_part(load)
            else:
                assert isinstance(load, CopyIn)
                self.copy_in(load)
        self.put("%s.EnQue(%s);" % (queue, slab))
        self.put("// Compute.")
        self.put("%s = %s.DeQue<%s>();" % (slab, queue, kind))
        return queue, slab, kind

    def _declare(self, name: str, value: str) -> None:
        kind = C_TYPES[self.buffer(name).dtype]
        if name in self.declared:
            self.put("%s = %s;" % (self.name(name), value))
        else:
            self.put(_TENSOR % (kind, self.name(name), value))

    # Loops

    def _loop(self, loop: Loop) -> None:
        if loop.kind in ("block", "split"):
            self._tasks(loop)
        elif loop.kind == "core":
            self._core(loop)
        elif loop.kind == "strips":
            self._strips(loop)
        elif loop.kind == "hold":
            self._hold(loop)
        elif loop.kind == "parts":
            self._pieces(loop)
        else:
            first = self.held
            self._declare_holds(loop, first)
            if self.program.variant != "stream":
                self._walk_share(loop)
            else:
                self._walk(loop)
            self._free_holds(loop, first)

    def _pieces(self, loop: Loop) -> None:
        """Over the parts of a split, as many at a time as their buffers have room for."""
        loads = [self.buffer(step.dst) for step in loop.body if isinstance(step, LoadPart)]
        block = self.chip.block_bytes // min(ITEM_BYTES[buffer.dtype] for buffer in loads)
        self.open("{")
        self.put("const uint32_t wide = RoundUp(%s, %d);" % (COUNTS[loads[0].shape[1:]], block))
        self.put("const int64_t most = (%s) / wide;" % self.room(loads[0]))
        self.open("for (int64_t piece = 0; piece < t.parts%d; piece += most) {" % self.number)
        self.put("const uint32_t pieces = Smaller(most, t.parts%d - piece);" % self.number)
        self.scope(loop.body)
        self.close()
        self.close()

    def _walk(self, loop: Loop) -> None:
        for axis in loop.axes:
            at, step = self.point(axis), self.step(axis)
            self.open("for (int64_t %s = 0; %s < %s; %s) {" % (
                at, at, self.size(axis),
                "++" + at if step == "1" else "%s += %s" % (at, step)))
            self._extent(axis)
        self.scope(loop.body)
        for _ in loop.axes:
            self.close()

    def _core(self, loop: Loop) -> None:
        """What a core does before its tasks, the tasks, and what it does after them."""
        self.put("const int64_t %s = AscendC::GetBlockIdx();" % self.point(PARTS))
        self.open("if (%s < %s) {" % (self.point(PARTS), self.size(PARTS)))
        self._resident_tile()
        self._group(loop)

    def _group(self, loop: Loop) -> None:
        """The body of a loop over groups of tasks, and its end."""
        self.grouped = True
        self.scope(loop.body)
        self.grouped = False
        self.close()

    def _strips(self, loop: Loop) -> None:
        """The groups of tasks and strips of columns that this core has."""
        core, cores = "AscendC::GetBlockIdx()", "AscendC::GetBlockNum()"
        self.put("const int64_t units = %s * t.parts%d;" % (self.size(PARTS), self.number))
        self.put("const int64_t lastUnit = units * (%s + 1) / %s;" % (core, cores))
        self.open("for (int64_t unit = units * %s / %s; unit < lastUnit; ++unit) {" % (core, cores))
        self.put("const int64_t %s = unit / t.parts%d;" % (self.point(PARTS), self.number))
        self.put("const int64_t part = unit %% t.parts%d;" % self.number)
        self._decompose(self.program.nest.reduced, "part")
        self.put("const uint32_t pitch = t.pitch%d;" % self.number)
        self._group(loop)

    def _resident_tile(self) -> None:
        """The tile along axes that it holds as a whole."""
        self.put("const uint32_t pitch = t.pitch%d;" % self.number)
        if self.program.variant == "resident":
            for axis in self.program.nest.reduced:
                self.put("const int64_t %s = 0;" % self.point(axis))
                self._extent(axis)

    def _tasks(self, loop: Loop) -> None:
        """The tasks of this core: a run of neighbours, as long as that of any other core."""
        number, split = self.number, loop.kind == "split"
        core, cores = "AscendC::GetBlockIdx()", "AscendC::GetBlockNum()"
        if self.grouped:
            core, cores = self.point(PARTS), self.size(PARTS)
        else:
            self._resident_tile()
        self.put("const int64_t tasks = t.tasks%d%s;" % (number,
                                                         " * t.parts%d" % number if split else ""))
        first, end = ("tasks * %s / %s" % (index, cores) for index in (core, "(%s + 1)" % core))
        groups = [] if self.pads else group_lines(self)
        if groups:
            self.put("// Short rows: no two cores write to one line of the cache.")
            self.put("int64_t group = 1;")
            for line in groups:
                self.put(line)
            self.put("const int64_t groups = CeilDiv(tasks, group);")
            first = "group * (%s)" % first.replace("tasks", "groups")
            end = "Smaller(tasks, group * (%s))" % end.replace("tasks", "groups")
        self.put("const int64_t end = %s;" % end)
        place = self.held
        self._declare_holds(loop, place)
        keeps = self.grouped and self.program.variant in KEEPING_VARIANTS
        if keeps:
            self.put("const int64_t first = %s;" % first)
            first = "first"
        self.open("for (int64_t task = %s; task < end; ++task) {" % first)
        if keeps:
            self._declare_kept(loop, "(task - first)")
        if split:
            self.put("const int64_t part = task %% t.parts%d;" % number)
        self._decompose(task_order(self.program), "task / t.parts%d" % number if split else "task")
        self.scope(loop.body)
        self.close()
        self._free_holds(loop, place)

    def _walk_share(self, loop: Loop) -> None:
        """A walk by the number of its tiles: over those of a part, or over tiles that are kept."""
        walks = " * ".join(self.tiles(axis) for axis in loop.axes)
        if any(isinstance(s, CopyIn) and self.buffer(s.dst).position == "KEPT" for s in loop.body):
            self.put("// What was kept for another task is not read any more.")
            self.put("Sync<AscendC::HardEvent::V_MTE2>();")
        first = "0"
        if self.program.variant in SPLIT_VARIANTS:
            self.put("const int64_t walks = %s;" % walks)
            self.put("const int64_t first = walks * part / t.parts%d;" % self.number)
            first, walks = "first", "walks * (part + 1) / t.parts%d" % self.number
        self.open("for (int64_t walk = %s; walk < %s; ++walk) {" % (first, walks))
        self._decompose(loop.axes, "walk")
        self._declare_kept(loop, "walk" if first == "0" else "(walk - first)")
        self.scope(loop.body)
        self.close()

    def _declare_kept(self, loop: Loop, place: str) -> None:
        """Kept tensors of this tile, which is number `place` of those in UB."""
        names = [n for s in loop.body for n in read(s) + (written(s) or "",) if n]
        for name in dict.fromkeys(n for n in names if self.buffer(n).position == "KEPT"):
            offset = "%s * (%s)" % (place, self.bytes(self.layout.kept))
            if self.layout.homes[name][1] != Extent():
                offset += " + " + self.bytes(self.layout.homes[name][1])
            kind = C_TYPES[self.buffer(name).dtype]
            self.put(_TENSOR % (kind, self.name(name), "kept.GetWithOffset<%s>(%s, %s)" % (
                kind, self.room(self.buffer(name)), offset)))
            self.declared.add(name)

    def tiles(self, axis: str) -> str:
        """C++ for the number of tiles along an axis."""
        step = self.step(axis)
        return self.size(axis) if step == "1" else "CeilDiv(%s, %s)" % (self.size(axis), step)

    def _decompose(self, axes: Sequence[str], rest: str) -> None:
        """Coordinates of `axes` from a number that counts their tiles, the last one fastest."""
        for axis in reversed(axes):
            index = rest if axis == axes[0] else "%s %% %s" % (rest, self.tiles(axis))
            if self.step(axis) != "1":
                index = "%s * %s" % ("(%s)" % index if " " in index else index, self.step(axis))
            self.put("const int64_t %s = %s;" % (self.point(axis), index))
            self._extent(axis)
            rest = "%s / %s" % (rest, self.tiles(axis))

    def _extent(self, axis: str) -> None:
        """Rows or columns of the tile that starts here."""
        for tile_axis, word in ((self.program.y, "rows"), (self.program.x, "cols")):
            if axis == tile_axis:
                self.put("const uint32_t %s = Smaller(%s, %s - %s);"
                         % (word, self.step(axis), self.size(axis), self.point(axis)))

    # Held scopes

    def _slab(self, hold: Loop, place: int) -> str:
        loads = scope_loads(self.program, hold.body)
        return self.name(written(loads[0]) or "") if len(loads) == 1 else "heldIn%dSlab" % place

    def _declare_holds(self, loop: Loop, first: int) -> None:
        for place, hold in _holds(loop, first):
            self._declare_hold(hold, place)

    def _free_holds(self, loop: Loop, first: int) -> None:
        for place, hold in _holds(loop, first):
            if scope_loads(self.program, hold.body):
                self.put("if (held%d) heldIn%d.FreeTensor(%s);" % (place, place,
                                                                   self._slab(hold, place)))

    def _declare_hold(self, hold: Loop, place: int) -> None:
        """What stays between tasks: tensors, and the coordinates they belong to."""
        self.put("bool held%d = false;" % place)
        for axis in hold.axes:
            self.put("int64_t held%dAt%s = 0;" % (place, self.point(axis)[1:]))
        if len(scope_loads(self.program, hold.body)) > 1:
            self.put("AscendC::LocalTensor<uint8_t> heldIn%dSlab;" % place)
            self.declared.add("heldIn%dSlab" % place)
        for step in hold.body:
            name = written(step)
            if name is None or name in self.declared:
                continue
            buffer = self.buffer(name)
            self.declared.add(name)
            if buffer.position == "VECCALC":
                self.put(_TENSOR % (C_TYPES[buffer.dtype], self.name(name), self._arena(name)))
            else:
                self.declared.add(self.name(name))
                self.put("AscendC::LocalTensor<%s> %s;" % (C_TYPES[buffer.dtype], self.name(name)))

    def _hold(self, hold: Loop) -> None:
        place, self.held = self.held, self.held + 1
        tests = ["!held%d" % place]
        tests += ["held%dAt%s != %s" % (place, self.point(a)[1:], self.point(a))
                  for a in hold.axes]
        self.open("if (%s) {" % " || ".join(tests))
        loads = scope_loads(self.program, hold.body)
        if loads:
            self.put("if (held%d) heldIn%d.FreeTensor(%s);" % (place, place,
                                                               self._slab(hold, place)))
            self._load_slab(loads)
        self.dirty = None
        for step in hold.body:
            if step not in loads:
                self._step(step)
        self.put("held%d = true;" % place)
        for axis in hold.axes:
            self.put("held%dAt%s = %s;" % (place, self.point(axis)[1:], self.point(axis)))
        self.close()

    # Steps

    def _arena(self, name: str) -> str:
        buffer = self.buffer(name)
        return "arena.GetWithOffset<%s>(%s, %s)" % (
            C_TYPES[buffer.dtype], self.room(buffer), self.bytes(self.layout.slots[buffer.slot]))

    def _place(self, name: str) -> str:
        if self.buffer(name).position == "VECCALC":
            return self._arena(name)
        return "out.AllocTensor<%s>()" % C_TYPES[self.buffer(name).dtype]

    def _step(self, step: Step) -> None:
        if isinstance(step, (CopyOut, StorePart)):
            kind, name = C_TYPES[self.buffer(step.src).dtype], self.name(step.src)
            self.put("// Copy out.")
            self.put("out.EnQue(%s);" % name)
            self.put("%s = out.DeQue<%s>();" % (name, kind))
            self.copy_out(step)
            self.put("out.FreeTensor(%s);" % name)
            return
        target = written(step) or ""
        self._note(target)
        if target not in self.declared:
            self._declare(target, self._place(target))
            self.declared.add(target)
        scratch = getattr(step, "scratch", "")
        if scratch and self.buffer(scratch).slot not in {self.buffer(n).slot for n in read(step)}:
            self._declare(scratch, self._arena(scratch))
        self._order(step)
        self.vector(step)

    def _note(self, name: str) -> None:
        """Names the operator where its instructions begin."""
        origin = self.buffer(name).origin
        if origin and origin != self.comment:
            self.put("// " + origin)
        self.comment = origin or self.comment

    def _order(self, step: Step) -> None:
        """A barrier when the step touches what an instruction since the last one wrote, or writes
        what one of them reads."""
        target = self._memory(written(step) or "")
        sources = {self._memory(n) for n in read(step)}
        dirty = self.dirty
        if (dirty is None or self.uses_scratch(step) or (sources | {target}) & dirty
                or target in self.busy):
            self.put("AscendC::PipeBarrier<PIPE_V>();")
            dirty, self.busy = set(), set()
        self.dirty = dirty | {target}
        self.busy = self.busy | sources
        if self.uses_scratch(step) and not isinstance(step, Compute):
            self.dirty = None

    def _memory(self, name: str) -> str:
        buffer = self.buffer(name)
        return "%s %d" % (buffer.position, buffer.slot)


def _holds(loop: Loop, first: int) -> List[Tuple[int, Loop]]:
    """The held scopes that stand directly in a loop, with their numbers from `first` on."""
    return list(enumerate((step for step in loop.body
                           if isinstance(step, Loop) and step.kind == "hold"), first))
