// The 2-D reductions over Pattern::Reduce::AR and RA.
#ifndef ASCENDC_TWIN_REDUCE_PATTERN_H_
#define ASCENDC_TWIN_REDUCE_PATTERN_H_

#include "reduce.h"

namespace ascendc_twin {

// Largest power of two below n (n itself only when it is 1).
inline uint64_t PowerBelow(uint64_t n) {
  uint64_t p = 1;
  while (p * 2 < n) p *= 2;
  return p;
}

template <class T>
uint64_t PatternScratch(bool last_axis, bool extreme, uint64_t first, uint64_t last) {
  if (last_axis && sizeof(T) == 1) return CeilBlock(last) * 2 + first * kBlockBytes;
  if (!last_axis) return PowerBelow(first) * CeilBlock(last * sizeof(T));
  if (!extreme) return last <= kRepeatBytes / sizeof(T) ? 0 : first * PowerBelow(last) * sizeof(T);
  if (last <= kBlockBytes / sizeof(T)) return 0;
  return first * (last < kRepeatBytes / sizeof(T) ? kBlockBytes : kRepeatBytes);
}

// Halves the list until one value is left: the upper half is folded onto the lower one.
template <class T, class F>
T Fold(std::vector<T>& values, F combine) {
  for (size_t n = values.size(); n > 1;) {
    const size_t half_size = PowerBelow(n);
    for (size_t i = half_size; i < n; ++i) {
      values[i - half_size] = combine(values[i - half_size], values[i]);
    }
    n = half_size;
  }
  return values[0];
}

// The count forms of the same name take other types on 3510.
template <class T>
void RequirePattern(uint32_t types, const char* api, Loc at) {
  if (TypeInfo<T>::kBit & types) return;
  Refuse(at, api, "dtype", "%s does not take %s", This().device.chip, TypeInfo<T>::kName);
}

inline bool Overlap(const Place& a, uint64_t a_bytes, const Place& b, uint64_t b_bytes) {
  return a.address < b.address + b_bytes && b.address < a.address + a_bytes;
}

template <class T, class Pattern, class F>
void PatternReduce(const char* api, Loc at, uint32_t types, bool extreme, bool reuse,
                   const Local<T>& dst, const Local<T>& src, const Local<uint8_t>& scratch,
                   const uint32_t shape[], bool inner_pad, F combine, bool mean = false) {
  constexpr bool last_axis = std::is_same<Pattern, AscendC::Pattern::Reduce::AR>::value;
  static_assert(last_axis || std::is_same<Pattern, AscendC::Pattern::Reduce::RA>::value,
                "the pattern is AR or RA");
  RequirePattern<T>(types, api, at);
  if (!inner_pad) Refuse(at, api, "srcInnerPad", "must be true on this chip");
  const uint64_t first = shape[0], last = shape[1];
  if (first == 0 || last == 0) return;
  Core& core = This();
  const uint64_t pitch = CeilBlock(last * sizeof(T)), src_bytes = pitch * first;
  const uint64_t dst_bytes = (last_axis ? first : last) * sizeof(T);
  const uint64_t scratch_bytes = reuse ? 0 : PatternScratch<T>(last_axis, extreme, first, last);
  core.CheckPlace(src.place, src_bytes, kBlockBytes, at, api);
  core.CheckPlace(dst.place, dst_bytes, kBlockBytes, at, api);
  if (core.check && scratch.place.bytes < scratch_bytes) {
    Refuse(at, api, "scratch", "%u bytes of scratch, %llu needed", scratch.place.bytes,
           static_cast<unsigned long long>(scratch_bytes));
  }
  if (core.check && (Overlap(dst.place, dst_bytes, src.place, src_bytes) ||
                     Overlap(dst.place, dst_bytes, scratch.place, scratch_bytes) ||
                     Overlap(src.place, src_bytes, scratch.place, scratch_bytes))) {
    Refuse(at, api, "overlap", "source, destination and scratch must be apart");
  }
  core.Issue(kPipeV);
  CountVector(Extent::Count(first * pitch / sizeof(T)), sizeof(T), api);
  for (uint64_t row = 0; row < first; ++row) {
    core.ReadUb(kPipeV, uint32_t(src.place.address + row * pitch), uint32_t(last * sizeof(T)), at,
                api);
  }
  core.WriteUb(kPipeV, dst.place.address, uint32_t(dst_bytes), at, api);
  if (scratch_bytes != 0) {
    core.CheckPlace(scratch.place, scratch_bytes, kBlockBytes, at, api);
    core.WriteUb(kPipeV, scratch.place.address, uint32_t(scratch_bytes), at, api);
    core.SetValid(scratch.place.address, uint32_t(scratch_bytes), false);
  }
  const uint64_t results = last_axis ? first : last, folded = last_axis ? last : first;
  std::vector<T> values(folded);
  for (uint64_t i = 0; i < results; ++i) {
    bool good = true;
    for (uint64_t k = 0; k < folded; ++k) {
      const uint64_t row = last_axis ? i : k, column = last_axis ? k : i;
      const uint32_t from = uint32_t(src.place.address + row * pitch + column * sizeof(T));
      values[k] = Load<T>(core.ub.get() + from);
      good = good && core.Valid(from, sizeof(T));
    }
    NoteMixed(good, at);
    const uint32_t to = uint32_t(dst.place.address + i * sizeof(T));
    T result = Fold(values, combine);
    if (mean) result = MulOf(result, Done<T>(1.0f / static_cast<float>(folded)));
    Store<T>(core.ub.get() + to, result);
    core.SetValid(to, sizeof(T), good);
  }
  if (reuse) {
    // The instruction works inside its source.
    core.WriteUb(kPipeV, src.place.address, uint32_t(src_bytes), at, api);
    core.SetValid(src.place.address, uint32_t(src_bytes), false);
  }
}

}  // namespace ascendc_twin

