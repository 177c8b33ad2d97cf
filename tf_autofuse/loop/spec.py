"""The shape spec: how the run-time dims of a fused node's tensors bind its axes.

The C++ runtimes (csrc/core/shape_spec.h) read this text; kernels themselves only see merged axis
sizes. Grammar, for a kernel with three axes of which the first two merged:

    v1;axes=3;groups=0,0,1;in=0.1.2/-.-.2/0?.1/s;out=0.1.2/s;

Dims are separated by `.`: `k` is axis k, `k?` axis k or 1, `-` is 1, `k*l` the product of two axes
(a dim that a reshape splits or merges); `s` is a scalar. Factors that no shape tells are fixed:

    v1;axes=3;groups=0,1,1;fixed=2:64;in=0.1*2;out=0.1.2;
"""
from __future__ import annotations

from typing import Dict, Iterable, List, Sequence, Tuple

from tf_autofuse.loop.ir import Dim, Load, LoopKernel, whole_dims


def shape_spec(kernel: LoopKernel, groups: Sequence[int]) -> str:
    """Spec text of an unmerged kernel whose axes went into merged axes `groups`."""
    index = {axis: str(i) for i, axis in enumerate(kernel.axes)}
    inputs = [_spell(dims, index) for dims in input_dims(kernel)]
    stores = sorted(kernel.stores, key=lambda store: store.output)
    outputs = [_spell(store.dims, index) for store in stores]
    fixed = ",".join("%s:%d" % (index[axis], size) for axis, size in kernel.fixed)
    return "v1;axes=%d;groups=%s;%sin=%s;out=%s;" % (
        len(kernel.axes),
        ",".join(str(group) for group in groups),
        "fixed=%s;" % fixed if fixed else "",
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
        "*".join("-" if dim.axis is None else index[dim.axis] + ("?" if dim.maybe else "")
                 for dim in factors)
        for factors in whole_dims(dims)
    )


def axis_sizes(kernel: LoopKernel, shapes: Sequence[Sequence[int]]) -> Dict[str, int]:
    """Axis sizes for given input shapes, by the rule the C++ runtimes follow.

    The agreed size of the exact dims; where an axis has only `maybe` dims, the one that is not 1.
    ValueError names the input and dim that does not fit.
    """
    exact: Dict[str, int] = dict(kernel.fixed)
    loose: Dict[str, int] = {}
    products: List[Tuple[List[str], int, Tuple[int, int]]] = []
    for number, (dims, shape) in enumerate(zip(input_dims(kernel), shapes)):
        whole = whole_dims(dims)
        if len(whole) != len(shape):
            raise ValueError("input %d: rank %d, not %d" % (number, len(shape), len(whole)))
        for position, (factors, size) in enumerate(zip(whole, shape)):
            where = (number, position)
            if len(factors) > 1:
                products.append(([dim.axis or "" for dim in factors], int(size), where))
            else:
                _bind(loose if factors[0].maybe else exact, factors[0], int(size), where)
    _solve(exact, products)
    for axis, size in loose.items():
        if size not in (1, exact.setdefault(axis, size)):
            raise ValueError("axis %s: %d cannot be broadcast to %d" % (axis, size, exact[axis]))
    return {axis: exact[axis] for axis in kernel.axes}


def _solve(sizes: Dict[str, int], products: Sequence[Tuple[List[str], int, Tuple[int, int]]]):
    """Factors that follow from products, in as many rounds as it takes; then all are checked."""
    for _ in products:
        for axes, size, _ in products:
            unknown = [axis for axis in axes if axis not in sizes]
            rest = _product(sizes.get(axis, 1) for axis in axes)
            if len(unknown) == 1 and rest > 0:
                sizes[unknown[0]] = size // rest
    for axes, size, where in products:
        bound = _product(sizes.get(axis, -1) for axis in axes)
        if bound != size or not set(axes) <= set(sizes):
            raise ValueError("input %d dim %d: %d, not %d" % (where + (size, bound)))


def _product(sizes: Iterable[int]) -> int:
    total = 1
    for size in sizes:
        total *= size
    return total


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
