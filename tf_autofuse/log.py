"""Loggers under the name ``tf_autofuse`` and warnings that are said once."""

from __future__ import annotations

import logging
import sys
from typing import Hashable, Set

from tf_autofuse.locks import ForkLock

ROOT_NAME = "tf_autofuse"

_said: Set[Hashable] = set()
_lock = ForkLock()


class _StderrHandler(logging.StreamHandler):
    """Writes to whatever ``sys.stderr`` is at that moment, so that redirection works."""

    def __init__(self) -> None:
        logging.Handler.__init__(self, logging.WARNING)
        self.setFormatter(logging.Formatter("[%(name)s] %(levelname)s: %(message)s"))

    @property
    def stream(self):
        return sys.stderr


def get_logger(name: str = "") -> logging.Logger:
    """The logger ``tf_autofuse`` or ``tf_autofuse.<name>``; a module's ``__name__`` works too.

    Warnings reach stderr even when the application sets up no logging of its own; an application
    that does (handlers on the root logger) gets the records through its handlers only.
    """
    root = logging.getLogger(ROOT_NAME)
    with _lock:
        if not root.handlers:
            handler = _StderrHandler()
            handler.addFilter(lambda record: not logging.getLogger().handlers)
            root.addHandler(handler)
    if not name or name == ROOT_NAME:
        return root
    if name.startswith(ROOT_NAME + "."):
        return logging.getLogger(name)
    return logging.getLogger("{}.{}".format(ROOT_NAME, name))


def warn_once(key: Hashable, msg: str, name: str = "") -> bool:
    """Log `msg` as a warning unless one with the same `key` was logged; True when it was."""
    with _lock:
        if key in _said:
            return False
        _said.add(key)
    get_logger(name).warning("%s", msg)
    return True


def forget_warnings() -> None:
    """Let every `warn_once` speak again (a new `enable` starts afresh)."""
    with _lock:
        _said.clear()
