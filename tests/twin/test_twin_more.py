"""High-level math, picking and exchanging lanes, mask forms, counters, soft SyncAll."""

import math
from dataclasses import replace

import numpy as np
import pytest

from tf_autofuse.runtime.twin import CallCount, TwinError

from .small import CHIP, run_bare, run_body


def each(f):
    return lambda x: np.array([f(float(v)) for v in x])


SMALL = {  # arguments in (-1, 1)
    "Asin": np.arcsin, "Acos": np.arccos, "Atanh": np.arctanh, "Erf": each(math.erf),
    "Erfc": each(math.erfc), "Tan": np.tan, "Frac": lambda x: x - np.trunc(x),
}
WIDE = {  # arguments in (1, 9)
    "Acosh": np.arccosh, "Log": np.log, "Log2": np.log2, "Log10": np.log10, "Sin": np.sin,
    "Cos": np.cos, "Atan": np.arctan, "Sinh": np.sinh, "Cosh": np.cosh, "Asinh": np.arcsinh,
    "Floor": np.floor, "Ceil": np.ceil, "Round": np.rint, "Trunc": np.trunc, "Sign": np.sign,
    "Silu": lambda x: x / (1 + np.exp(-x)),
    "Gelu": lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
}
NO_SCRATCH = ("Log", "Log10", "Silu")


@pytest.mark.parametrize("dtype,rtol", [("float32", 2e-6), ("float16", 2e-3)])
def test_high_level_math(dtype, rtol):
    count, rng = 77, np.random.RandomState(0)
    small = rng.uniform(-0.99, 0.99, count).astype(dtype)
    wide = rng.uniform(1.01, 9, count).astype(dtype)
    table = [(name, "i0", f, small) for name, f in sorted(SMALL.items())]
    table += [(name, "i1", f, wide) for name, f in sorted(WIDE.items())]
    lines = [
        "{}(o{}, {}, {}{}); PipeBarrier<PIPE_V>();".format(
            name, k, source, "" if name in NO_SCRATCH else "w, ", count)
        for k, (name, source, _, _) in enumerate(table)
    ]
    results = run_body("\n".join(lines), [small, wide], [(count, dtype)] * len(table))
    for got, (name, _, f, x) in zip(results, table):
        np.testing.assert_allclose(got.astype(np.float64), f(x.astype(np.float64)), rtol=rtol,
                                   atol=rtol, err_msg=name)


def test_math_of_two_sources():
    a = np.array([2, 3, 7.5, -7.5], np.float32)
    b = np.array([10, -2, 2, 2], np.float32)
    n = np.array([2, -3, 46341, 1], np.int32)
    m = np.array([10, 3, 2, -5], np.int32)
    s = np.array([0x0FF0, -1, 0, 5], np.int16)
    body = (
        "i0.SetSize(4); i1.SetSize(4); i2.SetSize(4); i3.SetSize(4); i4.SetSize(4);\n"
        "Power(o0, i0, i1, w, 4); PipeBarrier<PIPE_V>(); Power(o1, i0, 2.0f, w, 4);\n"
        "PipeBarrier<PIPE_V>(); Power(o2, i2, i3, w, 4); PipeBarrier<PIPE_V>();\n"
        "Fmod(o3, i0, i1, w, 4); PipeBarrier<PIPE_V>(); Xor(o4, i4, i4, w, 4);\n"
        "Swish(o5, i0, 4u, 1.0f);")
    got = run_body(body, [a, b, n, m, s], [
        (4, "float32"), (4, "float32"), (4, "int32"), (4, "float32"), (4, "int16"), (4, "float32")])
    np.testing.assert_allclose(got[0], a**b, rtol=1e-6)
    np.testing.assert_allclose(got[1], a * a, rtol=1e-6)
    np.testing.assert_array_equal(got[2], np.array([1024, -27, 46341**2 - 2**32, 1], np.int32))
    np.testing.assert_array_equal(got[3], np.fmod(a, b))
    np.testing.assert_array_equal(got[4], [0, 0, 0, 0])
    np.testing.assert_allclose(got[5], a / (1 + np.exp(-a)), rtol=1e-6)


