"""Precompiled headers, kept in the kernel cache: most of a small kernel's compile time is headers.

Only g++ is asked; it takes a header it finds precompiled in an earlier folder of its search, and
passes over one that does not fit its flags. So nothing here can make a build wrong or fail.
"""

from __future__ import annotations

import os
from typing import Dict, Optional, Sequence, Tuple

from ..errors import BuildError
from ..locks import ForkLock
from ..log import get_logger
from .cache import KernelCache, digest_of, headers_digest
from .toolchain import Toolchain, compile_shared

_lock = ForkLock()
_folders: Dict[Tuple[str, str], Optional[str]] = {}


def precompiled_folder(
    cache: KernelCache,
    toolchain: Toolchain,
    header: str,
    text: str,
    flags: Sequence[str],
    folders: Tuple[str, ...],
) -> Optional[str]:
    """A folder with the precompiled form of `header`, whose contents are `text`; None without one.

    The folder goes before `folders` in the search for includes; `flags` must be those of the
    kernels.
    """
    if "g++" not in os.path.basename(toolchain.command[0]):
        return None
    key = digest_of(
        "precompiled", header, text, toolchain.digest, "\0".join(flags), headers_digest(folders)
    )
    with _lock:
        if (cache.root, key) not in _folders:
            made = _make(cache, toolchain, key, header, text, flags, folders)
            _folders[(cache.root, key)] = made
        return _folders[(cache.root, key)]


def _make(
    cache: KernelCache,
    toolchain: Toolchain,
    key: str,
    header: str,
    text: str,
    flags: Sequence[str],
    folders: Tuple[str, ...],
) -> Optional[str]:
    """Find or build the entry; a failure is logged and costs only speed."""

    def build(source_path: str, output_path: str) -> None:
        compile_shared(toolchain, source_path, output_path, (*flags, "-x", "c++-header"), folders)
        name = os.path.join(os.path.dirname(output_path), header + ".gch")
        os.link(output_path, name)

    try:
        library = cache.lookup(key) or cache.insert(key, "precompiled " + header, text, build)
    except (BuildError, OSError) as error:
        get_logger(__name__).info("no precompiled %s: %s", header, error)
        return None
    return os.path.dirname(library)
