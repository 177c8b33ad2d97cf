"""One worker of a MultiWorkerMirroredStrategy; TF_CONFIG says which."""

import json

import numpy as np
import tensorflow as tf
from tensorflow.python.distribute import collective_all_reduce_strategy

# The thread that watches the other workers ends the process badly when it outlives Python.
collective_all_reduce_strategy.CollectiveAllReduceExtended._enable_check_health = False


def main():
    options = tf.distribute.experimental.CommunicationOptions(
        implementation=tf.distribute.experimental.CommunicationImplementation.RING
    )
    strategy = tf.distribute.MultiWorkerMirroredStrategy(communication_options=options)
    random = np.random.RandomState(8)
    x = random.randn(48, 6).astype("float32")
    y = np.tanh(x[:, :1])
    with strategy.scope():
        w = tf.Variable(random.randn(6, 1).astype("float32"))

    def replica_step(features, labels):
        with tf.GradientTape() as tape:
            out = tf.matmul(features, w)
            loss = tf.reduce_sum(tf.square(tf.tanh(out) * 1.1 - labels)) / 24.0
        grad = tape.gradient(loss, w)
        total = tf.distribute.get_replica_context().all_reduce("SUM", grad)
        w.assign_sub(0.1 * total)
        return loss

    @tf.function
    def step(features, labels):
        return strategy.reduce("SUM", strategy.run(replica_step, (features, labels)), axis=None)

    dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(24).repeat(4)
    losses = [float(step(*batch)) for batch in strategy.experimental_distribute_dataset(dataset)]
    print(json.dumps({"workers": strategy.num_replicas_in_sync, "loss": losses}))
    close_pools(strategy.extended)


def close_pools(extended):
    """TensorFlow 2.6 leaves threads in pools; one that still tidies up at exit aborts Python."""
    for ops in (extended._cross_device_ops, extended._host_cross_device_ops):
        pool = getattr(ops, "_pool", None)
        if pool is not None:
            pool.close()
            pool.join()


main()
