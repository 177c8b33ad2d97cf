"""What users write that must become one kernel, as TensorFlow functions over a [rows, cols] matrix.

`PATTERNS` maps a name to (function of tensors, kinds of its arguments); the functions return one
tensor or a list. Shared by the tests and by `scripts/xla_plans.py`.
"""
import numpy as np
import tensorflow as tf

# Kinds of arguments: dims as functions of (rows, cols), and how their values are made.
MATRIX, ROW, COLUMN, LABELS, POSITIVE, MASK, SMALL_ROW = (
    "matrix", "row", "column", "labels", "positive", "mask", "positive_row"
)
PATTERNS = {}


def pattern(*kinds):
    """Register a function under its name with the kinds of its arguments."""

    def register(function):
        PATTERNS[function.__name__] = (function, kinds)
        return function

    return register


def arguments(kinds, rows, cols, dtype, seed=0):
    """numpy arrays for `kinds`, in `dtype`."""
    rng = np.random.RandomState(seed)
    makers = {
        MATRIX: lambda: rng.randn(rows, cols),
        ROW: lambda: rng.randn(cols),
        COLUMN: lambda: rng.rand(rows, 1) + 0.5,
        POSITIVE: lambda: rng.rand(rows, cols) + 0.01,
        SMALL_ROW: lambda: rng.rand(cols) + 0.5,
        MASK: lambda: (rng.rand(rows, cols) < 0.8).astype("float64"),
        LABELS: lambda: _distribution(rng, rows, cols),
    }
    return [makers[kind]().astype(dtype) for kind in kinds]


def _distribution(rng, rows, cols):
    raw = np.exp(rng.randn(rows, cols))
    return raw / raw.sum(axis=1, keepdims=True)


@pattern(MATRIX)
def softmax(x):
    return tf.nn.softmax(x)


@pattern(MATRIX)
def softmax_written_out(x):
    e = tf.exp(x - tf.reduce_max(x, axis=-1, keepdims=True))
    return e / tf.reduce_sum(e, axis=-1, keepdims=True)


@pattern(MATRIX)
def log_softmax(x):
    return tf.nn.log_softmax(x)


def _normalized(x, axes, epsilon=1e-3):
    mean, variance = tf.nn.moments(x, axes, keepdims=True)
    return (x - mean) * tf.math.rsqrt(variance + epsilon), mean, variance


@pattern(MATRIX, ROW, ROW)
def layer_norm(x, gamma, beta):
    return _normalized(x, [-1])[0] * gamma + beta


@pattern(MATRIX, ROW, ROW)
def layer_norm_of_batch_normalization(x, gamma, beta):
    mean, variance = tf.nn.moments(x, [-1], keepdims=True)
    return tf.nn.batch_normalization(x, mean, variance, beta, gamma, 1e-3)


@pattern(MATRIX, ROW)
def rms_norm(x, scale):
    return x * tf.math.rsqrt(tf.reduce_mean(tf.square(x), -1, keepdims=True) + 1e-6) * scale


@pattern(MATRIX, ROW, ROW)
def batch_norm_training(x, gamma, beta):
    mean, variance = tf.nn.moments(x, [0])
    return [tf.nn.batch_normalization(x, mean, variance, beta, gamma, 1e-3), mean, variance]


@pattern(MATRIX, ROW, ROW, ROW, SMALL_ROW)
def batch_norm_training_moving(x, gamma, beta, moving_mean, moving_variance):
    mean, variance = tf.nn.moments(x, [0])
    y = tf.nn.batch_normalization(x, mean, variance, beta, gamma, 1e-3)
    return [y, moving_mean - (moving_mean - mean) * 0.01,
            moving_variance - (moving_variance - variance) * 0.01]


@pattern(MATRIX, ROW, ROW, ROW, SMALL_ROW)
def batch_norm_inference_relu(x, gamma, beta, mean, variance):
    return tf.nn.relu(tf.nn.batch_normalization(x, mean, variance, beta, gamma, 1e-3))


@pattern(MATRIX)
def instance_norm(x):
    rows, cols = x.shape
    images = tf.reshape(x, [rows // 8, 8, cols])
    return _normalized(images, [1])[0]


@pattern(MATRIX)
def l2_normalize(x):
    return tf.nn.l2_normalize(x, -1)


@pattern(MATRIX, MASK)
def sigmoid_cross_entropy_mean(x, labels):
    return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=x))


@pattern(MATRIX, LABELS)
def softmax_cross_entropy(x, labels):
    return tf.nn.softmax_cross_entropy_with_logits(labels=tf.stop_gradient(labels), logits=x)


@pattern(MATRIX, LABELS)
def softmax_cross_entropy_written_out(x, labels):
    return -tf.reduce_sum(labels * tf.nn.log_softmax(x), axis=-1)


@pattern(MATRIX, MASK)
def focal_loss(x, labels):
    p = tf.sigmoid(x)
    entropy = tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=x)
    chosen = labels * p + (1 - labels) * (1 - p)
    weight = labels * 0.25 + (1 - labels) * 0.75
    return tf.reduce_mean(weight * tf.square(1 - chosen) * entropy)


@pattern(MATRIX, MATRIX)
def huber_loss(x, y):
    error = tf.abs(x - y)
    small = tf.minimum(error, 1.0)
    return tf.reduce_mean(0.5 * small * small + (error - small))


@pattern(MATRIX, MATRIX)
def huber_loss_of_where(x, y):
    error = tf.abs(x - y)
    return tf.reduce_mean(
        tf.where(error <= 1.0, 0.5 * tf.square(error), error - 0.5), axis=-1)


@pattern(MATRIX, ROW)
def gelu_tanh_bias(x, bias):
    x = tf.nn.bias_add(x, bias)
    return 0.5 * x * (1 + tf.tanh(0.7978845608 * (x + 0.044715 * tf.pow(x, 3))))


