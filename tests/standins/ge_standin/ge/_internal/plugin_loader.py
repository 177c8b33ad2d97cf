"""Finding plug-ins by an environment variable: files and folders, split by `:`."""
import importlib
import importlib.util
import os
import sys
from pathlib import Path


def load_from_environment(variable, prefix):
    """Import every plug-in; what one of them raises comes out."""
    for item in os.environ.get(variable, "").split(os.pathsep):
        if item.strip():
            _load(Path(item.strip()).resolve(), prefix)


def _load(path, prefix):
    if not path.exists():
        raise FileNotFoundError("plug-in path does not exist: {}".format(path))
    if path.is_file():
        if path.suffix != ".py":
            raise ValueError("plug-in file must end with .py: {}".format(path))
        _load_file(path, prefix)
        return
    sys.path.insert(0, str(path))
    try:
        for child in sorted(path.iterdir(), key=lambda item: item.name):
            if child.name.startswith("_"):
                continue
            if child.is_file() and child.suffix == ".py":
                _load_file(child, prefix)
            elif (child / "__init__.py").exists():
                importlib.import_module(child.name)
    finally:
        sys.path.remove(str(path))


def _load_file(path, prefix):
    name = "{}{}_{}".format(prefix, path.stem, abs(hash(str(path))))
    if name in sys.modules:
        return
    spec = importlib.util.spec_from_file_location(name, str(path))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
