"""More cases of the table of rule_cases.py: order in global memory, chips, calls.

A sixth entry names the chip, or the chips of the breaking and of the legal lines.
"""

ORDER_CASES = [
    ("v_write_after_read", "missing wait", "Duplicate",
     "FULL(a, float, 64); BUF(b, float, 256); Abs(b, a, 8); Duplicate(a, 2.0f, 8); @",
     "FULL(a, float, 64); BUF(b, float, 256); Abs(b, a, 8); PipeBarrier<PIPE_V>();\n"
     "Duplicate(a, 2.0f, 8);"),
    ("gm_read_back", "missing wait", "DataCopy",
     "FULL(a, float, 64); BUF(b, float, 256); FLAG(V_MTE3, 0); DataCopy(yg, a, 8);\n"
     "DataCopy(b, yg, 8); @",
     "FULL(a, float, 64); BUF(b, float, 256); FLAG(V_MTE3, 0); DataCopy(yg, a, 8);\n"
     "FLAG(MTE3_MTE2, 0); DataCopy(b, yg, 8);"),
    ("gm_write_twice", "missing wait", "DataCopy",
     "FULL(a, float, 64); FLAG(V_MTE3, 0); DataCopy(yg, a, 8); DataCopy(yg, a, 8); @",
     "FULL(a, float, 64); FLAG(V_MTE3, 0); DataCopy(yg, a, 8); PipeBarrier<PIPE_MTE3>();\n"
     "DataCopy(yg, a, 8);"),
    ("gm_write_after_read", "missing wait", "DataCopy",
     "FULL(a, float, 64); BUF(b, float, 256); FLAG(V_MTE3, 0); DataCopy(yg, a, 8);\n"
     "FLAG(MTE3_MTE2, 0); DataCopy(b, yg, 8); DataCopy(yg, a, 8); @",
     "FULL(a, float, 64); BUF(b, float, 256); FLAG(V_MTE3, 0); DataCopy(yg, a, 8);\n"
     "FLAG(MTE3_MTE2, 0); DataCopy(b, yg, 8); FLAG(MTE2_MTE3, 0); DataCopy(yg, a, 8);"),
    ("scalar_write_in_cache", "data cache", "DataCopyPad",
     "BUF(b, float, 256); yg.SetValue(0, 1.0f); FLAG(S_MTE2, 0);\n"
     "DataCopyPad(b, yg, {1, 4, 0, 0, 0}, DataCopyPadExtParams<float>{}); @",
     "BUF(b, float, 256); yg.SetValue(0, 1.0f); CLEAN(yg); FLAG(S_MTE2, 0);\n"
     "DataCopyPad(b, yg, {1, 4, 0, 0, 0}, DataCopyPadExtParams<float>{});"),
    ("scalar_read_of_cache", "data cache", "GetValue",
     "FULL(a, float, 64); FLAG(V_MTE3, 0); DataCopy(yg, a, 8); FLAG(MTE3_S, 0);\n"
     "yg.GetValue(0); @",
     "FULL(a, float, 64); FLAG(V_MTE3, 0); DataCopy(yg, a, 8); FLAG(MTE3_S, 0);\n"
     "CLEAN(yg); yg.GetValue(0);"),
    ("scalar_write_beside_copy", "cache line", "SetValue",
     "FULL(a, float, 64); FLAG(V_MTE3, 0); DataCopy(yg, a, 8); FLAG(MTE3_S, 0);\n"
     "yg.SetValue(9, 1.0f); @",
     "FULL(a, float, 64); FLAG(V_MTE3, 0); DataCopy(yg, a, 8); FLAG(MTE3_S, 0); CLEAN(yg);\n"
     "yg.SetValue(9, 1.0f);"),
    ("copy_beside_scalar_write", "cache line", "DataCopy",
     "FULL(a, float, 64); yg.SetValue(9, 1.0f); FLAG(S_MTE3, 0); FLAG(V_MTE3, 0);\n"
     "DataCopy(yg, a, 8); @",
     "FULL(a, float, 64); yg.SetValue(9, 1.0f); CLEAN(yg); FLAG(S_MTE3, 0); FLAG(V_MTE3, 0);\n"
     "DataCopy(yg, a, 8);"),
    ("queue_event", "event ids", "SetFlag",
     "IN_QUE; FLAG(MTE2_V, 0); @",
     "IN_QUE; FLAG(MTE2_V, 1); FLAG(MTE2_V, pipe.FetchEventID(HardEvent::MTE2_V));"),
    ("mask_overlap", "overlap", "Adds",
     "FULL(a, float, 256); Adds(a[8], a, 1.0f, 64, 1, {1, 1, 8, 8}); @",
     "FULL(a, float, 256); Adds(a[64], a, 1.0f, 64, 1, {1, 1, 8, 8});"),
    ("stride_overlap", "overlap", "Adds",
     "FULL(a, float, 256); Adds(a, a, 1.0f, 64, 2, {1, 1, 8, 16}); @",
     "FULL(a, float, 256); Adds(a, a[8], 1.0f, 8, 4, {1, 1, 2, 2});"),
    ("accumulate", "overlap", "Add",
     "FULL(a, float, 256); FULL(b, float, 64); Add(b, b, a, 64, 2, {1, 1, 1, 0, 0, 8}); @",
     "FULL(a, float, 256); FULL(b, float, 64); Add(b, a, b, 64, 2, {1, 1, 1, 0, 8, 0});"),
    ("stride", "stride", "BinaryRepeatParams",
     "int blocks = 256; BinaryRepeatParams p(1, 1, 1, 8, 8, blocks); @",
     "int blocks = 255; BinaryRepeatParams p(1, 1, 1, 8, 8, blocks);"),
]

