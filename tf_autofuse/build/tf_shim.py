"""Builds and loads `_tf_shim`, the C++ side in TensorFlow, for the TensorFlow that is installed.

A build lies under a folder named by the TensorFlow version, the Python tag and the digest of the
sources, so several TensorFlows share one checkout and a changed source is built anew. Run
``python -m tf_autofuse.build.tf_shim`` to build.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.machinery
import importlib.util
import os
import shutil
import sys
import sysconfig
import tempfile
import time
from types import ModuleType
from typing import List, Optional, Sequence, Tuple

from .. import flags as user_flags
from .. import paths
from ..errors import BuildError
from ..locks import ForkLock
from ..log import get_logger
from .cache import cache_root
from .elf import why_no_library
from .process import run_parallel, run_tool
from .toolchain import find_toolchain

_MODULE = "_tf_shim"
_FOLDERS = ("core", "tf")
_FLAGS = ("-O2", "-fPIC", "-fvisibility=hidden", "-DNDEBUG", "-Wall", "-Wextra")
# What is bound to Python, the larger half of the compiler's work, is one unit and all else another:
# TensorFlow's headers take ten seconds of every unit, of which two cores compile one each.
_BOUND = ("module.cc", "npu_optimizer.cc")
# A slow machine takes minutes for one unit.
_COMPILE_SECONDS = 1200.0
_KEEP_SECONDS = 30 * 86400.0
_STAGE = "build the TensorFlow extension"

_lock = ForkLock()
_loaded: Optional[ModuleType] = None


def _tensorflow() -> ModuleType:
    try:
        import tensorflow  # noqa: PLC0415  (heavy, and not needed to import this package)
    except ImportError as error:
        raise BuildError("TensorFlow cannot be imported: {}".format(error), stage=_STAGE) from error
    return tensorflow


def _sources() -> List[str]:
    """All C++ files of the extension, headers too, in a fixed order."""
    found = []
    for folder in _FOLDERS:
        root = os.path.join(paths.csrc_dir(), folder)
        if os.path.isdir(root):
            names = sorted(name for name in os.listdir(root) if name.endswith((".h", ".cc")))
            found += [os.path.join(root, name) for name in names]
    if not found:
        raise BuildError("no sources in " + paths.csrc_dir(), stage=_STAGE)
    return found


def _digest(files: Sequence[str]) -> str:
    total = hashlib.sha256()
    for path in list(files) + [os.path.abspath(__file__)]:  # this file says how to build
        total.update(os.path.basename(path).encode() + b"\0")
        with open(path, "rb") as stream:
            total.update(hashlib.sha256(stream.read()).digest())
    return total.hexdigest()[:16]


def identity() -> str:
    """The extension of this process: versions of TensorFlow and Python, and what it is built of."""
    return _identity(_tensorflow().__version__, _sources())


def _identity(version: str, files: Sequence[str]) -> str:
    return "tf{}-{}-{}".format(version, sys.implementation.cache_tag, _digest(files))


def _relative_path(version: str, files: Sequence[str]) -> str:
    return os.path.join(_identity(version, files), _MODULE + (sysconfig.get_config_var("EXT_SUFFIX") or ".so"))


def _roots() -> Tuple[str, str]:
    """Where a build may lie: in the package, or in the cache when the package is read-only."""
    return os.path.join(paths.package_dir(), "_lib"), os.path.join(cache_root(), "tf_shim")


def _writable(root: str) -> bool:
    folder = root if os.path.isdir(root) else os.path.dirname(root)
    return os.access(folder, os.W_OK | os.X_OK)


def _release(version: str) -> int:
    """100 * major + minor: 2.21.0 -> 221, the number the C++ side compares with."""
    major, minor = version.split(".")[:2]
    return 100 * int(major) + int(minor)


def _python_headers(tensorflow: ModuleType) -> str:
    """The folder of Python.h: the interpreter's own, else the copy that TensorFlow brings."""
    own = sysconfig.get_paths()["include"]
    copy = os.path.join(
        tensorflow.sysconfig.get_include(), "external", "local_config_python", "python_include"
    )
    has_own = os.path.exists(os.path.join(own, "Python.h"))
    return copy if not has_own and os.path.isdir(copy) else own


def _compile_flags(tensorflow: ModuleType) -> List[str]:
    import pybind11  # noqa: PLC0415  (needed for building only)

    release = _release(tensorflow.__version__)
    flags = list(_FLAGS)
    for flag in tensorflow.sysconfig.get_compile_flags():
        # System headers, so that only our own code is warned about.
        flags += ["-isystem", flag[2:]] if flag.startswith("-I") else [flag]
    if release <= 206:
        flags.append("-std=c++14")
    for folder in (pybind11.get_include(), _python_headers(tensorflow)):
        flags += ["-isystem", folder]
    return flags + [
        "-DAUTOFUSE_TF_VERSION={}".format(release),
        '-DAUTOFUSE_TF_VERSION_STRING="{}"'.format(tensorflow.__version__),
    ]


def _link_flags(tensorflow: ModuleType) -> List[str]:
    """Flags for TensorFlow's libraries, in the order in which symbols are to be looked up.

    Up to some 2.x the Python library holds a second copy of grappler, and the functions of the
    framework library call into that copy. Both copies keep hash tables with different seeds, so
    mixing them loses nodes at random: bind to the copy that TensorFlow itself uses.
    """
    folder = tensorflow.sysconfig.get_lib()
    python_library = os.path.join(folder, "python", "_pywrap_tensorflow_internal.so")
    has_one_copy = any(name.startswith("libtensorflow_cc.so") for name in os.listdir(folder))
    flags = []
    if os.path.exists(python_library) and not has_one_copy:
        flags += ["-L" + os.path.dirname(python_library)]
        flags += ["-Wl,--no-as-needed", "-l:" + os.path.basename(python_library)]
    return flags + list(tensorflow.sysconfig.get_link_flags()) + ["-ldl", "-lpthread"]


