"""Single calls of the API against numpy, on odd sizes. Compares are exact unless an op rounds."""

import numpy as np
import pytest

from .small import run_body

SIZES = (1, 77, 300)


def data(count, dtype, low=-50, high=50):
    values = np.random.RandomState(count).uniform(low, high, count)
    return values.astype(dtype)


def bf16_bits(x):
    """Round-to-nearest-even bfloat16 bits of float32 values."""
    bits = x.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def bf16_values(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


BINARY = {
    "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Max": np.maximum, "Min": np.minimum,
}


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "int16"])
def test_binary(dtype):
    count = 77
    a, b = data(count, dtype), data(count, dtype)[::-1].copy()
    names = sorted(BINARY)
    body = "\n".join("%s(o%d, i0, i1, %d);" % (name, k, count) for k, name in enumerate(names))
    for name, got in zip(names, run_body(body, [a, b], [(count, dtype)] * len(names))):
        np.testing.assert_array_equal(got, BINARY[name](a, b), err_msg=name)


def test_integers_wrap():
    a = np.array([2**31 - 1, -2**31, 65537], np.int32)
    got = run_body("Add(o0, i0, i0, 3); Mul(o1, i0, i0, 3);", [a], [(3, "int32")] * 2)
    np.testing.assert_array_equal(got[0], a + a)
    np.testing.assert_array_equal(got[1], a * a)


UNARY = {
    "Abs": np.abs, "Exp": np.exp, "Ln": np.log, "Sqrt": np.sqrt,
    "Relu": lambda x: np.maximum(x, 0), "Reciprocal": lambda x: 1 / x,
    "Rsqrt": lambda x: 1 / np.sqrt(x),
}


@pytest.mark.parametrize("dtype,rtol", [("float32", 3e-7), ("float16", 1e-3)])
def test_unary(dtype, rtol):
    count = 301
    x = data(count, dtype, 0.1, 9)
    names = sorted(UNARY)
    body = "\n".join("%s(o%d, i0, %d);" % (name, k, count) for k, name in enumerate(names))
    for name, got in zip(names, run_body(body, [x], [(count, dtype)] * len(names))):
        want = UNARY[name](x.astype(np.float64))
        np.testing.assert_allclose(got.astype(np.float64), want, rtol=rtol, atol=1e-7,
                                   err_msg=name)


def test_unary_specials():
    x = np.array([np.nan, -np.inf, np.inf, -0.0, -1], np.float32)
    got = run_body("Abs(o0, i0, 5); Relu(o1, i0, 5); Sqrt(o2, i0, 5); Maxs(o3, i0, 0.0f, 5);",
                   [x], [(5, "float32")] * 4)
    np.testing.assert_array_equal(got[0], np.abs(x))
    np.testing.assert_array_equal(got[1], np.maximum(x, 0))
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(got[2], np.sqrt(x))
    assert np.isnan(got[3][0])


def test_scalars_and_axpy():
    x, y = data(77, "float32"), data(77, "float32", 0, 1)
    body = ("Adds(o0, i0, 2.5f, 77); Muls(o1, i0, -3.0f, 77); Maxs(o2, i0, 1.0f, 77);"
            "Mins(o3, i0, 1.0f, 77); LeakyRelu(o4, i0, 0.1f, 77); Adds(o5, i1, 0.0f, 77);"
            "PipeBarrier<PIPE_V>(); Axpy(o5, i0, 2.0f, 77);")
    got = run_body(body, [x, y], [(77, "float32")] * 6)
    f = np.float32
    wants = [x + f(2.5), x * f(-3), np.maximum(x, 1), np.minimum(x, 1),
             np.where(x >= 0, x, x * f(0.1))]
    for have, want in zip(got, wants):
        np.testing.assert_array_equal(have, want)
    np.testing.assert_allclose(got[5], y + 2 * x, rtol=1e-6)


def test_bits_and_shifts():
    a, b = data(77, "int16", -3e4, 3e4), data(77, "int16", -3e4, 3e4)[::-1].copy()
    body = ("And(o0, i0, i1, 77); Or(o1, i0, i1, 77); Not(o2, i0, 77);"
            "ShiftLeft(o3, i0, (int16_t)3, 77); ShiftRight(o4, i0, (int16_t)3, 77);")
    got = run_body(body, [a, b], [(77, "int16")] * 5)
    for have, want in zip(got, [a & b, a | b, ~a, a << 3, a >> 3]):
        np.testing.assert_array_equal(have, want.astype(np.int16))


