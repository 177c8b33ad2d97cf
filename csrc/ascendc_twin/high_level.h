// High-level math of one source: values, least scratch, what must be apart.
#ifndef ASCENDC_TWIN_HIGH_LEVEL_H_
#define ASCENDC_TWIN_HIGH_LEVEL_H_

#include "moves.h"

namespace ascendc_twin {

// What is left of UB behind the last buffer: the scratch of the forms that are given none.
inline uint32_t UbLeft() { return This().device.ub_bytes - This().ub_used; }

// The operands of a high-level call: tensors long enough, all of them apart, scratch large enough.
template <class D, class... S>
void CheckMath(const char* api, Loc at, uint32_t needed, uint32_t count,
               const Local<uint8_t>* scratch, const Local<D>& dst, const Local<S>&... src) {
  if (!This().check) return;
  const uint32_t got = scratch != nullptr ? scratch->place.bytes : UbLeft();
  if (got < needed) Refuse(at, api, "scratch", "%u bytes of scratch, %u needed", got, needed);
  const auto short_of = [&](uint32_t size) {
    if (size < count) Refuse(at, api, "count", "%u elements of a tensor of %u", count, size);
  };
  short_of(dst.GetSize());
  (short_of(src.GetSize()), ...);
  const uint64_t bytes = uint64_t{count} * sizeof(D);
  if ((Overlap(dst.place, bytes, src.place, uint64_t{count} * sizeof(S)) || ...)) {
    Refuse(at, api, "overlap", "source and destination must be apart");
  }
  if (scratch == nullptr) return;
  const Place& s = scratch->place;
  if (Overlap(dst.place, bytes, s, s.bytes) ||
      (Overlap(src.place, uint64_t{count} * sizeof(S), s, s.bytes) || ...)) {
    Refuse(at, api, "overlap", "the scratch must be apart from source and destination");
  }
}

// What a call leaves in its scratch is nothing to rely on.
inline void SpoilScratch(const Local<uint8_t>* scratch, uint32_t count, const char* api, Loc at) {
  if (scratch == nullptr || count == 0) return;
  Core& core = This();
  core.WriteUb(kPipeV, scratch->place.address, scratch->place.bytes, at, api);
  core.SetValid(scratch->place.address, scratch->place.bytes, false);
}

template <class F, class D, class... S>
void MathOp(const char* api, Loc at, uint32_t types, uint32_t needed, uint32_t count,
            const Local<uint8_t>* scratch, F f, const Local<D>& dst, const Local<S>&... src) {
  RequireType<D>(types, api, at);
  CheckMath(api, at, needed, count, scratch, dst, src...);
  Lanewise(api, at, Extent::Count(count), Operand<D>{dst, {1, 8}}, f, Operand<S>{src, {1, 8}}...);
  SpoilScratch(scratch, count, api, at);
}

template <class T, class F>
T Through(T x, F f) {
  return Done<T>(f(static_cast<double>(Wide(x))));
}

// Values of a call, by its name; computed in double and rounded once.
#define ASCENDC_TWIN_VALUE(Name, expression)                    \
  template <class T>                                            \
  T Name##Of(T value) {                                         \
    return Through(value, [](double x) { return expression; }); \
  }
ASCENDC_TWIN_VALUE(Tanh, std::tanh(x))
ASCENDC_TWIN_VALUE(Sigmoid, 1 / (1 + std::exp(-x)))
ASCENDC_TWIN_VALUE(Erf, std::erf(x))
ASCENDC_TWIN_VALUE(Erfc, std::erfc(x))
ASCENDC_TWIN_VALUE(Sin, std::sin(x))
ASCENDC_TWIN_VALUE(Cos, std::cos(x))
ASCENDC_TWIN_VALUE(Tan, std::tan(x))
ASCENDC_TWIN_VALUE(Asin, std::asin(x))
ASCENDC_TWIN_VALUE(Acos, std::acos(x))
ASCENDC_TWIN_VALUE(Atan, std::atan(x))
ASCENDC_TWIN_VALUE(Sinh, std::sinh(x))
ASCENDC_TWIN_VALUE(Cosh, std::cosh(x))
ASCENDC_TWIN_VALUE(Asinh, std::asinh(x))
ASCENDC_TWIN_VALUE(Acosh, std::acosh(x))
ASCENDC_TWIN_VALUE(Atanh, std::atanh(x))
ASCENDC_TWIN_VALUE(Floor, std::floor(x))
ASCENDC_TWIN_VALUE(Ceil, std::ceil(x))
ASCENDC_TWIN_VALUE(Round, std::nearbyint(x))
ASCENDC_TWIN_VALUE(Rint, std::nearbyint(x))
ASCENDC_TWIN_VALUE(Trunc, std::trunc(x))
ASCENDC_TWIN_VALUE(Frac, x - std::trunc(x))
ASCENDC_TWIN_VALUE(Sign, x > 0 ? 1.0 : x < 0 ? -1.0 : x)
ASCENDC_TWIN_VALUE(Log, std::log(x))
ASCENDC_TWIN_VALUE(Log2, std::log2(x))
ASCENDC_TWIN_VALUE(Log10, std::log10(x))
ASCENDC_TWIN_VALUE(Silu, x / (1 + std::exp(-x)))
ASCENDC_TWIN_VALUE(Gelu, 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))))
ASCENDC_TWIN_VALUE(FasterGelu, x / (1 + std::exp(-1.702 * x)))
#undef ASCENDC_TWIN_VALUE

