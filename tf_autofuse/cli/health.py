"""What is wrong on this machine, and what helps."""

from __future__ import annotations

import importlib.util
import os
import shutil
import tempfile
from typing import Iterator, List, NamedTuple

from tf_autofuse import flags, paths
from tf_autofuse.errors import BuildError
from tf_autofuse.runtime import cann

_LEAST_DISK = 256 << 20
_PACKAGES = (
    ("numpy", "pip install numpy"),
    ("google.protobuf", "pip install protobuf"),
    ("pybind11", "pip install pybind11"),
    ("jinja2", "pip install jinja2; only tf-autofuse report needs it"),
    ("tensorflow", "pip install tensorflow (1.15.5, 2.6.5 or a current 2.x)"),
)


class Problem(NamedTuple):
    """A sentence, and what to do."""

    text: str
    fix: str


def problems() -> List[Problem]:
    """All that is found, without changing anything but making the cache folder."""
    found: List[Problem] = []
    for check in (_packages, _compiler, _cache, _flags, _dumps, _device):
        found += check()
    return found


def _packages() -> Iterator[Problem]:
    for name, fix in _PACKAGES:
        try:
            missing = importlib.util.find_spec(name) is None
        except ImportError:  # the package around it is not there
            missing = True
        if missing:
            yield Problem("{} is not installed".format(name), fix)


def _compiler() -> Iterator[Problem]:
    from tf_autofuse.build import find_toolchain

    try:
        find_toolchain()
    except BuildError as error:
        fix = "install g++ (sudo apt-get install g++), or set CXX to a C++14 compiler"
        yield Problem(error.message, fix)


def _cache() -> Iterator[Problem]:
    folder = paths.cache_dir()
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
        free = shutil.disk_usage(folder).free
    except OSError as error:
        text = "the kernel cache {} cannot be written: {}".format(folder, error)
        yield Problem(text, "set AUTOFUSE_CACHE_DIR to a folder of your own")
        return
    if free < _LEAST_DISK:
        text = "only {} MiB are free for the kernel cache {}".format(free >> 20, folder)
        yield Problem(text, "tf-autofuse cache clear, or set AUTOFUSE_CACHE_DIR")


def _flags() -> Iterator[Problem]:
    current = flags.current().to_dict()
    for name, flag in flags.FLAGS.items():
        if not flag.effective and current[name] != flag.default:
            yield Problem("--{} is accepted and changes nothing".format(name), "see docs/flags.md")


def _dumps() -> Iterator[Problem]:
    level = os.environ.get("DUMP_GE_GRAPH", "")
    if os.environ.get("DUMP_GRAPH_PATH") and not level:
        yield Problem("DUMP_GRAPH_PATH is set, but nothing is dumped", "export DUMP_GE_GRAPH=2")
    if level and level not in ("1", "2", "3"):
        text = "DUMP_GE_GRAPH={} is no level, so nothing is dumped".format(level)
        yield Problem(text, "export DUMP_GE_GRAPH=2 (1 all, 2 no weights, 3 structure)")


def _device() -> Iterator[Problem]:
    if cann.installed() and not cann.operators():
        text = "CANN is installed, but the operator that launches fused kernels is not"
        yield Problem(text, "bash scripts/build_cann.sh; see docs/cann.md")
