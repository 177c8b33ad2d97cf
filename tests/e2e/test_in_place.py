"""Outputs of kernels without reductions take the memory of an input that nobody else needs."""
import numpy as np
import pytest
import tensorflow as tf
from harness import check

from tf_autofuse.runtime import tf_op

pytestmark = pytest.mark.e2e
SIDE = 2900  # a product of more than 32 MiB, which would come from the pool
DEPTH = 8  # of the product: what it costs is no matter here


def pool_requests():
    stats = tf_op.pool_stats()
    return stats["reused"] + stats["mapped"]


def matrices(count):
    rng = np.random.RandomState(3)
    return [rng.rand(SIDE, DEPTH).astype("float32") / DEPTH for _ in range(count)]


def product_of(x, y):
    return tf.matmul(x, y, transpose_b=True)


@pytest.mark.parametrize("kept", [False, True])
def test_output_takes_the_memory_of_a_product(kept):
    """`kept`: the product is a result, too, and has to stay what it is."""
    tf_op.load()
    before = pool_requests()

    def build(x, y):
        product = product_of(x, y)
        return [tf.exp(-tf.abs(product)) * 2.0] + [product] * kept

    check(build, matrices(2))
    assert (pool_requests() > before) == kept


def test_two_outputs_over_two_inputs():
    def build(x, y):
        p, q = product_of(x, y), product_of(y, x)
        total = tf.abs(p) + q
        return total * p, total - q

    tf_op.load()
    before = pool_requests()
    check(build, matrices(2))
    assert pool_requests() == before


def test_rows_that_are_read_again_are_not_written_over():
    check(lambda x, y: tf.nn.softmax(product_of(x, y) * 3.0), matrices(2), composed=True)
