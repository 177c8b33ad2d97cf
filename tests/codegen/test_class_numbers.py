"""Operators that read or give class numbers, on the twin."""
import numpy as np
import pytest
from sweep.patterns import Net
from sweep.runner import launch

from tf_autofuse.codegen.ascendc import print_ascendc
from tf_autofuse.loop import interp
from tf_autofuse.loop.lower import lower
from tf_autofuse.loop.merge import merge_axes
from tf_autofuse.loop.source import Operator
from tf_autofuse.loop.spec import axis_sizes
from tf_autofuse.platforms import platform
from tf_autofuse.schedule import schedule

CLASSES, BATCH = 100, -11


def run(type_, attrs, axes, outputs, features, numbers=None):
    """(outputs on the twin, outputs of the interpreter or its IndexError) of one operator."""
    net = Net("float32")
    refs = [net.input(BATCH, CLASSES)]
    arrays = [features]
    if numbers is not None:
        refs.append(net.input(BATCH, dtype=numbers.dtype.name))
        arrays.append(numbers)
    operator = Operator("op", type_, tuple(refs), attrs, axes)
    lowered = lower([operator], [("op", port) for port in range(outputs)], net.infos)
    merged, _ = merge_axes(lowered.kernel)
    sizes = axis_sizes(lowered.kernel, [array.shape for array in arrays])
    try:
        want = interp.run(lowered.kernel, arrays, sizes)
    except IndexError:
        want = None
    chip = platform("Ascend910B")
    kernel = schedule(merged, chip)
    shapes = [(len(features),), features.shape][:outputs]
    like = want or [np.empty(shape, np.float32) for shape in shapes]
    done = launch(kernel, print_ascendc(kernel, chip), chip, arrays,
                  dict(zip(kernel.loop.axes, sizes.values())), None, like)
    return done.outputs, want


def features(rows=37, digits=3):
    return np.round(np.random.RandomState(0).normal(size=(rows, CLASSES)), digits).astype("float32")


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_sparse_cross_entropy(dtype):
    labels = np.random.RandomState(1).randint(0, CLASSES, 37).astype(dtype)
    got, want = run("SparseSoftmaxCrossEntropyWithLogits", {}, None, 2, features(), labels)
    for have, expected in zip(got, want):
        np.testing.assert_allclose(have, expected, rtol=2e-5, atol=1e-6)
    labels[3], labels[5] = CLASSES, (1 << 24) + 1 if dtype == "int64" else -1
    (loss, gradient), want = run("SparseSoftmaxCrossEntropyWithLogits", {}, None, 2, features(),
                                 labels)
    assert want is None  # the CPU refuses; a chip cannot
    assert np.flatnonzero(np.isnan(loss)).tolist() == [3, 5]
    assert np.isnan(gradient).all(axis=1).nonzero()[0].tolist() == [3, 5]


@pytest.mark.parametrize("type_", ["ArgMaxV2", "ArgMin"])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_arg(type_, dtype):
    x = features(digits=1)  # many equal values: the first one counts
    x[2] = np.nan
    x[4, 7] = np.nan
    got, want = run(type_, {"dst_dtype": dtype}, (1,), 1, x)
    np.testing.assert_array_equal(got[0], want[0])


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_in_top_k(dtype):
    targets = np.random.RandomState(2).randint(0, CLASSES, 37).astype(dtype)
    got, want = run("InTopK", {"k": 30}, None, 1, features(), targets)
    np.testing.assert_array_equal(got[0], want[0])
    assert 0 < want[0].sum() < 37
