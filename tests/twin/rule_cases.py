"""For each rule of the check mode: lines that break it and lines that just do not.

A case is (name, rule, api, breaking lines, legal lines). `@` marks the line the message must name.
All cases of the table are compiled as one kernel and chosen by the tiling key.

Names in scope: xg, yg (float GM tensors of 256 elements, x holds 0, 1, 2, ...), pipe.
"""

PRELUDE = r"""
#define FLAG(A, id) SetFlag<HardEvent::A>(id); WaitFlag<HardEvent::A>(id)
#define BUF(t, T, bytes) TBuf<TPosition::VECCALC> t##_b; pipe.InitBuffer(t##_b, bytes); \
  LocalTensor<T> t = t##_b.Get<T>()
#define FULL(t, T, n) BUF(t, T, (n) * sizeof(T)); Duplicate(t, T(1), n); PipeBarrier<PIPE_V>()
#define LOADED(t, n) BUF(t, float, 1024); DataCopy(t, xg, n); FLAG(MTE2_V, 5)
#define CLEAN(g) DataCacheCleanAndInvalid<float, CacheLine::SINGLE_CACHE_LINE, \
                                          DcciDst::CACHELINE_OUT>(g)
#define IN_QUE TQue<TPosition::VECIN, 1> q; pipe.InitBuffer(q, 1, 1024)
#define OUT_QUE TQue<TPosition::VECOUT, 1> p; pipe.InitBuffer(p, 1, 1024)
"""

