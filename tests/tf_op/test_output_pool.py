"""Large outputs of fused kernels live in memory that is kept for the next ones."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest
import tensorflow as tf
from tf_op_graphs import fused_graph, tf1

from tf_autofuse.runtime import tf_op

MIB = 1 << 20
LARGE = 9 * MIB  # float32 elements: 36 MiB, above the least that is pooled everywhere
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAIR = "v1;axes=2;groups=0,0;in=0.1;out=0.1/0.1;"

pytestmark = pytest.mark.usefixtures("shim")


@pytest.fixture()
def session(kernel_library):
    """A callable that gives |x| and e^x of a matrix."""
    library = kernel_library("ABS_AND_EXP")
    graph, (x,), outputs = fused_graph(library, PAIR, [np.float32], [np.float32] * 2)
    tf_op.trim_pool()
    with tf1.Session(graph=graph) as session:
        yield lambda value: session.run(outputs, {x: value})
    tf_op.trim_pool()


def resident_bytes():
    with open("/proc/self/statm") as stream:
        return int(stream.read().split()[1]) * 4096


def test_memory_is_used_again(session):
    value = -np.ones((2, LARGE // 2), np.float32)
    session(value)
    before = tf_op.pool_stats()
    for _ in range(10):
        absolute, exponential = session(value)
        assert absolute.min() == 1 and abs(exponential.max() - np.exp(-1)) < 1e-6
        del absolute, exponential
    after = tf_op.pool_stats()
    assert after["mapped"] == before["mapped"]
    assert after["reused"] == before["reused"] + 20


def test_small_outputs_are_tensorflows(session):
    before = tf_op.pool_stats()
    session(np.ones((2, 1000), np.float32))
    assert tf_op.pool_stats() == before


@pytest.mark.parametrize("onednn, called_as, pooled", [
    ("0", "fused", 1),
    ("1", "fused", 0),  # oneDNN's allocator keeps memory
    ("0", "", 0),  # so does the C library, for TensorFlow's operators in the graph as well
])
def test_tensors_of_middle_size_are_pooled_for_a_kernel_that_is_alone(
    onednn, called_as, pooled, kernel_library
):
    code = """
import numpy as np
from tf_op_graphs import fused_graph, tf1
from tf_autofuse.runtime import tf_op
tf_op.load()
types = [[np.float32], [np.float32] * 2]
graph, (x,), outputs = fused_graph(%r, %r, *types, node_name=%r)
with tf1.Session(graph=graph) as session:
    session.run(outputs, {x: np.ones((2, 1 << 20), np.float32)})
print("mapped", tf_op.pool_stats()["mapped"])
""" % (kernel_library("ABS_AND_EXP"), PAIR, called_as)
    environment = dict(os.environ, TF_ENABLE_ONEDNN_OPTS=onednn)
    environment["PYTHONPATH"] = os.pathsep.join([ROOT, os.path.dirname(os.path.abspath(__file__))])
    done = subprocess.run([sys.executable, "-c", code], env=environment, check=True,
                          stdout=subprocess.PIPE)
    assert done.stdout.decode().split()[-1] == str(2 * pooled)


def test_results_that_live_on_keep_their_values(session):
    shape = (2, LARGE // 2)
    kept = [session(np.full(shape, -number, np.float32))[0] for number in range(5)]
    for number, result in enumerate(kept):
        assert result.min() == result.max() == number


def test_resident_memory_stays_bounded_while_sizes_change(session):
    rng = np.random.RandomState(0)
    sizes = [int(size) for size in rng.randint(LARGE, LARGE * 3, 60)]
    session(np.ones((1, max(sizes)), np.float32))
    start = resident_bytes()
    for size in sizes:
        session(np.ones((1, size), np.float32))
        stats = tf_op.pool_stats()
        assert stats["in_use_bytes"] + stats["idle_bytes"] <= stats["peak_in_use_bytes"]
    # An eighth of what is freed; the C library keeps some of the memory of inputs for itself.
    assert resident_bytes() < start + sum(sizes) * 4 // 8


def test_idle_memory_goes_back(session):
    session(np.ones((1, LARGE * 4), np.float32))
    held = tf_op.pool_stats()["idle_bytes"]
    assert held >= 2 * 16 * LARGE
    start = resident_bytes()
    tf_op.trim_pool()
    assert tf_op.pool_stats()["idle_bytes"] == 0
    assert resident_bytes() < start - held // 2


def test_many_threads_share_the_pool(session):
    failures = []

    def work(number):
        value = np.full((2, LARGE // 2), -number, np.float32)
        for _ in range(5):
            absolute = session(value)[0]
            if absolute.min() != number or absolute.max() != number:
                failures.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(1, 7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert tf_op.pool_stats()["in_use_bytes"] == 0


def test_a_variable_may_keep_an_output(kernel_library):
    library = kernel_library("ABS_AND_EXP")
    graph, (x,), (absolute, _) = fused_graph(library, PAIR, [np.float32], [np.float32] * 2)
    shape = (2, LARGE // 2)
    with graph.as_default():
        variable = tf1.get_variable("kept", shape, tf.float32, use_resource=True)
        assign = variable.assign(tf.reshape(absolute, shape)).op
        with tf1.Session() as session:
            session.run(assign, {x: np.full(shape, -3, np.float32)})
            session.run(absolute, {x: np.full(shape, -4, np.float32)})
            value = session.run(variable)
    assert value.min() == value.max() == 3
