"""``tf-autofuse explain``: what every operator is fused with, and why not with its neighbours."""

from __future__ import annotations

import argparse
import difflib
import json
import os
import shutil
import sys
import tempfile
from typing import Any, Dict, List, NamedTuple, Tuple

from tf_autofuse.cli import child
from tf_autofuse.cli.style import paint
from tf_autofuse.errors import AutofuseError, DumpError

EXPLAINED, SCRIPT_FAILED = 0, 1
DUMP_ENDS = (".txt", ".pbtxt", ".air")

_EXAMPLES = """examples:
  tf-autofuse explain train.py --node dense/Relu -- --epochs 1
  tf-autofuse explain dumps/
  tf-autofuse explain ge_proto_00000000_graph_0_PreRunBegin.txt --json

exit code: 0 explained; 1 explained, but the script failed; 2 bad input, or no such node."""


class Explained(NamedTuple):
    """The stories of one graph."""

    graph: str
    stories: List[Any]


def add_parser(commands: Any) -> None:
    """Add the command to the subparsers of ``tf-autofuse``."""
    parser = commands.add_parser(
        "explain",
        help="say what operators are fused with, and why not with others",
        description="For every operator: what it is fused with, which neighbours it could not "
        "join, and why. TARGET is a script, which is run (its arguments follow --), a folder of "
        "graph dumps, or one dump. A dump without constants (DUMP_GE_GRAPH above 1) has no "
        "reduction axes.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("target", metavar="TARGET", help="script, dump folder or dump")
    parser.add_argument("--node", metavar="NAME", help="only this operator")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    child.add_script_options(parser)
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> int:
    """Gather, choose, print; the exit code of the module's text."""
    code, graphs = 0, []
    if not options.module and os.path.isdir(options.target):
        graphs = _of_folder(options.target)
    elif not options.module and options.target.endswith(DUMP_ENDS):
        graphs = _of_file(options.target)
    else:
        code, graphs = _run(options)
    if options.node:
        graphs = _only(graphs, options.node)
    _print(graphs, options)
    return SCRIPT_FAILED if code else EXPLAINED


def _run(options: argparse.Namespace) -> Tuple[int, List[Explained]]:
    """(exit code of the script, stories) of a run in a process of its own."""
    script = child.Script.of(options)
    folder = tempfile.mkdtemp(prefix="tf_autofuse-explain-")
    environment = {"DUMP_GE_GRAPH": "1", "DUMP_GRAPH_FORMAT": "ge_proto", "DUMP_GRAPH_LEVEL": "2"}
    try:
        output = sys.stderr if options.json else None
        code = child.run_script(script, ["--dump", folder], environment, output)
        return code, _of_folder(folder)
    except DumpError:
        text = "{} made no graph (exit code {})".format(script.name, code)
        raise AutofuseError(text) from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _of_folder(folder: str) -> List[Explained]:
    from tf_autofuse.verify import graph_pairs

    found = [(pair.name, pair.before) for pair in graph_pairs(folder) if pair.before is not None]
    if not found:
        raise DumpError("no graph dumps from before fusing", path=folder)
    # TensorFlow optimizes a graph more than once; what is fused already has nothing new to say.
    new = [(name, data) for name, data in found
           if all(node.type != "AutofusedKernel" for node in data.nodes.values())]
    return [_explained(name, data) for name, data in new or found]


def _of_file(path: str) -> List[Explained]:
    from tf_autofuse.ge.dumpread import read_dump

    root = read_dump(path)
    return [_explained(part.name, part._graph) for part in [root] + root.get_all_subgraphs()]


def _explained(name: str, data: Any) -> Explained:
    from tf_autofuse.cluster.explain import explain
    from tf_autofuse.cluster.view import GraphView
    from tf_autofuse.ge.graph import Graph

    return Explained(name, explain(GraphView(Graph._wrap(data))))


def _only(graphs: List[Explained], node: str) -> List[Explained]:
    """The stories of one node; AutofuseError, with near names, when no graph has it."""
    chosen = [Explained(graph.graph, [story for story in graph.stories if story.node == node])
              for graph in graphs]
    chosen = [graph for graph in chosen if graph.stories]
    if not chosen:
        names = sorted({story.node for graph in graphs for story in graph.stories})
        near = difflib.get_close_matches(node, names, 3, 0.4)
        hint = "; near it: {}".format(", ".join(near)) if near else ""
        raise AutofuseError("no operator {} that computes something{}".format(node, hint))
    return chosen


def _print(graphs: List[Explained], options: argparse.Namespace) -> None:
    if options.json:
        plain = [{"graph": graph.graph, "nodes": [story.to_dict() for story in graph.stories]}
                 for graph in graphs]
        print(json.dumps({"graphs": plain}, indent=2))
        return
    for graph in graphs:
        print(paint("graph " + graph.graph, "bold"))
        kernels: Dict[Tuple[str, ...], int] = {}
        for story in graph.stories:
            if story.kernel:
                kernels.setdefault(story.kernel, len(kernels) + 1)
        for members, number in kernels.items():
            print("  kernel {}: {}".format(number, " ".join(members)))
        for story in graph.stories:
            for line in _lines(story, kernels, bool(options.node)):
                print("  " + line)


def _lines(story: Any, kernels: Dict[Tuple[str, ...], int], in_full: bool) -> List[str]:
    """A node and its neighbours in other kernels; nothing for one that is wholly fused, unless it
    was asked for."""
    if story.kernel and not story.apart and not in_full:
        return []
    head = "{} ({})".format(paint(story.node, "bold"), story.type)
    if story.kernel:
        lines = ["{}: in kernel {}".format(head, kernels[story.kernel])]
    else:
        lines = ["{}: alone, {} {}".format(head, paint(story.code, "yellow"), story.reason)]
    for near in story.apart:
        lines.append("    {} {} ({}): {} {}".format(
            near.relation, near.name, near.type, paint(near.code, "yellow"), near.reason))
    return lines
