"""Locks that a forked child finds free: who held one in the parent does not live in the child."""

from __future__ import annotations

import os
import threading
import weakref
from typing import Any


class ForkLock:
    """A lock for ``with``; reentrant on request."""

    def __init__(self, reentrant: bool = False) -> None:
        self._make = threading.RLock if reentrant else threading.Lock
        self._lock: Any = self._make()
        _all.add(self)

    def __enter__(self) -> "ForkLock":
        self._lock.acquire()
        return self

    def __exit__(self, *_: Any) -> None:
        self._lock.release()

    def renew(self) -> None:
        """Forget who holds it."""
        self._lock = self._make()


_all: "weakref.WeakSet[ForkLock]" = weakref.WeakSet()


def _renew_all() -> None:
    for lock in list(_all):
        lock.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_all)
