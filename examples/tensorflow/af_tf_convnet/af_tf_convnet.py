"""Train a small residual convnet on striped images, and print loss and time of a step.

    tf-autofuse run af_tf_convnet.py --style session         (or --style function)

Batch norm in training form, leaky relu, residual sums, pooling by means, the loss and a momentum
optimizer around TensorFlow's convolutions. Exit code 1 when the model does not learn.
"""

import argparse
import json
import sys
import time

import numpy as np
import tensorflow as tf

SIDE, CHANNELS, CLASSES, BATCH = 16, 12, 4, 32
RATE, MOMENTUM = 0.1, 0.9

v1 = tf.compat.v1


def make_data(steps):
    """Images [steps, BATCH, SIDE, SIDE, 1] with stripes of four slopes, and one-hot labels."""
    random = np.random.RandomState(2)
    classes = random.randint(CLASSES, size=(steps, BATCH))
    rows, columns = np.mgrid[:SIDE, :SIDE]
    stripes = np.stack([rows, columns, rows + columns, rows - columns])
    waves = np.sin(stripes * 1.1).astype(np.float32)
    noise = 0.7 * random.normal(size=(steps, BATCH, SIDE, SIDE))
    images = (waves[classes] + noise)[..., None].astype(np.float32)
    return images, np.eye(CLASSES, dtype=np.float32)[classes]


def start_values():
    """Kernels, gains and shifts of three convolutions, and the last layer."""
    random = np.random.RandomState(4)
    values = []
    for depth in (1, CHANNELS, CHANNELS):
        scale = (2.0 / (9 * depth)) ** 0.5
        values.append(random.normal(scale=scale, size=(3, 3, depth, CHANNELS)))
        values += [np.ones(CHANNELS), np.zeros(CHANNELS)]
    values.append(random.normal(scale=0.3, size=(CHANNELS, CLASSES)))
    return [value.astype(np.float32) for value in values]


def block(x, kernel, gain, shift):
    x = tf.nn.conv2d(x, kernel, strides=[1, 1, 1, 1], padding="SAME")
    mean = tf.reduce_mean(x, axis=[0, 1, 2])
    variance = tf.reduce_mean(tf.square(x - mean), axis=[0, 1, 2])
    return tf.nn.leaky_relu((x - mean) * tf.math.rsqrt(variance + 1e-3) * gain + shift)


def logits_of(images, weights):
    x = block(images, *weights[0:3])
    x += block(block(x, *weights[3:6]), *weights[6:9]) * 0.5
    return tf.matmul(tf.reduce_mean(x, axis=[1, 2]), weights[9])


def loss_of(logits, labels):
    return tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits))


def train_session(steps):
    """Losses and seconds per step, with a graph, placeholders and a Session."""
    images, labels = make_data(steps)
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [BATCH, SIDE, SIDE, 1], name="images")
        y = v1.placeholder(tf.float32, [BATCH, CLASSES], name="labels")
        weights = [v1.Variable(value) for value in start_values()]
        loss = loss_of(logits_of(x, weights), y)
        step = v1.train.MomentumOptimizer(RATE, MOMENTUM).minimize(loss)
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            feeds = [{x: images[i], y: labels[i]} for i in range(steps)]
            return timed(lambda feed: session.run([loss, step], feed_dict=feed)[0], feeds)


def train_function(steps):
    """Losses and seconds per step, with eager variables, a GradientTape and a tf.function."""
    v1.enable_v2_behavior()
    weights = [tf.Variable(value) for value in start_values()]
    optimizer = v1.train.MomentumOptimizer(RATE, MOMENTUM)

    @tf.function
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = loss_of(logits_of(x, weights), y)
        optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        return loss

    batches = [tuple(map(tf.constant, batch)) for batch in zip(*make_data(steps))]
    return timed(lambda batch: step(*batch), batches)


def timed(step, batches):
    """Loss of every batch, and the median time of a step in seconds."""
    losses, seconds = [], []
    for batch in batches:
        start = time.perf_counter()
        losses.append(float(step(batch)))
        seconds.append(time.perf_counter() - start)
    return losses, float(np.median(seconds))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--style", choices=("session", "function"), default="session")
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--curve-out", metavar="FILE.json", help="write the loss of every step")
    args = parser.parse_args()

    train = train_session if args.style == "session" else train_function
    losses, seconds = train(args.steps)
    print("af_tf_convnet --style {}: TensorFlow {}".format(args.style, tf.version.VERSION))
    print("loss {:.5f} -> {:.5f} in {} steps".format(losses[0], losses[-1], args.steps))
    print("median step {:.2f} ms".format(seconds * 1e3))
    if args.curve_out:
        with open(args.curve_out, "w") as file:
            json.dump({"loss": losses, "step_seconds": seconds}, file)
    learned = all(np.isfinite(losses)) and np.mean(losses[-5:]) < 0.8 * losses[0]
    print("the model learns: OK" if learned else "the model does NOT learn")
    return 0 if learned else 1


if __name__ == "__main__":
    sys.exit(main())
