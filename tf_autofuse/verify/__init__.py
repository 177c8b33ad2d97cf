"""Checking that graphs before and after fusing belong together."""

from tf_autofuse.verify.dumps import GraphPair, graph_pairs, verify_dumps
from tf_autofuse.verify.result import FusedNode, VerifyResult, render_json, render_text

__all__ = [
    "FusedNode",
    "GraphPair",
    "VerifyResult",
    "graph_pairs",
    "render_json",
    "render_text",
    "verify_dumps",
]