def _units(files: Sequence[str]) -> List[str]:
    """The texts that are compiled."""
    sources = [path for path in files if path.endswith(".cc")]
    bound = [path for path in sources if os.path.basename(path) in _BOUND]
    others = [path for path in sources if path not in bound]
    line = '#include "{}"\n'.format
    return ["".join(map(line, unit)) for unit in (bound, others) if unit]


def _run(command: Sequence[str], source: str) -> None:
    memory = user_flags.current().build_memory_mb
    output, code = run_tool(command, _COMPILE_SECONDS, memory_mb=memory)
    if code != 0:
        raise BuildError(
            "the compiler failed on {}:\n{}".format(source, output.strip()[-2000:]),
            stage=_STAGE,
            command=command,
            returncode=code,
            output=output,
            source=source,
        )


def _compile(files: Sequence[str], target: str) -> None:
    """Compile all sources, both units at once, and link them to `target` in one atomic step."""
    tensorflow = _tensorflow()
    compiler, flags = list(find_toolchain().command), _compile_flags(tensorflow)
    folder, texts = os.path.dirname(target), _units(files)
    os.makedirs(folder, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="build-", dir=folder) as work:
        units = [os.path.join(work, "unit{}.cc".format(i)) for i, _ in enumerate(texts)]
        objects = [path + ".o" for path in units]

        def compile_one(pair: Tuple[str, str]) -> None:
            with open(pair[0], "w", encoding="utf-8") as stream:
                stream.write(pair[1])
            _run(compiler + flags + ["-c", pair[0], "-o", pair[0] + ".o"], pair[0])

        run_parallel(compile_one, list(zip(units, texts)))
        library = os.path.join(work, _MODULE + ".so")
        link = ["-shared", "-o", library] + objects + _link_flags(tensorflow)
        _run(compiler + link, library)
        os.replace(library, target)
    _remove_older(folder)


def _remove_older(folder: str) -> None:
    """Remove builds of other sources for the same TensorFlow and Python; `folder` stays.

    Those in the package belong to nobody any more; other installs may use those in the cache, as
    long as they are not old. A process that has one of them loaded keeps it.
    """
    root, name = os.path.split(folder)
    family = name.rpartition("-")[0] + "-"
    in_package = os.path.dirname(root) == paths.package_dir()
    oldest = time.time() - (0.0 if in_package else _KEEP_SECONDS)
    for other in os.listdir(root):
        path = os.path.join(root, other)
        if other.startswith(family) and other != name and os.path.getmtime(path) < oldest:
            shutil.rmtree(path, ignore_errors=True)


def find() -> Optional[str]:
    """Path of the build for the installed TensorFlow and the present sources; None: not built."""
    relative = _relative_path(_tensorflow().__version__, _sources())
    for root in _roots():
        path = os.path.join(root, relative)
        if os.path.exists(path) and not why_no_library(path):
            return path
    return None


def build(force: bool = False, root: str = "") -> str:
    """Build the extension unless it is there, and return its path.

    `force` builds in any case. `root` is the folder to build under; by default that is the
    package, or the cache when the package cannot be written. Raises BuildError when TensorFlow,
    pybind11 or the compiler is missing or the compiler fails.
    """
    files = _sources()
    relative = _relative_path(_tensorflow().__version__, files)
    if not root:
        existing = None if force else find()
        if existing is not None:
            return existing
        in_package, in_cache = _roots()
        root = in_package if _writable(in_package) else in_cache
    target = os.path.join(root, relative)
    if force or not os.path.exists(target) or why_no_library(target):
        get_logger(__name__).info("building %s", target)
        try:
            _compile(files, target)
        except (ImportError, OSError) as error:
            raise BuildError(str(error), stage=_STAGE) from error
    return target


def load() -> ModuleType:
    """The extension module, built first when it is missing. Imports TensorFlow.

    Loaded once per process; raises BuildError when it can be neither found nor built nor loaded.
    """
    global _loaded
    with _lock:
        if _loaded is None:
            _loaded = _load(build())
        return _loaded


def is_loaded() -> bool:
    """Whether this process has loaded the extension."""
    return _loaded is not None


def _load(path: str) -> ModuleType:
    get_logger()  # warnings of the extension go through this logger
    loader = importlib.machinery.ExtensionFileLoader(_MODULE, path)
    spec = importlib.machinery.ModuleSpec(_MODULE, loader, origin=path)
    try:
        module = importlib.util.module_from_spec(spec)
        loader.exec_module(module)
    except ImportError as error:
        message = "cannot load {}: {}".format(path, error)
        raise BuildError(message, stage=_STAGE, source=path) from error
    return module


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """Command line: build and print the path. 0 on success, 1 with the reason on stderr."""
    parser = argparse.ArgumentParser(description="Build the TensorFlow extension of tf_autofuse.")
    parser.add_argument("--force", action="store_true", help="build even if it is built already")
    parser.add_argument("--root", default="", help="folder to build under")
    options = parser.parse_args(arguments)
    try:
        print(build(force=options.force, root=options.root))
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
