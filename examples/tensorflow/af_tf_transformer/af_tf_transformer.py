"""Train one transformer block to copy the token before, and print loss and time of a step.

    tf-autofuse run af_tf_transformer.py --style session         (or --style function)

Layer norms, a masked softmax, gelu with its bias, the loss, and Adam are written out as models do.
Matrix products, transposes and embedding look-ups stay with TensorFlow. Exit code 1 when the model
does not learn.
"""

import argparse
import json
import sys
import time

import numpy as np
import tensorflow as tf

TOKENS, LENGTH, WIDTH, HEADS, HIDDEN, BATCH = 20, 16, 48, 4, 96, 16
RATE = 0.01

v1 = tf.compat.v1


def make_data(steps):
    """Tokens [steps, BATCH, LENGTH]; what follows each token is the one before it."""
    return np.random.RandomState(3).randint(TOKENS, size=(steps, BATCH, LENGTH)).astype(np.int32)


def start_values():
    """All weights of the block by name, as float32 arrays."""
    random = np.random.RandomState(8)

    def dense(rows, columns):
        return random.normal(scale=rows**-0.5, size=(rows, columns))

    values = {
        "embedding": random.normal(scale=0.5, size=(TOKENS, WIDTH)),
        "position": random.normal(scale=0.5, size=(LENGTH, WIDTH)),
        "query": dense(WIDTH, WIDTH),
        "key": dense(WIDTH, WIDTH),
        "value": dense(WIDTH, WIDTH),
        "mixed": dense(WIDTH, WIDTH),
        "up": dense(WIDTH, HIDDEN),
        "up_bias": np.zeros(HIDDEN),
        "down": dense(HIDDEN, WIDTH),
        "gain1": np.ones(WIDTH),
        "shift1": np.zeros(WIDTH),
        "gain2": np.ones(WIDTH),
        "shift2": np.zeros(WIDTH),
        "out": dense(WIDTH, TOKENS),
    }
    return {name: value.astype(np.float32) for name, value in values.items()}


def layer_norm(x, gain, shift):
    mean = tf.reduce_mean(x, axis=-1, keepdims=True)
    variance = tf.reduce_mean(tf.math.squared_difference(x, mean), axis=-1, keepdims=True)
    return (x - mean) * tf.math.rsqrt(variance + 1e-6) * gain + shift


def gelu(x):
    return 0.5 * x * (1.0 + tf.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def softmax(x):
    shifted = tf.exp(x - tf.stop_gradient(tf.reduce_max(x, axis=-1, keepdims=True)))
    return shifted / tf.reduce_sum(shifted, axis=-1, keepdims=True)


def product(x, weight):
    """x [..., n] times weight [n, m]."""
    width = int(weight.shape[1])
    shape = [-1] + [int(d) for d in x.shape[1:-1]] + [width]
    return tf.reshape(tf.matmul(tf.reshape(x, [-1, int(x.shape[-1])]), weight), shape)


def heads(x):
    return tf.transpose(tf.reshape(x, [-1, LENGTH, HEADS, WIDTH // HEADS]), [0, 2, 1, 3])


def logits_of(tokens, w):
    x = tf.gather(w["embedding"], tokens) + w["position"]
    normed = layer_norm(x, w["gain1"], w["shift1"])
    query, key, value = (heads(product(normed, w[n])) for n in ("query", "key", "value"))
    scores = tf.matmul(query, key, transpose_b=True) * (WIDTH // HEADS) ** -0.5
    future = tf.constant(np.triu(np.full((LENGTH, LENGTH), -1e9, np.float32), 1))
    seen = tf.transpose(tf.matmul(softmax(scores + future), value), [0, 2, 1, 3])
    x += product(tf.reshape(seen, [-1, LENGTH, WIDTH]), w["mixed"])
    normed = layer_norm(x, w["gain2"], w["shift2"])
    x += product(gelu(product(normed, w["up"]) + w["up_bias"]), w["down"])
    return product(x, w["out"])


def loss_of(logits, tokens):
    """Cross entropy of telling, from the second position on, the token before."""
    wanted = tf.one_hot(tokens[:, :-1], TOKENS)
    chances = softmax(logits[:, 1:])
    return -tf.reduce_mean(tf.reduce_sum(wanted * tf.math.log(chances + 1e-9), axis=-1))


def train_session(steps):
    """Losses and seconds per step, with a graph, a placeholder and a Session."""
    data = make_data(steps)
    with tf.Graph().as_default():
        tokens = v1.placeholder(tf.int32, [None, LENGTH], name="tokens")
        weights = {name: v1.Variable(value) for name, value in start_values().items()}
        loss = loss_of(logits_of(tokens, weights), tokens)
        step = v1.train.AdamOptimizer(RATE).minimize(loss)
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            return timed(lambda batch: session.run([loss, step], {tokens: batch})[0], data)


def train_function(steps):
    """Losses and seconds per step, with eager variables, a GradientTape and a tf.function."""
    v1.enable_v2_behavior()
    weights = {name: tf.Variable(value) for name, value in start_values().items()}
    optimizer = v1.train.AdamOptimizer(RATE)

    @tf.function
    def step(tokens):
        with tf.GradientTape() as tape:
            loss = loss_of(logits_of(tokens, weights), tokens)
        variables = list(weights.values())
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss

    return timed(step, [tf.constant(batch) for batch in make_data(steps)])


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
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--curve-out", metavar="FILE.json", help="write the loss of every step")
    args = parser.parse_args()

    train = train_session if args.style == "session" else train_function
    losses, seconds = train(args.steps)
    print("af_tf_transformer --style {}: TensorFlow {}".format(args.style, tf.version.VERSION))
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
