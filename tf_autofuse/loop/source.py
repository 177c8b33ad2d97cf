"""What lowering needs to know of the graph: operators and tensors, detached from any graph API."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, Iterable, Iterator, Mapping, Optional, Tuple

from tf_autofuse.ops import ALIGNED_RULES, OPS

TensorRef = Tuple[str, int]
"""(name of the producing node, output port)"""

Dims = Tuple[int, ...]
"""Sizes >= 0; a negative number is a symbol, and equal symbols are equal sizes."""


@dataclass(frozen=True)
class TensorInfo:
    """`dims` is None for unknown rank. `const` holds what all elements of a constant are, `count`
    a factor and symbols whose product the one element of an integer tensor is."""

    dtype: str
    dims: Optional[Dims]
    const: Any = None
    count: Optional[Tuple[int, Dims]] = None


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


def told_by(count: Tuple[int, Dims], symbols: Iterable[int]) -> bool:
    """Whether a kernel whose tensors tell these symbols can count that."""
    return set(count[1]) <= set(symbols)


def told_symbols(
    op_type: str, read: Iterable[Optional[Dims]], result: Optional[Dims]
) -> Iterator[int]:
    """The sizes of run time that axes of a kernel with an operator are sure to have: dims of its
    operands may be broadcast, those of its result are as large as the loops."""
    aligned = OPS[op_type].lower.partition(":")[0] in ALIGNED_RULES
    for dims in [result] if aligned else [*read, result]:
        for size in dims or ():
            if size < 0:
                yield size
