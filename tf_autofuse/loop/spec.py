"""The shape spec: how the run-time dims of a fused node's tensors bind its axes.

The C++ runtimes (csrc/core/shape_spec.h) read this text; kernels themselves only see merged axis
sizes. Grammar, for a kernel with three axes of which the first two merged:

    v1;axes=3;groups=0,0,1;in=0.1.2/-.-.2/0?.1/s;out=0.1.2/s;

Dims are separated by `.`: `k` is axis k, `k?` axis k or 1, `-` is 1; `s` is a scalar.
"""
from __future__ import annotations

from typing import Dict, List, Sequence, Tuple

from tf_autofuse.loop.ir import Dim, Load, LoopKernel


def shape_spec(kernel: LoopKernel, groups: Sequence[int]) -> str:
    """Spec text of an unmerged kernel whose axes went into merged axes `groups`."""
    index = {axis: str(i) for i, axis in enumerate(kernel.axes)}
    inputs = [_spell(dims, index) for dims in input_dims(kernel)]
    stores = sorted(kernel.stores, key=lambda store: store.output)
    outputs = [_spell(store.dims, index) for store in stores]
    return "v1;axes=%d;groups=%s;in=%s;out=%s;" % (
        len(kernel.axes),
        ",".join(str(group) for group in groups),
        "/".join(inputs),
        "/".join(outputs),
    )


def input_dims(kernel: LoopKernel) -> List[Tuple[Dim, ...]]:
    """Layout of every input; each input is loaded exactly once."""
    found: Dict[int, Tuple[Dim, ...]] = {
        value.input: value.dims for value in kernel.body if isinstance(value, Load)
    }
    return [found[number] for number in range(len(kernel.inputs))]


def _spell(dims: Tuple[Dim, ...], index: Dict[str, str]) -> str:
    if not dims:
        return "s"
    return ".".join(
        "-" if dim.axis is None else index[dim.axis] + ("?" if dim.maybe else "") for dim in dims
    )


def axis_sizes(kernel: LoopKernel, shapes: Sequence[Sequence[int]]) -> Dict[str, int]:
    """Axis sizes for given input shapes, by the rule the C++ runtimes follow.

    The agreed size of the exact dims; where an axis has only `maybe` dims, the one that is not 1.
    ValueError names the input and dim that does not fit.
    """
    exact: Dict[str, int] = {}
    loose: Dict[str, int] = {}
    for number, (dims, shape) in enumerate(zip(input_dims(kernel), shapes)):
        if len(dims) != len(shape):
            raise ValueError("input %d: rank %d, not %d" % (number, len(shape), len(dims)))
        for position, (dim, size) in enumerate(zip(dims, shape)):
            _bind(loose if dim.maybe else exact, dim, int(size), (number, position))
    for axis, size in loose.items():
        if size not in (1, exact.setdefault(axis, size)):
            raise ValueError("axis %s: %d cannot be broadcast to %d" % (axis, size, exact[axis]))
    return {axis: exact[axis] for axis in kernel.axes}


def _bind(sizes: Dict[str, int], dim: Dim, size: int, where: Tuple[int, int]) -> None:
    if dim.axis is None:
        bound = 1
    elif dim.maybe and sizes.get(dim.axis, 1) == 1:
        bound = size
    else:
        bound = sizes.get(dim.axis, size)
    if size != bound and not (dim.maybe and size == 1):
        raise ValueError("input %d dim %d: %d, not %d" % (where[0], where[1], size, bound))
    if dim.axis is not None:
        sizes[dim.axis] = bound
