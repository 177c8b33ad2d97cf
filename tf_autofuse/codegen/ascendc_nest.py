"""A program as an Ascend C class: Init lays out UB, Process walks the tiles of this core."""
from __future__ import annotations

from typing import Dict, List, Optional, Sequence, Set, Tuple

from tf_autofuse.codegen.ascendc_steps import C_TYPES, StepPrinter
from tf_autofuse.kernel.ir import (
    Compute,
    CopyIn,
    CopyOut,
    Kernel,
    LoadPart,
    Loop,
    Program,
    Step,
    StorePart,
    Sync,
    read,
    walk_steps,
    written,
)
from tf_autofuse.kernel.layout import UNIT, scope_loads, task_order
from tf_autofuse.platforms import Platform

_TENSOR = "AscendC::LocalTensor<%s> %s = %s;"


class NestClass(StepPrinter):
    """Prints the class of a program of `kernel`; `struct` is its tiling structure."""

    def __init__(self, kernel: Kernel, program: Program, struct: str, chip: Platform) -> None:
        super().__init__(kernel, program, chip)
        self.struct = struct
        self.title = "Nest%d%s" % (program.number, program.variant.capitalize())
        self.declared: Set[str] = set()
        self.dirty: Optional[Set[str]] = None
        self.busy: Set[str] = set()
        self.comment = ""
        self.held = 0

    def print(self) -> str:
        """The class."""
        nest = self.program.nest
        self.put("// %s over %s: %s." % (self.program.template, ", ".join(nest.axes) or "one point",
                                         _ABOUT[self.program.variant]))
        self.open("class %s {" % self.title, " public:")
        self.put("__aicore__ inline explicit %s(const %s& tiling) : t(tiling) {}"
                 % (self.title, self.struct))
        self.put("")
        self._init()
        phases = [step for step in self.program.steps if isinstance(step, Loop)]
        self.put("")
        self.open("__aicore__ inline void Process() {")
        if len(phases) == 1:
            self._steps(phases)
            self.close()
        else:
            self._phases(phases)
        self._members()
        self.close("};")
        return "\n".join(self.lines) + "\n"

    def _phases(self, phases: Sequence[Loop]) -> None:
        number = 0
        for step in self.program.steps:
            if isinstance(step, Sync):
                self.put("AscendC::SyncAll();")
            else:
                self.put("Phase%d();" % number)
                number += 1
        self.close()
        self.put("")
        self.put(" private:", margin=False)
        for number, phase in enumerate(phases):
            self.open("__aicore__ inline void Phase%d() {" % number)
            self.declared = set()
            self._steps([phase])
            self.close()
            self.put("")

    # Members

    def _tensors(self) -> List[Tuple[str, str, str]]:
        """GM tensors this nest touches: (name, C type of an element, address)."""
        found: List[Tuple[str, str, str]] = []
        for step in walk_steps(self.program.steps):
            if isinstance(step, CopyIn):
                name, buffer = "in%d" % step.input, self.buffer(step.dst)
            elif isinstance(step, CopyOut):
                name, buffer = "out%d" % step.output, self.buffer(step.src)
            elif isinstance(step, StorePart):
                name, buffer = "part%d" % step.number, self.buffer(step.src)
            else:
                continue
            at = "gm." + name
            if isinstance(step, StorePart):
                at = "(AscendC::GetUserWorkspace(gm.workspace) + t.at%d + %d * t.region%d)" % (
                    self.number, step.number, self.number)
            entry = (name, C_TYPES[buffer.dtype], at)
            if entry not in found:
                found.append(entry)
        return found

    def _extents(self) -> List[Tuple[str, str]]:
        """Members that say how large buffers are, with their values."""
        n, sizes = self.number, self.layout.total(2)
        texts = [("tile", "RoundUp(t.ty%d * t.pitch%d, %d)" % (n, n, UNIT), sizes.tile),
                 ("row", "RoundUp(t.pitch%d, %d)" % (n, UNIT), sizes.row),
                 ("column", "RoundUp(t.ty%d, %d)" % (n, UNIT), sizes.column),
                 ("lanes", "t.ty%d * %d" % (n, self.chip.repeat_bytes // 4), sizes.lanes)]
        return [(name, text) for name, text, weight in texts if weight]

    def _init(self) -> None:
        self.open("__aicore__ inline void Init(const Tensors& gm, AscendC::TPipe* pipe) {")
        for name, kind, at in self._tensors():
            self.put("%sGm.SetGlobalBuffer((__gm__ %s*)%s);" % (name, kind, at))
        for name, text in self._extents():
            self.put("%s = %s;" % (name, text))
        for queue in self.layout.queues:
            depth = "t.depth%d" % self.number if queue.double else "1"
            self.put("pipe->InitBuffer(%s, %s, %s);" % (queue.name, depth,
                                                        self.bytes(queue.extent)))
        if any(self.layout.arena.parts()):
            self.put("pipe->InitBuffer(arena, %s);" % self.bytes(self.layout.arena))
        self.close()

    def _members(self) -> None:
        if self.lines[-1] != "":
            self.put("")
        if not any(line == " private:" for line in self.lines):
            self.put(" private:", margin=False)
        self.put("const %s& t;" % self.struct)
        for name, kind, _ in self._tensors():
            self.put("AscendC::GlobalTensor<%s> %sGm;" % (kind, name))
        extents = [name for name, _ in self._extents()]
        if extents:
            self.put("uint32_t %s;" % ", ".join(extents))
        for queue in self.layout.queues:
            self.put("AscendC::TQue<AscendC::TPosition::%s, 1> %s;" % (queue.position, queue.name))
        if any(self.layout.arena.parts()):
            self.put("AscendC::TBuf<AscendC::TPosition::VECCALC> arena;")

    # Scopes

    def _steps(self, steps: Sequence[Step]) -> None:
        """One scope: copies in first, so that they overlap with what came before."""
        loads = scope_loads(tuple(steps))
        self.dirty = None
        slab = self._load_slab(loads) if loads else ("", "", "")
        for step in steps:
            if isinstance(step, Loop):
                self._loop(step)
                self.dirty = None
            elif step not in loads:
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
        elif loop.kind == "hold":
            self._hold(loop)
        elif loop.kind == "parts":
            self.open("for (int64_t piece = 0; piece < t.parts%d; ++piece) {" % self.number)
            self._steps(loop.body)
            self.close()
        elif self.program.variant == "split":
            self._walk_share(loop)
        else:
            for axis in loop.axes:
                at, step = self.point(axis), self.step(axis)
                self.open("for (int64_t %s = 0; %s < %s; %s) {" % (
                    at, at, self.size(axis),
                    "++" + at if step == "1" else "%s += %s" % (at, step)))
                self._extent(axis)
            self._steps(loop.body)
            for _ in loop.axes:
                self.close()

    def _tasks(self, loop: Loop) -> None:
        """The tasks of this core: a run of neighbours, as long as that of any other core."""
        number, split = self.number, loop.kind == "split"
        self.put("const uint32_t pitch = t.pitch%d;" % number)
        if self.program.variant == "resident":
            for axis in self.program.nest.reduced:
                self.put("const int64_t %s = 0;" % self.point(axis))
                self._extent(axis)
        self.put("const int64_t tasks = t.tasks%d%s;" % (number,
                                                         " * t.parts%d" % number if split else ""))
        self.put("const int64_t end = tasks * (AscendC::GetBlockIdx() + 1) "
                 "/ AscendC::GetBlockNum();")
        holds = [step for step in loop.body if isinstance(step, Loop) and step.kind == "hold"]
        for place, hold in enumerate(holds):
            self._declare_hold(hold, place)
        self.open("for (int64_t task = tasks * AscendC::GetBlockIdx() / AscendC::GetBlockNum(); "
                  "task < end; ++task) {")
        if split:
            self.put("const int64_t part = task %% t.parts%d;" % number)
        self._decompose(task_order(self.program), "task / t.parts%d" % number if split else "task")
        self.held = 0
        self._steps(loop.body)
        self.close()
        for place, hold in enumerate(holds):
            if scope_loads(hold.body):
                self.put("if (held%d) heldIn%d.FreeTensor(%s);" % (place, place,
                                                                   self._slab(hold, place)))

    def _walk_share(self, loop: Loop) -> None:
        tiles = [self._tiles(axis) for axis in loop.axes]
        self.put("const int64_t walks = %s;" % " * ".join(tiles))
        self.put("const int64_t last = walks * (part + 1) / t.parts%d;" % self.number)
        self.open("for (int64_t walk = walks * part / t.parts%d; walk < last; ++walk) {"
                  % self.number)
        self._decompose(loop.axes, "walk")
        self._steps(loop.body)
        self.close()

    def _tiles(self, axis: str) -> str:
        step = self.step(axis)
        return self.size(axis) if step == "1" else "CeilDiv(%s, %s)" % (self.size(axis), step)

    def _decompose(self, axes: Sequence[str], rest: str) -> None:
        """Coordinates of `axes` from a number that counts their tiles, the last one fastest."""
        for axis in reversed(axes):
            index = rest if axis == axes[0] else "%s %% %s" % (rest, self._tiles(axis))
            if self.step(axis) != "1":
                index = "%s * %s" % ("(%s)" % index if " " in index else index, self.step(axis))
            self.put("const int64_t %s = %s;" % (self.point(axis), index))
            self._extent(axis)
            rest = "%s / %s" % (rest, self._tiles(axis))

    def _extent(self, axis: str) -> None:
        """Rows or columns of the tile that starts here."""
        for tile_axis, word in ((self.program.y, "rows"), (self.program.x, "cols")):
            if axis == tile_axis:
                self.put("const uint32_t %s = Smaller(%s, %s - %s);"
                         % (word, self.step(axis), self.size(axis), self.point(axis)))

    # Held scopes

    def _slab(self, hold: Loop, place: int) -> str:
        loads = scope_loads(hold.body)
        return self.name(written(loads[0]) or "") if len(loads) == 1 else "heldIn%dSlab" % place

    def _declare_hold(self, hold: Loop, place: int) -> None:
        """What stays between tasks: tensors, and the coordinates they belong to."""
        self.put("bool held%d = false;" % place)
        for axis in hold.axes:
            self.put("int64_t held%dAt%s = 0;" % (place, self.point(axis)[1:]))
        if len(scope_loads(hold.body)) > 1:
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
        loads = scope_loads(hold.body)
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


_ABOUT: Dict[str, str] = {
    "stream": "walks over its inputs once per pass",
    "resident": "keeps whole rows in UB and reads its inputs once",
    "split": "several cores share a task, partial results meet in workspace",
}
