"""``tf-autofuse fuse``: fuse a model offline and write its kernels for a chip."""

from __future__ import annotations

import argparse
import json
import os
import re
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from tf_autofuse import flags
from tf_autofuse.build.trust import why_untrusted
from tf_autofuse.cli.summary import summary_lines
from tf_autofuse.errors import AutofuseError
from tf_autofuse.runtime.spec_text import SpecText

FUSED, NOTHING = 0, 1
GRAPH_DUMPS = ("ge_proto", "ge_onnx")
FUSED_TYPE = "AutofusedKernel"
_KEY = re.compile(r"[0-9a-f]{32}\Z")
Types = Dict[Tuple[str, str], str]

_EXAMPLES = """examples:
  tf-autofuse fuse saved_model/ --soc Ascend910B2 -o out
  tf-autofuse fuse ge_proto_00000000_graph_0_PreRunBegin.txt --soc Ascend950 -o out --json

exit code: 0 something fused; 1 nothing fused; 2 bad input."""


def add_parser(commands: Any) -> None:
    """Add the command to the subparsers of ``tf-autofuse``."""
    parser = commands.add_parser(
        "fuse",
        help="fuse a model offline",
        description="Fuses a SavedModel, a frozen .pb, a GraphDef text (.pbtxt), a GE dump "
        "(ge_proto_*.txt, ge_onnx_*.pbtxt) or an .air file, and writes the kernels and the fused "
        "graph.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", metavar="MODEL", help="folder or file of the model")
    parser.add_argument("--soc", default="Ascend910B", help="chip, as npu-smi shows it")
    parser.add_argument("-o", "--out", required=True, metavar="DIR", help="where to write")
    parser.add_argument(
        "--format",
        choices=("bundle", "opproject"),
        default="bundle",
        help="kernel bundles for the operator AutofusedKernel, or a classic op project",
    )
    parser.add_argument(
        "--output", action="append", default=[], metavar="TENSOR",
        help="a tensor of a TensorFlow model that must be kept; may be given several times",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.set_defaults(execute=execute)


class Loaded(NamedTuple):
    """The GE graph, and for TensorFlow models what the export needs."""

    graph: Any
    record: Optional[Any]


def execute(options: argparse.Namespace) -> int:
    """Fuse and write; raises AutofuseError for a model that cannot be read."""
    from tf_autofuse.bundle import device
    from tf_autofuse.report.model import RECORDER

    soc = device.chip(options.soc)
    flags.set_overrides({"enable_autofuse": True, "soc": soc.name})
    RECORDER.clear()
    try:
        loaded = _load(options.model, options.output)
        _fuse(loaded.graph)
        os.makedirs(options.out, exist_ok=True)
        nodes = _fused_nodes(loaded.graph)
        types: Types = {}
        if options.format == "opproject":
            from tf_autofuse.bundle.opproject import write_project

            types = write_project(options.out, nodes, options.soc)
        else:
            _write_bundles(options.out, nodes, options.soc)
        _write_graphs(options.out, loaded, types)
        _tell(options, RECORDER.report({}))
    finally:
        flags.set_overrides(None)
    return FUSED if nodes else NOTHING


def _tell(options: argparse.Namespace, report: Any) -> None:
    if options.json:
        print(json.dumps(dict(report.to_dict(), out=options.out), indent=2))
        return
    for line in summary_lines(report) + ["written to {}".format(options.out)]:
        print("tf-autofuse: " + line)


def _load(path: str, outputs: List[str]) -> Loaded:
    if not os.path.exists(path):
        raise AutofuseError("no such model: {}".format(path))
    name = os.path.basename(path)
    if name.endswith((".air", ".txt")) or name.startswith(GRAPH_DUMPS):
        from tf_autofuse.ge.dumpread import read_dump

        return Loaded(read_dump(path), None)
    try:
        from tf_autofuse.frontend.tensorflow.importer import import_graph
        from tf_autofuse.frontend.tensorflow.models import load_model
    except ImportError as error:
        raise AutofuseError("this kind of model needs TensorFlow: {}".format(error)) from None
    model = load_model(path, outputs)
    return Loaded(*import_graph(model.graph_def, model.info))


def _fuse(graph: Any) -> None:
    """Run the pass over the root and every subgraph, as GE does."""
    from tf_autofuse.autofuse.pipeline import fuse_graph
    from tf_autofuse.ge.passes import PassContext

    for part in [graph] + graph.get_all_subgraphs():
        fuse_graph(part, PassContext("TfAutofusePass"), for_chip=True)


def _fused_nodes(graph: Any) -> List[Any]:
    nodes = [node for node in graph.get_all_nodes() if node.type == FUSED_TYPE]
    for node in nodes:
        _check_fused(node)
    return nodes


def _check_fused(node: Any) -> None:
    """Refuse a fused node that the model brought along unless it is as we make them: its key
    becomes a path, its spec a part of sources, and its bundle is copied."""
    try:
        key, spec, folder = (node.get_attr(name) for name in ("kernel_key", "spec", "bundle_dir"))
        good = _KEY.match(key) and SpecText.parse(spec) and isinstance(folder, str)
    except (RuntimeError, TypeError, AutofuseError):
        good = None
    if not good:
        text = "the model is fused already, in no way that can be used"
        raise AutofuseError(text, node=node.name)
    problem = why_untrusted(folder)
    if problem:
        raise AutofuseError("the bundle of a kernel is not used: " + problem, node=node.name)


def _write_bundles(out: str, nodes: List[Any], soc: str) -> None:
    """Bundles under DIR/kernels; the nodes then name these instead of the cache's."""
    from tf_autofuse import bundle

    written: Dict[str, str] = {}
    for node in nodes:
        key = node.get_attr("kernel_key")
        if key not in written:
            written[key] = os.path.join(os.path.abspath(out), "kernels", key)
            bundle.copy_bundle(node.get_attr("bundle_dir"), written[key])
        bundle.complete(written[key], node.get_attr("spec"), soc)
        node.set_attr("bundle_dir", written[key])
    bundle.remove_others(os.path.join(out, "kernels"), list(written))


def _write_graphs(out: str, loaded: Loaded, types: Types) -> None:
    """The fused graph as .air, as text without weights, and as GraphDef if it came as one.

    `types` gives the operator type by kernel key and spec; the others stay AutofusedKernel.
    """
    from tf_autofuse.ge.reading import CONST_TYPES, saved_model
    from tf_autofuse.ge.textformat import to_text

    model = saved_model(loaded.graph)
    ops = [op for graph in model.graph for op in graph.op]
    for op in ops:
        if op.type == FUSED_TYPE and types:
            op.type = types[op.attr["kernel_key"].s.decode(), op.attr["spec"].s.decode()]
            for note in [key for key in op.attr if key.startswith("_ir_")]:
                del op.attr[note]
    with open(os.path.join(out, "graph.air"), "wb") as binary:
        binary.write(model.SerializeToString())
    for op in ops:
        if op.type in CONST_TYPES and "value" in op.attr:
            del op.attr["value"]
    with open(os.path.join(out, "graph.txt"), "w", encoding="utf-8") as file:
        file.write(to_text(model))
    if loaded.record is not None:
        from tf_autofuse.frontend.tensorflow.exporter import export_graph

        with open(os.path.join(out, "graph.pb"), "wb") as binary:
            binary.write(export_graph(loaded.graph, loaded.record))
