"""Runs a user's script under ``tf-autofuse run`` in a process of its own."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from typing import IO, Dict, List, NamedTuple, Optional, Sequence

from tf_autofuse import flags
from tf_autofuse.errors import AutofuseError


class Script(NamedTuple):
    """What to run: a file, or a module when `is_module`, its arguments, and flags that win."""

    name: str
    is_module: bool
    arguments: Sequence[str]
    flags: Optional[str]

    @classmethod
    def of(cls, options: argparse.Namespace) -> "Script":
        """The script of a command with TARGET, -m and --flags. AutofuseError, FlagError."""
        flags.current()
        flags.parse_overrides(options.flags)
        if not options.module and not os.path.exists(options.target):
            raise AutofuseError("no such script: {}".format(options.target))
        return cls(options.target, options.module, tuple(options.arguments), options.flags)

    def words(self) -> List[str]:
        """The script as the end of a command line of ``tf-autofuse run``."""
        head = ["-m", self.name] if self.is_module else [self.name]
        return head + list(self.arguments)


def add_script_options(parser: argparse.ArgumentParser) -> None:
    """The options that `Script.of` reads."""
    parser.add_argument("-m", dest="module", action="store_true", help="TARGET is a module")
    parser.add_argument(
        "--flags", metavar="STR", help="flags as in AUTOFUSE_FLAGS; they win over it"
    )


def run_script(
    script: Script,
    options: Sequence[str],
    environment: Optional[Dict[str, str]] = None,
    stdout: Optional[IO[str]] = None,
) -> int:
    """Run it to its end, with our terminal (or its output to `stdout`); its exit code."""
    command = [sys.executable, "-m", "tf_autofuse.cli", "run"] + list(options)
    if script.flags is not None:
        command.append("--flags={}".format(script.flags))
    env = dict(os.environ, **(environment or {}))
    return subprocess.call(command + script.words(), env=env, stdout=stdout)
