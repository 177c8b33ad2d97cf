"""Finding the graphs before and after fusing in a dump folder."""

from __future__ import annotations

import os
import re
from typing import Dict, Iterator, List, NamedTuple, Optional, Tuple

from tf_autofuse.errors import DumpError
from tf_autofuse.ge.dump import read_dump
from tf_autofuse.ge.graph import GraphData
from tf_autofuse.ge.serialize import family
from tf_autofuse.verify.result import VerifyResult
from tf_autofuse.verify.structure import check_pair

_FILE = re.compile(r"ge_(proto|onnx|air)_(\d+)_(?:aclop_)?graph_(\d+)_(.+)\.(?:txt|pbtxt|air)$")
# Stage before and stage after, the autofuser's own first; GE itself writes the second pair.
_STAGES = (
    ("AutofuseOptimize_Entry", "AutofuseOptimize_Exit"),
    ("PreRunBegin", "RunCustomPassAfterBuiltinFusionPass"),
)
# What a line of protobuf text may be: `key: value`, `key {`, `}` or nothing.
_LINE = re.compile(r'\s*(?:(\w+ \{)|(\})|\w+: (?:"(?:[^"\\\n]|\\.)*"|[-+.\w]+))?$')


class DumpFile(NamedTuple):
    """One dump file by the parts of its name."""

    path: str
    format: str
    number: int
    graph_id: int
    suffix: str


class GraphPair(NamedTuple):
    """The graphs of one name; None on the side where there is none."""

    name: str
    before: Optional[GraphData]
    after: Optional[GraphData]


def verify_dumps(directory: str) -> VerifyResult:
    """Compare the graphs before and after fusing in `directory` and the folders below it.

    DumpError with path and line for a damaged file, OSError when the folder cannot be read.
    """
    result = VerifyResult()
    groups = _find(directory)
    if not groups:
        result.problems.append("no graph dump in {}".format(directory))
    for (_, graph_id), files in sorted(groups.items()):
        chosen = _choose(files)
        if chosen is None:
            where = os.path.dirname(files[0].path)
            text = "graph {} in {} has no dumps from before and after fusing"
            result.problems.append(text.format(graph_id, where))
            chosen = ([], [])
        used = [file for side in chosen for file in side]
        for file in files:
            if file not in used and file.format != "air":
                check_text(file.path)
        if used:
            _compare(chosen, result)
    return result


def _find(directory: str) -> Dict[Tuple[str, int], List[DumpFile]]:
    """Dump files by folder and graph id, in the order of writing."""
    if not os.path.isdir(directory):
        raise NotADirectoryError("{} is no folder".format(directory))
    groups: Dict[Tuple[str, int], List[DumpFile]] = {}
    for folder, _, names in os.walk(directory):
        for name in names:
            match = _FILE.match(name)
            if match:
                kind, number, graph_id, suffix = match.groups()
                path = os.path.join(folder, name)
                file = DumpFile(path, kind, int(number), int(graph_id), suffix)
                groups.setdefault((folder, file.graph_id), []).append(file)
    for files in groups.values():
        files.sort(key=lambda file: (file.format, file.number))
    return groups


def _choose(files: List[DumpFile]) -> Optional[Tuple[List[DumpFile], List[DumpFile]]]:
    """(files before, files after) of the best pair of stages there is, in the best format."""
    for start, end in _STAGES:
        for kind in ("air", "proto", "onnx"):
            sides = [
                [file for file in files if file.format == kind and _is_stage(file.suffix, stage)]
                for stage in (start, end)
            ]
            if all(sides):
                return sides[0], sides[1]
    return None


def _is_stage(suffix: str, stage: str) -> bool:
    return suffix in (stage, stage + "_Subgraph")


def graph_pairs(directory: str) -> List[GraphPair]:
    """All graphs before and after fusing that are dumped in `directory` and the folders below it.

    DumpError for a damaged file, OSError when the folder cannot be read. The graphs of a family
    (root and subgraphs) follow each other.
    """
    pairs: List[GraphPair] = []
    for _, files in sorted(_find(directory).items()):
        chosen = _choose(files)
        if chosen is not None:
            pairs += _pair_up(chosen)
    return pairs


def _pair_up(chosen: Tuple[List[DumpFile], List[DumpFile]]) -> List[GraphPair]:
    """The first graph of each name before, and the last of it after."""
    before: Dict[str, GraphData] = {}
    after: Dict[str, GraphData] = {}
    for side, files, overwrite in ((before, chosen[0], False), (after, chosen[1], True)):
        for file in files:
            _merge(side, family(read_dump(file.path)._graph), overwrite)
    names = list(before) + [name for name in after if name not in before]
    return [GraphPair(name, before.get(name), after.get(name)) for name in names]


def _compare(chosen: Tuple[List[DumpFile], List[DumpFile]], result: VerifyResult) -> None:
    files = sorted(chosen[0] + chosen[1], key=lambda file: file.number)
    result.files.extend(file.path for file in files)
    for name, before, after in _pair_up(chosen):
        if after is None:
            result.problems.append("graph {} is missing after fusing".format(name))
        elif before is None:
            result.problems.append("graph {} came from nowhere".format(name))
        else:
            check_pair(before, after, result)


def _merge(into: Dict[str, GraphData], graphs: List[GraphData], overwrite: bool) -> None:
    for graph in graphs:
        if overwrite or graph.name not in into:
            into[graph.name] = graph


def check_text(path: str) -> None:
    """Look over protobuf text without reading it in: DumpError for cut off or foreign text."""
    depth = 0
    number = 0
    for number, line in _lines(path):
        match = _LINE.match(line)
        if match is None:
            raise DumpError("not protobuf text", path=path, line=number)
        depth += bool(match.group(1)) - bool(match.group(2))
        if depth < 0:
            raise DumpError("unmatched }", path=path, line=number)
    if depth or not number:
        raise DumpError("the file ends too early", path=path, line=number or 1)


def _lines(path: str) -> Iterator[Tuple[int, str]]:
    with open(path, encoding="latin-1", newline="\n") as file:
        yield from enumerate(file, 1)
