/* Blocks of SIDE_ROWS short rows, turned so that the elements of one column lie side by side.
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

#endif /* AUTOFUSE_HOST_TURN_H_ */
