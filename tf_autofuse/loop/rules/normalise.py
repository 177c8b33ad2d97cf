"""Rules of batch normalisation with given statistics, and of its gradients."""
from __future__ import annotations

from typing import Callable, Dict

from tf_autofuse.errors import Unsupported
from tf_autofuse.loop.rules.common import args_of, channel
from tf_autofuse.loop.source import Operator


def _by_channel(low, op: Operator, x, vectors):
    """Vectors of one element a channel as tensors that broadcast against `x`."""
    position = channel(op, len(x.dims))
    trailing = (None,) * (len(x.dims) - 1 - position)
    spread = []
    for vector in vectors:
        low.unify(x.dims[position], vector.dims[0])
        spread.append(vector._replace(dims=vector.dims + trailing))
    return spread


def _inverse_deviation(low, op: Operator, variance):
    epsilon = low.const(float(op.attrs.get("epsilon", 1e-4)), variance.dtype)
    return low.map("rsqrt", [low.map("add", [variance, epsilon])])


def _require_inference(op: Operator) -> None:
    if op.attrs.get("is_training", True):
        raise Unsupported("%s in training gives statistics too" % op.type, node=op.name,
                          code="ATTR")


def lower_batch_norm(low, op: Operator, _: str):
    """(x - mean) * (rsqrt(variance + epsilon) * scale) + offset, for given statistics."""
    _require_inference(op)
    x, *vectors = args_of(low, op)[:5]
    scale, offset, mean, variance = _by_channel(low, op, x, vectors)
    factor = low.map("mul", [_inverse_deviation(low, op, variance), scale])
    centred = low.map("sub", [low.widen(x), mean])
    return low.cast(low.map("add", [low.map("mul", [centred, factor]), offset]), x.dtype)


def lower_batch_norm_grad(low, op: Operator, _: str):
    """Gradients of x, scale and offset for given statistics."""
    _require_inference(op)
    dy, x, *vectors = args_of(low, op)[:5]
    low.same_shape([dy, x])
    scale, mean, variance = _by_channel(low, op, x, vectors)
    position = channel(op, len(x.dims))
    over = [p for p in range(len(x.dims)) if p != position]
    inverse = _inverse_deviation(low, op, variance)
    wide = low.widen(dy)
    normal = low.map("mul", [low.map("sub", [low.widen(x), mean]), inverse])
    dx = low.cast(low.map("mul", [wide, low.map("mul", [inverse, scale])]), x.dtype)
    dscale = low.reduce("sum", low.map("mul", [wide, normal]), over, False)
    return [dx, dscale, low.reduce("sum", wide, over, False)]


def lower_global_norm(low, op: Operator, _: str):
    """(x - mean) * (rsqrt(variance + epsilon) * gamma) + beta, of the first TensorFlow graphs."""
    x, *vectors = args_of(low, op)
    mean, variance, beta, gamma = (low.widen(v) for v in _by_channel(low, op, x, vectors))
    epsilon = low.const(float(op.attrs["variance_epsilon"]), variance.dtype)
    factor = low.map("rsqrt", [low.map("add", [variance, epsilon])])
    if op.attrs["scale_after_normalization"]:
        factor = low.map("mul", [factor, gamma])
    centred = low.map("sub", [low.widen(x), mean])
    return low.cast(low.map("add", [low.map("mul", [centred, factor]), beta]), x.dtype)


def lower_adjust_contrast(low, op: Operator, _: str):
    """(x - mean) * factor + mean, with the mean of every channel of an image."""
    x, factor = args_of(low, op)
    rank = len(x.dims)
    if rank < 3 or factor.dims:
        raise Unsupported("images of rank %d" % rank, node=op.name, code="SHAPE")
    mean = low.reduce("mean", x, [rank - 3, rank - 2], True)
    return low.map("add", [low.map("mul", [low.map("sub", [x, mean]), factor]), mean])


NORMALISE: Dict[str, Callable] = {
    "batch_norm": lower_batch_norm,
    "batch_norm_grad": lower_batch_norm_grad,
    "global_norm": lower_global_norm,
    "adjust_contrast": lower_adjust_contrast,
}