_OLD_AND_NEW = ("Ascend910B", "Ascend950")
_HALF_TO_BFLOAT = (
    "FULL(a, half, 64); BUF(b, bfloat16_t, 128); Cast(b, a, RoundMode::CAST_RINT, 64); @")
_COMPARE_INTS = (
    "FULL(a, int32_t, 64); BUF(m, uint8_t, 32); Compare(m, a, a, CMPMODE::LT, 64); @")
_ADD_BFLOATS = (
    "BUF(a, bfloat16_t, 128); Duplicate(a, ToBfloat16(1), 64); PipeBarrier<PIPE_V>();\n"
    "Add(a, a, a, 64); @")
_SOFT_SYNC = (
    "GlobalTensor<int32_t> g; BUF(u, int32_t, 32);\n"
    "g.SetGlobalBuffer((__gm__ int32_t*)GetUserWorkspace(workspace)); ")

CHIP_CASES = [
    ("bytes_by_mask", "dtype", "Add",
     "FULL(a, int8_t, 256); Add(a, a, a, 128, 1, {1, 1, 1, 8, 8, 8}); @",
     "FULL(a, int8_t, 256); Add(a, a, a, 256);", "Ascend950"),
    ("half_to_bfloat", "dtype", "Cast", _HALF_TO_BFLOAT, _HALF_TO_BFLOAT, _OLD_AND_NEW),
    ("compare_ints", "dtype", "Compare", _COMPARE_INTS, _COMPARE_INTS, _OLD_AND_NEW),
    ("add_bfloats", "dtype", "Add", _ADD_BFLOATS, _ADD_BFLOATS, _OLD_AND_NEW),
    ("large_ub", "UB budget", "InitBuffer", "BUF(a, float, 248 * 1024); @",
     "BUF(a, float, 248 * 1024); @", _OLD_AND_NEW),
    ("rint", "chip", "Rint",
     "FULL(a, float, 64); BUF(b, float, 256); Rint(b, a, 64u); @",
     "FULL(a, float, 64); BUF(b, float, 256); Rint(b, a, 64u); @", _OLD_AND_NEW),
    ("is_nan", "chip", "IsNan",
     "FULL(a, float, 64); BUF(b, uint8_t, 64); IsNan(b, a, 64u); @",
     "FULL(a, float, 64); BUF(b, uint8_t, 64); IsNan(b, a, 64u); @", _OLD_AND_NEW),
    ("round_mode_310P", "RoundMode", "Cast",
     "FULL(a, float, 64); BUF(b, half, 128); Cast(b, a, RoundMode::CAST_RINT, 64); @",
     "FULL(a, float, 64); BUF(b, half, 128); Cast(b, a, RoundMode::CAST_NONE, 64);",
     "Ascend310P"),
    ("int64_310P", "dtype", "Cast",
     "FULL(a, float, 64); BUF(b, int64_t, 512); Cast(b, a, RoundMode::CAST_RINT, 64); @",
     "FULL(a, float, 64); BUF(b, int64_t, 512); Cast(b, a, RoundMode::CAST_RINT, 64); @",
     ("Ascend310P", "Ascend910B")),
    ("bfloat_310P", "dtype", "Duplicate",
     "BUF(a, bfloat16_t, 128); Duplicate(a, ToBfloat16(1), 64); @",
     "BUF(a, half, 128); Duplicate(a, half(1), 64);", "Ascend310P"),
    ("sync_310P", "chip", "SyncAll",
     "SyncAll(); @",
     _SOFT_SYNC + "Fill(g, 8, int32_t(0)); SyncAll(g, u);", "Ascend310P"),
    ("padded_load_310P", "chip", "DataCopyPad",
     "BUF(a, float, 1024); DataCopyExtParams c{1, 32, 0, 0, 0};\n"
     "DataCopyPad(a, xg, c, DataCopyPadExtParams<float>{}); @",
     "BUF(a, float, 1024); DataCopy(a, xg[1], 8);", "Ascend310P"),
    ("padded_store_310P", "chip", "DataCopyPad",
     "FULL(a, float, 64); FLAG(V_MTE3, 0); DataCopyPad(yg, a, {1, 12, 0, 0, 0}); @",
     "FULL(a, float, 64); FLAG(V_MTE3, 0); DataCopy(yg[3], a, {1, 1, 0, 0});", "Ascend310P"),
    ("copy_310P", "chip", "Copy",
     "FULL(a, half, 64); BUF(b, half, 128); Copy(b, a, 64, 1, {1, 1, 8, 8}); @",
     "FULL(a, uint16_t, 64); BUF(b, uint16_t, 128); Or(b, a, a, 64, 1, {1, 1, 1, 8, 8, 8});",
     "Ascend310P"),
    ("shift_310P", "dtype", "ShiftLeft",
     "FULL(a, int32_t, 64); ShiftLeft(a, a, int32_t(1), 64); @",
     "FULL(a, int32_t, 64); Muls(a, a, int32_t(2), 64);", "Ascend310P"),
    ("reduce_order_310P", "chip", "WholeReduceMax",
     "FULL(a, float, 64); BUF(b, float, 32);\n"
     "WholeReduceMax(b, a, 64, 1, 1, 1, 8, ReduceOrder::ORDER_ONLY_VALUE); @",
     "FULL(a, float, 64); BUF(b, float, 32);\n"
     "WholeReduceMax(b, a, 64, 1, 1, 1, 8, ReduceOrder::ORDER_VALUE_INDEX);", "Ascend310P"),
    ("core_type_310P", "chip", "KERNEL_TASK_TYPE_DEFAULT",
     "KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY); @",
     "KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AICORE);", "Ascend310P"),
    ("atomic_type_310P", "dtype", "SetAtomicAdd",
     "SetAtomicAdd<int32_t>(); @",
     "SetAtomicAdd<int16_t>(); SetAtomicNone();", "Ascend310P"),
    ("atomic_max_310P", "chip", "SetAtomicMax",
     "SetAtomicMax<float>(); @",
     "SetAtomicAdd<float>(); SetAtomicNone();", "Ascend310P"),
]

