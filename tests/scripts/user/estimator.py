"""Train and evaluate an NPUEstimator on feature columns, with a tf.data input function."""

import json
import tempfile

import numpy as np
import tensorflow as tf
from npu_bridge.npu_init import *

tf1 = tf.compat.v1
tf1.disable_v2_behavior()
COLUMNS = [
    tf1.feature_column.numeric_column("price", normalizer_fn=lambda p: tf1.log1p(p)),
    tf1.feature_column.embedding_column(
        tf1.feature_column.categorical_column_with_identity("item", 10),
        4,
        initializer=tf1.constant_initializer(0.1),
    ),
]


def input_fn():
    random = np.random.RandomState(1)
    price = random.uniform(0, 9, (96, 1)).astype("float32")
    item = random.randint(10, size=(96, 1))
    labels = (price > item).astype("float32")
    features = {"price": price, "item": item}
    return tf1.data.Dataset.from_tensor_slices((features, labels)).repeat().batch(32)


def model_fn(features, labels, mode, params):
    layer = tf1.feature_column.input_layer(features, COLUMNS)
    init = tf1.glorot_uniform_initializer(seed=3)
    hidden = tf1.layers.dense(layer, 12, kernel_initializer=init)
    hidden = tf.nn.elu(hidden) * 0.5 + tf.sigmoid(hidden)
    logits = tf1.layers.dense(hidden, 1, kernel_initializer=init)
    loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits))
    optimizer = tf1.train.AdagradOptimizer(params["rate"])
    train = npu_tf_optimizer(optimizer).minimize(loss, tf1.train.get_global_step())
    return NPUEstimatorSpec(mode, loss=loss, train_op=train)


def main():
    with tempfile.TemporaryDirectory() as folder:
        config = NPURunConfig(
            model_dir=folder,
            tf_random_seed=4,
            iterations_per_loop=1,
            precision_mode="allow_mix_precision",
            session_config=npu_config_proto(),
        )
        estimator = NPUEstimator(model_fn=model_fn, config=config, params={"rate": 0.1})
        estimator.train(input_fn, steps=25)
        result = estimator.evaluate(input_fn, steps=3)
    print(json.dumps({"loss": float(result["loss"]), "step": int(result["global_step"])}))


main()
