"""What the page shows, as plain data: graphs with places, kernels with sources, reasons, totals."""

from __future__ import annotations

import os
import re
from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from tf_autofuse import flags, paths
from tf_autofuse.cluster.reasons import CODES
from tf_autofuse.ge.graph import GraphData
from tf_autofuse.ge.node import NodeData
from tf_autofuse.report.layout import place

MAX_GRAPHS = 24
"""Graphs in one page; the largest are kept."""

_MAX_SOURCE = 1 << 20
_FAILURES = ("BUILD", "REWRITE", "IMPORT", "INTERNAL")
_KEY = re.compile(r"[0-9a-f]{8,64}\Z")
_SOURCE_FILES = ("kernel.cpp", "no_ascendc.txt")
_LETTER = 6.6
_SHOWN_LETTERS = 26


class Pair(NamedTuple):
    """A graph before and after fusing; `members` maps an operator to the fused node it is in and
    `titles` a fused node to its name in the report."""

    name: str
    before: GraphData
    after: GraphData
    members: Mapping[str, str]
    titles: Mapping[str, str]


class Content(NamedTuple):
    """`kernels` and `unfused` are as in the JSON report, `warnings` sentences for the top."""

    kernels: Sequence[Dict[str, Any]]
    unfused: Sequence[Dict[str, Any]]
    pairs: Sequence[Pair]
    warnings: Sequence[str]


def page_data(content: Content) -> Dict[str, Any]:
    """{graphs, kernels, sources, reasons, groups}: what the script of the page works with.

    Kernels of equal structure have one source, by key.
    """
    numbers = {kernel["name"]: i for i, kernel in enumerate(content.kernels)}
    reasons = {entry["node"]: i for i, entry in enumerate(content.unfused)}
    return {
        "graphs": [
            {
                "name": pair.name,
                "before": _side(pair.before, pair.members, pair.titles, numbers, reasons),
                "after": _side(pair.after, {}, pair.titles, numbers, reasons),
            }
            for pair in shown_pairs(content.pairs)
        ],
        "kernels": list(content.kernels),
        "sources": {
            kernel["key"]: source_text(kernel)
            for kernel in {kernel["key"]: kernel for kernel in content.kernels}.values()
        },
        "reasons": [[entry["code"], entry["reason"]] for entry in content.unfused],
        "groups": [
            [[entry["node"], entry["op_type"], entry["reason"]] for entry in entries]
            for _, entries in grouped(content.unfused)
        ],
    }


def shown_pairs(pairs: Sequence[Pair]) -> List[Pair]:
    """Graphs with a kernel first, then by size; at most `MAX_GRAPHS`."""
    ranked = sorted(pairs, key=lambda pair: (not pair.members, -len(pair.before.nodes)))
    return ranked[:MAX_GRAPHS]


def grouped(unfused: Iterable[Dict[str, Any]]) -> List[Tuple[str, List[Dict[str, Any]]]]:
    """(code, entries): failures first, then the largest groups."""
    groups: Dict[str, List[Dict[str, Any]]] = {}
    for entry in unfused:
        groups.setdefault(entry["code"], []).append(entry)
    return sorted(groups.items(), key=lambda item: (item[0] not in _FAILURES, -len(item[1])))


def meaning(code: str) -> str:
    """The sentence that goes with a code; empty for a code of another version."""
    return CODES.get(code, "")


def problems(content: Content) -> List[str]:
    """Sentences for the top of the page: what was handed over, and what the numbers say."""
    found = list(content.warnings)
    if not content.kernels:
        found.append("Nothing was fused.")
    for code, entries in grouped(content.unfused):
        if code in _FAILURES:
            text = "{} operator(s) left alone because of a failure ({}): {}"
            found.append(text.format(len(entries), code, entries[0]["reason"]))
    for kernel in content.kernels:
        before, after = kernel["gm_bytes_unfused"], kernel["gm_bytes"]
        if before is not None and after is not None and after > before:
            found.append("{} moves more bytes than its operators did".format(kernel["name"]))
    hidden = len(content.pairs) - MAX_GRAPHS
    if hidden > 0:
        found.append("{} smaller graphs are not in the picture.".format(hidden))
    return found


def source_text(kernel: Mapping[str, Any]) -> Optional[str]:
    """The Ascend C text of a kernel, looked for by its key in the cache and the debug folder only.

    A path in a dump or in a JSON file is what somebody wrote there; it is never opened.
    """
    key = str(kernel.get("key") or "")
    if not _KEY.match(key):
        return None
    folder = os.path.dirname(str(kernel.get("source") or ""))
    shelf = os.path.join(paths.cache_dir(), "bundles")
    debug = os.path.join(flags.current().debug_dir or os.getcwd(), "autofuse_kernels")
    named = os.path.join(shelf, os.path.basename(os.path.dirname(folder)))
    for root in [named, debug] + _generators(shelf):
        for name in _SOURCE_FILES:
            path = os.path.join(root, key, name)
            if os.path.isfile(path) and os.path.getsize(path) <= _MAX_SOURCE:
                with open(path, encoding="utf-8", errors="replace") as file:
                    return file.read()
    return None


def _generators(shelf: str) -> List[str]:
    """Folders of bundles, the newest first."""
    try:
        with os.scandir(shelf) as entries:
            found = [(entry.stat().st_mtime, entry.path) for entry in entries if entry.is_dir()]
    except OSError:
        return []
    return [path for _, path in sorted(found, reverse=True)]


# ---- one side of a graph -----------------------------------------------------------------


def _side(
    graph: GraphData,
    members: Mapping[str, str],
    titles: Mapping[str, str],
    numbers: Mapping[str, int],
    reasons: Mapping[str, int],
) -> Dict[str, Any]:
    nodes = list(graph.nodes.values())
    index = {id(node): i for i, node in enumerate(nodes)}
    edges = [
        (index[id(edge[0])], i)
        for i, node in enumerate(nodes)
        for edge in node.inputs
        if edge is not None and id(edge[0]) in index
    ]
    edges += [
        (index[id(source)], i)
        for i, node in enumerate(nodes)
        for source in node.in_controls
        if id(source) in index
    ]
    edges = list(dict.fromkeys(edges))
    widths = [_width(node) for node in nodes]
    spots = place(widths, edges)
    kinds: Dict[str, int] = {}
    types = [kinds.setdefault(_shown_type(node), len(kinds)) for node in nodes]
    homes = [members.get(node.name, node.name) for node in nodes]
    return {
        "names": [node.name for node in nodes],
        "types": types,
        "kinds": list(kinds),
        "x": [round(x, 1) for x in spots.x],
        "y": [round(y, 1) for y in spots.y],
        "w": [round(width) for width in widths],
        "kernel": [numbers.get(titles.get(home, home), -1) for home in homes],
        "reason": [reasons.get(node.name, -1) for node in nodes],
        "outputs": [_outputs(node) for node in nodes],
        "edges": [end for edge in edges for end in edge],
    }


def _width(node: NodeData) -> float:
    name = min(len(node.name), _SHOWN_LETTERS) * 0.86
    return 24.0 + _LETTER * max(6.0, min(len(_shown_type(node)), _SHOWN_LETTERS) * 1.1, name)


def _shown_type(node: NodeData) -> str:
    original = node.attrs.get("original_type")
    return original if isinstance(original, str) and original else node.type


def _outputs(node: NodeData) -> str:
    parts = []
    for desc in node.output_descs:
        dims = ", ".join("?" if dim < 0 else str(dim) for dim in desc.shape.dims)
        parts.append("{} [{}]".format(desc.data_type.name[3:].lower(), dims))
    return "\n".join(parts)
