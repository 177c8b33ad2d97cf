"""Device functions that load tiles whose elements do not simply lie together."""
from __future__ import annotations

_LARGER = """\
__aicore__ inline int64_t Larger(int64_t a, int64_t b) { return a > b ? a : b; }
"""
_LOAD_LINES = """\
// Rows of `cols` elements from element `at` on, `line` elements (of either sign) from row to row in
// GM and `pitch` in UB.
template <typename T>
__aicore__ inline void LoadLines(const AscendC::LocalTensor<T>& dst,
                                 const AscendC::GlobalTensor<T>& gm, int64_t at, uint32_t rows,
                                 uint32_t cols, uint32_t pitch, int64_t line) {
  const uint32_t bytes = cols * sizeof(T);
  const int64_t gap = (line - cols) * static_cast<int64_t>(sizeof(T));
  if (rows > 1 && gap >= 0 && gap <= UINT32_MAX) {
    LoadTile(dst, gm[at], rows, cols, pitch, line);
    return;
  }
  for (uint32_t r = 0; r < rows; ++r) LoadRow(dst[r * pitch], gm[at + r * line], cols);
}
"""
# Zeros all over a tile of which a part is not there.
_ZERO_TILE = """\
    const uint32_t bytes = rows > 1 ? rows * pitch * sizeof(T) : cols * sizeof(T);
    AscendC::Duplicate(dst.template ReinterpretCast<uint16_t>(), static_cast<uint16_t>(0),
                       RoundUp(bytes, %(block)d) / 2);
    Sync<AscendC::HardEvent::V_MTE2>();
  }
"""
# Columns [left, right) with what fills the blocks at both ends.
_PAD_TO_BLOCKS = """\
  const uint32_t count = right - left;
  const uint8_t before = left %% kBlock;
  const uint8_t behind = (kBlock - (before + count) %% kBlock) %% kBlock;
  const AscendC::DataCopyPadExtParams<T> pad{true, before, behind, T()};
  const uint32_t bytes = count * sizeof(T);
"""
INSIDE_HEAD = """\
// As LoadLines, but only rows [top, bottom) and columns [left, right) are there; zeros stand in the
// place of the others.
template <typename T>
__aicore__ inline void LoadInside(const AscendC::LocalTensor<T>& dst,
                                  const AscendC::GlobalTensor<T>& gm, int64_t at, uint32_t rows,
                                  uint32_t cols, uint32_t pitch, int64_t line, int64_t top,
                                  int64_t bottom, int64_t left, int64_t right) {
  constexpr uint32_t kBlock = %(block)d / sizeof(T);
  if (top > 0 || left > 0 || bottom < rows || right < cols) {
""" + _ZERO_TILE + """\
  if (top >= bottom || left >= right) return;
"""
_LOAD_INSIDE = INSIDE_HEAD + _PAD_TO_BLOCKS + """\
  for (int64_t r = top; r < bottom; ++r) {
    AscendC::DataCopyPad(dst[r * pitch + left - before], gm[at + r * line + left],
                         AscendC::DataCopyExtParams{1, bytes, 0, 0, 0}, pad);
  }
}
"""
PLACED_HEAD = """\
// As LoadInside, but each row lies where `places` says: `step` elements for every coordinate, of
// which there are `size`. Rows at no coordinate are zero.
template <typename T, typename I>
__aicore__ inline void LoadPlaced(const AscendC::LocalTensor<T>& dst,
                                  const AscendC::GlobalTensor<T>& gm, int64_t at, uint32_t rows,
                                  uint32_t cols, uint32_t pitch, int64_t line, int64_t top,
                                  int64_t bottom, int64_t left, int64_t right,
                                  const AscendC::GlobalTensor<I>& places, int64_t first,
                                  int64_t following, int64_t step, int64_t size) {
  constexpr uint32_t kBlock = %(block)d / sizeof(T);
  bool whole = top <= 0 && left <= 0 && bottom >= rows && right >= cols;
  for (int64_t r = top; r < bottom; ++r) {
    const int64_t place = places.GetValue(first + r * following);
    whole = whole && place >= 0 && place < size;
  }
  if (!whole) {
""" + _ZERO_TILE + """\
  if (left >= right) return;
"""
_LOAD_PLACED = PLACED_HEAD + _PAD_TO_BLOCKS + """\
  for (int64_t r = top; r < bottom; ++r) {
    const int64_t place = places.GetValue(first + r * following);
    if (place < 0 || place >= size) continue;
    AscendC::DataCopyPad(dst[r * pitch + left - before], gm[at + r * line + place * step + left],
                         AscendC::DataCopyExtParams{1, bytes, 0, 0, 0}, pad);
  }
}
"""
_LOAD_APART = """\
// Rows of `cols` elements from element `at` on, `step` elements apart in GM, `line` from row to
// row. They come in blocks, each with a column of all rows (which are neighbours) or with one
// element, and are gathered from there.
template <bool kTogether, typename T>
__aicore__ inline void LoadApart(const AscendC::LocalTensor<T>& dst,
                                 const AscendC::GlobalTensor<T>& gm, int64_t at, uint32_t rows,
                                 uint32_t cols, uint32_t pitch, int64_t line, int64_t step,
                                 const AscendC::LocalTensor<T>& blocks,
                                 const AscendC::LocalTensor<int32_t>& places) {
  const uint32_t burst = kTogether ? rows : 1;
  const uint32_t bytes = burst * sizeof(T);
  const int32_t width = step == 0 ? 0 : RoundUp(bytes, %(block)d);
  const uint32_t gap = step == 0 ? 0 : ((step < 0 ? -step : step) - burst) * sizeof(T);
  for (uint32_t c = 0; c < cols; c += %(moved)d) {
    const uint32_t count = Smaller(%(moved)d, cols - c);
    AscendC::PipeBarrier<PIPE_V>();
    AscendC::CreateVecIndex(places, static_cast<int32_t>(0), count);
    AscendC::PipeBarrier<PIPE_V>();
    AscendC::Muls(places, places, step < 0 ? -width : width, count);
    AscendC::PipeBarrier<PIPE_V>();
    if (step < 0) {
      AscendC::Adds(places, places, static_cast<int32_t>(count - 1) * width, count);
      AscendC::PipeBarrier<PIPE_V>();
    }
    const int64_t first = at + (step < 0 ? c + count - 1 : c) * step;
    const uint16_t copies = step == 0 ? 1 : count;
    for (uint32_t r = 0; r < rows; r += burst) {
      Sync<AscendC::HardEvent::V_MTE2>();
      AscendC::DataCopyPad(blocks, gm[first + r * line],
                           AscendC::DataCopyExtParams{copies, bytes, gap, 0, 0},
                           AscendC::DataCopyPadExtParams<T>());
      Sync<AscendC::HardEvent::MTE2_V>();
      for (uint32_t k = 0; k < burst; ++k) {
        AscendC::Gather(dst[(r + k) * pitch + c], blocks, places.ReinterpretCast<uint32_t>(),
                        static_cast<uint32_t>(k * sizeof(T)), count);
      }
    }
  }
}
"""
MOVE_TEXTS = (
    ("Larger", _LARGER), ("LoadLines", _LOAD_LINES), ("LoadApart", _LOAD_APART),
    ("LoadInside", _LOAD_INSIDE), ("LoadPlaced", _LOAD_PLACED),
)
