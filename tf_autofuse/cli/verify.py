"""``tf-autofuse verify``: check the graph dumps of a run."""

from __future__ import annotations

import argparse
import os
from typing import Any

from tf_autofuse.errors import AutofuseError


def add_parser(commands: Any) -> None:
    """Add the command to the subparsers of ``tf-autofuse``."""
    parser = commands.add_parser(
        "verify",
        help="check graph dumps before and after fusing",
        description="Reads the graph dumps in a folder, lists every fused node with its original "
        "operators and compares the graphs before and after. Exit code 0: something fused and all "
        "holds; 1: nothing fused or a problem; 2: a dump is damaged or missing.",
    )
    parser.add_argument("dir", metavar="DIR", help="folder of the dumps")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> int:
    """Print the result; its exit code."""
    from tf_autofuse.verify import render_json, render_text, verify_dumps

    if not os.path.isdir(options.dir):
        raise AutofuseError("no such folder: {}".format(options.dir))
    result = verify_dumps(options.dir)
    print((render_json if options.json else render_text)(result).rstrip())
    return result.exit_code
