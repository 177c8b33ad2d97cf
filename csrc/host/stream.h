/* Stores past the caches, for results that would leave them before somebody reads them: the line
 * that is written need not be read first. */
#ifndef AUTOFUSE_HOST_STREAM_H_
#define AUTOFUSE_HOST_STREAM_H_

#include "chunk.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

/* Rows below this are not worth it, nor results below that; what is taken for the last cache where
 * the machine does not say. */
enum { STREAM_ROW = 256, STREAM_LEAST = 4 << 20, STREAM_CACHE = 32 << 20 };

#if defined(__x86_64__)

/* Bytes of the cache that leaf `leaf` of the processor's description has as its fourth. The C
 * library is not asked: on AMD some versions give the sum over all chiplets. */
static inline int64_t fourth_cache(uint32_t leaf) {
  uint32_t a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid_count(leaf, 3, &a, &b, &c, &d) || (a & 31) == 0) return 0;
  return (int64_t)((b >> 22) + 1) * ((b >> 12 & 1023) + 1) * ((b & 4095) + 1) * ((int64_t)c + 1);
}

static inline int64_t last_cache(void) {
  const int64_t intel = fourth_cache(4), amd = fourth_cache(0x8000001du);
  return intel > 0 ? intel : amd > 0 ? amd : STREAM_CACHE;
}

/* Whether results of `bytes` leave the caches before somebody reads them. From here on storing and
 * then reading them once was faster that way. */
static inline bool leaves_caches(int64_t bytes) {
  if (bytes < STREAM_LEAST) return false;
  static int64_t found; /* threads that ask at the same time find the same */
  int64_t cache = __atomic_load_n(&found, __ATOMIC_RELAXED);
  if (cache == 0) {
    cache = last_cache();
    __atomic_store_n(&found, cache, __ATOMIC_RELAXED);
  }
  return bytes >= cache / 4 * 3;
}

#if defined(__AVX__)
#define AF_STREAM "vmovntps %1, %0"
#else
#define AF_STREAM "movntps %1, %0"
#endif
#if defined(__AVX512F__)
enum { STREAM_BYTES = 64 };
#elif defined(__AVX__)
enum { STREAM_BYTES = 32 };
#else
enum { STREAM_BYTES = 16 };
#endif

template <int64_t bytes, int64_t most>
AF_INLINE void stream_bytes(const char* from, char* to) {
  enum { SIZE = bytes < most ? bytes : most };
  /* Read and written as bytes: of a type that depends on a template the compiler forgets that it
   * may alias others, and it would read a block before that is written. */
  typedef float Part __attribute__((vector_size(SIZE)));
  typedef char Bytes[SIZE];
#pragma GCC unroll 8
  for (int64_t i = 0; i < bytes; i += SIZE) {
    Part part;
    __builtin_memcpy(&part, from + i, SIZE);
    __asm__ volatile(AF_STREAM : "=m"(*(Bytes*)(to + i)) : "v"(part));
  }
}

/* Other threads may see streamed stores after later ones: this comes before the block is done. */
AF_INLINE void end_stream(void) { __asm__ volatile("sfence" ::: "memory"); }

#else

enum { STREAM_BYTES = 16 };
AF_INLINE bool leaves_caches(int64_t) { return false; }
template <int64_t bytes, int64_t most>
AF_INLINE void stream_bytes(const char* from, char* to) {
  __builtin_memcpy(to, from, bytes);
}
AF_INLINE void end_stream(void) {}

#endif

/* A block of results, `to` at a multiple of its size. */
template <typename T>
AF_INLINE void stream_block(const T* block, T* to) {
  stream_bytes<BLOCK*(int64_t)sizeof(T), STREAM_BYTES>((const char*)block, (char*)to);
}

/* The same for a block that becomes float16, in the vectors that the conversion gives: a wider one
 * would be read from the stack before its parts have arrived there. */
AF_INLINE void stream_halves(const float* block, uint16_t* to) {
  AF_BUFFER uint16_t halves[BLOCK];
  block_to_halves(block, halves);
#if defined(__F16C__)
  stream_bytes<sizeof halves, sizeof(Halves)>((const char*)halves, (char*)to);
#else
  stream_block(halves, to);
#endif
}

/* A block that is stored like any other result. */
template <typename T>
AF_INLINE void copy_block(const T* block, T* to) {
  __builtin_memcpy(to, block, BLOCK * sizeof(T));
}

AF_INLINE bool at_line(const void* address) { return ((uintptr_t)address & 63) == 0; }

/* Whether a block of an array at a line may begin with element number `at`. */
AF_INLINE bool at_block(int64_t at) { return at % BLOCK == 0; }

#endif /* AUTOFUSE_HOST_STREAM_H_ */
