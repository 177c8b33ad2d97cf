"""``tf-autofuse env``: versions, compilers, flags and folders."""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import shutil
import subprocess
from typing import Any, Iterator, Tuple

import tf_autofuse
from tf_autofuse import flags, paths, standins

_PACKAGES = ("tensorflow", "numpy", "google.protobuf", "pybind11")
_COMPILERS = ("g++", "bisheng")


def add_parser(commands: Any) -> None:
    """Add the command to the subparsers of ``tf-autofuse``."""
    parser = commands.add_parser(
        "env", help="print versions, compilers, flags and folders", description=__doc__
    )
    parser.add_argument(
        "--cann", action="store_true", help="print the exports that let GE find the passes"
    )
    parser.add_argument(
        "--report", metavar="FILE", help="write what to send along with a problem, as JSON"
    )
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> int:
    """Print; always 0. Raises FlagError when a flag variable is wrong."""
    if options.cann:
        print('export {}="{}"'.format(tf_autofuse.PASS_PATH, paths.passes_dir()))
        return 0
    if options.report:
        from tf_autofuse.cli import env_report

        env_report.write(options.report, _facts())
        print("tf-autofuse: written to {}".format(options.report))
        return 0
    for name, value in _facts():
        print("{:<20} {}".format(name, value))
    return 0


def _facts() -> Iterator[Tuple[str, str]]:
    yield "tf_autofuse", "{} ({})".format(tf_autofuse.__version__, paths.package_dir())
    yield "python", platform.python_version()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    for name in _PACKAGES:
        yield name, _version(name)
    for name in _COMPILERS:
        yield name, _compiler(name)
    yield "NPU adapter", standins.real_adapter() or "none; stand-ins are offered"
    for variable in (flags.MAIN, flags.DFX):
        yield variable, os.environ.get(variable, "not set")
    changed = [
        "{}={}".format(name, value)
        for name, value in sorted(flags.current().to_dict().items())
        if value != flags.FLAGS[name].default
    ]
    yield "flags in force", ", ".join(changed) or "defaults"
    yield "kernel cache", paths.cache_dir()
    yield tf_autofuse.PASS_PATH, os.environ.get(tf_autofuse.PASS_PATH) or paths.passes_dir()


def _version(name: str) -> str:
    try:
        return str(importlib.import_module(name).__version__)
    except ImportError:
        return "not installed"


def _compiler(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        return "not found"
    done = subprocess.run(
        [path, "--version"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    return "{} ({})".format((done.stdout.splitlines() or ["unknown version"])[0], path)
