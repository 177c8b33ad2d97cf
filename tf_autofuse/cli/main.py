"""Entry of ``tf-autofuse``: reads the command line and calls the command's module."""

from __future__ import annotations

import argparse
import os
import sys
from typing import List, Optional

import tf_autofuse
from tf_autofuse.cli import (
    cache,
    completion,
    env,
    explain,
    fuse,
    profile,
    report,
    run,
    script,
    verify,
    words,
)
from tf_autofuse.errors import AutofuseError

BAD_INPUT = 2
PIPE_CLOSED = 141  # 128 + SIGPIPE, what a shell reports
COMMANDS = (run, fuse, verify, explain, report, profile, cache, env, completion)

_EXAMPLES = """examples:
  tf-autofuse run train.py --its arguments     run a script with fused kernels
  tf-autofuse report train.py -o report.html   the same, and a page about it
  tf-autofuse profile train.py                 how much time fusing saves
  tf-autofuse fuse model.pb --soc Ascend910B2 -o out

exit code: 0 done; 1 what the help of the command says; 2 bad input, told in one line; of run, that
of the script."""


def main(argv: Optional[List[str]] = None) -> int:
    """Exit code of the command: its own, or 2 with one line on stderr for bad input."""
    parser = argparse.ArgumentParser(
        prog="tf-autofuse",
        description="Fused kernels for TensorFlow models.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
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
        code = options.execute(options)
        script.flush()
        return code
    except BrokenPipeError:  # who reads the output has seen enough, `head` for example
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
        return PIPE_CLOSED
    except (AutofuseError, OSError) as error:
        print("tf-autofuse: error: {}".format(error), file=sys.stderr)
        return BAD_INPUT
