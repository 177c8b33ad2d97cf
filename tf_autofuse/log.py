"""Loggers under the name ``tf_autofuse`` and warnings that are said once.

Warnings are shown, unless TensorFlow's logger (``tf.get_logger().setLevel``) is set to less;
AUTOFUSE_LOG_LEVEL (debug, info, warning, error) says otherwise.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from typing import Hashable, Set

from tf_autofuse.locks import ForkLock

ROOT_NAME = "tf_autofuse"

_LEVELS = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}

_said: Set[Hashable] = set()
_lock = ForkLock()
_asked = threading.local()


class _StderrHandler(logging.StreamHandler):
    """Writes to whatever ``sys.stderr`` is at that moment, so that redirection works."""

    def __init__(self) -> None:
        logging.Handler.__init__(self, logging.NOTSET)
        self.setFormatter(logging.Formatter("[%(name)s] %(levelname)s: %(message)s"))

    @property
    def stream(self):
        return sys.stderr


def _is_wanted(record: logging.LogRecord) -> bool:
    """Not what an application's own handlers show, and not less than what is asked for."""
    if logging.getLogger().handlers:
        return False
    own = logging.getLogger(ROOT_NAME).level
    return record.levelno >= (own or max(logging.WARNING, logging.getLogger("tensorflow").level))


def get_logger(name: str = "") -> logging.Logger:
    """The logger ``tf_autofuse`` or ``tf_autofuse.<name>``; a module's ``__name__`` works too.

    Warnings reach stderr even when the application sets up no logging of its own; an application
    that does (handlers on the root logger) gets the records through its handlers only.
    """
    root = logging.getLogger(ROOT_NAME)
    with _lock:
        if not root.handlers:
            handler = _StderrHandler()
            handler.addFilter(_is_wanted)
            root.addHandler(handler)
            wish = _LEVELS.get(os.environ.get("AUTOFUSE_LOG_LEVEL", "").lower())
            if wish is not None and root.level == logging.NOTSET:
                root.setLevel(wish)
    if not name or name == ROOT_NAME:
        return root
    if name.startswith(ROOT_NAME + "."):
        return logging.getLogger(name)
    return logging.getLogger("{}.{}".format(ROOT_NAME, name))


def warnings_of_thread() -> int:
    """How many warnings this thread has had, those too that were said before."""
    return getattr(_asked, "warnings", 0)


def count_warning() -> None:
    """Count a warning that was given in another way."""
    _asked.warnings = warnings_of_thread() + 1


def warn_once(key: Hashable, msg: str, name: str = "") -> bool:
    """Log `msg` as a warning unless one with the same `key` was logged; True when it was."""
    count_warning()
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