HALVES = np.arange(65536, dtype=np.uint32).astype(np.uint16)


def test_every_half_to_float_and_back():
    for start in (0, 16384, 32768, 49152):
        x = HALVES[start : start + 16384].view(np.float16)
        wide, back = run_body(
            "Cast(o0, i0, RoundMode::CAST_NONE, 16384); PipeBarrier<PIPE_V>();"
            "Cast(o1, o0, RoundMode::CAST_NONE, 16384);",
            [x], [(16384, "float32"), (16384, "float16")])
        np.testing.assert_array_equal(wide, x.astype(np.float32))
        np.testing.assert_array_equal(np.isnan(back), np.isnan(x))
        number = ~np.isnan(x)
        np.testing.assert_array_equal(back.view(np.uint16)[number], x.view(np.uint16)[number])


def test_float_to_narrow_floats():
    x = np.concatenate([
        data(200, "float32"), data(50, "float32", -1e-6, 1e-6), data(50, "float32", -1e5, 1e5),
        np.array([0, -0.0, np.inf, -np.inf, 65519.996, 65520, 2049, 2051, 5.96e-8, 2.98e-8],
                 np.float32)])
    n = x.size
    half, brain, back = run_body(
        "Cast(o0, i0, RoundMode::CAST_RINT, {0}); Cast(o1, i0, RoundMode::CAST_RINT, {0});"
        "PipeBarrier<PIPE_V>(); Cast(o2, o1, RoundMode::CAST_NONE, {0});".format(n),
        [x], [(n, "float16"), (n, "bfloat16"), (n, "float32")])
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(half.view(np.uint16), x.astype(np.float16).view(np.uint16))
    np.testing.assert_array_equal(brain, bf16_bits(x))
    np.testing.assert_array_equal(back, bf16_values(bf16_bits(x)))


def test_directed_modes_to_half():
    x = np.array([2049, -2049, 2050.5, -2050.5, 0.1, -0.1, 1e-8, -1e-8], np.float32)
    modes = ("FLOOR", "CEIL", "TRUNC", "ODD")
    body = "".join("Cast(o%d, i0, RoundMode::CAST_%s, 8);" % (k, m) for k, m in enumerate(modes))
    down, up, trunc, odd = run_body(body, [x], [(8, "float16")] * 4)
    assert (down.astype(np.float64) <= x).all() and (up.astype(np.float64) >= x).all()
    step = np.nextafter(down, np.float16(np.inf))
    np.testing.assert_array_equal(step, up)
    np.testing.assert_array_equal(trunc, np.where(x > 0, down, up))
    assert (odd.view(np.uint16) & 1 == 1).all()


def test_float_to_integers():
    x = np.array([0.5, 1.5, 2.5, -0.5, -1.5, 2.4, -2.6, 3e9, -3e9, np.nan], np.float32)
    rounders = {"RINT": np.rint, "FLOOR": np.floor, "CEIL": np.ceil, "TRUNC": np.trunc}
    body = "".join("Cast(o%d, i0, RoundMode::CAST_%s, 10);" % (k, m)
                   for k, m in enumerate(sorted(rounders)))
    got = run_body(body, [x], [(10, "int32")] * 4)
    for have, mode in zip(got, sorted(rounders)):
        want = np.clip(rounders[mode](x.astype(np.float64)), -2**31, 2**31 - 1)
        want[9] = 0
        np.testing.assert_array_equal(have, want.astype(np.int64), err_msg=mode)


