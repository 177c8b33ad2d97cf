"""Text form of the kernel IR. `parse_kernel` reads what `print_kernel` writes.

The text without comments is the identity of a kernel: it holds no shapes and no names of the
graph. Nests are derived from the loop IR, so only their programs are written. Forms for axes of one
point follow, each after a line `thin` with the axes.
"""
from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from typing import Iterator, List, Optional, Tuple

from tf_autofuse.errors import IRError
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
    Loop,
    Placed,
    Points,
    Program,
    SizeOf,
    Step,
    StepScalar,
    StorePart,
    Sync,
    Thin,
    TileOf,
)
from tf_autofuse.kernel.join import join_nests
from tf_autofuse.kernel.nest import Nest, build_nests
from tf_autofuse.loop.ir import LoopKernel
from tf_autofuse.loop.text import numbered, parse_dims, parse_loop, place_name, print_loop
from tf_autofuse.platforms import PLATFORMS

CODEGEN = 11
"""Raised when printers or tilings change what equal kernel IR becomes: keys must change, too."""


def print_kernel(kernel: Kernel, comments: bool = True) -> str:
    """The kernel as text; `comments` adds the names of the source operators."""
    lines = ["kernel %s codegen %d" % (kernel.platform, CODEGEN)] + _print_form(kernel, comments)
    for thin in kernel.thin:
        lines += ["thin " + " ".join(thin.ones)] + _print_form(thin.kernel, comments)
    return "\n".join(lines) + "\n"


def _print_form(kernel: Kernel, comments: bool) -> List[str]:
    lines = [print_loop(kernel.loop, comments).rstrip()]
    for program in kernel.programs:
        lines.append("program %d %s %s y=%s x=%s {" % (
            program.number, program.template, program.variant, program.y or "-",
            program.x or "-"))
        lines += ["  %s: %s %s %s slot %d" % (b.name, b.position, b.dtype, b.shape, b.slot)
                  for b in program.buffers]
        lines += _print_steps(kernel.loop, program.steps, "  ")
        lines.append("}")
    return lines


def kernel_key(kernel: Kernel) -> str:
    """Digest of the text: 32 hexadecimal digits, equal for structurally equal kernels."""
    return hashlib.sha256(print_kernel(kernel, comments=False).encode()).hexdigest()[:32]


def _print_steps(loop: LoopKernel, steps: Tuple[Step, ...], margin: str) -> List[str]:
    lines: List[str] = []
    for step in steps:
        if isinstance(step, Loop):
            lines.append("%s%s %s{" % (margin, step.kind, "".join(a + " " for a in step.axes)))
            lines += _print_steps(loop, step.body, margin + "  ")
            lines.append(margin + "}")
        else:
            lines.append(margin + _print_step(loop, step))
    return lines


def _print_step(loop: LoopKernel, step: Step) -> str:
    if isinstance(step, CopyIn):
        when = "".join(" %d:%s" % guard for guard in step.when)
        at = " at %s=in%d:%s" % (step.at[:2] + (",".join(step.at.axes),)) if step.at else ""
        return "%s = copy_in %s [%s]%s%s%s" % (
            step.dst, place_name("in", step.input, len(loop.inputs)),
            ", ".join(map(str, step.dims)), " moved" * step.moved, at,
            " when" + when if when else "")
    if isinstance(step, Points):
        return "%s = points %s%s" % (step.dst, step.axis, " counted" * step.counted)
    if isinstance(step, CopyOut):
        return "copy_out %s [%s] %s" % (place_name("out", step.output, len(loop.outputs)),
                                        ", ".join(step.axes), step.src)
    if isinstance(step, LoadPart):
        return "%s = load_part %d [%s]" % (step.dst, step.number, ", ".join(step.axes))
    if isinstance(step, StorePart):
        return "store_part %d [%s] %s" % (step.number, ", ".join(step.axes), step.src)
    if isinstance(step, Sync):
        return "sync"
    if isinstance(step, Broadcast):
        return "%s = broadcast %s" % (step.dst, step.src)
    if isinstance(step, Fill):
        return "%s = fill # %s" % (step.dst, _scalar(step.scalar))
    if isinstance(step, (Accumulate, Finish)):
        word = "accumulate" if isinstance(step, Accumulate) else "finish"
        scratch = " " + step.scratch if isinstance(step, Accumulate) and step.scratch else ""
        blocks = " blocks" if isinstance(step, Finish) and step.blocks else ""
        return "%s = %s.%s %s%s%s" % (step.dst, word, step.op, step.src, scratch, blocks)
    assert isinstance(step, Compute)
    scalar = "" if step.scalar is None else " # " + _scalar(step.scalar)
    return "%s = %s %s%s" % (step.dst, step.op, " ".join(step.srcs), scalar)


