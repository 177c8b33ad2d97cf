// Windows: how the coordinates of a part of a dimension follow from those of the whole.
//
//   [1:-1:2]  what Python's slice takes       [1of3]  the second of three equal parts
//   [2+3]     three elements from the second  [2+]    all from the second on
//   [-1]      the last one alone              [1|2]   one element more before, two more behind
//
// Windows stand behind each other, each in the coordinates that the one before gives; see
// tf_autofuse/loop/windows.py, which means the same.
#ifndef AUTOFUSE_CORE_WINDOWS_H_
#define AUTOFUSE_CORE_WINDOWS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace autofuse {

struct Window {
  enum Kind { kSlice, kPart, kFrom, kPick, kPad };

  Kind kind;
  int64_t first, last, step;
  bool has_first, has_last;
};

// Coordinate i of the part is `start + step * i` of the dimension, for i in [0, size). Where the
// part is larger than the dimension, only the coordinates in [low, high) are in it.
struct Walk {
  int64_t size, start, step, low, high;
};

// Reads one window from text[*at] on, which is '['; false when it cannot be read.
bool ReadWindow(const std::string& text, size_t* at, Window* window);

// What `windows` make of a dimension of `size`. False when one does not fit; *error says why.
bool WalkWindows(const std::vector<Window>& windows, int64_t size, Walk* walk, std::string* error);

}  // namespace autofuse

#endif  // AUTOFUSE_CORE_WINDOWS_H_
