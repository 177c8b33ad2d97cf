// Arithmetic and logic of the vector unit.
//
// half is computed in float and rounded once, which is the correctly rounded result for add, sub,
// mul, div and sqrt. Integers wrap. Max, Min and Relu hand a NaN operand on.
#ifndef ASCENDC_TWIN_VECTOR_MATH_H_
#define ASCENDC_TWIN_VECTOR_MATH_H_

#include <cmath>
#include <type_traits>

#include "lanes.h"

namespace ascendc_twin {

// Integer arithmetic in the unsigned type, where wrapping is defined.
template <class T, bool integral = std::is_integral<T>::value>
struct Unsigned {
  using Type = T;
};
template <class T>
struct Unsigned<T, true> {
  using Type = std::make_unsigned_t<T>;
};
template <class T>
using Wrap = typename Unsigned<decltype(Wide(T{}))>::Type;

template <class T, class V>
T Done(V value) {
  return Narrow<T>::From(value);
}

template <class T>
T AddOf(T a, T b) {
  return Done<T>(Wrap<T>(Wide(a)) + Wrap<T>(Wide(b)));
}
template <class T>
T SubOf(T a, T b) {
  return Done<T>(Wrap<T>(Wide(a)) - Wrap<T>(Wide(b)));
}
// 16-bit integers are promoted to int, so the product is taken in 32 bits at least.
template <class T>
T MulOf(T a, T b) {
  if constexpr (std::is_integral<T>::value) {
    return static_cast<T>(uint64_t(a) * uint64_t(b));
  } else {
    return Done<T>(Wide(a) * Wide(b));
  }
}
template <class T>
T DivOf(T a, T b) {
  if constexpr (std::is_integral<T>::value) {
    return b == 0 ? T{0} : static_cast<T>(a / b);
  } else {
    return Done<T>(Wide(a) / Wide(b));
  }
}
template <class T>
T MaxOf(T a, T b) {
  return Wide(a) > Wide(b) || Wide(a) != Wide(a) ? a : b;
}
template <class T>
T MinOf(T a, T b) {
  return Wide(a) < Wide(b) || Wide(a) != Wide(a) ? a : b;
}
template <class T>
T AbsOf(T x) {
  if constexpr (std::is_same<T, half>::value) {
    x.bits = static_cast<uint16_t>(x.bits & 0x7fffu);
    return x;
  } else if constexpr (std::is_integral<T>::value) {
    return x < 0 ? SubOf(T{0}, x) : x;
  } else {
    return Done<T>(std::fabs(static_cast<float>(Wide(x))));
  }
}
template <class T>
T ReluOf(T x) {
  return Wide(x) <= 0 ? Done<T>(0) : x;
}
template <class T>
T ExpOf(T x) {
  return Done<T>(std::exp(static_cast<float>(Wide(x))));
}
template <class T>
T LnOf(T x) {
  return Done<T>(std::log(static_cast<float>(Wide(x))));
}
template <class T>
T SqrtOf(T x) {
  return Done<T>(std::sqrt(static_cast<float>(Wide(x))));
}
template <class T>
T RsqrtOf(T x) {
  return Done<T>(1.0f / std::sqrt(static_cast<float>(Wide(x))));
}
template <class T>
T ReciprocalOf(T x) {
  return Done<T>(1.0f / static_cast<float>(Wide(x)));
}

// f of the representations.
template <class T, class F>
T BitsOf(const T& a, const T& b, F f) {
  uint64_t x = 0, y = 0;
  std::memcpy(&x, &a, sizeof(T));
  std::memcpy(&y, &b, sizeof(T));
  const uint64_t bits = f(x, y);
  T result;
  std::memcpy(&result, &bits, sizeof(T));
  return result;
}

template <class T>
T LeakyReluOf(T x, T slope) {
  return Wide(x) >= 0 ? x : Done<T>(Wide(x) * Wide(slope));
}
template <class T>
T NotOf(T x) {
  return BitsOf<T>(x, x, [](uint64_t a, uint64_t) { return ~a; });
}
template <class T>
T AndOf(T a, T b) {
  return BitsOf<T>(a, b, [](uint64_t x, uint64_t y) { return x & y; });
}
template <class T>
T OrOf(T a, T b) {
  return BitsOf<T>(a, b, [](uint64_t x, uint64_t y) { return x | y; });
}
template <class T>
T XorOf(T a, T b) {
  return BitsOf<T>(a, b, [](uint64_t x, uint64_t y) { return x ^ y; });
}
template <class T>
T ShiftLeftOf(T x, T by) {
  return static_cast<T>(static_cast<uint64_t>(Wide(x)) << int(by));
}
// Arithmetic for the signed types.
template <class T>
T ShiftRightOf(T x, T by) {
  return static_cast<T>(static_cast<int64_t>(Wide(x)) >> int(by));
}

template <class T, class F>
void UnaryOp(const char* api, Loc at, uint32_t types, const Extent& e,
             const AscendC::UnaryRepeatParams& p, const Local<T>& dst, const Local<T>& src, F f) {
  RequireType<T>(types, api, at, e.counted);
  Lanewise(api, at, e, Operand<T>{dst, {p.dstBlkStride, p.dstRepStride}}, f,
           Operand<T>{src, {p.srcBlkStride, p.srcRepStride}});
}

template <class T, class F>
void BinaryOp(const char* api, Loc at, uint32_t types, const Extent& e,
              const AscendC::BinaryRepeatParams& p, const Local<T>& dst, const Local<T>& src0,
              const Local<T>& src1, F f) {
  RequireType<T>(types, api, at, e.counted);
  Lanewise(api, at, e, Operand<T>{dst, {p.dstBlkStride, p.dstRepStride}}, f,
           Operand<T>{src0, {p.src0BlkStride, p.src0RepStride}},
           Operand<T>{src1, {p.src1BlkStride, p.src1RepStride}});
}

template <class T>
constexpr bool kSecondMaskWord = sizeof(T) <= 2;

}  // namespace ascendc_twin

