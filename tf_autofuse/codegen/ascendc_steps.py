"""Single steps of a program as Ascend C: copies, vector instructions, broadcasts, reductions."""
from __future__ import annotations

import math
from typing import Dict, List, Sequence, Set

from tf_autofuse.codegen.ascendc_moves import print_moved
from tf_autofuse.codegen.ascendc_names import buffer_names
from tf_autofuse.kernel.ir import (
    Accumulate,
    Broadcast,
    Buffer,
    Compute,
    CopyIn,
    CopyOut,
    EdgeOf,
    Fill,
    Finish,
    Kernel,
    LoadPart,
    Points,
    Program,
    SizeOf,
    Step,
    StepScalar,
    StorePart,
    TileOf,
)
from tf_autofuse.kernel.layout import MATH_SCRATCH, PIECES, UNIT, Extent, layout, of_parts
from tf_autofuse.kernel.nest import runtime_rows
from tf_autofuse.kernel.vector import ITEM_BYTES, ROUND_MODES, VECTOR_OPS
from tf_autofuse.loop.text import place_name
from tf_autofuse.platforms import Platform

C_TYPES: Dict[str, str] = {
    "float32": "float", "float16": "half", "bfloat16": "bfloat16_t", "int8": "int8_t",
    "uint8": "uint8_t", "int16": "int16_t", "int32": "int32_t", "int64": "int64_t",
    "mask": "uint8_t",
}
COUNTS = {"yx": "rows * pitch", "y": "rows", "x": "cols", "1": "1"}
"""Elements of a buffer by its shape."""

_FOLD_CALLS = {"sum": "Add", "prod": "Mul", "max": "Max", "min": "Min"}


