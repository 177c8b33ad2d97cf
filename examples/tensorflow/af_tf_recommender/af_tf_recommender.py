"""Train DeepFM on made-up clicks, and print the loss curve and the time of a step.

    tf-autofuse run af_tf_recommender.py --style session         (or --style function)

Bucketed and scaled numbers, the pairwise term of the factorisation machine, a deep part with
dropout by given masks, a focal loss, and Adagrad. The embedding look-ups and the matrix products
stay with TensorFlow. Exit code 1 when the model does not learn.
"""

import argparse
import json
import sys
import time

import numpy as np
import tensorflow as tf

FIELDS, VOCABULARY, NUMBERS, WIDTH, HIDDEN, BATCH = 6, 50, 4, 8, 64, 256
KEEP, RATE = 0.8, 0.15

v1 = tf.compat.v1


def make_data(steps):
    """Per step: ids [BATCH, FIELDS], numbers [BATCH, NUMBERS], mask [BATCH, HIDDEN], clicks."""
    random = np.random.RandomState(11)
    ids = random.randint(VOCABULARY, size=(steps, BATCH, FIELDS)).astype(np.int32)
    numbers = random.exponential(20.0, size=(steps, BATCH, NUMBERS)).astype(np.float32)
    masks = (random.rand(steps, BATCH, HIDDEN) < KEEP).astype(np.float32)
    taste = random.normal(size=(FIELDS, VOCABULARY))
    score = taste[np.arange(FIELDS), ids].sum(-1) + 0.05 * (numbers[..., 0] - numbers[..., 1])
    clicks = (score + 0.5 * random.normal(size=score.shape) > 0).astype(np.float32)
    return ids, numbers, masks, clicks[..., None]


def start_values():
    """Embeddings, linear weights, scale of the numbers, both layers of the deep part."""
    random = np.random.RandomState(5)
    wide = FIELDS * WIDTH + NUMBERS
    shapes = [
        (FIELDS * VOCABULARY, WIDTH),
        (FIELDS * VOCABULARY, 1),
        (NUMBERS,),
        (wide, HIDDEN),
        (HIDDEN,),
        (HIDDEN, 1),
    ]
    return [random.normal(scale=0.1, size=shape).astype(np.float32) for shape in shapes]


def logits_of(ids, numbers, mask, weights):
    table, linear, scale, first, bias, last = weights
    rows = ids + tf.constant(np.arange(FIELDS) * VOCABULARY, tf.int32)
    vectors = tf.gather(table, rows)
    scaled = tf.clip_by_value(tf.math.log1p(numbers), 0.0, 4.0) * scale
    scaled += tf.cast(numbers > 30.0, tf.float32)
    summed = tf.reduce_sum(vectors, axis=1)
    pairs = tf.reduce_sum(tf.square(summed) - tf.reduce_sum(tf.square(vectors), 1), -1)
    deep = tf.concat([tf.reshape(vectors, [-1, FIELDS * WIDTH]), scaled], axis=1)
    hidden = tf.nn.relu(tf.matmul(deep, first) + bias) * mask / KEEP
    wide = tf.reduce_sum(tf.gather(linear, rows), axis=1)
    return tf.matmul(hidden, last) + wide + 0.5 * pairs[:, None]


def loss_of(logits, clicks):
    """Focal cross entropy: clicks that are easy to tell count less."""
    losses = tf.nn.sigmoid_cross_entropy_with_logits(labels=clicks, logits=logits)
    chance = tf.sigmoid(logits)
    hit = clicks * chance + (1.0 - clicks) * (1.0 - chance)
    return tf.reduce_mean(losses * tf.square(1.0 - hit) * 4.0)


def train_session(steps):
    """Losses and seconds per step, with a graph, placeholders and a Session."""
    data = make_data(steps)
    with tf.Graph().as_default():
        ids = v1.placeholder(tf.int32, [None, FIELDS], name="ids")
        numbers = v1.placeholder(tf.float32, [None, NUMBERS], name="numbers")
        mask = v1.placeholder(tf.float32, [None, HIDDEN], name="mask")
        clicks = v1.placeholder(tf.float32, [None, 1], name="clicks")
        weights = [v1.Variable(value) for value in start_values()]
        loss = loss_of(logits_of(ids, numbers, mask, weights), clicks)
        step = v1.train.AdagradOptimizer(RATE).minimize(loss)
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            feeds = [dict(zip((ids, numbers, mask, clicks), batch)) for batch in zip(*data)]
            return timed(lambda feed: session.run([loss, step], feed_dict=feed)[0], feeds)


def train_function(steps):
    """Losses and seconds per step, with eager variables, a GradientTape and a tf.function."""
    v1.enable_v2_behavior()
    weights = [tf.Variable(value) for value in start_values()]
    optimizer = v1.train.AdagradOptimizer(RATE)

    @tf.function
    def step(ids, numbers, mask, clicks):
        with tf.GradientTape() as tape:
            loss = loss_of(logits_of(ids, numbers, mask, weights), clicks)
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
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--curve-out", metavar="FILE.json", help="write the loss of every step")
    args = parser.parse_args()

    train = train_session if args.style == "session" else train_function
    losses, seconds = train(args.steps)
    print("af_tf_recommender --style {}: TensorFlow {}".format(args.style, tf.version.VERSION))
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
