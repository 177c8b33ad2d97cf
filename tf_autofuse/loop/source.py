"""What lowering needs to know of the graph: operators and tensors, detached from any graph API."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, Mapping, Optional, Tuple

TensorRef = Tuple[str, int]
"""(name of the producing node, output port)"""

Dims = Tuple[int, ...]
"""Sizes >= 0; a negative number is a symbol, and equal symbols are equal sizes."""


@dataclass(frozen=True)
class TensorInfo:
    """`dims` is None for unknown rank. `const` holds what all elements of a constant are."""

    dtype: str
    dims: Optional[Dims]
    const: Any = None


@dataclass(frozen=True)
class Operator:
    """One operator of the GE graph: data inputs by port, attributes already read.

    `axes` holds the constant axes of a reduction, None when they are not constant; `params` by
    input the values of the constants that are no data; `out_dims` the dims of the first output,
    None when its rank is unknown; `outputs` the number of outputs.
    """

    name: str
    type: str
    inputs: Tuple[TensorRef, ...]
    attrs: Dict[str, Any]
    axes: Optional[Tuple[int, ...]] = None
    out_dims: Optional[Dims] = None
    params: Mapping[int, Tuple[Any, ...]] = field(default_factory=dict)
    outputs: int = 1
