"""Whether answers of the pass are taken from the disk and kept there: not where somebody wants to
see the pass at work, or has passes of their own."""
from __future__ import annotations

import os
import sys

from tf_autofuse import flags, paths
from tf_autofuse.ge import plugins
from tf_autofuse.ge.dump import content_level
from tf_autofuse.ge.passes import registered_passes

_stopped = False


def stop() -> None:
    """From now on this process neither takes answers from the disk nor keeps them there."""
    global _stopped
    _stopped = True


def wanted() -> bool:
    """Whether the disk is to be asked for a graph now."""
    current = flags.current()
    return (
        not _stopped
        and current.remember_graphs
        # Dumps, folders of stages, and kernels out of them: the pass writes and reads these.
        and not content_level()
        and not (current.codegen_compile_debug or current.subgraph_recover)
        and not current.replace_kernel
        and _own_passes_only()
    )


def _own_passes_only() -> bool:
    """Whether nothing but this package rewrites graphs: what other passes do cannot be known."""
    own = os.path.realpath(paths.passes_dir())
    folder = os.environ.get(plugins.ENV_NAME, own)
    modules = [sys.modules.get(entry.cls.__module__) for entry in registered_passes()]
    files = [os.path.realpath(getattr(module, "__file__", None) or "") for module in modules]
    return (
        not plugins.real_ge_installed()
        and bool(folder)
        and os.path.realpath(folder) == own
        and all(os.path.dirname(file) == own for file in files)
        and bool(files or not plugins.loaded_values())  # loaded, and taken out again
    )
