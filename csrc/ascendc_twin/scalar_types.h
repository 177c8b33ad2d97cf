// Scalar types of the device language: half and bfloat16_t, with round-to-nearest-even conversions.
#ifndef ASCENDC_TWIN_SCALAR_TYPES_H_
#define ASCENDC_TWIN_SCALAR_TYPES_H_

#include <cstdint>
#include <cstring>
#if defined(__F16C__)
#include <immintrin.h>
#endif

namespace ascendc_twin {

template <class To, class From>
inline To BitCast(const From& from) {
  static_assert(sizeof(To) == sizeof(From), "same size");
  To to;
  std::memcpy(&to, &from, sizeof(to));
  return to;
}

inline uint16_t HalfBits(float value) {
#if defined(__F16C__)
  return static_cast<uint16_t>(_cvtss_sh(value, 0));
#else
  const uint32_t x = BitCast<uint32_t>(value);
  const uint16_t sign = static_cast<uint16_t>((x >> 16) & 0x8000u);
  const uint32_t mag = x & 0x7fffffffu;
  if (mag > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u | ((mag >> 13) & 0x3ffu));
  if (mag >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);  // rounds past 65504
  if (mag < 0x33000001u) return sign;                                    // at most 2^-25
  const int exponent = static_cast<int>(mag >> 23) - 127;
  const uint32_t significand = (mag & 0x7fffffu) | 0x800000u;
  const int drop = exponent < -14 ? -exponent - 1 : 13;  // bits below the last kept one
  uint32_t kept = significand >> drop;
  const uint32_t rest = significand & ((1u << drop) - 1), tie = 1u << (drop - 1);
  if (rest > tie || (rest == tie && (kept & 1u))) ++kept;
  if (exponent >= -14) kept += static_cast<uint32_t>(exponent + 14) << 10;
  return static_cast<uint16_t>(sign | kept);
#endif
}

inline float HalfValue(uint16_t bits) {
#if defined(__F16C__)
  return _cvtsh_ss(bits);
#else
  const uint32_t sign = (bits & 0x8000u) << 16, exponent = (bits >> 10) & 31u;
  const uint32_t fraction = bits & 0x3ffu;
  if (exponent == 31) return BitCast<float>(sign | 0x7f800000u | (fraction << 13));
  if (exponent != 0) return BitCast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
  const float magnitude = static_cast<float>(fraction) * 5.9604644775390625e-8f;  // * 2^-24
  return BitCast<float>(sign | BitCast<uint32_t>(magnitude));
#endif
}

inline uint16_t BfloatBits(float value) {
  const uint32_t x = BitCast<uint32_t>(value);
  if ((x & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((x >> 16) | 0x40u);
  return static_cast<uint16_t>((x + 0x7fffu + ((x >> 16) & 1u)) >> 16);
}

inline float BfloatValue(uint16_t bits) {
  return BitCast<float>(static_cast<uint32_t>(bits) << 16);
}

}  // namespace ascendc_twin

struct half {
  uint16_t bits;
  half() = default;
  half(float value) : bits(ascendc_twin::HalfBits(value)) {}
  half(double value) : half(static_cast<float>(value)) {}
  half(int value) : half(static_cast<float>(value)) {}
  operator float() const { return ascendc_twin::HalfValue(bits); }
};

struct bfloat16_t {
  uint16_t bits;
};

namespace ascendc_twin {

// The type arithmetic is done in: float for the 16-bit floats, the type itself otherwise.
inline float Wide(half x) { return x; }
inline float Wide(bfloat16_t x) { return BfloatValue(x.bits); }
template <class T>
inline T Wide(T x) {
  return x;
}

template <class T>
struct Narrow {
  template <class V>
  static T From(V value) {
    return static_cast<T>(value);
  }
};
template <>
struct Narrow<half> {
  template <class V>
  static half From(V value) {
    return half(static_cast<float>(value));
  }
};
template <>
struct Narrow<bfloat16_t> {
  template <class V>
  static bfloat16_t From(V value) {
    return bfloat16_t{BfloatBits(static_cast<float>(value))};
  }
};

// Types as bits of a set, for the tables of what an instruction takes.
enum TypeBit : uint32_t {
  kI8 = 1,
  kU8 = 2,
  kI16 = 4,
  kU16 = 8,
  kI32 = 16,
  kU32 = 32,
  kI64 = 64,
  kU64 = 128,
  kF16 = 256,
  kBf16 = 512,
  kF32 = 1024,
  kBool = 2048,
};

template <class T>
struct TypeInfo;
#define ASCENDC_TWIN_TYPE(type, bit)            \
  template <>                                   \
  struct TypeInfo<type> {                       \
    static constexpr uint32_t kBit = bit;       \
    static constexpr const char* kName = #type; \
  };
ASCENDC_TWIN_TYPE(int8_t, kI8)
ASCENDC_TWIN_TYPE(uint8_t, kU8)
ASCENDC_TWIN_TYPE(int16_t, kI16)
ASCENDC_TWIN_TYPE(uint16_t, kU16)
ASCENDC_TWIN_TYPE(int32_t, kI32)
ASCENDC_TWIN_TYPE(uint32_t, kU32)
ASCENDC_TWIN_TYPE(int64_t, kI64)
ASCENDC_TWIN_TYPE(uint64_t, kU64)
ASCENDC_TWIN_TYPE(half, kF16)
ASCENDC_TWIN_TYPE(bfloat16_t, kBf16)
ASCENDC_TWIN_TYPE(float, kF32)
ASCENDC_TWIN_TYPE(bool, kBool)
#undef ASCENDC_TWIN_TYPE

}  // namespace ascendc_twin

#endif  // ASCENDC_TWIN_SCALAR_TYPES_H_
