// Picking and exchanging lanes: GatherMask, Transpose, TransDataTo5HD, and the sums of neighbours.
#ifndef ASCENDC_TWIN_PICK_H_
#define ASCENDC_TWIN_PICK_H_

#include "high_level_more.h"

namespace ascendc_twin {

// The lanes of a built-in pattern: 1 and 2 every second lane, 3 to 6 every fourth one, 7 all.
inline bool PatternTakes(uint8_t pattern, uint32_t lane) {
  if (pattern <= 2) return lane % 2 == pattern - 1u;
  return pattern == 7 || lane % 4 == pattern - 3u;
}

// Moves the lanes that take(repeat, lane) names next to each other; how many there were.
template <class T, class F>
uint64_t GatherMaskOp(const Local<T>& dst, const Local<T>& src, bool reduce_mode, uint32_t mask,
                      const AscendC::GatherMaskParams& p, F take, Loc at) {
  const char* const api = "GatherMask";
  RequireType<T>(kFillable, api, at);
  constexpr uint32_t per_block = kBlockBytes / sizeof(T);
  const uint32_t lanes = reduce_mode ? mask : kRepeatBytes / sizeof(T);
  if (p.repeatTimes == 0 || lanes == 0) return 0;
  Core& core = This();
  core.Issue(kPipeV);
  CountVector(Extent::Count(int64_t{p.repeatTimes} * lanes), sizeof(T), api);
  const auto address = [&](uint32_t repeat, uint32_t lane) {
    return static_cast<uint32_t>(
        src.place.address +
        (uint64_t{repeat} * p.src0RepeatStride + uint64_t{p.src0BlockStride} * (lane / per_block)) *
            kBlockBytes +
        lane % per_block * sizeof(T));
  };
  const uint64_t last = address(p.repeatTimes - 1, lanes - 1) + sizeof(T);
  core.CheckPlace(src.place, last - src.place.address, kBlockBytes, at, api);
  std::vector<std::pair<T, bool>> kept;
  for (uint32_t r = 0; r < p.repeatTimes; ++r) {
    for (uint32_t lane = 0; lane < lanes; ++lane) {
      const uint32_t from = address(r, lane);
      core.ReadUb(kPipeV, from, sizeof(T), at, api);
      if (!take(r, lane)) continue;
      kept.emplace_back(Load<T>(core.ub.get() + from), core.Valid(from, sizeof(T)));
    }
  }
  core.CheckPlace(dst.place, kept.size() * sizeof(T), kBlockBytes, at, api);
  core.WriteUb(kPipeV, dst.place.address, uint32_t(kept.size() * sizeof(T)), at, api);
  uint32_t to = dst.place.address;
  for (const auto& lane : kept) {
    Store<T>(core.ub.get() + to, lane.first);
    core.SetValid(to, sizeof(T), lane.second);
    to += sizeof(T);
  }
  // The scalar unit reads the count, and waits for it.
  core.Learn(kPipeS, core.Snapshot(kPipeV));
  return kept.size();
}

// The 16 rows of a transposition, by address; they may lie in any buffer.
template <class T>
void TransposeRows(const uint64_t dst[16], const uint64_t src[16], uint32_t rows_out,
                   const char* api, Loc at) {
  Core& core = This();
  constexpr uint32_t columns = kBlockBytes / sizeof(T);
  std::vector<T> values(16 * columns);
  std::vector<uint8_t> good(16 * columns);
  for (uint32_t i = 0; i < 16; ++i) {
    core.ReadUb(kPipeV, uint32_t(src[i]), kBlockBytes, at, api);
    for (uint32_t k = 0; k < columns; ++k) {
      const uint32_t from = uint32_t(src[i] + k * sizeof(T));
      values[i * columns + k] = Load<T>(core.ub.get() + from);
      good[i * columns + k] = core.Valid(from, sizeof(T));
    }
  }
  // Row i of the result is column i of the source: 16 elements, in one block or in two.
  const uint32_t blocks = 16 * sizeof(T) / kBlockBytes;
  for (uint32_t i = 0; i < rows_out; ++i) {
    for (uint32_t k = 0; k < 16; ++k) {
      const uint64_t row = dst[i * blocks + k / columns];
      const uint32_t to = uint32_t(row + k % columns * sizeof(T));
      core.WriteUb(kPipeV, to, sizeof(T), at, api);
      Store<T>(core.ub.get() + to, values[k * columns + i]);
      core.SetValid(to, sizeof(T), good[k * columns + i]);
    }
  }
}

// The buffer of UB that holds a row.
inline void CheckRow(uint64_t address, const char* api, Loc at) {
  for (const Buffer& b : This().buffers) {
    if (address < b.start || address + kBlockBytes > b.start + b.bytes) continue;
    if (address % kBlockBytes == 0) return;
    Refuse(at, api, "alignment", "row at UB address %llu is not aligned to 32 bytes",
           static_cast<unsigned long long>(address));
  }
  Refuse(at, api, "UB bounds", "row at UB address %llu lies in no buffer",
         static_cast<unsigned long long>(address));
}

template <class T>
void To5HD(const uint64_t dst[16], const uint64_t src[16], const AscendC::TransDataTo5HDParams& p,
           Loc at) {
  const char* const api = "TransDataTo5HD";
  static_assert(sizeof(T) == 2 || sizeof(T) == 4, "the twin moves elements of 2 and 4 bytes");
  RequireType<T>(kFillable & ~kBf16, api, at);
  This().Issue(kPipeV);
  This().device.CountVector(api, sizeof(T), p.repeatTimes);
  for (uint32_t r = 0; r < p.repeatTimes; ++r) {
    // One repeat adds the strides as well.
    const uint64_t steps = p.repeatTimes == 1 ? 1 : r;
    uint64_t to[16], from[16];
    for (uint32_t i = 0; i < 16; ++i) {
      to[i] = dst[i] + steps * p.dstRepStride * kBlockBytes;
      from[i] = src[i] + steps * p.srcRepStride * kBlockBytes;
      CheckRow(to[i], api, at);
      CheckRow(from[i], api, at);
    }
    TransposeRows<T>(to, from, sizeof(T) == 2 ? 16 : 8, api, at);
  }
}

// Sums neighbours two by two; 128 bytes of a repeat at the most, packed.
template <class T>
void PairReduce(const Local<T>& dst, const Local<T>& src, const Extent& e, int32_t dst_stride,
                Strides strides, Loc at) {
  const char* const api = "PairReduceSum";
  RequireType<T>(kFloats, api, at);
  CheckExtent(e, sizeof(T), api, at);
  if (e.Empty()) return;
  Core& core = This();
  const Operand<T> operand{src, strides};
  core.Issue(kPipeV);
  CountVector(e, sizeof(T), api);
  TouchRead(e, operand, api, at);
  constexpr uint32_t pairs = kRepeatBytes / sizeof(T) / 2;
  for (int64_t r = 0; r < e.repeat; ++r) {
    for (uint32_t k = 0; k < pairs; ++k) {
      const Reduced<T> sum = ReduceLanes<T>(
          Reduction::kSum, 2, [&](uint32_t i) { return operand.At(r, 2 * k + i); },
          [&](uint32_t i) { return e.Has(2 * k + i); });
      if (!sum.any) continue;
      NoteMixed(sum.good, at);
      PutResult(dst.place, (r * dst_stride * pairs + k) * sizeof(T), &sum.value, sizeof(T),
                sum.good, api, at);
    }
  }
}

}  // namespace ascendc_twin

