"""Single steps of a program as Ascend C: copies, vector instructions, broadcasts, reductions."""
from __future__ import annotations

import math
from typing import Dict, List, Sequence, Tuple

from tf_autofuse.kernel.ir import (
    Accumulate,
    Broadcast,
    Buffer,
    Compute,
    CopyIn,
    CopyOut,
    Fill,
    Finish,
    Kernel,
    SizeOf,
    Step,
    StepScalar,
    walk_steps,
)
from tf_autofuse.kernel.nest import runtime_inputs
from tf_autofuse.kernel.vector import ITEM_BYTES, ROUND_MODES, VECTOR_OPS
from tf_autofuse.platforms import Platform
from tf_autofuse.tiling import UNIT

C_TYPES: Dict[str, str] = {
    "float32": "float", "float16": "half", "bfloat16": "bfloat16_t", "int8": "int8_t",
    "uint8": "uint8_t", "int16": "int16_t", "int32": "int32_t", "int64": "int64_t",
    "mask": "uint8_t",
}
_FOLD_CALLS = {"sum": "Add", "prod": "Mul", "max": "Max", "min": "Min"}
_FOLD_SCALARS = {"sum": "{0} + {1}", "prod": "{0} * {1}", "max": "{0} > {1} ? {0} : {1}",
                 "min": "{0} < {1} ? {0} : {1}"}


