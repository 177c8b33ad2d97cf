"""Operators that scripts call by hand."""

from npu_bridge.estimator.npu_unary_ops import fast_gelu, gelu

__all__ = ["fast_gelu", "gelu"]
