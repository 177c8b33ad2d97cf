"""``tf-autofuse run``: run an unchanged TensorFlow script with fused kernels."""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import Any, Dict, List, Optional

import tf_autofuse
from tf_autofuse import flags, standins
from tf_autofuse.cli import script
from tf_autofuse.cli.summary import summary_lines
from tf_autofuse.errors import AutofuseError

_EXAMPLES = """examples:
  tf-autofuse run train.py --epochs 1
  tf-autofuse run --report report.json --dump dumps -m package.train
  tf-autofuse run --flags "--enable_autofuse=true;--strict=true" train.py

exit code: that of the script; 2 bad input."""


def add_parser(commands: Any) -> None:
    """Add the command to the subparsers of ``tf-autofuse``."""
    parser = commands.add_parser(
        "run",
        help="run a script with fused kernels",
        usage="tf-autofuse run [options] (script.py | -m module) [arguments]",
        description="Runs a script, or a module with -m, as python would. NPU packages that are "
        "not installed are replaced by stand-ins.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--flags", metavar="STR", help="flags as in AUTOFUSE_FLAGS; they win over it"
    )
    parser.add_argument("--report", metavar="FILE", help="write the report as JSON")
    parser.add_argument("--dump", metavar="DIR", help="write GE graph dumps into this folder")
    parser.add_argument("--times", metavar="FILE", help="write how long every operator took (JSON)")
    parser.add_argument("--quiet", action="store_true", help="print no summary")
    parser.add_argument("target", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> int:
    """Run the script and say what was fused; the script's exit code."""
    target = options.target[1:] if options.target[:1] == ["--"] else options.target
    job = script.Job.parse(target)
    chosen = _chosen_flags(options)
    _prepare_dumps(options.dump)
    standins.offer()
    timer = _Timer() if options.times else None
    if chosen is not None:
        script.when_imported("tensorflow", lambda: tf_autofuse.enable(chosen))
    code = job.run()
    if timer is not None:
        _write_json(options.times, "times", [list(item) for item in timer.stop()])
    if chosen is not None:
        _finish(options)
    return code


def _chosen_flags(options: argparse.Namespace) -> Any:
    """What to give to `enable`; None when the user switched autofuse off. Raises FlagError."""
    flags.current()  # both variables must be right before the script starts
    in_environment = flags.parse_overrides(os.environ.get(flags.MAIN, ""))
    given: Dict[str, Any] = flags.parse_overrides(options.flags)
    on = given.get("enable_autofuse", in_environment.get("enable_autofuse"))
    if on is None:
        _say(
            options,
            "autofuse is on for this run; AUTOFUSE_FLAGS=--enable_autofuse=false turns it off",
        )
    elif not on:
        _say(options, "autofuse is off: --enable_autofuse=false")
        return None
    return dict(given, enable_autofuse=True)


def _prepare_dumps(folder: str) -> None:
    if not folder:
        return
    os.makedirs(folder, exist_ok=True)
    os.environ["DUMP_GRAPH_PATH"] = os.path.abspath(folder)
    os.environ.setdefault("DUMP_GE_GRAPH", "2")
    os.environ.setdefault("DUMP_GRAPH_FORMAT", "ge_proto|onnx|readable")


def _finish(options: argparse.Namespace) -> None:
    report = tf_autofuse.report()
    if options.report:
        _write_json(options.report, "report", report.to_dict(), indent=2)
    for line in summary_lines(report):
        _say(options, line)


class _Timer:
    """Times operators from the moment when the script has imported TensorFlow."""

    def __init__(self) -> None:
        self._timer: Any = None
        script.when_imported("tensorflow", self._start)

    def _start(self) -> None:
        from tf_autofuse.frontend.tensorflow.op_times import OpTimer

        self._timer = OpTimer()
        self._timer.start()

    def stop(self) -> List[Any]:
        return [] if self._timer is None else self._timer.stop()


def _write_json(path: str, what: str, plain: Any, indent: Optional[int] = None) -> None:
    try:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(plain, file, indent=indent)
            file.write("\n")
    except OSError as error:
        raise AutofuseError("the {} cannot be written: {}".format(what, error)) from error


def _say(options: argparse.Namespace, text: str) -> None:
    if not options.quiet:
        print("tf-autofuse: " + text, file=sys.stderr)
