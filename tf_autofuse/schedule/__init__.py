"""From the loop IR to the kernel IR."""
from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Dict, Iterator, List, Sequence, Tuple, Union

from tf_autofuse.errors import ScheduleError
from tf_autofuse.kernel.ir import Compute, Kernel, Program, Thin, walk_steps
from tf_autofuse.kernel.join import join_nests
from tf_autofuse.kernel.moved import moved_bytes
from tf_autofuse.kernel.nest import Nest, build_nests, misfit
from tf_autofuse.kernel.stage import staged
from tf_autofuse.loop.ir import PARTS, LoopKernel, renamed
from tf_autofuse.loop.sequence import in_demand_order
from tf_autofuse.loop.thin import without_axes
from tf_autofuse.platforms import Platform
from tf_autofuse.platforms import platform as find_platform
from tf_autofuse.schedule.expand import MEMORY
from tf_autofuse.schedule.program import build_program, variants_of
from tf_autofuse.tiling import check_fits, fits

MAX_NESTS = 4
"""Loop nests that the tiling of one kernel can choose variants for."""
MAX_KEYS = 12
"""Most combinations of the variants of all nests: each is a tiling key, compiled on its own."""
MAX_THIN = 4
"""Most forms of a kernel for axes of one point."""
MAX_ONES = 3
"""Most axes of one point that a form is for."""
THIN_SIZE = 1024
"""What the other axes count where bytes of such a form are compared."""
THIN_GAIN = 1.02
"""How many times the bytes of such a form others must move to make it worth its text."""


def schedule(loop: LoopKernel, platform: Union[str, Platform] = "Ascend910B") -> Kernel:
    """Schedule a merged loop kernel for a chip (its name or row).

    Values are renamed to their numbers, so that equal structures give equal kernels. Raises
    ScheduleError, naming the value, when the chip or the templates cannot do it.
    """
    chip = find_platform(platform) if isinstance(platform, str) else platform
    return _with_thin(loop, _plain(loop, chip), chip)


def _with_thin(loop: LoopKernel, kernel: Kernel, chip: Platform) -> Kernel:
    """`kernel` with forms for axes of one point that move less there: what lies along other axes
    otherwise may then be found in the same walk. A kernel of one nest reads everything once."""
    if len(kernel.nests) < 2:
        return kernel
    for ones in _axis_sets(loop.axes):
        thin = without_axes(loop, set(ones))
        if thin is None or len(kernel.thin) == MAX_THIN:
            continue
        sizes = {axis: 1 if axis in ones else THIN_SIZE for axis in loop.axes}
        try:
            if _gains(kernel.at(sizes), thin, chip, dict(sizes, **{PARTS: 1})):
                found = Thin(ones, _plain(thin, chip))
                kernel = replace(kernel, thin=kernel.thin + (found,))
        except ScheduleError:
            continue  # the other forms run for all sizes
    return kernel


def _axis_sets(axes: Sequence[str]) -> Iterator[Tuple[str, ...]]:
    """Sets of `axes` that leave some, smaller ones first."""
    return itertools.chain.from_iterable(
        itertools.combinations(axes, count) for count in range(1, min(len(axes), MAX_ONES + 1)))


def _gains(kernel: Kernel, thin: LoopKernel, chip: Platform, sizes: Dict[str, int]) -> bool:
    """Whether the nests of `thin` move less than those of `kernel`, workspace included."""
    loop = staged(thin) if chip.has_sync else thin
    least = moved_bytes(loop, join_nests(loop, build_nests(loop), chip.has_sync), sizes, True)
    return moved_bytes(kernel.loop, kernel.nests, sizes, True) > THIN_GAIN * least


def _plain(loop: LoopKernel, chip: Platform) -> Kernel:
    """The kernel that runs for all sizes, with its values in the order they come in, or else, where
    UB has no room for all that waits then, in the order in which the outputs need them."""
    loop = number_values(staged(loop) if chip.has_sync else loop)
    try:
        return _scheduled(loop, chip)
    except ScheduleError as error:
        again = in_demand_order(loop)
        if error.node or again == loop:
            raise
    return _scheduled(number_values(again), chip)


def _scheduled(loop: LoopKernel, chip: Platform) -> Kernel:
    """The kernel of values in a given order; errors name operators in the place of values."""
    try:
        return _joined(loop, chip)
    except ScheduleError as error:
        origins = [v.origin for v in loop.body if v.name == error.node and v.origin]
        if not origins:
            raise
        raise ScheduleError(error.message, node=origins[0], stage=error.stage) from None


def _joined(loop: LoopKernel, chip: Platform) -> Kernel:
    """The kernel with joined nests, if UB has room for these."""
    plain = build_nests(loop)
    joined = join_nests(loop, plain, chip.has_sync)
    try:
        return _kernel(loop, joined, chip)
    except ScheduleError:
        if joined == plain:
            raise
    return _kernel(loop, plain, chip)


def _kernel(loop: LoopKernel, nests: Tuple[Nest, ...], chip: Platform) -> Kernel:
    kernel = Kernel(loop, chip.name, _programs(loop, nests, chip))
    check_fits(kernel)
    return kernel


def _programs(loop: LoopKernel, nests: Tuple[Nest, ...], chip: Platform) -> Tuple[Program, ...]:
    if len(nests) > MAX_NESTS:
        raise ScheduleError("%d loop nests, at most %d in one kernel" % (len(nests), MAX_NESTS),
                            stage="schedule")
    for param in loop.sources + loop.targets:
        if MEMORY.get(param.dtype, "") not in chip.dtypes | {""}:
            raise ScheduleError("no vector form of %s on %s" % (param.dtype, chip.name),
                                node=param.name,
                                stage="schedule")
    for found in (misfit(loop, nest) for nest in nests):
        if found is not None:
            raise ScheduleError(found.message, node=found.node, stage="schedule")
    variants = [variants_of(nest, chip.has_sync) for nest in nests]
    while _count(variants) > MAX_KEYS:
        longest = max(range(len(variants)), key=lambda i: len(variants[i]))
        variants[longest] = variants[longest][:-1]
    programs: List[Program] = []
    for number, (nest, names) in enumerate(zip(nests, variants)):
        programs.append(build_program(loop, nest, number, names[0], chip.lacks))
        _check_instructions(programs[-1], chip)
        for name in names[1:]:
            try:
                program = build_program(loop, nest, number, name, chip.lacks)
            except ScheduleError:
                continue  # the first program runs for all sizes
            programs += [program] if fits(program, chip) else []
    return tuple(programs)


def _check_instructions(program: Program, chip: Platform) -> None:
    for step in walk_steps(program.steps):
        if not isinstance(step, Compute):
            continue
        on = "%s %s" % (step.op, program.buffer(step.srcs[-1]).dtype)
        names = {step.op, on, "%s %s" % (on, program.buffer(step.dst).dtype)} & chip.lacks
        if names:
            raise ScheduleError("no vector form of %s on %s" % (max(names), chip.name),
                                node=program.buffer(step.dst).origin, stage="schedule")


def _count(variants: Sequence[Sequence[str]]) -> int:
    count = 1
    for names in variants:
        count *= len(names)
    return count


def number_values(loop: LoopKernel) -> LoopKernel:
    """The kernel with value number k called `k`."""
    names = {value.name: str(number) for number, value in enumerate(loop.body)}
    body = [renamed(value, names) for value in loop.body]
    stores = tuple(replace(store, value=names[store.value]) for store in loop.stores)
    return replace(loop, body=tuple(body), stores=stores)