namespace AscendC {

template <typename T>
void GatherMask(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const uint8_t src1Pattern,
                const bool reduceMode, const uint32_t mask, const GatherMaskParams& params,
                uint64_t& rsvdCnt, ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {
  if (src1Pattern < 1 || src1Pattern > 7) {
    ascendc_twin::Refuse(at, "GatherMask", "limit", "pattern %u is outside 1..7", src1Pattern);
  }
  rsvdCnt = ascendc_twin::GatherMaskOp(
      dst, src0, reduceMode, mask, params,
      [=](uint32_t, uint32_t lane) { return ascendc_twin::PatternTakes(src1Pattern, lane); }, at);
}

template <typename T, typename U>
void GatherMask(const LocalTensor<T>& dst, const LocalTensor<T>& src0,
                const LocalTensor<U>& src1Pattern, const bool reduceMode, const uint32_t mask,
                const GatherMaskParams& params, uint64_t& rsvdCnt,
                ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {
  static_assert(sizeof(T) == sizeof(U), "the bits come in words as wide as the elements");
  using ascendc_twin::kPipeV;
  ascendc_twin::Core& core = ascendc_twin::This();
  rsvdCnt = ascendc_twin::GatherMaskOp(
      dst, src0, reduceMode, mask, params,
      [&](uint32_t repeat, uint32_t lane) {
        ascendc_twin::Place bits = src1Pattern.place;
        bits.address += repeat * params.src1RepeatStride * 32 + lane / 8;
        core.CheckPlace(bits, 1, 1, at, "GatherMask");
        core.ReadUb(kPipeV, bits.address, 1, at, "GatherMask");
        core.RequireValid(bits.address, 1, at, "GatherMask");
        return (core.ub[bits.address] >> (lane % 8) & 1) != 0;
      },
      at);
}

template <typename T>
void TransDataTo5HD(uint64_t dstList[16], uint64_t srcList[16], const TransDataTo5HDParams& params,
                    ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {
  ascendc_twin::To5HD<T>(dstList, srcList, params, at);
}

template <typename T>
void TransDataTo5HD(const LocalTensor<T> (&dstList)[16], const LocalTensor<T> (&srcList)[16],
                    const TransDataTo5HDParams& params,
                    ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {
  uint64_t dst[16], src[16];
  for (uint32_t i = 0; i < 16; ++i) {
    dst[i] = dstList[i].GetPhyAddr();
    src[i] = srcList[i].GetPhyAddr();
  }
  ascendc_twin::To5HD<T>(dst, src, params, at);
}

// 16 rows of 16 elements.
template <typename T>
void Transpose(const LocalTensor<T>& dst, const LocalTensor<T>& src,
               ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {
  static_assert(sizeof(T) == 2, "Transpose moves elements of 2 bytes");
  ascendc_twin::Core& core = ascendc_twin::This();
  core.CheckPlace(src.place, 512, 32, at, "Transpose");
  core.CheckPlace(dst.place, 512, 32, at, "Transpose");
  core.Issue(ascendc_twin::kPipeV);
  core.device.CountVector("Transpose", sizeof(T), 2);
  uint64_t to[16], from[16];
  for (uint32_t i = 0; i < 16; ++i) {
    to[i] = dst.place.address + i * 32;
    from[i] = src.place.address + i * 32;
  }
  ascendc_twin::TransposeRows<T>(to, from, 16, "Transpose", at);
}

template <typename T, bool isSetMask = true>
void PairReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t repeatTime,
                   const int32_t mask, const int32_t dstRepStride, const int32_t srcBlkStride,
                   const int32_t srcRepStride, ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {
  ascendc_twin::PairReduce(dst, src, ascendc_twin::Extent::Mask(mask, repeatTime), dstRepStride,
                           {uint32_t(srcBlkStride), uint32_t(srcRepStride)}, at);
}

// One sum a repeat; the stride of the destination counts elements.
template <typename T, bool isSetMask = true>
void RepeatReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t repeatTime,
                     const int32_t mask, const int32_t dstBlkStride, const int32_t srcBlkStride,
                     const int32_t dstRepStride, const int32_t srcRepStride,
                     ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {
  ascendc_twin::WholeReduce<T>(
      ascendc_twin::Reduction::kSum, ascendc_twin::Extent::Mask(mask, repeatTime), src,
      {uint32_t(srcBlkStride), uint32_t(srcRepStride)}, "RepeatReduceSum", at,
      [&](int64_t r, const ascendc_twin::Reduced<T>& result) {
        ascendc_twin::PutResult(dst.place, r * dstRepStride * sizeof(T), &result.value, sizeof(T),
                                result.good, "RepeatReduceSum", at);
      });
}

}  // namespace AscendC

#endif  // ASCENDC_TWIN_PICK_H_
