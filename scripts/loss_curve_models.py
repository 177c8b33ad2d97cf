"""The models of `loss_curves.py`: each makes batches and, from fixed start values, a step."""

from __future__ import annotations

from typing import Any, Callable, Dict, NamedTuple, Tuple

import numpy as np
import tensorflow as tf

keras = tf.keras
layers = keras.layers


class Model(NamedTuple):
    """`batch(random)` gives arrays whose rows may be permuted; `make_step()` starts anew."""

    batch: Callable[[Any], Tuple[np.ndarray, ...]]
    make_step: Callable[[], Callable[..., Any]]


def _seeded(model: Any) -> Any:
    """The model with weights that depend on nothing but their shapes and places."""
    random = np.random.RandomState(17)
    values = []
    for weight in model.weights:
        shape = tuple(weight.shape)
        if len(shape) > 1:
            fan = float(np.prod(shape[:-1]))
            values.append(random.normal(scale=fan**-0.5, size=shape))
        else:
            values.append(np.ones(shape) if "gamma" in weight.name or "variance" in weight.name
                          else np.zeros(shape))
    model.set_weights([np.asarray(value, "float32") for value in values])
    return model


def _supervised(build: Callable[[], Any], loss: Any, optimizer: Callable[[], Any]) -> Callable:
    """`make_step` of a model that maps inputs to the last array of a batch."""

    def make_step() -> Callable[..., Any]:
        model, update = _seeded(build()), optimizer()

        @tf.function
        def step(*arrays: Any) -> Any:
            inputs = arrays[0] if len(arrays) == 2 else list(arrays[:-1])
            with tf.GradientTape() as tape:
                value = tf.reduce_mean(loss(arrays[-1], model(inputs, training=True)))
            grads = tape.gradient(value, model.trainable_variables)
            update.apply_gradients(zip(grads, model.trainable_variables))
            return value

        return step

    return make_step


def convnet() -> Model:
    """Residual convolutions with batch norm, on images of noisy stripes."""

    def build() -> Any:
        inputs = x = keras.Input((16, 16, 1))
        for width in (12, 12):
            y = layers.Conv2D(width, 3, padding="same", use_bias=False)(x)
            y = layers.Activation("swish")(layers.BatchNormalization()(y))
            x = y if x is inputs else x + y
        return keras.Model(inputs, layers.Dense(4)(layers.GlobalAveragePooling2D()(x)))

    def batch(random: Any) -> Tuple[np.ndarray, ...]:
        labels = random.randint(4, size=16)
        rows, columns = np.mgrid[:16, :16]
        waves = np.sin(np.stack([rows, columns, rows + columns, rows - columns]) * 1.1)
        images = waves[labels] + 0.8 * random.normal(size=(16, 16, 16))
        return images[..., None].astype("float32"), labels.astype("int32")

    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="none")
    return Model(batch, _supervised(build, loss, lambda: keras.optimizers.SGD(0.05, 0.9)))


def transformer() -> Model:
    """One pre-norm block of self attention, telling the token before."""
    tokens, length, width = 20, 12, 32

    def build() -> Any:
        inputs = keras.Input((length,), dtype="int32")
        x = layers.Embedding(tokens, width)(inputs)
        x = x + layers.Embedding(length, width)(tf.range(length))
        y = layers.LayerNormalization(epsilon=1e-5)(x)
        x = x + layers.MultiHeadAttention(4, width // 4)(y, y)
        y = layers.LayerNormalization(epsilon=1e-5)(x)
        x = x + layers.Dense(width)(layers.Dense(2 * width, activation="gelu")(y))
        return keras.Model(inputs, layers.Dense(tokens)(x))

    def batch(random: Any) -> Tuple[np.ndarray, ...]:
        sequence = random.randint(tokens, size=(16, length + 1))
        return sequence[:, 1:].astype("int32"), sequence[:, :-1].astype("int32")

    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="none")
    return Model(batch, _supervised(build, loss, lambda: keras.optimizers.Adam(3e-3)))


def recommender() -> Model:
    """DeepFM of the deepctr package on made-up clicks."""
    from deepctr.feature_column import DenseFeat, SparseFeat
    from deepctr.models import DeepFM

    def build() -> Any:
        columns = [SparseFeat("user", 30, 8), SparseFeat("item", 50, 8), DenseFeat("price", 1)]
        return DeepFM(columns, columns, dnn_hidden_units=(32, 16), dnn_use_bn=True)

    def batch(random: Any) -> Tuple[np.ndarray, ...]:
        user, item = random.randint(30, size=64), random.randint(50, size=64)
        price = random.exponential(size=64)
        clicks = (np.sin(user * 1.7) + np.cos(item * 0.9) - 0.5 * price > 0).astype("float32")
        columns = (user.astype("int32"), item.astype("int32"), price.astype("float32"))
        return columns + (clicks[:, None],)

    loss = keras.losses.BinaryCrossentropy(reduction="none")
    return Model(batch, _supervised(build, loss, lambda: keras.optimizers.Adagrad(0.05)))


def rnn() -> Model:
    """A GRU without fused device cells, adding up marked numbers."""

    def build() -> Any:
        inputs = keras.Input((10, 2))
        cell = layers.RNN(layers.GRUCell(24, reset_after=False))
        return keras.Model(inputs, layers.Dense(1)(cell(inputs)))

    def batch(random: Any) -> Tuple[np.ndarray, ...]:
        values = random.uniform(-1, 1, (32, 10))
        marks = (random.rand(32, 10) < 0.3).astype(float)
        total = (values * marks).sum(1, keepdims=True)
        return np.stack([values, marks], -1).astype("float32"), total.astype("float32")

    loss = keras.losses.Huber(reduction="none")
    return Model(batch, _supervised(build, loss, lambda: keras.optimizers.RMSprop(5e-3)))


def gan() -> Model:
    """A generator and a discriminator of points on a circle; the loss is the sum of both."""

    def network(outputs: int) -> Any:
        inputs = x = keras.Input((2,))
        for _ in range(2):
            x = layers.LeakyReLU()(layers.Dense(24)(x))
        return _seeded(keras.Model(inputs, layers.Dense(outputs)(x)))

    def batch(random: Any) -> Tuple[np.ndarray, ...]:
        angle = random.uniform(0, 2 * np.pi, 64)
        real = np.stack([np.cos(angle), np.sin(angle)], -1)
        return real.astype("float32"), random.normal(size=(64, 2)).astype("float32")

    def make_step() -> Callable[..., Any]:
        generator, critic = network(2), network(1)
        updates = [keras.optimizers.Adam(2e-3, beta_1=0.5) for _ in range(2)]

        @tf.function
        def step(real: Any, noise: Any) -> Any:
            with tf.GradientTape() as first, tf.GradientTape() as second:
                fake = generator(noise)
                yes, no = critic(real), critic(fake)
                told = tf.reduce_mean(tf.math.softplus(-yes)) + tf.reduce_mean(tf.math.softplus(no))
                fooled = tf.reduce_mean(tf.math.softplus(-no))
            for update, tape, value, model in zip(
                updates, (first, second), (told, fooled), (critic, generator)
            ):
                grads = tape.gradient(value, model.trainable_variables)
                update.apply_gradients(zip(grads, model.trainable_variables))
            return told + fooled

        return step

    return Model(batch, make_step)


MODELS: Dict[str, Callable[[], Model]] = {
    "convnet": convnet,
    "transformer": transformer,
    "recommender": recommender,
    "gan": gan,
    "rnn": rnn,
}
