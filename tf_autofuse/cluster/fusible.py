"""Judges single operators: may this node be part of a kernel at all?"""
from __future__ import annotations

import functools
from typing import Optional

from tf_autofuse.cluster.reasons import FuseDecision
from tf_autofuse.cluster.view import EXCLUDING_ATTRS, GraphView, ViewNode, read_attr
from tf_autofuse.loop.source import Operator, TensorInfo
from tf_autofuse.ops import EVERY as ALL_DTYPES
from tf_autofuse.ops import MOVE, OPS, VIEW

PLAIN_FORMATS = frozenset(("FORMAT_ND", "FORMAT_NCHW", "FORMAT_NHWC"))

MAX_RANK = 8

SILENT_TYPES = frozenset(
    ("Data", "Const", "Constant", "NetOutput", "NoOp", "Identity", "Variable", "AutofusedKernel",
     "AutofusedChoice")
    + ("_Arg", "_Retval", "_Send", "_Recv")
)
"""Types that compute nothing, or are fused already: they are not worth a line in the report."""


def judge(view: GraphView, node: ViewNode) -> FuseDecision:
    """Whether `node` can be fused with something, judged by itself."""
    info = OPS.get(node.type)
    if info is None:
        return FuseDecision.no("OP_UNKNOWN", "%s is not in the op table" % node.type)
    if not node.inputs or node.inputs[0] is None:
        return FuseDecision.no("SHAPE", "%s has an unconnected input" % node.name)
    if node.outputs and view.infos[(node.name, 0)].const is not None:
        return FuseDecision.no("SHAPE_MATH", "%s is a number that is known" % node.name)
    for problem in (_skipped(view, node), _attributes(node), _tensors(view, node)):
        if problem is not None:
            return problem
    return FuseDecision.yes()


def _skipped(view: GraphView, node: ViewNode) -> Optional[FuseDecision]:
    line = any(view.skips) and view.skips.matching(node.name, node.type, *OPS[node.type].tf)
    if not line:
        return None
    return FuseDecision.no("SCOPE", "%s is listed in the skip file as %s" % (node.name, line))


def saves_work(view: GraphView, operator: Operator) -> bool:
    """Whether fusing an operator gains something: views are free, and the framework folds math of
    scalar constants."""
    infos = [view.infos[ref] for ref in operator.inputs]
    folded = all(info.const is not None and not info.dims for info in infos)
    return OPS[operator.type].kind != VIEW and not folded


def _attributes(node: ViewNode) -> Optional[FuseDecision]:
    if read_attr(node.handle, "_autofuse_fed"):
        return FuseDecision.no("FED", "%s is fed" % node.name)
    for key in EXCLUDING_ATTRS:
        if read_attr(node.handle, key):
            return FuseDecision.no("SCOPE", "%s has %s set" % (node.name, key))
    device = str(read_attr(node.handle, "_tf_device") or "")
    if not _runs_kernels(device):
        return FuseDecision.no("DEVICE", "%s is placed on %s" % (node.name, device))
    return None


@functools.lru_cache(maxsize=1024)
def _runs_kernels(device: str) -> bool:
    """Devices without a type are ours to place; `:CPU:` is where TensorFlow runs the kernels."""
    upper = device.upper()
    kinds = ("GPU", "TPU", "XLA_CPU", "XLA_GPU")
    return not any(":%s:" % kind in upper or upper.startswith("/%s:" % kind) for kind in kinds)


def _is_shape_math(info: TensorInfo) -> bool:
    """Whether a tensor looks like a shape or a part of one: a few integers in at most one dim."""
    if info.dtype not in ("int32", "int64") or info.dims is None or len(info.dims) > 1:
        return False
    return all(0 <= size <= MAX_RANK for size in info.dims)


def _tensors(view: GraphView, node: ViewNode) -> Optional[FuseDecision]:
    info = OPS[node.type]
    refs = [ref for ref in node.inputs if ref is not None]
    first = view.infos[refs[min(info.first, len(refs) - 1)]]
    if first.dtype not in info.dtypes:
        return FuseDecision.no("DTYPE", "%s of %s" % (node.type, first.dtype))
    for output in node.outputs[: info.outputs]:
        if output.dtype not in ALL_DTYPES:
            return FuseDecision.no("DTYPE", "%s to %s" % (node.type, output.dtype))
    if any(port for port in node.consumers[info.outputs:]):
        return FuseDecision.no("MULTI_OUTPUT", "an output of %s that no kernel gives is used"
                               % node.name)
    if node.index in view.sizes:
        return FuseDecision.no("SHAPE_MATH", "%s finds out a size" % node.name)
    if info.kind == MOVE and _is_shape_math(node.outputs[0]):
        return FuseDecision.no("SHAPE_MATH", "%s moves a few integers" % node.name)
    for ref in refs:
        if view.infos[ref].dims is None:
            return FuseDecision.no("RANK", "%s:%d has unknown rank" % ref)
    data = [refs[port] for port in info.data_ports(len(refs))]
    known = [view.infos[ref].const is not None for ref in data]
    if not all(known) and all(
        view.nodes[view.index[ref[0]]].type in ("Const", "Constant") for ref in refs
    ):
        return FuseDecision.no("CONSTANT", "%s has only constant inputs" % node.name)
    for ref in [(node.name, 0)] + refs:
        layout = getattr(view.descs[ref].format, "name", str(view.descs[ref].format))
        if layout not in PLAIN_FORMATS:
            return FuseDecision.no("FORMAT", "%s:%d has format %s" % (ref + (layout,)))
    return None
