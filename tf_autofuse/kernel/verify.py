"""The rules of the kernel IR. A breach is a bug of the schedule, so it is an `IRError`."""
from __future__ import annotations

from typing import Dict, List, Set, Tuple

from tf_autofuse.errors import IRError
from tf_autofuse.kernel.ir import (
    KEEPING_VARIANTS,
    POSITIONS,
    SHAPES,
    VARIANTS,
    Accumulate,
    Broadcast,
    Buffer,
    Compute,
    CopyIn,
    CopyOut,
    Finish,
    Kernel,
    LoadPart,
    Loop,
    Program,
    Step,
    StorePart,
    Thin,
    read,
    written,
)
from tf_autofuse.kernel.layout import of_parts
from tf_autofuse.kernel.vector import CASTS, ITEM_BYTES, ROUND_MODES, VECTOR_OPS
from tf_autofuse.loop import verify as loop_verify
from tf_autofuse.loop.ir import PARTS

STAGE = "kernel"


def verify(kernel: Kernel) -> None:
    """Check buffers, instruction types, shapes and order; IRError names the buffer at fault."""
    loop_verify.verify(kernel.loop)
    for thin in kernel.thin:
        _check_thin(kernel, thin)
    for program in kernel.programs:
        if program.variant not in VARIANTS:
            raise IRError("unknown variant " + program.variant, stage=STAGE)
        _check_buffers(program)
        _Checker(kernel, program).steps(program.steps, (), set())
    stored: List[int] = []
    for variants in kernel.variants:
        outs = [sorted({s.output for s in _outs(program.steps)}) for program in variants]
        if any(other != outs[0] for other in outs):
            raise IRError("variants write different outputs: %s" % outs, stage=STAGE)
        stored += outs[0]
    if sorted(stored) != list(range(len(kernel.loop.targets))):
        raise IRError("outputs %s are written, not each one once" % sorted(stored), stage=STAGE)


def _check_thin(kernel: Kernel, thin: Thin) -> None:
    """A form for axes of one point has the interface of the kernel, and nothing along these."""
    loop, whole = thin.kernel.loop, kernel.loop
    if not thin.ones or not set(thin.ones) < set(whole.sized_axes):
        raise IRError("a form for axes of one point: %s" % " ".join(thin.ones), stage=STAGE)
    if (thin.kernel.platform, loop.inputs, loop.outputs, loop.sized_axes, thin.kernel.thin) != (
            kernel.platform, whole.inputs, whole.outputs, whole.sized_axes, ()):
        raise IRError("a form with another interface", node=" ".join(thin.ones), stage=STAGE)
    if not {load.input for load in loop.runtime_loads} <= {
            load.input for load in whole.runtime_loads} or len(loop.insides) > len(whole.insides):
        raise IRError("a form with a table of its own", node=" ".join(thin.ones), stage=STAGE)
    for nest in thin.kernel.nests:
        if set(thin.ones) & set(nest.axes):
            raise IRError("walks an axis of one point", node=" ".join(nest.axes), stage=STAGE)
    verify(thin.kernel)


def _outs(steps: Tuple[Step, ...]):
    for step in steps:
        if isinstance(step, Loop):
            yield from _outs(step.body)
        elif isinstance(step, CopyOut):
            yield step


def _check_buffers(program: Program) -> None:
    slots: Dict[int, Buffer] = {}
    for buffer in program.buffers:
        if buffer.position not in POSITIONS or buffer.shape not in SHAPES:
            _bad(buffer.name, "position %s, shape %s" % (buffer.position, buffer.shape))
        if buffer.position == "KEPT" and program.variant not in KEEPING_VARIANTS:
            _bad(buffer.name, "is kept by the variant " + program.variant)
        if buffer.dtype != "mask" and buffer.dtype not in ITEM_BYTES:
            _bad(buffer.name, "unknown dtype %s" % buffer.dtype)
        other = slots.setdefault(buffer.slot, buffer)
        if other is not buffer and (other.position != "VECCALC" or buffer.position != "VECCALC"):
            _bad(buffer.name, "shares the slot of queue buffer %s" % other.name)
        if other.shape != buffer.shape or _item(other) != _item(buffer):
            _bad(buffer.name, "shares a slot of another size with %s" % other.name)


def _item(buffer: Buffer) -> int:
    return 0 if buffer.dtype == "mask" else ITEM_BYTES[buffer.dtype]


