#include "windows.h"

#include <algorithm>

namespace autofuse {
namespace {

// Rounded down; `b` is positive.
int64_t FloorDiv(int64_t a, int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

int64_t Clamp(int64_t value, int64_t low, int64_t high) {
  return std::min(std::max(value, low), high);
}

bool ReadNumber(const std::string& text, size_t* at, int64_t* value) {
  const bool negative = *at < text.size() && text[*at] == '-';
  size_t next = *at + negative;
  const size_t start = next;
  int64_t number = 0;
  while (next < text.size() && text[next] >= '0' && text[next] <= '9' && next < start + 14) {
    number = number * 10 + (text[next++] - '0');
  }
  if (next == start) return false;
  *at = next;
  *value = negative ? -number : number;
  return true;
}

bool Accept(const std::string& text, size_t* at, const char* word) {
  const std::string wanted(word);
  if (text.compare(*at, wanted.size(), wanted) != 0) return false;
  *at += wanted.size();
  return true;
}

// `count` coordinates of the part so far, from `first` on, `step` apart.
void Narrow(int64_t first, int64_t count, int64_t step, Walk* at) {
  int64_t low = at->low, high = at->high;
  if (step > 0) {
    low = -FloorDiv(first - low, step);
    high = -FloorDiv(first - high, step);
  } else {
    const int64_t upper = FloorDiv(first - low, -step) + 1;
    low = FloorDiv(first - high, -step) + 1;
    high = upper;
  }
  at->start += at->step * first;
  at->step *= step;
  at->size = count;
  at->low = Clamp(low, 0, count);
  at->high = Clamp(high, 0, count);
}

// Python's slice.indices.
void NarrowSlice(const Window& window, Walk* at) {
  const int64_t least = window.step > 0 ? 0 : -1;
  const int64_t most = window.step > 0 ? at->size : at->size - 1;
  const auto bound = [&](bool given, int64_t value, int64_t otherwise) {
    if (!given) return otherwise;
    return Clamp(value < 0 ? value + at->size : value, least, most);
  };
  const bool forward = window.step > 0;
  const int64_t first = bound(window.has_first, window.first, forward ? least : most);
  const int64_t last = bound(window.has_last, window.last, forward ? most : least);
  const int64_t span = forward ? last - first : first - last;
  const int64_t stride = forward ? window.step : -window.step;
  Narrow(first, span > 0 ? (span + stride - 1) / stride : 0, window.step, at);
}

bool Apply(const Window& window, Walk* at, std::string* error) {
  const int64_t size = at->size;
  switch (window.kind) {
    case Window::kSlice:
      NarrowSlice(window, at);
      return true;
    case Window::kPart: {
      if (size % window.last != 0) {
        *error = std::to_string(size) + " cannot be split into " + std::to_string(window.last) +
                 " parts";
        return false;
      }
      const int64_t part = size / window.last;
      Narrow(window.first * part, part, 1, at);
      return true;
    }
    case Window::kFrom: {
      const int64_t count = window.has_last ? window.last : size - window.first;
      if (window.first < 0 || count < 0 || window.first + count > size) {
        *error = std::to_string(count) + " elements from " + std::to_string(window.first) +
                 " on of " + std::to_string(size);
        return false;
      }
      Narrow(window.first, count, 1, at);
      return true;
    }
    case Window::kPick: {
      const int64_t which = window.first < 0 ? window.first + size : window.first;
      if (which < 0 || which >= size) {
        *error = "slice index " + std::to_string(window.first) + " of dimension of size " +
                 std::to_string(size) + " out of bounds";
        return false;
      }
      Narrow(which, 1, 1, at);
      return true;
    }
    case Window::kPad:
      at->size += window.first + window.last;
      at->start -= window.first * at->step;
      at->low += window.first;
      at->high += window.first;
      return true;
  }
  return false;
}

}  // namespace

bool ReadWindow(const std::string& text, size_t* at, Window* window) {
  *window = Window{Window::kPick, 0, 0, 1, false, false};
  if (!Accept(text, at, "[")) return false;
  window->has_first = ReadNumber(text, at, &window->first);
  if (Accept(text, at, ":")) {
    window->kind = Window::kSlice;
    window->has_last = ReadNumber(text, at, &window->last);
    return Accept(text, at, ":") && ReadNumber(text, at, &window->step) && window->step != 0 &&
           Accept(text, at, "]");
  }
  if (!window->has_first) return false;
  if (Accept(text, at, "]")) return true;
  const bool part = Accept(text, at, "of");
  if (part || Accept(text, at, "|")) {
    window->kind = part ? Window::kPart : Window::kPad;
    window->has_last = ReadNumber(text, at, &window->last);
    const bool sane = window->has_last && window->first >= 0 && window->last >= (part ? 1 : 0);
    return sane && Accept(text, at, "]");
  }
  window->kind = Window::kFrom;
  if (!Accept(text, at, "+")) return false;
  window->has_last = ReadNumber(text, at, &window->last);
  return Accept(text, at, "]");
}

bool WalkWindows(const std::vector<Window>& windows, int64_t size, Walk* walk, std::string* error) {
  *walk = Walk{size, 0, 1, 0, size};
  for (const Window& window : windows) {
    if (!Apply(window, walk, error)) return false;
  }
  return true;
}

}  // namespace autofuse
