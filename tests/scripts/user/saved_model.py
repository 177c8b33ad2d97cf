"""Save a module, load it again, and call its serving signature and its function."""

import json
import tempfile

import numpy as np
import tensorflow as tf

if not tf.executing_eagerly():
    tf.compat.v1.enable_v2_behavior()


class Scorer(tf.Module):
    def __init__(self):
        super().__init__()
        self.shift = tf.Variable([0.5, -0.5, 0.25])

    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32)])
    def score(self, x):
        shifted = tf.abs(x) + self.shift
        return {"scores": tf.nn.softmax(tf.exp(-shifted) * 2.0), "total": tf.reduce_sum(shifted)}


def main():
    x = tf.constant(np.random.RandomState(9).randn(5, 3).astype("float32"))
    with tempfile.TemporaryDirectory() as folder:
        scorer = Scorer()
        tf.saved_model.save(scorer, folder, signatures=scorer.score)
        loaded = tf.saved_model.load(folder)
        served = loaded.signatures["serving_default"](x=x)
        called = loaded.score(x)
    assert np.array_equal(served["scores"], called["scores"])
    print(json.dumps({"scores": served["scores"].numpy().tolist(), "n": float(called["total"])}))


main()
