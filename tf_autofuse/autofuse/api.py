"""The GE Python face a graph belongs to: the real `ge` package, the host's own, or the bridge's."""
from __future__ import annotations

import contextlib
import importlib
import os
import tempfile
from types import SimpleNamespace
from typing import Any, Iterator

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


@contextlib.contextmanager
def built_like(graph: Any, builder: GraphBuilder) -> Iterator[Any]:
    """What `builder` holds as a graph of the same package as `graph`, for the time of the context.

    GE's own Graph cannot be given nodes from Python; it loads a serialised model instead.
    """
    built = builder.build()
    try:
        yield built if is_host(graph) or is_legacy(graph) else _loaded(type(graph), built)
    finally:
        built.dissolve()


def _loaded(of: type, built: Any) -> Any:
    folder = tempfile.mkdtemp(prefix="autofuse_")
    path = os.path.join(folder, "replacement.air")
    try:
        built.save_to_air(path)
        loaded = of(built.name)
        loaded.load_from_air(path)
        return loaded
    finally:
        if os.path.exists(path):
            os.remove(path)
        os.rmdir(folder)
