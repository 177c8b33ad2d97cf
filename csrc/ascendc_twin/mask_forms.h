// Compare, Compares and Select by mask and repeat; Copy by a mask of bits.
//
// The bits of a repeat lie behind those of the repeat before, however the strides of the tensors
// are; lanes that the mask leaves out have no bit that one may rely on.
#ifndef ASCENDC_TWIN_MASK_FORMS_H_
#define ASCENDC_TWIN_MASK_FORMS_H_

#include "pick.h"

namespace ascendc_twin {

template <class T>
constexpr uint32_t kMaskBytes = kRepeatBytes / sizeof(T) / 8;

// second(repeat, lane) gives the other side and whether it was written.
template <class T, class U, class F>
void CompareMasked(const char* api, Loc at, const Extent& e, const Local<U>& dst, CMPMODE mode,
                   const Operand<T>& src, F second) {
  static_assert(sizeof(U) == 1, "the mask of Compare is int8_t or uint8_t");
  RequireType<T>(mode == CMPMODE::EQ ? kFloats | kI32 : kFloats, api, at, false);
  CheckExtent(e, sizeof(T), api, at);
  if (e.Empty()) return;
  Core& core = This();
  const Extent bytes = Extent::Count(e.repeat * kMaskBytes<T>);
  core.Issue(kPipeV);
  CountVector(e, sizeof(T), api);
  TouchRead(e, src, api, at);
  TouchWrite(bytes, Operand<U>{dst, {1, 8}}, api, at);
  uint8_t* to = core.ub.get() + dst.place.address;
  for (int64_t i = 0; i < bytes.count; ++i) {
    to[i] = 0;
    if (core.check) core.valid[dst.place.address + i] = 0;
  }
  ForLanes(e, [&](uint32_t lane, int64_t r) {
    const uint32_t from = src.At(r, lane);
    const std::pair<T, bool> b = second(r, lane);
    const int64_t byte = r * kMaskBytes<T> + lane / 8;
    const uint8_t bit = static_cast<uint8_t>(1u << lane % 8);
    if (CompareLane(Wide(Load<T>(core.ub.get() + from)), Wide(b.first), mode)) to[byte] |= bit;
    if (core.check && b.second && core.Valid(from, sizeof(T))) {
      core.valid[dst.place.address + byte] |= bit;
    }
  });
}

template <class T>
auto LaneOf(const Operand<T>& operand) {
  return [operand](int64_t r, uint32_t lane) {
    const uint32_t from = operand.At(r, lane);
    return std::make_pair(Load<T>(This().ub.get() + from), This().Valid(from, sizeof(T)));
  };
}

template <class T, class U>
void ComparePair(const Extent& e, const Local<U>& dst, const Local<T>& src0, const Local<T>& src1,
                 CMPMODE mode, const AscendC::BinaryRepeatParams& p, Loc at) {
  const Operand<T> other{src1, {p.src1BlkStride, p.src1RepStride}};
  if (!e.Empty()) TouchRead(e, other, "Compare", at);
  CompareMasked("Compare", at, e, dst, mode, Operand<T>{src0, {p.src0BlkStride, p.src0RepStride}},
                LaneOf(other));
}

template <class T, class U, class F>
void SelectMasked(Loc at, const Extent& e, const Local<T>& dst, const Local<U>& mask, bool same,
                  const AscendC::BinaryRepeatParams& p, const Local<T>& src0, F false_value) {
  RequireType<T>(kFloats, "Select", at, false);
  CheckExtent(e, sizeof(T), "Select", at);
  if (e.Empty()) return;
  Core& core = This();
  const Operand<T> to{dst, {p.dstBlkStride, p.dstRepStride}};
  const Operand<T> from{src0, {p.src0BlkStride, p.src0RepStride}};
  const Local<uint8_t> bits = mask.template ReinterpretCast<uint8_t>();
  core.Issue(kPipeV);
  CountVector(e, sizeof(T), "Select");
  CheckOverlap(e, to, from, false, "Select", at);
  TouchRead(e, from, "Select", at);
  TouchRead(Extent::Count((same ? 1 : e.repeat) * kMaskBytes<T>), Operand<uint8_t>{bits, {1, 8}},
            "Select", at);
  TouchWrite(e, to, "Select", at);
  ForLanes(e, [&](uint32_t lane, int64_t r) {
    const uint32_t byte =
        bits.place.address + static_cast<uint32_t>((same ? 0 : r) * kMaskBytes<T> + lane / 8);
    const uint8_t bit = static_cast<uint8_t>(1u << lane % 8);
    const bool known = !core.check || (core.valid[byte] & bit) != 0;
    const std::pair<T, bool> value =
        core.ub[byte] & bit ? LaneOf(from)(r, lane) : false_value(r, lane);
    Store<T>(core.ub.get() + to.At(r, lane), value.first);
    core.SetValid(to.At(r, lane), sizeof(T), known && value.second);
  });
}

template <class T, class U>
void SelectPair(Loc at, const Extent& e, const Local<T>& dst, const Local<U>& mask,
                AscendC::SELMODE mode, const AscendC::BinaryRepeatParams& p, const Local<T>& src0,
                const Local<T>& src1) {
  if (mode == AscendC::SELMODE::VSEL_TENSOR_SCALAR_MODE) {
    Refuse(at, "Select", "mode", "VSEL_TENSOR_SCALAR_MODE takes a scalar");
  }
  const Operand<T> other{src1, {p.src1BlkStride, p.src1RepStride}};
  if (!e.Empty()) TouchRead(e, other, "Select", at);
  SelectMasked(at, e, dst, mask, mode == AscendC::SELMODE::VSEL_CMPMASK_SPR, p, src0,
               LaneOf(other));
}

template <class T, class U>
void SelectScalar(Loc at, const Extent& e, const Local<T>& dst, const Local<U>& mask,
                  AscendC::SELMODE mode, const AscendC::BinaryRepeatParams& p, const Local<T>& src0,
                  T value) {
  if (mode != AscendC::SELMODE::VSEL_TENSOR_SCALAR_MODE) {
    Refuse(at, "Select", "mode", "a scalar goes with VSEL_TENSOR_SCALAR_MODE");
  }
  SelectMasked(at, e, dst, mask, false, p, src0,
               [value](int64_t, uint32_t) { return std::make_pair(value, true); });
}

template <class T>
void CopyOp(const Extent& e, const Local<T>& dst, const Local<T>& src,
            const AscendC::CopyRepeatParams& p, Loc at) {
  CheckCopy<T>(p, at);
  Lanewise(
      "Copy", at, e, Operand<T>{dst, {p.dstStride, p.dstRepeatSize}}, [](T x) { return x; },
      Operand<T>{src, {p.srcStride, p.srcRepeatSize}});
}

}  // namespace ascendc_twin

