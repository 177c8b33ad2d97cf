"""Probe kernels of `tiling.calibrate`: chains of one operation, and kernels that mostly copy.

Two kernels that differ in their length only differ in time by what is in the one and not in the
other; starting the kernel and the copies at its ends cancel.
"""
from __future__ import annotations

from typing import Dict, List, Optional, Tuple

from tf_autofuse.kernel.ir import Compute, Fill, Kernel, walk_steps
from tf_autofuse.loop.ir import LoopKernel
from tf_autofuse.loop.ops import MAP_OPS
from tf_autofuse.loop.text import parse_loop
from tf_autofuse.platforms import Platform
from tf_autofuse.tiling import form
from tf_autofuse.tiling.cpp import packed
from tf_autofuse.tiling.model import NestTiling, fits_ub, up

DTYPES = ("float32", "float16")
START = 0.5
"""Every input element and constant: from here each chain stays finite and away from denormals."""

# Operations of one link: x is the value before, y the second input, c a constant. A negation keeps
# exp from growing; max is the shortest form that compares and selects.
LINKS: Dict[str, str] = {
    "adds": "add x c", "abs": "abs x", "add": "add x y", "exp": "neg x; exp x", "sqrt": "sqrt x",
    "div": "div y x", "lt": "max x y", "select": "max x y", "cast": "cast x; cast x",
    "tanh": "tanh x", "erf": "erf x",
}  # fmt: skip
COPIES = ("load", "store")
MEASURED = tuple(LINKS) + COPIES
_HEAVY = ("tanh", "erf")


def lengths(probe: str) -> Tuple[int, int]:
    """Links, or tensors that are copied, of the short and of the long kernel of a probe.

    The vector unit has one instruction for each copy, which is shorter and done meanwhile; only
    that for the last load or the first store is waited for, in both kernels.
    """
    if probe in COPIES:
        return 2, 5
    return 1, 17 if probe in _HEAVY else 65


def possible(probe: str, dtype: str) -> bool:
    """Whether kernels compute this in `dtype`; most arithmetic on float16 goes by float32."""
    operations = LINKS.get(probe, "add x y").split("; ")
    return all(dtype in MAP_OPS[operation.split()[0]].dtypes for operation in operations)


def probe_loop(probe: str, dtype: str, length: int) -> LoopKernel:
    """The kernel of `length` links or copies over one axis."""
    if probe == "load":
        return _loop(dtype, length, ["add x i%d" % i for i in range(1, length)], 1)
    if probe == "store":
        return _loop(dtype, 1, ["abs x"], length)
    links = LINKS[probe].split("; ") * length
    return _loop(dtype, 2 if " y" in LINKS[probe] else 1, links, 1)


def _loop(dtype: str, inputs: int, operations: List[str], outputs: int) -> LoopKernel:
    """The operations in a chain, whose last value goes to all outputs."""
    lines = ["in%d: %s" % (i, dtype) for i in range(inputs)]
    lines += ["out%d: %s" % (i, dtype) for i in range(outputs)] + ["axes a0"]
    lines += ["%%i%d = load in%d [a0] : %s" % (i, i, dtype) for i in range(inputs)]
    lines.append("%%c = const %r : %s" % (START, dtype))
    names, kind = ["i0"], dtype
    for number, operation in enumerate(operations):
        op, operands = operation.split()[0], operation.split()[1:]
        if op == "cast":
            kind = DTYPES[1 - DTYPES.index(kind)]
        known = {"x": names[-1], "y": "i1"}
        words = " ".join("%" + known.get(name, name) for name in operands)
        names.append("v%d" % number)
        lines.append("%%%s = %s %s : %s [a0]" % (names[-1], op, words, kind))
    lines += ["store out%d [a0] %%%s" % (i, names[-1]) for i in range(outputs)]
    return parse_loop("\n".join(["loop {"] + lines + ["}"]))


def elements(probe: str, dtype: str, nbytes: int) -> int:
    """Elements of a probe on `nbytes` bytes. Half of the casts give 4 bytes an element, half 2."""
    if probe == "cast":
        return nbytes // 3 // 16 * 16
    return nbytes // (2 if dtype == "float16" else 4)


def classes(kernel: Kernel, chip: Platform) -> Dict[str, int]:
    """Vector instructions of a chain by their cost class."""
    found: Dict[str, int] = {}
    for step in walk_steps(kernel.programs[0].steps):
        if isinstance(step, (Compute, Fill)):
            name = chip.cost_class(step.op if isinstance(step, Compute) else "fill")
            found[name] = found.get(name, 0) + 1
    return found


def one_tile(kernel: Kernel, chip: Platform, count: int) -> Optional[bytes]:
    """The tiling structure with which one core does `count` elements in one tile, so that every
    instruction runs once; None when that does not fit UB."""
    axis = kernel.loop.axes[0]
    shape = form(kernel.programs[0], chip)
    if not fits_ub(shape, shape.weights(1), 1, count, chip.ub_bytes):
        return None
    tile = NestTiling(1, count, up(count, shape.pitch), 1, 1, 1, 0, 0)
    return packed(kernel, {axis: count}, None, [tile], 1).data
