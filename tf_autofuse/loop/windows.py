"""Windows: how the coordinates of a part of a dim follow from those of the whole.

    [1:-1:2]  what Python's slice takes       [1of3]  the second of three equal parts
    [2+3]     three elements from the second  [2+]    all from the second on
    [-1]      the last one alone              [1|2]   one element more before, two more behind

Windows stand behind each other, each one in the coordinates that the one before gives: `[::2][1:]`.
A `Walk` is what windows make of a dim of known size; csrc/core/windows.h does the same in C++.
"""
from __future__ import annotations

import re
from typing import Iterable, NamedTuple, Optional, Tuple


class Window(NamedTuple):
    """`kind`: slice (first, last, step), part (number, of), from (first, count), pick (which) or
    pad (before, behind)."""

    kind: str
    first: Optional[int] = None
    last: Optional[int] = None
    step: int = 1

    def __str__(self) -> str:
        first, last = ("" if n is None else str(n) for n in (self.first, self.last))
        body = {
            "slice": "%s:%s:%d" % (first, last, self.step), "part": "%sof%s" % (first, last),
            "from": "%s+%s" % (first, last), "pick": first, "pad": "%s|%s" % (first, last),
        }
        return "[%s]" % body[self.kind]


class Walk(NamedTuple):
    """Coordinate i of the part is `start + step * i` of the dim, for i below `size`.

    Where the part is larger than the dim, only the coordinates from `low` up to `high` are in it.
    """

    size: int
    start: int = 0
    step: int = 1
    low: int = 0
    high: Optional[int] = None

    @property
    def inside(self) -> Tuple[int, int]:
        """First coordinate in the dim and the one behind the last."""
        high = self.size if self.high is None else self.high
        return min(self.low, self.size), max(min(high, self.size), 0)


def walk(size: int, windows: Iterable[Window]) -> Walk:
    """What `windows` make of a dim of `size`; ValueError when one does not fit."""
    found = Walk(size)
    for window in windows:
        found = narrow(found, window)
    return found


def narrow(at: Walk, window: Window) -> Walk:
    """The walk with one window more; ValueError when it does not fit."""
    return _STEPS[window.kind](at, window)


def _slice(at: Walk, window: Window) -> Walk:
    first, last, step = slice(window.first, window.last, window.step).indices(at.size)
    return _every(at, first, len(range(first, last, step)), step)


def _part(at: Walk, window: Window) -> Walk:
    number, of = int(window.first or 0), int(window.last or 1)
    if at.size % of:
        raise ValueError("%d cannot be split into %d parts" % (at.size, of))
    return _every(at, number * (at.size // of), at.size // of, 1)


def _from(at: Walk, window: Window) -> Walk:
    first = int(window.first or 0)
    count = at.size - first if window.last is None else window.last
    if not 0 <= first <= first + count <= at.size:
        raise ValueError("%d elements from %d on of %d" % (count, first, at.size))
    return _every(at, first, count, 1)


def _pick(at: Walk, window: Window) -> Walk:
    which = int(window.first or 0)
    if not -at.size <= which < at.size:
        raise ValueError("element %d of %d" % (which, at.size))
    return _every(at, which % at.size, 1, 1)


def _pad(at: Walk, window: Window) -> Walk:
    before, behind = int(window.first or 0), int(window.last or 0)
    low, high = at.inside
    return Walk(at.size + before + behind, at.start - before * at.step, at.step, low + before,
                high + before)


def _every(at: Walk, first: int, count: int, step: int) -> Walk:
    """`count` coordinates of `at` from `first` on, `step` apart."""
    start = at.start + at.step * first
    if at.high is None:
        return Walk(count, start, at.step * step)
    low, high = at.inside
    if step > 0:
        low, high = _ceil(low - first, step), _ceil(high - first, step)
    else:
        low, high = (first - high) // -step + 1, (first - low) // -step + 1
    return Walk(count, start, at.step * step, max(low, 0), high)


def _ceil(a: int, b: int) -> int:
    return -(-a // b)


_STEPS = {"slice": _slice, "part": _part, "from": _from, "pick": _pick, "pad": _pad}

_FORMS = (
    ("slice", r"(-?\d+)?:(-?\d+)?:(-?\d+)"),
    ("part", r"(\d+)of(\d+)"),
    ("from", r"(\d+)\+(\d+)?"),
    ("pad", r"(\d+)\|(\d+)"),
    ("pick", r"(-?\d+)"),
)


def parse_windows(text: str) -> Tuple[Window, ...]:
    """Read windows as they print; ValueError for anything else."""
    if not re.match(r"(\[[^\[\]]*\])*$", text):
        raise ValueError("windows %r" % text)
    return tuple(_parse(body) for body in re.findall(r"\[([^\[\]]*)\]", text))


def _parse(body: str) -> Window:
    for kind, form in _FORMS:
        found = re.match(form + "$", body)
        if found:
            numbers = [None if word is None else int(word) for word in found.groups()]
            first, last, step = (numbers + [None] * 3)[:3]
            return Window(kind, first, last, 1 if step is None else step)
    raise ValueError("window [%s]" % body)


def unit_step(windows: Iterable[Window]) -> bool:
    """Whether neighbours in the part are neighbours in the dim."""
    step = 1
    for window in windows:
        step *= window.step
    return step == 1
