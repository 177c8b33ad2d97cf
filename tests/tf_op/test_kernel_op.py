"""The AutofusedKernel op with hand-written kernels."""

import numpy as np
import pytest
import tensorflow as tf
from tf_op_graphs import fused_graph, tf1

from tf_autofuse.runtime.host import ABI_VERSION

PAIR = "v1;axes=2;groups=0,0;in=0.1;out=0.1/0.1;"
BROADCAST = "v1;axes=2;groups=0,1;in=0?.1?/0?.1?;out=0.1;"

pytestmark = pytest.mark.usefixtures("shim")


def run(graph, outputs, feeds, config=None):
    with tf1.Session(graph=graph, config=config) as session:
        return session.run(outputs, feeds)


def test_two_outputs_and_changing_shapes(kernel_library):
    library = kernel_library("ABS_AND_EXP")
    graph, (x,), outputs = fused_graph(library, PAIR, [np.float32], [np.float32] * 2)
    rng = np.random.RandomState(1)
    with tf1.Session(graph=graph) as session:
        for shape in [(1, 1), (3, 5), (7, 4001), (3, 5), (1000, 100), (1, 1)]:
            value = rng.randn(*shape).astype(np.float32)
            absolute, exponential = session.run(outputs, {x: value})
            np.testing.assert_array_equal(absolute, np.abs(value))
            np.testing.assert_allclose(exponential, np.exp(value), rtol=1e-6)


def test_more_shapes_than_plans_are_kept(kernel_library):
    library = kernel_library("ABS_AND_EXP")
    graph, (x,), outputs = fused_graph(library, PAIR, [np.float32], [np.float32] * 2)
    with tf1.Session(graph=graph) as session:
        for size in list(range(1, 30)) + list(range(30, 0, -1)):
            value = np.full((size, 2), -size, np.float32)
            np.testing.assert_array_equal(session.run(outputs[0], {x: value}), -value)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_empty_tensors(kernel_library, shape):
    library = kernel_library("ABS_AND_EXP")
    graph, (x,), outputs = fused_graph(library, PAIR, [np.float32], [np.float32] * 2)
    results = run(graph, outputs, {x: np.zeros(shape, np.float32)})
    assert [result.shape for result in results] == [shape, shape]


@pytest.mark.parametrize(
    "left, right",
    [((3, 4), (3, 4)), ((3, 1), (1, 4)), ((1, 1), (3, 4)), ((3, 4), (1, 4)), ((1, 1), (1, 1)),
     ((0, 4), (1, 4)), ((1, 4), (3, 1))],
)
def test_broadcast_decided_at_run_time(kernel_library, left, right):
    library = kernel_library("BROADCAST_ADD")
    graph, (x, y), (z,) = fused_graph(library, BROADCAST, [np.float32] * 2, [np.float32])
    a = np.arange(np.prod(left), dtype=np.float32).reshape(left)
    b = np.arange(np.prod(right), dtype=np.float32).reshape(right) * 100
    np.testing.assert_array_equal(run(graph, z, {x: a, y: b}), a + b)


@pytest.mark.parametrize(
    "left, right, message",
    [((3, 4), (2, 4), r"fused: input 1 has size 2 in dimension 0, expected 1 or 3"),
     ((3, 4), (3, 4, 1), r"fused: input 1 has rank 3, expected 2")],
)
def test_mismatch_names_node_input_and_sizes(kernel_library, left, right, message):
    library = kernel_library("BROADCAST_ADD")
    graph, (x, y), (z,) = fused_graph(library, BROADCAST, [np.float32] * 2, [np.float32])
    feeds = {x: np.zeros(left, np.float32), y: np.zeros(right, np.float32)}
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        run(graph, z, feeds)


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("size", [1, 63, 100003])
def test_phases_run_in_order_over_threads(kernel_library, threads, size):
    library = kernel_library("SUM_PHASES")
    spec = "v1;axes=1;groups=0;in=0;out=s;"
    graph, (x,), (y,) = fused_graph(library, spec, [np.float32], [np.float32])
    config = tf1.ConfigProto(intra_op_parallelism_threads=threads)
    value = np.arange(size, dtype=np.float32)
    with tf1.Session(graph=graph, config=config) as session:
        for _ in range(50):
            np.testing.assert_allclose(
                session.run(y, {x: value}), value.sum(dtype=np.float64), rtol=1e-7
            )


def test_one_kernel_called_from_many_threads(kernel_library):
    from concurrent.futures import ThreadPoolExecutor

    library = kernel_library("ABS_AND_EXP")
    graph, (x,), outputs = fused_graph(library, PAIR, [np.float32], [np.float32] * 2)
    with tf1.Session(graph=graph) as session:

        def call(number):
            value = np.full((number % 11 + 1, 2000), -number, np.float32)
            result = session.run(outputs[0], {x: value})
            return result.shape == value.shape and bool((result == number).all())

        with ThreadPoolExecutor(8) as pool:
            assert all(pool.map(call, range(400)))


