"""Rules of softmax and its kin: several walks over the last dim, each shifted by its maximum."""
from __future__ import annotations

from typing import Callable, Dict

from tf_autofuse.errors import Unsupported
from tf_autofuse.loop.rules.common import args_of, class_test, in_float32
from tf_autofuse.loop.source import Operator


def _last(op: Operator, x) -> int:
    axes = op.attrs.get("axes", [-1])
    rank = len(x.dims)
    if rank == 0 or [axis % rank for axis in axes] != [rank - 1]:
        raise Unsupported("%s along another axis than the last" % op.type, node=op.name,
                          code="ATTR")
    return rank - 1


def _shifted(low, x, last: int):
    """(x minus its maximum, sum of the exponentials of that)"""
    shifted = low.map("sub", [x, low.reduce("max", x, [last], True)])
    return shifted, low.reduce("sum", low.map("exp", [shifted]), [last], True)


def lower_softmax(low, op: Operator, _: str):
    """exp(x - max) / sum(exp(x - max))"""
    (x,) = args_of(low, op)
    last = _last(op, x)

    def body(x):
        shifted, total = _shifted(low, x, last)
        return low.map("div", [low.map("exp", [shifted]), total])

    return in_float32(low, [x], body)


def lower_log_softmax(low, op: Operator, _: str):
    """x - max - log(sum(exp(x - max)))"""
    (x,) = args_of(low, op)
    last = _last(op, x)

    def body(x):
        shifted, total = _shifted(low, x, last)
        return low.map("sub", [shifted, low.map("log", [total])])

    return in_float32(low, [x], body)


def lower_cross_entropy(low, op: Operator, _: str):
    """Loss, sum of labels * (log(sum(exp(x - max))) - (x - max)), and softmax(x) - labels."""
    features, labels = low.same_shape(args_of(low, op))
    last = len(features.dims) - 1
    x, target = low.widen(features), low.widen(labels)
    shifted, total = _shifted(low, x, last)
    terms = low.map("mul", [target, low.map("sub", [low.map("log", [total]), shifted])])
    share = low.map("div", [low.map("exp", [shifted]), total])
    results = [low.reduce("sum", terms, [last], False), low.map("sub", [share, target])]
    return [low.cast(result, features.dtype) for result in results]


def lower_sparse_cross_entropy(low, op: Operator, _: str):
    """The same for one class number a row; a number that is no class makes the kernel fail."""
    features, labels = args_of(low, op)
    if len(features.dims) != 2 or len(labels.dims) != 1:
        raise Unsupported("%s of other ranks than 2 and 1" % op.type, node=op.name, code="SHAPE")
    low.unify(features.dims[0], labels.dims[0])
    x = low.widen(features)
    row = labels._replace(dims=(features.dims[0], None))
    chosen = class_test(low, row, features, 1)
    shifted, total = _shifted(low, x, 1)
    loss = low.map("sub", [low.map("log", [total]), shifted])
    loss = low.map("select", [chosen, loss, low.const(0.0, x.dtype)])
    known = low.reduce("any", chosen, [1], False)
    loss = low.map("require", [known, low.reduce("sum", loss, [1], False)])
    total = low.map("require", [low.reduce("any", chosen, [1], True), total])
    share = low.map("div", [low.map("exp", [shifted]), total])
    results = [loss, low.map("sub", [share, low.cast(chosen, x.dtype)])]
    return [low.cast(result, features.dtype) for result in results]


SOFTMAX: Dict[str, Callable] = {
    "softmax": lower_softmax,
    "log_softmax": lower_log_softmax,
    "cross_entropy": lower_cross_entropy,
    "sparse_cross_entropy": lower_sparse_cross_entropy,
}
