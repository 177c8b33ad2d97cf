// High-level math of other shapes: two sources, a scalar, template levels, and what only 3510 has.
#ifndef ASCENDC_TWIN_HIGH_LEVEL_MORE_H_
#define ASCENDC_TWIN_HIGH_LEVEL_MORE_H_

#include "high_level.h"

namespace ascendc_twin {

template <class T>
T PowerOf(T base, T exponent) {
  if constexpr (std::is_integral<T>::value) {
    // As exponentiation by squaring has it; negative exponents leave 0, 1 or -1.
    if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
    T result = 1;
    for (; exponent > 0; exponent /= 2) {
      if (exponent % 2 != 0) result = MulOf(result, base);
      base = MulOf(base, base);
    }
    return result;
  } else {
    return Done<T>(std::pow(static_cast<double>(Wide(base)), static_cast<double>(Wide(exponent))));
  }
}
template <class T>
T FmodOf(T a, T b) {
  return Done<T>(std::fmod(static_cast<double>(Wide(a)), static_cast<double>(Wide(b))));
}

template <class A, class B>
void CheckSizes(const Local<A>& a, const Local<B>& b, const char* api, Loc at) {
  if (!This().check || a.GetSize() == b.GetSize()) return;
  Refuse(at, api, "count", "sources of %u and %u elements", a.GetSize(), b.GetSize());
}

template <class T>
constexpr uint32_t PowerScratch(bool scalar) {
  if (std::is_integral<T>::value) return (scalar ? 7 : 6) * kRepeatBytes;
  return Repeats<T>(scalar ? 5 : 4, 14);
}

template <class T>
void PowerOp(const Local<T>& dst, const Local<T>& base, const Local<T>& exponent,
             const Local<uint8_t>* scratch, uint32_t count, Loc at) {
  CheckSizes(base, exponent, "Power", at);
  MathOp("Power", at, kFloats | kI32, PowerScratch<T>(false), count, scratch, PowerOf<T>, dst, base,
         exponent);
}
template <class T>
void PowerOp(const Local<T>& dst, const Local<T>& base, const T& exponent,
             const Local<uint8_t>* scratch, uint32_t count, Loc at) {
  MathOp(
      "Power", at, kFloats | kI32, PowerScratch<T>(true), count, scratch,
      [exponent](T x) { return PowerOf(x, exponent); }, dst, base);
}
template <class T>
void PowerOp(const Local<T>& dst, const T& base, const Local<T>& exponent,
             const Local<uint8_t>* scratch, uint32_t count, Loc at) {
  MathOp(
      "Power", at, kFloats | kI32, PowerScratch<T>(true), count, scratch,
      [base](T x) { return PowerOf(base, x); }, dst, exponent);
}

// 1 where f holds: of the type of the destination.
template <class D, class T, class F>
void TestOp(const char* api, const Local<D>& dst, const Local<T>& src, uint32_t count, F f,
            Loc at) {
  Require3510(api, at);
  RequireType<T>(kAllFloats, api, at);
  Lanewise(
      api, at, Extent::Count(count), Operand<D>{dst, {1, 8}},
      [f](T x) { return Done<D>(f(static_cast<double>(Wide(x))) ? 1 : 0); },
      Operand<T>{src, {1, 8}});
}

}  // namespace ascendc_twin

