"""``tf-autofuse report``: one HTML page about a run, a dump folder or a JSON report."""

from __future__ import annotations

import argparse
import datetime
import os
import shutil
import tempfile
from typing import Any, List

import tf_autofuse
from tf_autofuse import flags
from tf_autofuse.cli import child
from tf_autofuse.errors import AutofuseError

WRITTEN, SCRIPT_FAILED = 0, 1

_EXAMPLES = """examples:
  tf-autofuse report train.py -o report.html -- --epochs 1
  tf-autofuse report dumps/ -o report.html
  tf-autofuse report report.json --dump dumps/ -o report.html

exit code: 0 the page is written; 1 it is written, but the script failed; 2 bad input."""


def add_parser(commands: Any) -> None:
    """Add the command to the subparsers of ``tf-autofuse``."""
    parser = commands.add_parser(
        "report",
        help="write an HTML page about what was fused",
        description="Writes one self-contained HTML page: the graph before and after as a picture, "
        "kernels with sizes, times and sources, and the operators left alone. TARGET is a script, "
        "which is run (its arguments follow --), a folder of graph dumps, or a JSON report of "
        "tf-autofuse run --report.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("target", metavar="TARGET", help="script, dump folder or JSON report")
    parser.add_argument("-o", "--out", metavar="FILE", default="report.html", help="the page")
    parser.add_argument("--dump", metavar="DIR", help="graph dumps that go with a JSON report")
    parser.add_argument("--json", metavar="FILE", help="write the data as a JSON report as well")
    child.add_script_options(parser)
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> int:
    """Gather, render, write; the exit code of the module's text."""
    from tf_autofuse.cli import report_input

    code = 0
    if options.module or not _is_data(options.target):
        code, content = _run(options)
    elif os.path.isdir(options.target):
        content = report_input.from_dumps(options.target)
    else:
        content = report_input.from_json(options.target, options.dump)
    if options.json:
        report_input.write_json(content, options.json)
    _write(options, content)
    return SCRIPT_FAILED if code else WRITTEN


def _is_data(target: str) -> bool:
    return os.path.isdir(target) or target.endswith(".json")


def _run(options: argparse.Namespace) -> Any:
    """(exit code of the script, content) of a run in a process of its own."""
    from tf_autofuse.cli import report_input

    script = child.Script.of(options)
    folder = tempfile.mkdtemp(prefix="tf_autofuse-report-")
    try:
        report, dumps = os.path.join(folder, "report.json"), os.path.join(folder, "dumps")
        code = child.run_script(
            script,
            ["--report", report, "--dump", dumps],
            {
                "DUMP_GE_GRAPH": "2",
                "DUMP_GRAPH_FORMAT": "air",
                "DUMP_GRAPH_LEVEL": "AutofuseOptimize_Entry|AutofuseOptimize_Exit",
            },
        )
        warnings: List[str] = []
        if code:
            warnings.append("The script ended with exit code {}.".format(code))
        if not os.path.exists(report):
            raise AutofuseError("{} left no report (exit code {})".format(script.name, code))
        return code, report_input.from_json(report, dumps, warnings)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _write(options: argparse.Namespace, content: Any) -> None:
    from tf_autofuse.report.page import render_page

    when = datetime.datetime.now().strftime("%Y-%m-%d %H:%M")
    subtitle = "tf_autofuse {}, {}, {}".format(tf_autofuse.__version__, flags.current().soc, when)
    title = os.path.basename(os.path.abspath(options.target)) or options.target
    page = render_page(content, title, subtitle, os.path.abspath(options.target))
    try:
        with open(options.out, "w", encoding="utf-8") as file:
            file.write(page)
    except OSError as error:
        raise AutofuseError("the page cannot be written: {}".format(error)) from error
    print("tf-autofuse: written to {}".format(options.out))
