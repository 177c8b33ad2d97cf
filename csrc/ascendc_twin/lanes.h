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

template <class T>
struct Operand {
  const Local<T>& tensor;
  Strides strides;
  uint32_t At(int64_t repeat, uint32_t lane) const {
    constexpr uint32_t per_block = kBlockBytes / sizeof(T);
    return static_cast<uint32_t>(tensor.place.address +
                                 (strides.repeat * repeat + strides.block * (lane / per_block)) *
                                     kBlockBytes +
                                 lane % per_block * sizeof(T));
  }
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
inline void CheckExtent(const Extent& e, size_t size, const char* api, Loc at) {
  if (!This().check || e.counted) return;
  const int64_t most = This().device.limits.repeat;
  if (e.repeat < 0 || e.repeat > most) {
    Refuse(at, api, "repeat", "repeat %lld is outside 0..%lld", static_cast<long long>(e.repeat),
           static_cast<long long>(most));
  }
  const uint32_t lanes = static_cast<uint32_t>(kRepeatBytes / std::max<size_t>(size, 2));
  const bool high = lanes < 128 && (e.mask[1] || (lanes < 64 && e.mask[0] >> (lanes & 63)));
  if (e.count > lanes || high) {
    Refuse(at, api, "mask", "the mask names lanes beyond the %u of a repeat of %zu-byte elements",
           lanes, size);
  }
}

inline void CountVector(const Extent& e, size_t size, const char* api) {
  const int64_t repeats =
      e.counted ? (e.count * static_cast<int64_t>(size) + kRepeatBytes - 1) / kRepeatBytes
                : e.repeat;
  This().device.CountVector(api, static_cast<uint32_t>(size), repeats);
}

// Calls touch(address, bytes) for every stretch of an operand that the extent covers.
template <class T, class F>
void Stretches(const Extent& e, const Operand<T>& operand, F touch) {
  if (e.counted) {
    touch(operand.tensor.place.address, static_cast<uint32_t>(e.count * sizeof(T)));
    return;
  }
  constexpr uint32_t per_block = kBlockBytes / sizeof(T);
  for (int64_t r = 0; r < e.repeat; ++r) {
    for (uint32_t block = 0; block < 128 / per_block; ++block) {
      uint32_t first = per_block, last = 0;
      for (uint32_t k = 0; k < per_block; ++k) {
        if (!e.Has(block * per_block + k)) continue;
        first = std::min(first, k);
        last = k + 1;
      }
      if (first >= last) continue;
      touch(operand.At(r, block * per_block + first),
            static_cast<uint32_t>((last - first) * sizeof(T)));
    }
  }
}

template <class T>
uint64_t Reach(const Extent& e, const Operand<T>& operand) {
  uint64_t end = 0;
  Stretches(e, operand, [&](uint32_t address, uint32_t bytes) {
    end = std::max<uint64_t>(end, uint64_t{address} + bytes);
  });
  return end > operand.tensor.place.address ? end - operand.tensor.place.address : 0;
}

template <class T>
void TouchRead(const Extent& e, const Operand<T>& src, const char* api, Loc at) {
  Core& core = This();
  core.CheckPlace(src.tensor.place, Reach(e, src), kBlockBytes, at, api);
  Stretches(e, src, [&](uint32_t address, uint32_t bytes) {
    core.ReadUb(kPipeV, address, bytes, at, api);
  });
}

template <class T>
void TouchWrite(const Extent& e, const Operand<T>& dst, const char* api, Loc at) {
  Core& core = This();
  core.CheckPlace(dst.tensor.place, Reach(e, dst), kBlockBytes, at, api);
  Stretches(e, dst, [&](uint32_t address, uint32_t bytes) {
    core.WriteUb(kPipeV, address, bytes, at, api);
  });
}

template <class T>
bool AllValid(const Extent& e, const Operand<T>& src) {
  if (!This().check) return true;
  bool good = true;
  Stretches(e, src,
            [&](uint32_t address, uint32_t bytes) { good = good && This().Valid(address, bytes); });
  return good;
}

using Intervals = std::vector<std::pair<uint32_t, uint32_t>>;

template <class T>
Intervals IntervalsOf(const Extent& e, const Operand<T>& operand) {
  Intervals all;
  Stretches(e, operand,
            [&](uint32_t address, uint32_t bytes) { all.emplace_back(address, address + bytes); });
  std::sort(all.begin(), all.end());
  return all;
}

inline bool Meet(const Intervals& a, const Intervals& b) {
  size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (a[i].second <= b[j].first) {
      ++i;
    } else if (b[j].second <= a[i].first) {
      ++j;
    } else {
      return true;
    }
  }
  return false;
}