CALL_CASES = [
    ("flags_not_zero", "SyncAll", "SyncAll",
     _SOFT_SYNC + "SyncAll(g, u); @",
     _SOFT_SYNC + "Fill(g, 8, int32_t(0)); SyncAll(g, u);"),
    ("erf_scratch", "scratch", "Erf",
     "FULL(a, half, 64); BUF(b, half, 128); BUF(w, uint8_t, 2016); Erf(b, a, w, 64); @",
     "FULL(a, half, 64); BUF(b, half, 128); BUF(w, uint8_t, 2048); Erf(b, a, w, 64);"),
    ("sin_scratch", "scratch", "Sin",
     "FULL(a, float, 64); BUF(b, float, 256); BUF(w, uint8_t, 768); Sin(b, a, w, 64); @",
     "FULL(a, float, 64); BUF(b, float, 256); BUF(w, uint8_t, 544);\n"
     "Sin<float, true>(b, a, w, 64);"),
    ("scratch_of_ub", "scratch", "Gelu",
     "BUF(all, uint8_t, 184 * 1024 - 1024); FULL(a, float, 64); BUF(b, float, 256);\n"
     "Gelu(b, a, 64); @",
     "BUF(all, uint8_t, 184 * 1024 - 2048); FULL(a, float, 64); BUF(b, float, 256);\n"
     "Gelu(b, a, 64);"),
    ("power_sizes", "count", "Power",
     "FULL(a, float, 64); FULL(c, float, 72); BUF(b, float, 256); BUF(w, uint8_t, 1024);\n"
     "Power(b, a, c, w, 64); @",
     "FULL(a, float, 64); FULL(c, float, 64); BUF(b, float, 256); BUF(w, uint8_t, 1024);\n"
     "Power(b, a, c, w, 64);"),
    ("math_in_place", "overlap", "Tan",
     "FULL(a, float, 64); BUF(w, uint8_t, 1024); Tan(a, a, w, 64); @",
     "FULL(a, float, 64); BUF(b, float, 256); BUF(w, uint8_t, 1024); Tan(b, a, w, 64);"),
    ("pattern", "limit", "GatherMask",
     "FULL(a, float, 64); BUF(b, float, 256); uint64_t n;\n"
     "GatherMask(b, a, 8, false, 0, {1, 1, 8, 8}, n); @",
     "FULL(a, float, 64); BUF(b, float, 256); uint64_t n;\n"
     "GatherMask(b, a, 7, false, 0, {1, 1, 8, 8}, n);"),
    ("row_in_no_buffer", "UB bounds", "TransDataTo5HD",
     "FULL(a, half, 256); BUF(b, half, 512); uint64_t s[16], d[16];\n"
     "for (int i = 0; i < 16; ++i) s[i] = a.GetPhyAddr(i * 16), d[i] = b.GetPhyAddr(16 + i * 16);\n"
     "TransDataTo5HD<half>(d, s, {false, false, 1, 0, 0}); @",
     "FULL(a, half, 256); BUF(b, half, 512); uint64_t s[16], d[16];\n"
     "for (int i = 0; i < 16; ++i) s[i] = a.GetPhyAddr(i * 16), d[i] = b.GetPhyAddr(i * 16);\n"
     "TransDataTo5HD<half>(d, s, {false, false, 1, 0, 0});"),
    ("in_place_queue", "queue", "AllocTensor",
     "TQue<TPosition::VECIN, 0> q; pipe.InitBuffer(q, 1, 1024); LocalTensor<float> a;\n"
     "q.AllocTensor(a); q.AllocTensor(a); @",
     "TQue<TPosition::VECIN, 0> q; pipe.InitBuffer(q, 1, 1024); LocalTensor<float> a;\n"
     "q.AllocTensor(a); DataCopy(a, xg, 8); q.EnQue(a); q.DeQue(a);\n"
     "Abs(a, a, 8); q.FreeTensor(a);"),
    ("vector_queue", "missing wait", "Abs",
     "TQue<TPosition::VECCALC, 1> q; pipe.InitBuffer(q, 1, 1024);\n"
     "auto a = q.AllocTensor<float>(); Duplicate(a, 1.0f, 8); Abs(a, a, 8); @",
     "TQue<TPosition::VECCALC, 1> q; pipe.InitBuffer(q, 1, 1024);\n"
     "auto a = q.AllocTensor<float>(); Duplicate(a, 1.0f, 8); q.EnQue(a);\n"
     "a = q.DeQue<float>(); Abs(a, a, 8); q.FreeTensor(a);"),
    ("select_mask", "mask", "Select",
     "FULL(a, float, 64); FULL(m, uint16_t, 16); SELMODE s = SELMODE::VSEL_TENSOR_SCALAR_MODE;\n"
     "Select(a, m, a, 0.0f, s, 65, 1, {1, 1, 1, 8, 8, 8}); @",
     "FULL(a, float, 64); FULL(m, uint16_t, 16); SELMODE s = SELMODE::VSEL_TENSOR_SCALAR_MODE;\n"
     "Select(a, m, a, 0.0f, s, 64, 1, {1, 1, 1, 8, 8, 8});"),
    ("compare_by_mask", "unwritten UB", "DataCopyPad",
     "FULL(a, float, 64); BUF(m, uint8_t, 32); GlobalTensor<uint8_t> g;\n"
     "g.SetGlobalBuffer((__gm__ uint8_t*)y);\n"
     "Compares(m, a, 1.0f, CMPMODE::EQ, 32, 1, {1, 1, 8, 8});\n"
     "FLAG(V_MTE3, 0); DataCopyPad(g, m, {1, 8, 0, 0, 0}); @",
     "FULL(a, float, 64); BUF(m, uint8_t, 32); GlobalTensor<uint8_t> g;\n"
     "g.SetGlobalBuffer((__gm__ uint8_t*)y);\n"
     "Compares(m, a, 1.0f, CMPMODE::EQ, 32, 1, {1, 1, 8, 8});\n"
     "FLAG(V_MTE3, 0); DataCopyPad(g, m, {1, 4, 0, 0, 0});"),
]

