"""Vector forms of integer operations and casts, all of a type in one kernel, on the twin."""
import numpy as np
import pytest
from vector_kernels import many, on_the_twin

from tf_autofuse.platforms import platform

ONE = ["neg", "abs", "bit_not", "int_sign"]
TWO = ["add", "sub", "mul", "max", "min", "bit_and", "bit_or", "bit_xor", "floor_div",
       "int_floor_mod", "trunc_div", "trunc_mod", "shift_left", "shift_right"]
COMPARES = ["eq", "ne", "lt", "le", "gt", "ge"]
CHIPS = ["Ascend910B", "Ascend950", "Ascend310P"]


def edges(dtype):
    info, rng = np.iinfo(dtype), np.random.RandomState(3)
    some = [info.min, info.min + 1, 0, 1, 2, 3, 7, 9, 31, 33, 100, info.max - 1, info.max]
    some += [-1, -2, -9, info.min // 2 - 1] if info.min < 0 else []
    some += [1 << 24, (1 << 24) + 1, (1 << 30) + 7] if dtype == "int32" else []
    grid = [part.ravel() for part in np.meshgrid(some, some)]
    more = rng.randint(info.min, info.max, (2, 500), dtype="int64")
    return [np.concatenate([a, b]).astype(dtype) for a, b in zip(grid, more)]


def check(ops, dtype, arrays, chip, results=()):
    got, want = on_the_twin(many(ops, dtype, len(arrays), results), arrays, platform(chip))
    for op, have, expected in zip(ops, got, want):
        np.testing.assert_array_equal(have, expected, err_msg=op)


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("dtype", ["int32", "int16", "int8", "uint8"])
def test_integer_forms(dtype, chip):
    a, b = edges(dtype)
    if dtype == "int16" and chip == "Ascend310P":
        pytest.skip("it has no cast from int16 to float32")
    check(ONE, dtype, [a], chip)
    divisors = np.where(b == 0, 3, b).astype(dtype)
    check([op for op in TWO if "shift" not in op], dtype, [a, divisors], chip)
    check(COMPARES, dtype, [a, b], chip, [(op, "bool") for op in COMPARES])
    check(["cast"], dtype, [a], chip, [("cast", "bool")])


@pytest.mark.parametrize("dtype", ["int32", "int16", "uint8"])
def test_shifts(dtype):
    check(["shift_left", "shift_right"], dtype, edges(dtype), "Ascend910B")


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("source", ["float32", "float16", "int32", "int8", "uint8", "int16"])
def test_casts_to_bytes(source, chip):
    if source == "int16" and chip == "Ascend310P":
        pytest.skip("it has no cast from int16 to float32")
    values = edges("int32" if source.startswith("float") else source)[0]
    values = np.clip(values, -2048, 2047).astype(source) if source.startswith("float") else values
    for target in ("int8", "uint8"):
        if target != source:
            check(["cast"], source, [values], chip, [("cast", target)])