// Instructions that may add up into one place over their repeats: destination and second source
// are the same and do not move.
inline bool Accumulates(const char* api) {
  for (const char* name : {"Add", "Sub", "Mul", "Max", "Min"}) {
    if (std::strcmp(name, api) == 0) return true;
  }
  return false;
}

// Source and destination are in the same place, lane by lane, or apart. `last` is the second
// source of a binary instruction.
template <class D, class S>
void CheckOverlap(const Extent& e, const Operand<D>& dst, const Operand<S>& src, bool last,
                  const char* api, Loc at) {
  if (!This().check) return;
  const uint64_t d = dst.tensor.place.address, s = src.tensor.place.address;
  const uint64_t d_end = d + Reach(e, dst), s_end = s + Reach(e, src);
  if (d_end <= s || s_end <= d) return;
  const bool still = !e.counted && e.repeat > 1 && dst.strides.repeat == 0;
  const bool in_place = d == s && sizeof(D) == sizeof(S) &&
                        (e.counted || (dst.strides.block == src.strides.block &&
                                       dst.strides.repeat == src.strides.repeat));
  if (in_place && (!still || (last && Accumulates(api)))) return;
  if (!in_place && !Meet(IntervalsOf(e, dst), IntervalsOf(e, src))) return;
  Refuse(at, api, "overlap", "destination [%llu, %llu) overlaps source [%llu, %llu) in part%s",
         static_cast<unsigned long long>(d), static_cast<unsigned long long>(d_end),
         static_cast<unsigned long long>(s), static_cast<unsigned long long>(s_end),
         in_place ? ", from repeat to repeat" : "");
}

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

constexpr size_t Widest() { return 0; }
template <class... N>
constexpr size_t Widest(size_t first, N... rest) {
  const size_t other = Widest(rest...);
  return first > other ? first : other;
}

// One vector instruction. f takes the sources' elements and returns the destination's.
template <class D, class F, class... S>
void Lanewise(const char* api, Loc at, const Extent& e, const Operand<D>& dst, F f,
              const Operand<S>&... src) {
  constexpr size_t size = Widest(sizeof(D), sizeof(S)...);
  CheckExtent(e, size, api, at);
  if (e.Empty()) return;
  Core& core = This();
  core.Issue(kPipeV);
  CountVector(e, size, api);
  size_t seen = 0;
  (CheckOverlap(e, dst, src, ++seen == 2, api, at), ...);
  (TouchRead(e, src, api, at), ...);
  TouchWrite(e, dst, api, at);
  if ((AllValid(e, src) && ...)) {
    Stretches(e, dst,
              [&](uint32_t address, uint32_t bytes) { core.SetValid(address, bytes, true); });
  } else {
    ForLanes(e, [&](uint32_t lane, int64_t r) {
      const bool good = (core.Valid(src.At(r, lane), sizeof(S)) && ...);
      core.SetValid(dst.At(r, lane), sizeof(D), good);
    });
  }
  uint8_t* ub = core.ub.get();
  if (e.counted) {
    uint8_t* d = ub + dst.tensor.place.address;
    for (int64_t i = 0; i < e.count; ++i) {
      Store<D>(d + i * sizeof(D), f(Load<S>(ub + src.tensor.place.address + i * sizeof(S))...));
    }
    return;
  }
  ForLanes(e, [&](uint32_t lane, int64_t r) {
    Store<D>(ub + dst.At(r, lane), f(Load<S>(ub + src.At(r, lane))...));
  });
}

}  // namespace ascendc_twin

#endif  // ASCENDC_TWIN_LANES_H_