def test_casts_among_integers_and_half():
    i8, i32 = data(77, "int8", -128, 127), data(77, "int32", -40000, 40000)
    h, f, i64, i16, u8 = run_body(
        "Cast(o0, i0, RoundMode::CAST_NONE, 77); Cast(o1, i1, RoundMode::CAST_NONE, 77);"
        "Cast(o2, i1, RoundMode::CAST_NONE, 77); Cast(o3, i1, RoundMode::CAST_NONE, 77);"
        "PipeBarrier<PIPE_V>(); Cast(o4, o0, RoundMode::CAST_RINT, 77);",
        [i8, i32], [(77, "float16"), (77, "float32"), (77, "int64"), (77, "int16"), (77, "uint8")])
    np.testing.assert_array_equal(h, i8.astype(np.float16))
    np.testing.assert_array_equal(f, i32.astype(np.float32))
    np.testing.assert_array_equal(i64, i32)
    np.testing.assert_array_equal(i16, np.clip(i32, -32768, 32767))
    np.testing.assert_array_equal(u8, np.clip(i8, 0, 127))


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_compare_and_select(dtype):
    per = 256 // np.dtype(dtype).itemsize
    n = per * 2
    a, b = data(n, dtype, -3, 3).round(), data(n, dtype, -3, 3)[::-1].round().copy()
    ctype = "float" if dtype == "float32" else "half"
    body = ("LocalTensor<uint8_t> m = w[0], s = w[1024];"
            "Compare(m, i0, i1, CMPMODE::LT, {n}); Compares(s, i0, ({t})1, CMPMODE::GE, {n});"
            "PipeBarrier<PIPE_V>();"
            "Select(o0, m, i0, i1, SELMODE::VSEL_TENSOR_TENSOR_MODE, {k});"
            "Select(o1, s, i0, ({t})7, SELMODE::VSEL_TENSOR_SCALAR_MODE, {k});"
            "Select(o2, m, i0, i1, SELMODE::VSEL_CMPMASK_SPR, {k});"
            "Copy(o3, m.ReinterpretCast<uint16_t>(), 16, 1, {{1, 1, 8, 8}});"
            ).format(n=n, k=n - 3, t=ctype)
    got = run_body(body, [a, b], [(n - 3, dtype)] * 3 + [(n // 16, "uint16")])
    less, first = a < b, np.resize((a < b)[:per], n)
    for have, want in zip(got, [np.where(less, a, b), np.where(a >= 1, a, 7),
                                np.where(first, a, b)]):
        np.testing.assert_array_equal(have, want[: n - 3])
    np.testing.assert_array_equal(np.unpackbits(got[3].view(np.uint8), bitorder="little"), less)


@pytest.mark.parametrize("count", SIZES)
def test_count_reductions(count):
    x = data(count, "float32")
    total, high, low = run_body(
        "ReduceSum(o0, i0, w.ReinterpretCast<float>(), {0});"
        "ReduceMax(o1, i0, w.ReinterpretCast<float>(), {0}, true);"
        "ReduceMin(o2, i0, w.ReinterpretCast<float>(), {0});".format(count),
        [x], [(1, "float32"), (2, "float32"), (1, "float32")])
    np.testing.assert_allclose(total, [x.astype(np.float64).sum()], rtol=1e-5, atol=1e-4)
    assert high[0] == x.max() and high.view(np.int32)[1] == x.argmax() and low[0] == x.min()


def test_whole_and_block_reduce():
    x = data(128, "float32")
    whole, high, block = run_body(
        "WholeReduceSum<float>(o0, i0, 50, 2, 1, 1, 8);"
        "WholeReduceMax<float>(o1, i0, 64, 2, 1, 1, 8, ReduceOrder::ORDER_ONLY_VALUE);"
        "BlockReduceMin<float>(o2, i0, 2, 64, 1, 1, 8);",
        [x], [(2, "float32"), (2, "float32"), (16, "float32")])
    rows = x.reshape(2, 64)
    np.testing.assert_allclose(whole, rows[:, :50].sum(1), rtol=1e-5, atol=1e-4)
    np.testing.assert_array_equal(high, rows.max(1))
    np.testing.assert_array_equal(block, x.reshape(16, 8).min(1))


@pytest.mark.parametrize("shape", [(3, 8), (5, 72), (1, 16)])
def test_pattern_reductions(shape):
    x = data(shape[0] * shape[1], "float32", 0.5, 1.5)
    body = "const uint32_t s[2] = {%d, %d};" % shape
    functions = {"Sum": np.sum, "Max": np.max, "Min": np.min, "Prod": np.prod}
    outputs = []
    for pattern, size in (("AR", shape[0]), ("RA", shape[1])):
        for name in sorted(functions):
            body += "Reduce%s<float, Pattern::Reduce::%s>(o%d, i0, w, s, true);" % (
                name, pattern, len(outputs))
            body += "PipeBarrier<PIPE_V>();"
            outputs.append((size, "float32"))
    got = run_body(body, [x], outputs)
    wants = [functions[name](x.reshape(shape), axis=axis) for axis in (1, 0)
             for name in sorted(functions)]
    for have, want in zip(got, wants):
        np.testing.assert_allclose(have, want, rtol=1e-5)


def test_fills_and_moves():
    x, offsets = data(16, "float32"), (np.arange(16, dtype=np.uint32)[::-1] * 4).copy()
    dup, index, spread, gathered = run_body(
        "Duplicate(o0, 2.5f, 77); CreateVecIndex(o1, (int32_t)5, 77);"
        "Brcb(o2, i0, 2, {1, 8}); Gather(o3, i0, i1, 0, 16);",
        [x, offsets], [(77, "float32"), (77, "int32"), (128, "float32"), (16, "float32")])
    np.testing.assert_array_equal(dup, np.full(77, 2.5, np.float32))
    np.testing.assert_array_equal(index, np.arange(5, 82))
    np.testing.assert_array_equal(spread, np.repeat(x, 8))
    np.testing.assert_array_equal(gathered, x[::-1])


def test_broadcast_columns_and_rows():
    x = data(8, "float32")
    columns, rows = run_body(
        "const uint32_t d0[2] = {8, 16}, s0[2] = {8, 1}, d1[2] = {5, 8}, s1[2] = {1, 8};"
        "Broadcast<float, 2, 1>(o0, i0, d0, s0, w); Broadcast<float, 2, 0>(o1, i0, d1, s1, w);",
        [x], [(128, "float32"), (40, "float32")])
    np.testing.assert_array_equal(columns.reshape(8, 16), np.repeat(x, 16).reshape(8, 16))
    np.testing.assert_array_equal(rows.reshape(5, 8), np.tile(x, (5, 1)))


def test_masked_forms_broadcast_a_row():
    x, row = data(4 * 64, "float32"), data(64, "float32")
    got, = run_body("Add(o0, i0, i1, 64, 4, {1, 1, 1, 8, 8, 0});", [x, row], [(256, "float32")])
    np.testing.assert_array_equal(got.reshape(4, 64), x.reshape(4, 64) + row)


def test_mask_bits_choose_lanes():
    x = data(64, "float32")
    got, = run_body("uint64_t m[2] = {0x5, 0}; Adds(o0, i0, 0.0f, 64); PipeBarrier<PIPE_V>();"
                    "Muls(o0, i0, 2.0f, m, 1, {1, 1, 8, 8});", [x], [(64, "float32")])
    want = x.copy()
    want[[0, 2]] *= 2
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("dtype,rtol", [("float32", 2e-6), ("float16", 2e-3)])
def test_tanh_and_sigmoid(dtype, rtol):
    x = data(300, dtype, -5, 5)
    body = "Tanh(o0, i0, w, 300); PipeBarrier<PIPE_V>(); Sigmoid(o1, i0, w, 300);"
    tanh, sigmoid = run_body(body, [x], [(300, dtype)] * 2)
    wide = x.astype(np.float64)
    np.testing.assert_allclose(tanh.astype(np.float64), np.tanh(wide), rtol=rtol, atol=1e-6)
    np.testing.assert_allclose(sigmoid.astype(np.float64), 1 / (1 + np.exp(-wide)), rtol=rtol)


def test_scalar_access_with_flags():
    x = data(8, "float32")
    got, = run_body(
        "Adds(o0, i0, 1.0f, 8);"
        "SetFlag<HardEvent::V_S>(EVENT_ID0); WaitFlag<HardEvent::V_S>(EVENT_ID0);"
        "float v = o0.GetValue(3); o0.SetValue(0, v * 2);"
        "SetFlag<HardEvent::S_MTE3>(EVENT_ID0); WaitFlag<HardEvent::S_MTE3>(EVENT_ID0);",
        [x], [(8, "float32")])
    assert got[0] == (x[3] + np.float32(1)) * 2


def test_bfloat16_input_and_output():
    bits = bf16_bits(data(77, "float32"))
    got, = run_body("auto f = w.ReinterpretCast<float>(); Cast(f, i0, RoundMode::CAST_NONE, 77);"
                    "PipeBarrier<PIPE_V>(); Cast(o0, f, RoundMode::CAST_RINT, 77);",
                    [(bits, "bfloat16")], [(77, "bfloat16")])
    np.testing.assert_array_equal(got, bits)
