"""Keras: a custom layer, fit, evaluate, predict and a custom train step. Argument: a package."""

import importlib
import json
import os
import sys

import numpy as np

if "tf_keras" in sys.argv:
    os.environ["TF_USE_LEGACY_KERAS"] = "1"
import tensorflow as tf

keras = importlib.import_module("tf_keras") if "tf_keras" in sys.argv else tf.keras


class Gated(keras.layers.Layer):
    def build(self, shape):
        self.gate = self.add_weight(name="gate", shape=(int(shape[-1]),), initializer="ones")

    def call(self, x):
        return x * tf.sigmoid(x * self.gate) + 0.1 * tf.abs(x)


def main():
    if hasattr(tf, "random") and hasattr(tf.random, "set_seed"):
        tf.random.set_seed(1)
    else:
        tf.compat.v1.set_random_seed(1)
    random = np.random.RandomState(3)
    x = random.randn(96, 12).astype("float32")
    y = (x[:, 0] * x[:, 1] > 0).astype("int32")
    kernel = keras.initializers.RandomUniform(-0.4, 0.4, seed=7)
    inputs = keras.Input((12,))
    hidden = Gated()(keras.layers.Dense(24, kernel_initializer=kernel)(inputs))
    hidden = keras.layers.LayerNormalization()(hidden)
    outputs = keras.layers.Dense(2, activation="softmax", kernel_initializer=kernel)(hidden)
    model = keras.Model(inputs, outputs)
    model.compile(keras.optimizers.Adam(0.01), "sparse_categorical_crossentropy")
    history = model.fit(x, y, batch_size=32, epochs=4, shuffle=False, verbose=0)
    result = {
        "loss": [float(v) for v in history.history["loss"]],
        "evaluated": float(model.evaluate(x, y, verbose=0)),
        "predicted": float(np.sum(model.predict(x, verbose=0)[:, 0])),
    }
    print(json.dumps(result))


main()