namespace AscendC {

#define ASCENDC_TWIN_POWER(First, Second)                                                         \
  template <typename T, bool isReuseSource = false>                                               \
  void Power(const LocalTensor<T>& dst, const First& src0, const Second& src1,                    \
             const LocalTensor<uint8_t>& sharedTmpBuffer, uint32_t calCount,                      \
             ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {                                  \
    ascendc_twin::PowerOp<T>(dst, src0, src1, &sharedTmpBuffer, calCount, at);                    \
  }                                                                                               \
  template <typename T, bool isReuseSource = false>                                               \
  void Power(const LocalTensor<T>& dst, const First& src0, const Second& src1, uint32_t calCount, \
             ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {                                  \
    ascendc_twin::PowerOp<T>(dst, src0, src1, nullptr, calCount, at);                             \
  }
ASCENDC_TWIN_POWER(LocalTensor<T>, LocalTensor<T>)
ASCENDC_TWIN_POWER(LocalTensor<T>, T)
ASCENDC_TWIN_POWER(T, LocalTensor<T>)
#undef ASCENDC_TWIN_POWER

#define ASCENDC_TWIN_PAIR(Name, types, needed)                                                  \
  template <typename T, bool isReuseSource = false>                                             \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,  \
            const LocalTensor<uint8_t>& sharedTmpBuffer, const uint32_t calCount,               \
            ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {                                 \
    using namespace ascendc_twin;                                                               \
    CheckSizes(src0, src1, #Name, at);                                                          \
    MathOp(#Name, at, types, needed, calCount, &sharedTmpBuffer, Name##Of<T>, dst, src0, src1); \
  }                                                                                             \
  template <typename T, bool isReuseSource = false>                                             \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,  \
            const uint32_t calCount, ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {        \
    using namespace ascendc_twin;                                                               \
    CheckSizes(src0, src1, #Name, at);                                                          \
    MathOp(#Name, at, types, needed, calCount, nullptr, Name##Of<T>, dst, src0, src1);          \
  }
ASCENDC_TWIN_PAIR(Fmod, kFloats, Repeats<T>(1, 8))
ASCENDC_TWIN_PAIR(Xor, kI16 | kU16, Repeats<T>(1, 1))
#undef ASCENDC_TWIN_PAIR

#define ASCENDC_TWIN_CLAMP(Name, lane)                                                            \
  template <typename T, bool isReuseSource = false>                                               \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src,                                 \
            const LocalTensor<uint8_t>& sharedTmpBuffer, const T scalar, const uint32_t calCount, \
            ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {                                   \
    using namespace ascendc_twin;                                                                 \
    MathOp(                                                                                       \
        #Name, at, kFloats, Repeats<T>(1, 1), calCount, &sharedTmpBuffer,                         \
        [scalar](T x) { return lane(x, scalar); }, dst, src);                                     \
  }
ASCENDC_TWIN_CLAMP(ClampMax, MinOf)
ASCENDC_TWIN_CLAMP(ClampMin, MaxOf)
#undef ASCENDC_TWIN_CLAMP

// The exact Exp; the level is its number of Taylor terms.
template <typename T, uint8_t taylorExpandLevel, bool isReuseSource = false>
void Exp(const LocalTensor<T>& dst, const LocalTensor<T>& src,
         const LocalTensor<uint8_t>& sharedTmpBuffer, const uint32_t calCount,
         ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {
  using namespace ascendc_twin;
  const uint32_t needed = taylorExpandLevel == 0 ? 0 : Repeats<T>(3, 8);
  MathOp("Exp", at, kFloats, needed, calCount, &sharedTmpBuffer, ExpOf<T>, dst, src);
}

template <typename T, bool isReuseSource = false>
void Swish(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint32_t dataSize,
           const T scalarValue, ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {
  using namespace ascendc_twin;
  const double beta = static_cast<double>(Wide(scalarValue));
  const auto swish = [beta](double x) { return x / (1 + std::exp(-beta * x)); };
  MathOp(
      "Swish", at, kFloats, 0, dataSize, nullptr, [swish](T x) { return Through(x, swish); }, dst,
      src);
}

template <typename T, bool highPrecision = false, bool highPerformance = false>
void FasterGelu(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                const LocalTensor<uint8_t>& sharedTmpBuffer, const uint32_t dataSize,
                ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {
  using namespace ascendc_twin;
  MathOp("FasterGelu", at, kFloats, 0, dataSize, &sharedTmpBuffer, FasterGeluOf<T>, dst, src);
}

template <typename T>
void Rint(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t count,
          ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {
  using namespace ascendc_twin;
  Require3510("Rint", at);
  MathOp("Rint", at, kFloats, 0, count, nullptr, RintOf<T>, dst, src);
}

#define ASCENDC_TWIN_TEST(Name, expression)                                                \
  template <typename T, typename U>                                                        \
  void Name(const LocalTensor<T>& dst, const LocalTensor<U>& src, const uint32_t count,    \
            ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {                            \
    ascendc_twin::TestOp(#Name, dst, src, count, [](double x) { return expression; }, at); \
  }
ASCENDC_TWIN_TEST(IsNan, std::isnan(x))
ASCENDC_TWIN_TEST(IsInf, std::isinf(x))
ASCENDC_TWIN_TEST(IsFinite, std::isfinite(x))
#undef ASCENDC_TWIN_TEST

template <typename T>
void Clamp(const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& min, const T& max,
           const uint32_t count, ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {
  using namespace ascendc_twin;
  Require3510("Clamp", at);
  const auto clamp = [min, max](T x) { return MinOf(MaxOf(x, min), max); };
  MathOp("Clamp", at, kEverything, 0, count, nullptr, clamp, dst, src);
}

}  // namespace AscendC

#endif  // ASCENDC_TWIN_HIGH_LEVEL_MORE_H_
