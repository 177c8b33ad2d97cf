"""abs -> reduce_sum over the last axis of [128, 192], float16 or float32.

    tf-autofuse run af_tf_eleandreduce.py --mode tf1          (or --mode tf2-compat)

On an Ascend host: export AUTOFUSE_FLAGS=--enable_autofuse=true and run it with python3.
Exit code 1 when the result is less accurate than TensorFlow's own.
"""

import argparse
import json
import sys

import numpy as np

parser = argparse.ArgumentParser(description="abs, reduce_sum on an NPU")
parser.add_argument("--mode", choices=("tf1", "tf2-compat"), default="tf1")
parser.add_argument("--dtype", choices=("float16", "float32"), default="float16")
parser.add_argument("--steps", type=int, default=100)
parser.add_argument("--profiling", metavar="DIR", help="write NPU profiling data under DIR")
args = parser.parse_args()

if args.mode == "tf1":
    from npu_bridge.npu_init import *
else:
    import npu_device

    npu_device.compat.enable_v1()

import tensorflow.compat.v1 as tf
from tensorflow.core.protobuf.rewriter_config_pb2 import RewriterConfig

SHAPE = (128, 192)
DTYPE = np.dtype(args.dtype)


def npu_config():
    """Session configuration that sends the graph to the NPU."""
    config = tf.ConfigProto()
    custom_op = config.graph_options.rewrite_options.custom_optimizers.add()
    custom_op.name = "NpuOptimizer"
    custom_op.parameter_map["use_off_line"].b = True
    custom_op.parameter_map["graph_run_mode"].i = 0
    custom_op.parameter_map["precision_mode"].s = tf.compat.as_bytes("must_keep_origin_dtype")
    if args.profiling:
        options = json.dumps({"output": args.profiling, "task_trace": "on"})
        custom_op.parameter_map["profiling_mode"].b = True
        custom_op.parameter_map["profiling_options"].s = tf.compat.as_bytes(options)
    config.graph_options.rewrite_options.remapping = RewriterConfig.OFF
    config.graph_options.rewrite_options.memory_optimization = RewriterConfig.OFF
    return config


def plain_config():
    """Session configuration that leaves the graph to TensorFlow's own CPU kernels, unchanged."""
    config = tf.ConfigProto()
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    return config


def model(x):
    return tf.reduce_sum(tf.abs(x), axis=-1)


def run(config, x_value, steps):
    """Results of all steps."""
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        x = tf.placeholder(DTYPE, SHAPE, name="x")
        y = model(x)
        return [session.run(y, feed_dict={x: x_value}) for _ in range(steps)]


def ulps(value, exact):
    """Largest error of `value` in units in the last place of its type."""
    return np.max(
        np.abs(value.astype(np.float64) - exact) / np.spacing(np.abs(exact).astype(DTYPE))
    )


def main():
    if tf.executing_eagerly():
        tf.disable_eager_execution()
    x = np.random.RandomState(0).uniform(-3, 3, SHAPE).astype(DTYPE)
    exact = np.sum(np.abs(x.astype(np.float64)), axis=-1)

    results = run(npu_config(), x, args.steps)
    ours = max(ulps(result, exact) for result in results)
    theirs = ulps(run(plain_config(), x, 1)[0], exact)

    good = results[0].dtype == DTYPE and ours <= max(theirs, 1.0)
    print("af_tf_eleandreduce --mode {}, TensorFlow {}".format(args.mode, tf.version.VERSION))
    print("{} steps of reduce_sum(abs(x), -1), {} {}".format(args.steps, DTYPE.name, list(SHAPE)))
    errors = "largest error {:.3f} ULP, TensorFlow's own {:.3f} ULP".format(ours, theirs)
    print("{}: {}".format(errors, "OK" if good else "DIFFERENT"))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