class StepPrinter:
    """Lines of Ascend C for the steps of a program.

    In scope are the tile: `rows`, `cols`, `pitch`, and per axis k its size `t.n<k>` and the
    coordinate `i<k>`, which is the start of the tile for tile axes.
    """

    def __init__(self, kernel: Kernel, program: Program, chip: Platform) -> None:
        self.kernel, self.program, self.chip = kernel, program, chip
        self.number = program.number
        self.pads = "DataCopyPad" not in chip.lacks
        self.layout = layout(program)
        self.table = runtime_rows(kernel.loop)
        self.lines: List[str] = []
        self.indent = 0
        self.used: Set[str] = set()
        self.names = buffer_names(kernel, program)

    # Lines and names

    def put(self, text: str, margin: bool = True) -> None:
        self.lines.append(("  " * self.indent if margin and text else "") + text)

    def open(self, text: str, label: str = "") -> None:
        self.put(text)
        if label:
            self.put(label)
        self.indent += 1

    def close(self, text: str = "}") -> None:
        self.indent -= 1
        self.put(text)

    def helper(self, name: str) -> str:
        """The name of a device function, which the kernel then gets."""
        self.used.add(name)
        return name

    def buffer(self, name: str) -> Buffer:
        return self.program.buffer(name)

    def name(self, buffer: str) -> str:
        return self.names[buffer]

    def size(self, axis: str) -> str:
        return "t.n%d" % self.kernel.loop.axes.index(axis)

    def sizes(self, axes: Sequence[str]) -> str:
        return " * ".join(self.size(axis) for axis in axes) or "1"

    def extents(self, axes: Sequence[str]) -> str:
        """Points of `axes` in the tile."""
        words = {self.program.y: "rows", self.program.x: "cols"}
        return " * ".join(words[axis] for axis in axes if axis in words) or "1"

    def source(self, number: int) -> str:
        """The GM tensor of an input, or of a temporary."""
        return place_name("in", number, len(self.kernel.loop.inputs)) + "Gm"

    def target(self, number: int) -> str:
        """The GM tensor of an output, or of a temporary."""
        return place_name("out", number, len(self.kernel.loop.outputs)) + "Gm"

    def point(self, axis: str) -> str:
        return "i%d" % self.kernel.loop.axes.index(axis)

    def step(self, axis: str) -> str:
        """How far one iteration of the loop over `axis` goes."""
        if axis == self.program.y:
            return "t.ty%d" % self.number
        return "t.tx%d" % self.number if axis == self.program.x else "1"

    def bytes(self, extent: Extent) -> str:
        """C++ for the bytes of an extent."""
        terms = []
        for word, bits in zip(("tile", "row", "column"), extent.parts()):
            if bits % 8:
                terms.append("%s / 8 * %d" % (word, bits))
            elif bits:
                terms.append("%s * %d" % (word, bits // 8))
        terms += ["lanes * %d" % (extent.lanes * 4)] if extent.lanes else []
        terms += [str(extent.fixed)] if extent.fixed else []
        return " + ".join(terms) or "0"

    def room(self, buffer: Buffer) -> str:
        """Elements that the buffer has room for."""
        count = {"yx": "tile", "x": "row", "y": "column", "1": str(UNIT), "lanes": "lanes",
                 "lane": str(self.chip.repeat_bytes // 4)}
        if of_parts(buffer):
            several = "%s + %d" % (count[buffer.shape[1:]], PIECES)
            return "(%s) / 4" % several if buffer.dtype == "mask" else several
        if buffer.dtype == "mask":
            return count[buffer.shape] + " / 4"
        if buffer.shape in ("lanes", "lane") and ITEM_BYTES[buffer.dtype] == 2:
            return count[buffer.shape] + " * 2"
        return count[buffer.shape]

    def count(self, name: str) -> str:
        """Elements an instruction on the buffer works on."""
        shape = self.buffer(name).shape
        if shape == "lanes":
            return "%s * %d" % (self._rows(), self._lanes(name))
        if shape == "lane":
            return str(self._lanes(name))
        if of_parts(self.buffer(name)):
            return "pieces * wide"
        return COUNTS[shape]

    def _rows(self) -> str:
        return "rows" if self.program.y is not None else "1"

    def _lanes(self, name: str) -> int:
        return self.chip.repeat_bytes // ITEM_BYTES[self.buffer(name).dtype]

    # Scratch

    def uses_scratch(self, step: Step) -> bool:
        """Whether the step prints several instructions or uses shared scratch."""
        if isinstance(step, Compute):
            return VECTOR_OPS[step.op].scratch > 0
        return isinstance(step, (Broadcast, Accumulate, Finish))

    def scratch(self, name: str, kind: str, count: str) -> str:
        """C++ for a scratch tensor of the arena."""
        return "arena.GetWithOffset<%s>(%s, %s)" % (kind, count,
                                                    self.bytes(self.layout.scratch[name]))

    # Global memory

    def _dense(self, axes: Sequence[str]) -> str:
        text = ""
        for axis in axes:
            at = self.point(axis)
            inner = "(%s)" % text if " " in text else text
            text = "%s * %s + %s" % (inner, self.size(axis), at) if text else at
        return text or "0"

    def copy_in(self, step: CopyIn) -> None:
        """The tile from GM; strides known only at run time go row by row."""
        if step.moved or step.when:
            for line in print_moved(self, step, C_TYPES[self.buffer(step.dst).dtype]):
                self.put(line)
            return
        if step.input in self.table:
            self._copy_in_runtime(step)
            return
        axes = [dim.axis for dim in step.dims if dim.axis is not None]
        at = self._dense(axes)
        left = "" if self.pads else ", %s - %s" % (self.sizes(axes),
                                                   "(%s)" % at if " " in at else at)
        self._load(step.dst, "%s[%s]" % (self.source(step.input), at), left)

    def load_part(self, step: LoadPart) -> None:
        """The tiles of several parts, each in whole blocks."""
        name, shape = self.name(step.dst), self.buffer(step.dst).shape[1:]
        load = self.helper("LoadTile")
        if shape != "yx":
            self.put("%s(%s, %s, pieces, %s, wide, %s);" % (
                load, name, self._part(step.number, "piece"), COUNTS[shape],
                self.sizes(self.program.nest.kept)))
            return
        self.open("for (uint32_t p = 0; p < pieces; ++p) {")
        self.put("%s(%s[p * wide], %s, rows, cols, pitch, %s);" % (
            load, name, self._part(step.number, "(piece + p)"), self.size(self.program.x or "")))
        self.close()

    def _part(self, number: int, part: str) -> str:
        kept = self.program.nest.kept
        return "part%dGm[%s * %s + %s]" % (number, part, self.sizes(kept), self._dense(kept))

    def _load(self, name: str, source: str, left: str) -> None:
        """Where copies are not padded, `left` tells how far the tensor goes."""
        shape = self.buffer(name).shape
        if shape == "yx":
            self.put("%s(%s, %s, rows, cols, pitch, %s%s);" % (
                self.helper("LoadTile"), self.name(name), source, self.size(self.program.x or ""),
                left))
        else:
            self.put("%s(%s, %s, %s%s);" % (self.helper("LoadRow"), self.name(name), source,
                                            self.count(name), left))

    def copy_out(self, step: Step) -> None:
        assert isinstance(step, (CopyOut, StorePart))
        if isinstance(step, CopyOut):
            target = "%s[%s]" % (self.target(step.output), self._dense(step.axes))
        else:
            target = self._part(step.number, "part")
        if self.buffer(step.src).shape == "yx":
            self.put("%s(%s, %s, rows, cols, pitch, %s);" % (
                self.helper("StoreTile"), target, self.name(step.src),
                self.size(self.program.x or "")))
        else:
            self.put("%s(%s, %s, %s);" % (self.helper("StoreRow"), target, self.name(step.src),
                                          self.count(step.src)))

    def _copy_in_runtime(self, step: CopyIn) -> None:
        buffer, loop_axes = self.buffer(step.dst), self.kernel.loop.sized_axes
        stride = {axis: "t.s%d_%d" % (step.input, loop_axes.index(axis)) for axis in loop_axes}
        axes = [dim.axis for dim in step.dims if dim.axis is not None]
        base = " + ".join("%s * %s" % (self.point(axis), stride[axis]) for axis in axes) or "0"
        target = self.name(step.dst)
        along = self.program.y if buffer.shape == "y" else self.program.x
        moves = "%s != 0" % stride[along] if along in axes else "true"
        count = {"yx": "cols", "x": "cols", "y": "rows", "1": "1"}[buffer.shape]
        call = self.helper("LoadOrRepeat")
        if buffer.shape != "yx":
            self.put("%s(%s, in%dGm[%s], %s, %s);" % (call, target, step.input, base, count, moves))
            return
        self.open("for (uint32_t r = 0; r < rows; ++r) {")
        self.put("%s(%s[r * pitch], in%dGm[%s + r * %s], %s, %s);" % (
            call, target, step.input, base, stride[self.program.y or ""], count, moves))
        self.close()

    # Vector steps

    def vector(self, step: Step) -> None:
        if isinstance(step, Fill):
            self.put("AscendC::Duplicate(%s, %s, %s);" % (
                self.name(step.dst), self._scalar(step.scalar, step.dst), self.count(step.dst)))
        elif isinstance(step, Points):
            self._points(step)
        elif isinstance(step, Compute):
            self._compute(step)
        elif isinstance(step, Broadcast):
            self._broadcast(step)
        elif isinstance(step, Accumulate):
            self._accumulate(step)
        elif isinstance(step, Finish):
            self._finish(step)

    def _points(self, step: Points) -> None:
        dst, kind = self.name(step.dst), C_TYPES[self.buffer(step.dst).dtype]
        first = "0" if step.counted else self.point(step.axis)
        call = "Duplicate" if self.buffer(step.dst).shape == "1" else "CreateVecIndex"
        self.put("AscendC::%s(%s, static_cast<%s>(%s), %s);" % (call, dst, kind, first,
                                                                self.count(step.dst)))

    def _scalar(self, scalar: StepScalar, like: str) -> str:
        """The scalar as the element type of buffer `like`."""
        dtype = self.buffer(like).dtype
        if isinstance(scalar, EdgeOf):
            # Far ends are as good as the next ones: counted points are exact up to 2^24.
            return "static_cast<float>(Smaller(t.%s%d - %s, 1 << 24))" % (
                scalar.end, scalar.number, self.point(scalar.axis))
        if isinstance(scalar, (SizeOf, TileOf)):
            text = self.sizes(scalar.axes)
            if isinstance(scalar, TileOf):
                text = self.extents(scalar.axes)
            text = "static_cast<float>(%s)" % text if dtype == "float16" else text
            return "static_cast<%s>(%s)" % (C_TYPES[dtype], text)
        if dtype in ("float16", "float32"):
            text = _float(float(scalar))  # type: ignore[arg-type]
            return text if dtype == "float32" else "static_cast<half>(%s)" % text
        return "static_cast<%s>(%d)" % (C_TYPES[dtype], int(scalar or 0))

    def _compute(self, step: Compute) -> None:
        op = VECTOR_OPS[step.op]
        dst, srcs = self.name(step.dst), [self.name(s) for s in step.srcs]
        count = self.count(step.dst)
        args = [dst] + srcs
        if op.scalar:
            args.append(self._scalar(step.scalar, step.srcs[-1]))
        if op.call == "Cast":
            kinds = self.buffer(step.srcs[0]).dtype, self.buffer(step.dst).dtype
            args.append("AscendC::RoundMode::CAST_" + (op.mode or ROUND_MODES[kinds[0]][kinds[1]]))
        call = self.chip.calls.get(step.op, op.call)
        if op.mask == "out":
            args.append("AscendC::" + call)
            call, count = ("Compares" if op.scalar else "Compare"), "RoundUp(%s, %d)" % (count,
                                                                                       UNIT)
        if op.words and ITEM_BYTES[self.buffer(step.dst).dtype] == 4:
            args, count = ["%s.ReinterpretCast<int16_t>()" % arg for arg in args], count + " * 2"
        if op.mask == "in":
            other = {"int32": "float", "int16": "half"}.get(self.buffer(step.dst).dtype)
            if other is not None:
                view = "%s.ReinterpretCast<" + other + ">()"
                args = [view % dst, srcs[0]] + [view % s for s in srcs[1:]]
            args.append("AscendC::SELMODE::VSEL_TENSOR_%s_MODE"
                        % ("SCALAR" if op.scalar else "TENSOR"))
        if op.scratch:
            self.put("AscendC::LocalTensor<uint8_t> %sScratch = %s;"
                     % (dst, self.scratch("math", "uint8_t", str(MATH_SCRATCH))))
            args.append(dst + "Scratch")
        self.put("AscendC::%s(%s, %s);" % (call, ", ".join(args), count))

    def _broadcast(self, step: Broadcast) -> None:
        src, dst = self.name(step.src), self.name(step.dst)
        kind, shape = C_TYPES[self.buffer(step.src).dtype], self.buffer(step.src).shape
        if of_parts(self.buffer(step.dst)):
            self.put("%s(%s, %s, pieces, %s, wide);" % (self.helper("SpreadRow"), dst, src,
                                                        self.count(step.src)))
        elif shape == "1":
            self.put("%s(%s, %s, %s);" % (self.helper("SpreadOne"), dst, src,
                                          self.count(step.dst)))
        elif shape == "x":
            self.put("%s(%s, %s, rows, cols, pitch);" % (self.helper("SpreadRow"), dst, src))
        else:
            blocks = self.chip.block_bytes // ITEM_BYTES[self.buffer(step.src).dtype]
            self.put("AscendC::LocalTensor<%s> %sBlocks = %s;" % (
                kind, dst, self.scratch("column", kind, "column * %d" % blocks)))
            self.put("%s(%s, %s, %sBlocks, rows, cols, pitch);" % (
                self.helper("SpreadColumn"), dst, src, dst))

    def _accumulate(self, step: Accumulate) -> None:
        call, acc, src = _FOLD_CALLS[step.op], self.name(step.dst), self.name(step.src)
        if not step.scratch:
            self.put("AscendC::%s(%s, %s, %s, %s);" % (call, acc, acc, src, self.count(step.dst)))
            return
        # A source that is not needed any more is its own scratch.
        own = self.buffer(step.scratch).slot == self.buffer(step.src).slot
        scratch, copy = (src, "false") if own else (self.name(step.scratch), "true")
        if of_parts(self.buffer(step.src)):
            self.put("%s<%s>(%s, %s, %s, pieces * wide, wide);" % (
                self.helper("Fold" + call), copy, acc, src, scratch))
        elif self.buffer(step.dst).shape == "x":
            self.put("%s<%s>(%s, %s, %s, rows * pitch, pitch);" % (
                self.helper("Fold" + call), copy, acc, src, scratch))
        elif self.buffer(step.dst).shape == "lane":
            self.put("%s<%s>(%s, %s, %s, rows, cols, pitch);" % (
                self.helper("FoldTile" + call), copy, acc, src, scratch))
        elif self.program.y is None:
            self.put("%s<%s>(%s, %s, %s, cols, %d);" % (
                self.helper("Fold" + call), copy, acc, src, scratch, self._lanes(step.dst)))
        else:
            self.put("%s<%s>(%s, %s, %s, rows, cols, pitch);" % (
                self.helper("FoldRows" + call), copy, acc, src, scratch))

    def _finish(self, step: Finish) -> None:
        if step.blocks:
            kind = C_TYPES[self.buffer(step.dst).dtype]
            blocks = self.chip.block_bytes // ITEM_BYTES[self.buffer(step.dst).dtype]
            self.put("%s(%s, %s, %s, rows);" % (
                self.helper("FinishBlocks" + _FOLD_CALLS[step.op]), self.name(step.dst),
                self.name(step.src), self.scratch("column", kind, "column * %d" % blocks)))
            return
        halves = step.op == "prod" or self.buffer(step.src).dtype == "int32" or (
            step.op != "sum" and "ORDER_ONLY_VALUE" in self.chip.lacks)
        call = ("FinishHalves" if halves else "Finish") + _FOLD_CALLS[step.op]
        rows = "1" if self.buffer(step.src).shape == "lane" else self._rows()
        self.put("%s(%s, %s, %s);" % (self.helper(call), self.name(step.dst), self.name(step.src),
                                      rows))


def _float(value: float) -> str:
    """A float literal with exactly this float32 value."""
    if math.isnan(value):
        return "__builtin_nanf(\"\")"
    if math.isinf(value):
        return "-__builtin_inff()" if value < 0 else "__builtin_inff()"
    return repr(value) + "f"
