"""Device functions that the printed nests call. A kernel gets those it uses."""
from __future__ import annotations

from typing import Dict, FrozenSet, Iterable, List, Set, Tuple

from tf_autofuse.codegen.ascendc_block_text import BLOCK_NEEDS, BLOCK_TEXTS, COPY_BITS
from tf_autofuse.codegen.ascendc_move_text import MOVE_TEXTS

_BASIC = """\
__aicore__ inline uint32_t RoundUp(uint32_t n, uint32_t unit) {
  return (n + unit - 1) / unit * unit;
}

__aicore__ inline int64_t Smaller(int64_t a, int64_t b) { return a < b ? a : b; }

__aicore__ inline int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Makes one pipe wait for what another one was given so far.
template <AscendC::HardEvent event>
__aicore__ inline void Sync() {
  const auto id = GetTPipePtr()->FetchEventID(event);
  AscendC::SetFlag<event>(id);
  AscendC::WaitFlag<event>(id);
}
"""

_LOAD_ROW = """\
// `count` elements that lie together in GM.
template <typename T>
__aicore__ inline void LoadRow(const AscendC::LocalTensor<T>& dst,
                               const AscendC::GlobalTensor<T>& src, uint32_t count) {
  const uint32_t bytes = count * sizeof(T);
  AscendC::DataCopyPad(dst, src, AscendC::DataCopyExtParams{1, bytes, 0, 0, 0},
                       AscendC::DataCopyPadExtParams<T>());
}
"""
_STORE_ROW = """\
// `count` elements that lie together in GM.
template <typename T>
__aicore__ inline void StoreRow(const AscendC::GlobalTensor<T>& dst,
                                const AscendC::LocalTensor<T>& src, uint32_t count) {
  const uint32_t bytes = count * sizeof(T);
  AscendC::DataCopyPad(dst, src, AscendC::DataCopyExtParams{1, bytes, 0, 0, 0});
}
"""
_TILE_SHAPE = """\
// Blocks between the rows of a tile in UB.
template <typename T>
__aicore__ inline uint32_t RowGap(uint32_t cols, uint32_t pitch) {
  return (pitch * sizeof(T) - RoundUp(cols * sizeof(T), %(block)d)) / %(block)d;
}
"""
_LOAD_TILE = """\
// Rows of `cols` elements, `line` elements from row to row in GM and `pitch` in UB.
template <typename T>
__aicore__ inline void LoadTile(const AscendC::LocalTensor<T>& dst,
                                const AscendC::GlobalTensor<T>& src, uint32_t rows, uint32_t cols,
                                uint32_t pitch, int64_t line) {
  const uint32_t bytes = cols * sizeof(T);
  const uint32_t gap = (line - cols) * sizeof(T);
  const AscendC::DataCopyExtParams shape{static_cast<uint16_t>(rows), bytes, gap,
                                         RowGap<T>(cols, pitch), 0};
  AscendC::DataCopyPad(dst, src, shape, AscendC::DataCopyPadExtParams<T>());
}
"""
_STORE_TILE = """\
// Rows of `cols` elements, `line` elements from row to row in GM and `pitch` in UB.
template <typename T>
__aicore__ inline void StoreTile(const AscendC::GlobalTensor<T>& dst,
                                 const AscendC::LocalTensor<T>& src, uint32_t rows, uint32_t cols,
                                 uint32_t pitch, int64_t line) {
  const uint32_t bytes = cols * sizeof(T);
  const uint32_t gap = (line - cols) * sizeof(T);
  const AscendC::DataCopyExtParams shape{static_cast<uint16_t>(rows), bytes,
                                         RowGap<T>(cols, pitch), gap, 0};
  AscendC::DataCopyPad(dst, src, shape);
}
"""
_LOAD_OR_REPEAT = """\
// `count` elements from src, or the first one repeated where the stride is 0.
template <typename T>
__aicore__ inline void LoadOrRepeat(const AscendC::LocalTensor<T>& dst,
                                    const AscendC::GlobalTensor<T>& src, uint32_t count,
                                    bool moves) {
  if (moves) {
    LoadRow(dst, src, count);
    return;
  }
  const T value = src.GetValue(0);
  if constexpr (sizeof(T) == 1) {
    // Duplicate has no 8-bit form: two equal bytes make a 16-bit element.
    const uint16_t byte = static_cast<uint8_t>(value);
    AscendC::Duplicate(dst.template ReinterpretCast<uint16_t>(),
                       static_cast<uint16_t>(byte << 8 | byte), (count + 1) / 2);
  } else {
    AscendC::Duplicate(dst, value, count);
  }
}
"""
_SPREAD_ONE = """\
// The one element of src, `count` times.
template <typename T>
__aicore__ inline void SpreadOne(const AscendC::LocalTensor<T>& dst,
                                 const AscendC::LocalTensor<T>& src, uint32_t count) {
  Sync<AscendC::HardEvent::V_S>();
  AscendC::Duplicate(dst, src.GetValue(0), count);
  Sync<AscendC::HardEvent::S_V>();
}
"""
_COPY_ALONG = """\
// `cols` elements from src, or (kRow false) its first block over and over.
template <bool kRow, typename T>
__aicore__ inline void CopyAlong(const AscendC::LocalTensor<T>& dst,
                                 const AscendC::LocalTensor<T>& src, uint32_t cols) {
  constexpr uint32_t kWidth = %(repeat)d / sizeof(T);
  constexpr uint32_t kStep = kRow ? kWidth : 0;
  const AscendC::CopyRepeatParams params(1, kRow ? 1 : 0, 8, kRow ? 8 : 0);
  const uint32_t whole = cols / kWidth;
  for (uint32_t k = 0; k < whole; k += %(most)d) {
    const uint8_t repeat = Smaller(%(most)d, whole - k);
    %(copy)s(dst[k * kWidth], src[k * kStep], kWidth, repeat, params);
  }
  const uint64_t rest = cols - whole * kWidth;
  if (rest > 0) %(copy)s(dst[whole * kWidth], src[whole * kStep], rest, 1, params);
}
"""
_SPREAD_ROW = """\
// The row src in every row of the tile.
template <typename T>
__aicore__ inline void SpreadRow(const AscendC::LocalTensor<T>& dst,
                                 const AscendC::LocalTensor<T>& src, uint32_t rows, uint32_t cols,
                                 uint32_t pitch) {
  constexpr uint32_t kWidth = %(repeat)d / sizeof(T);
  if (%(row_wise)s) {
    for (uint32_t r = 0; r < rows; ++r) CopyAlong<true>(dst[r * pitch], src, cols);
    return;
  }
  const uint16_t blocks = pitch * sizeof(T) / %(block)d;
  for (uint32_t c = 0; c < cols; c += kWidth) {
    const uint64_t mask = Smaller(kWidth, cols - c);
    for (uint32_t r = 0; r < rows; r += %(most)d) {
      const uint8_t repeat = Smaller(%(most)d, rows - r);
      %(copy)s(dst[r * pitch + c], src[c], mask, repeat,
                    AscendC::CopyRepeatParams(1, 1, blocks, 0));
    }
  }
}
"""
_SPREAD_COLUMN = """\
// Element r of src all along row r of the tile; scratch takes a block per row.
template <typename T>
__aicore__ inline void SpreadColumn(const AscendC::LocalTensor<T>& dst,
                                    const AscendC::LocalTensor<T>& src,
                                    const AscendC::LocalTensor<T>& scratch, uint32_t rows,
                                    uint32_t cols, uint32_t pitch) {
  constexpr uint32_t kWidth = %(repeat)d / sizeof(T);
  constexpr uint32_t kBlock = %(block)d / sizeof(T);
  for (uint32_t r = 0; r < rows; r += 2040) {
    AscendC::Brcb(scratch[r * kBlock], src[r], CeilDiv(Smaller(2040, rows - r), 8),
                  AscendC::BrcbRepeatParams(1, 8));
  }
  AscendC::PipeBarrier<PIPE_V>();
  if (%(row_wise)s) {
    for (uint32_t r = 0; r < rows; ++r) {
      CopyAlong<false>(dst[r * pitch], scratch[r * kBlock], cols);
    }
    return;
  }
  const uint16_t blocks = pitch * sizeof(T) / %(block)d;
  for (uint32_t c = 0; c < cols; c += kWidth) {
    const uint64_t mask = Smaller(kWidth, cols - c);
    for (uint32_t r = 0; r < rows; r += %(most)d) {
      const uint8_t repeat = Smaller(%(most)d, rows - r);
      %(copy)s(dst[r * pitch + c], scratch[r * kBlock], mask, repeat,
                    AscendC::CopyRepeatParams(1, 0, blocks, 1));
    }
  }
}
"""
_FOLD = """\
// Folds `total` elements of src, `unit` at a time, into acc with %(call)s. By halves, so that
// rounding errors grow with the depth only. src and scratch may be the same buffer.
template <bool kCopy, typename T>
__aicore__ inline void Fold%(call)s(const AscendC::LocalTensor<T>& acc,
                               const AscendC::LocalTensor<T>& src,
                               const AscendC::LocalTensor<T>& scratch, uint32_t total,
                               uint32_t unit) {
  if (total <= unit) {
    AscendC::%(call)s(acc, acc, src, total);
    return;
  }
  uint32_t half = unit;
  while (half * 2 < total) half *= 2;
  if (kCopy) {
    AscendC::DataCopy(scratch, src, half);
    AscendC::PipeBarrier<PIPE_V>();
  }
  AscendC::%(call)s(scratch, scratch, src[half], total - half);
  AscendC::PipeBarrier<PIPE_V>();
  for (half /= 2; half >= unit; half /= 2) {
    AscendC::%(call)s(scratch, scratch, scratch[half], half);
    AscendC::PipeBarrier<PIPE_V>();
  }
  AscendC::%(call)s(acc, acc, scratch, unit);
}
"""
_FOLD_ROWS = """\
// Folds each row of the tile into its register of acc with %(call)s.
template <bool kCopy, typename T>
__aicore__ inline void FoldRows%(call)s(const AscendC::LocalTensor<T>& acc,
                                   const AscendC::LocalTensor<T>& src,
                                   const AscendC::LocalTensor<T>& scratch, uint32_t rows,
                                   uint32_t cols, uint32_t pitch) {
  constexpr uint32_t kWidth = %(repeat)d / sizeof(T);
  const uint32_t blocks = pitch * sizeof(T) / %(block)d;
  if (blocks > %(most)d || rows * kWidth * 8 < cols) {
    for (uint32_t r = 0; r < rows; ++r) {
      Fold%(call)s<kCopy>(acc[r * kWidth], src[r * pitch], scratch[r * pitch], cols, kWidth);
    }
    return;
  }
  const AscendC::BinaryRepeatParams params(1, 1, 1, 8, 8, static_cast<uint8_t>(blocks));
  for (uint32_t c = 0; c < cols; c += kWidth) {
    const uint64_t mask = Smaller(kWidth, cols - c);
    for (uint32_t r = 0; r < rows; r += %(most)d) {
      const uint8_t repeat = Smaller(%(most)d, rows - r);
      AscendC::%(call)s(acc[r * kWidth], acc[r * kWidth], src[r * pitch + c], mask, repeat, params);
    }
    AscendC::PipeBarrier<PIPE_V>();
  }
}
"""
_FOLD_TILE = """\
// Folds all of a tile into one register with %(call)s: rows by halves, then the row that is left.
template <bool kCopy, typename T>
__aicore__ inline void FoldTile%(call)s(const AscendC::LocalTensor<T>& acc,
                                   const AscendC::LocalTensor<T>& src,
                                   const AscendC::LocalTensor<T>& scratch, uint32_t rows,
                                   uint32_t cols, uint32_t pitch) {
  constexpr uint32_t kWidth = %(repeat)d / sizeof(T);
  if (rows == 1) {
    Fold%(call)s<kCopy>(acc, src, scratch, cols, kWidth);
    return;
  }
  uint32_t half = pitch;
  while (half * 2 < rows * pitch) half *= 2;
  if (kCopy) {
    AscendC::DataCopy(scratch, src, half);
    AscendC::PipeBarrier<PIPE_V>();
  }
  AscendC::%(call)s(scratch, scratch, src[half], rows * pitch - half);
  AscendC::PipeBarrier<PIPE_V>();
  for (half /= 2; half >= pitch; half /= 2) {
    AscendC::%(call)s(scratch, scratch, scratch[half], half);
    AscendC::PipeBarrier<PIPE_V>();
  }
  Fold%(call)s<false>(acc, scratch, scratch, cols, kWidth);
}
"""
_FINISH = """\
// Reduces the register of each row to one element.
template <typename T>
__aicore__ inline void Finish%(call)s(const AscendC::LocalTensor<T>& dst,
                                 const AscendC::LocalTensor<T>& acc, uint32_t rows) {
  constexpr uint32_t kWidth = %(repeat)d / sizeof(T);
  for (uint32_t r = 0; r < rows; r += %(most)d) {
    AscendC::WholeReduce%(word)s(dst[r], acc[r * kWidth], kWidth, Smaller(%(most)d, rows - r), 1,
                            1, 8%(order)s);
  }
}
"""
_FINISH_BLOCKS = """\
// Reduces the register of each row to one element: its blocks, then what these gave, 8 rows at a
// time, of which UB has no room for more than one call takes. scratch takes a block per row.
template <typename T>
__aicore__ inline void FinishBlocks%(call)s(const AscendC::LocalTensor<T>& dst,
                                       const AscendC::LocalTensor<T>& acc,
                                       const AscendC::LocalTensor<T>& scratch, uint32_t rows) {
  constexpr uint32_t kWidth = %(repeat)d / sizeof(T);
  constexpr uint32_t kBlock = %(block)d / sizeof(T);
  for (uint32_t r = 0; r < rows; r += %(most)d) {
    AscendC::BlockReduce%(word)s(scratch[r * kBlock], acc[r * kWidth], Smaller(%(most)d, rows - r),
                            kWidth, 1, 1, 8);
  }
  AscendC::PipeBarrier<PIPE_V>();
  const uint32_t whole = rows / kBlock, rest = rows %% kBlock;
  if (whole > 0) AscendC::BlockReduce%(word)s(dst, scratch, whole, kWidth, 1, 1, 8);
  if (rest > 0) {
    AscendC::BlockReduce%(word)s(dst[whole * kBlock], scratch[whole * kWidth], 1, rest * kBlock,
                            1, 1, 8);
  }
}
"""
_FINISH_HALVES = """\
// Reduces the register of each row to one element: by halves, the last block by the scalar unit.
template <typename T>
__aicore__ inline void FinishHalves%(call)s(const AscendC::LocalTensor<T>& dst,
                                       const AscendC::LocalTensor<T>& acc, uint32_t rows) {
  constexpr uint32_t kWidth = %(repeat)d / sizeof(T);
  constexpr uint32_t kBlock = %(block)d / sizeof(T);
  for (uint32_t half = kWidth / 2; half >= kBlock; half /= 2) {
    for (uint32_t r = 0; r < rows; r += %(most)d) {
      const uint8_t repeat = Smaller(%(most)d, rows - r);
      AscendC::%(call)s(acc[r * kWidth], acc[r * kWidth], acc[r * kWidth + half],
                   static_cast<uint64_t>(half), repeat,
                   AscendC::BinaryRepeatParams(1, 1, 1, 8, 8, 8));
    }
    AscendC::PipeBarrier<PIPE_V>();
  }
  Sync<AscendC::HardEvent::V_S>();
  for (uint32_t r = 0; r < rows; ++r) {
    T total = acc.GetValue(r * kWidth);
    for (uint32_t k = 1; k < kBlock; ++k) {
      const T next = acc.GetValue(r * kWidth + k);
      total = %(scalar)s;
    }
    dst.SetValue(r, total);
  }
  Sync<AscendC::HardEvent::S_V>();
}
"""
_NEEDS: Dict[str, Tuple[str, ...]] = {
    "LoadTile": ("RowGap",), "StoreTile": ("RowGap",), "LoadOrRepeat": ("LoadRow",),
    "LoadLines": ("LoadRow", "LoadTile", "RowGap"), "LoadInside": ("Larger",),
    "LoadPlaced": ("Larger",),
    "SpreadRow": ("CopyAlong",), "SpreadColumn": ("CopyAlong",),
}
_TEXTS = (
    ("LoadRow", _LOAD_ROW), ("StoreRow", _STORE_ROW), ("RowGap", _TILE_SHAPE),
    ("LoadTile", _LOAD_TILE), ("StoreTile", _STORE_TILE), ("LoadOrRepeat", _LOAD_OR_REPEAT),
    ("CopyAlong", _COPY_ALONG), ("SpreadOne", _SPREAD_ONE), ("SpreadRow", _SPREAD_ROW),
    ("SpreadColumn", _SPREAD_COLUMN),
) + MOVE_TEXTS
_CALLS = (
    ("Add", "Sum", "", "total + next"),
    ("Mul", "", "", "total * next"),
    ("Max", "Max", ", AscendC::ReduceOrder::ORDER_ONLY_VALUE",
     "next <= total || total != total ? total : next"),
    ("Min", "Min", ", AscendC::ReduceOrder::ORDER_ONLY_VALUE",
     "next >= total || total != total ? total : next"),
)


