"""Measures this package: its costs (`overhead`, `pass`), gains (`speed`) and `tiling` for chips.

Everything that is compared runs in one process, in interleaved rounds; medians are printed, so a
busy machine slows both sides alike.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from typing import Any, Callable, Dict, List, Tuple

import bench_build
import bench_pass
import bench_speed
import bench_steps
import bench_tiling

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, ROOT)
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

CHAIN = 200  # ops one after the other in a chain
ROUNDS = 15
PASS_NODES = 1000

# One axis, one input, one output: copies.
COPY_SPEC = "v1;axes=1;groups=0;in=0;out=0;"
COPY_KERNEL = """
#include <cstring>
#include "kernel_abi.h"
int32_t autofuse_abi_version(void) { return AUTOFUSE_ABI_VERSION; }
int32_t autofuse_tiling(const int64_t*, int32_t, const int64_t*, int32_t, AutofuseTiling* out) {
  out->phases = 1;
  out->blocks[0] = 1;
  out->block_cost[0] = 1;
  return 0;
}
int32_t autofuse_run(const AutofuseArgs* args, const AutofuseTiling*, int32_t, int64_t, int64_t) {
  std::memcpy(args->outputs[0], args->inputs[0], sizeof(float) * args->sizes[0]);
  return AUTOFUSE_OK;
}
"""


def seconds_of(call: Callable[[], Any], repeat: int = 1) -> float:
    """Seconds of one call, the mean over `repeat` calls."""
    start = time.perf_counter()
    for _ in range(repeat):
        call()
    return (time.perf_counter() - start) / repeat


def medians(calls: Dict[str, Callable[[], Any]], rounds: int, repeat: int = 1) -> Dict[str, float]:
    """Median seconds of each call over interleaved rounds, after one round to warm up."""
    times: Dict[str, List[float]] = {name: [] for name in calls}
    for number in range(rounds + 1):
        for name, call in calls.items():
            spent = seconds_of(call, repeat)
            if number > 0:
                times[name].append(spent)
    return {name: statistics.median(values) for name, values in times.items()}


def chain_session(op: str, library: str) -> Callable[[], Any]:
    """A call that runs CHAIN ops of one kind on four floats, with no graph optimizer between."""
    import tensorflow as tf

    tf1 = tf.compat.v1
    graph_def = tf1.GraphDef()
    start = graph_def.node.add(name="start", op="Placeholder")
    start.attr["dtype"].type = tf.float32.as_datatype_enum
    for number in range(CHAIN):
        node = graph_def.node.add(name="n%d" % number, op=op)
        node.input.append("n%d" % (number - 1) if number else "start")
        if op != "AutofusedKernel":
            node.attr["T"].type = tf.float32.as_datatype_enum
            continue
        for attr in ("Tin", "Tout"):
            node.attr[attr].list.type.append(tf.float32.as_datatype_enum)
        for attr, text in (("spec", COPY_SPEC), ("host_library", library), ("kernel_key", "copy")):
            node.attr[attr].s = text.encode()
        node.attr["output_shapes"].list.SetInParent()
    config = tf1.ConfigProto()
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    graph = tf.Graph()
    with graph.as_default():
        tf.graph_util.import_graph_def(graph_def, name="")
    session = tf1.Session(graph=graph, config=config)
    run = session.make_callable("n%d:0" % (CHAIN - 1), feed_list=["start:0"])
    return lambda: run([1.0, 2.0, 3.0, 4.0])


def op_overhead() -> Dict[str, float]:
    """Microseconds per call of a fused op over Identity (an empty op) and over Neg."""
    from tf_autofuse.build import compile_host_kernel
    from tf_autofuse.runtime import tf_op

    tf_op.load()
    library = compile_host_kernel(COPY_KERNEL, key="bench_copy")
    names = ("Identity", "Neg", "AutofusedKernel")
    times = medians({name: chain_session(name, library) for name in names}, ROUNDS, repeat=20)
    per_op = {name: 1e6 * times[name] / CHAIN for name in names}
    fused = per_op["AutofusedKernel"]
    return {
        "op_us": fused,
        "op_over_identity_us": fused - per_op["Identity"],
        "op_over_neg_us": fused - per_op["Neg"],
    }


def import_overhead(rounds: int = 3) -> Dict[str, float]:
    """Seconds that `import tf_autofuse` adds to a script that has imported TensorFlow."""
    script = (
        "import tensorflow, time; start = time.perf_counter(); import tf_autofuse; "
        "print(time.perf_counter() - start)"
    )
    environment = dict(os.environ, PYTHONPATH=ROOT)
    command = [sys.executable, "-W", "ignore", "-c", script]
    times = []
    for _ in range(rounds):
        output = subprocess.check_output(command, env=environment, stderr=subprocess.DEVNULL)
        times.append(float(output.split()[-1]))
    return {"import_s": statistics.median(times)}


def captured_graph() -> Tuple[bytes, Dict[str, Any]]:
    """What NpuOptimizer is given for a network of PASS_NODES nodes."""
    import tensorflow as tf

    from tf_autofuse.frontend.tensorflow.intercept import with_optimizer
    from tf_autofuse.runtime import tf_op

    tf1 = tf.compat.v1
    seen: List[Tuple[bytes, Dict[str, Any]]] = []
    tf_op.set_optimizer(lambda graph_def, info: seen.append((graph_def, info)))
    graph = tf.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf.float32, [None, 16])
        y = x
        weight = tf1.placeholder(tf.float32, [16, 16])
        bias = tf1.placeholder(tf.float32, [16])
        for _ in range(PASS_NODES // 5):
            y = tf.maximum(tf.exp(tf.matmul(y, weight) + bias), tf.abs(y))
        config = with_optimizer(tf1.ConfigProto())
        with tf1.Session(graph=graph, config=config) as session:
            session.run(y, {x: [[0.0] * 16], weight: [[0.0] * 16] * 16, bias: [0.0] * 16})
    tf_op.set_optimizer(None)
    return max(seen, key=lambda item: len(item[0]))


def pass_overhead() -> Dict[str, float]:
    """Seconds of the whole pass over a graph: first (kernels may be built) and again."""
    import tensorflow as tf

    from tf_autofuse import flags
    from tf_autofuse.frontend.tensorflow import optimizer

    graph_def, info = captured_graph()
    flags.set_overrides({"enable_autofuse": True})
    optimizer.forget()
    start = time.perf_counter()
    fused = optimizer.optimize(graph_def, info) or graph_def
    first = time.perf_counter() - start

    def again() -> None:
        optimizer.forget()
        optimizer.optimize(graph_def, info)

    times = medians({"pass": again}, rounds=5)
    flags.set_overrides(None)
    before = tf.compat.v1.GraphDef.FromString(graph_def).node
    after = tf.compat.v1.GraphDef.FromString(fused).node
    return {
        "pass_nodes": len(before),
        "pass_fused_nodes": sum(node.op == "AutofusedKernel" for node in after),
        "pass_first_s": first,
        "pass_s": times["pass"],
    }


LIMITS = {"op_over_identity_us": 20.0, "import_s": 0.2, "pass_s": 0.5}


def overhead(options: argparse.Namespace) -> int:
    """Print all overheads; 1 when one is above its limit."""
    results = import_overhead()
    results.update(op_overhead())
    results.update(pass_overhead())
    if options.json:
        print(json.dumps(results, indent=2, sort_keys=True))
    else:
        for name, value in results.items():
            limit = "   limit %g" % LIMITS[name] if name in LIMITS else ""
            print("%-22s %10.4g%s" % (name, value, limit))
    return int(any(results[name] > limit for name, limit in LIMITS.items()))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command")
    commands.required = True
    command = commands.add_parser("overhead", help="cost of the op, the import and the pass")
    command.add_argument("--json", action="store_true", help="print JSON")
    command.set_defaults(run=overhead)
    command = commands.add_parser("speed", help="fused kernels against TF, XLA and a copy")
    bench_speed.add_arguments(command)
    command.set_defaults(run=bench_speed.run)
    command = commands.add_parser("pass", help="time of the pass over growing graphs")
    bench_pass.add_arguments(command)
    command.set_defaults(run=bench_pass.run)
    command = commands.add_parser("steps", help="whole model steps against TF and XLA")
    bench_steps.add_arguments(command)
    command.set_defaults(run=bench_steps.run)
    command = commands.add_parser("build", help="time until a step is fused, against XLA")
    bench_build.add_arguments(command)
    command.set_defaults(run=bench_build.run)
    command = commands.add_parser("tiling", help="predicted cycles on chips, time of the tiling")
    bench_tiling.add_arguments(command)
    command.set_defaults(run=bench_tiling.run)
    options = parser.parse_args()
    return options.run(options)


if __name__ == "__main__":
    sys.exit(main())
