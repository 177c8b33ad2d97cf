"""A program as an Ascend C class: Init lays out UB, Process walks the tiles of this core."""
from __future__ import annotations

from typing import Dict, List, Sequence, Tuple

from tf_autofuse.codegen.ascendc_loops import LoopPrinter
from tf_autofuse.codegen.ascendc_steps import C_TYPES
from tf_autofuse.kernel.ir import (
    CopyIn,
    CopyOut,
    Kernel,
    Loop,
    Program,
    StorePart,
    Sync,
    walk_steps,
)
from tf_autofuse.kernel.layout import UNIT
from tf_autofuse.platforms import Platform


class NestClass(LoopPrinter):
    """Prints the class of a program of `kernel`, which is form number `form` of all; `struct` is
    their tiling structure."""

    def __init__(self, kernel: Kernel, program: Program, struct: str, chip: Platform,
                 form: int = 0) -> None:
        super().__init__(kernel, program, chip)
        self.struct = struct
        self.title = class_name(program, form)

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
            self.scope(phases)
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
            self.scope([phase])
            self.close()
            self.put("")

    # Members

    def _tensors(self) -> List[Tuple[str, str, str]]:
        """GM tensors this nest touches: (name, C type of an element, address)."""
        found: List[Tuple[str, str, str]] = []
        for step in walk_steps(self.program.steps):
            if isinstance(step, CopyIn):
                name, buffer = self.source(step.input)[:-2], self.buffer(step.dst)
                if step.at is not None:
                    kind = C_TYPES[self.kernel.loop.inputs[step.at.input].dtype]
                    index = "in%d" % step.at.input
                    found += [(index, kind, "gm." + index)] * (
                        (index, kind, "gm." + index) not in found)
            elif isinstance(step, CopyOut):
                name, buffer = self.target(step.output)[:-2], self.buffer(step.src)
            elif isinstance(step, StorePart):
                name, buffer = "part%d" % step.number, self.buffer(step.src)
            else:
                continue
            at = "gm." + name
            if isinstance(step, StorePart):
                at = "(AscendC::GetUserWorkspace(gm.workspace) + t.at%d + %d * t.region%d)" % (
                    self.number, step.number, self.number)
            elif name.startswith("temp"):
                at = "(AscendC::GetUserWorkspace(gm.workspace) + t.%s)" % name
            entry = (name, C_TYPES[buffer.dtype], at)
            if entry not in found:
                found.append(entry)
        return found

    def _extents(self) -> List[Tuple[str, str]]:
        """Members that say how large buffers are, with their values."""
        n, sizes = self.number, self.layout.total(2) + self.layout.kept
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
        if any(self.layout.kept.parts()):
            self.put("pipe->InitBuffer(kept, t.kept%d * (%s));" % (
                self.number, self.bytes(self.layout.kept)))
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
        if any(self.layout.kept.parts()):
            self.put("AscendC::TBuf<AscendC::TPosition::VECIN> kept;")
        if any(self.layout.arena.parts()):
            self.put("AscendC::TBuf<AscendC::TPosition::VECCALC> arena;")


def class_name(program: Program, form: int) -> str:
    """The name of the class of a program of form number `form`."""
    return "Thin%d" % form * bool(form) + "Nest%d%s" % (program.number,
                                                        program.variant.capitalize())


_ABOUT: Dict[str, str] = {
    "stream": "walks over its inputs once per pass",
    "resident": "keeps whole rows in UB and reads its inputs once",
    "kept": "keeps the tiles of a task in UB and reads its inputs once",
    "split": "several cores share a task, partial results meet in workspace",
    "shared": "several cores share a task, each keeps its tiles in UB and reads its inputs once",
}
