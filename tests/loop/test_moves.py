"""Lowered moves against numpy, without any graph around them."""
import numpy as np
import pytest

from tf_autofuse.errors import Unsupported
from tf_autofuse.loop.interp import run
from tf_autofuse.loop.lower import lower
from tf_autofuse.loop.source import Operator, TensorInfo
from tf_autofuse.loop.spec import axis_sizes
from tf_autofuse.loop.verify import verify

X = np.arange(24, dtype=np.float32).reshape(4, 6)
Y = -np.arange(8, dtype=np.float32).reshape(4, 2)
MASKS = {"begin_mask": 0, "end_mask": 0, "ellipsis_mask": 0, "new_axis_mask": 0,
         "shrink_axis_mask": 0}


def outputs_of(operators, arrays, results=1):
    """What the last operator gives, by the interpreter."""
    infos = {("x%d" % i, 0): TensorInfo(a.dtype.name, a.shape) for i, a in enumerate(arrays)}
    refs = [(operators[-1].name, port) for port in range(results)]
    lowered = lower(operators, refs, infos)
    verify(lowered.kernel)
    given = [arrays[int(name[1:])] for name, _ in lowered.inputs]
    sizes = axis_sizes(lowered.kernel, [array.shape for array in given])
    return run(lowered.kernel, given, sizes)


def move(kind, arrays, params, **attrs):
    refs = tuple(("x%d" % i, 0) for i in range(len(arrays)))
    outputs = attrs.pop("outputs", 1)
    operator = Operator("op", kind, refs, attrs, None, None, params, outputs)
    return outputs_of([operator], arrays, outputs)


@pytest.mark.parametrize("kind, params, attrs, want", [
    ("Transpose", {1: (1, 0)}, {}, X.T),
    ("Slice", {1: (1, 2), 2: (-1, 3)}, {}, X[1:, 2:5]),
    ("ReverseV2", {1: (-1,)}, {}, X[:, ::-1]),
    ("StridedSlice", {1: (3, 1), 2: (0, 9), 3: (-2, 2)}, MASKS, X[3:0:-2, 1:9:2]),
    ("StridedSlice", {1: (0, 2), 2: (0, 0), 3: (1, 1)},
     dict(MASKS, ellipsis_mask=1, shrink_axis_mask=2), X[..., 2]),
    ("StridedSlice", {1: (0, 0, -2), 2: (0, 0, 0), 3: (1, 1, 1)},
     dict(MASKS, new_axis_mask=1, begin_mask=2, end_mask=6), X[None, :, -2:]),
    ("Pad", {1: (1, 0, 0, 2)}, {}, np.pad(X, [(1, 0), (0, 2)], "constant")),
    ("PadV2", {1: (0, 0, 3, 1), 2: (7.0,)}, {},
     np.pad(X, [(0, 0), (3, 1)], "constant", constant_values=7)),
    ("MirrorPad", {1: (2, 1, 0, 3)}, {"mode": "REFLECT"}, np.pad(X, [(2, 1), (0, 3)], "reflect")),
    ("MirrorPad", {1: (0, 4, 1, 0)}, {"mode": "SYMMETRIC"},
     np.pad(X, [(0, 4), (1, 0)], "symmetric")),
])
def test_moves_of_one_tensor(kind, params, attrs, want):
    np.testing.assert_array_equal(move(kind, [X], params, **attrs)[0], want)


@pytest.mark.parametrize("kind, params, arrays, attrs, want", [
    ("ConcatV2", {2: (1,)}, [X, Y], {}, np.concatenate([X, Y], 1)),
    ("Concat", {0: (0,)}, [X, X[:1], X[:0]], {}, np.concatenate([X, X[:1]], 0)),
    ("ConcatV2", {2: (1,)}, [Y[:, :1], Y[:, 1:]], {}, Y),
    ("Pack", {}, [X, X * 2], {"axis": 0}, np.stack([X, X * 2])),
    ("Pack", {}, [X, X * 2, X * 3], {"axis": -1}, np.stack([X, X * 2, X * 3], -1)),
])
def test_tensors_side_by_side(kind, params, arrays, attrs, want):
    np.testing.assert_array_equal(move(kind, arrays, params, **attrs)[0], want)


@pytest.mark.parametrize("kind, params, attrs, want", [
    ("Split", {0: (1,)}, {"outputs": 2}, np.split(X, 2, 1)),
    ("SplitV", {1: (1, -1), 2: (0,)}, {"outputs": 2}, [X[:1], X[1:]]),
    ("Unpack", {}, {"axis": 1, "outputs": 6}, list(X.T)),
])
def test_several_parts(kind, params, attrs, want):
    for got, expected in zip(move(kind, [X], params, **attrs), want):
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("axis", [-1, 0, 1])
@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8"])
def test_one_hot(dtype, axis):
    x = np.array([[0, 2, 1], [3, 9, 2]], dtype)
    got = move("OneHot", [x], {1: (4,), 2: (5,), 3: (-1,)}, axis=axis, dst_dtype="float32")[0]
    want = np.where(x[..., None] == np.arange(4), np.float32(5), np.float32(-1))
    np.testing.assert_array_equal(got, np.moveaxis(want, -1, axis))


def test_a_part_of_a_result_is_computed_from_a_part():
    """(x / (x + x))[1:, ::2] reads only that part of x."""
    x = ("x0", 0)
    operators = [
        Operator("sum", "AddV2", (x, x), {}, None, (4, 6)),
        Operator("op", "RealDiv", (x, ("sum", 0)), {}, None, (4, 6)),
        Operator("part", "StridedSlice", (("op", 0),), MASKS, None, (3, 3),
                 {1: (1, 0), 2: (4, 6), 3: (1, 2)}),
    ]
    (got,) = outputs_of(operators, [X + 1])
    np.testing.assert_array_equal(got, np.full((3, 3), 0.5, np.float32))
    lowered = lower(operators, [("part", 0)], {x: TensorInfo("float32", (4, 6))})
    assert len(lowered.inputs) == 1


def test_a_sum_of_padded_rows_may_not_divide_outside():
    """An integer division would fail where there is nothing to read."""
    x = ("x0", 0)
    operators = [
        Operator("q", "FloorDiv", (x, x), {}, None, (4,)),
        Operator("pad", "Pad", (("q", 0),), {}, None, (6,), {1: (1, 1)}),
    ]
    with pytest.raises(Unsupported) as caught:
        outputs_of(operators, [np.ones(4, np.int32)])
    assert caught.value.code == "MOVE"


def test_parameters_must_be_constant():
    with pytest.raises(Unsupported) as caught:
        move("Transpose", [X], {})
    assert caught.value.code == "AXES_UNKNOWN"
