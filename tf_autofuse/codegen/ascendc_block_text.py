"""The device functions of chips that copy whole blocks only (no DataCopyPad) or lack other calls.

What a copy may not touch is left to the scalar unit: on the way in the elements behind the last
block that lies inside the tensor, on the way out rows shorter than a block. The end of a longer row
is written by a block that begins inside the row. A scalar store works on lines of the data cache,
which no other core may write to: `TaskGroup` says how many tasks must stay on one core for that.
"""
from __future__ import annotations

from tf_autofuse.codegen.ascendc_move_text import INSIDE_HEAD, PLACED_HEAD

_LOAD_FEW = """\
// Elements [first, last) of dst from those of src by the scalar unit.
template <typename T>
__aicore__ inline void LoadFew(const AscendC::LocalTensor<T>& dst,
                               const AscendC::GlobalTensor<T>& src, uint32_t first,
                               uint32_t last) {
  Sync<AscendC::HardEvent::V_S>();
  for (uint32_t k = first; k < last; ++k) dst.SetValue(k, src.GetValue(k));
  Sync<AscendC::HardEvent::S_V>();
}
"""
_LOAD_ROW = """\
// `count` elements that lie together in GM, in blocks as far as the tensor goes: src has at least
// `left` elements to its end.
template <typename T>
__aicore__ inline void LoadRow(const AscendC::LocalTensor<T>& dst,
                               const AscendC::GlobalTensor<T>& src, uint32_t count,
                               int64_t left = 0) {
  constexpr uint32_t kBlock = %(block)d / sizeof(T);
  const uint32_t padded = RoundUp(count, kBlock);
  const uint32_t whole = padded <= left ? padded : count / kBlock * kBlock;
  if (whole > 0) AscendC::DataCopy(dst, src, whole);
  if (whole < count) LoadFew(dst, src, whole, count);
}
"""
_LOAD_TILE = """\
// Rows of `cols` elements, `line` elements from row to row in GM and `pitch` in UB; src has at
// least `left` elements to its end.
template <typename T>
__aicore__ inline void LoadTile(const AscendC::LocalTensor<T>& dst,
                                const AscendC::GlobalTensor<T>& src, uint32_t rows, uint32_t cols,
                                uint32_t pitch, int64_t line, int64_t left) {
  constexpr uint32_t kBlock = %(block)d / sizeof(T);
  if (cols == 1 && line == 1 && rows > 1) {
    // A column comes as a row, of which the last element is the first to go to its place.
    LoadRow(dst, src, rows, left);
    Sync<AscendC::HardEvent::MTE2_S>();
    for (uint32_t r = rows - 1; r > 0; --r) dst.SetValue(r * pitch, dst.GetValue(r));
    Sync<AscendC::HardEvent::S_V>();
    return;
  }
  const uint32_t padded = RoundUp(cols, kBlock);
  const int64_t gap = (line - padded) / kBlock;
  if (line %% kBlock == 0 && line >= padded && gap <= UINT16_MAX &&
      (rows - 1) * line + padded <= left) {
    const AscendC::DataCopyParams shape{
        static_cast<uint16_t>(rows), static_cast<uint16_t>(padded / kBlock),
        static_cast<uint16_t>(gap), static_cast<uint16_t>((pitch - padded) / kBlock)};
    AscendC::DataCopy(dst, src, shape);
    return;
  }
  for (uint32_t r = 0; r < rows; ++r) {
    LoadRow(dst[r * pitch], src[r * line], cols, left - r * line);
  }
}
"""
_STORE_FEW = """\
// `count` elements, less than a block, by the scalar unit.
template <typename T>
__aicore__ inline void StoreFew(const AscendC::GlobalTensor<T>& dst,
                                const AscendC::LocalTensor<T>& src, uint32_t count) {
  AscendC::GlobalTensor<T> first = dst, last = dst[count - 1];
  Sync<AscendC::HardEvent::V_S>();
  Sync<AscendC::HardEvent::MTE3_S>();
  AscendC::DataCacheCleanAndInvalid<T, AscendC::CacheLine::SINGLE_CACHE_LINE>(first);
  AscendC::DataCacheCleanAndInvalid<T, AscendC::CacheLine::SINGLE_CACHE_LINE>(last);
  for (uint32_t k = 0; k < count; ++k) first.SetValue(k, src.GetValue(k));
  AscendC::DataCacheCleanAndInvalid<T, AscendC::CacheLine::SINGLE_CACHE_LINE>(first);
  AscendC::DataCacheCleanAndInvalid<T, AscendC::CacheLine::SINGLE_CACHE_LINE>(last);
  Sync<AscendC::HardEvent::S_MTE3>();
}
"""
_STORE_TILE = """\
// Rows of `cols` elements, `line` elements from row to row in GM and `pitch` in UB. Changes src.
template <typename T>
__aicore__ inline void StoreTile(const AscendC::GlobalTensor<T>& dst,
                                 const AscendC::LocalTensor<T>& src, uint32_t rows, uint32_t cols,
                                 uint32_t pitch, int64_t line) {
  constexpr uint32_t kBlock = %(block)d / sizeof(T);
  if (cols < kBlock && cols == line && rows > 1) {
    // Rows that follow one another in GM become one.
    Sync<AscendC::HardEvent::V_S>();
    for (uint32_t r = 1; r < rows; ++r) {
      for (uint32_t c = 0; c < cols; ++c) {
        src.SetValue(r * cols + c, src.GetValue(r * pitch + c));
      }
    }
    Sync<AscendC::HardEvent::S_MTE3>();
    cols *= rows;
    rows = 1;
  }
  if (cols < kBlock) {
    for (uint32_t r = 0; r < rows; ++r) StoreFew(dst[r * line], src[r * pitch], cols);
    return;
  }
  const uint32_t whole = cols / kBlock * kBlock;
  const int64_t gap = (line - whole) / kBlock;
  if (line %% kBlock == 0 && gap <= UINT16_MAX && rows > 1) {
    const AscendC::DataCopyParams shape{
        static_cast<uint16_t>(rows), static_cast<uint16_t>(whole / kBlock),
        static_cast<uint16_t>((pitch - whole) / kBlock), static_cast<uint16_t>(gap)};
    AscendC::DataCopy(dst, src, shape);
  } else {
    for (uint32_t r = 0; r < rows; ++r) AscendC::DataCopy(dst[r * line], src[r * pitch], whole);
  }
  if (whole == cols) return;
  // The last kBlock elements of each row move to where a block begins, and are written once more.
  Sync<AscendC::HardEvent::V_S>();
  for (uint32_t r = 0; r < rows; ++r) {
    for (uint32_t k = kBlock; k > 0; --k) {
      src.SetValue(r * pitch + whole + k - 1, src.GetValue(r * pitch + cols - kBlock + k - 1));
    }
  }
  Sync<AscendC::HardEvent::S_MTE3>();
  AscendC::PipeBarrier<PIPE_MTE3>();
  for (uint32_t r = 0; r < rows; ++r) {
    AscendC::DataCopy(dst[r * line + cols - kBlock], src[r * pitch + whole], kBlock);
  }
}
"""
_STORE_ROW = """\
// `count` elements that lie together in GM. Changes src.
template <typename T>
__aicore__ inline void StoreRow(const AscendC::GlobalTensor<T>& dst,
                                const AscendC::LocalTensor<T>& src, uint32_t count) {
  StoreTile(dst, src, 1, count, 0, count);
}
"""
_TASK_GROUP = """\
// How many parts of `count` elements fill whole lines of the data cache, which has room for `line`.
__aicore__ inline int64_t LinesOf(int64_t line, int64_t count) {
  for (; line > 1 && count %% 2 == 0; count /= 2) line /= 2;
  return line;
}

// Whether tiles of `tile` elements along an axis of `size` may have less than a block.
__aicore__ inline bool HasFew(int64_t size, int64_t tile, int64_t block) {
  const int64_t rest = size %% tile;
  return Smaller(size, tile) < block || (rest > 0 && rest < block);
}

// The least multiple of both numbers; of an empty axis there are no tasks.
__aicore__ inline int64_t TaskGroup(int64_t a, int64_t b) {
  const int64_t most = a < b ? b : a, least = a < b ? a : b;
  int64_t group = most;
  while (least > 0 && group %% least != 0) group += most;
  return group;
}
"""
_LOAD_LINES = """\
// Rows of `cols` elements from element `at` on, `line` elements (of either sign) from row to row in
// GM and `pitch` in UB.
template <typename T>
__aicore__ inline void LoadLines(const AscendC::LocalTensor<T>& dst,
                                 const AscendC::GlobalTensor<T>& gm, int64_t at, uint32_t rows,
                                 uint32_t cols, uint32_t pitch, int64_t line) {
  if (line > 0) {
    LoadTile(dst, gm[at], rows, cols, pitch, line, (rows - 1) * line + cols);
    return;
  }
  for (uint32_t r = 0; r < rows; ++r) LoadRow(dst[r * pitch], gm[at + r * line], cols);
}
"""
_LOAD_INSIDE = INSIDE_HEAD + """\
  const int64_t start = Smaller(RoundUp(left, kBlock), right);
  for (int64_t r = top; r < bottom; ++r) {
    if (left < start) LoadFew(dst[r * pitch], gm[at + r * line], left, start);
    if (start < right) LoadRow(dst[r * pitch + start], gm[at + r * line + start], right - start);
  }
}
"""
_LOAD_PLACED = PLACED_HEAD + """\
  const int64_t start = Smaller(RoundUp(left, kBlock), right);
  for (int64_t r = top; r < bottom; ++r) {
    const int64_t place = places.GetValue(first + r * following);
    if (place < 0 || place >= size) continue;
    const int64_t from = at + r * line + place * step;
    if (left < start) LoadFew(dst[r * pitch], gm[from], left, start);
    if (start < right) LoadRow(dst[r * pitch + start], gm[from + start], right - start);
  }
}
"""
_LOAD_APART = """\
// Rows of `cols` elements from element `at` on, `step` elements apart in GM, `line` from row to
// row, one by one.
template <typename T>
__aicore__ inline void LoadApart(const AscendC::LocalTensor<T>& dst,
                                 const AscendC::GlobalTensor<T>& gm, int64_t at, uint32_t rows,
                                 uint32_t cols, uint32_t pitch, int64_t line, int64_t step) {
  Sync<AscendC::HardEvent::V_S>();
  for (uint32_t r = 0; r < rows; ++r) {
    for (uint32_t c = 0; c < cols; ++c) {
      dst.SetValue(r * pitch + c, gm.GetValue(at + r * line + c * step));
    }
  }
  Sync<AscendC::HardEvent::S_V>();
}
"""
_COPY = """\
// The masked Copy by a call that changes no bit.
template <typename T>
__aicore__ inline void CopyBits(const AscendC::LocalTensor<T>& dst,
                                const AscendC::LocalTensor<T>& src, uint64_t mask, uint8_t repeat,
                                const AscendC::CopyRepeatParams& p) {
  const AscendC::LocalTensor<uint16_t> to = dst.template ReinterpretCast<uint16_t>();
  const AscendC::LocalTensor<uint16_t> from = src.template ReinterpretCast<uint16_t>();
  AscendC::Or(to, from, from, mask * (sizeof(T) / 2), repeat,
              AscendC::BinaryRepeatParams(p.dstStride, p.srcStride, p.srcStride, p.dstRepeatSize,
                                          p.srcRepeatSize, p.srcRepeatSize));
}
"""

