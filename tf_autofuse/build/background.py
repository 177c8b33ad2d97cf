"""Building kernels beside a running model, on threads that end with the process.

The threads are daemons, so that an exit does not wait for them; what they have started by then is
killed. The order of kernels is that of the requests.
"""

from __future__ import annotations

import atexit
import os
import queue
import threading
import time
from typing import Any, Callable, List, Tuple

from ..locks import ForkLock
from .process import end_running

_STOP_SECONDS = 5.0

_Job = Tuple[Callable[..., Any], Tuple[Any, ...]]

_lock = ForkLock()
_jobs: "queue.Queue[_Job]" = queue.Queue()
_threads: List[threading.Thread] = []
_stopping = threading.Event()


def run_later(function: Callable[..., Any], *args: Any) -> None:
    """Call ``function(*args)`` on a thread of this module; it must not raise.

    Calls run at the same time on as many threads as there are processors.
    """
    with _lock:
        _jobs.put((function, args))
        if len(_threads) < (os.cpu_count() or 1):
            if not _threads:
                atexit.register(_stop)
            thread = threading.Thread(target=_work, name="autofuse-build", daemon=True)
            _threads.append(thread)
            thread.start()


def wait_for_all(seconds: float) -> bool:
    """Wait until nothing is left to do; False when that takes longer than `seconds`."""
    deadline = time.monotonic() + seconds
    while _jobs.unfinished_tasks and time.monotonic() < deadline:
        time.sleep(0.01)
    return not _jobs.unfinished_tasks


def _work() -> None:
    while True:
        function, args = _jobs.get()
        try:
            if not _stopping.is_set():
                function(*args)
        finally:
            _jobs.task_done()


def _stop() -> None:
    """Start nothing more and kill the compilers that run; the threads get a moment to see it."""
    _stopping.set()
    deadline = time.monotonic() + _STOP_SECONDS
    while _jobs.unfinished_tasks and time.monotonic() < deadline:
        end_running()
        time.sleep(0.01)


def _forget_parent() -> None:
    """A forked child has none of the threads; it begins anew when it builds something."""
    global _jobs
    _jobs = queue.Queue()
    _threads.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_parent)
