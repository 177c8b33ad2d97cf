"""Operators that move blocks, lowered, through every layer against numpy."""
from dataclasses import replace

import numpy as np
import pytest
from kernel_forms import run_all

from tf_autofuse.loop.lower import lower
from tf_autofuse.loop.source import Operator, TensorInfo
from tf_autofuse.schedule.expand import missing_instruction

NONE = {"begin_mask": 0, "end_mask": 0, "ellipsis_mask": 0, "new_axis_mask": 0,
        "shrink_axis_mask": 0}
IMAGE, MATRIX = (4, 6, 10, 8), (21, 35)
CASES = {
    "DepthToSpace": (IMAGE, {}, {"block_size": 2}),
    "SpaceToDepth": (IMAGE, {}, {"block_size": 2}),
    "BatchToSpaceND": (IMAGE, {1: (2, 2), 2: (0, 0, 0, 0)}, {}),
    "SpaceToBatchND": (IMAGE, {1: (2, 3), 2: (1, 1, 0, 2)}, {}),
    "RollV2": (MATRIX, {1: (3, -4), 2: (0, 1)}, {}),
    "ConjugateTranspose": (MATRIX, {1: (1, 0)}, {}),
    "MatrixDiag": (MATRIX, {}, {}),
    "MatrixDiagV3": (MATRIX, {1: (0,), 2: (40,), 3: (35,), 4: (-1.5,)}, {}),
    "Diag": ((37,), {}, {}),
    "StridedSliceGrad": (MATRIX, {0: (30, 35), 1: (22, 0), 2: (1, 0), 3: (-1, 1)},
                         dict(NONE, begin_mask=2, end_mask=2)),
    "MirrorPadGrad": (MATRIX, {1: (1, 2, 0, 0)}, {"mode": "SYMMETRIC"}),
    "MatrixBandPart": (MATRIX, {}, {}),
    "MatrixSetDiag": (MATRIX, {}, {}),
}
OTHERS = {"MatrixBandPart": [((), 2), ((), 3)], "MatrixSetDiag": [((21,), None)]}


def lowered(kind, dtype="float32", params=None):
    shape, usual, attrs = CASES[kind]
    params = params or usual
    infos = {("x", 0): TensorInfo(dtype, shape)}
    for number, (dims, value) in enumerate(OTHERS.get(kind, [])):
        infos[("y%d" % number, 0)] = TensorInfo(dtype if value is None else "int64", dims, value)
    operators = [Operator("op", kind, tuple(infos), attrs, None, None, params),
                 Operator("n", "Neg", (("op", 0),), {})]
    found = lower(operators, [("n", 0)], infos)
    return nameless(found.kernel), [infos[ref].dims for ref in found.inputs]


def nameless(loop):
    return replace(loop, body=tuple(replace(value, origin="") for value in loop.body))


@pytest.mark.parametrize("kind", sorted(CASES))
def test_every_form_moves_alike(kind):
    loop, shapes = lowered(kind)
    assert not missing_instruction(loop)
    run_all(loop, shapes)


@pytest.mark.parametrize("shift", [1, -1])
def test_a_single_column_that_moves(shift):
    run_all(*lowered("RollV2", params={1: (shift,), 2: (1,)}))


@pytest.mark.parametrize("kind, dtype", [("MatrixDiag", "float16"), ("SpaceToBatchND", "bfloat16"),
                                         ("MatrixBandPart", "int8")])
def test_narrow_types(kind, dtype):
    run_all(*lowered(kind, dtype))


def test_running_sums_on_the_chip():
    infos = {("x", 0): TensorInfo("int32", (40, 17))}
    operator = Operator("op", "Cumsum", (("x", 0),), {"exclusive": True}, None, None, {1: (1,)})
    loop = nameless(lower([operator], [("op", 0)], infos).kernel)
    twin = run_all(loop, [(40, 17)])
    assert twin.outputs[0].shape == (40, 17) and not np.any(twin.outputs[0][:, 0])
