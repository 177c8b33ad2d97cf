"""A model whose kernels cannot be built, stored, found or run: right numbers or one clear error."""

import inspect
import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from remains import children, remains

tf = pytest.importorskip("tensorflow")

import tf_autofuse  # noqa: E402
from tf_autofuse import build, paths  # noqa: E402
from tf_autofuse.frontend.tensorflow import optimizer  # noqa: E402
from tf_autofuse.report.model import RECORDER  # noqa: E402
from tf_autofuse.runtime import tf_op  # noqa: E402
from tf_autofuse.runtime.host import ABI_VERSION  # noqa: E402

pytestmark = pytest.mark.e2e
tf1 = tf.compat.v1
X = np.linspace(-3, 3, 24, dtype=np.float32).reshape(4, 6)
ABI = '#include "kernel_abi.h"\n'


@pytest.fixture(scope="module", autouse=True)
def shim():
    """The extension is built by a real compiler."""
    tf_op.load()


@pytest.fixture(autouse=True)
def off_again():
    RECORDER.clear()
    optimizer.forget()
    yield
    tf_autofuse.disable()


def run(build_graph=None, x=X, shape=None):
    """The graph's value in a new session."""
    with tf.Graph().as_default():
        fed = tf1.placeholder(x.dtype, x.shape if shape is None else shape)
        result = (build_graph or default_graph)(fed)
        with tf1.Session() as session:
            return session.run(result, {fed: x})


def default_graph(x):
    return tf.exp(tf.nn.relu(tf.abs(x) - 1.0)) * 0.5


def expected(x=X):
    return np.exp(np.maximum(np.abs(x) - 1, 0)) * 0.5


def assert_right(values):
    np.testing.assert_allclose(values, expected(), rtol=1e-6)


def unfused():
    """Codes and reasons of what was left alone because of the fault."""
    entries = tf_autofuse.report().unfused
    return {entry.code for entry in entries}, " ".join(entry.reason for entry in entries)


def library_without(name):
    """A script that builds a library in which a function of the kernel interface is missing."""
    functions = {
        "autofuse_abi_version": "int autofuse_abi_version() { return %d; }" % ABI_VERSION,
        "autofuse_tiling": "int autofuse_tiling() { return 0; }",
        "autofuse_run": "int autofuse_run() { return 0; }",
    }
    text = " ".join(body for key, body in functions.items() if key != name)
    return "echo '{}' | g++ -shared -fPIC -x c - -o $out".format(text)


COMPILERS = {
    "missing": None,
    "crash": ("kill -SEGV $$", "signal 11"),
    "hang": ("sleep 60", "did not end within 1 s"),
    "garbage": ("echo garbage >$out", "no 64-bit ELF file"),
    "cut": ("g++ -shared -fPIC -x c /dev/null -o $out; truncate -s 4000 $out", "cut short"),
    "no function": (library_without("autofuse_run"), "autofuse_run"),
    "no version": (library_without("autofuse_abi_version"), "autofuse_abi_version"),
    "old version": (
        library_without("").replace("return %d" % ABI_VERSION, "return 99"),
        "kernel interface 99, wanted %d" % ABI_VERSION),
}


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("kind", list(COMPILERS))
def test_no_usable_kernel(kind, strict, fake_compiler, monkeypatch, own_cache):
    if COMPILERS[kind] is None:
        monkeypatch.setenv("CXX", "no-such-compiler-here")
        words = "compiler named by CXX is not there"
    else:
        script, words = COMPILERS[kind]
        fake_compiler(script)
    tf_autofuse.enable({"strict": strict, "build_seconds": 1 if kind == "hang" else 60})
    if strict:
        for _ in range(2):  # asked again, the same graph fails again
            with pytest.raises(tf.errors.InternalError, match=r"strict.*" + words):
                run()
    else:
        assert_right(run())
        assert_right(run())
        codes, reasons = unfused()
        assert "BUILD" in codes and words in reasons
    assert tf_autofuse.report().kernels == ()
    assert remains(own_cache) == [] and children() == []
    # The compiler is well again and the user starts anew: it fuses.
    monkeypatch.delenv("CXX")
    optimizer.forget()
    tf_autofuse.enable("--enable_autofuse=true;--strict=true")
    assert_right(run())
    assert len(tf_autofuse.report().kernels) == 1


