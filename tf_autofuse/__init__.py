"""tf_autofuse: fused kernels for elementwise, broadcast and reduce subgraphs of TensorFlow models.

`enable`, `disable` and `report` are the stable Python face. Importing the package is cheap:
TensorFlow and numpy are imported when they are first needed.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, Mapping, Union

# The folder `report` binds its name here when it is first imported: it must do so before the
# function of that name is defined below.
import tf_autofuse.report  # noqa: F401
from tf_autofuse import flags as _flags
from tf_autofuse import log as _log
from tf_autofuse import paths as _paths

if TYPE_CHECKING:
    from tf_autofuse.report.model import Report

__version__ = "0.1.0"
__all__ = ["__version__", "disable", "enable", "report"]

PASS_PATH = "ASCEND_GE_PY_PASS_PATH"
_INTERCEPT = "tf_autofuse.frontend.tensorflow.intercept"


def enable(flags: Union[None, str, Mapping[str, Any]] = None) -> None:
    """Fuse the graphs that TensorFlow builds from now on, in sessions and tf.function alike.

    `flags` is a text in AUTOFUSE_FLAGS syntax, or a mapping from key to value; what it names wins
    over the environment. Works before or after TensorFlow made its context; sessions that exist
    already keep what they have. Where a real NPU adapter is installed, its compiler is pointed to
    the passes of this package instead.

    Raises `FlagError` for a wrong flag. When the TensorFlow side cannot be built, the model runs
    unfused with one warning; with ``--strict=true`` that is a `BuildError`.
    """
    values = _flags.parse_overrides(flags)
    values.setdefault("enable_autofuse", True)
    _flags.set_overrides(values)
    if _flags.current().skip_node_names_cfg:
        from tf_autofuse.cluster import skips

        skips.current()  # a file that is wrong is told now
    _log.forget_warnings()
    if _flags.current().enable_autofuse:
        build = sys.modules.get("tf_autofuse.build")
        if build is not None:
            build.forget_failures()
        _hook()


def disable() -> None:
    """Undo `enable`: graphs built from now on stay untouched. What was reported is kept."""
    _flags.set_overrides(None)
    intercept = sys.modules.get(_INTERCEPT)
    if intercept is not None:
        intercept.uninstall()


def report() -> "Report":
    """What was fused so far in this process, with the calls counted by TensorFlow, and what not."""
    from tf_autofuse.report.model import RECORDER

    intercept = sys.modules.get(_INTERCEPT)
    return RECORDER.report(intercept.kernel_stats() if intercept is not None else {})


def _hook() -> None:
    from tf_autofuse import standins

    adapter = standins.real_adapter()
    if adapter is not None:
        os.environ.setdefault(PASS_PATH, _paths.passes_dir())
        _log.get_logger().info(
            "%s is installed: GE runs the passes in %s", adapter, os.environ[PASS_PATH]
        )
        return
    from tf_autofuse.errors import BuildError
    from tf_autofuse.frontend.tensorflow import intercept, optimizer

    try:
        intercept.install(optimizer.optimize)
    except BuildError as error:
        optimizer.record_failure(error)