def test_integer_division_by_zero(kernel_library):
    library = kernel_library("FLOOR_DIV")
    spec = "v1;axes=0;groups=;in=s/s;out=s;"
    graph, (x, y), (z,) = fused_graph(library, spec, [np.int32] * 2, [np.int32])
    assert run(graph, z, {x: 7, y: 2}) == 3
    with pytest.raises(tf.errors.InvalidArgumentError, match="Integer division by zero"):
        run(graph, z, {x: 7, y: 0})


def test_no_inputs(kernel_library):
    spec = "v1;axes=0;groups=;in=;out=s;"
    graph, _, (y,) = fused_graph(kernel_library("CONSTANT"), spec, [], [np.float32])
    assert run(graph, y, {}) == 42


@pytest.mark.parametrize(
    "name, message",
    [("BAD_VERSION", "its ABI version is 99, expected %d" % ABI_VERSION),
     ("", "no host library was built"),
     ("/nowhere/lib.so", "cannot use kernel library '/nowhere/lib.so'")],
)
def test_unusable_library(kernel_library, name, message):
    library = kernel_library(name) if name.isidentifier() else name
    graph, _, (y,) = fused_graph(library, "v1;axes=0;groups=;in=;out=s;", [], [np.float32])
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        run(graph, y, {})


def test_kernel_that_refuses_the_sizes(kernel_library):
    spec = "v1;axes=1;groups=0;in=0;out=0;"
    graph, (x,), (y,) = fused_graph(
        kernel_library("NO_TILING"), spec, [np.float32], [np.float32]
    )
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"no tiling .*\(code 7\)"):
        run(graph, y, {x: [1.0]})


def test_spec_that_does_not_fit_the_node(kernel_library):
    with pytest.raises(ValueError, match="does not have 2 inputs and 2 outputs"):
        fused_graph(kernel_library("ABS_AND_EXP"), PAIR, [np.float32] * 2, [np.float32] * 2)


@pytest.mark.parametrize(
    "spec, in_shapes, declared, expected",
    [(PAIR, [[None, 4]], [], [None, 4]), (PAIR, [[None, 4]], [[3, None]] * 2, [3, 4]),
     (PAIR, [None], [], [None, None]),
     (BROADCAST, [[3, 1], [1, 4]], [], [3, 4]), (BROADCAST, [[None, 1], [1, 4]], [], [None, 4])],
)
def test_shape_inference(kernel_library, spec, in_shapes, declared, expected):
    outputs = 2 if spec == PAIR else 1
    _, _, (y, *_) = fused_graph(
        kernel_library("ABS_AND_EXP"), spec, [np.float32] * len(in_shapes),
        [np.float32] * outputs, in_shapes, declared
    )
    assert y.shape.as_list() == expected


def test_stats(shim, kernel_library):
    library = kernel_library("ABS_AND_EXP")
    graph, (x,), outputs = fused_graph(library, PAIR, [np.float32], [np.float32] * 2)
    shim.reset_kernel_stats()
    with tf1.Session(graph=graph) as session:
        for rows in (2, 2, 5):
            session.run(outputs, {x: np.zeros((rows, 3), np.float32)})
        expected = {"calls": 3, "input_shapes": [[5, 3]], "kernel_key": "test"}
        stats = shim.kernel_stats()
        assert stats["fused"].pop("nanos") > 0
        assert stats == {"fused": expected}
        shim.reset_kernel_stats()
        assert shim.kernel_stats() == {}
        session.run(outputs, {x: np.zeros((5, 3), np.float32)})
        stats = shim.kernel_stats()
        assert stats == {"fused": dict(expected, calls=1, nanos=stats["fused"]["nanos"])}


@pytest.mark.parametrize("dtype", [np.float16, np.float64, np.int64, np.uint8, np.bool_])
def test_tensors_of_any_plain_type_are_accepted(kernel_library, dtype):
    spec = "v1;axes=1;groups=0;in=0;out=s;"
    graph, (x,), (y,) = fused_graph(kernel_library("CONSTANT"), spec, [dtype], [np.float32])
    assert run(graph, y, {x: np.zeros(3, dtype)}) == 42


def test_strings_are_refused(kernel_library):
    spec = "v1;axes=1;groups=0;in=0;out=s;"
    graph, (x,), (y,) = fused_graph(kernel_library("CONSTANT"), spec, [np.object_], [np.float32])
    with pytest.raises(tf.errors.InvalidArgumentError, match="only plain data types"):
        run(graph, y, {x: np.array([b"a"], object)})
