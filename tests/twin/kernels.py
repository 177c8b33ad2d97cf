"""Kernel texts the twin tests share, written as the generator writes them."""

import struct

ABS_RELU_EXP = r"""
#include "kernel_operator.h"
using namespace AscendC;

struct AreTiling {
  int64_t count;      // elements of the tensor
  int64_t per_block;  // elements of one block, a multiple of tile
  int64_t tile;       // elements of one tile
};

class AbsReluExp {
 public:
  __aicore__ inline AbsReluExp() {}

  __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, const AreTiling& t, TPipe* pipe) {
    const int64_t begin = GetBlockIdx() * t.per_block;
    tile_ = t.tile;
    left_ = t.count - begin < t.per_block ? t.count - begin : t.per_block;
    x_gm_.SetGlobalBuffer((__gm__ half*)x + begin);
    y_gm_.SetGlobalBuffer((__gm__ half*)y + begin);
    pipe->InitBuffer(x_que_, 2, tile_ * sizeof(half));
    pipe->InitBuffer(y_que_, 2, tile_ * sizeof(half));
    pipe->InitBuffer(wide_buf_, tile_ * sizeof(float));
  }

  __aicore__ inline void Process() {
    for (int64_t at = 0; at < left_; at += tile_) {
      const uint32_t n = static_cast<uint32_t>(left_ - at < tile_ ? left_ - at : tile_);
      CopyIn(at, n);
      Compute(n);
      CopyOut(at, n);
    }
  }

 private:
  __aicore__ inline void CopyIn(int64_t at, uint32_t n) {
    LocalTensor<half> x = x_que_.AllocTensor<half>();
    DataCopyExtParams params{1, static_cast<uint32_t>(n * sizeof(half)), 0, 0, 0};
    DataCopyPadExtParams<half> pad{false, 0, 0, 0};
    DataCopyPad(x, x_gm_[at], params, pad);
    x_que_.EnQue(x);
  }

  __aicore__ inline void Compute(uint32_t n) {
    LocalTensor<half> x = x_que_.DeQue<half>();
    LocalTensor<half> y = y_que_.AllocTensor<half>();
    LocalTensor<float> wide = wide_buf_.Get<float>();
    Abs(x, x, n);
    PipeBarrier<PIPE_V>();
    Relu(x, x, n);
    PipeBarrier<PIPE_V>();
    Cast(wide, x, RoundMode::CAST_NONE, n);
    PipeBarrier<PIPE_V>();
    Exp(wide, wide, n);
    PipeBarrier<PIPE_V>();
    Cast(y, wide, RoundMode::CAST_RINT, n);
    PipeBarrier<PIPE_V>();
    y_que_.EnQue(y);
    x_que_.FreeTensor(x);
  }

  __aicore__ inline void CopyOut(int64_t at, uint32_t n) {
    LocalTensor<half> y = y_que_.DeQue<half>();
    DataCopyExtParams params{1, static_cast<uint32_t>(n * sizeof(half)), 0, 0, 0};
    DataCopyPad(y_gm_[at], y, params);
    y_que_.FreeTensor(y);
  }

  GlobalTensor<half> x_gm_, y_gm_;
  TQue<TPosition::VECIN, 1> x_que_;
  TQue<TPosition::VECOUT, 1> y_que_;
  TBuf<TPosition::VECCALC> wide_buf_;
  int64_t tile_ = 0, left_ = 0;
};

extern "C" __global__ __aicore__ void abs_relu_exp(GM_ADDR x, GM_ADDR y, GM_ADDR workspace,
                                                   GM_ADDR tiling) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  REGISTER_TILING_DEFAULT(AreTiling);
  GET_TILING_DATA(t, tiling);
  TPipe pipe;
  AbsReluExp kernel;
  kernel.Init(x, y, t, &pipe);
  kernel.Process();
}
"""

ROW_SUM = r"""
#include "kernel_operator.h"
using namespace AscendC;

struct RowSumTiling {
  int64_t rows, columns;   // of the tensor
  int64_t rows_per_block;  // a multiple of tile_rows
  int64_t tile_rows;       // rows held in UB at once
};

extern "C" __global__ __aicore__ void row_sum(GM_ADDR x, GM_ADDR y, GM_ADDR workspace,
                                              GM_ADDR tiling) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  GET_TILING_DATA_WITH_STRUCT(RowSumTiling, t, tiling);
  const int64_t begin = GetBlockIdx() * t.rows_per_block;
  const int64_t end = begin + t.rows_per_block < t.rows ? begin + t.rows_per_block : t.rows;
  const uint32_t row_bytes = static_cast<uint32_t>(t.columns * sizeof(float));
  const uint32_t pitch_bytes = (row_bytes + 31) / 32 * 32;
  TPipe pipe;
  TQue<TPosition::VECIN, 1> x_que;
  TQue<TPosition::VECOUT, 1> y_que;
  TBuf<TPosition::VECCALC> scratch_buf;
  pipe.InitBuffer(x_que, 2, t.tile_rows * pitch_bytes);
  pipe.InitBuffer(y_que, 2, t.tile_rows * sizeof(float));
  pipe.InitBuffer(scratch_buf, t.tile_rows * pitch_bytes);
  GlobalTensor<float> x_gm, y_gm;
  x_gm.SetGlobalBuffer((__gm__ float*)x);
  y_gm.SetGlobalBuffer((__gm__ float*)y);
  for (int64_t row = begin; row < end; row += t.tile_rows) {
    const int64_t rows = end - row < t.tile_rows ? end - row : t.tile_rows;
    LocalTensor<float> in = x_que.AllocTensor<float>();
    DataCopyExtParams in_params{static_cast<uint16_t>(rows), row_bytes, 0, 0, 0};
    DataCopyPadExtParams<float> pad{false, 0, 0, 0};
    DataCopyPad(in, x_gm[row * t.columns], in_params, pad);
    x_que.EnQue(in);

    LocalTensor<float> x_ub = x_que.DeQue<float>();
    LocalTensor<float> y_ub = y_que.AllocTensor<float>();
    LocalTensor<uint8_t> scratch = scratch_buf.Get<uint8_t>();
    const uint32_t shape[2] = {static_cast<uint32_t>(rows), static_cast<uint32_t>(t.columns)};
    ReduceSum<float, Pattern::Reduce::AR, false>(y_ub, x_ub, scratch, shape, true);
    PipeBarrier<PIPE_V>();
    y_que.EnQue(y_ub);
    x_que.FreeTensor(x_ub);

    LocalTensor<float> out = y_que.DeQue<float>();
    DataCopyExtParams out_params{1, static_cast<uint32_t>(rows * sizeof(float)), 0, 0, 0};
    DataCopyPad(y_gm[row], out, out_params);
    y_que.FreeTensor(out);
  }
}
"""


def int64s(*values):
    """Tiling bytes of a struct of int64_t."""
    return struct.pack("<%dq" % len(values), *values)
