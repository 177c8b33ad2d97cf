"""A TF2 training loop: tf.data, tf.function, a GradientTape, loops and branches in the graph."""

import json

import numpy as np
import tensorflow as tf

if not tf.executing_eagerly():
    tf.compat.v1.enable_v2_behavior()


def data():
    random = np.random.RandomState(2)
    x = random.randn(120, 6).astype("float32")
    y = (x.sum(1, keepdims=True) > 0).astype("float32")
    return tf.data.Dataset.from_tensor_slices((x, y)).batch(24).repeat(6)


class Net(tf.Module):
    def __init__(self):
        super().__init__()
        random = np.random.RandomState(5)
        self.w = tf.Variable(random.randn(6, 10).astype("float32") * 0.3)
        self.v = tf.Variable(random.randn(10, 1).astype("float32") * 0.3)
        self.gain = tf.Variable(tf.ones([10]))

    def __call__(self, x):
        hidden = tf.matmul(x, self.w)
        mean = tf.reduce_mean(hidden, -1, keepdims=True)
        spread = tf.reduce_mean(tf.square(hidden - mean), -1, keepdims=True)
        hidden = (hidden - mean) * tf.math.rsqrt(spread + 1e-3) * self.gain
        return tf.matmul(tf.nn.relu(hidden), self.v)


net = Net()


@tf.function
def step(x, y, rate):
    with tf.GradientTape() as tape:
        logits = net(x)
        losses = tf.maximum(logits, 0.0) - logits * y + tf.math.log1p(tf.exp(-tf.abs(logits)))
        loss = tf.reduce_mean(losses)
    for variable, grad in zip(
        net.trainable_variables, tape.gradient(loss, net.trainable_variables)
    ):
        variable.assign_sub(rate * tf.clip_by_value(grad, -1.0, 1.0))
    if loss < 0.3:
        loss = loss * 2.0 - loss
    scale = tf.constant(0.0)
    for _ in tf.range(3):
        scale = tf.abs(scale * 0.5) + tf.reduce_sum(tf.square(tf.sin(x) + scale))
    return loss, scale


def main():
    results = [step(x, y, tf.constant(0.3)) for x, y in data()]
    print(json.dumps({"loss": [float(a) for a, _ in results], "scale": float(results[-1][1])}))


main()