BLOCK_TEXTS = (
    ("LoadFew", _LOAD_FEW), ("LoadRow", _LOAD_ROW), ("LoadTile", _LOAD_TILE),
    ("StoreFew", _STORE_FEW), ("StoreTile", _STORE_TILE), ("StoreRow", _STORE_ROW),
    ("TaskGroup", _TASK_GROUP), ("LoadLines", _LOAD_LINES), ("LoadInside", _LOAD_INSIDE),
    ("LoadPlaced", _LOAD_PLACED), ("LoadApart", _LOAD_APART),
)
"""In the place of those of the same name where there is no DataCopyPad."""
BLOCK_NEEDS = {
    "LoadRow": ("LoadFew",), "LoadTile": ("LoadRow", "LoadFew"), "StoreTile": ("StoreFew",),
    "StoreRow": ("StoreTile", "StoreFew"), "LoadOrRepeat": ("LoadRow", "LoadFew"),
    "LoadLines": ("LoadTile", "LoadRow", "LoadFew"),
    "LoadInside": ("Larger", "LoadRow", "LoadFew"),
    "LoadPlaced": ("Larger", "LoadRow", "LoadFew"),
}
COPY_BITS = ("CopyBits", _COPY)
"""In the place of Copy where there is none; it counts the blocks from row to row in 8 bits."""
