"""Host stand-ins for the NPU packages that scripts import, for hosts without the real ones.

The packages lie in the folder `path`, which goes to the END of ``sys.path``: an installed adapter,
found earlier on the path, always wins.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from typing import Optional

ADAPTERS = ("npu_bridge", "npu_device")


def folder() -> str:
    """Absolute path of the folder that holds the stand-in packages."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "path")


def offer() -> None:
    """Make the stand-ins importable, behind everything that is on the path already."""
    if folder() not in sys.path:
        sys.path.append(folder())


def withdraw() -> None:
    """Take the folder off the path again; modules that were imported stay."""
    sys.path[:] = [entry for entry in sys.path if entry != folder()]


def real_adapter() -> Optional[str]:
    """Name of an installed NPU adapter package, None when there are at most stand-ins."""
    for name in ADAPTERS:
        origin = _origin(name)
        if origin and not os.path.abspath(origin).startswith(folder() + os.sep):
            return name
    return None


def _origin(name: str) -> str:
    """File of a top-level package, without importing it; empty when there is none."""
    if name in sys.modules:
        return getattr(sys.modules[name], "__file__", None) or ""
    spec = importlib.util.find_spec(name)
    return (spec.origin or "") if spec is not None else ""
