"""The GE Python face a graph belongs to: the real `ge` package, the host's own, or the bridge's."""
from __future__ import annotations

import importlib
import os
import tempfile
from types import SimpleNamespace
from typing import Any

from tf_autofuse.ge.builder import GraphBuilder
from tf_autofuse.ge.reading import HOST_PACKAGE, is_host

LEGACY_FACE = "tf_autofuse.runtime.legacy_ge"


def is_legacy(graph: Any) -> bool:
    """True for graphs of a GE without Python passes, which the bridge hands over."""
    return type(graph).__module__ == LEGACY_FACE


def api_of(graph: Any) -> SimpleNamespace:
    """Rewriting classes that go with `graph`."""
    package = HOST_PACKAGE + ".passes" if is_host(graph) else "ge.passes"
    passes = importlib.import_module(LEGACY_FACE if is_legacy(graph) else package)
    names = ("SubgraphBoundary", "SubgraphInput", "SubgraphOutput", "SubgraphRewriter", "can_fuse")
    return SimpleNamespace(**{name: getattr(passes, name, None) for name in names})


def build_like(graph: Any, builder: GraphBuilder) -> Any:
    """Finish `builder` as a graph of the same package as `graph`.

    GE's own Graph cannot be given nodes from Python; it loads a serialised model instead.
    """
    built = builder.build()
    if is_host(graph) or is_legacy(graph):
        return built
    folder = tempfile.mkdtemp(prefix="autofuse_")
    path = os.path.join(folder, "replacement.air")
    try:
        built.save_to_air(path)
        loaded = type(graph)(built.name)
        loaded.load_from_air(path)
        return loaded
    finally:
        if os.path.exists(path):
            os.remove(path)
        os.rmdir(folder)
