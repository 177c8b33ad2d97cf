"""One loop nest as an Ascend C class: Init lays out UB, Process walks the tiles of this core."""
from __future__ import annotations

from typing import Dict, List, Optional, Sequence, Set, Tuple

from tf_autofuse.codegen.ascendc_steps import C_TYPES, StepPrinter
from tf_autofuse.kernel.ir import (
    Buffer,
    Compute,
    CopyIn,
    CopyOut,
    Kernel,
    Loop,
    Step,
    read,
    walk_steps,
    written,
)
from tf_autofuse.kernel.vector import ITEM_BYTES
from tf_autofuse.platforms import Platform
from tf_autofuse.tiling import LANE_BYTES, TANH_BYTES, UNIT


class NestClass(StepPrinter):
    """Prints `class Nest<number>` for a program of `kernel`."""

    def __init__(self, kernel: Kernel, number: int, struct: str, chip: Platform) -> None:
        super().__init__(kernel, number, chip)
        self.struct = struct
        self.declared: Set[str] = set()
        self.dirty: Optional[Set[int]] = None

    def print(self) -> str:
        """The class."""
        self.open("class Nest%d {" % self.number, " public:")
        self.put("__aicore__ inline explicit Nest%d(const %s& tiling) : t(tiling) {}"
                 % (self.number, self.struct))
        self.put("")
        self._init()
        self.put("")
        self.open("__aicore__ inline void Process() {")
        self._steps(self.program.steps)
        self.close()
        self._members()
        self.close("};")
        return "\n".join(self.lines) + "\n"

    # Members

    def _slots(self) -> List[Buffer]:
        """One buffer of every slot."""
        slots: Dict[int, Buffer] = {}
        for buffer in self.program.buffers:
            slots.setdefault(buffer.slot, buffer)
        return [slots[key] for key in sorted(slots)]

    def _tensors(self) -> List[Tuple[str, str]]:
        """GM tensors this nest touches: (name, C type of an element)."""
        found = []
        for step in walk_steps(self.program.steps):
            if isinstance(step, CopyIn):
                entry = ("in%d" % step.input, C_TYPES[self.buffer(step.dst).dtype])
            elif isinstance(step, CopyOut):
                entry = ("out%d" % step.output, C_TYPES[self.buffer(step.src).dtype])
            else:
                continue
            if entry not in found:
                found.append(entry)
        return found

    def _init(self) -> None:
        names = ["in%d" % i for i in range(len(self.kernel.loop.inputs))]
        names += ["out%d" % i for i in range(len(self.kernel.loop.outputs))]
        params = ", ".join("GM_ADDR " + name for name in names)
        self.open("__aicore__ inline void Init(%s, AscendC::TPipe* pipe) {" % params)
        for name, kind in self._tensors():
            self.put("%sGm.SetGlobalBuffer((__gm__ %s*)%s);" % (name, kind, name))
        extents = {"yx": ("tile", "t.ty%d * t.pitch%d" % (self.number, self.number)),
                   "x": ("row", "t.pitch%d" % self.number), "y": ("column", "t.ty%d" % self.number)}
        for shape, (name, extent) in extents.items():
            if any(buffer.shape == shape for buffer in self.program.buffers):
                self.put("const uint32_t %s = RoundUp(%s, %d);" % (name, extent, UNIT))
        for buffer in self._slots():
            size = self._bytes(buffer)
            if buffer.position == "VECCALC":
                self.put("pipe->InitBuffer(slot%d, %s);" % (buffer.slot, size))
            else:
                self.put("pipe->InitBuffer(queue%d, %d, %s);"
                         % (buffer.slot, self.program.queue_depth, size))
        if self.needs_column_scratch():
            self.put("pipe->InitBuffer(columnScratch, RoundUp(t.ty%d, 8) * %d);"
                     % (self.number, self.chip.block_bytes))
        if self.needs_tanh_scratch():
            self.put("pipe->InitBuffer(mathScratch, %d);" % TANH_BYTES)
        self.close()

    def _bytes(self, buffer: Buffer) -> str:
        if buffer.shape == "lanes":
            return "t.ty%d * %d" % (self.number, LANE_BYTES)
        count = {"yx": "tile", "x": "row", "y": "column", "1": str(UNIT)}[buffer.shape]
        if buffer.dtype == "mask":
            return "%s / 8" % count
        return "%s * %d" % (count, ITEM_BYTES[buffer.dtype])

    def _members(self) -> None:
        self.put(" private:", margin=False)
        self.put("const %s& t;" % self.struct)
        for name, kind in self._tensors():
            self.put("AscendC::GlobalTensor<%s> %sGm;" % (kind, name))
        for buffer in self._slots():
            if buffer.position == "VECCALC":
                self.put("AscendC::TBuf<AscendC::TPosition::VECCALC> slot%d;" % buffer.slot)
            else:
                self.put("AscendC::TQue<AscendC::TPosition::%s, 1> queue%d;"
                         % (buffer.position, buffer.slot))
        if self.needs_column_scratch():
            self.put("AscendC::TBuf<AscendC::TPosition::VECCALC> columnScratch;")
        if self.needs_tanh_scratch():
            self.put("AscendC::TBuf<AscendC::TPosition::VECCALC> mathScratch;")

    # Loops

    def _steps(self, steps: Sequence[Step]) -> None:
        """One scope: copies in first, so that they overlap with what came before."""
        loads = [step for step in steps if isinstance(step, CopyIn)]
        self.dirty = None
        if loads:
            self.put("// Copy in.")
        for load in loads:
            self._alloc(load.dst)
            self.copy_in(load)
            slot = self.buffer(load.dst).slot
            self.put("queue%d.EnQue(%s);" % (slot, self.name(load.dst)))
        if loads:
            self.put("// Compute.")
        for step in steps:
            if isinstance(step, Loop):
                self._loop(step)
                self.dirty = None
            else:
                self._step(step)
        for load in loads:
            self.put("queue%d.FreeTensor(%s);" % (self.buffer(load.dst).slot,
                                                  self.name(load.dst)))

    def _loop(self, loop: Loop) -> None:
        if loop.kind == "block":
            self._block_loop(loop)
            return
        opened = 0
        for axis in loop.axes:
            at = self.point(axis)
            step = self.step(axis)
            self.open("for (int64_t %s = 0; %s < %s; %s) {"
                      % (at, at, self.size(axis), "++" + at if step == "1" else
                         "%s += %s" % (at, step)))
            self._extent(axis)
            opened += 1
        self._steps(loop.body)
        for _ in range(opened):
            self.close()

    def _block_loop(self, loop: Loop) -> None:
        self.put("const uint32_t pitch = t.pitch%d;" % self.number)
        self.open("for (int64_t task = AscendC::GetBlockIdx(); task < t.tasks%d; "
                  "task += AscendC::GetBlockNum()) {" % self.number)
        rest = "task"
        for axis in reversed(loop.axes):
            at, step = self.point(axis), self.step(axis)
            tiles = self.size(axis) if step == "1" else "CeilDiv(%s, %s)" % (self.size(axis), step)
            index = rest if axis == loop.axes[0] else "%s %% %s" % (rest, tiles)
            self.put("const int64_t %s = %s;" % (at, index if step == "1" else
                                                 "%s * %s" % (
                                                     index if index == "task" else
                                                     "(%s)" % index, step)))
            self._extent(axis)
            rest = "%s / %s" % (rest, tiles)
        self._steps(loop.body)
        self.close()

    def _extent(self, axis: str) -> None:
        """Rows or columns of the tile that starts here."""
        for tile_axis, word in ((self.program.y, "rows"), (self.program.x, "cols")):
            if axis == tile_axis:
                self.put("const uint32_t %s = Smaller(%s, %s - %s);"
                         % (word, self.step(axis), self.size(axis), self.point(axis)))

    # Steps

    def _alloc(self, name: str) -> None:
        buffer = self.buffer(name)
        kind = C_TYPES[buffer.dtype]
        source = ("slot%d.Get<%s>()" % (buffer.slot, kind) if buffer.position == "VECCALC"
                  else "queue%d.AllocTensor<%s>()" % (buffer.slot, kind))
        self.put("AscendC::LocalTensor<%s> %s = %s;" % (kind, self.name(name), source))
        self.declared.add(name)

    def _step(self, step: Step) -> None:
        if isinstance(step, CopyIn):
            slot, kind = self.buffer(step.dst).slot, C_TYPES[self.buffer(step.dst).dtype]
            self.put("%s = queue%d.DeQue<%s>();" % (self.name(step.dst), slot, kind))
            return
        if isinstance(step, CopyOut):
            slot, kind = self.buffer(step.src).slot, C_TYPES[self.buffer(step.src).dtype]
            name = self.name(step.src)
            self.put("// Copy out.")
            self.put("queue%d.EnQue(%s);" % (slot, name))
            self.put("%s = queue%d.DeQue<%s>();" % (name, slot, kind))
            self.copy_out(step)
            self.put("queue%d.FreeTensor(%s);" % (slot, name))
            return
        target = written(step) or ""
        if target not in self.declared:
            self._alloc(target)
        self._order(step)
        self.vector(step)

    def _order(self, step: Step) -> None:
        """A barrier when the step touches what an instruction since the last one wrote."""
        touched = {self.buffer(n).slot for n in read(step) + (written(step) or "",)}
        if self.dirty is None or self.uses_scratch(step) or touched & self.dirty:
            self.put("AscendC::PipeBarrier<PIPE_V>();")
            self.dirty = set()
        self.dirty.add(self.buffer(written(step) or "").slot)
        if self.uses_scratch(step) and not isinstance(step, Compute):
            self.dirty = None

