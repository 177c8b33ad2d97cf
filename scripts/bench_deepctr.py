"""The recommenders of `bench.py steps` as the deepctr package has them: DeepFM and DIN.

deepctr is written for Keras 2: it wants tf_keras, and TF_USE_LEGACY_KERAS=1 before TensorFlow.
"""
from __future__ import annotations

from typing import Any, Dict, List, Tuple

import numpy as np
import tensorflow as tf
import tf_keras
from bench_models import FIELDS, HISTORY, VOCABULARY, Case, clicks, numbers
from deepctr import feature_column
from deepctr.models import DIN, DeepFM

WIDTH = 16  # of the embeddings


def _sparse(name: str, **settings: Any) -> Any:
    return feature_column.SparseFeat(name, VOCABULARY, WIDTH, **settings)


def _fields() -> List[Any]:
    columns = [_sparse("field%d" % number) for number in range(FIELDS)]
    return columns + [feature_column.DenseFeat("price", 1)]


def deepfm() -> Any:
    return DeepFM(_fields(), _fields(), dnn_hidden_units=(256, 128, 64), dnn_use_bn=True)


def din() -> Any:
    """Attention of the candidate item over the user's history, with Dice activations."""
    item = _sparse("item", embedding_name="item")
    history = feature_column.VarLenSparseFeat(
        _sparse("hist_item", embedding_name="item"), HISTORY, length_name="length")
    return DIN([_sparse("user"), item, history], ["item"], att_activation="sigmoid")


def _ids(size: int, *shape: int, seed: int = 0) -> Any:
    return numbers(VOCABULARY, (size,) + shape, seed)


def _rows(size: int) -> Tuple[Dict[str, Any], Any]:
    inputs = {"field%d" % number: _ids(size, seed=number) for number in range(FIELDS)}
    prices = np.random.default_rng(8).exponential(size=size)
    return dict(inputs, price=tf.constant(prices.astype("float32"))), clicks(size)


def _histories(size: int) -> Tuple[Dict[str, Any], Any]:
    return {"user": _ids(size), "item": _ids(size, seed=1), "hist_item": _ids(size, HISTORY),
            "length": numbers(HISTORY, (size,)) + 1}, clicks(size)


def _loss(labels: Any, result: Any) -> Any:
    return tf.reduce_mean(tf_keras.losses.binary_crossentropy(labels, result))


def _adam() -> Any:
    return tf_keras.optimizers.Adam(1e-3)


CASES: Dict[str, Case] = {
    "deepctr_deepfm": Case(deepfm, _rows, 1024, _loss, _adam),
    "deepctr_din": Case(din, _histories, 256, _loss, _adam),
}
