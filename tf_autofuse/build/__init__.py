"""Building kernels: the compiler, the cache of built libraries, and the log of this process.

Every library is found by the digest of what made it: source, flags, compiler and CPU features,
and the headers of the include folders.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections import OrderedDict, deque
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Callable, Deque, Dict, Iterable, List, Optional, Sequence, Tuple, Union

from .. import paths
from ..errors import AutofuseError, BuildError, BuildStopped, BuildTimeout
from ..locks import ForkLock
from . import toolchain as compilers
from .cache import LIBRARY, CacheEntry, KernelCache, digest_of, headers_digest, open_cache
from .elf import why_no_library
from .numbers import exchange, shared_text
from .precompiled import precompiled_folder
from .process import Crew, run_parallel
from .progress import Progress
from .toolchain import Toolchain, compile_shared, find_toolchain
from .trace import span

__all__ = [
    "CacheEntry",
    "CompileRecord",
    "HostBuilds",
    "KernelCache",
    "Toolchain",
    "build_library",
    "compile_host_kernel",
    "compile_log",
    "compile_many",
    "find_toolchain",
    "forget_failures",
    "host_identity",
    "host_kernel_path",
    "open_cache",
    "run_parallel",
]


@dataclass(frozen=True)
class CompileRecord:
    """One request of this process: label, cache key, seconds it took, whether it was stored, and
    the compiler's command and words when it ran."""

    label: str
    key: str
    seconds: float
    cached: bool
    said: str = ""


_MAX_RECORDS = 10000
_MAX_FAILURES = 1000
_MAX_TIMEOUTS = 2

_log: Deque[CompileRecord] = deque(maxlen=_MAX_RECORDS)
_log_lock = ForkLock()
_building: Dict[str, ForkLock] = {}
_failed: "OrderedDict[str, BuildError]" = OrderedDict()
_timeouts: List[BuildTimeout] = []  # of the builds since the last one that succeeded


def compile_log() -> Tuple[CompileRecord, ...]:
    """What this process asked the cache for so far, in order of completion."""
    with _log_lock:
        return tuple(_log)


def build_library(
    source: str,
    *,
    label: str,
    flags: Sequence[str],
    include_dirs: Sequence[str],
    header: Optional[Tuple[str, str]] = None,
    make: Optional[Callable[[str], str]] = None,
) -> str:
    """Path of the shared library of a C++ text, from the cache or built now.

    `label` names the kernel in messages. The compiler's target flags are added to `flags`.
    `header` is the name and the text of a header to precompile: the first that the source includes.
    `make` writes the library to the path it gets, in the place of the compiler, and says how.
    Raises BuildError: no compiler, a compiler error, a time-out, or a disk that takes no entry.
    A source that did not compile is not tried again in this process, and after two time-outs in
    a row nothing is, until `forget_failures`.
    """
    start = time.perf_counter()
    toolchain = find_toolchain()
    all_flags = tuple(flags) + toolchain.target_flags
    folders = tuple(include_dirs)
    key = _key_of(source, toolchain, all_flags, folders)
    with _log_lock:
        guard = _building.setdefault(key, ForkLock())
    said: List[str] = []
    with guard, span(label, "compile") as details:
        cache = _open(label)
        library = cache.lookup(key)
        cached = library is not None
        if library is None:
            _refuse_hopeless(key, label)
            search = folders
            if header is not None:
                found = precompiled_folder(cache, toolchain, *header, all_flags, folders)
                search = (found, *folders) if found is not None else folders

            def run(source_path: str, library_path: str) -> str:
                if make is not None:
                    return make(library_path)
                return compile_shared(toolchain, source_path, library_path, all_flags, search)

            library = _build(cache, key, label, source, run, said)
        details.update(cached=cached, library=library)
    record = CompileRecord(label, key, time.perf_counter() - start, cached, "".join(said))
    with _log_lock:
        _building.pop(key, None)
        _log.append(record)
    return library


def _key_of(
    source: str, toolchain: Toolchain, flags: Sequence[str], folders: Tuple[str, ...]
) -> str:
    return digest_of(source, toolchain.digest, "\0".join(flags), headers_digest(folders))


def forget_failures() -> None:
    """Try again what failed before: compilers that were not found, kernels that did not build."""
    compilers.forget_failures()
    with _log_lock:
        _failed.clear()
        _timeouts.clear()


def _open(label: str) -> KernelCache:
    try:
        return open_cache()
    except OSError as error:
        message = "there is no folder to keep kernels in: {}".format(error)
        raise BuildError(message, node=label) from error


def _refuse_hopeless(key: str, label: str) -> None:
    """Raise again what building this key raised; a compiler that hangs is not waited for again."""
    with _log_lock:
        known = _failed.get(key)
        hangs = _timeouts[-1] if len(_timeouts) >= _MAX_TIMEOUTS else None
    if known is not None:
        raise known.copy(node=label)
    if hangs is not None:
        raise hangs.copy(node=label)


def _note(key: str, error: Optional[BuildError]) -> None:
    """Remember how a build ended."""
    with _log_lock:
        if error is None:
            _timeouts.clear()
        elif isinstance(error, BuildTimeout):
            _timeouts.append(error)
        else:
            _failed[key] = error
            while len(_failed) > _MAX_FAILURES:
                _failed.popitem(last=False)


