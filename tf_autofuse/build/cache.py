"""Content-addressed store of built kernels, private to the user, shared by all its processes.

Precompiled headers and answers of the pass lie in it as kernels do, under the same rules.
An entry is the folder ``<root>/<key[:2]>/<key>/`` with the library, its source and ``meta.json``,
which holds the library's digest. Entries are made under a temporary name and renamed, so a reader
sees a whole entry or none; readers take no lock. The same folder under ``<root>/failed`` keeps the
source and the compiler's words of a kernel that did not build.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import hashlib
import json
import os
import shutil
import socket
import stat
import tempfile
import time
from dataclasses import dataclass
from typing import Callable, Dict, Iterable, List, Optional, Tuple

from .. import paths
from ..locks import ForkLock
from ..log import get_logger, warn_once
from .trust import why_untrusted

LIBRARY, SOURCE, META = "kernel.so", "kernel.cc", "meta.json"
ANSWER = "graph"  # begins the labels of entries that hold what a graph became, not a kernel
LIMIT_BYTES = 1 << 30
# A path handed to another process may not be opened yet: entries used this recently stay.
KEEP_SECONDS = 3600.0
_EVICT_EVERY = 64
# Folders of builds that nobody finished: of a dead process at once, of another host after a day.
_TEMPORARY = "tmp-"
_DEAD_SECONDS = 86400.0


@dataclass(frozen=True)
class CacheEntry:
    """One stored kernel: key, label, bytes on disk and the time of its last use (epoch seconds)."""

    key: str
    label: str
    path: str
    size: int
    used: float


def digest_of(*parts: str) -> str:
    """sha256 over texts; where one ends and the next begins counts."""
    total = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8")
        total.update(b"%d:" % len(data))
        total.update(data)
    return total.hexdigest()


def file_digest(path: str) -> str:
    """sha256 of a file's contents; OSError when it cannot be read."""
    with open(path, "rb") as handle:
        return hashlib.sha256(handle.read()).hexdigest()


