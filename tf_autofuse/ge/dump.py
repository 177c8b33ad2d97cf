"""Graph dumps under GE's names, driven by GE's environment variables.

DUMP_GE_GRAPH 1/2/3 switches them on and says how much they hold, DUMP_GRAPH_FORMAT is a list of
ge_proto, onnx and readable, DUMP_GRAPH_LEVEL selects stages, NPU_COLLECT_PATH, DUMP_GRAPH_PATH and
ASCEND_WORK_PATH the folder. Unlike GE, the stages of the autofuser are written at the default
level too, the folder follows the environment at every call, and a dump leaves the graph as it is.
"""

from __future__ import annotations

import itertools
import os
from typing import Any, Dict, Tuple

from tf_autofuse.ge import readable
from tf_autofuse.ge.dumpread import read_dump
from tf_autofuse.ge.graph import Graph, GraphData
from tf_autofuse.ge.onnxdump import LEVEL_ALL, LEVEL_NO_DATA, LEVEL_NO_DESC, graph_to_onnx
from tf_autofuse.ge.serialize import graph_to_model
from tf_autofuse.ge.textformat import to_text
from tf_autofuse.ge.types import DumpFormat
from tf_autofuse.locks import ForkLock
from tf_autofuse.log import warn_once

__all__ = ["dump_graph", "dump_directory", "content_level", "read_dump", "wanted_stage", "write"]

_NAMES: Dict[DumpFormat, Tuple[str, str]] = {
    DumpFormat.kTxt: ("ge_proto", "txt"),
    DumpFormat.kOnnx: ("ge_onnx", "pbtxt"),
    DumpFormat.kReadable: ("ge_readable", "txt"),
}
_FORMAT_WORDS = {
    "ge_proto": DumpFormat.kTxt,
    "onnx": DumpFormat.kOnnx,
    "readable": DumpFormat.kReadable,
}
_DEFAULT_FORMATS = "ge_proto|onnx"
AIR = "air"
"""A word of DUMP_GRAPH_FORMAT that GE does not have: binary models, quick to write and to read."""

_MAIN_STAGES = frozenset(
    (
        "PreRunBegin",
        "PreRunAfterNormalizeGraph",
        "AfterInfershape",
        "PreRunAfterPrepare",
        "PreRunAfterOptimizeOriginalGraph",
        "PreRunAfterOptimizeAfterStage1",
        "PreRunAfterOptimizeSubgraph",
        "PreRunAfterOptimizeGraphBeforeBuild",
        "Build",
        "ComputeGraphBeforeLowering",
        "ExeGraphBeforeOptimize",
        "ExecuteGraphAfterSplit",
    )
)
_MAIN_PARTS = (
    "AutoFuseBeforeOptimize",
    "AutoFuseAfterOptimize",
    "RunCustomPass",
    "AutofuseOptimize",
    "AutoFuser_",
    "Autofuser_",
)
_INNER_PARTS = ("partition", "optimizesubgraph", "aicpu", "sub_graph")
_OPTION_ATTRS = ("GlobalOptions", "GraphOptions", "SessionOptions")
_CONST_TYPES = ("Const", "Constant")
_DEVICE_ID = 0

_counters: Dict[DumpFormat, int] = {}
_air_numbers = itertools.count()
_counter_lock = ForkLock()


def content_level() -> int:
    """DUMP_GE_GRAPH as 1 (all), 2 (no weights), 3 (onnx without descriptions); 0 when off."""
    text = os.environ.get("DUMP_GE_GRAPH", "")
    return int(text) if text in ("1", "2", "3") else 0


def wanted_stage(suffix: str) -> bool:
    """Whether DUMP_GRAPH_LEVEL selects the stage `suffix`."""
    level = os.environ.get("DUMP_GRAPH_LEVEL", "") or "2"
    if level == "1":
        lower = suffix.lower()
        return not any(part in lower for part in _INNER_PARTS)
    if level == "2":
        return suffix in _MAIN_STAGES or any(part in suffix for part in _MAIN_PARTS)
    if level == "3":
        return suffix == "Build"
    if level == "4":
        return suffix == "PreRunBegin"
    if level.isdigit():
        return False
    return any(part and part in suffix for part in level.split("|"))