class StepPrinter:
    """Lines of Ascend C for the steps of program `number`.

    In scope are the tile: `rows`, `cols`, `pitch`, and per axis k its size `t.n<k>` and the
    coordinate `i<k>`, which is the start of the tile for tile axes.
    """

    def __init__(self, kernel: Kernel, number: int, chip: Platform) -> None:
        self.kernel, self.number, self.chip = kernel, number, chip
        self.program = kernel.programs[number]
        self.runtime = runtime_inputs(kernel.loop)
        self.lines: List[str] = []
        self.indent = 0

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

    def buffer(self, name: str) -> Buffer:
        return self.program.buffer(name)

    def name(self, buffer: str) -> str:
        return buffer.split("_", 1)[1]

    def size(self, axis: str) -> str:
        return "t.n%d" % self.kernel.loop.axes.index(axis)

    def point(self, axis: str) -> str:
        return "i%d" % self.kernel.loop.axes.index(axis)

    def step(self, axis: str) -> str:
        """How far one iteration of the loop over `axis` goes."""
        if axis == self.program.y:
            return "t.ty%d" % self.number
        return "t.tx%d" % self.number if axis == self.program.x else "1"

    def count(self, name: str) -> str:
        """Elements an instruction on the buffer works on."""
        shape = self.buffer(name).shape
        if shape == "lanes":
            return "%s * %d" % (self._rows(), self._lanes(name))
        return {"yx": "rows * pitch", "y": "rows", "x": "cols", "1": "1"}[shape]

    def _rows(self) -> str:
        return "rows" if self.program.y is not None else "1"

    def _lanes(self, name: str) -> int:
        return self.chip.repeat_bytes // ITEM_BYTES[self.buffer(name).dtype]

    def _block(self, name: str) -> int:
        return self.chip.block_bytes // ITEM_BYTES[self.buffer(name).dtype]

    # Scratch

    def uses_scratch(self, step: Step) -> bool:
        """Whether the step prints several instructions or uses shared scratch."""
        if isinstance(step, Compute):
            return step.op == "tanh"
        return isinstance(step, (Broadcast, Accumulate, Finish))

    def needs_column_scratch(self) -> bool:
        return any(isinstance(s, Broadcast) and self.buffer(s.src).shape == "y"
                   for s in walk_steps(self.program.steps))

    def needs_tanh_scratch(self) -> bool:
        return any(isinstance(s, Compute) and s.op == "tanh"
                   for s in walk_steps(self.program.steps))

    # Global memory

    def _dense(self, axes: Sequence[str]) -> str:
        text = ""
        for axis in axes:
            at = self.point(axis)
            inner = "(%s)" % text if " " in text else text
            text = "%s * %s + %s" % (inner, self.size(axis), at) if text else at
        return text or "0"

    def copy_in(self, step: CopyIn) -> None:
        """DataCopyPad of the tile; strides known only at run time go row by row."""
        if step.input in self.runtime:
            self._copy_in_runtime(step)
            return
        axes = [dim.axis for dim in step.dims if dim.axis is not None]
        kind = C_TYPES[self.buffer(step.dst).dtype]
        extent, gaps = self._burst(step.dst)
        name = self.name(step.dst)
        self.put("const AscendC::DataCopyExtParams %sCopy{%s, %s, %s, 0};"
                 % (name, extent, gaps[0], gaps[1]))
        self.put("AscendC::DataCopyPad(%s, in%dGm[%s], %sCopy, "
                 "AscendC::DataCopyPadExtParams<%s>());"
                 % (name, step.input, self._dense(axes), name, kind))

    def copy_out(self, step: CopyOut) -> None:
        extent, gaps = self._burst(step.src)
        name = self.name(step.src)
        self.put("const AscendC::DataCopyExtParams %sCopy{%s, %s, %s, 0};"
                 % (name, extent, gaps[1], gaps[0]))
        self.put("AscendC::DataCopyPad(out%dGm[%s], %s, %sCopy);"
                 % (step.output, self._dense(step.axes), name, name))

    def _burst(self, name: str) -> Tuple[str, Tuple[str, str]]:
        """`blockCount, blockLen` of a tile, and its gaps in GM (bytes) and UB (blocks)."""
        buffer = self.buffer(name)
        item = ITEM_BYTES[buffer.dtype]
        if buffer.shape != "yx":
            count = {"y": "rows", "x": "cols", "1": "1"}[buffer.shape]
            return "1, static_cast<uint32_t>(%s * %d)" % (count, item), ("0", "0")
        gap = "static_cast<uint32_t>((%s - cols) * %d)" % (self.size(self.program.x or ""), item)
        ub = "(pitch * %d - RoundUp(cols * %d, %d)) / %d" % (
            item, item, self.chip.block_bytes, self.chip.block_bytes)
        extent = "static_cast<uint16_t>(rows), static_cast<uint32_t>(cols * %d)" % item
        return extent, (gap, ub)

    def _copy_in_runtime(self, step: CopyIn) -> None:
        buffer, loop_axes = self.buffer(step.dst), self.kernel.loop.axes
        stride = {axis: "t.s%d_%d" % (step.input, loop_axes.index(axis)) for axis in loop_axes}
        axes = [dim.axis for dim in step.dims if dim.axis is not None]
        terms = ["%s * %s" % (self.point(axis), stride[axis]) for axis in axes]
        base = " + ".join(terms) or "0"
        target, width = self.name(step.dst), {"yx": "cols", "x": "cols", "y": "rows", "1": "1"}
        along = self.program.y if buffer.shape == "y" else self.program.x
        if buffer.shape == "yx":
            self.open("for (uint32_t r = 0; r < rows; ++r) {")
            target += "[r * pitch]"
            base += " + r * " + stride[self.program.y or ""]
        self.put("const int64_t at = %s;" % base if buffer.shape == "yx" else
                 "const int64_t %sAt = %s;" % (self.name(step.dst), base))
        at = "at" if buffer.shape == "yx" else self.name(step.dst) + "At"
        moving = "%s != 0" % stride[along] if along in axes else "true"
        self._row_in(step, target, at, width[buffer.shape], moving)
        if buffer.shape == "yx":
            self.close()

    def _row_in(self, step: CopyIn, target: str, at: str, count: str, moving: str) -> None:
        """One row: a copy, or one element repeated."""
        dtype = self.buffer(step.dst).dtype
        kind = C_TYPES[dtype]
        self.open("if (%s) {" % moving)
        self.put("const AscendC::DataCopyExtParams row{1, static_cast<uint32_t>(%s * %d), 0, 0, 0};"
                 % (count, ITEM_BYTES[dtype]))
        self.put("AscendC::DataCopyPad(%s, in%dGm[%s], row, AscendC::DataCopyPadExtParams<%s>());"
                 % (target, step.input, at, kind))
        self.indent -= 1
        self.open("} else {")
        value = "in%dGm.GetValue(%s)" % (step.input, at)
        if ITEM_BYTES[dtype] == 1:
            # Duplicate has no 8-bit form: two equal bytes make a 16-bit element.
            self.put("const uint16_t byte = static_cast<uint8_t>(%s);" % value)
            self.put("AscendC::Duplicate(%s.ReinterpretCast<uint16_t>(), "
                     "static_cast<uint16_t>(byte << 8 | byte), (%s + 1) / 2);"
                     % (target, count))
        else:
            self.put("AscendC::Duplicate(%s, %s, %s);" % (target, value, count))
        self.close()

    # Vector steps

    def vector(self, step: Step) -> None:
        if isinstance(step, Fill):
            self.put("AscendC::Duplicate(%s, %s, %s);" % (
                self.name(step.dst), self._scalar(step.scalar, step.dst), self.count(step.dst)))
        elif isinstance(step, Compute):
            self._compute(step)
        elif isinstance(step, Broadcast):
            self._broadcast(step)
        elif isinstance(step, Accumulate):
            self._accumulate(step)
        elif isinstance(step, Finish):
            self._finish(step)

    def _scalar(self, scalar: StepScalar, like: str) -> str:
        """The scalar as the element type of buffer `like`."""
        dtype = self.buffer(like).dtype
        if isinstance(scalar, SizeOf):
            text = " * ".join(self.size(axis) for axis in scalar.axes) or "1"
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
        if step.op in ("cast", "trunc"):
            mode = ROUND_MODES[self.buffer(step.srcs[0]).dtype][self.buffer(step.dst).dtype]
            args.append("AscendC::RoundMode::CAST_" + ("TRUNC" if step.op == "trunc" else mode))
        call = op.call
        if op.mask == "out":
            args.append("AscendC::" + call)
            call, count = ("Compares" if op.scalar else "Compare"), "RoundUp(%s, %d)" % (count,
                                                                                       UNIT)
        if op.mask == "in":
            if self.buffer(step.dst).dtype == "int32":
                view = "%s.ReinterpretCast<float>()"
                args = [view % dst, srcs[0]] + [view % s for s in srcs[1:]]
            args.append("AscendC::SELMODE::VSEL_TENSOR_%s_MODE"
                        % ("SCALAR" if op.scalar else "TENSOR"))
        if step.op == "tanh":
            self.put("AscendC::LocalTensor<uint8_t> %sScratch = mathScratch.Get<uint8_t>();" % dst)
            args.append(dst + "Scratch")
        self.put("AscendC::%s(%s, %s);" % (call, ", ".join(args), count))

    def _repeat_rows(self, mask: str, width: int) -> None:
        """Open the loops of a row-wise instruction: registers `c`, at most 255 rows `r`."""
        self.open("for (uint32_t c = 0; c < cols; c += %d) {" % width)
        self.put("const uint64_t mask = Smaller(%d, %s - c);" % (width, mask))
        self.open("for (uint32_t r = 0; r < %s; r += %d) {" % (self._rows(),
                                                              self.chip.max_repeat))
        self.put("const uint8_t repeat = Smaller(%d, %s - r);" % (self.chip.max_repeat,
                                                                  self._rows()))

    def _broadcast(self, step: Broadcast) -> None:
        src, dst = self.name(step.src), self.name(step.dst)
        kind, shape = C_TYPES[self.buffer(step.src).dtype], self.buffer(step.src).shape
        if shape == "1":
            self.put("Sync<AscendC::HardEvent::V_S>();")
            self.put("AscendC::Duplicate(%s, %s.GetValue(0), %s);" % (dst, src,
                                                                      self.count(step.dst)))
            self.put("Sync<AscendC::HardEvent::S_V>();")
            return
        block, width = self._block(step.src), self._lanes(step.src)
        origin, strides = "%s[c]" % src, "1, 1, pitch / %d, 0" % block
        if shape == "y":
            column = "%sColumn" % dst
            self.put("AscendC::LocalTensor<%s> %s = columnScratch.Get<%s>();" % (kind, column,
                                                                                 kind))
            self.open("for (uint32_t r = 0; r < rows; r += 2040) {")
            self.put("AscendC::Brcb(%s[r * %d], %s[r], CeilDiv(Smaller(2040, rows - r), 8), "
                     "AscendC::BrcbRepeatParams(1, 8));" % (column, block, src))
            self.close()
            self.put("AscendC::PipeBarrier<PIPE_V>();")
            origin, strides = "%s[r * %d]" % (column, block), "1, 0, pitch / %d, 1" % block
        self._repeat_rows("cols", width)
        self.put("AscendC::Copy(%s[r * pitch + c], %s, mask, repeat, "
                 "AscendC::CopyRepeatParams(%s));" % (dst, origin, strides))
        self.close()
        self.close()

    def _accumulate(self, step: Accumulate) -> None:
        call, acc, src = _FOLD_CALLS[step.op], self.name(step.dst), self.name(step.src)
        if self.buffer(step.dst).shape == self.buffer(step.src).shape:
            self.put("AscendC::%s(%s, %s, %s, %s);" % (call, acc, acc, src, self.count(step.dst)))
            return
        if self.buffer(step.dst).shape == "x":
            self.open("for (uint32_t r = 0; r < rows; ++r) {")
            self.put("AscendC::%s(%s, %s, %s[r * pitch], cols);" % (call, acc, acc, src))
            self.put("AscendC::PipeBarrier<PIPE_V>();")
            self.close()
            return
        width, block = self._lanes(step.dst), self._block(step.dst)
        single = self.program.y is None
        self._repeat_rows("cols", width)
        where = "c" if single else "r * pitch + c"
        stride = "8" if single else "static_cast<uint8_t>(pitch / %d)" % block
        self.put("AscendC::%s(%s[r * %d], %s[r * %d], %s[%s], mask, repeat, "
                 "AscendC::BinaryRepeatParams(1, 1, 1, 8, 8, %s));"
                 % (call, acc, width, acc, width, src, where, stride))
        self.close()
        self.put("AscendC::PipeBarrier<PIPE_V>();")
        self.close()

    def _finish(self, step: Finish) -> None:
        acc, dst, width = self.name(step.src), self.name(step.dst), self._lanes(step.src)
        dtype = self.buffer(step.src).dtype
        if step.op == "prod" or dtype == "int32":
            self._finish_by_halves(step, acc, dst, width)
            return
        order = "" if step.op == "sum" else ", AscendC::ReduceOrder::ORDER_ONLY_VALUE"
        self.open("for (uint32_t r = 0; r < %s; r += %d) {" % (self._rows(),
                                                              self.chip.max_repeat))
        self.put("AscendC::WholeReduce%s(%s[r], %s[r * %d], %d, Smaller(%d, %s - r), 1, 1, 8%s);"
                 % (step.op.capitalize(), dst, acc, width, width, self.chip.max_repeat,
                    self._rows(), order))
        self.close()

    def _finish_by_halves(self, step: Finish, acc: str, dst: str, width: int) -> None:
        """Fold the upper half of the lanes onto the lower one; the scalar unit does the last 8."""
        kind, block = C_TYPES[self.buffer(step.src).dtype], self._block(step.src)
        self.open("for (uint32_t half = %d; half >= %d; half /= 2) {" % (width // 2, block))
        self.open("for (uint32_t r = 0; r < %s; r += %d) {" % (self._rows(),
                                                              self.chip.max_repeat))
        self.put("const uint8_t repeat = Smaller(%d, %s - r);" % (self.chip.max_repeat,
                                                                  self._rows()))
        self.put("AscendC::%s(%s[r * %d], %s[r * %d], %s[r * %d + half], "
                 "static_cast<uint64_t>(half), repeat, "
                 "AscendC::BinaryRepeatParams(1, 1, 1, 8, 8, 8));"
                 % (_FOLD_CALLS[step.op], acc, width, acc, width, acc, width))
        self.close()
        self.put("AscendC::PipeBarrier<PIPE_V>();")
        self.close()
        self.put("Sync<AscendC::HardEvent::V_S>();")
        self.open("for (uint32_t r = 0; r < %s; ++r) {" % self._rows())
        self.put("%s total = %s.GetValue(r * %d);" % (kind, acc, width))
        self.open("for (uint32_t k = 1; k < %d; ++k) {" % block)
        self.put("const %s next = %s.GetValue(r * %d + k);" % (kind, acc, width))
        self.put("total = %s;" % _FOLD_SCALARS[step.op].format("total", "next"))
        self.close()
        self.put("%s.SetValue(r, total);" % dst)
        self.close()
        self.put("Sync<AscendC::HardEvent::S_V>();")


def _float(value: float) -> str:
    """A float literal with exactly this float32 value."""
    if math.isnan(value):
        return "__builtin_nanf(\"\")"
    if math.isinf(value):
        return "-__builtin_inff()" if value < 0 else "__builtin_inff()"
    return repr(value) + "f"