class KernelCache:
    """The store under one root folder, which is made (mode 0700) when it is missing.

    Raises OSError when the root cannot be a private folder of this user, below folders that
    nobody else can change.
    """

    def __init__(
        self, root: str, limit_bytes: int = LIMIT_BYTES, keep_seconds: float = KEEP_SECONDS
    ) -> None:
        self.root = os.path.realpath(root)
        self.limit_bytes = limit_bytes
        self.keep_seconds = keep_seconds
        self._inserts = 0
        _private_folder(self.root)

    def entry_dir(self, key: str) -> str:
        """The folder of an entry, there or not."""
        return os.path.join(self.root, key[:2], key)

    def lookup(self, key: str) -> Optional[str]:
        """Path of the library of a whole, undamaged entry; None otherwise. Marks it as used."""
        folder = self.entry_dir(key)
        problem = self.problem(key)
        if problem:
            if os.path.isdir(folder):
                get_logger(__name__).info("cache entry %s cannot be used: %s", key, problem)
            return None
        with contextlib.suppress(OSError):  # a read-only cache still serves
            os.utime(os.path.join(folder, META))
        return os.path.join(folder, LIBRARY)

    def problem(self, key: str) -> str:
        """Why an entry cannot be used, "" when it is whole. Does not mark it as used."""
        folder = self.entry_dir(key)
        try:
            with open(os.path.join(folder, META), encoding="utf-8") as handle:
                meta = json.load(handle)
            if meta["key"] != key:
                return "made for the key {}".format(meta["key"])
            if meta["digest"] != file_digest(os.path.join(folder, LIBRARY)):
                return "the library is not the one that was stored"
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            return "cannot be read: {!r}".format(error)
        return ""

    def insert(self, key: str, label: str, source: str, build: Callable[[str, str], None]) -> str:
        """Build an entry with ``build(source_path, library_path)`` and publish it; its library.

        An exception of `build` passes through; the source is then kept under ``failed``.
        """
        temporary = _temporary_folder(self.root)
        try:
            source_path = os.path.join(temporary, SOURCE)
            library_path = os.path.join(temporary, LIBRARY)
            with open(source_path, "w", encoding="utf-8") as handle:
                handle.write(source)
            build(source_path, library_path)
            os.chmod(library_path, 0o700)
            meta = {"key": key, "label": label, "digest": file_digest(library_path)}
            with open(os.path.join(temporary, META), "w", encoding="utf-8") as handle:
                json.dump(meta, handle)
            library = self._publish(key, temporary)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
        self._inserts += 1
        if self._inserts % _EVICT_EVERY == 1:
            self.evict()
        return library

    def _publish(self, key: str, temporary: str) -> str:
        """Rename a finished folder into place; an undamaged entry of another process stays."""
        folder = self.entry_dir(key)
        os.makedirs(os.path.dirname(folder), mode=0o700, exist_ok=True)
        for _ in range(8):
            try:
                os.rename(temporary, folder)
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                    raise
            else:
                return os.path.join(folder, LIBRARY)
            library = self.lookup(key)
            if library is not None:
                return library
            _remove(folder, self.root)
        raise OSError("cannot replace the damaged cache entry {}".format(folder))

    def keep_failed(self, key: str, source: str, output: str) -> str:
        """Keep the source of a kernel that did not build and the compiler's output; its path."""
        folder = os.path.join(self.root, "failed", key)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        try:
            for name, text in ((SOURCE, source), ("output.txt", output)):
                with open(os.path.join(folder, name), "w", encoding="utf-8") as handle:
                    handle.write(text)
        except OSError:  # no half of it
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return os.path.join(folder, SOURCE)

    def remove(self, key: str) -> None:
        """Remove an entry, if it is there."""
        _remove(self.entry_dir(key), self.root)

    def entries(self) -> List[CacheEntry]:
        """All entries, the least recently used first; failed builds have the label "failed"."""
        found = []
        for group in _subfolders(self.root):
            if os.path.basename(group).startswith(_TEMPORARY):
                continue
            found += [entry for entry in map(_describe, _subfolders(group)) if entry is not None]
        return sorted(found, key=lambda entry: entry.used)

    def evict(self) -> int:
        """Remove the least recently used entries above the size limit; how many went.

        Entries used within `keep_seconds` stay. Temporary folders of dead builds go as well.
        """
        now, removed = time.time(), 0
        for folder in _subfolders(self.root):
            if _is_abandoned(folder, now):
                shutil.rmtree(folder, ignore_errors=True)
        entries = self.entries()
        total = sum(entry.size for entry in entries)
        for entry in entries:
            if total <= self.limit_bytes or now - entry.used < self.keep_seconds:
                break
            _remove(entry.path, self.root)
            total -= entry.size
            removed += 1
        return removed

    def clear(self) -> int:
        """Remove every entry; how many there were."""
        entries = self.entries()
        for entry in entries:
            _remove(entry.path, self.root)
        return len(entries)


def _private_folder(path: str) -> None:
    """Make `path` a folder only this user can enter; OSError when it is somebody else's."""
    os.makedirs(path, mode=0o700, exist_ok=True)
    info = os.lstat(path)
    if not stat.S_ISDIR(info.st_mode) or info.st_uid != os.geteuid():
        raise PermissionError("{} is not a folder of this user".format(path))
    if stat.S_IMODE(info.st_mode) != 0o700:
        os.chmod(path, 0o700)
    problem = why_untrusted(path)
    if problem:
        raise PermissionError(problem)
    os.rmdir(_temporary_folder(path))


def _temporary_folder(root: str) -> str:
    """A new folder whose name says which process of which host works in it."""
    prefix = "{}{}@{}-".format(_TEMPORARY, os.getpid(), socket.gethostname())
    return tempfile.mkdtemp(prefix=prefix, dir=root)


def _is_abandoned(folder: str, now: float) -> bool:
    """Whether a folder is temporary and the process that made it is gone."""
    name = os.path.basename(folder)
    if not name.startswith(_TEMPORARY):
        return False
    process, _, host = name[len(_TEMPORARY) :].rpartition("-")[0].partition("@")
    if process.isdigit() and host == socket.gethostname():
        try:
            os.kill(int(process), 0)
        except ProcessLookupError:
            return True
        except (OSError, OverflowError):
            pass
    return now - _mtime(folder) > _DEAD_SECONDS