def test_library_gone_before_the_op_is_made(own_cache, monkeypatch):
    fuse = optimizer._fuse

    def fuse_and_lose(*args):
        answer = fuse(*args)
        shutil.rmtree(str(own_cache))
        return answer

    monkeypatch.setattr(optimizer, "_fuse", fuse_and_lose)
    tf_autofuse.enable("--enable_autofuse=true;--strict=true")
    assert_right(run())
    assert tf_autofuse.report().kernels[0].calls == 1
    assert_right(run())  # the remembered answer names the file that is gone
    assert tf_autofuse.report().kernels[0].calls == 2


def test_unusable_home_and_dump_folder(monkeypatch, tmp_path, caplog):
    blocker = tmp_path / "file"
    blocker.write_text("")
    monkeypatch.setenv("AUTOFUSE_CACHE_DIR", str(blocker))
    monkeypatch.setenv("DUMP_GE_GRAPH", "1")
    monkeypatch.setenv("DUMP_GRAPH_PATH", str(blocker))
    with caplog.at_level("WARNING", logger="tf_autofuse"):
        tf_autofuse.enable("--enable_autofuse=true;--strict=true")
        assert_right(run())
    assert len(tf_autofuse.report().kernels) == 1
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 2 and "kernel cache" in said[0] + said[1], said
    assert "a graph dump is missing" in said[0] + said[1]


def test_disk_full_for_everything(own_cache, monkeypatch):
    """No process can write a file of more than 8 KiB: no kernel, and no half of one."""
    tf_autofuse.enable()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, hard))
    try:
        values = run()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert_right(values)
    assert "BUILD" in unfused()[0] and tf_autofuse.report().kernels == ()
    assert build.open_cache().lookup("") is None
    assert [e for e in build.open_cache().entries() if e.label != "failed"] == []


def test_wrong_shapes_at_run_time():
    tf_autofuse.enable("--enable_autofuse=true;--strict=true")
    with tf.Graph().as_default():
        a = tf1.placeholder(tf.float32, [None, None])
        b = tf1.placeholder(tf.float32, [None, None])
        c = tf.exp(tf.abs(a) + b) * 2.0
        with tf1.Session() as session:
            good = session.run(c, {a: np.ones((2, 3)), b: np.ones((2, 3))})
            for wrong in ((3, 3), (2, 4), (0, 3)):
                with pytest.raises(tf.errors.InvalidArgumentError):
                    session.run(c, {a: np.ones((2, 3)), b: np.ones(wrong)})
            again = session.run(c, {a: np.ones((2, 3)), b: np.ones((2, 3))})
    np.testing.assert_array_equal(good, again)
    np.testing.assert_allclose(good, np.full((2, 3), 2 * np.exp(2.0)), rtol=1e-6)


def test_a_graph_that_is_fused_already():
    tf_autofuse.enable("--enable_autofuse=true;--strict=true")
    with tf.Graph().as_default() as graph:
        tf.identity(default_graph(tf1.placeholder(tf.float32, [4, 6], name="x")), name="y")
        data = graph.as_graph_def().SerializeToString()
    shapes = {
        op.name: [(tensor.dtype.as_datatype_enum, tensor.shape.as_list()) for tensor in op.outputs]
        for op in graph.get_operations()
    }
    info = {"id": "g", "fetch": ["y"], "feed": ["x"], "preserve": ["x", "y"], "shapes": shapes}
    once = optimizer.optimize(data, info)
    assert once is not None and optimizer.optimize(once, info) is None
    assert optimizer.optimize(data, info) == once
    assert len(tf_autofuse.report().kernels) == 1


def test_threads_with_different_graphs():
    tf_autofuse.enable("--enable_autofuse=true;--strict=true")
    values, errors = {}, []

    def work(number):
        try:
            for again in range(3):
                values[number, again] = run(lambda x: default_graph(x) + tf.abs(x) * (number + 0.5))
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == [] and len(values) == 18
    for (number, _), got in values.items():
        np.testing.assert_allclose(got, expected() + np.abs(X) * (number + 0.5), rtol=1e-6)