def _build(
    cache: KernelCache,
    key: str,
    label: str,
    source: str,
    run: Callable[[str, str], str],
    said: List[str],
) -> str:
    """Build and store one library; errors carry the label and the kept source. `said` gets what
    `run` says that made it, from the path of the source and that of the library."""

    def build(source_path: str, library_path: str) -> None:
        said.append(run(source_path, library_path))
        problem = why_no_library(library_path)
        if problem:
            program = find_toolchain().command[0]
            raise BuildError("{} wrote no library: {}".format(program, problem))

    try:
        library = cache.insert(key, label, source, build)
    except OSError as error:
        raise BuildError("cannot store the kernel: {}".format(error), node=label) from error
    except BuildStopped:
        raise
    except BuildError as error:
        kept = ""
        with contextlib.suppress(OSError):  # the compiler's words matter more than the copy
            kept = cache.keep_failed(key, source, error.output)
        failure = error.copy(node=label, source=kept)
        _note(key, failure)
        raise failure from None
    _note(key, None)
    return library


def compile_host_kernel(source: str, *, key: str) -> str:
    """Path of the library of a host kernel text that implements the kernel ABI.

    `key` is the caller's name of the kernel; it labels the entry, and the source decides the
    identity. Kernels that differ in their numbers alone are compiled once. Raises BuildError.
    """
    text, numbers = shared_text(source)
    if not numbers or host_kernel_path(source)[1]:
        return _compiled(source, key)
    shared = _compiled(text, key)

    def write(path: str) -> str:
        with open(shared, "rb") as file:
            library = exchange(file.read(), numbers)
        with open(path, "wb") as file:
            file.write(library)
        return "{} with numbers of its own\n".format(shared)

    return _compiled(source, key, write)


def _compiled(source: str, label: str, make: Optional[Callable[[str], str]] = None) -> str:
    flags = find_toolchain().host_flags
    return build_library(
        source, label=label, flags=flags, include_dirs=_host_folders(), make=make)


def host_kernel_path(source: str) -> Tuple[str, bool]:
    """Where the library of a host kernel text lies once it is built, and whether it is there.

    Raises BuildError: no compiler, or no place for a cache.
    """
    toolchain = find_toolchain()
    flags = toolchain.host_flags + toolchain.target_flags
    key = _key_of(source, toolchain, flags, _host_folders())
    cache = _open(key)
    return os.path.join(cache.entry_dir(key), LIBRARY), cache.lookup(key) is not None


def host_identity() -> str:
    """Digest of what a host kernel is made of besides its source: compiler, flags, features of the
    processor, headers. BuildError: no compiler."""
    toolchain = find_toolchain()
    return _key_of("", toolchain, toolchain.host_flags + toolchain.target_flags, _host_folders())


def _is_built(source: str) -> bool:
    try:
        return host_kernel_path(source)[1]
    except BuildError:
        return False


def _host_folders() -> Tuple[str, str]:
    csrc = paths.csrc_dir()
    return os.path.join(csrc, "core"), os.path.join(csrc, "host")


class HostBuilds:
    """Host kernels that are compiled while their caller makes others; what takes long comes first.

    `check` gets the path of each library; an AutofuseError of it means that the library is of no
    use: it is taken out of the cache. Leaving the block drops what nobody has asked for; with an
    error or an interrupt the compilers end.
    """

    def __init__(self, check: Optional[Callable[[str], Any]] = None) -> None:
        self._check = check
        self._crew = Crew()
        self._progress = Progress()
        self._jobs: Dict[Tuple[str, str], Future] = {}
        self._first: Dict[str, Future] = {}  # of the kernels that share a text

    def start(self, key: str, source: str) -> None:
        """Compile a kernel, if that has not begun; one that is there already is taken at once,
        which is done before another thread has its turn."""
        if (key, source) in self._jobs:
            return
        if _is_built(source):
            job: Future = Future()
            job.set_result(self._build(key, source))
        else:
            text = shared_text(source)[0]
            job = self._crew.start(self._build, key, source, weight=len(text),
                                   after=self._first.get(text))
            self._first.setdefault(text, job)
        self._jobs[(key, source)] = job

    def results(
        self, kernels: Iterable[Tuple[str, str]]
    ) -> Dict[str, Union[str, BuildError]]:
        """Library path or the BuildError of each (key, source), once all are there."""
        pairs = list(kernels)
        for pair in pairs:
            self.start(*pair)
        self._progress.begin(len(pairs))
        try:
            return {pair[0]: self._crew.result(self._jobs[pair]) for pair in pairs}
        finally:
            self._progress.end()

    def _build(self, key: str, source: str) -> Union[str, BuildError]:
        try:
            return _library_or_error(key, source, self._check)
        finally:
            self._progress.step()

    def __enter__(self) -> "HostBuilds":
        return self

    def __exit__(self, *error: Any) -> None:
        self._crew.__exit__(*error)


def compile_many(
    kernels: Iterable[Tuple[str, str]], check: Optional[Callable[[str], Any]] = None
) -> Dict[str, Union[str, BuildError]]:
    """Compile (key, source) pairs in parallel, as `HostBuilds` does: results per key.

    A single one is compiled on the thread of the caller: an exiting process waits for others.
    """
    pairs = list(kernels)
    if len(pairs) == 1:
        return {key: _library_or_error(key, source, check) for key, source in pairs}
    with HostBuilds(check) as builds:
        return builds.results(pairs)


def _library_or_error(
    key: str, source: str, check: Optional[Callable[[str], Any]]
) -> Union[str, BuildError]:
    try:
        library = compile_host_kernel(source, key=key)
        return _checked(library, key, check) if check is not None else library
    except BuildError as error:
        return error


def _checked(library: str, label: str, check: Callable[[str], Any]) -> Union[str, BuildError]:
    try:
        check(library)
    except AutofuseError as error:
        key = os.path.basename(os.path.dirname(library))
        failure = BuildError(str(error), node=label, source=library)
        _note(key, failure)
        with contextlib.suppress(OSError):
            open_cache().remove(key)
        return failure
    return library