def _scalar(scalar: StepScalar) -> str:
    if isinstance(scalar, (SizeOf, TileOf)):
        return ("size " if isinstance(scalar, SizeOf) else "tile ") + " ".join(scalar.axes)
    if isinstance(scalar, EdgeOf):
        return "%s %d %s" % (scalar.end, scalar.number, scalar.axis)
    return repr(scalar)


def parse_kernel(text: str) -> Kernel:
    """Read the text form; IRError names the line that cannot be read."""
    try:
        return _parse_kernel(text)
    except (ValueError, LookupError, RecursionError) as error:
        raise IRError("the text holds no kernel: %s" % error, stage="kernel text") from None


def _parse_kernel(text: str) -> Kernel:
    lines = text.splitlines()
    head = re.match(r"kernel (\w+) codegen \d+$", lines[0] if lines else "")
    if head is None:
        raise IRError("line 1 cannot be read: no kernel", stage="kernel text")
    starts = [at for at, line in enumerate(lines) if line.startswith("thin ")]
    forms = [_parse_form(head.group(1), lines[:last], first + 1)
             for first, last in zip([0] + starts, starts + [len(lines)])]
    thin = [Thin(tuple(lines[at].split()[1:]), form) for at, form in zip(starts, forms[1:])]
    return replace(forms[0], thin=tuple(thin))


def _parse_form(platform: str, lines: List[str], start: int) -> Kernel:
    """The loop kernel and the programs that begin at line `start`, from 0, of `lines`."""
    if "}" not in lines[start:]:
        raise IRError("line %d cannot be read: no kernel" % start, stage="kernel text")
    end = lines.index("}", start) + 1
    loop = parse_loop("\n".join(lines[start:end]))
    chip = PLATFORMS.get(platform)
    nests = _nests(loop, lines[end:], chip is None or chip.has_sync)
    inputs, outputs = len(loop.inputs), len(loop.outputs)
    steps = [numbered("copy_in ", "in", inputs, numbered("copy_out ", "out", outputs, line))
             for line in lines[end:]]
    rows = iter(enumerate(steps, end + 1))
    programs: List[Program] = []
    for number, line in rows:
        if line.strip():
            programs.append(_parse_program(line, number, rows, nests))
    return Kernel(loop, platform, tuple(programs))


def _nests(loop: LoopKernel, lines: List[str], sync: bool) -> Tuple[Nest, ...]:
    """The nests of the programs in `lines`: joined ones, unless there are more programs."""
    plain = build_nests(loop)
    if any(line.startswith("program %d " % (len(plain) - 1)) for line in lines):
        return plain
    return join_nests(loop, plain, sync)


Rows = Iterator[Tuple[int, str]]


def _parse_program(line: str, number: int, rows: Rows, nests: Tuple[Nest, ...]) -> Program:
    m = re.match(r"program (\d+) (\w+) (\w+) y=(\S+) x=(\S+) \{$", line)
    if m is None or int(m.group(1)) >= len(nests):
        _unreadable(number, line)
    assert m is not None
    buffers: List[Buffer] = []
    steps = _parse_steps(rows, buffers)
    index = int(m.group(1))
    return Program(nests[index], index, m.group(2), m.group(3), _axis(m.group(4)),
                   _axis(m.group(5)), tuple(buffers), steps)


