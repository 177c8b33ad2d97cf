"""Loop IR: text form, verifier, axis merging and the shape spec."""
import numpy as np
import pytest

from tf_autofuse.errors import IRError
from tf_autofuse.loop.interp import cast, decode, encode, run
from tf_autofuse.loop.merge import merge_axes
from tf_autofuse.loop.spec import axis_sizes, shape_spec
from tf_autofuse.loop.text import parse_loop, print_loop
from tf_autofuse.loop.verify import verify

TEXT = """loop {
  in0: float16
  in1: float32
  out0: float32
  out1: float16
  axes a0 a1 a2
  %0 = load in0 [a0, a1, a2] : float16
  %1 = abs %0 : float16 [a0, a1, a2]
  %2 = cast %1 : float32 [a0, a1, a2]
  %3 = load in1 [a0?, -, a2] : float32
  %4 = add %2 %3 : float32 [a0, a1, a2]
  %5 = const -0.0 : float32
  %6 = max %4 %5 : float32 [a0, a1, a2]
  %7 = reduce.mean %6 over a1 a2 : float32 [a0]
  store out0 [a0, -] %7
  store out1 [a0, a1, a2] %1
}
"""


def test_text_round_trips():
    kernel = parse_loop(TEXT)
    verify(kernel)
    assert print_loop(kernel) == TEXT
    assert parse_loop(print_loop(kernel, comments=True)) == kernel


@pytest.mark.parametrize("scalar", ["nan", "inf", "-inf", "-0.0", "1e-45", "True", "-7"])
def test_constants_keep_their_spelling(scalar):
    text = TEXT.replace("const -0.0 : float32", "const %s : float32" % scalar)
    assert print_loop(parse_loop(text)) == text


@pytest.mark.parametrize(
    "old, new, message",
    [
        ("%1 = abs %0", "%1 = abs %9", "uses 9 before it is defined"),
        ("= abs %0", "= abs %0 %0", "takes 1 operands, got 2"),
        ("= abs %0", "= sinc %0", "unknown operation sinc"),
        ("add %2 %3", "add %1 %3", "add does not take float16 and float32"),
        ("add %2 %3 : float32 [a0, a1, a2]", "add %2 %3 : float32 [a0, a1]", "domain must be"),
        ("over a1 a2 : float32 [a0]", "over a1 a2 : float32 [a0, a1]", "without the reduced"),
        ("store out1 [a0, a1, a2] %1", "store out1 [a0, a1, a2] %2", "stores float32"),
        ("store out1 [a0, a1, a2] %1", "store out0 [a0, a1, a2] %6", "exactly one store"),
        ("axes a0 a1 a2", "axes a0 a1 a1", "axis names repeat"),
    ],
)
def test_verifier_names_what_is_wrong(old, new, message):
    assert old in TEXT
    with pytest.raises(IRError) as error:
        verify(parse_loop(TEXT.replace(old, new)))
    assert message in str(error.value)


def test_unreadable_text_names_the_line():
    with pytest.raises(IRError) as error:
        parse_loop(TEXT.replace("%1 = abs", "1 = abs"))
    assert "line 8" in str(error.value)


def _inputs(rng):
    return [rng.randn(3, 4, 5).astype("float16"), rng.randn(1, 1, 5).astype("float32")]


def test_interpreter_computes_the_kernel():
    x, y = _inputs(np.random.RandomState(0))
    sizes = {"a0": 3, "a1": 4, "a2": 5}
    mean, kept = run(parse_loop(TEXT), [x, y], sizes)
    expected = np.maximum(np.abs(x).astype("float32") + y, 0).reshape(3, -1).mean(1)
    np.testing.assert_allclose(mean, expected[:, None], rtol=1e-6)
    np.testing.assert_array_equal(kept, np.abs(x))


def test_merging_keeps_the_meaning():
    kernel = parse_loop(TEXT.replace("[a0?, -, a2]", "[-, -, -]"))
    merged, groups = merge_axes(kernel)
    verify(merged)
    assert groups == (0, 1, 1)
    assert merged.axes == ("m0", "m1")
    x, y = _inputs(np.random.RandomState(1))
    y = y[:, :, :1]
    before = run(kernel, [x, y], {"a0": 3, "a1": 4, "a2": 5})
    after = run(merged, [x.reshape(3, 20), y.reshape(())], {"m0": 3, "m1": 20})
    for left, right in zip(before, after):
        np.testing.assert_array_equal(left.ravel(), right.ravel())


def test_axes_of_a_run_time_broadcast_stay_apart():
    merged, groups = merge_axes(parse_loop(TEXT.replace("[a0?, -, a2]", "[a0, a1?, a2]")))
    assert groups == (0, 1, 2)
    assert merged.maybe_axes == ("m1",)


