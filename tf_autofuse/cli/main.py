"""Entry of ``tf-autofuse``: reads the command line and calls the command's module."""

from __future__ import annotations

import argparse
import sys
from typing import List, Optional

import tf_autofuse
from tf_autofuse.cli import env, fuse, profile, report, run, verify, words
from tf_autofuse.errors import AutofuseError

BAD_INPUT = 2
COMMANDS = (run, fuse, verify, report, profile, env)


def main(argv: Optional[List[str]] = None) -> int:
    """Exit code of the command: its own, or 2 with one line on stderr for bad input."""
    parser = argparse.ArgumentParser(
        prog="tf-autofuse", description="Fused kernels for TensorFlow models."
    )
    parser.add_argument("--version", action="version", version=tf_autofuse.__version__)
    commands = parser.add_subparsers(dest="command", metavar="command")
    commands.required = True
    for module in COMMANDS:
        module.add_parser(commands)
    prepared, arguments = words.prepare(sys.argv[1:] if argv is None else argv)
    options = parser.parse_args(prepared)
    options.arguments = arguments
    try:
        return options.execute(options)
    except (AutofuseError, OSError) as error:
        print("tf-autofuse: error: {}".format(error), file=sys.stderr)
        return BAD_INPUT
