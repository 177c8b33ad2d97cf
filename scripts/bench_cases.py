"""The cases of `scripts/bench.py speed`: a TensorFlow function and its inputs for a side n."""

from __future__ import annotations

from typing import Any, Callable, Dict, NamedTuple, Tuple

import numpy as np
import tensorflow as tf

Matrix, Row, Column, Scalar = "nn", "n", "n1", ""
Images, Channels, Few = "images", "channels", "few"  # 16 images of 8 groups of 8; 8 columns


class Case(NamedTuple):
    """`inputs` names the shape of each input ("nn" is n by n, "n" a vector, "n1" a column; "images"
    and "few" have n * n elements as well).

    `positive` are the numbers of inputs that hold values above zero.
    """

    function: Callable[..., Any]
    inputs: Tuple[str, ...]
    dtype: str = "float32"
    positive: Tuple[int, ...] = ()


def _abs_relu_exp(x: Any) -> Any:
    return tf.exp(-tf.nn.relu(tf.abs(x)))


def _abs_add_relu(x: Any, bias: Any) -> Any:
    return tf.nn.relu(tf.abs(x) + bias)


def _outer_tanh(column: Any, row: Any) -> Any:
    return tf.tanh(column + row)


def _row_sum(x: Any) -> Any:
    return tf.reduce_sum(tf.abs(x), axis=-1)


def _column_sum(x: Any) -> Any:
    return tf.reduce_sum(tf.abs(x), axis=0)


def _square_error(x: Any, y: Any) -> Any:
    return tf.reduce_mean(tf.math.squared_difference(x, y))


def _gelu_bias(x: Any, bias: Any) -> Any:
    return tf.nn.gelu(x + bias)


def _gelu_backward(x: Any, bias: Any, dy: Any) -> Any:
    y = x + bias
    with tf.GradientTape() as tape:
        tape.watch(y)
        out = tf.nn.gelu(y, approximate=True)
    return tape.gradient(out, y, output_gradients=dy)


def _layer_norm(x: Any, gamma: Any, beta: Any) -> Any:
    mean = tf.reduce_mean(x, -1, keepdims=True)
    variance = tf.reduce_mean(tf.math.squared_difference(x, mean), -1, keepdims=True)
    return (x - mean) * tf.math.rsqrt(variance + 1e-5) * gamma + beta


def _softmax(x: Any) -> Any:
    return tf.nn.softmax(x * 0.125)


def _adam(p: Any, m: Any, v: Any, g: Any) -> Any:
    m_next = 0.9 * m + 0.1 * g
    v_next = 0.999 * v + 0.001 * tf.square(g)
    return p - 0.001 * m_next / (tf.sqrt(v_next) + 1e-7), m_next, v_next


def _sigmoid_cross_entropy(labels: Any, logits: Any) -> Any:
    losses = tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)
    return tf.reduce_mean(losses)


def _batch_norm_statistics(x: Any) -> Any:
    return tf.nn.moments(x, [0])


def _group_norm(x: Any, gamma: Any, beta: Any) -> Any:
    mean, variance = tf.nn.moments(x, [1, 3], keepdims=True)
    scale = tf.math.rsqrt(variance + 1e-3) * gamma
    return x * scale + (beta - mean * scale)


def _both_sums(x: Any) -> Any:
    return tf.reduce_sum(x, 0), tf.reduce_sum(x, 1)


def _product_row_sum(x: Any, y: Any) -> Any:
    return tf.reduce_sum(x * y, -1)


def _sigmoid_grad_bias(y: Any, dy: Any) -> Any:
    dx = tf.raw_ops.SigmoidGrad(y=y, dy=dy)
    return dx, tf.reduce_sum(dx, 0)


def _swiglu(gate: Any, up: Any) -> Any:
    return gate * tf.sigmoid(gate) * up


def _where(x: Any, y: Any) -> Any:
    return tf.where(x > y, x * 2.0, y - x)


CASES: Dict[str, Case] = {
    "abs_relu_exp": Case(_abs_relu_exp, (Matrix,)),
    "abs_relu_exp_fp16": Case(_abs_relu_exp, (Matrix,), "float16"),
    "abs_add_relu": Case(_abs_add_relu, (Matrix, Row)),
    "outer_tanh": Case(_outer_tanh, (Column, Row)),
    "row_sum": Case(_row_sum, (Matrix,)),
    "column_sum": Case(_column_sum, (Matrix,)),
    "square_error": Case(_square_error, (Matrix, Matrix)),
    "gelu_bias": Case(_gelu_bias, (Matrix, Row)),
    "gelu_backward": Case(_gelu_backward, (Matrix, Row, Matrix)),
    "layer_norm": Case(_layer_norm, (Matrix, Row, Row)),
    "softmax": Case(_softmax, (Matrix,)),
    "adam": Case(_adam, (Matrix, Matrix, Matrix, Matrix), positive=(2,)),
    "sigmoid_ce_mean": Case(_sigmoid_cross_entropy, (Matrix, Matrix), positive=(0,)),
    "batch_norm_stats": Case(_batch_norm_statistics, (Matrix,)),
    "group_norm": Case(_group_norm, (Images, Channels, Channels)),
    "both_sums": Case(_both_sums, (Matrix,)),
    "row_sum_few": Case(_product_row_sum, (Few, Few)),
    "column_sum_few": Case(_column_sum, (Few,)),
    "softmax_few": Case(_softmax, (Few,)),
    "sigmoid_grad_bias": Case(_sigmoid_grad_bias, (Matrix, Matrix)),
    "swiglu": Case(_swiglu, (Matrix, Matrix)),
    "where": Case(_where, (Matrix, Matrix)),
}


def shape_of(kind: str, n: int) -> Tuple[int, ...]:
    """The shape that `kind` names for a side of `n`."""
    images, few = (16, max(1, n * n // 1024), 8, 8), (max(1, n * n // 8), 8)
    return {Matrix: (n, n), Row: (n,), Column: (n, 1), Images: images, Channels: (8, 8),
            Few: few}[kind]


def inputs_of(case: Case, n: int) -> Tuple[Any, ...]:
    """Eager tensors for a case, normally distributed; the same for every call."""
    random = np.random.default_rng(7)
    tensors = []
    for number, kind in enumerate(case.inputs):
        values = random.standard_normal(shape_of(kind, n), dtype=np.float32)
        if number in case.positive:
            values = np.minimum(np.abs(values), np.float32(1))
        tensors.append(tf.constant(values.astype(case.dtype)))
    return tuple(tensors)


def signature_of(case: Case, n: int, dynamic: bool) -> Tuple[Any, ...]:
    """The input signature; with `dynamic` every dimension that depends on n is unknown."""
    shapes = [shape_of(kind, n) for kind in case.inputs]
    if dynamic:
        others = [shape_of(kind, 2 * n) for kind in case.inputs]
        shapes = [tuple(a if a == b else None for a, b in zip(*pair))
                  for pair in zip(shapes, others)]
    return tuple(tf.TensorSpec(shape, case.dtype) for shape in shapes)