def dump_directory() -> str:
    """The folder dumps go to now; not created here."""
    process = "{}_{}".format(os.getpid(), _DEVICE_ID)
    collect = os.environ.get("NPU_COLLECT_PATH")
    if collect:
        return os.path.join(collect, "extra-info", "graph", process)
    path = os.environ.get("DUMP_GRAPH_PATH")
    if path:
        return os.path.join(path, "pid_{}_deviceid_{}".format(os.getpid(), _DEVICE_ID))
    return os.environ.get("ASCEND_WORK_PATH") or "."


def dump_graph(graph: Graph, suffix: str) -> None:
    """Dump `graph` for the stage `suffix` if the environment asks for it.

    A file that cannot be written costs a warning, not the model.
    """
    level = content_level()
    if not level or not wanted_stage(suffix):
        return
    words = os.environ.get("DUMP_GRAPH_FORMAT", "") or _DEFAULT_FORMATS
    for word in words.split("|"):
        if word.strip().lower() == AIR:
            write_air(graph, suffix)
        fmt = _FORMAT_WORDS.get(word.strip().lower())
        if fmt is not None:
            text = _render(graph._graph, fmt, level, "GE")
            try:
                write(graph, fmt, suffix, text)
            except OSError as error:
                warn_once(("dump", error.errno), "a graph dump is missing: {}".format(error))


def render(graph: Graph, fmt: DumpFormat) -> str:
    """The text `Graph.dump_to_stream` gives: no weights, no onnx attributes, no option maps."""
    if fmt == DumpFormat.kTxt:
        return _proto_text(graph._graph, LEVEL_NO_DATA, options=False)
    return _render(graph._graph, DumpFormat(fmt), LEVEL_NO_DESC, graph.name)


def _render(data: GraphData, fmt: DumpFormat, level: int, producer: str) -> str:
    if fmt == DumpFormat.kReadable:
        return readable.render(data)
    if fmt == DumpFormat.kOnnx:
        return to_text(graph_to_onnx(data, level, producer))
    return _proto_text(data, level, options=level in (LEVEL_ALL, LEVEL_NO_DATA))


def _proto_text(data: GraphData, level: int, options: bool) -> str:
    model = graph_to_model(data, for_text=True)
    if level != LEVEL_ALL:
        _drop_weights(model)
    if options:
        for name in _OPTION_ATTRS:
            if name not in model.graph[0].attr:
                model.graph[0].attr[name].func.name = name
    return to_text(model)


def _drop_weights(model: Any) -> None:
    for graph in model.graph:
        for op in graph.op:
            if op.type in _CONST_TYPES and "value" in op.attr:
                del op.attr["value"]


def write_air(graph: Graph, suffix: str) -> str:
    """Write one binary dump with everything in it; returns its path."""
    with _counter_lock:
        number = next(_air_numbers)
    folder = dump_directory()
    os.makedirs(folder, mode=0o700, exist_ok=True)
    name = "ge_air_{:08d}_graph_{}_{}.air".format(number, graph._graph.root.graph_id, suffix)
    path = os.path.join(folder, name)
    graph.save_to_air(path)
    os.chmod(path, 0o600)
    return path


def write(graph: Graph, fmt: DumpFormat, suffix: str, text: str) -> str:
    """Write one dump file, readable by its owner only; returns its path. OSError: not written."""
    with _counter_lock:
        number = _counters.get(fmt, 0)
        _counters[fmt] = number + 1
    prefix, extension = _NAMES[DumpFormat(fmt)]
    folder = dump_directory()
    os.makedirs(folder, mode=0o700, exist_ok=True)
    graph_id = graph._graph.root.graph_id
    name = "{}_{:08d}_graph_{}_{}.{}".format(prefix, number, graph_id, suffix, extension)
    path = os.path.join(folder, name)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except OSError:  # no half of it
        os.unlink(path)
        raise
    return path
