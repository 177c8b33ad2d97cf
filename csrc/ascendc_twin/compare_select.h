// Compare, Compares (CompareScalar) and Select: bit masks, one bit per lane, little end first.
#ifndef ASCENDC_TWIN_COMPARE_SELECT_H_
#define ASCENDC_TWIN_COMPARE_SELECT_H_

#include "cast.h"

namespace ascendc_twin {

using AscendC::CMPMODE;

template <class V>
bool CompareLane(V a, V b, CMPMODE mode) {
  switch (mode) {
    case CMPMODE::LT:
      return a < b;
    case CMPMODE::GT:
      return a > b;
    case CMPMODE::EQ:
      return a == b;
    case CMPMODE::LE:
      return a <= b;
    case CMPMODE::GE:
      return a >= b;
    default:
      return a != b;
  }
}

template <class T>
void CheckCompare(CMPMODE mode, int64_t count, const char* api, Loc at) {
  const bool equality =
      std::is_same<T, int32_t>::value && mode == CMPMODE::EQ && This().device.npu_arch != kArch2002;
  if (!equality) RequireType<T>(kFloats, api, at);
  if (!This().check || count * sizeof(T) % kRepeatBytes == 0) return;
  Refuse(at, api, "compare count", "%lld elements of %zu bytes are no multiple of 256 bytes",
         static_cast<long long>(count), sizeof(T));
}

// second(i) gives the other side of lane i and whether its bits were all written.
template <class T, class U, class F, class... S>
void CompareOp(const char* api, Loc at, const Local<U>& dst, CMPMODE mode, int64_t count, F second,
               const Local<T>& src0, const Local<S>&... src1) {
  static_assert(sizeof(U) == 1, "the mask of Compare is int8_t or uint8_t");
  CheckCompare<T>(mode, count, api, at);
  if (count <= 0) return;
  Core& core = This();
  const Extent e = Extent::Count(count), bytes = Extent::Count((count + 7) / 8);
  core.Issue(kPipeV);
  CountVector(e, sizeof(T), api);
  TouchRead(e, Operand<T>{src0, {1, 8}}, api, at);
  (TouchRead(e, Operand<S>{src1, {1, 8}}, api, at), ...);
  TouchWrite(bytes, Operand<U>{dst, {1, 8}}, api, at);
  std::vector<uint8_t> bits(bytes.count), good(bytes.count, 0xff);
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t a = src0.place.address + static_cast<uint32_t>(i * sizeof(T));
    const uint8_t bit = static_cast<uint8_t>(1u << (i % 8));
    const std::pair<T, bool> b = second(i);
    if (CompareLane(Wide(Load<T>(core.ub.get() + a)), Wide(b.first), mode)) bits[i / 8] |= bit;
    if (!b.second || !core.Valid(a, sizeof(T))) good[i / 8] &= static_cast<uint8_t>(~bit);
  }
  std::memcpy(core.ub.get() + dst.place.address, bits.data(), bits.size());
  if (core.check) std::memcpy(core.valid.get() + dst.place.address, good.data(), good.size());
}

enum class MaskUse { kConsecutive, kSame };

