"""Rows in blocks: results that go past the caches, and float16 in memory."""
import kernel_samples as samples
import numpy as np
import pytest

from tf_autofuse.build import compile_host_kernel
from tf_autofuse.codegen.host import print_nests
from tf_autofuse.codegen.host_memory import streamed_stores
from tf_autofuse.kernel.nest import build_nests
from tf_autofuse.runtime import host

TYPES = samples.kernel(
    ["float32", "float32"], ["float32", "float64", "bool", "int8", "float16", "bfloat16"], "m0 m1",
    "%0 = load in0 [m0, m1] : float32", "%1 = load in1 [m1] : float32",
    "%2 = add %0 %1 : float32 [m0, m1]", "%3 = cast %2 : float64 [m0, m1]",
    "%4 = gt %0 %1 : bool [m0, m1]", "%5 = cast %4 : int8 [m0, m1]",
    "%6 = cast %2 : float16 [m0, m1]", "%7 = cast %2 : bfloat16 [m0, m1]",
    *("store out{} [m0, m1] %{}".format(i, i + 2) for i in range(6)))
HALVES = samples.kernel(
    ["float16", "float16"], ["float16"], "m0 m1", "%0 = load in0 [m0, m1] : float16",
    "%1 = load in1 [m1] : float16", "%2 = max %0 %1 : float16 [m0, m1]",
    "store out0 [m0, m1] %2")
SUMS = samples.kernel(
    ["float32"], ["float32", "float32"], "m0 m1", "%0 = load in0 [m0, m1] : float32",
    "%1 = abs %0 : float32 [m0, m1]", "%2 = reduce.sum %1 over m0 : float32 [m1]",
    "store out0 [m0, m1] %1", "store out1 [m1] %2")
WHOLE = samples.kernel(
    ["int32"], ["int32"] * 4, "m0 m1", "%0 = load in0 [m0, m1] : int32",
    "%1 = mul %0 %0 : int32 [m0, m1]", "%2 = cast %1 : float32 [m0, m1]",
    "%3 = cast %2 : int32 [m0, m1]", "%4 = reduce.sum %3 over m0 : int32 [m1]",
    "store out0 [m0, m1] %3", "store out1 [m0, m1] %1", "store out2 [m1] %4",
    "store out3 [m0, m1] %3")
LOOPS = {
    "relu": samples.abs_add_relu(), "exp": samples.abs_relu_exp("float16"), "types": TYPES,
    "halves": HALVES, "sums": SUMS, "whole": WHOLE,
    "layer_norm": samples.layer_norm("float32"),
}
SHAPES = [(1, 1), (5, 15), (7, 16), (9, 33), (6, 47), (3, 5000), (40, 64)]


def text_of(loop):
    return print_nests(loop, build_nests(loop))


def past_the_caches(loop):
    """The text where every result is stored so, also a short one."""
    text = text_of(loop)
    assert "leaves_caches(" in text
    return text.replace("leaves_caches(", "bool(").replace(">= STREAM_ROW", ">= 0")


def run(text, loop, shape, threads, inputs, strides):
    sizes = samples.sizes_of(loop, *shape)
    outputs = [(tuple(sizes[axis] for axis in store.axes), loop.outputs[store.output].dtype)
               for store in sorted(loop.stores, key=lambda store: store.output)]
    library = compile_host_kernel(text, key="stream")
    launch = host.HostLaunch(library, inputs, list(shape), strides, outputs, threads)
    for output in launch.outputs:
        output.view(np.uint8).fill(0xa5)
    launch.run()
    return launch.outputs


@pytest.mark.parametrize("name", sorted(LOOPS))
@pytest.mark.parametrize("threads", [1, 3])
def test_results_past_the_caches_are_the_same(name, threads):
    loop = LOOPS[name]
    for shape in SHAPES:
        shape = shape if len(loop.axes) > 1 else (shape[0] * shape[1],)
        inputs, strides = samples.make_inputs(loop, samples.sizes_of(loop, *shape), ())
        plain = run(text_of(loop), loop, shape, threads, inputs, strides)
        past = run(past_the_caches(loop), loop, shape, threads, inputs, strides)
        for have, want in zip(past, plain):
            np.testing.assert_array_equal(have.view(np.uint8), want.view(np.uint8))


@pytest.mark.parametrize("name", ["relu", "exp", "types"])
def test_results_that_do_not_begin_at_a_line(name, monkeypatch):
    aligned = host._aligned
    monkeypatch.setattr(
        host, "_aligned",
        lambda shape, dtype: aligned((int(np.prod(shape)) + 1,), dtype)[1:].reshape(shape))
    test_results_past_the_caches_are_the_same(name, 1)


def test_results_over_an_input_are_not_stored_past_the_caches():
    """The line of an input is in the cache when its place is written."""
    text = text_of(samples.abs_add_relu())
    assert "out0 != in0" in text[text.index("const bool stream"):].split(";")[0]


@pytest.mark.parametrize("loop, streamed", [
    (samples.abs_add_relu(), (0,)),
    (SUMS, (0,)),
    (samples.layer_norm("float32"), (0,)),
    (samples.softmax("m1"), ()),
    (samples.kernel(["float32"], ["float32"], "", "%0 = load in0 [] : float32",
                    "%1 = neg %0 : float32 []", "store out0 [] %1"), ()),
    (samples.kernel(["float32"], ["float32"], "m0", "%0 = load in0 [m0] : float32",
                    "%1 = erfc %0 : float32 [m0]", "store out0 [m0] %1"), ()),
])
def test_which_results_may_go_past_the_caches(loop, streamed):
    assert streamed_stores(loop, build_nests(loop)[0]) == streamed
    assert ("leaves_caches(" in text_of(loop)) == bool(streamed)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_sums_along_a_row_of_halves_are_not_taken_block_by_block(dtype):
    loop = samples.reduction("m0 m1", "m1", ("sum",), dtype)
    text = text_of(loop)
    assert "c += BLOCK" not in text and ("s += CHUNK" in text) == (dtype == "float16")