def print_helpers(used: Iterable[str], numbers: Dict[str, int],
                  lacks: FrozenSet[str] = frozenset()) -> str:
    """The helpers called `used` and what they need; `numbers` has block, repeat and most.

    `lacks` are the calls that the chip has not.
    """
    texts: Tuple[Tuple[str, str], ...] = _TEXTS
    needs = _NEEDS
    fixed: Dict[str, object] = dict(numbers, copy="AscendC::Copy", row_wise="rows * kWidth < cols")
    if "DataCopyPad" in lacks:
        names = [name for name, _ in BLOCK_TEXTS]
        texts = BLOCK_TEXTS + tuple(text for text in _TEXTS if text[0] not in names)
        needs = dict(_NEEDS, **BLOCK_NEEDS)
    if "Copy" in lacks:
        texts = (COPY_BITS,) + texts
        needs = dict(needs, CopyAlong=("CopyBits",), SpreadRow=("CopyAlong", "CopyBits"),
                     SpreadColumn=("CopyAlong", "CopyBits"))
        fixed.update(copy="CopyBits", row_wise="rows * kWidth < cols || pitch * sizeof(T) "
                     "> %d * %d" % (numbers["most"], numbers["block"]))
    wanted: Set[str] = set(used)
    for name in list(wanted):
        wanted.update(needs.get(name, ()))
        if name.startswith(("FoldRows", "FoldTile")):
            wanted.add("Fold" + name[len("FoldRows"):])
    parts: List[str] = [_BASIC]
    parts += [text % fixed for name, text in texts if name in wanted]
    for call, word, order, scalar in _CALLS:
        fields = dict(fixed, call=call, word=word, order=order, scalar=scalar)
        for prefix, text in (("Fold", _FOLD), ("FoldRows", _FOLD_ROWS), ("FoldTile", _FOLD_TILE),
                             ("Finish", _FINISH), ("FinishBlocks", _FINISH_BLOCKS),
                             ("FinishHalves", _FINISH_HALVES)):
            if prefix + call in wanted:
                parts.append(text % fields)
    return "namespace {\n\n" + "\n".join(parts) + "\n}  // namespace\n"
