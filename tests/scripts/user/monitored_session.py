"""Train in a MonitoredTrainingSession with hooks, as a TF1 script for the NPU does."""

import json
import os
import tempfile

import numpy as np
import tensorflow as tf
from npu_bridge.npu_init import *

tf1 = tf.compat.v1
tf1.disable_v2_behavior()


def model(features, labels):
    with tf1.variable_scope("net"):
        weights = tf1.get_variable("w", [8, 16], initializer=tf1.glorot_uniform_initializer(seed=1))
        last = tf1.get_variable("v", [16, 1], initializer=tf1.glorot_uniform_initializer(seed=2))
        bias = tf1.get_variable("b", [16], initializer=tf1.zeros_initializer())
    hidden = tf.matmul(features, weights) + bias
    hidden = hidden * tf.sigmoid(hidden)
    with npu_scope.disable_autofuse():
        out = tf.tanh(tf.matmul(hidden, last), name="kept") * 2.0
    return tf.reduce_mean(tf.square(out - labels))


def main():
    random = np.random.RandomState(0)
    x = random.randn(64, 8).astype("float32")
    y = np.tanh(x[:, :1] - 0.5 * x[:, 1:2])
    dataset = tf1.data.Dataset.from_tensor_slices((x, y)).repeat().batch(16)
    features, labels = tf1.data.make_one_shot_iterator(dataset).get_next()
    loss = model(features, labels)
    step = tf1.train.get_or_create_global_step()
    optimizer = NPUDistributedOptimizer(tf1.train.AdamOptimizer(0.02))
    train = optimizer.minimize(loss, global_step=step)
    config = npu_config_proto(tf1.ConfigProto())
    optimizer = config.graph_options.rewrite_options.custom_optimizers[0]
    optimizer.parameter_map["use_off_line"].b = True
    optimizer.parameter_map["precision_mode"].s = tf.compat.as_bytes("allow_mix_precision")
    hooks = [tf1.train.StopAtStepHook(last_step=30), TellMeStepOrLossHook(step=step)]
    losses = []
    with tempfile.TemporaryDirectory() as folder, tf1.train.MonitoredTrainingSession(
        checkpoint_dir=folder,
        hooks=npu_hooks_append(hooks),
        config=config,
    ) as session:
        while not session.should_stop():
            losses.append(float(session.run([loss, train])[0]))
    print(json.dumps({"loss": losses, "step": int(os.environ["STEP_NOW"])}))


main()
