/* Scalar types of the CPU kernels: narrow floats, wrapping integers, casts with every case defined.
 *
 * All functions are branch-free so that the compiler vectorises the loops they are called from.
 * Narrow floats are carried as their 16 bits. Nothing relies on subnormal float arithmetic: the
 * threads of TensorFlow flush subnormals to zero.
 */
#ifndef AUTOFUSE_HOST_SCALAR_TYPES_H_
#define AUTOFUSE_HOST_SCALAR_TYPES_H_

#include <stdint.h>

#define AF_INLINE static inline __attribute__((always_inline))

template <typename To, typename From>
AF_INLINE To same_bits(From from) {
  To to;
  __builtin_memcpy(&to, &from, sizeof(to));
  return to;
}
AF_INLINE uint32_t bits_of(float x) { return same_bits<uint32_t>(x); }
AF_INLINE uint64_t bits_of(double x) { return same_bits<uint64_t>(x); }
AF_INLINE float float_of(uint32_t x) { return same_bits<float>(x); }
AF_INLINE double double_of(uint64_t x) { return same_bits<double>(x); }

/* In the conversions below, tests and selections are made on floats: on integers the compiler would
 * narrow them to the 16 bits that matter and then fail to vectorise the mixture. */

/* IEEE binary16 -> float, exact. Subnormals go through an integer conversion. */
AF_INLINE float half_to_float(uint16_t h) {
  const uint32_t sign = (uint32_t)(h & 0x8000u) << 16;
  const uint32_t magnitude = h & 0x7fffu;
  const float ordinal = (float)(int32_t)magnitude;
  const float normal = float_of((magnitude << 13) + (112u << 23));
  const float special = float_of((magnitude << 13) | (255u << 23));
  float f = ordinal < 1024.0f ? ordinal * 0x1p-24f : normal;
  f = ordinal >= 31744.0f ? special : f;
  return float_of(bits_of(f) | sign);
}

/* float -> IEEE binary16, ties to even; overflow gives infinity, NaN stays NaN. */
AF_INLINE uint16_t float_to_half(float f) {
  const uint32_t sign = (bits_of(f) >> 16) & 0x8000u;
  const float a = __builtin_fabsf(f);
  const uint32_t bits = bits_of(a);
  /* Adding 0.5 leaves the subnormal result, rounded, in the low bits of the sum. */
  const float tiny = float_of(bits_of(a + 0.5f) - bits_of(0.5f));
  const float normal = float_of((bits - (112u << 23) + 0xfffu + ((bits >> 13) & 1u)) >> 13);
  float half = a < 0x1p-14f ? tiny : normal;
  half = a >= 65536.0f ? float_of(0x7c00u) : half;
  half = a != a ? float_of(0x7e00u) : half;
  return (uint16_t)(bits_of(half) | sign);
}

AF_INLINE float bfloat16_to_float(uint16_t b) { return float_of((uint32_t)b << 16); }

/* float -> bfloat16, ties to even; NaN stays NaN. */
AF_INLINE uint16_t float_to_bfloat16(float f) {
  const uint32_t bits = bits_of(f);
  const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const uint32_t quiet = (bits >> 16) | 0x40u;
  return (uint16_t)bits_of(f != f ? float_of(quiet) : float_of(rounded));
}

/* Integers wrap: arithmetic happens on unsigned words of at least the width of the type. */
template <bool wide>
struct Word {
  typedef uint32_t type;
};
template <>
struct Word<true> {
  typedef uint64_t type;
};
#define AF_WORD(T) typename Word<(sizeof(T) > 4)>::type

template <typename T>
AF_INLINE T wrap_add(T a, T b) {
  return (T)((AF_WORD(T))a + (AF_WORD(T))b);
}
template <typename T>
AF_INLINE T wrap_sub(T a, T b) {
  return (T)((AF_WORD(T))a - (AF_WORD(T))b);
}
template <typename T>
AF_INLINE T wrap_mul(T a, T b) {
  return (T)((AF_WORD(T))a * (AF_WORD(T))b);
}
template <typename T>
AF_INLINE T wrap_neg(T a) {
  return wrap_sub<T>((T)0, a);
}
template <typename T>
AF_INLINE T wrap_abs(T a) {
  return a < (T)0 ? wrap_neg<T>(a) : a;
}

/* Maximum and minimum that let NaN through; between equal operands the second is returned. A bound
 * that the compiler knows takes one comparison. */
#define AF_KNOWN_NUMBER(x) (__builtin_constant_p(x) && (x) == (x))
/* The same for narrow floats, whose bits are picked; between equal operands the first one is. */
#define AF_AT_LEAST(a, b) (AF_KNOWN_NUMBER(b) ? !((a) < (b)) : ((a) >= (b)) | ((a) != (a)))
#define AF_AT_MOST(a, b) (AF_KNOWN_NUMBER(b) ? !((a) > (b)) : ((a) <= (b)) | ((a) != (a)))
template <typename T>
AF_INLINE T pick_max(T a, T b) {
  if (AF_KNOWN_NUMBER(b)) return a <= b ? b : a;
  return (a > b) | (a != a) ? a : b;
}
template <typename T>
AF_INLINE T pick_min(T a, T b) {
  if (AF_KNOWN_NUMBER(b)) return a >= b ? b : a;
  return (a < b) | (a != a) ? a : b;
}

/* Integer -> float. The compiler makes (float)(int)x one truncation, which keeps the sign of -0.3
 * where the integer 0 has none; naming the zero keeps the two steps apart. */
template <typename F, typename I>
AF_INLINE F from_integer(I x) {
  return x == 0 ? (F)0 : (F)x;
}

/* Float -> integer: truncation; what does not fit gives the smallest integer, as x86 has it. */
template <typename F>
AF_INLINE int32_t to_int32(F x) {
  const bool fits = (x >= (F)-2147483648.0) & (x < (F)2147483648.0);
  return fits ? (int32_t)x : INT32_MIN;
}
template <typename F>
AF_INLINE int64_t to_int64(F x) {
  const bool fits = (x >= (F)-9223372036854775808.0) & (x < (F)9223372036854775808.0);
  return fits ? (int64_t)x : INT64_MIN;
}
template <typename F>
AF_INLINE uint64_t to_uint64(F x) {
  const F half_range = (F)9223372036854775808.0;
  const bool high = x >= half_range;
  const uint64_t low_bits = (uint64_t)to_int64<F>(high ? x - half_range : x);
  return high ? low_bits ^ 0x8000000000000000ull : low_bits;
}

#endif /* AUTOFUSE_HOST_SCALAR_TYPES_H_ */
