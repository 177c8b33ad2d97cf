"""The models of `bench.py steps` and `bench.py build`: Keras ResNet50, BERT-base encoder blocks,
and the recommenders DeepFM and DIN written in plain Keras."""
from __future__ import annotations

from typing import Any, Callable, Dict, List, NamedTuple, Tuple

import keras
import numpy as np
import tensorflow as tf
from keras import layers, ops

FIELDS, VOCABULARY, EMBEDDING = 26, 10000, 16  # of the recommenders
HISTORY = 50  # items a user has clicked on, for DIN


def _adam() -> Any:
    return keras.optimizers.Adam(1e-3)


class Case(NamedTuple):
    """`batch(size)` gives model inputs and labels of the default batch `size`."""

    build: Callable[[], Any]
    batch: Callable[[int], Tuple[Any, Any]]
    size: int
    loss: Callable[[Any, Any], Any]
    optimizer: Callable[[], Any] = _adam


def _random(shape: Tuple[int, ...], seed: int = 0) -> Any:
    return tf.constant(np.random.default_rng(seed).normal(size=shape).astype("float32"))


def numbers(high: int, shape: Tuple[int, ...], seed: int = 0) -> Any:
    return tf.constant(np.random.default_rng(seed).integers(0, high, shape).astype("int32"))


def clicks(size: int) -> Any:
    return tf.cast(numbers(2, (size, 1), seed=9), tf.float32)


# ---- ResNet50 ------------------------------------------------------------------------------------


def resnet50() -> Any:
    return keras.applications.ResNet50(weights=None, input_shape=(96, 96, 3), classes=100)


def _images(size: int) -> Tuple[Any, Any]:
    return _random((size, 96, 96, 3)), numbers(100, (size,))


def _class_loss(labels: Any, result: Any) -> Any:
    return ops.mean(keras.losses.sparse_categorical_crossentropy(labels, result))


# ---- BERT-base encoder blocks --------------------------------------------------------------------