CASES = [
    ("ub_budget", "UB budget", "InitBuffer",
     "BUF(a, float, 184 * 1024 - 32); BUF(b, float, 64); @",
     "BUF(a, float, 184 * 1024 - 32); BUF(b, float, 32);"),
    ("buffer_count", "buffer count", "InitBuffer",
     "TBuf<> b[65]; for (int i = 0; i < 65; ++i) pipe.InitBuffer(b[i], 32); @",
     "TBuf<> b[64]; for (int i = 0; i < 64; ++i) pipe.InitBuffer(b[i], 32);"),
    ("vecin_ids", "event ids", "InitBuffer",
     "TQue<TPosition::VECIN, 1> q[5]; for (int i = 0; i < 5; ++i) pipe.InitBuffer(q[i], 2, 32); @",
     "TQue<TPosition::VECIN, 1> q[4]; for (int i = 0; i < 4; ++i) pipe.InitBuffer(q[i], 2, 32);"),
    ("vecout_ids", "event ids", "InitBuffer",
     "TQue<TPosition::VECOUT, 1> q[9]; for (int i = 0; i < 9; ++i) pipe.InitBuffer(q[i], 1, 32); @",
     "TQue<TPosition::VECOUT, 1> q[8]; for (int i = 0; i < 8; ++i) pipe.InitBuffer(q[i], 1, 32);"),
    ("alloc_event", "event ids", "AllocEventID",
     "IN_QUE; for (int i = 0; i < 8; ++i) pipe.AllocEventID<HardEvent::MTE2_V>(); @",
     "IN_QUE; for (int i = 0; i < 7; ++i) pipe.AllocEventID<HardEvent::MTE2_V>();"),
    ("copy_size", "copy size", "DataCopy",
     "BUF(a, float, 1024); DataCopy(a, xg, 9); @",
     "BUF(a, float, 1024); DataCopy(a, xg, 8);"),
    ("copy_alignment", "alignment", "DataCopy",
     "BUF(a, float, 1024); DataCopy(a[4], xg, 8); @",
     "BUF(a, float, 1024); DataCopy(a[8], xg, 8);"),
    ("operand_alignment", "alignment", "Abs",
     "FULL(a, float, 64); Abs(a[1], a[1], 8); @",
     "FULL(a, float, 64); Abs(a[8], a[8], 8);"),
    ("block_count", "limit", "DataCopyPad",
     "BUF(a, float, 131072); DataCopyExtParams c{4096, 4, 0xfffffffcu, 0, 0};\n"
     "DataCopyPad(a, xg, c, DataCopyPadExtParams<float>{}); @",
     "BUF(a, float, 8192); DataCopyExtParams c{255, 4, 0, 0, 0};\n"
     "DataCopyPad(a, xg, c, DataCopyPadExtParams<float>{});"),
    ("block_len", "limit", "DataCopyPad",
     "BUF(a, float, 1024); DataCopyExtParams c{1, 6, 0, 0, 0};\n"
     "DataCopyPad(a, xg, c, DataCopyPadExtParams<float>{}); @",
     "BUF(a, float, 1024); DataCopyExtParams c{1, 4, 0, 0, 0};\n"
     "DataCopyPad(a, xg, c, DataCopyPadExtParams<float>{});"),
    ("padding", "limit", "DataCopyPad",
     "BUF(a, float, 1024); DataCopyExtParams c{1, 4, 0, 0, 0};\n"
     "DataCopyPad(a, xg, c, DataCopyPadExtParams<float>{true, 0, 9, 0}); @",
     "BUF(a, float, 1024); DataCopyExtParams c{1, 4, 0, 0, 0};\n"
     "DataCopyPad(a, xg, c, DataCopyPadExtParams<float>{true, 0, 8, 0});"),
    ("repeat", "repeat", "Adds",
     "FULL(a, float, 16384); int n = 256; Adds(a, a, 1.0f, 64, n, {1, 1, 8, 8}); @",
     "FULL(a, float, 16384); int n = 255; Adds(a, a, 1.0f, 64, n, {1, 1, 8, 8});"),
    ("mask", "mask", "Adds",
     "FULL(a, float, 256); Adds(a, a, 1.0f, 65, 1, {1, 1, 8, 8}); @",
     "FULL(a, float, 256); Adds(a, a, 1.0f, 64, 1, {1, 1, 8, 8});"),
    ("cast_pair", "dtype", "Cast",
     "FULL(a, float, 64); BUF(b, int8_t, 64); Cast(b, a, RoundMode::CAST_RINT, 64); @",
     "FULL(a, half, 64); BUF(b, int8_t, 64); Cast(b, a, RoundMode::CAST_RINT, 64);"),
    ("round_mode", "RoundMode", "Cast",
     "FULL(a, float, 64); BUF(b, int32_t, 256); Cast(b, a, RoundMode::CAST_NONE, 64); @",
     "FULL(a, float, 64); BUF(b, int32_t, 256); Cast(b, a, RoundMode::CAST_TRUNC, 64);"),
    ("deq_scale", "deq scale", "Cast",
     "FULL(a, int32_t, 64); BUF(b, half, 128); Cast(b, a, RoundMode::CAST_NONE, 64); @",
     "FULL(a, int32_t, 64); BUF(b, half, 128); SetDeqScale(half(1));\n"
     "Cast(b, a, RoundMode::CAST_NONE, 64);"),
    ("dtype", "dtype", "Div",
     "FULL(a, int32_t, 64); Div(a, a, a, 64); @",
     "FULL(a, float, 64); Div(a, a, a, 64);"),
    ("bf16_math", "dtype", "Add",
     "BUF(a, bfloat16_t, 128); Duplicate(a, ToBfloat16(1), 64); PipeBarrier<PIPE_V>();\n"
     "Add(a, a, a, 64); @",
     "BUF(a, bfloat16_t, 128); Duplicate(a, ToBfloat16(1), 64);"),
    ("compare_count", "compare count", "Compare",
     "FULL(a, float, 64); BUF(m, uint8_t, 32); Compare(m, a, a, CMPMODE::LT, 63); @",
     "FULL(a, float, 64); BUF(m, uint8_t, 32); Compare(m, a, a, CMPMODE::LT, 64);"),
    ("compare_source", "UB bounds", "Compares",
     "FULL(a, float, 40); BUF(m, uint8_t, 32); Compares(m, a, 1.0f, CMPMODE::EQ, 64); @",
     "FULL(a, float, 64); BUF(m, uint8_t, 32); Compares(m, a, 1.0f, CMPMODE::EQ, 64);"),
    ("compare_type", "dtype", "Compare",
     "FULL(a, int32_t, 64); BUF(m, uint8_t, 32); Compare(m, a, a, CMPMODE::LT, 64); @",
     "FULL(a, int32_t, 64); BUF(m, uint8_t, 32); Compare(m, a, a, CMPMODE::EQ, 64);"),
    ("select_mode", "mode", "Select",
     "FULL(a, float, 64); FULL(m, uint16_t, 16);\n"
     "Select(a, m, a, 0.0f, SELMODE::VSEL_TENSOR_TENSOR_MODE, 64); @",
     "FULL(a, float, 64); FULL(m, uint16_t, 16);\n"
     "Select(a, m, a, 0.0f, SELMODE::VSEL_TENSOR_SCALAR_MODE, 64);"),
    ("overlap", "overlap", "Adds",
     "FULL(a, float, 64); Adds(a[8], a, 1.0f, 16); @",
     "FULL(a, float, 64); Adds(a[16], a, 1.0f, 16);"),
    ("cast_in_place", "overlap", "Cast",
     "FULL(a, half, 128); Cast(a.ReinterpretCast<float>(), a, RoundMode::CAST_NONE, 64); @",
     "FULL(a, half, 128); Cast(a.ReinterpretCast<float>(), a[64], RoundMode::CAST_NONE, 32);"),
    ("ub_bounds", "UB bounds", "Abs",
     "FULL(a, float, 64); FULL(b, float, 64); Abs(a, a, 65); @",
     "FULL(a, float, 64); FULL(b, float, 64); Abs(a, a, 64);"),
    ("scratch", "scratch", "ReduceSum",
     "FULL(a, float, 144); BUF(r, float, 32); BUF(w, uint8_t, 480);\n"
     "const uint32_t s[2] = {2, 72};\n"
     "ReduceSum<float, Pattern::Reduce::AR>(r, a, w, s, true); @",
     "FULL(a, float, 144); BUF(r, float, 32); BUF(w, uint8_t, 512);\n"
     "const uint32_t s[2] = {2, 72};\n"
     "ReduceSum<float, Pattern::Reduce::AR>(r, a, w, s, true);"),
    ("tanh_scratch", "scratch", "Tanh",
     "FULL(a, half, 64); BUF(b, half, 128); BUF(w, uint8_t, 992); Tanh(b, a, w, 64); @",
     "FULL(a, half, 64); BUF(b, half, 128); BUF(w, uint8_t, 1024); Tanh(b, a, w, 64);"),
    # queues
    ("alloc_beyond", "queue", "AllocTensor",
     "IN_QUE; LocalTensor<float> a = q.AllocTensor<float>(); q.EnQue(a); q.AllocTensor<float>(); @",
     "IN_QUE; LocalTensor<float> a = q.AllocTensor<float>(); q.EnQue(a);\n"
     "a = q.DeQue<float>(); q.FreeTensor(a);"),
    ("enque_beyond", "queue", "EnQue",
     "TQue<TPosition::VECIN, 1> q; pipe.InitBuffer(q, 2, 1024); auto a = q.AllocTensor<float>();\n"
     "auto b = q.AllocTensor<float>(); q.EnQue(a); q.EnQue(b); @",
     "TQue<TPosition::VECIN, 2> q; pipe.InitBuffer(q, 2, 1024); auto a = q.AllocTensor<float>();\n"
     "auto b = q.AllocTensor<float>(); q.EnQue(a); q.EnQue(b);\n"
     "a = q.DeQue<float>(); b = q.DeQue<float>(); q.FreeTensor(a); q.FreeTensor(b);"),
    ("deque_empty", "queue", "DeQue",
     "IN_QUE; q.DeQue<float>(); @",
     "IN_QUE; LocalTensor<float> a = q.AllocTensor<float>(); q.EnQue(a); a = q.DeQue<float>();\n"
     "q.FreeTensor(a);"),
    ("double_free", "queue", "FreeTensor",
     "IN_QUE; auto a = q.AllocTensor<float>(); q.FreeTensor(a); q.FreeTensor(a); @",
     "IN_QUE; auto a = q.AllocTensor<float>(); q.FreeTensor(a);"),
    ("never_freed", "queue", "AllocTensor",
     "IN_QUE; auto a = q.AllocTensor<float>(); @",
     "IN_QUE; auto a = q.AllocTensor<float>(); q.FreeTensor(a);"),
    ("foreign_tensor", "queue", "EnQue",
     "IN_QUE; OUT_QUE; auto a = p.AllocTensor<float>(); q.EnQue(a); @",
     "IN_QUE; OUT_QUE; auto a = p.AllocTensor<float>(); p.FreeTensor(a);"),
    ("use_after_free", "queue", "Duplicate",
     "OUT_QUE; auto a = p.AllocTensor<float>(); p.FreeTensor(a); Duplicate(a, 1.0f, 8); @",
     "OUT_QUE; auto a = p.AllocTensor<float>(); Duplicate(a, 1.0f, 8); p.FreeTensor(a);"),
    ("two_pipes", "one TPipe", "TPipe",
     "TPipe other; @",
     "pipe.FetchEventID(HardEvent::V_S);"),
    # what was never written
    ("unwritten_out", "unwritten UB", "DataCopy",
     "FULL(a, float, 64); FLAG(V_MTE3, 0); BUF(b, float, 64); DataCopy(yg, b, 8); @",
     "FULL(a, float, 64); FLAG(V_MTE3, 0); DataCopy(yg, a, 8);"),
    ("filler_out", "unwritten UB", "DataCopy",
     "BUF(a, float, 64); DataCopyPad(a, xg, {1, 28, 0, 0, 0}, DataCopyPadExtParams<float>{});\n"
     "FLAG(MTE2_MTE3, 0); DataCopy(yg, a, 8); @",
     "BUF(a, float, 64); DataCopyPadExtParams<float> one{true, 0, 1, 0};\n"
     "DataCopyPad(a, xg, {1, 28, 0, 0, 0}, one);\n"
     "FLAG(MTE2_MTE3, 0); DataCopy(yg, a, 8);"),
    ("filler_in_sum", "unwritten UB", "DataCopyPad",
     "BUF(a, float, 64); DataCopyPad(a, xg, {1, 28, 0, 0, 0}, DataCopyPadExtParams<float>{});\n"
     "FLAG(MTE2_V, 0); BUF(r, float, 32); WholeReduceSum<float>(r, a, 8, 1, 1, 1, 8);\n"
     "FLAG(V_MTE3, 0); DataCopyPad(yg, r, {1, 4, 0, 0, 0}); @",
     "BUF(a, float, 64); DataCopyPad(a, xg, {1, 28, 0, 0, 0}, DataCopyPadExtParams<float>{});\n"
     "FLAG(MTE2_V, 0); BUF(r, float, 32); WholeReduceSum<float>(r, a, 7, 1, 1, 1, 8);\n"
     "FLAG(V_MTE3, 0); DataCopyPad(yg, r, {1, 4, 0, 0, 0});"),
    ("stale_tile", "unwritten UB", "DataCopy",
     "OUT_QUE; auto a = p.AllocTensor<float>(); Duplicate(a, 1.0f, 8); p.FreeTensor(a);\n"
     "a = p.AllocTensor<float>(); p.EnQue(a); a = p.DeQue<float>(); DataCopy(yg, a, 8); @",
     "OUT_QUE; auto a = p.AllocTensor<float>(); Duplicate(a, 1.0f, 8); p.EnQue(a);\n"
     "a = p.DeQue<float>(); DataCopy(yg, a, 8); p.FreeTensor(a);"),
    ("compare_tail", "unwritten UB", "DataCopyPad",
     "LOADED(a, 40); BUF(m, uint8_t, 32); Compares(m, a, 3.0f, CMPMODE::LT, 64);\n"
     "PipeBarrier<PIPE_V>(); FULL(z, float, 64); FULL(f, float, 64);\n"
     "Select(f, m, z, 0.0f, SELMODE::VSEL_TENSOR_SCALAR_MODE, 41); FLAG(V_MTE3, 0);\n"
     "DataCopyPad(yg, f, {1, 164, 0, 0, 0}); @",
     "LOADED(a, 40); BUF(m, uint8_t, 32); Compares(m, a, 3.0f, CMPMODE::LT, 64);\n"
     "PipeBarrier<PIPE_V>(); FULL(z, float, 64); FULL(f, float, 64);\n"
     "Select(f, m, z, 0.0f, SELMODE::VSEL_TENSOR_SCALAR_MODE, 40); FLAG(V_MTE3, 0);\n"
     "DataCopyPad(yg, f, {1, 160, 0, 0, 0});"),
    # order between the pipes
    ("mte2_to_v", "missing wait", "Abs",
     "BUF(a, float, 64); DataCopy(a, xg, 8); Abs(a, a, 8); @",
     "BUF(a, float, 64); DataCopy(a, xg, 8); FLAG(MTE2_V, 0); Abs(a, a, 8);"),
    ("no_deque", "missing wait", "Abs",
     "IN_QUE; auto a = q.AllocTensor<float>(); DataCopy(a, xg, 8); q.EnQue(a); Abs(a, a, 8); @",
     "IN_QUE; auto a = q.AllocTensor<float>(); DataCopy(a, xg, 8); q.EnQue(a);\n"
     "a = q.DeQue<float>(); Abs(a, a, 8); q.FreeTensor(a);"),
    ("v_to_mte3", "missing wait", "DataCopy",
     "FULL(a, float, 64); DataCopy(yg, a, 8); @",
     "FULL(a, float, 64); FLAG(V_MTE3, 0); DataCopy(yg, a, 8);"),
    ("no_enque", "missing wait", "DataCopy",
     "OUT_QUE; auto a = p.AllocTensor<float>(); Duplicate(a, 1.0f, 8); DataCopy(yg, a, 8); @",
     "OUT_QUE; auto a = p.AllocTensor<float>(); Duplicate(a, 1.0f, 8); p.EnQue(a);\n"
     "a = p.DeQue<float>(); DataCopy(yg, a, 8); p.FreeTensor(a);"),
    ("v_to_v", "missing wait", "Abs",
     "BUF(a, float, 64); Duplicate(a, 1.0f, 8); Abs(a, a, 8); @",
     "BUF(a, float, 64); Duplicate(a, 1.0f, 8); PipeBarrier<PIPE_V>(); Abs(a, a, 8);"),
    ("v_over_v", "missing wait", "Duplicate",
     "BUF(a, float, 64); Duplicate(a, 1.0f, 8); Duplicate(a, 2.0f, 8); @",
     "BUF(a, float, 64); Duplicate(a, 1.0f, 8); Duplicate(a[8], 2.0f, 8);"),
    ("reload_while_read", "missing wait", "DataCopy",
     "LOADED(a, 8); BUF(b, float, 64); Abs(b, a, 8); DataCopy(a, xg, 8); @",
     "LOADED(a, 8); BUF(b, float, 64); Abs(b, a, 8); FLAG(V_MTE2, 0); DataCopy(a, xg, 8);"),
    ("overwrite_while_stored", "missing wait", "Duplicate",
     "FULL(a, float, 64); FLAG(V_MTE3, 0); DataCopy(yg, a, 8); Duplicate(a, 2.0f, 8); @",
     "FULL(a, float, 64); FLAG(V_MTE3, 0); DataCopy(yg, a, 8); FLAG(MTE3_V, 0);\n"
     "Duplicate(a, 2.0f, 8);"),
    ("two_loads", "missing wait", "DataCopy",
     "BUF(a, float, 64); DataCopy(a, xg, 8); DataCopy(a, xg[8], 8); @",
     "BUF(a, float, 64); DataCopy(a, xg, 8); PipeBarrier<PIPE_MTE2>(); DataCopy(a, xg[8], 8);"),
    ("scalar_read", "missing wait", "GetValue",
     "FULL(a, float, 64); a.GetValue(0); @",
     "FULL(a, float, 64); FLAG(V_S, 0); a.GetValue(0);"),
    ("scalar_write", "missing wait", "Abs",
     "BUF(a, float, 64); a.SetValue(0, 1.0f); Abs(a, a, 1); @",
     "BUF(a, float, 64); a.SetValue(0, 1.0f); FLAG(S_V, 0); Abs(a, a, 1);"),
    # flags and atomics
    ("set_twice", "flag", "SetFlag",
     "SetFlag<HardEvent::V_S>(EVENT_ID0); SetFlag<HardEvent::V_S>(EVENT_ID0); @",
     "SetFlag<HardEvent::V_S>(EVENT_ID0); SetFlag<HardEvent::V_S>(EVENT_ID1);\n"
     "WaitFlag<HardEvent::V_S>(EVENT_ID0); WaitFlag<HardEvent::V_S>(EVENT_ID1);"),
    ("wait_unset", "flag", "WaitFlag",
     "WaitFlag<HardEvent::V_S>(EVENT_ID0); @",
     "SetFlag<HardEvent::V_S>(EVENT_ID0); WaitFlag<HardEvent::V_S>(EVENT_ID0);"),
    ("left_set", "flag", "SetFlag",
     "SetFlag<HardEvent::V_S>(EVENT_ID3); @",
     "SetFlag<HardEvent::V_S>(EVENT_ID3); WaitFlag<HardEvent::V_S>(EVENT_ID3);"),
    ("flag_id", "flag", "SetFlag",
     "int id = 8; SetFlag<HardEvent::V_S>(id); @",
     "int id = 7; SetFlag<HardEvent::V_S>(id); WaitFlag<HardEvent::V_S>(id);"),
    ("atomics_left", "atomic", "SetAtomic",
     "SetAtomicAdd<float>(); @",
     "SetAtomicAdd<float>(); SetAtomicNone();"),
    ("atomic_unset_gm", "unwritten GM", "DataCopy",
     "FULL(a, float, 64); FLAG(V_MTE3, 0); SetAtomicAdd<float>(); DataCopy(yg, a, 8); @",
     "FULL(a, float, 64); FLAG(V_MTE3, 0); DataCopy(yg, a, 8); PipeBarrier<PIPE_MTE3>();\n"
     "SetAtomicAdd<float>(); DataCopy(yg, a, 8); SetAtomicNone();"),
    # global memory
    ("gm_read_end", "GM bounds", "DataCopy",
     "BUF(a, float, 1024); DataCopy(a, xg[252], 8); @",
     "BUF(a, float, 1024); DataCopy(a, xg[248], 8);"),
    ("gm_write_end", "GM bounds", "DataCopyPad",
     "FULL(a, float, 64); FLAG(V_MTE3, 0); DataCopyPad(yg[255], a, {1, 8, 0, 0, 0}); @",
     "FULL(a, float, 64); FLAG(V_MTE3, 0); DataCopyPad(yg[255], a, {1, 4, 0, 0, 0});"),
    ("gm_input", "GM input", "DataCopy",
     "FULL(a, float, 64); FLAG(V_MTE3, 0); DataCopy(xg, a, 8); @",
     "FULL(a, float, 64); FLAG(V_MTE3, 0); DataCopy(yg, a, 8);"),
    ("gm_unwritten", "unwritten GM", "DataCopy",
     "BUF(a, float, 64); DataCopy(a, yg, 8); @",
     "BUF(a, float, 64); DataCopy(a, xg, 8);"),
    ("system_workspace", "GM bounds", "SetValue",
     "GlobalTensor<float> w; w.SetGlobalBuffer((__gm__ float*)workspace); w.SetValue(0, 1.0f); @",
     "GlobalTensor<float> w; w.SetGlobalBuffer((__gm__ float*)GetUserWorkspace(workspace));\n"
     "w.SetValue(0, 1.0f);"),
]

