"""Keras with the mixed_float16 policy and a loss-scale optimizer."""

import json

import numpy as np
import tensorflow as tf

keras = tf.keras


def main():
    keras.mixed_precision.set_global_policy("mixed_float16")
    random = np.random.RandomState(4)
    x = random.randn(64, 16).astype("float32")
    y = x[:, :1] * 2.0
    kernel = keras.initializers.RandomUniform(-0.3, 0.3, seed=2)
    model = keras.Sequential(
        [
            keras.Input((16,)),
            keras.layers.Dense(32, kernel_initializer=kernel),
            keras.layers.Lambda(lambda v: tf.nn.elu(v) + 0.5 * tf.abs(v)),
            keras.layers.Dense(1, kernel_initializer=kernel, dtype="float32"),
        ]
    )
    optimizer = keras.mixed_precision.LossScaleOptimizer(keras.optimizers.SGD(0.01))
    model.compile(optimizer, "mse")
    history = model.fit(x, y, batch_size=16, epochs=4, shuffle=False, verbose=0)
    print(json.dumps({"loss": [float(v) for v in history.history["loss"]]}))


main()