def _axis(word: str) -> Optional[str]:
    return None if word == "-" else word


def _parse_steps(rows: Rows, buffers: List[Buffer]) -> Tuple[Step, ...]:
    steps: List[Step] = []
    for number, raw in rows:
        line = raw.strip()
        if line == "}":
            return tuple(steps)
        loop = re.match(r"(block|split|walk|hold|parts|core|strips) (.*)\{$", line)
        buffer = re.match(r"(\w+): (\w+) (\w+) (\w+) slot (\d+)$", line)
        if loop:
            body = _parse_steps(rows, buffers)
            steps.append(Loop(loop.group(1), tuple(loop.group(2).split()), body))
        elif buffer:
            buffers.append(Buffer(buffer.group(1), buffer.group(2), buffer.group(3),
                                  buffer.group(4), int(buffer.group(5))))
        else:
            steps.append(_parse_step(line, number))
    raise IRError("the text ends inside a program", stage="kernel text")


def _parse_load(dst: str, op: str, args: str, line: str, number: int) -> Step:
    load = re.match(
        r"(?:in)?(\d+) \[(.*)\]( moved)?(?: at (\w+)=in(\d+):([\w,]*))?(?: when (.*))?$", args)
    if load is None:
        _unreadable(number, line)
    assert load is not None
    words = _words(load.group(2))
    if op == "load_part":
        return LoadPart(dst, int(load.group(1)), words)
    moved = load.group(3) is not None
    guards = [word.split(":") for word in (load.group(7) or "").split()]
    when = tuple((int(number), axis) for number, axis in guards)
    at = None
    if load.group(4):
        axes = tuple(word for word in load.group(6).split(",") if word)
        at = Placed(load.group(4), int(load.group(5)), axes)
    return CopyIn(dst, int(load.group(1)), parse_dims(load.group(2)), moved, when, at)


def _parse_step(line: str, number: int) -> Step:
    out = re.match(r"(copy_out out|store_part )(\d+) \[(.*)\] (\w+)$", line)
    if out:
        make = CopyOut if out.group(1).startswith("copy") else StorePart
        return make(out.group(4), int(out.group(2)), _words(out.group(3)))
    if line == "sync":
        return Sync()
    m = re.match(r"(\w+) = (\S+)(.*)$", line)
    if m is None:
        _unreadable(number, line)
    assert m is not None
    dst, op = m.group(1), m.group(2)
    args, _, scalar = m.group(3).strip().partition("# ")
    if op in ("copy_in", "load_part"):
        return _parse_load(dst, op, args, line, number)
    value = _parse_scalar(scalar)
    names = tuple(args.split())
    if op == "fill":
        return Fill(dst, value)
    if op == "points":
        return Points(dst, names[0], len(names) > 1)
    if op == "broadcast":
        return Broadcast(dst, names[0])
    kind, _, fold = op.partition(".")
    if kind == "accumulate":
        return Accumulate(fold, dst, names[0], "".join(names[1:]))
    if kind == "finish":
        return Finish(fold, dst, names[0], "blocks" in names[1:])
    return Compute(op, dst, names, value)


def _words(text: str) -> Tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


def _parse_scalar(text: str) -> StepScalar:
    text = text.strip()
    if not text:
        return None
    if text.startswith(("size", "tile")):
        return (SizeOf if text.startswith("size") else TileOf)(tuple(text.split()[1:]))
    if text.startswith(("low ", "high ")):
        end, number, axis = text.split()
        return EdgeOf(int(number), end, axis)
    if text in ("True", "False"):
        return text == "True"
    return int(text) if re.match(r"-?\d+$", text) else float(text)


def _unreadable(number: int, line: str) -> None:
    raise IRError("line %d cannot be read: %.200s" % (number, line), stage="kernel text")
