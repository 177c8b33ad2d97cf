"""Numbers with units, for people."""

from __future__ import annotations

_BYTES = ("B", "KiB", "MiB", "GiB", "TiB")
_TIMES = (("ns", 1e3), ("\u00b5s", 1e3), ("ms", 1e3))


def byte_text(size: float) -> str:
    """A byte count with a unit: 1536 -> 1.5 KiB."""
    for unit in _BYTES[:-1]:
        if abs(size) < 1024:
            return "{:.4g} {}".format(size, unit)
        size /= 1024
    return "{:.4g} {}".format(size, _BYTES[-1])


def time_text(nanos: float) -> str:
    """Nanoseconds with a unit: 1500 -> 1.5 us (with the Greek letter)."""
    for unit, step in _TIMES:
        if abs(nanos) < step:
            return "{:.3g} {}".format(nanos, unit)
        nanos /= step
    return "{:.3g} s".format(nanos)


def count_text(number: int) -> str:
    """A whole number with separators: 12345 -> 12,345."""
    return "{:,}".format(number)
