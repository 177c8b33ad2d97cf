"""Loads at computed coordinates: lowered, interpreted, printed, refused."""
import numpy as np
import pytest

from tf_autofuse.errors import IRError, Unsupported
from tf_autofuse.loop.interp import run
from tf_autofuse.loop.lower import lower
from tf_autofuse.loop.merge import merge_axes
from tf_autofuse.loop.source import Operator, TensorInfo
from tf_autofuse.loop.spec import axis_sizes, shape_spec
from tf_autofuse.loop.text import parse_loop, print_loop
from tf_autofuse.loop.verify import verify

X = np.arange(24, dtype=np.float32).reshape(4, 6)
CUBE = np.arange(60, dtype=np.float32).reshape(3, 4, 5)
ROWS = np.array([[3, 0, 2], [1, 1, 3]], "int32")


def op(kind, name, refs, params=None, **attrs):
    return Operator(name, kind, tuple((ref, 0) for ref in refs), attrs, None, None, params or {})


def lowered(operators, arrays):
    infos = {(name, 0): TensorInfo(a.dtype.name, a.shape) for name, a in arrays.items()}
    found = lower(operators, [(operators[-1].name, 0)], infos)
    verify(found.kernel)
    return found


def evaluate(operators, arrays):
    found = lowered(operators, arrays)
    given = [arrays[name] for name, _ in found.inputs]
    return run(found.kernel, given, axis_sizes(found.kernel, [a.shape for a in given]))[0]


@pytest.mark.parametrize("kind, x, indices, params, attrs, want", [
    ("GatherV2", X, ROWS, {2: (0,)}, {}, X[ROWS]),
    ("GatherV2", X, ROWS, {2: (-1,)}, {}, X[:, ROWS]),
    ("GatherV2", X, np.int64(2), {2: (1,)}, {}, X[:, 2]),
    ("GatherV2", CUBE[:2], ROWS, {2: (1,)}, {"batch_dims": 1},
     np.take_along_axis(CUBE[:2], ROWS[..., None].astype(int), 1)),
    ("GatherV2", CUBE[:2], ROWS, {2: (2,)}, {"batch_dims": -1},
     np.take_along_axis(CUBE[:2], ROWS[:, None].astype(int), 2)),
    ("Gather", X, ROWS[0], {}, {}, X[ROWS[0]]),
    ("GatherNd", CUBE, ROWS[:, :2] % 3, {}, {}, CUBE[[0, 1], [0, 1]]),
    ("GatherNd", CUBE, np.array([2, 3, 4]), {}, {}, CUBE[2, 3, 4]),
    ("ReverseSequence", X, np.array([0, 6, 1, 4]), {}, {"seq_dim": 1, "batch_dim": 0},
     np.stack([np.r_[r[:n][::-1], r[n:]] for r, n in zip(X, (0, 6, 1, 4))])),
])
def test_against_numpy(kind, x, indices, params, attrs, want):
    arrays = {"x": x, "i": np.asarray(indices)}
    found = evaluate([op(kind, "g", ["x", "i"], params, **attrs), op("Neg", "n", ["g"])], arrays)
    np.testing.assert_array_equal(found, -want)


@pytest.mark.parametrize("x", [CUBE, CUBE[:, :, :4], CUBE[:, :2], X, CUBE[:, :1], CUBE[:, :, :1]])
def test_diagonals(x):
    want = np.diagonal(x, axis1=-2, axis2=-1)
    for kind, params in (("MatrixDiagPart", {}), ("MatrixDiagPartV3", {1: (0,)})):
        got = evaluate([op(kind, "d", ["x"], params), op("Neg", "n", ["d"])], {"x": x})
        np.testing.assert_array_equal(got, -want)


def test_diagonal_of_a_tensor():
    x = np.arange(36, dtype=np.float32).reshape(2, 3, 2, 3)
    got = evaluate([op("DiagPart", "d", ["x"]), op("Neg", "n", ["d"])], {"x": x})
    np.testing.assert_array_equal(got, -np.einsum("ijij->ij", x))


def test_one_index_many_times():
    infos = {("x", 0): TensorInfo("float32", (-5, -6)), ("i", 0): TensorInfo("int32", (3,), 2)}
    found = lower([op("GatherV2", "g", ["x", "i"], {2: (0,)}), op("Neg", "n", ["g"])],
                  [("n", 0)], infos)
    verify(found.kernel)
    got = run(found.kernel, [X], axis_sizes(found.kernel, [X.shape]))[0]
    np.testing.assert_array_equal(got, -X[[2, 2, 2]])


def gather_of(*before):
    return list(before) + [op("GatherV2", "g", [before[-1].name, "i"], {2: (0,)}),
                           op("Neg", "n", ["g"])]


