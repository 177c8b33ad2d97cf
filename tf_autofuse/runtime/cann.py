"""What of CANN this host has: the toolkit, and the operator that launches fused kernels."""
from __future__ import annotations

import glob
import os
from typing import List

from tf_autofuse.errors import BuildError

CUSTOM_PATH = "ASCEND_CUSTOM_OPP_PATH"
LIBRARY = "libtf_autofuse_ge.so"
PYTHON_OPERATOR = "autofused_kernel.py"


def installed() -> bool:
    """Whether CANN's environment (its set_env.sh) is in force, so that graphs are really run."""
    return bool(os.environ.get("ASCEND_OPP_PATH"))


def operators() -> List[str]:
    """Files on ASCEND_CUSTOM_OPP_PATH that implement AutofusedKernel: the library, or Python."""
    found: List[str] = []
    for item in os.environ.get(CUSTOM_PATH, "").split(os.pathsep):
        if not item:
            continue
        if os.path.basename(item) == PYTHON_OPERATOR and os.path.isfile(item):
            found.append(item)
        found += sorted(glob.glob(os.path.join(item, "op_graph", "lib", "*", "*", LIBRARY)))
        found += sorted(glob.glob(os.path.join(item, PYTHON_OPERATOR)))
    return found


def require_operator() -> None:
    """BuildError when a graph with fused nodes could not run here."""
    if not operators():
        raise BuildError(
            "the operator AutofusedKernel is not installed: run scripts/build_cann.sh and put the "
            "folder it prints into %s" % CUSTOM_PATH
        )