// false_value(i) gives what lane i takes when its bit is 0, and whether it was written.
template <class T, class U, class F, class... S>
void SelectOp(Loc at, const Local<T>& dst, const Local<U>& mask, MaskUse use, int64_t count,
              F false_value, const Local<T>& src0, const Local<S>&... src1) {
  RequireType<T>(kFloats, "Select", at);
  if (count <= 0) return;
  Core& core = This();
  const Extent e = Extent::Count(count);
  const int64_t period = use == MaskUse::kSame ? kRepeatBytes / sizeof(T) : count;
  const int64_t mask_bytes = (std::min(count, period) + 7) / 8;
  const Operand<T> to{dst, {1, 8}};
  core.Issue(kPipeV);
  CountVector(e, sizeof(T), "Select");
  CheckOverlap(e, to, Operand<T>{src0, {1, 8}}, false, "Select", at);
  (CheckOverlap(e, to, Operand<S>{src1, {1, 8}}, false, "Select", at), ...);
  TouchRead(e, Operand<T>{src0, {1, 8}}, "Select", at);
  (TouchRead(e, Operand<S>{src1, {1, 8}}, "Select", at), ...);
  const Local<uint8_t> mask8 = mask.template ReinterpretCast<uint8_t>();
  TouchRead(Extent::Count(mask_bytes), Operand<uint8_t>{mask8, {1, 8}}, "Select", at);
  TouchWrite(e, Operand<T>{dst, {1, 8}}, "Select", at);
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t a = src0.place.address + static_cast<uint32_t>(i * sizeof(T));
    const uint32_t d = dst.place.address + static_cast<uint32_t>(i * sizeof(T));
    const uint32_t m = mask.place.address + static_cast<uint32_t>(i % period / 8);
    const uint8_t bit = static_cast<uint8_t>(1u << (i % period % 8));
    const bool known = !core.check || (core.valid[m] & bit) != 0;
    if (core.ub[m] & bit) {
      const bool good = known && core.Valid(a, sizeof(T));
      Store<T>(core.ub.get() + d, Load<T>(core.ub.get() + a));
      core.SetValid(d, sizeof(T), good);
    } else {
      const std::pair<T, bool> other = false_value(i);
      Store<T>(core.ub.get() + d, other.first);
      core.SetValid(d, sizeof(T), known && other.second);
    }
  }
}

template <class T>
auto ElementOf(const Local<T>& tensor) {
  const uint32_t base = tensor.place.address;
  return [base](int64_t i) {
    const uint32_t at = base + static_cast<uint32_t>(i * sizeof(T));
    return std::make_pair(Load<T>(This().ub.get() + at), This().Valid(at, sizeof(T)));
  };
}
template <class T>
auto ScalarOf(T value) {
  return [value](int64_t) { return std::make_pair(value, true); };
}

}  // namespace ascendc_twin

namespace AscendC {

template <typename T, typename U>
void Compare(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
             CMPMODE cmpMode, uint32_t count, ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {
  ascendc_twin::CompareOp<T>("Compare", at, dst, cmpMode, count, ascendc_twin::ElementOf(src1),
                             src0, src1);
}

template <typename T, typename U>
void Compares(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const T src1Scalar,
              CMPMODE cmpMode, uint32_t count, ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {
  ascendc_twin::CompareOp<T>("Compares", at, dst, cmpMode, count,
                             ascendc_twin::ScalarOf(src1Scalar), src0);
}

template <typename T, typename U>
void CompareScalar(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const T src1Scalar,
                   CMPMODE cmpMode, uint32_t count,
                   ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {
  ascendc_twin::CompareOp<T>("CompareScalar", at, dst, cmpMode, count,
                             ascendc_twin::ScalarOf(src1Scalar), src0);
}

template <typename T, typename U>
void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0,
            const LocalTensor<T>& src1, SELMODE selMode, uint32_t count,
            ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {
  if (selMode == SELMODE::VSEL_TENSOR_SCALAR_MODE) {
    ascendc_twin::Refuse(at, "Select", "mode", "VSEL_TENSOR_SCALAR_MODE takes a scalar");
  }
  const auto use = selMode == SELMODE::VSEL_CMPMASK_SPR ? ascendc_twin::MaskUse::kSame
                                                        : ascendc_twin::MaskUse::kConsecutive;
  ascendc_twin::SelectOp(at, dst, selMask, use, count, ascendc_twin::ElementOf(src1), src0, src1);
}

template <typename T, typename U>
void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0,
            T src1, SELMODE selMode, uint32_t count,
            ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {
  if (selMode != SELMODE::VSEL_TENSOR_SCALAR_MODE) {
    ascendc_twin::Refuse(at, "Select", "mode", "a scalar goes with VSEL_TENSOR_SCALAR_MODE");
  }
  ascendc_twin::SelectOp(at, dst, selMask, ascendc_twin::MaskUse::kConsecutive, count,
                         ascendc_twin::ScalarOf(src1), src0);
}

}  // namespace AscendC

#endif  // ASCENDC_TWIN_COMPARE_SELECT_H_