namespace AscendC {

#define ASCENDC_TWIN_PATTERN(Name, types, extreme, lane, mean)                         \
  template <class T, class pattern, bool isReuseSource = false>                        \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src,                      \
            const LocalTensor<uint8_t>& sharedTmpBuffer, const uint32_t srcShape[],    \
            bool srcInnerPad, ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {      \
    ascendc_twin::PatternReduce<T, pattern>(                                           \
        #Name, at, types, extreme, isReuseSource, dst, src, sharedTmpBuffer, srcShape, \
        srcInnerPad, [](T a, T b) { return lane(a, b); }, mean);                       \
  }
ASCENDC_TWIN_PATTERN(ReduceSum, ascendc_twin::kF32, false, ascendc_twin::AddOf, false)
ASCENDC_TWIN_PATTERN(ReduceMean, ascendc_twin::kF32, false, ascendc_twin::AddOf, true)
ASCENDC_TWIN_PATTERN(ReduceProd, ascendc_twin::kF32, false, ascendc_twin::MulOf, false)
ASCENDC_TWIN_PATTERN(ReduceMax, ascendc_twin::kFloats, true, ascendc_twin::MaxOf, false)
ASCENDC_TWIN_PATTERN(ReduceMin, ascendc_twin::kFloats, true, ascendc_twin::MinOf, false)
// Of zeros and ones.
ASCENDC_TWIN_PATTERN(ReduceAny, ascendc_twin::kF32 | ascendc_twin::kU8, true, ascendc_twin::MaxOf,
                     false)
ASCENDC_TWIN_PATTERN(ReduceAll, ascendc_twin::kF32 | ascendc_twin::kU8, true, ascendc_twin::MinOf,
                     false)
#undef ASCENDC_TWIN_PATTERN

}  // namespace AscendC

#endif  // ASCENDC_TWIN_REDUCE_PATTERN_H_