def _attention(x: Any, width: int, heads: int, length: int) -> Any:
    """Self attention in its parts, as BERT's own code has it."""
    def split(y: Any) -> Any:
        return ops.transpose(ops.reshape(y, (-1, length, heads, width // heads)), (0, 2, 1, 3))

    query, key, value = [split(layers.Dense(width)(x)) for _ in range(3)]
    scores = ops.matmul(query, ops.transpose(key, (0, 1, 3, 2))) / (width // heads) ** 0.5
    chances = layers.Dropout(0.1, seed=1)(ops.softmax(scores, axis=-1))
    mixed = ops.transpose(ops.matmul(chances, value), (0, 2, 1, 3))
    return layers.Dense(width)(ops.reshape(mixed, (-1, length, width)))


def bert_blocks(blocks: int = 2, length: int = 128, width: int = 768, heads: int = 12) -> Any:
    """Blocks of BERT-base (post-norm, gelu) over embedded tokens."""
    x = start = keras.Input((length, width))
    for _ in range(blocks):
        attended = layers.Dropout(0.1, seed=2)(_attention(x, width, heads, length))
        x = layers.LayerNormalization(epsilon=1e-12)(x + attended)
        inner = ops.gelu(layers.Dense(4 * width)(x), approximate=False)
        inner = layers.Dropout(0.1, seed=3)(layers.Dense(width)(inner))
        x = layers.LayerNormalization(epsilon=1e-12)(x + inner)
    return keras.Model(start, x)


def _sequences(size: int) -> Tuple[Any, Any]:
    return _random((size, 128, 768)), _random((size, 128, 768), seed=1)


def _square_loss(labels: Any, result: Any) -> Any:
    return ops.mean(ops.square(labels - result))


# ---- recommenders --------------------------------------------------------------------------------


def deepfm() -> Any:
    """Factorisation machine beside a deep network, over embedded fields."""
    fields = keras.Input((FIELDS,), dtype="int32")
    offsets = ops.reshape(ops.arange(FIELDS, dtype="int32") * VOCABULARY, (1, FIELDS))
    ids = fields + offsets
    first = ops.sum(layers.Embedding(FIELDS * VOCABULARY, 1)(ids), axis=1)
    vectors = layers.Embedding(FIELDS * VOCABULARY, EMBEDDING)(ids)
    total = ops.sum(vectors, axis=1)
    pairs = 0.5 * ops.sum(ops.square(total) - ops.sum(ops.square(vectors), axis=1),
                          axis=1, keepdims=True)
    deep = layers.Flatten()(vectors)
    for units in (256, 128, 64):
        deep = layers.Activation("relu")(layers.BatchNormalization()(layers.Dense(units)(deep)))
    logit = first + pairs + layers.Dense(1)(deep)
    return keras.Model(fields, ops.sigmoid(logit))


def _fields(size: int) -> Tuple[Any, Any]:
    return numbers(VOCABULARY, (size, FIELDS)), clicks(size)


class Dice(layers.Layer):
    """The activation of DIN: a gate by the batch statistics between x and alpha x."""

    def build(self, shape: Any) -> None:
        self.norm = layers.BatchNormalization(center=False, scale=False)
        self.norm.build(shape)
        self.alpha = self.add_weight(shape=(shape[-1],), initializer="zeros")

    def call(self, x: Any, training: Any = None) -> Any:
        gate = ops.sigmoid(self.norm(x, training=training))
        return gate * x + (1.0 - gate) * self.alpha * x


def din() -> Any:
    """Deep interest network: attention of the candidate item over the user's history."""
    history = keras.Input((HISTORY,), dtype="int32")
    candidate = keras.Input((1,), dtype="int32")
    table = layers.Embedding(VOCABULARY, 2 * EMBEDDING)
    past, item = table(history), table(candidate)
    query = item + ops.zeros_like(past)
    x = ops.concatenate([query, past, query - past, query * past], axis=-1)
    for units in (80, 40):
        x = layers.Dense(units, activation="sigmoid")(x)
    mask = ops.expand_dims(ops.not_equal(history, 0), -1)
    scores = ops.where(mask, layers.Dense(1)(x), -1e9)
    interest = ops.sum(ops.softmax(scores, axis=1) * past, axis=1)
    x = ops.concatenate([interest, ops.reshape(item, (-1, 2 * EMBEDDING))], axis=-1)
    for units in (200, 80):
        x = Dice()(layers.Dense(units)(x))
    return keras.Model([history, candidate], layers.Dense(1, activation="sigmoid")(x))


def _histories(size: int) -> Tuple[Any, Any]:
    past, item = numbers(VOCABULARY, (size, HISTORY)), numbers(VOCABULARY, (size, 1), seed=1)
    return [past, item], clicks(size)


def _click_loss(labels: Any, result: Any) -> Any:
    return ops.mean(keras.losses.binary_crossentropy(labels, result))


CASES: Dict[str, Case] = {
    "resnet50": Case(resnet50, _images, 8, _class_loss),
    "bert": Case(bert_blocks, _sequences, 4, _square_loss),
    "deepfm": Case(deepfm, _fields, 1024, _click_loss),
    "din": Case(din, _histories, 256, _click_loss),
}


def step_of(case: Case, train: bool, weights: List[Any], jit: bool = False) -> Callable[..., Any]:
    """One step as a tf.function over (inputs, labels), of a model with these first weights.

    A training step gives the loss and applies Adam, a forward step gives the loss.
    """
    model = case.build()
    if weights:
        model.set_weights(weights)
    optimizer = case.optimizer()
    optimizer.build(model.trainable_variables)

    def forward(inputs: Any, labels: Any) -> Any:
        return case.loss(labels, model(inputs, training=False))

    def training(inputs: Any, labels: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = case.loss(labels, model(inputs, training=True))
        variables = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss

    return tf.function(training if train else forward, jit_compile=jit)
