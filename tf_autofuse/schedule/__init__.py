"""From the loop IR to the kernel IR."""
from __future__ import annotations

from tf_autofuse.kernel.ir import Kernel
from tf_autofuse.kernel.nest import build_nests
from tf_autofuse.loop.ir import LoopKernel


def schedule(loop: LoopKernel, platform: object = None) -> Kernel:
    """Schedule a merged loop kernel."""
    return Kernel(loop, build_nests(loop))
