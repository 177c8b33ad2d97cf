"""What a report page is made from: JSON reports and graph dumps, checked as they are read."""

from __future__ import annotations

import json
import os
from typing import Any, Dict, List, Mapping, Optional, Sequence

from tf_autofuse.errors import AutofuseError, DumpError
from tf_autofuse.ge.graph import Graph, GraphData
from tf_autofuse.ge.node import NodeData
from tf_autofuse.ge.tensor import TensorDesc
from tf_autofuse.paths import read_text
from tf_autofuse.report.document import Content, Pair
from tf_autofuse.verify import graph_pairs, verify_dumps
from tf_autofuse.verify.structure import FUSED_TYPE, original_names, original_types, title

_TEXTS = {"kernels": ("name", "key", "source"), "unfused": ("node", "op_type", "code", "reason")}
_NO_REPORT = (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError)
_FROM_DUMP = "Reasons are worked out from the dump, which may hold no constants."


def from_json(path: str, dumps: Optional[str], warnings: Sequence[str] = ()) -> Content:
    """A JSON report, with the graphs of `dumps`. AutofuseError when it is none."""
    try:
        plain = json.loads(read_text(path))
        kernels = [_kernel(entry) for entry in plain["kernels"]]
        unfused = [_texts(entry, "unfused") for entry in plain["unfused"]]
    except _NO_REPORT as error:
        text = "{} is no report of tf-autofuse: {!r}".format(path, error)
        raise AutofuseError(text) from None
    pairs = _pairs(dumps) if dumps and os.path.isdir(dumps) else []
    return Content(kernels, unfused, pairs, list(warnings))


def write_json(content: Content, path: str) -> None:
    """Kernels and operators left alone, as ``tf-autofuse run --report`` writes them."""
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"kernels": content.kernels, "unfused": content.unfused}, file, indent=2)
        file.write("\n")


def from_dumps(folder: str) -> Content:
    """Kernels and reasons as far as graph dumps tell. DumpError for a damaged file."""
    pairs = _pairs(folder)
    if not pairs:
        raise DumpError("no graph dumps from before and after fusing", path=folder)
    kernels = [
        _kernel_of_node(node, pair)
        for pair in pairs
        for node in pair.after.ordered()
        if node.name in pair.titles
    ]
    unfused = [entry for pair in pairs for entry in _reasons(pair)]
    warnings = list(verify_dumps(folder).problems)
    return Content(kernels, unfused, pairs, warnings + ([_FROM_DUMP] if unfused else []))


def _kernel(entry: Mapping[str, Any]) -> Dict[str, Any]:
    """A kernel entry with every field of its type; ValueError, KeyError or TypeError if it is not.

    Reports of older versions have neither times nor tilings.
    """
    kernel: Dict[str, Any] = dict(_texts(entry, "kernels"))
    for key in ("op_names", "op_types", "tiling"):
        kernel[key] = [str(word) for word in entry.get(key, ())]
    for key in ("gm_bytes", "gm_bytes_unfused", "gm_lower_bound"):
        kernel[key] = None if entry[key] is None else int(entry[key])
    for side in ("inputs", "outputs"):
        kernel[side] = [_tensor(tensor) for tensor in entry[side]]
    kernel["calls"], kernel["nanos"] = int(entry["calls"]), int(entry.get("nanos", 0))
    if len(kernel["op_names"]) != len(kernel["op_types"]):
        raise ValueError("{}: op_names and op_types differ in length".format(kernel["name"]))
    return kernel


def _tensor(tensor: Mapping[str, Any]) -> Dict[str, Any]:
    shape = [None if dim is None else int(dim) for dim in tensor["shape"]]
    return {"name": str(tensor["name"]), "dtype": str(tensor["dtype"]), "shape": shape}


def _texts(entry: Mapping[str, Any], kind: str) -> Dict[str, str]:
    return {key: str(entry[key]) for key in _TEXTS[kind]}


def _pairs(folder: str) -> List[Pair]:
    return [
        _pair(found.name, found.before, found.after)
        for found in graph_pairs(folder)
        if found.before is not None and found.after is not None
    ]


def _pair(name: str, before: GraphData, after: GraphData) -> Pair:
    members: Dict[str, str] = {}
    titles: Dict[str, str] = {}
    for node in after.nodes.values():
        names = original_names(node)
        if node.name in before.nodes or not (names or node.type == FUSED_TYPE):
            continue
        titles[node.name] = title(node)
        members.update({member: node.name for member in names if member in before.nodes})
    return Pair(name, before, after, members, titles)


def _kernel_of_node(node: NodeData, pair: Pair) -> Dict[str, Any]:
    inside = [pair.before.nodes[name] for name, home in pair.members.items() if home == node.name]
    descs = [desc for member in inside for desc in member.input_descs + member.output_descs]
    key = node.attrs.get("kernel_key")
    moved = _bytes(node.input_descs + node.output_descs)
    return {
        "name": pair.titles[node.name],
        "key": key if isinstance(key, str) else "",
        "source": "",
        "op_names": original_names(node),
        "op_types": original_types(node),
        "inputs": [_end(edge, desc) for edge, desc in zip(node.inputs, node.input_descs)],
        "outputs": [_end((node, i), desc) for i, desc in enumerate(node.output_descs)],
        "gm_bytes": moved,
        "gm_bytes_unfused": _bytes(descs),
        "gm_lower_bound": moved,
        "calls": 0,
        "nanos": 0,
        "tiling": [],
    }


def _end(edge: Any, desc: TensorDesc) -> Dict[str, Any]:
    name = "{}:{}".format(edge[0].name, edge[1]) if edge else ""
    shape = [None if dim < 0 else dim for dim in desc.shape.dims]
    return {"name": name, "dtype": desc.data_type.name[3:].lower(), "shape": shape}


def _bytes(descs: Sequence[TensorDesc]) -> Optional[int]:
    """Bytes of tensors; None when a size or a type is unknown."""
    from tf_autofuse.ge.types import NUMPY_OF

    total = 0
    for desc in descs:
        size = desc.shape.get_shape_size()
        kind = NUMPY_OF.get(desc.data_type)
        if size < 0 or kind is None:
            return None
        total += size * kind.itemsize
    return total


def _reasons(pair: Pair) -> List[Dict[str, str]]:
    """Why operators of a dumped graph are not in a kernel."""
    from tf_autofuse.cluster.clusterer import find_clusters
    from tf_autofuse.cluster.view import GraphView

    view = GraphView(Graph._wrap(pair.before))
    return [
        {
            "node": view.nodes[i].name,
            "op_type": view.nodes[i].type,
            "code": decision.code,
            "reason": decision.reason,
        }
        for i, decision in sorted(find_clusters(view).alone.items())
        if view.nodes[i].name not in pair.members
    ]
