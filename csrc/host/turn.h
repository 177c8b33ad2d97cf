/* Blocks of SIDE_ROWS short rows: turned so that the elements of one column lie side by side, or
 * added up as they are.
 *
 * Rows of 2, 4 and 8 elements are turned by permutations of vectors, in a tenth of the time
 * that single elements take. */
#ifndef AUTOFUSE_HOST_TURN_H_
#define AUTOFUSE_HOST_TURN_H_

#include "cut.h"
#include "scalar_types.h"

/* Longest rows that are turned. */
enum { TURN_COLUMNS = 16 };

/* A number of columns that the compiler knows. */
template <int64_t n>
struct Columns {
  constexpr operator int64_t() const { return n; }
};

template <int64_t n, typename T>
AF_INLINE void turn_rows_of(const T* __restrict__ rows, T* __restrict__ columns) {
  for (int64_t r = 0; r < SIDE_ROWS; ++r) {
#pragma GCC unroll 8
    for (int64_t c = 0; c < n; ++c) columns[c * SIDE_ROWS + r] = rows[r * n + c];
  }
}

template <int64_t n, typename T>
AF_INLINE void turn_columns_of(const T* __restrict__ columns, T* __restrict__ rows) {
  for (int64_t r = 0; r < SIDE_ROWS; ++r) {
#pragma GCC unroll 8
    for (int64_t c = 0; c < n; ++c) rows[r * n + c] = columns[c * SIDE_ROWS + r];
  }
}

/* rows[SIDE_ROWS][n] -> columns[n][SIDE_ROWS] */
template <typename T>
static inline void turn_rows(const T* __restrict__ rows, int64_t n, T* __restrict__ columns) {
  if (n == 8) return turn_rows_of<8>(rows, columns);
  if (n == 4) return turn_rows_of<4>(rows, columns);
  if (n == 2) return turn_rows_of<2>(rows, columns);
  for (int64_t r = 0; r < SIDE_ROWS; ++r) {
    for (int64_t c = 0; c < n; ++c) columns[c * SIDE_ROWS + r] = rows[r * n + c];
  }
}

/* columns[n][SIDE_ROWS] -> rows[SIDE_ROWS][n] */
template <typename T>
static inline void turn_columns(const T* __restrict__ columns, int64_t n, T* __restrict__ rows) {
  if (n == 8) return turn_columns_of<8>(columns, rows);
  if (n == 4) return turn_columns_of<4>(columns, rows);
  if (n == 2) return turn_columns_of<2>(columns, rows);
  for (int64_t r = 0; r < SIDE_ROWS; ++r) {
    for (int64_t c = 0; c < n; ++c) rows[r * n + c] = columns[c * SIDE_ROWS + r];
  }
}

/* Rows of fewer elements are added up four at a time; beyond, a sum across the vector costs little.
 * A buffer holds as many rows as are computed before they are added up. */
enum { ADDED_COLUMNS = 128, ADDED_ROWS = 8, ADDED = ADDED_COLUMNS * ADDED_ROWS };

/* How many rows that is: a few, so that the next elements are asked of memory soon; of short rows
 * whose number of elements the compiler does not know as many as make whole vectors. */
AF_INLINE int64_t added_rows(int64_t n) {
  return n == 8 || n == 4 || n >= 16 ? (int64_t)ADDED_ROWS : (int64_t)SIDE_ROWS;
}

typedef double Wide __attribute__((vector_size(32), aligned(8), may_alias));
typedef int64_t WideBits __attribute__((vector_size(32)));
typedef float Quad __attribute__((vector_size(16), aligned(4), may_alias));

#if defined(__clang__)
#define AF_PICK(a, b, i, j, k, l) __builtin_shufflevector(a, b, i, j, k, l)
#else
#define AF_PICK(a, b, i, j, k, l) __builtin_shuffle(a, b, (WideBits){i, j, k, l})
#endif

/* All that take vectors are inline: there is no ABI to warn of. */
#pragma GCC diagnostic ignored "-Wpsabi"

/* The instruction is named: g++ makes four of it. */
AF_INLINE Wide widen(const float* x) {
#if defined(__AVX__)
  Wide y;
  __asm__("vcvtps2pd %1, %0" : "=v"(y) : "m"(*(const Quad*)x));
  return y;
#else
  return (Wide){x[0], x[1], x[2], x[3]};
#endif
}

/* Which lanes of the last four elements of a row whole quads leave; of a short row, which lanes
 * from its first element on it has. Other lanes count as 0.0. */
AF_INLINE WideBits lanes_left(int64_t n) {
  const WideBits lane = {0, 1, 2, 3};
  return n < 4 ? lane < n : lane >= 4 - n % 4;
}

