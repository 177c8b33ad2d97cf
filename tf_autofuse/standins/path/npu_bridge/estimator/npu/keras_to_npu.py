"""Keras models as estimators."""

import tensorflow as tf


def model_to_npu_estimator(
    keras_model=None,
    keras_model_path=None,
    custom_objects=None,
    model_dir=None,
    checkpoint_format="saver",
    config=None,
    job_start_file="",
):
    """TensorFlow's own conversion; needs a TensorFlow that has tf.estimator."""
    return tf.keras.estimator.model_to_estimator(
        keras_model=keras_model,
        keras_model_path=keras_model_path,
        custom_objects=custom_objects,
        model_dir=model_dir,
        checkpoint_format=checkpoint_format,
        config=config,
    )