// Least scratch of a call in bytes: so many repeats for float, so many for half.
template <class T>
constexpr uint32_t Repeats(uint32_t wide, uint32_t narrow) {
  return (sizeof(T) == 2 ? narrow : wide) * kRepeatBytes;
}

}  // namespace ascendc_twin

namespace AscendC {

// Calls Name(dst, src, scratch, count) and Name(dst, src, count).
#define ASCENDC_TWIN_MATH(Name, needed)                                                            \
  template <typename T, bool isReuseSource = false>                                                \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src,                                  \
            const LocalTensor<uint8_t>& sharedTmpBuffer, const uint32_t calCount,                  \
            ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {                                    \
    using namespace ascendc_twin;                                                                  \
    MathOp(                                                                                        \
        #Name, at, kFloats, needed, calCount, &sharedTmpBuffer, [](T x) { return Name##Of(x); },   \
        dst, src);                                                                                 \
  }                                                                                                \
  template <typename T, bool isReuseSource = false>                                                \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t calCount,         \
            ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {                                    \
    using namespace ascendc_twin;                                                                  \
    MathOp(                                                                                        \
        #Name, at, kFloats, needed, calCount, nullptr, [](T x) { return Name##Of(x); }, dst, src); \
  }
ASCENDC_TWIN_MATH(Tanh, Repeats<T>(1, 4))
ASCENDC_TWIN_MATH(Sigmoid, Repeats<T>(1, 1))
ASCENDC_TWIN_MATH(Erf, Repeats<T>(3, 8))
ASCENDC_TWIN_MATH(Erfc, Repeats<T>(7, 16))
ASCENDC_TWIN_MATH(Sin, Repeats<T>(isReuseSource ? 2 : 3, 8) + kBlockBytes)
ASCENDC_TWIN_MATH(Cos, Repeats<T>(isReuseSource ? 2 : 3, 8) + kBlockBytes)
ASCENDC_TWIN_MATH(Tan, Repeats<T>(4, 10))
ASCENDC_TWIN_MATH(Asin, Repeats<T>(2, 6))
ASCENDC_TWIN_MATH(Acos, Repeats<T>(2, 6))
ASCENDC_TWIN_MATH(Atan, Repeats<T>(5, 12))
ASCENDC_TWIN_MATH(Sinh, Repeats<T>(1, 4))
ASCENDC_TWIN_MATH(Cosh, Repeats<T>(2, 6))
ASCENDC_TWIN_MATH(Asinh, Repeats<T>(3, 3))
ASCENDC_TWIN_MATH(Acosh, Repeats<T>(1, 2))
ASCENDC_TWIN_MATH(Atanh, Repeats<T>(1, 4))
ASCENDC_TWIN_MATH(Floor, Repeats<T>(0, 2))
ASCENDC_TWIN_MATH(Ceil, Repeats<T>(1, 2))
ASCENDC_TWIN_MATH(Round, Repeats<T>(1, 1))
ASCENDC_TWIN_MATH(Trunc, Repeats<T>(1, 2))
ASCENDC_TWIN_MATH(Frac, Repeats<T>(0, 4))
ASCENDC_TWIN_MATH(Sign, Repeats<T>(3, 3))
ASCENDC_TWIN_MATH(Log2, Repeats<T>(0, 2))
ASCENDC_TWIN_MATH(Gelu, Repeats<T>(3, 3))
#undef ASCENDC_TWIN_MATH

// Calls that take no scratch.
#define ASCENDC_TWIN_PLAIN(Name)                                                                 \
  template <typename T, bool isReuseSource = false>                                              \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t calCount,       \
            ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {                                  \
    using namespace ascendc_twin;                                                                \
    MathOp(#Name, at, kFloats, 0, calCount, nullptr, [](T x) { return Name##Of(x); }, dst, src); \
  }
ASCENDC_TWIN_PLAIN(Log)
ASCENDC_TWIN_PLAIN(Log10)
ASCENDC_TWIN_PLAIN(Silu)
#undef ASCENDC_TWIN_PLAIN

}  // namespace AscendC

#endif  // ASCENDC_TWIN_HIGH_LEVEL_H_