class _Checker:
    def __init__(self, kernel: Kernel, program: Program) -> None:
        self.kernel, self.program = kernel, program
        self.by_name = {buffer.name: buffer for buffer in program.buffers}

    def steps(self, steps: Tuple[Step, ...], loops: Tuple[str, ...], filled: Set[str]) -> None:
        """`loops`: axes open here; `filled`: buffers that hold something."""
        for step in steps:
            if isinstance(step, Loop):
                self._loop(step, loops, filled)
                continue
            for name in read(step) + ((written(step) or "",) if written(step) else ()):
                if name not in self.by_name:
                    _bad(name, "no such buffer")
            for name in read(step):
                if name not in filled:
                    _bad(name, "is read before it is written")
            self._step(step)
            if written(step) is not None:
                filled.add(written(step) or "")

    def _loop(self, loop: Loop, loops: Tuple[str, ...], filled: Set[str]) -> None:
        if loop.kind == "hold":
            # What a held scope made stays: it counts as filled after it.
            nest = self.program.nest
            if not set(loop.axes) < set(nest.reduced if set(nest.reduced) & set(loops)
                                        else nest.kept):
                _bad(" ".join(loop.axes), "wrong hold loop")
            self.steps(loop.body, loops, filled)
            return
        nest = self.program.nest
        want = {"block": nest.kept, "split": nest.kept, "walk": nest.reduced, "parts": (),
                "core": (PARTS,), "strips": (PARTS,) + nest.reduced}
        axes = nest.reduced if sorted(loop.axes) == sorted(nest.reduced) else loop.axes
        if (axes if loop.kind == "walk" else loop.axes) != want.get(loop.kind) or (
                set(loop.axes) & set(loops)):
            _bad(" ".join(loop.axes), "wrong %s loop" % loop.kind)
        inside = set(filled)
        self.steps(loop.body, loops + loop.axes, inside)
        # What a walk has kept is found by the next one.
        filled |= {name for name in inside if self.by_name[name].position == "KEPT"}

    def _step(self, step: Step) -> None:
        if isinstance(step, Compute):
            self._compute(step)
        elif isinstance(step, (CopyIn, LoadPart)):
            places = ("VECIN", "KEPT") if isinstance(step, CopyIn) else ("VECIN",)
            if self.by_name[step.dst].position not in places:
                _bad(step.dst, "copy_in into %s" % self.by_name[step.dst].position)
            numbers = [step.input] if isinstance(step, CopyIn) else []
            numbers += [step.at.input] if isinstance(step, CopyIn) and step.at else []
            if isinstance(step, LoadPart) != of_parts(self.by_name[step.dst]):
                _bad(step.dst, "copy_in of shape %s" % self.by_name[step.dst].shape)
            for number in numbers:
                if not 0 <= number < len(self.kernel.loop.sources):
                    _bad(step.dst, "copies unknown input %d" % number)
        elif isinstance(step, (CopyOut, StorePart)):
            if self.by_name[step.src].position != "VECOUT":
                _bad(step.src, "copy_out from %s" % self.by_name[step.src].position)
        elif isinstance(step, Broadcast):
            src, dst = self.by_name[step.src], self.by_name[step.dst]
            wider = src.shape == "1" or dst.shape in ("yx", "p" + src.shape)
            if src.dtype != dst.dtype or src.shape == dst.shape or not wider:
                _bad(step.dst, "broadcast of %s %s to %s %s" % (src.dtype, src.shape, dst.dtype,
                                                                dst.shape))
        elif isinstance(step, (Accumulate, Finish)) and (
                self.by_name[step.src].dtype != self.by_name[step.dst].dtype):
            _bad(step.dst, "reduction changes the dtype")

    def _compute(self, step: Compute) -> None:
        op = VECTOR_OPS.get(step.op)
        if op is None:
            _bad(step.dst, "unknown instruction %s" % step.op)
        assert op is not None
        if len(step.srcs) != op.arity or op.scalar != (step.scalar is not None):
            _bad(step.dst, "%s has the wrong operands" % step.op)
        buffers = [self.by_name[name] for name in step.srcs + (step.dst,)]
        if len({buffer.shape for buffer in buffers}) != 1:
            _bad(step.dst, "%s on buffers of different shapes" % step.op)
        dst, sources = buffers[-1], buffers[:-1]
        if step.op in CASTS:
            if dst.dtype not in ROUND_MODES.get(sources[0].dtype, {}):
                _bad(step.dst, "no cast from %s to %s" % (sources[0].dtype, dst.dtype))
            return
        data = [b.dtype for b in sources if b.dtype != "mask"]
        if op.mask != "out":
            data.append(dst.dtype)
        if len(set(data)) != 1 or data[0] not in op.dtypes:
            _bad(step.dst, "%s does not take %s" % (step.op, " and ".join(data)))
        masks = [b.name for b in buffers if b.dtype == "mask"]
        if masks != {"": [], "in": [step.srcs[0]], "out": [step.dst]}[op.mask]:
            _bad(step.dst, "%s has the wrong mask" % step.op)


def _bad(node: str, message: str) -> None:
    raise IRError(message, node=node, stage=STAGE)
