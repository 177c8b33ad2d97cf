"""Mean and variance in one walk of the CPU kernels.

The mean of (x - mean)^2 needs the mean, and with it a second walk. Both sums can be taken at once
of y = x - k for any k: the variance is mean(y^2) - mean(y)^2. Here k is the first x that a point
of the kept domain walks over, in double. What cancels is at most n times the variance then: the
n-th part of (k - mean)^2 is in the variance itself. (Chan, Golub, LeVeque 1983, "Algorithms for
computing the sample variance".)
"""
from __future__ import annotations

from dataclasses import replace
from typing import Dict, Optional, Tuple

from tf_autofuse.kernel.nest import Nest
from tf_autofuse.loop.ir import LoopKernel, Map, Reduce, Value


def join_moments(loop: LoopKernel) -> Tuple[LoopKernel, Dict[str, str]]:
    """The kernel with every sum or mean of (x - mean)^2 over float32 reading x itself, and the
    names of these reductions with that of their mean."""
    by_name = {value.name: value for value in loop.body}
    means: Dict[str, str] = {}
    body = []
    for value in loop.body:
        mean = _mean_of(value, by_name)
        if mean is not None:
            assert isinstance(value, Reduce)
            means[value.name] = mean.name
            value = replace(value, operand=mean.operand)
        body.append(value)
    return (replace(loop, body=tuple(body)), means) if means else (loop, means)


def with_means(nest: Nest, means: Dict[str, str]) -> Nest:
    """The nest with the mean of every variance, which nothing else may need."""
    passes = tuple(
        replace(step, reduces=tuple(dict.fromkeys(
            [means[name] for name in step.reduces if name in means] + list(step.reduces))))
        for step in nest.passes)
    return replace(nest, passes=passes)


def _mean_of(value: Value, by_name: Dict[str, Value]) -> Optional[Reduce]:
    """The mean whose distance from its own operand `value` adds up the squares of."""
    if not isinstance(value, Reduce) or value.op not in ("sum", "mean"):
        return None
    square = by_name[value.operand]
    if not isinstance(square, Map) or square.op != "mul" or square.args[0] != square.args[1]:
        return None
    difference = by_name[square.args[0]]
    if not isinstance(difference, Map) or difference.op != "sub":
        return None
    for mean, x in (difference.args, difference.args[::-1]):
        found = by_name[mean]
        if (isinstance(found, Reduce) and found.op == "mean" and found.operand == x
                and found.over == value.over and found.dtype == value.dtype == "float32"):
            return found
    return None
