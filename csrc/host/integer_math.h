/* Division, powers, shifts and bits of integers, with every case defined.
 *
 * What a kernel must refuse is noted for the thread: a zero divisor (the quotient is 0), a
 * requirement that is not met. autofuse_run forgets the note when it starts and returns it.
 */
#ifndef AUTOFUSE_HOST_INTEGER_MATH_H_
#define AUTOFUSE_HOST_INTEGER_MATH_H_

#include "kernel_abi.h"
#include "scalar_types.h"

static thread_local int32_t failure_seen;
static thread_local __attribute__((unused)) int64_t refused_coordinate, refused_size;

/* Out of line, so that no compiler vectorises the note away. */
static __attribute__((noinline, cold, unused)) void note_failure(int32_t code) {
  failure_seen = code;
}

static __attribute__((noinline, cold, unused)) void note_refused(int64_t x, int64_t n) {
  note_failure(AUTOFUSE_OUT_OF_RANGE);
  refused_coordinate = x;
  refused_size = n;
}

/* x, where `met` holds. */
template <typename T>
AF_INLINE T require(bool met, T x) {
  if (__builtin_expect(!met, 0)) note_failure(AUTOFUSE_OUT_OF_RANGE);
  return x;
}

/* x, where it is one of n > 0 coordinates, else 0: somewhere to read from. A vector loop counts
 * what differs. */
AF_INLINE int64_t nearest_place(int64_t x, int64_t n) { return (uint64_t)x < (uint64_t)n ? x : 0; }
AF_INLINE int64_t place(int64_t x, int64_t n) {
  if (__builtin_expect((uint64_t)x >= (uint64_t)n, 0)) {
    note_refused(x, n);
    return 0;
  }
  return x;
}

template <typename T>
AF_INLINE T trunc_div(T a, T b) {
  if (__builtin_expect(b == 0, 0)) {
    note_failure(AUTOFUSE_DIVISION_BY_ZERO);
    return 0;
  }
  /* The lowest integer by -1 would trap. */
  return (T)-1 < (T)0 && b == (T)-1 ? wrap_neg<T>(a) : (T)(a / b);
}
template <typename T>
AF_INLINE T trunc_mod(T a, T b) {
  return wrap_sub<T>(a, wrap_mul<T>(trunc_div<T>(a, b), b));
}
template <typename T>
AF_INLINE T floor_div(T a, T b) {
  const T q = trunc_div<T>(a, b);
  const bool below = ((a < (T)0) != (b < (T)0)) & (wrap_mul<T>(q, b) != a) & (b != (T)0);
  return below ? wrap_sub<T>(q, (T)1) : q;
}
template <typename T>
AF_INLINE T int_floor_mod(T a, T b) {
  return wrap_sub<T>(a, wrap_mul<T>(floor_div<T>(a, b), b));
}

/* a^b for b >= 0. */
template <typename T>
AF_INLINE T int_pow(T a, T b) {
  T r = (T)1;
  for (; b > (T)0; b = (T)(b >> 1)) {
    r = (b & (T)1) != (T)0 ? wrap_mul<T>(r, a) : r;
    a = wrap_mul<T>(a, a);
  }
  return r;
}

template <typename T>
AF_INLINE T int_sign(T a) {
  return (T)((a > (T)0) - (a < (T)0));
}

/* A shift distance brought into 0 .. bits - 1. */
template <typename T>
AF_INLINE int32_t shift_distance(T b) {
  const T most = (T)(sizeof(T) * 8 - 1);
  return (int32_t)(b < (T)0 ? (T)0 : (b > most ? most : b));
}
template <typename T>
AF_INLINE T shift_left(T a, T b) {
  return (T)((AF_WORD(T))a << shift_distance<T>(b));
}
template <typename T>
AF_INLINE T shift_right(T a, T b) {
  return (T)(a >> shift_distance<T>(b));
}

template <typename T>
AF_INLINE uint8_t count_bits(T a) {
  const uint64_t mask = sizeof(T) == 8 ? ~0ull : (1ull << (sizeof(T) * 8 % 64)) - 1;
  return (uint8_t)__builtin_popcountll((uint64_t)a & mask);
}

#endif /* AUTOFUSE_HOST_INTEGER_MATH_H_ */
