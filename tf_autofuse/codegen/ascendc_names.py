"""C++ names of the buffers of a program."""
from __future__ import annotations

import re
from typing import Dict

from tf_autofuse.kernel.ir import (
    Accumulate,
    Broadcast,
    Buffer,
    Compute,
    CopyIn,
    CopyOut,
    Finish,
    Kernel,
    LoadPart,
    Program,
    StorePart,
    walk_steps,
    written,
)
from tf_autofuse.loop.text import place_name

_LONGEST_NAME = 24


def buffer_names(kernel: Kernel, program: Program) -> Dict[str, str]:
    """A name for each buffer of `program`, after operators of the graph where these are known."""
    made = _made_by(kernel, program)
    return {b.name: _pretty(b, made.get(b.name, "scratch")) for b in program.buffers}


def _made_by(kernel: Kernel, program: Program) -> Dict[str, str]:
    """For each buffer a word for the step that fills it, or for where it goes."""
    words: Dict[str, str] = {}
    inputs, outputs = len(kernel.loop.inputs), len(kernel.loop.outputs)
    for step in walk_steps(program.steps):
        if isinstance(step, CopyOut):
            words[step.src] = place_name("out", step.output, outputs)
        elif isinstance(step, StorePart):
            words[step.src] = "part"
        name = written(step)
        if name is None:
            continue
        if isinstance(step, CopyIn):
            word = place_name("in", step.input, inputs)
        elif isinstance(step, LoadPart):
            word = "part"
        elif isinstance(step, (Compute, Finish, Accumulate)):
            word = step.op
        else:
            word = "wide" if isinstance(step, Broadcast) else "fill"
        # What instructions write again and again is carried from tile to tile.
        words[name] = "carried" if isinstance(step, Compute) and name in words else word
    return words


def _pretty(buffer: Buffer, word: str) -> str:
    """A C++ name that tells where the buffer comes from; the number keeps it apart."""
    number = buffer.name.rsplit("_b", 1)[1]
    origin = re.sub(r"\W", "", buffer.origin.rsplit("/", 1)[-1])[:_LONGEST_NAME].strip("_")
    if origin and origin[0].isalpha() and buffer.position in ("VECCALC", "VECOUT"):
        word = origin[0].lower() + origin[1:]
    return word + "_" + number
