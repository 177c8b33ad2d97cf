"""What a graph of float64 means, in numpy's longdouble: the reference that TensorFlow lacks.

The operators run one by one through the interpreter. Functions that numpy has in double only come
from mpmath.
"""
import contextlib
import dataclasses

import numpy as np
import tensorflow as tf

from tf_autofuse.cluster.order import topological_order
from tf_autofuse.cluster.view import GraphView
from tf_autofuse.errors import AutofuseError
from tf_autofuse.frontend.tensorflow.importer import import_graph
from tf_autofuse.loop import interp
from tf_autofuse.loop.ops import MAP_OPS
from tf_autofuse.ops import OPS
from tf_autofuse.verify.numeric import run_operator

try:
    import mpmath as mp
except ImportError:
    mp = None

WIDER = np.finfo(np.longdouble).nmant > 60
LOOKS_AT_BITS = {"NextAfter", "Bitcast"}


def _mapped(function):
    """A function of mpmath over arrays of longdouble; NaN and infinities go to the double form."""

    def number(x):
        high = float(x)
        return mp.mpf(high) + mp.mpf(float(x - np.longdouble(high)))

    def one(x):
        with mp.workdps(50):
            y = function(number(x))
            high = float(y)
            return np.longdouble(high) + np.longdouble(float(y - high) if np.isfinite(high) else 0)

    return one


def _digamma(x):
    return mp.nan if x <= 0 and x == mp.floor(x) else mp.digamma(x)


def _lgamma(x):
    if x <= 0 and x == mp.floor(x):
        return mp.inf
    return mp.log(abs(mp.gamma(x))) if x < 1e6 else mp.loggamma(x)


def _ndtri(p):
    return -mp.sqrt(2) * mp.erfinv(1 - 2 * p)


def exact_functions():
    """Name of an operation to its form in mpmath."""
    return {"erf": mp.erf, "erfc": mp.erfc, "erfinv": mp.erfinv, "ndtri": _ndtri,
            "lgamma": _lgamma, "digamma": _digamma}


@contextlib.contextmanager
def exact_maps():
    """Inside, `MAP_OPS` has the functions of mpmath."""
    known = {name: MAP_OPS[name] for name in exact_functions()}
    for name, function in exact_functions().items():
        meant = known[name].numpy
        one = _mapped(function)

        def exact(x, meant=meant, one=one):
            y = np.array(meant(x.astype(np.float64)), np.longdouble)  # limits are taken from here
            flat, points = y.reshape(-1), np.broadcast_to(x, y.shape).reshape(-1)
            for at in np.flatnonzero(np.isfinite(flat) & np.isfinite(points) & (flat != 0)):
                flat[at] = one(points[at])
            return flat.reshape(y.shape)

        MAP_OPS[name] = dataclasses.replace(known[name], numpy=exact)
    try:
        yield
    finally:
        MAP_OPS.update(known)


def exact_results(build, arrays):
    """Results of `build(*placeholders)`; None where the reference cannot tell them."""
    if mp is None or not WIDER:
        return None
    with tf.Graph().as_default() as graph:
        inputs = [tf.compat.v1.placeholder(a.dtype, a.shape, "fed%d" % i)
                  for i, a in enumerate(arrays)]
        outputs = build(*inputs)
        outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
    known = {(x.op.name, 0): _inside(a) for x, a in zip(inputs, arrays)}
    try:
        with interp.extended(), exact_maps():
            _run(graph, known, {(x.op.name, x.value_index) for x in outputs})
    except (AutofuseError, _Unknown):
        return None
    return [known[(x.op.name, x.value_index)] for x in outputs]


class _Unknown(Exception):
    pass


def _inside(array):
    """The form of the interpreter's memory: bfloat16 as bits, float64 as longdouble."""
    if array.dtype == tf.bfloat16.as_numpy_dtype:
        return array.view(np.uint16)
    return array.astype(np.longdouble) if array.dtype == np.float64 else array


def _run(graph, known, fetched):
    shapes = {
        op.name: [(x.dtype.as_datatype_enum, x.shape.as_list() if x.shape.rank is not None else None
                   ) for x in op.outputs] for op in graph.get_operations()}
    imported, _ = import_graph(graph.as_graph_def(), {"shapes": shapes})
    view = GraphView(imported)
    for index in topological_order(view):
        node = view.nodes[index]
        if node.type in OPS and node.type not in LOOKS_AT_BITS:
            refs = [(node.name, port) for port, readers in enumerate(node.consumers)
                    if readers or (node.name, port) in fetched]
            if refs:
                known.update(zip(refs, run_operator(view.operator(node), refs, view.infos, known)))
        elif node.outputs and (node.name, 0) not in known:
            tensor = graph.get_operation_by_name(node.name)
            if tensor.type != "Const":
                raise _Unknown(node.type)
            known[(node.name, 0)] = _inside(tf.make_ndarray(tensor.get_attr("value")))
