"""Ctrl-C on a thread to which Python delivers no signals.

Python raises KeyboardInterrupt in its main thread only. TensorFlow may optimize a graph on a thread
of its own while the main thread waits for it; what takes long there asks `check` now and then.
"""

from __future__ import annotations

import contextlib
import threading
from typing import Callable, Iterator

_local = threading.local()


@contextlib.contextmanager
def asking(interrupted: Callable[[], bool]) -> Iterator[None]:
    """Let `check` ask `interrupted` on this thread, inside."""
    before = getattr(_local, "interrupted", None)
    _local.interrupted = interrupted
    try:
        yield
    finally:
        _local.interrupted = before


def check() -> None:
    """KeyboardInterrupt when the user pressed Ctrl-C and this thread will not hear of it else."""
    interrupted = getattr(_local, "interrupted", None)
    if interrupted is not None and interrupted():
        raise KeyboardInterrupt
