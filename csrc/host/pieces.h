/* An axis along which many tensors stand behind each other; see codegen/host_pieces.py. */
#ifndef AUTOFUSE_HOST_PIECES_H_
#define AUTOFUSE_HOST_PIECES_H_

#include <stdint.h>

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
};

#endif /* AUTOFUSE_HOST_PIECES_H_ */
