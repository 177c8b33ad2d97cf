// Filling and moving lanes: Duplicate, CreateVecIndex, Copy, Brcb, Gather, Broadcast.
#ifndef ASCENDC_TWIN_MOVES_H_
#define ASCENDC_TWIN_MOVES_H_

#include "reduce_pattern.h"

namespace ascendc_twin {

constexpr uint32_t kFillable = kF16 | kBf16 | kI16 | kU16 | kI32 | kU32 | kF32;
constexpr uint32_t kMovable = kFillable;

template <class T>
void CheckCopy(const AscendC::CopyRepeatParams& p, Loc at) {
  RequireCall("Copy", at);
  RequireType<T>(kMovable, "Copy", at);
  const int64_t most = This().device.limits.copy_blocks;
  if (!This().check || (p.dstRepeatSize <= most && p.srcRepeatSize <= most)) return;
  Refuse(at, "Copy", "limit", "repeat strides of %u and %u, at most %lld", p.dstRepeatSize,
         p.srcRepeatSize, static_cast<long long>(most));
}

template <class T>
void MoveLane(uint32_t to, uint32_t from) {
  Core& core = This();
  Store<T>(core.ub.get() + to, Load<T>(core.ub.get() + from));
  core.SetValid(to, sizeof(T), core.Valid(from, sizeof(T)));
}

template <class T>
void BroadcastOp(const Local<T>& dst, const Local<T>& src, const uint32_t* dst_shape,
                 const uint32_t* src_shape, int dims, int axis, const Local<uint8_t>& scratch,
                 Loc at) {
  RequireType<T>(kI8 | kU8 | kF16 | kF32, "Broadcast", at);
  const uint64_t rows = dims == 1 ? 1 : dst_shape[0];
  const uint64_t columns = dst_shape[dims - 1];
  const uint64_t src_columns = src_shape[dims - 1], src_rows = dims == 1 ? 1 : src_shape[0];
  Core& core = This();
  if (core.check && axis == 0 && dims == 2 && src_columns * sizeof(T) % kBlockBytes != 0) {
    Refuse(at, "Broadcast", "alignment", "rows of %llu bytes are no multiple of 32",
           static_cast<unsigned long long>(src_columns * sizeof(T)));
  }
  if (core.check && scratch.place.bytes < kBlockBytes / sizeof(T) * kBlockBytes && axis == 1) {
    Refuse(at, "Broadcast", "scratch", "%u bytes of scratch, %zu needed", scratch.place.bytes,
           kBlockBytes / sizeof(T) * kBlockBytes);
  }
  const uint64_t dst_bytes = rows * columns * sizeof(T);
  const uint64_t src_bytes = src_rows * src_columns * sizeof(T);
  if (dst_bytes == 0) return;
  if (core.check && Overlap(dst.place, dst_bytes, src.place, src_bytes)) {
    Refuse(at, "Broadcast", "overlap", "source and destination must be apart");
  }
  core.CheckPlace(src.place, src_bytes, kBlockBytes, at, "Broadcast");
  core.CheckPlace(dst.place, dst_bytes, kBlockBytes, at, "Broadcast");
  core.Issue(kPipeV);
  CountVector(Extent::Count(rows * columns), sizeof(T), "Broadcast");
  core.ReadUb(kPipeV, src.place.address, uint32_t(src_bytes), at, "Broadcast");
  core.WriteUb(kPipeV, dst.place.address, uint32_t(dst_bytes), at, "Broadcast");
  for (uint64_t r = 0; r < rows; ++r) {
    for (uint64_t c = 0; c < columns; ++c) {
      const uint64_t from = (src_rows == 1 ? 0 : r) * src_columns + (src_columns == 1 ? 0 : c);
      MoveLane<T>(uint32_t(dst.place.address + (r * columns + c) * sizeof(T)),
                  uint32_t(src.place.address + from * sizeof(T)));
    }
  }
}

}  // namespace ascendc_twin

