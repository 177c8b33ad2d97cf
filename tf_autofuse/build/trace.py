"""The compile timeline: what the pass and the compilers did when, for chrome://tracing or Perfetto.

Kept only with the flag ``codegen_compile_debug``. One file per process, under
``~/.cache/autofuse_compile_trace``, in the trace event format that both viewers read.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
import time
from typing import Any, Dict, Iterator, List

from .. import flags
from ..locks import ForkLock

_MAX_EVENTS = 100000

_lock = ForkLock()
_events: List[Dict[str, Any]] = []
_told: List[str] = []


@contextlib.contextmanager
def span(name: str, category: str, **details: Any) -> Iterator[Dict[str, Any]]:
    """Note how long the block takes; what it puts into the dict it gets is shown with it."""
    if not flags.current().codegen_compile_debug:
        yield details
        return
    start = time.time()
    try:
        yield details
    finally:
        event = {
            "name": name,
            "cat": category,
            "ph": "X",
            "ts": start * 1e6,
            "dur": (time.time() - start) * 1e6,
            "pid": os.getpid(),
            "tid": threading.get_ident() & 0xFFFFFFFF,
            "args": {key: str(value) for key, value in details.items()},
        }
        with _lock:
            if len(_events) < _MAX_EVENTS:
                _events.append(event)


def folder() -> str:
    """Where timelines are kept; the folder need not exist."""
    return os.path.join(os.path.expanduser("~"), ".cache", "autofuse_compile_trace")


def write() -> str:
    """Write what was noted so far and say where, once; the path, "" when nothing was noted.

    OSError when the file cannot be written.
    """
    own = os.getpid()
    with _lock:
        events = [event for event in _events if event["pid"] == own]
    if not events:
        return ""
    began = time.strftime("%Y%m%d_%H%M%S", time.localtime(events[0]["ts"] / 1e6))
    path = os.path.join(folder(), "compile_trace_{}_{}.json".format(began, own))
    os.makedirs(folder(), mode=0o700, exist_ok=True)
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump({"traceEvents": events, "displayTimeUnit": "ms"}, file)
    os.replace(path + ".new", path)
    if path not in _told:
        _told.append(path)
        print("[CompileTrace] {}".format(path), file=sys.stderr)
    return path
