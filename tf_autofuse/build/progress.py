"""A line on the terminal while kernels build; nothing when stderr is no terminal."""

from __future__ import annotations

import sys
import time

from ..locks import ForkLock

_QUIET_SECONDS = 0.5  # what is faster needs no progress


class Progress:
    """Counts kernels; `step` may be called from any thread. The line is shown between `begin`, when
    somebody waits for `total` kernels, and `end`, which wipes it."""

    def __init__(self) -> None:
        self._total = 0
        self._done = 0
        self._start = 0.0
        self._shown = False
        self._lock = ForkLock()

    def begin(self, total: int) -> None:
        """Show from now on how many of `total` are there."""
        with self._lock:
            self._total = total if sys.stderr.isatty() else 0
            self._start = time.monotonic()

    def step(self) -> None:
        """One kernel more is there."""
        with self._lock:
            self._done += 1
            if self._total and time.monotonic() - self._start > _QUIET_SECONDS:
                text = "\rtf-autofuse: building kernels {}/{}".format(self._done, self._total)
                sys.stderr.write(text)
                sys.stderr.flush()
                self._shown = True

    def end(self) -> None:
        """Wipe the line, if there was one."""
        with self._lock:
            self._total = 0
            if self._shown:
                sys.stderr.write("\r\033[K")
                sys.stderr.flush()
