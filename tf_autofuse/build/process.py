"""Running compilers: no shell, bounded time, memory and output, and none left behind."""

from __future__ import annotations

import contextlib
import functools
import heapq
import os
import select
import shutil
import signal
import subprocess
import time
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple

from .. import interrupts
from ..errors import BuildError, BuildStopped, BuildTimeout
from ..locks import ForkLock

_OUTPUT_LIMIT = 64 * 1024
_POLL_SECONDS = 0.1
_STOP_SECONDS = 0.05
_GRACE_SECONDS = 5
_PRLIMIT, _SETPRIV = "/usr/bin/prlimit", "/usr/bin/setpriv"  # of util-linux
_TIMEOUT = "/usr/bin/timeout"  # of coreutils

_lock = ForkLock()
_running: Dict[subprocess.Popen, bool] = {}  # whether `end_running` has ended it


def run_tool(
    command: Sequence[str], seconds: float, cwd: Optional[str] = None, memory_mb: int = 0
) -> Tuple[str, int]:
    """Run an argument list (no shell): its output, both streams together, and its exit code.

    `memory_mb` bounds the address space of each process (0: not at all), `seconds` the time in
    all and the processor time of each process. When this process is killed its tools end as well.
    BuildError when it cannot start, BuildTimeout when it does not end, BuildStopped when
    `end_running` ended it; its children end with it.
    """
    process = _start(command, cwd, seconds, _limits(seconds, memory_mb))
    with _registered(process):
        try:
            output = _collect(process, time.monotonic() + seconds)
            if _running.get(process):
                raise BuildStopped("it is not wanted any more", command=command)
        except subprocess.TimeoutExpired:
            _end(process)
            raise BuildTimeout(
                "{} did not end within {:.0f} s".format(command[0], seconds),
                command=command,
                returncode=process.returncode,
            ) from None
        except BaseException:
            _end(process)
            raise
        finally:
            if process.stdout is not None:
                process.stdout.close()
    return output.decode("utf-8", "replace"), process.returncode


def end_running() -> int:
    """Kill every tool that runs for this process now; how many there were."""
    with _lock:
        for process in _running:
            _running[process] = True
            _kill_group(process)
        return len(_running)


class Crew:
    """Calls that run beside their caller, on as many threads as there are processors.

    Of those that wait the one of the largest weight is next. Leaving the block starts no more and
    ends when those that run have ended; with an error or an interrupt their tools are killed.
    """

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(max_workers=os.cpu_count() or 1)
        self._lock = ForkLock()
        self._waiting: List[Tuple[Any, ...]] = []  # a heap: -weight, number, call, job
        self._behind: Dict[Future, List[Tuple[Any, ...]]] = {}  # calls that wait for a job
        self._jobs: List[Future] = []

    def start(self, function: Callable[..., Any], *args: Any, weight: int = 0,
              after: Optional[Future] = None) -> Future:  # fmt: skip
        """Call ``function(*args)`` soon, but not before the job `after` has ended."""
        job: Future = Future()
        call = functools.partial(function, *args)
        with self._lock:
            item = (-weight, len(self._jobs), call, job)
            self._jobs.append(job)
            if after is not None and not after.done():
                self._behind.setdefault(after, []).append(item)
                return job
            heapq.heappush(self._waiting, item)
        self._pool.submit(self._run_next)
        return job

    def _run_next(self) -> None:
        with self._lock:
            items = [heapq.heappop(self._waiting)]
        for _, _, call, job in items:  # grows while it is walked
            if job.set_running_or_notify_cancel():
                try:
                    job.set_result(call())
                except BaseException as error:
                    job.set_exception(error)
            with self._lock:
                items += self._behind.pop(job, [])

    @staticmethod
    def result(job: Future) -> Any:
        """What a call gave, or raised; an interrupt is heard meanwhile."""
        while not wait([job], timeout=_POLL_SECONDS).done:
            interrupts.check()
        return job.result()

    def __enter__(self) -> "Crew":
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        running = [job for job in self._jobs if not job.cancel()]
        while kind is not None and wait(running, timeout=_STOP_SECONDS).not_done:
            end_running()
        self._pool.shutdown()


