"""Functions that are one kernel are called as an eager operator; no result tells."""

import gc
import threading

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from tensorflow.python.eager import context as context_module
from tensorflow.python.eager import execute

import tf_autofuse
from tf_autofuse.frontend.tensorflow import one_kernel

pytestmark = pytest.mark.skipif(
    not hasattr(context_module.Context, "call_function"),
    reason="this TensorFlow has no Context.call_function",
)


@pytest.fixture(autouse=True)
def fusing():
    tf_autofuse.enable("--enable_autofuse=true;--strict=true")
    yield
    tf_autofuse.disable()


@pytest.fixture
def ops_run(monkeypatch):
    """The names of what is executed eagerly, functions by theirs."""
    names = []
    original = execute.execute

    def recording(op_name, *args, **kwargs):
        names.append(op_name)
        return original(op_name, *args, **kwargs)

    monkeypatch.setattr(execute, "execute", recording)
    return names


def check(function, *arrays, kernel=True):
    """Call a function three times; True results from the second on by way of its kernel."""
    plain = tf.function(function).get_concrete_function(*map(tf.constant, arrays))
    tensors = [tf.constant(array) for array in arrays]
    first = tf.nest.flatten(plain(*tensors))
    assert (plain._inference_function.name in one_kernel._calls) == kernel
    for _ in range(2):
        for got, want in zip(tf.nest.flatten(plain(*tensors)), first):
            assert got.dtype == want.dtype
            np.testing.assert_array_equal(got.numpy(), want.numpy())
    for tensor, array in zip(tensors, arrays):
        np.testing.assert_array_equal(tensor.numpy(), array)


def rows(n=5, m=7, dtype="float32", seed=0):
    return (np.random.RandomState(seed).randn(n, m) * 3).astype(dtype)


def test_the_second_call_is_the_kernel(ops_run):
    function = tf.function(lambda x, b: tf.nn.relu(tf.abs(x) + b) * 2.0)
    x, b = tf.constant(rows()), tf.constant(rows()[0])
    first = function(x, b)
    assert ops_run[-1].startswith("__inference")
    calls = tf_autofuse.report().kernels[-1].calls
    second = function(x, b)
    assert ops_run[-1] == "AutofusedKernel"
    np.testing.assert_array_equal(first.numpy(), second.numpy())
    # The report knows the kernel by the name of its node, whoever called it.
    assert tf_autofuse.report().kernels[-1].calls == calls + 1


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64", "int32"])
def test_types(dtype):
    arrays = rows(dtype=dtype), rows(dtype=dtype, seed=1)
    check(lambda x, y: tf.maximum(tf.abs(x) + y, x * y), *arrays)


def test_results_in_any_order_and_arguments_that_nobody_reads():
    def function(unused, x, y):
        s = tf.exp(-tf.abs(x)) + y
        return {"z": s > 1.0, "a": s * 2.0, "m": (tf.negative(s),)}

    check(function, rows(2, 2), rows(), rows(seed=2))


def test_captured_tensors_are_arguments():
    bias = tf.constant(rows()[0])
    check(lambda x: tf.tanh(x + bias) * tf.abs(x), rows())


def test_sizes_of_run_time_and_empty_tensors():
    spec = tf.TensorSpec([None, None], tf.float32)
    function = tf.function(lambda x: tf.nn.softmax(x * 0.5), input_signature=[spec])
    for shape in [(3, 4), (3, 4), (1, 9), (0, 4), (6, 0), (5, 1)]:
        x = rows(*shape)
        assert function(tf.constant(x)).shape == shape
        wide = np.exp(x * 0.5) / np.exp(x * 0.5).sum(-1, keepdims=True)
        np.testing.assert_allclose(function(tf.constant(x)), wide, rtol=1e-5)
    assert function.get_concrete_function()._inference_function.name in one_kernel._calls


def test_large_inputs_are_never_written_over():
    check(lambda x: tf.exp(tf.abs(x) * -0.5), rows(1024, 1100))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (tf.exp(tf.abs(x)), x),  # an argument is a result
        lambda x: tf.linalg.matmul(tf.exp(tf.abs(x)), x, transpose_b=True),
        lambda x: tf.sort(tf.exp(tf.abs(x))),
    ],
)
def test_other_functions_stay_functions(function):
    check(function, rows(), kernel=False)


def test_side_effects_stay():
    seen = tf.Variable(0)

    @tf.function
    def function(x):
        seen.assign_add(1)
        return tf.exp(tf.abs(x)) * 2.0

    for _ in range(3):
        function(tf.constant(rows()))
    assert seen.numpy() == 3


