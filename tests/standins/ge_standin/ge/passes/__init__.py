"""Fusion passes; every name is imported when it is first asked for."""
import importlib

_EXPORTS = {
    "FusionBasePass": ".base",
    "PassStage": ".base",
    "PassContext": ".context",
    "FuseCheckResult": ".inspector",
    "can_fuse": ".inspector",
    "report_fuse": ".inspector",
    "register_fusion_pass": ".registry",
    "SubgraphBoundary": ".rewriter",
    "SubgraphInput": ".rewriter",
    "SubgraphOutput": ".rewriter",
    "SubgraphRewriter": ".rewriter",
}
__all__ = list(_EXPORTS)


def __getattr__(name):
    if name not in _EXPORTS:
        raise AttributeError("module {!r} has no attribute {!r}".format(__name__, name))
    value = getattr(importlib.import_module(_EXPORTS[name], __name__), name)
    globals()[name] = value
    return value