/* Four sums that make up the sum of a row. */
AF_INLINE Wide add_quads(const float* row, int64_t n, const WideBits& left) {
  Wide sum = widen(row);
  if (n < 4) return (Wide)((WideBits)sum & left);
#pragma GCC unroll 2
  for (int64_t k = 4; k + 4 <= n; k += 4) sum += widen(row + k);
  if (n % 4 != 0) sum += (Wide)((WideBits)widen(row + n - 4) & left);
  return sum;
}

/* The sums of `count` rows, a multiple of 4, of n > 1 elements. A float is behind them. */
AF_INLINE void add_rows(const float* rows, int64_t count, int64_t n, double* sums) {
  const WideBits left = lanes_left(n);
  for (int64_t r = 0; r < count; r += 4, rows += 4 * n) {
    if (n == 2) {
      const Wide ab = widen(rows), cd = widen(rows + 4);
      const Wide acbd = AF_PICK(ab, cd, 0, 4, 2, 6) + AF_PICK(ab, cd, 1, 5, 3, 7);
      *(Wide*)(sums + r) = AF_PICK(acbd, acbd, 0, 2, 1, 3);
      continue;
    }
    const Wide a = add_quads(rows, n, left), b = add_quads(rows + n, n, left);
    const Wide c = add_quads(rows + 2 * n, n, left), d = add_quads(rows + 3 * n, n, left);
    const Wide ab = AF_PICK(a, b, 0, 4, 2, 6) + AF_PICK(a, b, 1, 5, 3, 7);
    const Wide cd = AF_PICK(c, d, 0, 4, 2, 6) + AF_PICK(c, d, 1, 5, 3, 7);
    *(Wide*)(sums + r) = AF_PICK(ab, cd, 0, 1, 4, 5) + AF_PICK(ab, cd, 2, 3, 6, 7);
  }
}

/* Rows of ROW_LANES elements are walked as they lie, where a vector has that many. */
enum { ROW_LANES = 8 };
#if defined(__AVX2__) && !defined(__AVX512F__)
enum { ROWS_ARE_VECTORS = 1 };
#else
enum { ROWS_ARE_VECTORS = 0 };
#endif

typedef float Oct __attribute__((vector_size(32), aligned(4), may_alias));
typedef int32_t OctBits __attribute__((vector_size(32)));

#if defined(__clang__)
#define AF_PICK_EIGHT(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define AF_PICK_EIGHT(a, b, ...) __builtin_shuffle(a, b, (OctBits){__VA_ARGS__})
#endif

AF_INLINE Oct larger_of(const Oct& a, const Oct& b) { return a > b ? a : b; }

/* The larger ones of pairs of neighbours: two pairs of a, two of b, and so on. */
AF_INLINE Oct larger_neighbours(const Oct& a, const Oct& b) {
  return larger_of(AF_PICK_EIGHT(a, b, 0, 2, 8, 10, 4, 6, 12, 14),
                   AF_PICK_EIGHT(a, b, 1, 3, 9, 11, 5, 7, 13, 15));
}

/* The maxima of SIDE_ROWS rows of ROW_LANES elements; NaN if one of them is. */
AF_INLINE void max_rows(const float* rows, float* maxima) {
  int32_t nan = 0;
#pragma omp simd reduction(| : nan)
  for (int64_t i = 0; i < SIDE_ROWS * ROW_LANES; ++i) nan |= rows[i] != rows[i];
  if (nan) {
    for (int64_t r = 0; r < SIDE_ROWS; ++r) {
      maxima[r] = rows[r * ROW_LANES];
      for (int64_t c = 1; c < ROW_LANES; ++c) {
        maxima[r] = pick_max(maxima[r], rows[r * ROW_LANES + c]);
      }
    }
    return;
  }
  for (int64_t r = 0; r < SIDE_ROWS; r += 8) {
    const Oct* row = (const Oct*)(rows + r * ROW_LANES);
    const Oct low =
        larger_neighbours(larger_neighbours(row[0], row[1]), larger_neighbours(row[2], row[3]));
    const Oct high =
        larger_neighbours(larger_neighbours(row[4], row[5]), larger_neighbours(row[6], row[7]));
    *(Oct*)(maxima + r) = larger_of(AF_PICK_EIGHT(low, high, 0, 1, 2, 3, 8, 9, 10, 11),
                                    AF_PICK_EIGHT(low, high, 4, 5, 6, 7, 12, 13, 14, 15));
  }
}

#endif /* AUTOFUSE_HOST_TURN_H_ */
