"""Building kernels: the compiler, the cache of built libraries, and the log of this process.

Every library is found by the digest of what made it: source, flags, compiler and CPU features,
and the headers of the include folders.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Dict, Iterable, List, Optional, Sequence, Tuple, Union

from .. import paths
from ..errors import BuildError
from .cache import CacheEntry, KernelCache, digest_of, headers_digest, open_cache
from .precompiled import precompiled_folder
from .toolchain import HOST_FLAGS, Toolchain, compile_shared, find_toolchain

__all__ = [
    "CacheEntry",
    "CompileRecord",
    "KernelCache",
    "Toolchain",
    "build_library",
    "compile_host_kernel",
    "compile_log",
    "compile_many",
    "find_toolchain",
    "open_cache",
]


@dataclass(frozen=True)
class CompileRecord:
    """One request of this process: label, cache key, seconds it took, and whether it was stored."""

    label: str
    key: str
    seconds: float
    cached: bool


_log: List[CompileRecord] = []
_log_lock = threading.Lock()
_building: Dict[str, threading.Lock] = {}


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
) -> str:
    """Path of the shared library of a C++ text, from the cache or built now.

    `label` names the kernel in messages. The compiler's target flags are added to `flags`.
    `header` is the name and the text of a header to precompile: the first that the source includes.
    Raises BuildError: no compiler, a compiler error, a time-out, or a disk that takes no entry.
    """
    start = time.perf_counter()
    toolchain = find_toolchain()
    all_flags = tuple(flags) + toolchain.target_flags
    folders = tuple(include_dirs)
    key = digest_of(source, toolchain.digest, "\0".join(all_flags), headers_digest(folders))
    with _log_lock:
        guard = _building.setdefault(key, threading.Lock())
    with guard:
        cache = open_cache()
        library = cache.lookup(key)
        cached = library is not None
        if library is None:
            search = folders
            if header is not None:
                found = precompiled_folder(cache, toolchain, *header, all_flags, folders)
                search = (found, *folders) if found is not None else folders
            library = _build(cache, toolchain, key, label, source, all_flags, search)
    record = CompileRecord(label, key, time.perf_counter() - start, cached)
    with _log_lock:
        _log.append(record)
    return library


def _build(
    cache: KernelCache,
    toolchain: Toolchain,
    key: str,
    label: str,
    source: str,
    flags: Tuple[str, ...],
    folders: Tuple[str, ...],
) -> str:
    """Build and store one library; errors carry the label and the kept source."""

    def build(source_path: str, library_path: str) -> None:
        compile_shared(toolchain, source_path, library_path, flags, folders)

    try:
        return cache.insert(key, label, source, build)
    except OSError as error:
        raise BuildError("cannot store the kernel: {}".format(error), node=label) from error
    except BuildError as error:
        kept = ""
        with contextlib.suppress(OSError):  # the compiler's words matter more than the copy
            kept = cache.keep_failed(key, source, error.output)
        raise BuildError(
            error.message,
            node=label,
            command=error.command,
            returncode=error.returncode,
            output=error.output,
            source=kept,
        ) from None


def compile_host_kernel(source: str, *, key: str) -> str:
    """Path of the library of a host kernel text that implements the kernel ABI.

    `key` is the caller's name of the kernel; it labels the entry, and the source decides the
    identity. Raises BuildError.
    """
    csrc = paths.csrc_dir()
    folders = (os.path.join(csrc, "core"), os.path.join(csrc, "host"))
    return build_library(source, label=key, flags=HOST_FLAGS, include_dirs=folders)


def compile_many(kernels: Iterable[Tuple[str, str]]) -> Dict[str, Union[str, BuildError]]:
    """Compile (key, source) pairs in parallel: library path or the BuildError, per key."""

    def one(pair: Tuple[str, str]) -> Union[str, BuildError]:
        try:
            return compile_host_kernel(pair[1], key=pair[0])
        except BuildError as error:
            return error

    pairs = list(kernels)
    if not pairs:
        return {}
    with ThreadPoolExecutor(max_workers=min(len(pairs), os.cpu_count() or 1)) as pool:
        return dict(zip([key for key, _ in pairs], pool.map(one, pairs)))
