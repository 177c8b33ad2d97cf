"""Text form of the loop IR: `print_loop` and `parse_loop` are inverse to each other."""
from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, Callable, Dict, List, Tuple

from tf_autofuse.errors import IRError
from tf_autofuse.loop.ir import (
    PARTS,
    Const,
    Count,
    Dim,
    Index,
    Inside,
    Load,
    LoopKernel,
    Map,
    Param,
    Place,
    Reduce,
    Scalar,
    Store,
    Value,
    print_dims,
)
from tf_autofuse.loop.windows import parse_windows


def print_loop(kernel: LoopKernel, comments: bool = False) -> str:
    """The kernel as text; with `comments` each line names the operator it came from."""
    lines = ["loop {"]
    lines += ["  %s: %s" % (p.name, p.dtype) for p in kernel.inputs + kernel.outputs + kernel.temps]
    lines.append(("  axes " + " ".join(kernel.axes)).rstrip())
    lines += ["  fixed %s=%d" % item for item in kernel.fixed]
    lines += ["  interval %d|%d" % item for item in kernel.intervals]
    lines += ["  same in%d in%d" % item for item in kernel.repeats]
    for value in kernel.body:
        note = "  # " + value.origin if comments and value.origin else ""
        lines.append("  %%%s = %s%s" % (value.name, _print_value(value, kernel), note))
    for store in kernel.stores:
        stage = " stage %d" % store.stage if store.stage else ""
        lines.append("  store %s %s %%%s%s" % (
            place_name("out", store.output, len(kernel.outputs)), print_dims(store.dims),
            store.value, stage))
    return "\n".join(lines + ["}"]) + "\n"


def place_name(word: str, number: int, count: int) -> str:
    """What text calls input or output (`word`) `number` of `count`; temporaries, which are numbered
    behind the inputs where they are read and the outputs where written, count from 0."""
    return "%s%d" % ((word, number) if number < count else ("temp", number - count))


def _print_value(value: Value, kernel: LoopKernel) -> str:
    if isinstance(value, Load):
        moved = " moved" if value.moved else ""
        moved += " at " + " ".join("%s=%%%s" % pair for pair in value.at) if value.at else ""
        moved += " when " + " ".join("%" + name for name in value.when) if value.when else ""
        return "load %s %s%s : %s" % (place_name("in", value.input, len(kernel.inputs)),
                                      print_dims(value.dims), moved, value.dtype)
    if isinstance(value, Const):
        return "const %r : %s" % (value.value, value.dtype)
    if isinstance(value, Count):
        return "count %s : %s" % (" ".join(value.over), value.dtype)
    if isinstance(value, Index):
        return "index %s : %s" % (value.axes[0], value.dtype)
    if isinstance(value, Inside):
        return "inside %d %s : %s" % (value.number, value.axes[0], value.dtype)
    if isinstance(value, Place):
        return "place %%%s in %s : %s [%s]" % (
            value.operand, value.axis, value.dtype, ", ".join(value.axes))
    assert isinstance(value, (Map, Reduce))
    args = " ".join("%" + name for name in value.args)
    over = " over " + " ".join(value.over) if isinstance(value, Reduce) else ""
    if isinstance(value, Reduce) and value.counted:
        over += " counted " + " ".join(value.counted)
    kind = "reduce." + value.op if isinstance(value, Reduce) else value.op
    return "%s %s%s : %s [%s]" % (kind, args, over, value.dtype, ", ".join(value.axes))


_MAX_LINE = 20000  # characters; the time of a match may grow with their square


def parse_loop(text: str) -> LoopKernel:
    """Read what `print_loop` wrote; IRError names the line that cannot be read."""
    inputs: List[Param] = []
    outputs: List[Param] = []
    temps: List[Param] = []
    axes: Tuple[str, ...] = ()
    fixed: List[Tuple[str, int]] = []
    intervals: List[Tuple[int, int]] = []
    repeats: List[Tuple[int, int]] = []
    body: List[Value] = []
    stores: List[Store] = []
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.split("  #")[0].strip()
        if len(line) > _MAX_LINE:
            raise IRError("line %d is too long" % number, stage="loop text")
        if line in ("", "loop {", "}"):
            continue
        param = re.match(r"(in|out|temp)\d+: (\w+)$", line)
        if param:
            places = {"in": inputs, "out": outputs, "temp": temps}
            places[param.group(1)].append(Param(line.split(":")[0], param.group(2)))
        elif line.startswith("axes"):
            axes = tuple(line.split()[1:])
        elif line.startswith("fixed "):
            fixed.append(_guarded(_parse_fixed, line, number))
        elif line.startswith("interval "):
            intervals.append(_guarded(_parse_interval, line, number))
        elif line.startswith("same "):
            repeats.append(_guarded(_parse_repeat, line, number))
        elif line.startswith("store "):
            line = numbered("store ", "out", len(outputs), line)
            stores.append(_guarded(_parse_store, line, number))
        else:
            line = numbered(" load ", "in", len(inputs), line)
            body.append(_in_order(_guarded(_parse_value, line, number), axes, body))
    return LoopKernel(
        tuple(inputs), tuple(outputs), axes, tuple(body), tuple(stores), tuple(fixed),
        tuple(intervals), tuple(temps), tuple(repeats),
    )