def run_parallel(function: Callable[[Any], Any], items: Sequence[Any]) -> List[Any]:
    """Results of `function` for all items, in parallel.

    A single item runs on the thread of the caller: an exiting process waits for threads of a pool.
    When one raises, or an interrupt comes, no more are started, the tools that run are killed, and
    the error is raised once all have ended.
    """
    if len(items) == 1:
        return [function(items[0])]
    with Crew() as crew:
        jobs = [crew.start(function, item) for item in items]
        return [crew.result(job) for job in jobs]


def _limits(seconds: float, memory_mb: int) -> Dict[str, int]:
    """Resource limits by the names of prlimit(1), none above what this process is held to."""
    limits = {"cpu": int(seconds) + 1, "core": 0}
    if memory_mb:
        limits["as"] = memory_mb << 20
    with contextlib.suppress(ImportError):
        import resource

        for name, value in limits.items():
            hard = resource.getrlimit(getattr(resource, "RLIMIT_" + name.upper()))[1]
            limits[name] = value if hard == resource.RLIM_INFINITY else min(value, hard)
    return limits


@functools.lru_cache(maxsize=None)
def _knows_death_signals() -> bool:
    """Whether setpriv is there and new enough."""
    words = [_SETPRIV, "--pdeathsig", "TERM", "true"]
    try:
        return subprocess.call(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) == 0
    except OSError:
        return False


def _guards(seconds: float, limits: Dict[str, int]) -> List[str]:
    """Words in front of a command: they bound it, and end it with all it has started when this
    process dies, or soon after its time."""
    words = [_PRLIMIT] + ["--{}={}".format(*limit) for limit in limits.items()]
    if os.access(_TIMEOUT, os.X_OK):
        words[:0] = [_SETPRIV, "--pdeathsig", "TERM"] if _knows_death_signals() else []
        words += [_TIMEOUT, "-s", "KILL", str(int(seconds) + _GRACE_SECONDS)]
    return words


def _start(
    command: Sequence[str], cwd: Optional[str], seconds: float, limits: Dict[str, int]
) -> subprocess.Popen:
    env = dict(os.environ, LC_ALL="C")
    if cwd is not None:
        env["TMPDIR"] = cwd
    # Python code between fork and exec may hang where there are threads, so another program sets
    # the limits; where that is missing they are set from here, some moments later.
    by_hand = not os.access(_PRLIMIT, os.X_OK)
    guards = [] if by_hand else _guards(seconds, limits)
    try:
        if shutil.which(command[0]) is None:
            raise FileNotFoundError("no such program")
        process = subprocess.Popen(
            guards + list(command),
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:  # ValueError: a null byte in an argument
        raise BuildError(
            "cannot start {}: {}".format(command[0], error), command=command
        ) from None
    if by_hand:
        _limit(process.pid, limits)
    return process


def _limit(pid: int, limits: Dict[str, int]) -> None:
    """Bound a running process and what it starts from now on."""
    with contextlib.suppress(ImportError, AttributeError, OSError, ValueError):
        import resource

        for name, value in limits.items():
            resource.prlimit(pid, getattr(resource, "RLIMIT_" + name.upper()), (value, value))


@contextlib.contextmanager
def _registered(process: subprocess.Popen) -> Iterator[None]:
    with _lock:
        _running[process] = False
    try:
        yield
    finally:
        with _lock:
            _running.pop(process, None)


def _collect(process: subprocess.Popen, deadline: float) -> bytes:
    """The first part of the output, once the process has ended; TimeoutExpired at `deadline`.

    What is too much is read and dropped. A child that keeps the pipe open is not waited for.
    """
    assert process.stdout is not None
    pipe = process.stdout.fileno()
    poller = select.poll()
    poller.register(pipe, select.POLLIN | select.POLLHUP)
    kept = bytearray()
    while True:
        interrupts.check()
        if time.monotonic() > deadline:
            raise subprocess.TimeoutExpired(process.args, deadline)
        if not poller.poll(_POLL_SECONDS * 1000):
            if process.poll() is not None:  # only its children hold the pipe now
                _kill_group(process)
                break
            continue
        chunk = os.read(pipe, 1 << 16)
        if not chunk:
            process.wait(max(0.0, deadline - time.monotonic()))
            break
        kept += chunk[: _OUTPUT_LIMIT - len(kept)]
    return bytes(kept)


def _end(process: subprocess.Popen) -> None:
    """End the process and all it started, and collect it."""
    _kill_group(process)
    process.wait()


def _kill_group(process: subprocess.Popen) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except OSError:
        process.kill()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_running.clear)  # the parent's tools are not the child's