def test_shape_spec():
    kernel = parse_loop(TEXT)
    _, groups = merge_axes(kernel)
    assert shape_spec(kernel, groups) == "v1;axes=3;groups=0,1,2;in=0.1.2/0?.-.2;out=0.-/0.1.2;"


@pytest.mark.parametrize("first", [1, 3])
def test_axis_sizes_accept_a_run_time_broadcast(first):
    sizes = axis_sizes(parse_loop(TEXT), [(3, 4, 5), (first, 1, 5)])
    assert sizes == {"a0": 3, "a1": 4, "a2": 5}


@pytest.mark.parametrize("shape", [(2, 1, 5), (3, 2, 5), (3, 1, 6), (3, 5)])
def test_axis_sizes_refuse_other_shapes(shape):
    with pytest.raises(ValueError):
        axis_sizes(parse_loop(TEXT), [(3, 4, 5), shape])


def test_bfloat16_rounds_to_even_and_keeps_nan():
    values = np.array([1.0, 1.00390625, 1.01171875, np.inf, -0.0, np.nan, 3.4e38], "float32")
    bits = encode(values, "bfloat16")
    back = decode(bits, "bfloat16")
    assert back[0] == 1.0 and back[1] == 1.0 and back[2] == np.float32(1.015625)
    assert np.isinf(back[3]) and np.signbit(back[4]) and np.isnan(back[5]) and np.isinf(back[6])


def test_cast_follows_tensorflow():
    values = np.array([np.nan, np.inf, -np.inf, 3e9, 300.7, -1.5, -0.0], "float32")
    low = np.iinfo("int32").min
    assert list(cast(values, "float32", "int32")) == [low, low, low, low, 300, -1, 0]
    assert list(cast(values, "float32", "uint8")) == [0, 0, 0, 0, 44, 255, 0]
    assert list(cast(values, "float32", "bool")) == [True] * 6 + [False]


def test_an_index_counts_along_its_axis():
    kernel = parse_loop("""loop {
  in0: float32
  out0: int64
  axes a0 a1
  %0 = load in0 [a0, a1] : float32
  %1 = index a1 : int64
  %2 = cast %0 : int64 [a0, a1]
  %3 = add %1 %2 : int64 [a0, a1]
  store out0 [a0, a1] %3
}
""")
    verify(kernel)
    assert parse_loop(print_loop(kernel)) == kernel
    assert merge_axes(kernel)[1] == (0, 1)
    x = np.array([[0.5, 1.5, -2.5], [10, 20, 30]], np.float32)
    (got,) = run(kernel, [x], {"a0": 2, "a1": 3})
    np.testing.assert_array_equal(got, [[0, 2, 0], [10, 21, 32]])


COUNTED = """loop {
  in0: float32
  out0: float32
  axes a0 a1 a2
  %0 = load in0 [a0, a1, a2] : float32
  %1 = count OVER : int32
  %2 = cast %1 : float32 []
  %3 = mul %0 %2 : float32 [a0, a1, a2]
  store out0 [a0, a1, a2] %3
}
"""


@pytest.mark.parametrize("over, groups, count", [
    ("a0", (0, 1, 1), 2), ("a0 a2", (0, 1, 2), 8), ("a0 a1 a2", (0, 0, 0), 24)])
def test_counts_keep_axes_apart(over, groups, count):
    kernel = parse_loop(COUNTED.replace("OVER", over))
    verify(kernel)
    assert parse_loop(print_loop(kernel)) == kernel
    merged, found = merge_axes(kernel)
    verify(merged)
    assert found == groups
    (got,) = run(kernel, [np.ones((2, 3, 4), "f4")], {"a0": 2, "a1": 3, "a2": 4})
    np.testing.assert_array_equal(got, np.full((2, 3, 4), count))


@pytest.mark.parametrize("old, new, message", [
    ("a0 :", "a9 :", "no axis"), (": int32", ": float32", "int32 or int64")])
def test_counts_are_verified(old, new, message):
    with pytest.raises(IRError) as error:
        verify(parse_loop(COUNTED.replace("OVER", "a0").replace(old, new)))
    assert message in str(error.value)


def test_a_dim_of_two_axes_that_merge_is_one_axis():
    kernel = parse_loop("""
        loop {
          in0: float32
          out0: float32
          out1: float32
          axes a0 a1 a2
          %0 = load in0 [a0, a1, a2] : float32
          %1 = reduce.sum %0 over a2 : float32 [a0, a1]
          %2 = add %0 %1 : float32 [a0, a1, a2]
          store out0 [a0*a1, a2] %2
          store out1 [a0, a1] %1
        }
    """)
    merged, groups = merge_axes(kernel)
    assert groups == (0, 0, 1)
    assert [store.axes for store in merged.stores] == [("m0", "m1"), ("m0",)]
    verify(merged)
