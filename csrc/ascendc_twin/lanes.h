// The lane-wise vector instruction: dst[lane] = f(src[lane]...), in its count form and its mask
// form.
#ifndef ASCENDC_TWIN_LANES_H_
#define ASCENDC_TWIN_LANES_H_

#include <utility>

#include "copy.h"

namespace ascendc_twin {

// Which lanes take part: the first `count`, or `repeat` times those of a mask.
struct Extent {
  bool counted;
  int64_t count;
  uint64_t mask[2];
  int64_t repeat;

  static Extent Count(int64_t n) { return {true, n, {0, 0}, 0}; }
  // Of the first `lanes` lanes of each repeat. `lanes` may be too many: CheckExtent refuses it.
  static Extent Mask(uint64_t lanes, int64_t repeat) {
    Extent e{false, 0, {0, 0}, repeat};
    e.count = static_cast<int64_t>(lanes);
    e.mask[0] = lanes >= 64 ? ~uint64_t{0} : (uint64_t{1} << lanes) - 1;
    if (lanes > 64) e.mask[1] = lanes >= 128 ? ~uint64_t{0} : (uint64_t{1} << (lanes - 64)) - 1;
    return e;
  }
  static Extent Bits(const uint64_t* mask, bool second, int64_t repeat) {
    return {false, 0, {mask[0], second ? mask[1] : 0}, repeat};
  }
  bool Empty() const { return counted ? count <= 0 : repeat == 0; }
  bool Has(uint32_t lane) const { return mask[lane / 64] >> (lane % 64) & 1; }
};

// Block and repeat strides of an operand in the mask form, in 32-byte blocks.
struct Strides {
  uint32_t block, repeat;
};

// Where the elements of an operand lie; what is checked goes by their size alone.
struct Span {
  Place place;
  Strides strides;
  uint32_t size;

  uint32_t At(int64_t repeat, uint32_t lane) const {
    const uint32_t per_block = kBlockBytes / size;
    return static_cast<uint32_t>(place.address +
                                 (strides.repeat * repeat + strides.block * (lane / per_block)) *
                                     kBlockBytes +
                                 lane % per_block * size);
  }
};

template <class T>
struct Operand : Span {
  Operand(const Local<T>& tensor, Strides steps) : Span{tensor.place, steps, sizeof(T)} {}
};

template <class T>
T Load(const uint8_t* p) {
  T value;
  std::memcpy(&value, p, sizeof(T));
  return value;
}
template <class T>
void Store(uint8_t* p, T value) {
  std::memcpy(p, &value, sizeof(T));
}

// Rules of the mask form, for instructions whose widest element has `size` bytes.
ASCENDC_TWIN_CORE void CheckExtent(const Extent& e, size_t size, const char* api, Loc at);

ASCENDC_TWIN_CORE void CountVector(const Extent& e, size_t size, const char* api);

// Bytes from the start of an operand to the end of what the extent covers.
ASCENDC_TWIN_CORE uint64_t Reach(const Extent& e, const Span& operand);

ASCENDC_TWIN_CORE void TouchRead(const Extent& e, const Span& src, const char* api, Loc at);
ASCENDC_TWIN_CORE void TouchWrite(const Extent& e, const Span& dst, const char* api, Loc at);

// Source and destination are in the same place, lane by lane, or apart. `last` is the second
// source of a binary instruction.
ASCENDC_TWIN_CORE void CheckOverlap(const Extent& e, const Span& dst, const Span& src, bool last,
                                    const char* api, Loc at);

// Calls lane(index, repeat) for every active lane, in order.
template <class F>
void ForLanes(const Extent& e, F lane) {
  if (e.counted) {
    for (int64_t i = 0; i < e.count; ++i) lane(static_cast<uint32_t>(i), int64_t{0});
    return;
  }
  for (int64_t r = 0; r < e.repeat; ++r) {
    for (uint32_t i = 0; i < 128; ++i) {
      if (e.Has(i)) lane(i, r);
    }
  }
}

using Spans = std::initializer_list<const Span*>;

// Begins a vector instruction: everything but its values. False when no lane takes part.
ASCENDC_TWIN_CORE bool Begin(const char* api, Loc at, const Extent& e, const Span& dst, Spans srcs);

// One vector instruction. f takes the sources' elements and returns the destination's.
template <class D, class F, class... S>
void Lanewise(const char* api, Loc at, const Extent& e, const Operand<D>& dst, F f,
              const Operand<S>&... src) {
  if (!Begin(api, at, e, dst, {&src...})) return;
  uint8_t* ub = This().ub.get();
  if (e.counted) {
    uint8_t* d = ub + dst.place.address;
    for (int64_t i = 0; i < e.count; ++i) {
      Store<D>(d + i * sizeof(D), f(Load<S>(ub + src.place.address + i * sizeof(S))...));
    }
    return;
  }
  ForLanes(e, [&](uint32_t lane, int64_t r) {
    Store<D>(ub + dst.At(r, lane), f(Load<S>(ub + src.At(r, lane))...));
  });
}

}  // namespace ascendc_twin

#endif  // ASCENDC_TWIN_LANES_H_