def test_gather_mask_and_neighbours():
    x = np.arange(128, dtype=np.float32)
    bits = np.array([0x99999999, 0x1, 0, 0, 0, 0, 0, 0], np.uint32)
    body = (
        "uint64_t n, m, k; GatherMask(o0, i0, 2, false, 0, {1, 2, 8, 8}, n);\n"
        "GatherMask(o1, i0, i1, true, 40, {1, 1, 8, 8}, m); GatherMask(o2, i0, 6, true, 70, "
        "{1, 1, 8, 8}, k);\n"
        "PairReduceSum(o3, i0, 2, 64, 1, 1, 8); RepeatReduceSum(o4, i0, 2, 64, 1, 1, 1, 8);\n"
        "o5.SetValue(0, (int32_t)n); o5.SetValue(1, (int32_t)m); o5.SetValue(2, (int32_t)k);\n"
        "SetFlag<HardEvent::S_MTE3>(0); WaitFlag<HardEvent::S_MTE3>(0);")
    got = run_body(body, [x, bits], [
        (64, "float32"), (17, "float32"), (17, "float32"), (64, "float32"), (2, "float32"),
        (3, "int32")])
    np.testing.assert_array_equal(got[0], x[1::2])
    taken = [i for i in range(40) if int(bits[i // 32]) >> (i % 32) & 1]
    np.testing.assert_array_equal(got[1], x[taken])
    np.testing.assert_array_equal(got[2], x[3:70:4])
    np.testing.assert_array_equal(got[3], x[0::2] + x[1::2])
    np.testing.assert_array_equal(got[4], x.reshape(2, 64).sum(1))
    np.testing.assert_array_equal(got[5], [64, 17, 17])


def test_transpositions():
    halves = np.arange(256, dtype=np.float16)
    floats = np.arange(128, dtype=np.float32)
    body = (
        "Transpose(o0, i0); uint64_t s[16], d[16];\n"
        "for (int i = 0; i < 16; ++i) s[i] = i0.GetPhyAddr(i * 16), d[i] = o1.GetPhyAddr(i * 16);\n"
        "TransDataTo5HD<half>(d, s, {false, false, 1, 0, 0});\n"
        "for (int i = 0; i < 16; ++i) s[i] = i1.GetPhyAddr(i * 8), d[i] = o2.GetPhyAddr(i * 8);\n"
        "TransDataTo5HD<float>(d, s, {false, false, 1, 0, 0});")
    got = run_body(body, [halves, floats], [(256, "float16"), (256, "float16"), (128, "float32")])
    np.testing.assert_array_equal(got[0].reshape(16, 16), halves.reshape(16, 16).T)
    np.testing.assert_array_equal(got[1].reshape(16, 16), halves.reshape(16, 16).T)
    np.testing.assert_array_equal(got[2].reshape(8, 16), floats.reshape(16, 8).T)


def test_compare_select_and_copy_by_mask():
    x = np.arange(256, dtype=np.float32) % 7
    y = np.full(256, 3, np.float32)
    body = (
        "Compare(o0, i0, i1, CMPMODE::GT, 64, 4, {1, 1, 1, 8, 8, 0}); PipeBarrier<PIPE_V>();\n"
        "Select(o1, o0, i0, i1, SELMODE::VSEL_TENSOR_TENSOR_MODE, 64, 4, {1, 1, 1, 8, 8, 8});\n"
        "Select(o2, o0, i0, -1.0f, SELMODE::VSEL_TENSOR_SCALAR_MODE, 64, 4, {1, 1, 1, 8, 8, 8});\n"
        "uint64_t even[2] = {0x5555555555555555ull, 0}; Duplicate(o3, 9.0f, 256);\n"
        "PipeBarrier<PIPE_V>(); Copy(o3, i0, even, 4, {1, 1, 8, 8});")
    got = run_body(body, [x, y], [(32, "uint8")] + [(256, "float32")] * 3)
    np.testing.assert_array_equal(np.unpackbits(got[0], bitorder="little"), x > 3)
    np.testing.assert_array_equal(got[1], np.where(x > 3, x, 3))
    np.testing.assert_array_equal(got[2], np.where(x > 3, x, -1))
    np.testing.assert_array_equal(got[3], np.where(np.arange(256) % 2 == 0, x, 9))


def test_mean_any_and_all():
    x = np.arange(32, dtype=np.float32).reshape(4, 8)
    flags = np.zeros((4, 32), np.uint8)
    flags[1, 5] = flags[2] = 1
    body = (
        "const uint32_t f[2] = {4, 8}, u[2] = {4, 32};\n"
        "ReduceMean<float, Pattern::Reduce::AR>(o0, i0, w, f, true); PipeBarrier<PIPE_V>();\n"
        "ReduceMean<float, Pattern::Reduce::RA>(o1, i0, w, f, true); PipeBarrier<PIPE_V>();\n"
        "ReduceAny<uint8_t, Pattern::Reduce::AR>(o2, i1, w, u, true); PipeBarrier<PIPE_V>();\n"
        "ReduceAll<uint8_t, Pattern::Reduce::AR>(o3, i1, w, u, true);")
    got = run_body(body, [x.ravel(), flags.ravel()], [
        (4, "float32"), (8, "float32"), (4, "uint8"), (4, "uint8")])
    np.testing.assert_array_equal(got[0], x.mean(1))
    np.testing.assert_array_equal(got[1], x.mean(0))
    np.testing.assert_array_equal(got[2], [0, 1, 1, 0])
    np.testing.assert_array_equal(got[3], [0, 0, 1, 0])


COUNTED = (
    "TPipe pipe; GlobalTensor<float> g, o; g.SetGlobalBuffer((__gm__ float*)x);\n"
    "o.SetGlobalBuffer((__gm__ float*)y); TBuf<> b; pipe.InitBuffer(b, 1024);\n"
    "auto t = b.Get<float>(); DataCopy(t, g, 128); PipeBarrier<PIPE_ALL>();\n"
    "Abs(t, t, 100); PipeBarrier<PIPE_V>(); Abs(t, t, 64, 1, {1, 1, 8, 8});\n"
    "PipeBarrier<PIPE_ALL>(); if (GetBlockIdx() == 0) DataCopyPad(o, t, {2, 100, 0, 100, 0});\n"
    "if (g.GetValue(3) != 3.0f) Abs(t, t, 8);")


def test_counters_by_pipe_and_call():
    done = run_bare(COUNTED, count=128, cores=2)
    assert (done.mte2_bytes, done.mte2_copies) == (1024, 2)
    assert (done.mte3_bytes, done.mte3_copies) == (200, 1)
    assert done.scalar_bytes == 8 and done.gm_read[0] == 1024 + 8
    assert (done.vector_instructions, done.vector_repeats) == (4, 6)
    assert done.calls == (CallCount("Abs", 4, 4, 6),)


def test_a_call_that_the_row_says_is_missing():
    poor = replace(CHIP, name="Poor")
    object.__setattr__(poor, "lacks", ("Copy", "DataCopyPad"))
    with pytest.raises(TwinError, match="DataCopyPad: chip: Poor has no DataCopyPad"):
        run_bare(COUNTED, count=128, chip=poor)


def test_limits_come_from_the_row():
    with pytest.raises(TwinError, match="blockCount 2, at most 1"):
        run_bare(COUNTED, count=128, chip=replace(CHIP, max_copy_blocks=1))
    with pytest.raises(TwinError, match="repeat 1 is outside 0..0"):
        run_bare(COUNTED, count=128, chip=replace(CHIP, max_repeat=0))


def test_soft_sync_orders_cores():
    body = (
        "KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY); TPipe pipe; GlobalTensor<int32_t> f, o;\n"
        "f.SetGlobalBuffer((__gm__ int32_t*)GetUserWorkspace(workspace)); TBuf<> b, u;\n"
        "o.SetGlobalBuffer((__gm__ int32_t*)y); pipe.InitBuffer(b, 256); pipe.InitBuffer(u, 128);\n"
        "auto t = b.Get<int32_t>(); auto s = u.Get<int32_t>();\n"
        "Duplicate(t, (int32_t)GetBlockIdx(), 8); PipeBarrier<PIPE_ALL>();\n"
        "DataCopy(o[GetBlockIdx() * 8], t, 8); SyncAll(f, s); DataCopy(t, o[24], 8);\n"
        "PipeBarrier<PIPE_ALL>(); SyncAll(f, s); if (GetBlockIdx() == 0) DataCopy(o, t, 8);")
    text = body.replace(
        "TPipe pipe;", "TPipe pipe; if (GetBlockIdx() == 0) { GlobalTensor<int32_t> z; "
        "z.SetGlobalBuffer((__gm__ int32_t*)GetUserWorkspace(workspace)); "
        "Fill(z, 32, int32_t(0)); }", 1)
    done = run_bare(text, count=32, dtype=np.int32, cores=4, workspace_bytes=128)
    np.testing.assert_array_equal(done.outputs[0], np.repeat([3, 1, 2, 3], 8))


def fetched(body, cores, l2_bytes=CHIP.l2_bytes):
    """Bytes of the one input that the cores request, and of these that memory delivers."""
    chip = replace(CHIP, l2_bytes=l2_bytes)
    start = ("GlobalTensor<float> g; g.SetGlobalBuffer((__gm__ float*)x);"
             "GlobalTensor<float> o; o.SetGlobalBuffer((__gm__ float*)y);"
             "TPipe pipe; const uint32_t me = GetBlockIdx();"
             "TQue<TPosition::VECIN, 1> q; pipe.InitBuffer(q, 1, 256); LocalTensor<float> t;")
    result = run_bare(start + body, cores=cores, chip=chip, out=((1,), "float32"))
    return result.gm_read[0], result.gm_fetched[0]


LOAD = ("t = q.AllocTensor<float>(); DataCopy(t, g[{}], 16); q.EnQue(t);"
        "t = q.DeQue<float>(); q.FreeTensor(t);")


def test_cores_that_want_the_same_bytes_get_them_once_from_memory():
    assert fetched(LOAD.format("0"), 4) == (256, 64)
    assert fetched(LOAD.format("me * 16"), 4) == (256, 256)
    assert fetched(LOAD.format("me * 8"), 4) == (256, 64 + 3 * 32)
    # What one core asks for again, and what does not fit L2, comes again.
    assert fetched(LOAD.format("0") * 3, 4) == (768, 192)
    assert fetched(LOAD.format("0"), 4, l2_bytes=0) == (256, 256)


def test_a_later_stage_reads_anew():
    again = "PipeBarrier<PIPE_ALL>(); pipe.Reset(); pipe.InitBuffer(q, 1, 256);"
    assert fetched(LOAD.format("0") + again + LOAD.format("0"), 2) == (256, 128)
    synced = "KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIV_1_0);"
    other = LOAD.format("me * 16") + "SyncAll();" + LOAD.format("(1 - me) * 16")
    assert fetched(synced + other, 2) == (256, 256)
