"""Time of the whole pass over training graphs of growing size: `bench.py pass`.

The network is a stack of residual blocks (layer norm, matrix product, bias, gelu, matrix product)
with its gradients and an Adam step written in plain operators. The graphs are those that
TensorFlow hands to its graph optimizers, after its own rewrites. The time is CPU time of this
process, which a busy machine stretches less than wall time; kernels are built before.
"""
from __future__ import annotations

import argparse
import json
import os
import sys
import time
from typing import Any, Dict, List, Sequence, Tuple

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, ROOT)
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

SIZES = (1000, 3000, 10000, 30000)
NODES_PER_BLOCK = 200  # of the graph that the optimizer is given
WIDTH = 16
LIMIT_NODES, LIMIT_SECONDS = 10000, 3.0
LIMIT_GROWTH = 1.6  # time per node of the largest graph over that of the smallest
ROUNDS = 3


def block(x: Any, number: int) -> Tuple[Any, List[Any]]:
    """One residual block over [rows, WIDTH] and its weights."""
    import tensorflow as tf

    tf1 = tf.compat.v1

    def weight(name: str, shape: Sequence[int]) -> Any:
        return tf1.get_variable("b%d_%s" % (number, name), shape, use_resource=True)

    gamma, beta = weight("gamma", [WIDTH]), weight("beta", [WIDTH])
    first, bias = weight("first", [WIDTH, WIDTH]), weight("bias", [WIDTH])
    second = weight("second", [WIDTH, WIDTH])
    mean = tf.reduce_mean(x, -1, keepdims=True)
    centred = x - mean
    variance = tf.reduce_mean(tf.square(centred), -1, keepdims=True)
    norm = centred * tf.math.rsqrt(variance + 1e-6) * gamma + beta
    inner = tf.matmul(norm, first) + bias
    inner = 0.5 * inner * (1.0 + tf.tanh(0.79788456 * (inner + 0.044715 * inner * inner * inner)))
    return x + tf.matmul(inner, second), [gamma, beta, first, bias, second]


def adam(weight: Any, grad: Any, rate: Any) -> Any:
    """One Adam step in plain operators, as optimizers without a fused operator write it."""
    import tensorflow as tf

    tf1 = tf.compat.v1
    name = weight.op.name
    zeros = tf1.zeros_initializer()
    mean = tf1.get_variable(name + "_m", weight.shape, initializer=zeros, use_resource=True)
    square = tf1.get_variable(name + "_v", weight.shape, initializer=zeros, use_resource=True)
    new_mean = 0.9 * mean + 0.1 * grad
    new_square = 0.999 * square + 0.001 * tf.square(grad)
    step = weight - rate * new_mean / (tf.sqrt(new_square) + 1e-8)
    return tf.group(mean.assign(new_mean), square.assign(new_square), weight.assign(step))


def captured(blocks: int) -> Tuple[bytes, Dict[str, Any]]:
    """What NpuOptimizer is given for a training step of that many blocks."""
    import tensorflow as tf

    from tf_autofuse.frontend.tensorflow.intercept import with_optimizer
    from tf_autofuse.runtime import tf_op

    tf1 = tf.compat.v1
    seen: List[Tuple[bytes, Dict[str, Any]]] = []
    tf_op.set_optimizer(lambda graph_def, info: seen.append((graph_def, info)))
    graph = tf.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf.float32, [None, WIDTH])
        y, weights = x, []
        for number in range(blocks):
            y, added = block(y, number)
            weights += added
        loss = tf.reduce_mean(tf.square(y))
        grads = tf.gradients(loss, weights)
        step = tf.group([adam(w, g, 1e-3) for w, g in zip(weights, grads)])
        start = tf1.global_variables_initializer()
        with tf1.Session(graph=graph, config=with_optimizer(tf1.ConfigProto())) as session:
            session.run(start)
            session.run([step, loss], {x: [[0.5] * WIDTH] * 4})
    tf_op.set_optimizer(None)
    return max(seen, key=lambda item: len(item[0]))


def node_count(graph_def: bytes) -> int:
    from tf_autofuse.frontend.tensorflow import wire

    return len(wire.split(graph_def)[0])


def pass_seconds(graph_def: bytes, info: Dict[str, Any]) -> float:
    """CPU seconds of one pass over the graph; the least of some rounds."""
    from tf_autofuse.frontend.tensorflow import optimizer

    times = []
    for _ in range(ROUNDS):
        optimizer.forget()
        start = time.process_time()
        optimizer.optimize(graph_def, info)
        times.append(time.process_time() - start)
    return min(times)


def measure(nodes: int) -> Dict[str, float]:
    """One row of the table, after a call that builds the kernels."""
    from tf_autofuse.frontend.tensorflow import optimizer

    graph_def, info = captured(max(1, round(nodes / NODES_PER_BLOCK)))
    fused = optimizer.optimize(graph_def, info) or graph_def
    seconds = pass_seconds(graph_def, info)
    optimizer.optimize(graph_def, info)
    start = time.process_time()
    optimizer.optimize(graph_def, info)
    again = time.process_time() - start
    count = node_count(graph_def)
    return {
        "nodes": count,
        "after": node_count(fused),
        "seconds": seconds,
        "us_per_node": 1e6 * seconds / count,
        "again_s": again,
    }


def run(options: argparse.Namespace) -> int:
    """Print the table; 1 when the pass is slower, or grows faster, than it may."""
    from tf_autofuse import flags

    flags.set_overrides({"enable_autofuse": True})
    rows = []
    for nodes in options.nodes:
        rows.append(measure(nodes))
        if not options.json:
            row = rows[-1]
            print("%(nodes)6d nodes -> %(after)6d  %(seconds)7.3f s  %(us_per_node)6.1f us/node"
                  "  again %(again_s).3f s" % row, flush=True)
    flags.set_overrides(None)
    growth = rows[-1]["us_per_node"] / rows[0]["us_per_node"]
    if options.json:
        print(json.dumps({"rows": rows, "growth": growth}, indent=2, sort_keys=True))
    else:
        print("time per node grows by %.2f (limit %.1f)" % (growth, LIMIT_GROWTH))
    slow = any(r["seconds"] > LIMIT_SECONDS * max(1.0, r["nodes"] / LIMIT_NODES) for r in rows)
    return int(slow or growth > LIMIT_GROWTH)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `bench.py pass`."""
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--nodes", type=int, nargs="+", default=list(SIZES))
