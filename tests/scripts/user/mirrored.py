"""MirroredStrategy over two logical CPUs, with Keras fit and a custom loop."""

import json

import numpy as np
import tensorflow as tf

cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)


def main():
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    random = np.random.RandomState(6)
    x = random.randn(64, 8).astype("float32")
    y = np.abs(x[:, :1])
    with strategy.scope():
        w = tf.Variable(random.randn(8, 4).astype("float32"))
        v = tf.Variable(random.randn(4, 1).astype("float32"))

    def replica_step(features, labels):
        with tf.GradientTape() as tape:
            hidden = tf.matmul(features, w)
            out = tf.matmul(hidden * tf.sigmoid(hidden), v)
            loss = tf.reduce_sum(tf.abs(out - labels) + 0.1 * tf.square(out)) / 32.0
        for variable, grad in zip((w, v), tape.gradient(loss, (w, v))):
            total = tf.distribute.get_replica_context().all_reduce("SUM", grad)
            variable.assign_sub(0.05 * total)
        return loss

    @tf.function
    def step(features, labels):
        losses = strategy.run(replica_step, (features, labels))
        return strategy.reduce("SUM", losses, axis=None)

    dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(32).repeat(5)
    losses = [float(step(*batch)) for batch in strategy.experimental_distribute_dataset(dataset)]
    print(json.dumps({"replicas": strategy.num_replicas_in_sync, "loss": losses}))


main()
