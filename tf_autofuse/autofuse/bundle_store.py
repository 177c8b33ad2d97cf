"""Where bundles lie in the cache: one folder per generator, so that a bundle is never older than
the code that would write it, and a bound on their number."""
from __future__ import annotations

import functools
import hashlib
import os
import shutil
from typing import List, Tuple

from tf_autofuse import flags, paths
from tf_autofuse.build.cache import cache_root, sources_digest
from tf_autofuse.platforms import calibration_path

MAX_BUNDLES = 4000
"""About 200 MB. The oldest quarter goes when there are more."""

_GENERATOR_PARTS = ("bundle", "codegen", "kernel", "loop", "schedule", "tiling")


@functools.lru_cache(maxsize=None)
def generator_digest() -> str:
    """Digest of every source file that shapes a bundle (12 hex digits)."""
    folders = [os.path.join(paths.package_dir(), part) for part in _GENERATOR_PARTS]
    return sources_digest(folders)[:12]


def bundle_root() -> str:
    """Folder of the bundles that this version of the package writes."""
    return os.path.join(cache_root(), "bundles", generator_digest() + calibration_digest())


def calibration_digest() -> str:
    """Digest of the calibrated costs in force behind a dash; empty when there are none."""
    try:
        with open(calibration_path(flags.current().soc), "rb") as file:
            return "-" + hashlib.sha256(file.read()).hexdigest()[:12]
    except OSError:
        return ""


@functools.lru_cache(maxsize=None)
def prune(root: str) -> int:
    """Bound the bundles beside and below `root`, once in a process; the number removed."""
    found: List[Tuple[float, str]] = []
    shelf = os.path.dirname(root)
    for generator in _folders(shelf):
        found += [(_age(path), path) for path in _folders(generator)]
    if len(found) <= MAX_BUNDLES:
        return 0
    found.sort()
    gone = found[: len(found) - MAX_BUNDLES * 3 // 4]
    for _, path in gone:
        shutil.rmtree(path, ignore_errors=True)
    for generator in _folders(shelf):
        if generator != root and not os.listdir(generator):
            shutil.rmtree(generator, ignore_errors=True)
    return len(gone)


def _folders(folder: str) -> List[str]:
    try:
        with os.scandir(folder) as entries:
            return [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []


def _age(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0