def numbered(before: str, word: str, count: int, line: str) -> str:
    """A line that names a temporary, with its number among the inputs or outputs."""
    found = re.search(before + r"temp(\d{1,4}) ", line)
    if not found:
        return line
    return line.replace(found.group().strip(),
                        "%s%s%d" % (before.lstrip(), word, count + int(found.group(1))), 1)


def _guarded(parse: Callable, line: str, number: int) -> Any:
    """A line that has the form, but no operand or a number that is none, cannot be read either."""
    try:
        return parse(line, number)
    except (ValueError, IndexError, OverflowError):
        raise _unreadable(line, number) from None


def _unreadable(line: str, number: int) -> IRError:
    return IRError("line %d cannot be read: %.200s" % (number, line), stage="loop text")


def _match(pattern: str, line: str, number: int):
    match = re.match(pattern + "$", line)
    if match is None:
        raise _unreadable(line, number)
    return match


def _in_order(value: Value, axes: Tuple[str, ...], before: List[Value]) -> Value:
    """A load with the domain that its dims and what guards it give, in kernel order."""
    if not isinstance(value, Load) or not (value.moved or value.when or PARTS in value.axes):
        return value
    found = set(value.walked).union(*[v.axes for v in before if v.name in value.args])
    return replace(value, axes=tuple(axis for axis in axes if axis in found))


def parse_dims(text: str) -> Tuple[Dim, ...]:
    """Read dims separated by commas; IRError names the one that cannot be read."""
    dims: List[Dim] = []
    for text_of_dim in text.split(",") if text.strip() else []:
        for number, word in enumerate(text_of_dim.strip().split("*")):
            dims.append(_parse_dim(word, number > 0))
    return tuple(dims)


def _parse_fixed(line: str, number: int) -> Tuple[str, int]:
    axis, _, size = line[len("fixed "):].partition("=")
    return axis, int(size)


def _parse_interval(line: str, number: int) -> Tuple[int, int]:
    before, _, behind = line[len("interval "):].partition("|")
    return int(before), int(behind)


def _parse_repeat(line: str, number: int) -> Tuple[int, int]:
    m = _match(r"same in(\d+) in(\d+)", line, number)
    return int(m.group(1)), int(m.group(2))


def _parse_dim(word: str, joined: bool) -> Dim:
    m = re.match(r"(\w+|-)((?:\[[^\]]*\])*)([?!]?)(~?)$", word)
    if m is None:
        raise IRError("dim %r cannot be read" % word, stage="loop text")
    axis = None if m.group(1) == "-" else m.group(1)
    return Dim(axis, bool(m.group(3)), joined, parse_windows(m.group(2)), bool(m.group(4)),
               m.group(3) == "!")


def _parse_store(line: str, number: int) -> Store:
    m = _match(r"store out(\d+) \[(.*)\] %(\w+)(?: stage (\d+))?", line, number)
    return Store(int(m.group(1)), m.group(3), parse_dims(m.group(2)), int(m.group(4) or 0))


def _parse_value(line: str, number: int) -> Value:
    m = _match(r"%(\w+) = (\S+) (.*?)\s*: (\w+)(?: \[(.*)\])?", line, number)
    name, kind, rest, dtype = m.group(1), m.group(2), m.group(3), m.group(4)
    axes = tuple(a.strip() for a in (m.group(5) or "").split(",") if a.strip())
    if kind == "load":
        load = _match(r"in(\d+) \[(.*?)\]( moved)?(?: at (.*?))?(?: when (.*))?", rest, number)
        dims = parse_dims(load.group(2))
        domain = tuple(d.axis for d in dims if d.axis)
        moved = load.group(3) is not None
        pairs = [word.partition("=%") for word in (load.group(4) or "").split()]
        at = tuple((axis, place) for axis, _, place in pairs)
        when = tuple(word.lstrip("%") for word in (load.group(5) or "").split())
        return Load(name, dtype, domain, input=int(load.group(1)), dims=dims, moved=moved,
                    when=when, at=at)
    if kind == "place":
        source, _, axis = rest.partition(" in ")
        return Place(name, dtype, axes, operand=source.lstrip("%"), axis=axis)
    if kind == "inside":
        interval, _, axis = rest.partition(" ")
        return Inside(name, dtype, (axis,), number=int(interval))
    if kind == "count":
        return Count(name, dtype, (), over=tuple(rest.split()))
    if kind == "index":
        return Index(name, dtype, (rest,))
    if kind == "const":
        return Const(name, dtype, (), value=_parse_scalar(rest))
    args, _, over = rest.partition(" over ")
    names = tuple(word.lstrip("%") for word in args.split())
    if kind.startswith("reduce."):
        over, _, counted = over.partition(" counted ")
        return Reduce(name, dtype, axes, op=kind[7:], operand=names[0], over=tuple(over.split()),
                      counted=tuple(counted.split()))
    return Map(name, dtype, axes, op=kind, operands=names)


def _parse_scalar(text: str) -> Scalar:
    named: Dict[str, Scalar] = {"True": True, "False": False}
    if text in named:
        return named[text]
    return int(text) if re.match(r"-?\d+$", text) else float(text)
