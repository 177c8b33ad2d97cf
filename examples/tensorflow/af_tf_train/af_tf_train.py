"""Train a two-layer classifier with a loss of its own, and print the loss curve.

    tf-autofuse run af_tf_train.py --style session         (or --style function)

The script has no NPU lines. Its activation, its loss, and their gradients are elementwise,
broadcast and reduce operators; the matrix products and the optimizer stay with TensorFlow.
Exit code 1 when the model does not learn.
"""

import argparse
import json
import sys

import numpy as np
import tensorflow as tf

FEATURES, HIDDEN, CLASSES, BATCH = 16, 96, 5, 250
RATE, MOMENTUM, SMOOTHING = 0.2, 0.9, 0.05

v1 = tf.compat.v1


def make_data(batches):
    """Noisy clusters, one per class: features [batches, BATCH, FEATURES], one-hot labels."""
    random = np.random.RandomState(7)
    centers = random.normal(size=(CLASSES, FEATURES))
    classes = random.randint(CLASSES, size=(batches, BATCH))
    features = centers[classes] + 0.9 * random.normal(size=(batches, BATCH, FEATURES))
    return features.astype(np.float32), np.eye(CLASSES, dtype=np.float32)[classes]


def start_values():
    """Weights and biases of both layers."""
    random = np.random.RandomState(3)
    first = random.normal(scale=FEATURES**-0.5, size=(FEATURES, HIDDEN))
    second = random.normal(scale=HIDDEN**-0.5, size=(HIDDEN, CLASSES))
    values = [first, np.zeros(HIDDEN), second, np.zeros(CLASSES)]
    return [value.astype(np.float32) for value in values]


def logits_of(features, weights):
    first, first_bias, second, second_bias = weights
    linear = tf.matmul(features, first) + first_bias
    hidden = linear * tf.sigmoid(1.702 * linear)
    return tf.matmul(hidden, second) + second_bias


def loss_of(logits, labels):
    """Softmax cross entropy with label smoothing, written out, plus a term against large logits."""
    shifted = logits - tf.stop_gradient(tf.reduce_max(logits, axis=-1, keepdims=True))
    log_total = tf.math.log(tf.reduce_sum(tf.exp(shifted), axis=-1, keepdims=True))
    soft = labels * (1.0 - SMOOTHING) + SMOOTHING / CLASSES
    cross_entropy = tf.reduce_sum(soft * (log_total - shifted), axis=-1)
    return tf.reduce_mean(cross_entropy + 1e-3 * tf.reduce_sum(tf.square(logits), axis=-1))


def train_session(batches):
    """Loss per step, with a graph, placeholders and a Session."""
    features, labels = make_data(batches)
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [None, FEATURES], name="features")
        y = v1.placeholder(tf.float32, [None, CLASSES], name="labels")
        weights = [v1.Variable(value) for value in start_values()]
        loss = loss_of(logits_of(x, weights), y)
        step = v1.train.MomentumOptimizer(RATE, MOMENTUM).minimize(loss)
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            feeds = [{x: features[i], y: labels[i]} for i in range(batches)]
            return [float(session.run([loss, step], feed_dict=feed)[0]) for feed in feeds]


def train_function(batches):
    """Loss per step, with eager variables, a GradientTape and a tf.function."""
    v1.enable_v2_behavior()
    features, labels = make_data(batches)
    weights = [tf.Variable(value) for value in start_values()]
    optimizer = v1.train.MomentumOptimizer(RATE, MOMENTUM)

    @tf.function
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = loss_of(logits_of(x, weights), y)
        optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        return loss

    pairs = [(tf.constant(features[i]), tf.constant(labels[i])) for i in range(batches)]
    return [float(step(x, y)) for x, y in pairs]


def draw(curve, rows=8, width=48):
    """A few lines of text with bars."""
    top = max(curve)
    for i in np.linspace(0, len(curve) - 1, rows).astype(int):
        print("step {:4d}  loss {:.5f}  {}".format(i, curve[i], "#" * int(width * curve[i] / top)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--style", choices=("session", "function"), default="session")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--curve-out", metavar="FILE.json", help="write the loss of every step")
    args = parser.parse_args()

    train = train_session if args.style == "session" else train_function
    curve = train(args.steps)
    print(
        "af_tf_train --style {}: {} steps, TensorFlow {}".format(
            args.style, args.steps, tf.version.VERSION
        )
    )
    draw(curve)
    if args.curve_out:
        with open(args.curve_out, "w") as file:
            json.dump({"style": args.style, "tensorflow": tf.version.VERSION, "loss": curve}, file)
    learned = all(np.isfinite(curve)) and curve[-1] < 0.5 * curve[0]
    print("the model learns: OK" if learned else "the model does NOT learn")
    return 0 if learned else 1


if __name__ == "__main__":
    sys.exit(main())