namespace AscendC {

// The three forms of an instruction differ in the lanes they name: a count, a mask of the first
// lanes, a mask of bits. `repeatTime` is wider here than on the device, so that 256 is seen.
#define ASCENDC_TWIN_UNARY(Name, types, lane)                                                 \
  template <typename T>                                                                       \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t& count,       \
            ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {                               \
    ascendc_twin::UnaryOp(#Name, at, types, ascendc_twin::Extent::Count(count), {}, dst, src, \
                          [](T x) { return lane(x); });                                       \
  }                                                                                           \
  template <typename T, bool isSetMask = true>                                                \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint64_t mask,              \
            const int64_t repeatTime, const UnaryRepeatParams& repeatParams,                  \
            ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {                               \
    ascendc_twin::UnaryOp(#Name, at, types, ascendc_twin::Extent::Mask(mask, repeatTime),     \
                          repeatParams, dst, src, [](T x) { return lane(x); });               \
  }                                                                                           \
  template <typename T, bool isSetMask = true>                                                \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint64_t mask[],            \
            const int64_t repeatTime, const UnaryRepeatParams& repeatParams,                  \
            ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {                               \
    ascendc_twin::UnaryOp(                                                                    \
        #Name, at, types,                                                                     \
        ascendc_twin::Extent::Bits(mask, ascendc_twin::kSecondMaskWord<T>, repeatTime),       \
        repeatParams, dst, src, [](T x) { return lane(x); });                                 \
  }

#define ASCENDC_TWIN_BINARY(Name, types, lane)                                                  \
  template <typename T>                                                                         \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,  \
            const int32_t& count, ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {           \
    ascendc_twin::BinaryOp(#Name, at, types, ascendc_twin::Extent::Count(count), {}, dst, src0, \
                           src1, [](T a, T b) { return lane(a, b); });                          \
  }                                                                                             \
  template <typename T, bool isSetMask = true>                                                  \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,  \
            uint64_t mask, const int64_t repeatTime, const BinaryRepeatParams& repeatParams,    \
            ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {                                 \
    ascendc_twin::BinaryOp(#Name, at, types, ascendc_twin::Extent::Mask(mask, repeatTime),      \
                           repeatParams, dst, src0, src1, [](T a, T b) { return lane(a, b); }); \
  }                                                                                             \
  template <typename T, bool isSetMask = true>                                                  \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,  \
            uint64_t mask[], const int64_t repeatTime, const BinaryRepeatParams& repeatParams,  \
            ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {                                 \
    ascendc_twin::BinaryOp(                                                                     \
        #Name, at, types,                                                                       \
        ascendc_twin::Extent::Bits(mask, ascendc_twin::kSecondMaskWord<T>, repeatTime),         \
        repeatParams, dst, src0, src1, [](T a, T b) { return lane(a, b); });                    \
  }

#define ASCENDC_TWIN_SCALAR(Name, Scalar, types, lane)                                        \
  template <typename T, bool isSetMask = true>                                                \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const Scalar& scalarValue,  \
            const int32_t& count, ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {         \
    ascendc_twin::UnaryOp(#Name, at, types, ascendc_twin::Extent::Count(count), {}, dst, src, \
                          [scalarValue](T x) { return lane(x, scalarValue); });               \
  }                                                                                           \
  template <typename T, bool isSetMask = true>                                                \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const Scalar& scalarValue,  \
            uint64_t mask, const int64_t repeatTime, const UnaryRepeatParams& repeatParams,   \
            ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {                               \
    ascendc_twin::UnaryOp(#Name, at, types, ascendc_twin::Extent::Mask(mask, repeatTime),     \
                          repeatParams, dst, src,                                             \
                          [scalarValue](T x) { return lane(x, scalarValue); });               \
  }                                                                                           \
  template <typename T, bool isSetMask = true>                                                \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const Scalar& scalarValue,  \
            uint64_t mask[], const int64_t repeatTime, const UnaryRepeatParams& repeatParams, \
            ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {                               \
    ascendc_twin::UnaryOp(                                                                    \
        #Name, at, types,                                                                     \
        ascendc_twin::Extent::Bits(mask, ascendc_twin::kSecondMaskWord<T>, repeatTime),       \
        repeatParams, dst, src, [scalarValue](T x) { return lane(x, scalarValue); });         \
  }

ASCENDC_TWIN_UNARY(Abs, ascendc_twin::kFloats, ascendc_twin::AbsOf)
ASCENDC_TWIN_UNARY(Exp, ascendc_twin::kFloats, ascendc_twin::ExpOf)
ASCENDC_TWIN_UNARY(Ln, ascendc_twin::kFloats, ascendc_twin::LnOf)
ASCENDC_TWIN_UNARY(Sqrt, ascendc_twin::kFloats, ascendc_twin::SqrtOf)
ASCENDC_TWIN_UNARY(Rsqrt, ascendc_twin::kFloats, ascendc_twin::RsqrtOf)
ASCENDC_TWIN_UNARY(Reciprocal, ascendc_twin::kFloats, ascendc_twin::ReciprocalOf)
ASCENDC_TWIN_UNARY(Relu, ascendc_twin::kFloats | ascendc_twin::kI32, ascendc_twin::ReluOf)
ASCENDC_TWIN_UNARY(Not, ascendc_twin::kI16 | ascendc_twin::kU16, ascendc_twin::NotOf)

ASCENDC_TWIN_BINARY(Add, ascendc_twin::kArithmetic, ascendc_twin::AddOf)
ASCENDC_TWIN_BINARY(Sub, ascendc_twin::kArithmetic, ascendc_twin::SubOf)
ASCENDC_TWIN_BINARY(Mul, ascendc_twin::kArithmetic, ascendc_twin::MulOf)
ASCENDC_TWIN_BINARY(Div, ascendc_twin::kFloats, ascendc_twin::DivOf)
ASCENDC_TWIN_BINARY(Max, ascendc_twin::kArithmetic, ascendc_twin::MaxOf)
ASCENDC_TWIN_BINARY(Min, ascendc_twin::kArithmetic, ascendc_twin::MinOf)
ASCENDC_TWIN_BINARY(And, ascendc_twin::kI16 | ascendc_twin::kU16, ascendc_twin::AndOf)
ASCENDC_TWIN_BINARY(Or, ascendc_twin::kI16 | ascendc_twin::kU16, ascendc_twin::OrOf)

ASCENDC_TWIN_SCALAR(Adds, T, ascendc_twin::kArithmetic, ascendc_twin::AddOf)
ASCENDC_TWIN_SCALAR(Muls, T, ascendc_twin::kArithmetic, ascendc_twin::MulOf)
ASCENDC_TWIN_SCALAR(Maxs, T, ascendc_twin::kArithmetic, ascendc_twin::MaxOf)
ASCENDC_TWIN_SCALAR(Mins, T, ascendc_twin::kArithmetic, ascendc_twin::MinOf)
ASCENDC_TWIN_SCALAR(LeakyRelu, T, ascendc_twin::kFloats, ascendc_twin::LeakyReluOf)
ASCENDC_TWIN_SCALAR(ShiftLeft, T, ascendc_twin::kShiftable, ascendc_twin::ShiftLeftOf)
ASCENDC_TWIN_SCALAR(ShiftRight, T, ascendc_twin::kShiftable, ascendc_twin::ShiftRightOf)

#undef ASCENDC_TWIN_UNARY
#undef ASCENDC_TWIN_BINARY
#undef ASCENDC_TWIN_SCALAR

// dst += src * scalar, rounded once.
template <typename T, typename U>
void Axpy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const U& scalarValue,
          const int32_t& count, ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {
  ascendc_twin::RequireType<T>(ascendc_twin::kFloats, "Axpy", at);
  ascendc_twin::RequireType<U>(ascendc_twin::kFloats, "Axpy", at);
  const float scale = scalarValue;
  ascendc_twin::Lanewise(
      "Axpy", at, ascendc_twin::Extent::Count(count), ascendc_twin::Operand<T>{dst, {1, 8}},
      [scale](T y, U x) { return ascendc_twin::Done<T>(std::fma(float(x), scale, float(y))); },
      ascendc_twin::Operand<T>{dst, {1, 8}}, ascendc_twin::Operand<U>{src, {1, 8}});
}

}  // namespace AscendC

#endif  // ASCENDC_TWIN_VECTOR_MATH_H_