namespace AscendC {

// Each call twice: with a mask of the first lanes and with one of bits.
#define ASCENDC_TWIN_TWICE(Mask, lanes)                                                            \
  template <typename T, typename U, bool isSetMask = true>                                         \
  void Compare(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,  \
               CMPMODE cmpMode, Mask, const int64_t repeatTime, const BinaryRepeatParams& p,       \
               ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {                                 \
    ascendc_twin::ComparePair(lanes, dst, src0, src1, cmpMode, p, at);                             \
  }                                                                                                \
  template <typename T, typename U, bool isSetMask = true>                                         \
  void Compares(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const T src1Scalar,         \
                CMPMODE cmpMode, Mask, const int64_t repeatTime, const UnaryRepeatParams& p,       \
                ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {                                \
    using namespace ascendc_twin;                                                                  \
    CompareMasked("Compares", at, lanes, dst, cmpMode,                                             \
                  Operand<T>{src0, {p.srcBlkStride, p.srcRepStride}},                              \
                  [=](int64_t, uint32_t) { return std::make_pair(src1Scalar, true); });            \
  }                                                                                                \
  template <typename T, typename U, bool isSetMask = true>                                         \
  void CompareScalar(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const T src1Scalar,    \
                     CMPMODE cmpMode, Mask, const int64_t repeatTime, const UnaryRepeatParams& p,  \
                     ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {                           \
    Compares(dst, src0, src1Scalar, cmpMode, mask, repeatTime, p, at);                             \
  }                                                                                                \
  template <typename T, typename U, bool isSetMask = true>                                         \
  void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask,                            \
              const LocalTensor<T>& src0, const LocalTensor<T>& src1, SELMODE selMode, Mask,       \
              const int64_t repeatTime, const BinaryRepeatParams& p,                               \
              ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {                                  \
    ascendc_twin::SelectPair(at, lanes, dst, selMask, selMode, p, src0, src1);                     \
  }                                                                                                \
  template <typename T, typename U, bool isSetMask = true>                                         \
  void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask,                            \
              const LocalTensor<T>& src0, T src1, SELMODE selMode, Mask, const int64_t repeatTime, \
              const BinaryRepeatParams& p, ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {     \
    ascendc_twin::SelectScalar(at, lanes, dst, selMask, selMode, p, src0, src1);                   \
  }                                                                                                \
  template <typename T, bool isSetMask = true>                                                     \
  void Copy(const LocalTensor<T>& dst, const LocalTensor<T>& src, Mask, const int64_t repeatTime,  \
            const CopyRepeatParams& p, ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {         \
    ascendc_twin::CopyOp(lanes, dst, src, p, at);                                                  \
  }
ASCENDC_TWIN_TWICE(const uint64_t mask, ascendc_twin::Extent::Mask(mask, repeatTime))
ASCENDC_TWIN_TWICE(const uint64_t mask[],
                   ascendc_twin::Extent::Bits(mask, sizeof(T) <= 2, repeatTime))
#undef ASCENDC_TWIN_TWICE

}  // namespace AscendC

#endif  // ASCENDC_TWIN_MASK_FORMS_H_
