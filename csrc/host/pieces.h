/* An axis along which many tensors stand behind each other; see codegen/host_pieces.py. */
#ifndef AUTOFUSE_HOST_PIECES_H_
#define AUTOFUSE_HOST_PIECES_H_

#include "chunk.h"

/* Whether loads and stores of some elements of a vector cost what those of a whole one do: a
 * selection among a few tensors does then as well. */
#if defined(__AVX512F__)
enum { AF_MASKS = 1 };
#else
enum { AF_MASKS = 0 };
#endif

/* Whether a row of a few tensors is a selection: short ones are not worth a loop for each. */
AF_INLINE bool selects(int64_t row) { return AF_MASKS || row < BLOCK; }

/* Stretches of an axis along which none of n intervals begins or ends, and the number of the first
 * interval that each one lies in, n for none. */
template <int n>
struct Stretches {
  int64_t from[2 * n + 2];
  int first[2 * n + 1];
  int count;

  /* `ends` has two coordinates of each interval, its first one and the one behind it. */
  Stretches(const int64_t (&ends)[2 * n], int64_t size) : count(0) {
    from[0] = 0;
    if (behind_each_other(ends, size)) return;
    while (from[count] < size) {
      const int64_t at = from[count];
      int64_t next = size;
      int found = n;
      for (int k = n - 1; k >= 0; --k) {
        const int64_t low = ends[2 * k], high = ends[2 * k + 1];
        if (low > at && low < next) next = low;
        if (high > at && high < next) next = high;
        if (low <= at && at < high) found = k;
      }
      first[count++] = found;
      from[count] = next;
    }
  }

  /* The stretches of intervals that begin where the one before ends, from 0 to `size`; false, and
   * nothing, for others. */
  bool behind_each_other(const int64_t (&ends)[2 * n], int64_t size) {
    int64_t end = 0;
    for (int k = 0; k < n; ++k) {
      if (ends[2 * k] != end || ends[2 * k + 1] < end) return false;
      end = ends[2 * k + 1];
    }
    if (end != size) return false;
    for (int k = 0; k < n; ++k) {
      if (ends[2 * k + 1] == from[count]) continue;
      first[count] = k;
      from[++count] = ends[2 * k + 1];
    }
    return true;
  }

  /* The number of the first interval that a coordinate lies in; its stretch is in *s, where the one
   * of a coordinate shortly before was. */
  int at(int64_t i, int* s) const {
    if (i < from[*s]) *s = 0;
    while (i >= from[*s + 1]) ++*s;
    return first[*s];
  }
};

#endif /* AUTOFUSE_HOST_PIECES_H_ */