MORE_CASES = ORDER_CASES + CHIP_CASES + CALL_CASES

# On 4 cores.
MORE_MULTI_CORE_CASES = [
    ("line_of_two_cores", "cache line", "SetValue",
     "yg.SetValue(GetBlockIdx() * 15, 1.0f); @",
     "yg.SetValue(GetBlockIdx() * 16, 1.0f);"),
    ("line_of_copy_and_scalar", "cache line", "SetValue",
     "FULL(a, float, 64); FLAG(V_MTE3, 0); if (GetBlockIdx() == 0) DataCopy(yg, a, 8);\n"
     "if (GetBlockIdx() == 1) yg.SetValue(8, 1.0f); @",
     "FULL(a, float, 64); FLAG(V_MTE3, 0); if (GetBlockIdx() == 0) DataCopy(yg, a, 16);\n"
     "if (GetBlockIdx() == 1) yg.SetValue(16, 1.0f);"),
    ("write_of_read", "GM race", "DataCopy",
     "FULL(a, float, 64); BUF(b, float, 256); FLAG(V_MTE3, 0);\n"
     "if (GetBlockIdx() == 0) DataCopy(yg, a, 64);\n"
     "SyncAll(); if (GetBlockIdx() < 3) DataCopy(b, yg, 8);\n"
     "if (GetBlockIdx() == 3) DataCopy(yg, a, 8); @",
     "FULL(a, float, 64); BUF(b, float, 256); FLAG(V_MTE3, 0);\n"
     "if (GetBlockIdx() == 0) DataCopy(yg, a, 64);\n"
     "SyncAll(); if (GetBlockIdx() < 3) DataCopy(b, yg, 8);\n"
     "SyncAll(); if (GetBlockIdx() == 3) DataCopy(yg, a, 8);"),
    ("stale_of_others", "data cache", "GetValue",
     "FULL(a, float, 64); FLAG(V_MTE3, 0); DataCopy(yg[GetBlockIdx() * 8], a, 8); SyncAll();\n"
     "if (GetBlockIdx() == 0) yg.GetValue(8); @",
     "FULL(a, float, 64); FLAG(V_MTE3, 0); DataCopy(yg[GetBlockIdx() * 8], a, 8); SyncAll();\n"
     "CLEAN(yg); if (GetBlockIdx() == 0) yg.GetValue(8);"),
    ("flags_too_short", "UB bounds", "SyncAll",
     "GlobalTensor<int32_t> g; g.SetGlobalBuffer((__gm__ int32_t*)GetUserWorkspace(workspace));\n"
     "BUF(u, int32_t, 96); if (GetBlockIdx() == 0) Fill(g, 32, int32_t(0));\n"
     "SyncAll(g, u); @",
     "GlobalTensor<int32_t> g; g.SetGlobalBuffer((__gm__ int32_t*)GetUserWorkspace(workspace));\n"
     "BUF(u, int32_t, 128); if (GetBlockIdx() == 0) Fill(g, 32, int32_t(0));\n"
     "SyncAll(); SyncAll(g, u);"),
]
