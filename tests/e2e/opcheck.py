"""Checks many operators in one graph, and values that hold every special case of a type."""
import numpy as np
import tensorflow as tf
from harness import MODERN, check, run_graph
from tensorflow.python.framework import kernels as registered
from tensorflow.python.framework import op_def_registry

import tf_autofuse
from tf_autofuse.frontend.tensorflow.op_types import FRAMEWORK_OP, ge_type

# TensorFlow 1 has fewer kernels, and its own ways with NaN, infinities and the mean of integers.
FLOATS = ["float32", "float16", "bfloat16", "float64"] if MODERN else ["float32", "float64"]
INTEGERS = ["int32", "int64"]
if MODERN:
    INTEGERS += ["int8", "int16", "uint8", "uint16", "uint32", "uint64"]
EVERY = FLOATS + INTEGERS + ["bool"]

_REAL = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1.5, -1.5, 2.0, -2.0, 2.5, -2.5, 3.0, -3.0, 6.0, 7.0,
         10.5, -10.5, 1e-3, -1e-3, 1e-8, -1e-8, 20.0, -20.0, 88.5, -88.5, 100.0, -104.0, 1e4,
         -3e4, 6e4, 0.99, -0.99, 0.25, 0.75, 1e-30, 1e30, -1e30]
if MODERN:
    _REAL = [np.nan, np.inf, -np.inf] + _REAL


def edges(dtype, count=241, seed=1):
    """`count` values of `dtype` (an odd number): special ones first, then random ones."""
    rng = np.random.RandomState(seed)
    kind = tf.as_dtype(dtype)
    if dtype == "bool":
        return rng.rand(count) < 0.5
    if kind.is_integer:
        info = np.iinfo(dtype)
        special = [info.min, info.min + 1, 0, 1, 2, 6, 7, info.max - 1, info.max]
        special += [-1, -2, -7] if info.min < 0 else []
        rest = rng.randint(max(info.min, -2 ** 40), min(info.max, 2 ** 40), count)
        values = np.array(special, dtype=dtype)
        return np.concatenate([values, rest.astype(dtype)])[:count]
    rest = rng.randn(count) * np.exp(rng.uniform(-4, 3, count))
    with np.errstate(all="ignore"):
        values = np.concatenate([_REAL, rest])[:count].astype("float32")
        return values.astype(kind.as_numpy_dtype)


def pairs(dtype, nonzero=False):
    """Two arrays with every pair of the first values of `edges`."""
    values = edges(dtype, 41)
    if nonzero:
        values = values[values != 0]
    grid = np.meshgrid(values, values[::-1].copy(), indexing="ij")
    return [np.ascontiguousarray(part.reshape(-1)) for part in grid]


def has_kernel(op_type, dtype, attr="T"):
    """Whether this TensorFlow has a CPU kernel of the operator for the type."""
    number = tf.as_dtype(dtype).as_datatype_enum
    definition = _definition(op_type)
    if definition is None:
        return False
    for rule in definition.attr:
        allowed = rule.allowed_values.list.type
        if rule.name == attr and allowed and number not in allowed:
            return False
    for kernel in registered.get_registered_kernels_for_op(op_type).kernel:
        rules = [c for c in kernel.constraint if c.name == attr]
        if kernel.device_type == "CPU" and (
            not rules or number in rules[0].allowed_values.list.type
        ):
            return True
    return False


def _definition(op_type):
    if hasattr(op_def_registry, "get"):
        return op_def_registry.get(op_type)
    return op_def_registry.get_registered_ops().get(op_type)


def check_group(functions, arrays, **options):
    """Every function of {operator type: function} on the same inputs; all of them must fuse."""
    names = sorted(functions)
    used = check(lambda *xs: [functions[name](*xs) for name in names], arrays, kernels=None,
                 **options)
    fused = {name for entry in used for name in entry.op_types}
    assert fused == {type_of(name) for name in names}


def type_of(name):
    """The type that reports give an operator: GE's, or TensorFlow's where GE has none."""
    return name if ge_type(name) == FRAMEWORK_OP else ge_type(name)


def both(build, arrays):
    """(fused result, TensorFlow's result) of a graph with one output."""
    tf_autofuse.disable()
    (expected,) = run_graph(build, arrays)
    tf_autofuse.enable("--enable_autofuse=true;--strict=true")
    try:
        (got,) = run_graph(build, arrays)
    finally:
        tf_autofuse.disable()
    return got, expected


def groups(names, size=6):
    """The names in lists of about `size`."""
    names = sorted(names)
    count = max(1, len(names) // size)
    return [names[at::count] for at in range(count)]