# As above, run on 4 cores.
MULTI_CORE_CASES = [
    ("gm_race", "GM race", "DataCopy",
     "FULL(a, float, 64); FLAG(V_MTE3, 0); DataCopy(yg, a, 8); @",
     "FULL(a, float, 64); FLAG(V_MTE3, 0); DataCopy(yg[GetBlockIdx() * 8], a, 8);"),
    ("gm_read_race", "GM race", "DataCopy",
     "FULL(a, float, 64); FLAG(V_MTE3, 0); DataCopy(yg[GetBlockIdx() * 8], a, 8);\n"
     "BUF(b, float, 64); if (GetBlockIdx() == 3) DataCopy(b, yg, 8); @",
     "FULL(a, float, 64); FLAG(V_MTE3, 0); DataCopy(yg[GetBlockIdx() * 8], a, 8);\n"
     "SyncAll(); BUF(b, float, 64); if (GetBlockIdx() == 3) DataCopy(b, yg, 8);"),
    ("atomic_race", "GM race", "DataCopy",
     "FULL(a, float, 64); FLAG(V_MTE3, 0); if (GetBlockIdx() == 0) DataCopy(yg, a, 8);\n"
     "PipeBarrier<PIPE_MTE3>(); SetAtomicAdd<float>(); DataCopy(yg, a, 8); SetAtomicNone(); @",
     "FULL(a, float, 64); FLAG(V_MTE3, 0); if (GetBlockIdx() == 0) DataCopy(yg, a, 8);\n"
     "SyncAll(); SetAtomicAdd<float>(); DataCopy(yg, a, 8); SetAtomicNone();"),
    ("lonely_sync", "SyncAll", "SyncAll",
     "if (GetBlockIdx() == 2) SyncAll(); @",
     "SyncAll(); SyncAll();"),
    ("sync_kernel_type", "SyncAll", "SyncAll",
     "KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY); SyncAll(); @",
     "KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIV_1_0); SyncAll();"),
]


def table_kernel(cases):
    """One kernel with all bodies: key 2k breaks the rule of case k, key 2k + 1 keeps it."""
    text = ['#include "kernel_operator.h"', "using namespace AscendC;", PRELUDE]
    for number, case in enumerate(cases):
        for key, body in ((2 * number, case[3]), (2 * number + 1, case[4])):
            text.append(
                "void body_{}(GM_ADDR x, GM_ADDR y, GM_ADDR workspace) {{\nTPipe pipe; "
                "GlobalTensor<float> xg, yg; xg.SetGlobalBuffer((__gm__ float*)x); "
                "yg.SetGlobalBuffer((__gm__ float*)y);\n{}\n}}".format(
                    key, body.replace("@", "/* breaks {} */".format(key))))
    text.append('extern "C" __global__ __aicore__ void k(GM_ADDR x, GM_ADDR y, GM_ADDR workspace, '
                "GM_ADDR tiling) {")
    text += ["if (TILING_KEY_IS({0})) body_{0}(x, y, workspace);".format(key)
             for key in range(2 * len(cases))]
    return "\n".join(text + ["}", ""])
