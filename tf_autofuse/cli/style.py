"""Tables and colours for a terminal; plain text for everything else."""

from __future__ import annotations

import os
import sys
import unicodedata
from typing import List, Sequence

_CODES = {"red": "31", "green": "32", "yellow": "33", "bold": "1", "quiet": "2"}


def coloured() -> bool:
    """Whether stdout takes colours: a terminal, and NO_COLOR is not set."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return sys.stdout.isatty()


def paint(text: str, colour: str) -> str:
    """`text` in a colour of the terminal, or as it is."""
    return "\033[{}m{}\033[0m".format(_CODES[colour], text) if coloured() else text


def table(rows: Sequence[Sequence[str]]) -> List[str]:
    """Lines of a table: the first column left, the others right; the first row is the heading."""
    widths = [max(_width(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [row[0] + " " * (widths[0] - _width(row[0]))]
        cells += [" " * (w - _width(cell)) + cell for cell, w in zip(row[1:], widths[1:])]
        lines.append("  ".join(cells).rstrip())
    return [paint(lines[0], "bold")] + lines[1:]


def _width(text: str) -> int:
    """Columns of a terminal that a text takes; Chinese letters take two."""
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)
