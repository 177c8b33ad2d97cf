"""``tf-autofuse verify``: check the graph dumps of a run."""

from __future__ import annotations

import argparse
import os
from typing import Any

from tf_autofuse.cli import style
from tf_autofuse.errors import AutofuseError

_EXAMPLES = """examples:
  DUMP_GE_GRAPH=1 tf-autofuse run --dump dumps train.py
  tf-autofuse verify dumps
  tf-autofuse verify dumps --numeric --seed 7 --json

exit code: 0 something fused and all holds; 1 nothing fused or a problem; 2 a dump is damaged or
missing."""


def add_parser(commands: Any) -> None:
    """Add the command to the subparsers of ``tf-autofuse``."""
    parser = commands.add_parser(
        "verify",
        help="check graph dumps before and after fusing",
        description="Reads the graph dumps in a folder, lists every fused node with its original "
        "operators and compares the graphs before and after.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("dir", metavar="DIR", help="folder of the dumps")
    parser.add_argument(
        "--numeric",
        action="store_true",
        help="run every kernel and its operators on random numbers as well; dumps with weights "
        "(DUMP_GE_GRAPH=1) hold the constants that this needs",
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the random numbers")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> int:
    """Print the result; its exit code."""
    from tf_autofuse.verify import render_json, render_text, verify_dumps

    if not os.path.isdir(options.dir):
        raise AutofuseError("no such folder: {}".format(options.dir))
    result = verify_dumps(options.dir)
    if options.numeric:
        _run_kernels(options, result)
    text = render_json(result) if options.json else render_text(result, style.paint)
    print(text.rstrip())
    return result.exit_code


def _run_kernels(options: argparse.Namespace, result: Any) -> None:
    """Add what comes of running the kernels; a kernel that is wrong is a problem."""
    from tf_autofuse.verify import graph_pairs
    from tf_autofuse.verify.numeric import check_numbers

    for pair in graph_pairs(options.dir):
        if pair.before is not None and pair.after is not None:
            result.numeric += check_numbers(pair.before, pair.after, options.seed)
    for check in result.numeric:
        if check.problem:
            result.problems.append("numbers of {}: {}".format(check.name, check.problem))
