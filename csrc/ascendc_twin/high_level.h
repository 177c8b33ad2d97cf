// High-level math: Tanh and Sigmoid with their scratch rules.
#ifndef ASCENDC_TWIN_HIGH_LEVEL_H_
#define ASCENDC_TWIN_HIGH_LEVEL_H_

#include "moves.h"

namespace ascendc_twin {

// What is left of UB behind the last buffer: the scratch of the forms that are given none.
inline uint32_t UbLeft() { return This().device.ub_bytes - This().ub_used; }

template <class T, class F>
void MathOp(const char* api, Loc at, const Local<T>& dst, const Local<T>& src,
            const Local<uint8_t>* scratch, uint32_t needed, uint32_t count, F f) {
  RequireType<T>(kFloats, api, at);
  Core& core = This();
  if (core.check) {
    const uint32_t got = scratch != nullptr ? scratch->place.bytes : UbLeft();
    if (got < needed) Refuse(at, api, "scratch", "%u bytes of scratch, %u needed", got, needed);
    if (dst.GetSize() < count || src.GetSize() < count) {
      Refuse(at, api, "count", "%u elements from a tensor of %u into one of %u", count,
             src.GetSize(), dst.GetSize());
    }
    const uint64_t bytes = uint64_t{count} * sizeof(T);
    if (Overlap(dst.place, bytes, src.place, bytes)) {
      Refuse(at, api, "overlap", "source and destination must be apart");
    }
    if (scratch != nullptr && (Overlap(dst.place, bytes, scratch->place, scratch->place.bytes) ||
                               Overlap(src.place, bytes, scratch->place, scratch->place.bytes))) {
      Refuse(at, api, "overlap", "the scratch must be apart from source and destination");
    }
  }
  Lanewise(api, at, Extent::Count(count), Operand<T>{dst, {1, 8}}, f, Operand<T>{src, {1, 8}});
  if (scratch != nullptr && count != 0) {
    core.WriteUb(kPipeV, scratch->place.address, scratch->place.bytes, at, api);
    core.SetValid(scratch->place.address, scratch->place.bytes, false);
  }
}

template <class T>
T TanhOf(T x) {
  return Done<T>(std::tanh(static_cast<float>(Wide(x))));
}
template <class T>
T SigmoidOf(T x) {
  return Done<T>(1.0f / (1.0f + std::exp(-static_cast<float>(Wide(x)))));
}

// Least scratch, in bytes.
template <class T>
constexpr uint32_t kTanhScratch = (sizeof(T) == 2 ? 4 : 1) * kRepeatBytes;
template <class T>
constexpr uint32_t kSigmoidScratch = kRepeatBytes;

}  // namespace ascendc_twin

namespace AscendC {

#define ASCENDC_TWIN_MATH(Name)                                                                    \
  template <typename T, bool isReuseSource = false>                                                \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src,                                  \
            const LocalTensor<uint8_t>& sharedTmpBuffer, const uint32_t calCount,                  \
            ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {                                    \
    ascendc_twin::MathOp(#Name, at, dst, src, &sharedTmpBuffer, ascendc_twin::k##Name##Scratch<T>, \
                         calCount, [](T x) { return ascendc_twin::Name##Of(x); });                 \
  }                                                                                                \
  template <typename T, bool isReuseSource = false>                                                \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t calCount,         \
            ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {                                    \
    ascendc_twin::MathOp<T>(#Name, at, dst, src, nullptr, ascendc_twin::k##Name##Scratch<T>,       \
                            calCount, [](T x) { return ascendc_twin::Name##Of(x); });              \
  }
ASCENDC_TWIN_MATH(Tanh)
ASCENDC_TWIN_MATH(Sigmoid)
#undef ASCENDC_TWIN_MATH

}  // namespace AscendC

#endif  // ASCENDC_TWIN_HIGH_LEVEL_H_
