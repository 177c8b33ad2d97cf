"""Base class and stages."""
from enum import Enum


class PassStage(str, Enum):
    """When a pass runs."""

    BEFORE_INFER_SHAPE = "BeforeInferShape"
    AFTER_INFER_SHAPE = "AfterInferShape"
    AFTER_BUILTIN_FUSION_PASS = "AfterBuiltinFusionPass"
    AFTER_ORIGIN_GRAPH_OPTIMIZE = "AfterOriginGraphOptimize"


class FusionBasePass:
    """A pass that rewrites a graph itself."""

    def run(self, graph, context):
        raise NotImplementedError("FusionBasePass.run must be implemented")