def _subfolders(path: str) -> List[str]:
    try:
        with os.scandir(path) as items:
            return [item.path for item in items if item.is_dir(follow_symlinks=False)]
    except OSError:
        return []


def _mtime(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


def _describe(folder: str) -> Optional[CacheEntry]:
    """The entry in a folder; None when it vanished meanwhile."""
    key, label = os.path.basename(folder), ""
    meta = os.path.join(folder, META)
    try:
        with os.scandir(folder) as items:
            size = sum(item.stat(follow_symlinks=False).st_size for item in items)
        if os.path.basename(os.path.dirname(folder)) == "failed":
            return CacheEntry(key, "failed", folder, size, _mtime(folder))
        with open(meta, encoding="utf-8") as handle:
            label = str(json.load(handle).get("label", ""))
    except FileNotFoundError:
        return None if not os.path.isdir(folder) else CacheEntry(key, label, folder, 0, 0.0)
    except (OSError, ValueError, AttributeError, RecursionError):
        return CacheEntry(key, "damaged", folder, 0, 0.0)
    return CacheEntry(key, label, folder, size, _mtime(meta))


def _remove(folder: str, root: str) -> None:
    """Take an entry out of sight with one rename, then delete it."""
    grave = _temporary_folder(root)
    with contextlib.suppress(OSError):  # another process may have been faster
        os.rename(folder, os.path.join(grave, "old"))
    shutil.rmtree(grave, ignore_errors=True)


_lock = ForkLock()
_open: Dict[str, KernelCache] = {}
_fallback: List[str] = []


def open_cache() -> KernelCache:
    """The cache under ``paths.cache_dir()``, or under a private temporary folder with one warning.

    The temporary folder lives as long as the process. OSError when there can be none either.
    """
    wanted = paths.cache_dir()
    with _lock:
        cache = _open.get(wanted)
        if cache is not None and os.path.isdir(cache.root):
            return cache
        try:
            cache = KernelCache(os.path.join(wanted, "kernels"))
        except OSError as error:
            cache = KernelCache(os.path.join(_temporary_root(wanted, error), "kernels"))
        _open[wanted] = cache
        return cache


def cache_root() -> str:
    """The folder of everything that is built: ``paths.cache_dir()``, or what takes its place."""
    return os.path.dirname(open_cache().root)


def _temporary_root(wanted: str, error: OSError) -> str:
    if not _fallback or not os.path.isdir(_fallback[0]):
        folder = tempfile.mkdtemp(prefix="tf_autofuse-")
        atexit.register(_remove_own, folder, os.getpid())
        _fallback[:] = [folder]
    warn_once(
        ("kernel cache", wanted),
        "the kernel cache {} cannot be used ({}); kernels of this process are kept in {}".format(
            wanted, error, _fallback[0]
        ),
    )
    return _fallback[0]


def _remove_own(folder: str, process: int) -> None:
    """Remove the temporary cache at exit, but not at that of a forked child."""
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)


_header_digests: Dict[Tuple[str, ...], Tuple[Tuple, str]] = {}


def headers_digest(folders: Tuple[str, ...]) -> str:
    """Digest of all headers in `folders`: a kernel is rebuilt when one of them changes."""
    files = []
    for folder in folders:
        names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
        files += [os.path.join(folder, name) for name in names if name.endswith((".h", ".hpp"))]
    stamps = [os.stat(path) for path in files]
    state = tuple((p, s.st_mtime_ns, s.st_size) for p, s in zip(files, stamps))
    known = _header_digests.get(folders)
    if known is None or known[0] != state:
        known = (state, digest_of(*[file_digest(path) for path in files]))
        _header_digests[folders] = known
    return known[1]


def sources_digest(folders: Iterable[str]) -> str:
    """Digest of the Python files in and below `folders`; what has an underscore is not of them."""
    digest = hashlib.sha256()
    for folder in folders:
        for where, dirs, names in os.walk(folder):
            dirs[:] = sorted(name for name in dirs if not name.startswith("_"))
            for name in sorted(names):
                if name.endswith(".py"):
                    with open(os.path.join(where, name), "rb") as file:
                        digest.update(name.encode() + b"\0" + file.read())
    return digest.hexdigest()
