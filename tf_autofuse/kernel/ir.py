"""Node classes of the kernel IR (see `tf_autofuse.kernel`)."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Tuple

from tf_autofuse.kernel.nest import Nest
from tf_autofuse.loop.ir import LoopKernel


@dataclass(frozen=True)
class Kernel:
    """A scheduled loop kernel."""

    loop: LoopKernel
    nests: Tuple[Nest, ...]
