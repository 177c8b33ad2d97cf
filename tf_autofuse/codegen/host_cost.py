"""What the operations of a loop nest cost on one core, roughly."""
from __future__ import annotations

from typing import Dict, Sequence, Tuple

from tf_autofuse.kernel.nest import Nest, needed
from tf_autofuse.loop.ir import LoopKernel, Map, Value

# Nanoseconds for one element of a value on one core, vectorised: rough, they choose blocks and
# streamed stores.
_MAP_COST: Dict[str, float] = {
    "exp": 0.3, "rsqrt": 0.3, "log": 0.5, "sigmoid": 0.4, "expm1": 0.5, "log1p": 0.5, "elu": 0.6,
    "tanh": 0.25, "erf": 0.25, "softplus": 1.1, "erfc": 0.55,
}
_MAP_COST.update((name, 2.5) for name in (
    "sin cos tan asin acos atan asinh acosh atanh atan2 sinh cosh selu pow xlogy xlog1py "
    "softplus_grad").split())
_MAP_COST.update((name, 10.0) for name in (
    "fmod floor_mod lgamma digamma erfinv ndtri trunc_div trunc_mod floor_div int_floor_mod "
    "bessel_i0 bessel_i1 bessel_i0e bessel_i1e bessel_k0 bessel_k1 bessel_k0e bessel_k1e"
).split())
_MAP_COST.update((name, 60.0) for name in (
    "bessel_j0 bessel_j1 bessel_y0 bessel_y1 dawsn spence fresnel_cos fresnel_sin expint igamma "
    "igammac igamma_grad_a zeta polygamma betainc").split())
_PLAIN_COST = 0.08


def element_cost(loops: Sequence[LoopKernel], nest: Nest) -> str:
    """Nanoseconds per element of the walk, over all passes, as a C++ expression: vectors without
    AVX-512 take longer for elementary functions, where the rest waits for memory or the caches.
    A point is computed in one of `loops`, of which the dearest counts."""
    plain, functions = max((_costs(loop, nest) for loop in loops), key=sum)
    cost = "%.2f" % max(plain, _PLAIN_COST)
    return cost + " + %.2f * FUNCTION_COST" % functions if functions else cost


def _costs(loop: LoopKernel, nest: Nest) -> Tuple[float, float]:
    """Nanoseconds of all but elementary functions, and of these."""
    plain, functions = 0.0, 0.0
    for step in nest.passes:
        roots = list(step.reduces) + [loop.stores[n].value for n in step.stores + step.crosses]
        values = needed(loop, roots)
        functions += function_cost(values)
        plain += _PLAIN_COST * sum(function_cost([value]) == 0 for value in values)
    return plain, functions


def function_cost(values: Sequence[Value]) -> float:
    """Nanoseconds per element of the elementary functions among `values`."""
    return sum(_MAP_COST.get(value.op, 0.0) for value in values if isinstance(value, Map))
