"""Convert a model to TF-Lite, plain and quantised, and run both; neither may hold our operator."""

import json

import numpy as np
import tensorflow as tf


@tf.function(input_signature=[tf.TensorSpec([4, 8], tf.float32)])
def graph(x):
    return tf.nn.relu(tf.abs(x) * 1.5 - 0.25) + tf.sigmoid(x)


def convert(quantised):
    converter = tf.lite.TFLiteConverter.from_concrete_functions([graph.get_concrete_function()])
    if quantised:
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
        converter.representative_dataset = lambda: [[x] for x in samples(3)]
    return converter.convert()


def samples(count):
    return [np.random.RandomState(i).randn(4, 8).astype("float32") for i in range(count)]


def run(model, x):
    interpreter = tf.lite.Interpreter(model_content=model)
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
    interpreter.invoke()
    return interpreter.get_tensor(interpreter.get_output_details()[0]["index"])


def main():
    x = samples(1)[0]
    models = [convert(False), convert(True)]
    ours = sum(b"AutofusedKernel" in model for model in models)
    sums = [float(np.sum(run(model, x))) for model in models]
    print(json.dumps({"ours": ours, "sums": sums, "graph": float(tf.reduce_sum(graph(x)))}))


main()
