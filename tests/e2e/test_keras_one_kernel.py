"""Layers and losses of Keras, as they are written there, are one kernel each."""
import numpy as np
import pytest
import tensorflow as tf

import tf_autofuse

keras = pytest.importorskip("keras")
if not keras.__version__.startswith("3"):
    pytest.skip("written for Keras 3", allow_module_level=True)
pytestmark = pytest.mark.e2e

LAYERS = {
    "layer norm": (lambda: keras.layers.LayerNormalization(), (4, 10, 32), {}),
    "batch norm in training": (lambda: keras.layers.BatchNormalization(), (4, 6, 6, 16),
                               {"training": True}),
    "batch norm in inference": (lambda: keras.layers.BatchNormalization(), (4, 6, 6, 16), {}),
    "group norm": (lambda: keras.layers.GroupNormalization(4), (4, 6, 6, 16), {}),
    "instance norm": (lambda: keras.layers.GroupNormalization(-1), (4, 6, 6, 16), {}),
    "unit norm": (lambda: keras.layers.UnitNormalization(), (4, 10, 32), {}),
}
LOSSES = ["BinaryCrossentropy", "MeanSquaredError", "MeanAbsoluteError", "Huber", "LogCosh",
          "Poisson", "KLDivergence", "BinaryFocalCrossentropy", "MeanSquaredLogarithmicError"]


def compare(function, *tensors):
    """The kernels of a function whose fused results agree with TensorFlow's."""
    tf_autofuse.disable()
    expected = tf.function(lambda *xs: function(*xs), autograph=False)(*tensors)
    known = len(tf_autofuse.report().kernels)
    tf_autofuse.enable("--enable_autofuse=true;--strict=true")
    try:
        got = tf.function(lambda *xs: function(*xs), autograph=False)(*tensors)
    finally:
        tf_autofuse.disable()
    np.testing.assert_allclose(got, expected, rtol=2e-5, atol=2e-6)
    return tf_autofuse.report().kernels[known:]


@pytest.mark.parametrize("name", sorted(LAYERS))
def test_layers(name):
    make, shape, options = LAYERS[name]
    layer = make()
    layer.build(shape)
    x = tf.constant(np.random.RandomState(0).randn(*shape).astype("f4"))
    assert len(compare(lambda x: layer(x, **options), x)) == 1


@pytest.mark.parametrize("name", LOSSES)
def test_losses(name):
    rng = np.random.RandomState(0)
    labels = tf.constant((rng.rand(64, 100) < 0.5).astype("f4"))
    predictions = tf.constant((rng.rand(64, 100) * 0.98 + 0.01).astype("f4"))
    loss = getattr(keras.losses, name)()
    (kernel,) = compare(loss, labels, predictions)
    assert kernel.gm_bytes <= 1.02 * kernel.gm_lower_bound