namespace AscendC {

template <typename T>
void Duplicate(const LocalTensor<T>& dst, const T& scalarValue, const int32_t& count,
               ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {
  ascendc_twin::RequireType<T>(ascendc_twin::kFillable, "Duplicate", at);
  ascendc_twin::Lanewise("Duplicate", at, ascendc_twin::Extent::Count(count),
                         ascendc_twin::Operand<T>{dst, {1, 8}},
                         [scalarValue]() { return scalarValue; });
}

template <typename T, bool isSetMask = true>
void Duplicate(const LocalTensor<T>& dst, const T& scalarValue, uint64_t mask,
               const int64_t repeatTime, const uint16_t dstBlockStride,
               const uint8_t dstRepeatStride, ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {
  ascendc_twin::RequireType<T>(ascendc_twin::kFillable, "Duplicate", at);
  ascendc_twin::Lanewise("Duplicate", at, ascendc_twin::Extent::Mask(mask, repeatTime),
                         ascendc_twin::Operand<T>{dst, {dstBlockStride, dstRepeatStride}},
                         [scalarValue]() { return scalarValue; });
}

template <typename T, bool isSetMask = true>
void Duplicate(const LocalTensor<T>& dst, const T& scalarValue, uint64_t mask[],
               const int64_t repeatTime, const uint16_t dstBlockStride,
               const uint8_t dstRepeatStride, ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {
  ascendc_twin::RequireType<T>(ascendc_twin::kFillable, "Duplicate", at);
  ascendc_twin::Lanewise(
      "Duplicate", at,
      ascendc_twin::Extent::Bits(mask, ascendc_twin::kSecondMaskWord<T>, repeatTime),
      ascendc_twin::Operand<T>{dst, {dstBlockStride, dstRepeatStride}},
      [scalarValue]() { return scalarValue; });
}

template <typename T>
void CreateVecIndex(LocalTensor<T> dst, const T& firstValue, uint32_t count,
                    ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {
  using namespace ascendc_twin;
  RequireType<T>(kI16 | kF16 | kI32 | kF32, "CreateVecIndex", at);
  int64_t i = 0;
  Lanewise("CreateVecIndex", at, Extent::Count(count), Operand<T>{dst, {1, 8}},
           [&]() { return Done<T>(Wide(firstValue) + static_cast<decltype(Wide(T{}))>(i++)); });
}

// 8 elements of src become 8 blocks of dst, per repeat.
template <typename T>
void Brcb(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int64_t repeatTime,
          const BrcbRepeatParams& p, ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {
  using namespace ascendc_twin;
  RequireType<T>(kMovable, "Brcb", at);
  const Extent all = Extent::Mask(kRepeatBytes / sizeof(T), repeatTime);
  CheckExtent(all, sizeof(T), "Brcb", at);
  if (all.Empty()) return;
  Core& core = This();
  if (core.check && p.dstBlkStride == 0) Refuse(at, "Brcb", "limit", "dstBlkStride is 0");
  const Operand<T> to{dst, {p.dstBlkStride, p.dstRepStride}};
  const Extent taken = Extent::Count(repeatTime * 8);
  core.Issue(kPipeV);
  CountVector(all, sizeof(T), "Brcb");
  TouchRead(taken, Operand<T>{src, {1, 8}}, "Brcb", at);
  if (core.check && Overlap(dst.place, Reach(all, to), src.place, taken.count * sizeof(T))) {
    Refuse(at, "Brcb", "overlap", "source and destination must be apart");
  }
  TouchWrite(all, to, "Brcb", at);
  constexpr uint32_t per_block = kBlockBytes / sizeof(T);
  ForLanes(all, [&](uint32_t lane, int64_t r) {
    const uint64_t element = r * 8 + lane / per_block;
    MoveLane<T>(to.At(r, lane), uint32_t(src.place.address + element * sizeof(T)));
  });
}

// dst[i] = the element at byte offsets[i] + srcBaseAddr of src.
template <typename T>
void Gather(const LocalTensor<T>& dst, const LocalTensor<T>& src,
            const LocalTensor<uint32_t>& srcOffset, const uint32_t srcBaseAddr,
            const uint32_t count, ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {
  using namespace ascendc_twin;
  RequireType<T>(kMovable, "Gather", at);
  const Extent e = Extent::Count(count);
  if (e.Empty()) return;
  Core& core = This();
  core.Issue(kPipeV);
  CountVector(e, sizeof(T), "Gather");
  TouchRead(e, Operand<uint32_t>{srcOffset, {1, 8}}, "Gather", at);
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t slot = srcOffset.place.address + i * 4;
    core.RequireValid(slot, 4, at, "Gather");
    const uint32_t byte = Load<uint32_t>(core.ub.get() + slot) + srcBaseAddr;
    Place from = src.place;
    from.address += byte;
    core.CheckPlace(from, sizeof(T), sizeof(T), at, "Gather");
    core.ReadUb(kPipeV, from.address, sizeof(T), at, "Gather");
  }
  TouchWrite(e, Operand<T>{dst, {1, 8}}, "Gather", at);
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t byte =
        Load<uint32_t>(core.ub.get() + srcOffset.place.address + i * 4) + srcBaseAddr;
    MoveLane<T>(uint32_t(dst.place.address + i * sizeof(T)), src.place.address + byte);
  }
}

template <typename T, int32_t dim, int32_t axis, bool isReuseSource = false>
void Broadcast(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t dstShape[dim],
               const uint32_t srcShape[dim], LocalTensor<uint8_t>& sharedTmpBuffer,
               ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {
  static_assert((dim == 1 || dim == 2) && (axis == 0 || axis == 1), "1 or 2 dimensions");
  ascendc_twin::BroadcastOp(dst, src, dstShape, srcShape, dim, axis, sharedTmpBuffer, at);
}

}  // namespace AscendC

#endif  // ASCENDC_TWIN_MOVES_H_