def test_what_is_gathered_is_computed_for_the_indices_alone():
    operators = gather_of(op("Abs", "a", ["x"]), op("MatrixBandPart", "b", ["a", "l", "u"]))
    arrays = {"x": -X, "i": ROWS[0]}
    infos = {("x", 0): TensorInfo("float32", (4, 6)), ("i", 0): TensorInfo("int32", (3,)),
             ("l", 0): TensorInfo("int64", (), 0), ("u", 0): TensorInfo("int64", (), -1)}
    found = lower(operators, [("n", 0)], infos)
    sizes = axis_sizes(found.kernel, [arrays[name].shape for name, _ in found.inputs])
    got = run(found.kernel, [arrays[name] for name, _ in found.inputs], sizes)[0]
    np.testing.assert_array_equal(got, -np.triu(X)[ROWS[0]])


def test_indices_of_one_value_are_a_constant():
    operators = [op("GatherV2", "g", ["x", "i"], {2: (0,)}), op("Neg", "n", ["g"])]
    infos = {("x", 0): TensorInfo("float32", (4, 6)), ("i", 0): TensorInfo("int32", (2,), 3)}
    found = lower(operators, [("n", 0)], infos)
    verify(found.kernel)
    got = run(found.kernel, [X], axis_sizes(found.kernel, [X.shape]))[0]
    np.testing.assert_array_equal(got, -X[[3, 3]])


def test_text_and_merging():
    found = lowered([op("GatherV2", "g", ["x", "i"], {2: (0,)}), op("Neg", "n", ["g"])],
                    {"x": CUBE, "i": ROWS})
    text = print_loop(found.kernel)
    assert "place %v1 in a4 : int64 [a0, a1]" in text and " moved at a4=%v2 : float32" in text
    assert parse_loop(text) == found.kernel
    merged, groups = merge_axes(found.kernel)
    verify(merged)
    assert groups == (0, 0, 1, 1, 2)  # indices and rows are walked as one axis each
    assert parse_loop(print_loop(merged)) == merged
    assert "in=0.1/4[0+].2.3;" in shape_spec(found.kernel, groups)
    for old, new in (("place %v1 in a4", "place %v1 in a9"), ("at a4=%v2", "at a4=%v1"),
                     ("place %v1", "place %v0")):
        with pytest.raises((IRError, KeyError)):
            verify(parse_loop(text.replace(old, new)))


@pytest.mark.parametrize("bad", [-1, 4, 2 ** 31 - 1, -2 ** 31])
def test_a_coordinate_that_is_none_fails(bad):
    with pytest.raises(IndexError):
        evaluate(gather_of(op("Abs", "a", ["x"])), {"x": X, "i": np.array([0, bad], "int32")})


@pytest.mark.parametrize("lengths", [[7, 0, 0, 0], [0, 0, -1, 0]])
def test_lengths_that_are_none_fail(lengths):
    operators = [op("ReverseSequence", "g", ["x", "i"], seq_dim=1, batch_dim=0)]
    with pytest.raises(IndexError):
        evaluate(operators, {"x": X, "i": np.array(lengths)})


@pytest.mark.parametrize("code, operators, rows", [
    ("RECOMPUTE", gather_of(op("Exp", "e", ["x"])), 9),
    ("MOVE", gather_of(op("FloorDiv", "d", ["x", "x"])), 2),
    ("MOVE", gather_of(op("GatherV2", "h", ["x", "i"], {2: (0,)})), 4),
    ("MOVE", [op("GatherV2", "g", ["x", "i"], {2: (0,)}), op("Slice", "s", ["g"],
                                                           {1: (1, 0), 2: (1, -1)})], 3),
    ("MOVE", [op("GatherV2", "g", ["x", "i"], {2: (0,)}),
              op("ConcatV2", "c", ["g", "x"], {2: (0,)})], 3),
    ("AXES_UNKNOWN", [op("GatherV2", "g", ["x", "i"])], 3),
    ("SHAPE", [op("GatherV2", "g", ["x", "i"], {2: (1,)}, batch_dims=2)], 3),
    ("SHAPE", [op("Gather", "g", ["one", "i"])], 3),
])
def test_refusals(code, operators, rows):
    arrays = {"x": X.astype("int32"), "i": np.zeros(rows, "int32"), "one": X[:1]}
    if code == "RECOMPUTE":
        arrays["x"] = X
    with pytest.raises(Unsupported) as error:
        lowered(operators, arrays)
    assert error.value.code == code


def test_tables_side_by_side():
    arrays = {"x": X, "y": CUBE[0], "i": ROWS}
    operators = [op("GatherV2", "g", ["x", "i"], {2: (0,)}),
                 op("GatherV2", "h", ["y", "i"], {2: (0,)}),
                 op("ConcatV2", "c", ["g", "h"], {2: (2,)}), op("Neg", "n", ["c"])]
    want = -np.concatenate([X[ROWS], CUBE[0][ROWS]], 2)
    np.testing.assert_array_equal(evaluate(operators, arrays), want)
