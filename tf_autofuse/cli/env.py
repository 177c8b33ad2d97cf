"""``tf-autofuse env``: versions, compilers, flags, folders, and what is wrong with them."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import shutil
import subprocess
from typing import Any, Iterator, Tuple

import tf_autofuse
from tf_autofuse import flags, paths, standins
from tf_autofuse.cli import health, style

_PACKAGES = ("tensorflow", "numpy", "google.protobuf", "pybind11", "jinja2")
_COMPILERS = ("g++", "bisheng")

_EXAMPLES = """examples:
  tf-autofuse env
  tf-autofuse env --check --json
  eval "$(tf-autofuse env --cann)"

exit code: 0; with --check 1 when there is a problem; 2 a flag variable is wrong."""


def add_parser(commands: Any) -> None:
    """Add the command to the subparsers of ``tf-autofuse``."""
    parser = commands.add_parser(
        "env",
        help="print versions, compilers, flags, folders and problems",
        description="Prints what the tool finds on this machine, the problems with it, and what "
        "helps against each.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--json", action="store_true", help="print it as JSON")
    parser.add_argument("--check", action="store_true", help="exit code 1 when there is a problem")
    parser.add_argument(
        "--cann", action="store_true", help="print the exports that let GE find the passes"
    )
    parser.add_argument(
        "--report", metavar="FILE", help="write what to send along with a problem, as JSON"
    )
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> int:
    """Print; the exit code of the module's text. FlagError when a flag variable is wrong."""
    if options.cann:
        print('export {}="{}"'.format(tf_autofuse.PASS_PATH, paths.passes_dir()))
        return 0
    if options.report:
        from tf_autofuse.cli import env_report

        env_report.write(options.report, _facts())
        print("tf-autofuse: written to {}".format(options.report))
        return 0
    facts, found = dict(_facts()), health.problems()
    if options.json:
        plain = [dict(problem._asdict()) for problem in found]
        print(json.dumps({"facts": facts, "problems": plain}, indent=2))
    else:
        for name, value in facts.items():
            print("{:<20} {}".format(name, value))
        for problem in found:
            print("{} {}".format(style.paint("problem:", "yellow"), problem.text))
            print("    fix: {}".format(problem.fix))
    return 1 if options.check and found else 0


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
