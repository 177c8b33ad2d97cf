#include "lanes.h"

namespace ascendc_twin {

namespace {

// Calls touch(address, bytes) for every stretch of an operand that the extent covers.
template <class F>
void Stretches(const Extent& e, const Span& operand, F touch) {
  if (e.counted) {
    touch(operand.place.address, static_cast<uint32_t>(e.count * operand.size));
    return;
  }
  const uint32_t per_block = kBlockBytes / operand.size;
  for (int64_t r = 0; r < e.repeat; ++r) {
    for (uint32_t block = 0; block < 128 / per_block; ++block) {
      uint32_t first = per_block, last = 0;
      for (uint32_t k = 0; k < per_block; ++k) {
        if (!e.Has(block * per_block + k)) continue;
        first = std::min(first, k);
        last = k + 1;
      }
      if (first >= last) continue;
      touch(operand.At(r, block * per_block + first), (last - first) * operand.size);
    }
  }
}

using Intervals = std::vector<std::pair<uint32_t, uint32_t>>;

Intervals IntervalsOf(const Extent& e, const Span& operand) {
  Intervals all;
  Stretches(e, operand,
            [&](uint32_t address, uint32_t bytes) { all.emplace_back(address, address + bytes); });
  std::sort(all.begin(), all.end());
  return all;
}

bool Meet(const Intervals& a, const Intervals& b) {
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
bool Accumulates(const char* api) {
  for (const char* name : {"Add", "Sub", "Mul", "Max", "Min"}) {
    if (std::strcmp(name, api) == 0) return true;
  }
  return false;
}

bool AllValid(const Extent& e, Spans srcs) {
  const Core& core = This();
  bool good = true;
  for (const Span* src : srcs) {
    Stretches(e, *src,
              [&](uint32_t address, uint32_t bytes) { good = good && core.Valid(address, bytes); });
  }
  return good;
}

// Lanes of the destination are as well known as those of the sources.
void PassValid(const Extent& e, const Span& dst, Spans srcs) {
  Core& core = This();
  if (!core.check) return;
  if (AllValid(e, srcs)) {
    Stretches(e, dst,
              [&](uint32_t address, uint32_t bytes) { core.SetValid(address, bytes, true); });
    return;
  }
  ForLanes(e, [&](uint32_t lane, int64_t r) {
    bool good = true;
    for (const Span* src : srcs) good = good && core.Valid(src->At(r, lane), src->size);
    core.SetValid(dst.At(r, lane), dst.size, good);
  });
}

}  // namespace

void CheckExtent(const Extent& e, size_t size, const char* api, Loc at) {
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

void CountVector(const Extent& e, size_t size, const char* api) {
  const int64_t repeats =
      e.counted ? (e.count * static_cast<int64_t>(size) + kRepeatBytes - 1) / kRepeatBytes
                : e.repeat;
  This().device.CountVector(api, static_cast<uint32_t>(size), repeats);
}

uint64_t Reach(const Extent& e, const Span& operand) {
  uint64_t end = 0;
  Stretches(e, operand, [&](uint32_t address, uint32_t bytes) {
    end = std::max<uint64_t>(end, uint64_t{address} + bytes);
  });
  return end > operand.place.address ? end - operand.place.address : 0;
}

void TouchRead(const Extent& e, const Span& src, const char* api, Loc at) {
  Core& core = This();
  core.CheckPlace(src.place, Reach(e, src), kBlockBytes, at, api);
  Stretches(e, src, [&](uint32_t address, uint32_t bytes) {
    core.ReadUb(kPipeV, address, bytes, at, api);
  });
}

void TouchWrite(const Extent& e, const Span& dst, const char* api, Loc at) {
  Core& core = This();
  core.CheckPlace(dst.place, Reach(e, dst), kBlockBytes, at, api);
  Stretches(e, dst, [&](uint32_t address, uint32_t bytes) {
    core.WriteUb(kPipeV, address, bytes, at, api);
  });
}

void CheckOverlap(const Extent& e, const Span& dst, const Span& src, bool last, const char* api,
                  Loc at) {
  if (!This().check) return;
  const uint64_t d = dst.place.address, s = src.place.address;
  const uint64_t d_end = d + Reach(e, dst), s_end = s + Reach(e, src);
  if (d_end <= s || s_end <= d) return;
  const bool still = !e.counted && e.repeat > 1 && dst.strides.repeat == 0;
  const bool in_place = d == s && dst.size == src.size &&
                        (e.counted || (dst.strides.block == src.strides.block &&
                                       dst.strides.repeat == src.strides.repeat));
  if (in_place && (!still || (last && Accumulates(api)))) return;
  if (!in_place && !Meet(IntervalsOf(e, dst), IntervalsOf(e, src))) return;
  Refuse(at, api, "overlap", "destination [%llu, %llu) overlaps source [%llu, %llu) in part%s",
         static_cast<unsigned long long>(d), static_cast<unsigned long long>(d_end),
         static_cast<unsigned long long>(s), static_cast<unsigned long long>(s_end),
         in_place ? ", from repeat to repeat" : "");
}

bool Begin(const char* api, Loc at, const Extent& e, const Span& dst, Spans srcs) {
  size_t size = dst.size;
  for (const Span* src : srcs) size = std::max<size_t>(size, src->size);
  CheckExtent(e, size, api, at);
  if (e.Empty()) return false;
  This().Issue(kPipeV);
  CountVector(e, size, api);
  size_t seen = 0;
  for (const Span* src : srcs) CheckOverlap(e, dst, *src, ++seen == 2, api, at);
  for (const Span* src : srcs) TouchRead(e, *src, api, at);
  TouchWrite(e, dst, api, at);
  PassValid(e, dst, srcs);
  return true;
}

}  // namespace ascendc_twin
