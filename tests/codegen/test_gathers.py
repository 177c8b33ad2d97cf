"""Gathers of rows through every layer: interpreters, the CPU, and the twin."""
from dataclasses import replace

import numpy as np
import pytest
from kernel_forms import CHIP, run_all, run_on

from tf_autofuse.errors import ScheduleError
from tf_autofuse.loop.lower import lower
from tf_autofuse.loop.merge import merge_axes
from tf_autofuse.loop.source import Operator, TensorInfo
from tf_autofuse.platforms import platform
from tf_autofuse.schedule import schedule

GATHER = ("GatherV2", ["x", "i"], {2: (0,)})
# Dims of x and i, the gather, and what is done with it.
CASES = {
    "rows": ((50, 40), (30,), GATHER, "Neg"),
    "short_rows": ((50, 3), (300,), GATHER, "Neg"),
    "long_rows": ((5, 40000), (7,), GATHER, "Neg"),
    "blocks": ((20, 4, 9), (5, 6), GATHER, "Neg"),
    "middle": ((6, 20, 33), (9,), ("GatherV2", ["x", "i"], {2: (1,)}), "Neg"),
    "few": ((20, 8), (1,), GATHER, "Neg"),
    "depth": ((20, 33), (40, 1), ("GatherNd", ["x", "i"], {}), "Neg"),
    "pooled": ((50, 40), (12, 5), GATHER, "ReduceMax"),
    "centred": ((50, 40), (30,), GATHER, "Sub"),
    "centred_long": ((5, 70000), (7,), GATHER, "Sub"),
    "side_by_side": ((50, 12), (64,), GATHER, "ConcatV2"),
}


def lowered(name, dtype="float32", kind="int32"):
    x, i, (gather, refs, params), last = CASES[name]
    infos = {("x", 0): TensorInfo(dtype, x), ("i", 0): TensorInfo(kind, i),
             ("y", 0): TensorInfo(dtype, (64, 7))}
    operators = [Operator("g", gather, tuple((ref, 0) for ref in refs), {}, None, None, params)]
    if last == "Sub":  # two walks over a row
        operators += [Operator("m", "ReduceMax", (("g", 0),), {"keep_dims": True}, (1,)),
                      Operator("l", last, (("g", 0), ("m", 0)), {})]
    elif last == "ConcatV2":
        operators.append(Operator("l", last, (("g", 0), ("y", 0)), {}, None, None, {2: (1,)}))
    else:
        operators.append(Operator("l", last, (("g", 0),), {}, (1,)))
    found = lower(operators, [("l", 0)], infos)
    loop = found.kernel
    loop = replace(loop, body=tuple(replace(value, origin="") for value in loop.body))
    arrays = {}
    for number, ref in enumerate(found.inputs):
        if ref[0] == "i":
            rows = x[1] if name == "middle" else x[0]
            arrays[number] = np.random.RandomState(3).randint(0, rows, i).astype(kind)
    return loop, [infos[ref].dims for ref in found.inputs], arrays


@pytest.mark.parametrize("name", sorted(CASES))
def test_every_form_gathers_alike(name):
    run_all(*lowered(name))


@pytest.mark.parametrize("dtype, kind", [
    ("float16", "int64"), ("bfloat16", "int32"), ("int32", "int64"), ("int8", "int32")])
def test_types(dtype, kind):
    run_all(*lowered("rows", dtype, kind))


@pytest.mark.parametrize("name", ["rows", "short_rows", "middle", "pooled", "side_by_side"])
def test_whole_blocks(name):
    """On a chip without padded copies."""
    run_on(platform("Ascend310P"), *lowered(name))


def test_rows_at_no_coordinate_are_zero_on_the_chip():
    loop, shapes, arrays = lowered("side_by_side")
    (number,) = arrays
    arrays[number][[3, 17, 63]] = -1, 50, 2 ** 31 - 1
    twin, inputs = run_on(CHIP, loop, shapes, arrays, check=False)
    x, y = (inputs[n] for n in range(len(inputs)) if n != number)
    x, y = (x, y) if x.shape[1] == 12 else (y, x)
    there = (arrays[number] >= 0) & (arrays[number] < 50)
    rows = np.where(there[:, None], x[np.where(there, arrays[number], 0)], 0)
    np.testing.assert_array_equal(twin.outputs[0], np.concatenate([rows, y], 1))


@pytest.mark.parametrize("name, axis", [("rows", 1), ("blocks", 2)])
def test_single_elements_are_left_to_the_cpu(name, axis):
    x, i, (gather, refs, _), _ = CASES[name]
    infos = {("x", 0): TensorInfo("float32", x), ("i", 0): TensorInfo("int32", i)}
    operator = Operator("g", gather, tuple((ref, 0) for ref in refs), {}, None, None, {2: (axis,)})
    loop = merge_axes(lower([operator], [("g", 0)], infos).kernel)[0]
    with pytest.raises(ScheduleError, match="no vector form of a gather of single elements"):
        schedule(loop, CHIP)