@pattern(MATRIX, ROW)
def gelu_erf_bias(x, bias):
    x = tf.nn.bias_add(x, bias)
    return 0.5 * x * (1 + tf.math.erf(x * 0.70710678118))


@pattern(MATRIX, MATRIX)
def swiglu(x, gate):
    return x * tf.sigmoid(x) * gate


@pattern(MATRIX, MASK, MATRIX, ROW, ROW)
def dropout_residual_layer_norm(x, mask, residual, gamma, beta):
    return _normalized(residual + x * mask * 1.25, [-1])[0] * gamma + beta


@pattern(MATRIX, MATRIX, POSITIVE, MATRIX)
def adam(variable, m, v, gradient):
    m = m + (gradient - m) * 0.1
    v = v + (tf.square(gradient) - v) * 0.001
    return [variable - m * 0.01 / (tf.sqrt(v) + 1e-5), m, v]


@pattern(MATRIX, MATRIX, POSITIVE, MATRIX)
def adam_w(variable, m, v, gradient):
    variable = variable - variable * 0.004
    m = 0.9 * m + 0.1 * gradient
    v = 0.999 * v + 0.001 * gradient * gradient
    return [variable - 0.01 * m / (tf.sqrt(v) + 1e-5), m, v]


@pattern(MATRIX, POSITIVE, MATRIX, MATRIX)
def rms_prop(variable, square, momentum, gradient):
    square = 0.9 * square + 0.1 * tf.square(gradient)
    momentum = 0.9 * momentum + 0.01 * gradient * tf.math.rsqrt(square + 1e-3)
    return [variable - momentum, square, momentum]


@pattern(MATRIX, POSITIVE, MATRIX)
def adagrad(variable, total, gradient):
    total = total + tf.square(gradient)
    return [variable - 0.01 * gradient / tf.sqrt(total + 1e-5), total]


@pattern(MATRIX, MATRIX, MATRIX)
def momentum(variable, speed, gradient):
    speed = 0.9 * speed - 0.01 * gradient
    return [variable + 0.9 * speed - 0.01 * gradient, speed]


@pattern(MATRIX)
def mean_variance_skew(x):
    mean = tf.reduce_mean(x, 1, keepdims=True)
    centred = x - mean
    variance = tf.reduce_mean(tf.square(centred), 1)
    third = tf.reduce_mean(centred * centred * centred, 1)
    return [tf.squeeze(mean, 1), variance, third / (variance * tf.sqrt(variance))]


@pattern(MATRIX, MASK)
def masked_softmax(x, mask):
    return tf.nn.softmax(x + (1.0 - mask) * -1e4)


@pattern(MATRIX)
def log_sum_exp(x):
    return tf.reduce_logsumexp(x, axis=-1)


@pattern(MATRIX, MATRIX)
def cosine_similarity(x, y):
    return tf.reduce_sum(tf.nn.l2_normalize(x, -1) * tf.nn.l2_normalize(y, -1), axis=-1)


@pattern(POSITIVE, SMALL_ROW, ROW, ROW)
def feature_normalisation(x, scale, low, border):
    scaled = tf.clip_by_value(tf.math.log1p(x * 10.0), 0.0, 2.0) * scale - low
    return [scaled, tf.cast(scaled > border, x.dtype)]


def _gradients(result, inputs, seed):
    return tf.gradients(result, inputs, grad_ys=seed)


@pattern(MATRIX, ROW, ROW, MATRIX)
def layer_norm_backward(x, gamma, beta, dy):
    return _gradients(layer_norm(x, gamma, beta), [x], dy)


@pattern(MATRIX, MATRIX)
def softmax_backward(x, dy):
    return _gradients(tf.nn.softmax(x), [x], dy)


@pattern(MATRIX, MATRIX)
def gelu_tanh_backward(x, dy):
    y = 0.5 * x * (1 + tf.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))
    return _gradients(y, [x], dy)


@pattern(MATRIX, MATRIX)
def gelu_erf_backward(x, dy):
    return _gradients(0.5 * x * (1 + tf.math.erf(x * 0.70710678118)), [x], dy)


@pattern(MATRIX, MASK)
def sigmoid_cross_entropy_backward(x, labels):
    return _gradients(sigmoid_cross_entropy_mean(x, labels), [x], None)


# Reductions over different axes


@pattern(MATRIX)
def row_and_column_sums(x):
    return [tf.reduce_sum(x, 0), tf.reduce_sum(x, 1)]


@pattern(MATRIX)
def row_column_and_total(x):
    return [tf.reduce_mean(x, 0), tf.reduce_max(x, 1), tf.reduce_sum(tf.square(x))]


@pattern(MATRIX)
def mean_of_log_sum_exp(x):
    return tf.reduce_mean(tf.reduce_logsumexp(x, axis=-1))


@pattern(MATRIX)
def total_of_column_variances(x):
    mean, variance = tf.nn.moments(x, [0])
    return [mean, variance, tf.reduce_sum(variance)]


@pattern(MATRIX, LABELS)
def softmax_cross_entropy_mean(x, labels):
    return tf.reduce_mean(
        tf.nn.softmax_cross_entropy_with_logits(labels=tf.stop_gradient(labels), logits=x))


@pattern(MATRIX, LABELS)
def softmax_cross_entropy_mean_backward(x, labels):
    loss = softmax_cross_entropy_mean(x, labels)
    return [loss] + _gradients(loss, [x], None)


@pattern(MATRIX, ROW, ROW, MATRIX)
def layer_norm_backward_all(x, gamma, beta, dy):
    return _gradients(layer_norm(x, gamma, beta), [x, gamma, beta], dy)