def test_gradients():
    function = tf.function(lambda x: tf.tanh(x) * tf.abs(x) + tf.exp(-x * x))
    x = tf.constant(rows())
    found = []
    for _ in range(3):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = function(x)
            slope = inner.gradient(y, x)
        found.append((y, slope, outer.gradient(slope, x)))
    for again in found[1:]:
        for got, want in zip(again, found[0]):
            np.testing.assert_array_equal(got.numpy(), want.numpy())
    wide = tf.constant(rows(dtype="float64"))
    with tf.GradientTape() as tape:
        tape.watch(wide)
        y = tf.tanh(wide) * tf.abs(wide) + tf.exp(-wide * wide)
    np.testing.assert_allclose(found[0][1], tape.gradient(y, wide), rtol=1e-5, atol=1e-6)


def test_an_error_is_that_of_the_function():
    function = tf.function(lambda x, y: tf.abs(x) // y + x)
    x, y = tf.constant([[7, -8]]), tf.constant([[2, 3]])
    np.testing.assert_array_equal(function(x, y), [[10, -6]])
    np.testing.assert_array_equal(function(x, y), [[10, -6]])
    for _ in range(2):
        with pytest.raises(tf.errors.InvalidArgumentError, match="division by zero"):
            function(x, tf.constant([[2, 0]]))
    np.testing.assert_array_equal(function(x, y), [[10, -6]])


def called(function, x, ops_run):
    function(x)
    return ops_run[-1]


def test_whoever_watches_functions_sees_one(ops_run, tmp_path):
    function = tf.function(lambda x: tf.exp(tf.abs(x)) + 1.0)
    x = tf.constant(rows())
    function(x)
    assert called(function, x, ops_run) == "AutofusedKernel"
    name = called_in_scopes(function, x, ops_run, tmp_path)
    assert all(found.startswith("__inference") for found in name), name
    assert called(function, x, ops_run) == "AutofusedKernel"


def called_in_scopes(function, x, ops_run, folder):
    found = []
    tf.profiler.experimental.start(str(folder))
    found.append(called(function, x, ops_run))
    tf.profiler.experimental.stop()
    tf.summary.trace_on(graph=True)
    found.append(called(function, x, ops_run))
    tf.summary.trace_off()
    return found


def test_another_device_gets_the_function(ops_run):
    function = tf.function(lambda x: tf.exp(tf.abs(x)) + 3.0)
    x = tf.constant(rows())
    function(x)
    with tf.device("/CPU:0"):
        assert called(function, x, ops_run) == "AutofusedKernel"
    with tf.device("/GPU:0"):
        assert one_kernel._watcher()(context_module.context())


def test_a_function_that_is_gone_is_forgotten():
    def once():
        function = tf.function(lambda x: tf.exp(tf.abs(x)) + 2.0)
        concrete = function.get_concrete_function(tf.TensorSpec([5, 7]))
        concrete(tf.constant(rows()))
        return concrete._inference_function.name

    name = once()
    gc.collect()
    assert name not in one_kernel._calls


def test_a_call_that_cannot_be_made_is_the_function(ops_run):
    function = tf.function(lambda x: tf.exp(tf.abs(x)) + 5.0)
    concrete = function.get_concrete_function(tf.TensorSpec([5, 7]))
    x = tf.constant(rows())
    first = concrete(x)
    name = concrete._inference_function.name
    call = one_kernel._calls[name]
    one_kernel._calls[name] = call._replace(attributes=call.attributes + ("no such attribute", 1))
    np.testing.assert_array_equal(concrete(x), first)
    assert ops_run[-1] == name.decode()


def test_functions_are_remembered_in_bounds(monkeypatch):
    monkeypatch.setattr(one_kernel, "_REMEMBERED", 2)
    one_kernel.forget_all()
    functions = [tf.function(lambda x, c=c: tf.exp(tf.abs(x)) * (c + 0.25)) for c in range(4)]
    x = tf.constant(rows())
    for function in functions * 2:
        np.testing.assert_array_equal(function(x), function(x))
    assert len(one_kernel._calls) == 2


def test_threads_share_a_function():
    function = tf.function(lambda x: tf.exp(tf.abs(x) * -1.0) + 0.5)
    arrays = [rows(seed=seed) for seed in range(4)]
    function(tf.constant(arrays[0]))
    wrong = []

    def work(array):
        want = np.exp(-np.abs(array)) + 0.5
        for _ in range(50):
            if not np.allclose(function(tf.constant(array)), want, rtol=1e-6):
                wrong.append(array)

    threads = [threading.Thread(target=work, args=(array,)) for array in arrays]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_nothing_is_left_when_fusing_ends(ops_run):
    function = tf.function(lambda x: tf.exp(tf.abs(x)) + 4.0)
    x = tf.constant(rows())
    function(x)
    function(x)
    tf_autofuse.disable()
    assert not one_kernel._calls
    assert called(function, x, ops_run).startswith("__inference")
