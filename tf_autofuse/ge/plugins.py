"""Finding GE pass plug-ins the way GE does: ASCEND_GE_PY_PASS_PATH, files and packages by name.

Pass files import `ge.graph` and `ge.passes`. Where no real GE package is installed these names
lead to the host version; a real one is never hidden.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import os
import sys
import types
from typing import Dict, List, Set

from tf_autofuse import paths
from tf_autofuse.errors import AutofuseError
from tf_autofuse.ge import graph as host_graph
from tf_autofuse.ge import passes as host_passes
from tf_autofuse.ge import types as host_types
from tf_autofuse.locks import ForkLock

ENV_NAME = "ASCEND_GE_PY_PASS_PATH"
STAGE = "load pass plug-ins"

_lock = ForkLock(reentrant=True)
_loaded: Set[str] = set()


def real_ge_installed() -> bool:
    """Whether a `ge` package with passes is importable that is not the host version."""
    present = sys.modules.get("ge")
    if present is not None:
        return not getattr(present, "_tf_autofuse_host", False)
    try:
        spec = importlib.util.find_spec("ge")
    except (ImportError, ValueError):
        return False
    folders = list(spec.submodule_search_locations or ()) if spec is not None else []
    return any(os.path.isdir(os.path.join(folder, "passes")) for folder in folders)


def provide_ge_names() -> None:
    """Make `ge`, `ge.graph` and `ge.passes` importable unless a real package is installed."""
    if "ge" in sys.modules or real_ge_installed():
        return
    package = types.ModuleType("ge", "Host version of GE's Python package.")
    package._tf_autofuse_host = True  # type: ignore[attr-defined]
    package.__path__ = []
    graph = types.ModuleType("ge.graph", host_graph.__doc__)
    for name in host_graph.__all__:
        setattr(graph, name, getattr(host_graph, name))
    for name in ("DataType", "Format"):
        setattr(graph, name, getattr(host_types, name))
    graph.types = host_types  # type: ignore[attr-defined]
    package.graph, package.passes = graph, host_passes  # type: ignore[attr-defined]
    for module in (package, graph):
        # A spec keeps importlib.util.find_spec("ge") working for others.
        module.__spec__ = importlib.machinery.ModuleSpec(module.__name__, None, is_package=True)
    names: Dict[str, types.ModuleType] = {
        "ge": package,
        "ge.graph": graph,
        "ge.graph.types": host_types,
        "ge.passes": host_passes,
    }
    for name, module in names.items():
        sys.modules[name] = module


def load_plugins() -> None:
    """Load the plug-ins of ASCEND_GE_PY_PASS_PATH (unset: this package's), once per value.

    AutofuseError naming the plug-in when a path is missing or wrong, or an import fails; a later
    call tries again.
    """
    value = os.environ.get(ENV_NAME)
    if value is None:
        value = paths.passes_dir()
    with _lock:
        if value in _loaded:
            return
        provide_ge_names()
        for item in value.split(os.pathsep):
            if item:
                _load_item(item)
        _loaded.add(value)


def _load_item(item: str) -> None:
    if os.path.isdir(item):
        _load_folder(item)
    elif not os.path.exists(item):
        raise _failure(item, FileNotFoundError("no such file or directory"))
    elif not item.endswith(".py"):
        raise _failure(item, ValueError("not a .py file"))
    else:
        _load_file(item)


def _load_folder(folder: str) -> None:
    if folder not in sys.path:
        sys.path.insert(0, folder)
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        if name.startswith("_"):
            continue
        if name.endswith(".py") and os.path.isfile(path):
            _load_file(path)
        elif os.path.isfile(os.path.join(path, "__init__.py")):
            _guarded(path, lambda name=name: importlib.import_module(name))


def _load_file(path: str) -> None:
    path = os.path.abspath(path)
    stem = os.path.splitext(os.path.basename(path))[0]
    name = "_ge_py_pass_{}_{}".format(stem, abs(hash(path)))
    if name not in sys.modules:
        _guarded(path, lambda: _execute(name, path))


def _execute(name: str, path: str) -> None:
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError("cannot load {}".format(path))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    before = {entry.name for entry in host_passes.registered_passes()}
    try:
        spec.loader.exec_module(module)
    except BaseException:
        # Unlike GE, leave nothing half done, so that the file can be mended and tried again.
        del sys.modules[name]
        _forget(entry.name for entry in host_passes.registered_passes() if entry.name not in before)
        raise


def _forget(names) -> None:
    for name in list(names):
        host_passes.unregister_pass(name)


def _guarded(path: str, load) -> None:
    try:
        load()
    except Exception as error:
        raise _failure(path, error) from error


def _failure(path: str, error: Exception) -> AutofuseError:
    text = "{}: {}".format(type(error).__name__, error)
    return AutofuseError("cannot load the pass plug-in: {}".format(text), node=path, stage=STAGE)


def loaded_values() -> List[str]:
    """The values of the path variable whose plug-ins are loaded."""
    return sorted(_loaded)