def two_kernels():
    """Their compilers run at the same time; one is ended because the other was interrupted."""
    return run(lambda x: default_graph(tf.matmul(default_graph(x), tf.transpose(x)) * 2.0 - 1.0))


def in_a_function():
    """A call that is not inlined: newer TensorFlows optimize it on a thread of their own."""
    kept_apart = {"experimental_attributes": {"_noinline": True}}
    if "experimental_attributes" not in inspect.signature(tf.function).parameters:
        kept_apart = {}
    inner = tf.function(default_graph, **kept_apart)
    return tf.function(lambda x: inner(x * 1.0))(tf.constant(X))


def on_a_thread():
    """The user's own thread; the main thread waits for it in Python."""
    ended = threading.Event()
    thread = threading.Thread(target=lambda: (run(), ended.set()))
    thread.start()
    try:
        ended.wait()
    finally:
        assert ended.wait(20)


@pytest.fixture()
def interrupted(own_cache, fake_compiler):
    """The first compiler hangs, and the user presses Ctrl-C as soon as it runs."""
    fake_compiler("touch {}; sleep 600".format(own_cache / "started"))

    over = threading.Event()

    def interrupt():
        while not over.wait(0.02):
            if (own_cache / "started").exists():
                os.kill(os.getpid(), signal.SIGINT)
                break

    thread = threading.Thread(target=interrupt)
    thread.start()
    yield
    over.set()
    thread.join()


@pytest.mark.usefixtures("interrupts", "interrupted")
@pytest.mark.parametrize("way", [run, two_kernels, in_a_function, on_a_thread])
def test_an_interrupt_while_kernels_are_built(way, own_cache, monkeypatch):
    if way is in_a_function and not tf.executing_eagerly():
        pytest.skip("TensorFlow 2 only")
    tf_autofuse.enable()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt) as raised:
        way()
        time.sleep(1)  # a moment for the exception that was on its way
    assert time.monotonic() - start < 100
    assert raised.value.__context__ is None
    assert children() == [] and remains(own_cache) == []
    # Nothing has failed: in a notebook the next try starts anew.
    assert build.open_cache().entries() == [] and not build._failed
    monkeypatch.delenv("CXX")
    assert_right(run())
    assert len(tf_autofuse.report().kernels) == 1


@pytest.mark.usefixtures("interrupted")
def test_what_a_handler_of_the_user_raises(own_cache):
    """A script that leaves on Ctrl-C leaves with its own exit code."""
    def leave(*_):
        raise SystemExit(7)

    before = signal.signal(signal.SIGINT, leave)
    try:
        tf_autofuse.enable()
        with pytest.raises(SystemExit, match="7"):
            run()
            time.sleep(1)
    finally:
        signal.signal(signal.SIGINT, before)
    assert children() == [] and remains(own_cache) == []


FORK = """
import os, sys, numpy as np, tensorflow as tf, tf_autofuse
tf_autofuse.enable("--enable_autofuse=true;--strict=true")
x = np.linspace(-1, 1, 12).astype("float32").reshape(3, 4)
def run(k):
    with tf.Graph().as_default():
        fed = tf.compat.v1.placeholder(tf.float32, [3, 4])
        out = tf.exp(tf.abs(fed)) * k
        with tf.compat.v1.Session() as session:
            np.testing.assert_allclose(session.run(out, {fed: x}), np.exp(np.abs(x)) * k, rtol=1e-6)
    assert len(tf_autofuse.report().kernels) == 1
children = []
for k in (1.5, 2.5):
    child = os.fork()
    if child == 0:
        try:
            run(k)
        except BaseException:
            import traceback; traceback.print_exc()
            os._exit(1)
        os._exit(0)
    children.append(child)
run(3.5)
sys.exit(sum(os.waitpid(child, 0)[1] for child in children))
"""


def test_fork_after_import(own_cache):
    root = os.path.dirname(paths.package_dir())
    env = dict(os.environ, PYTHONPATH=root, TF_CPP_MIN_LOG_LEVEL="2")
    done = subprocess.run([sys.executable, "-c", FORK], env=env, timeout=180)
    assert done.returncode == 0
