// Basic reductions: WholeReduce*, BlockReduce*, and the count forms of ReduceSum, ReduceMax,
// ReduceMin.
//
// A repeat is summed as a balanced tree over neighbouring lanes, every level rounded to the type;
// lanes that are off count as nothing. Max and Min give the first place of the extreme.
#ifndef ASCENDC_TWIN_REDUCE_H_
#define ASCENDC_TWIN_REDUCE_H_

#include "compare_select.h"

namespace ascendc_twin {

using AscendC::ReduceOrder;

template <class T>
struct Reduced {
  T value{};
  uint32_t index = 0;
  bool any = false;  // of the lanes taken
  bool good = true;  // all of them were written
};

enum class Reduction { kSum, kMax, kMin };

template <class T>
void SumTree(std::vector<T>& lanes) {
  for (size_t n = lanes.size(); n > 1; n = (n + 1) / 2) {
    for (size_t i = 0; i < n / 2; ++i) lanes[i] = AddOf(lanes[2 * i], lanes[2 * i + 1]);
    if (n % 2) lanes[n / 2] = lanes[n - 1];
  }
}

// Reduces the lanes at address(i) for i in [0, count) where on(i); NaN wins over any number.
template <class T, class A, class On>
Reduced<T> ReduceLanes(Reduction kind, uint32_t count, A address, On on) {
  Core& core = This();
  Reduced<T> result;
  std::vector<T> sum(kind == Reduction::kSum ? count : 0, Done<T>(0));
  for (uint32_t i = 0; i < count; ++i) {
    if (!on(i)) continue;
    const uint32_t where = address(i);
    const T x = Load<T>(core.ub.get() + where);
    result.good = result.good && core.Valid(where, sizeof(T));
    if (kind == Reduction::kSum) {
      sum[i] = x;
    } else if (!result.any ||
               (Wide(result.value) == Wide(result.value) &&
                (Wide(x) != Wide(x) || (kind == Reduction::kMax ? Wide(x) > Wide(result.value)
                                                                : Wide(x) < Wide(result.value))))) {
      result.value = x;
      result.index = i;
    }
    result.any = true;
  }
  if (kind == Reduction::kSum && count > 0) {
    SumTree(sum);
    result.value = sum[0];
  }
  return result;
}

inline void NoteMixed(bool good, Loc at) {
  if (!good && This().mixed_line == 0) This().mixed_line = at.line;
}

// Writes a result of `bytes` at a UB address that needs the alignment of the result only.
inline void PutResult(const Place& dst, uint64_t offset, const void* value, uint32_t bytes,
                      bool good, const char* api, Loc at) {
  Core& core = This();
  Place where = dst;
  where.address = static_cast<uint32_t>(dst.address + offset);
  core.CheckPlace(where, bytes, bytes, at, api);
  core.WriteUb(kPipeV, where.address, bytes, at, api);
  std::memcpy(core.ub.get() + where.address, value, bytes);
  core.SetValid(where.address, bytes, good);
}

template <class T>
void PutExtreme(const Local<T>& dst, int64_t slot, const Reduced<T>& r, ReduceOrder order,
                const char* api, Loc at) {
  const bool alone =
      order == ReduceOrder::ORDER_ONLY_VALUE || order == ReduceOrder::ORDER_ONLY_INDEX;
  if (alone && This().check && This().device.npu_arch == kArch2002) {
    Refuse(at, api, "chip", "%s gives value and index together", This().device.chip);
  }
  T pair[2] = {r.value, r.value};
  if (order == ReduceOrder::ORDER_ONLY_VALUE) {
    PutResult(dst.place, slot * sizeof(T), pair, sizeof(T), r.good, api, at);
    return;
  }
  if (order == ReduceOrder::ORDER_ONLY_INDEX) {
    PutResult(dst.place, slot * 4, &r.index, 4, r.good, api, at);
    return;
  }
  // The index has the width of the element.
  std::memcpy(&pair[order == ReduceOrder::ORDER_VALUE_INDEX ? 1 : 0], &r.index, sizeof(T));
  PutResult(dst.place, slot * 2 * sizeof(T), pair, 2 * sizeof(T), r.good, api, at);
}

template <class T, class Put>
void WholeReduce(Reduction kind, const Extent& e, const Local<T>& src, Strides strides,
                 const char* api, Loc at, Put put) {
  RequireType<T>(kFloats, api, at);
  CheckExtent(e, sizeof(T), api, at);
  if (e.Empty()) return;
  Core& core = This();
  const Operand<T> operand{src, strides};
  core.Issue(kPipeV);
  CountVector(e, sizeof(T), api);
  TouchRead(e, operand, api, at);
  for (int64_t r = 0; r < e.repeat; ++r) {
    const Reduced<T> result = ReduceLanes<T>(
        kind, kRepeatBytes / sizeof(T), [&](uint32_t i) { return operand.At(r, i); },
        [&](uint32_t i) { return e.Has(i); });
    NoteMixed(result.good, at);
    put(r, result);
  }
}

template <class T>
void BlockReduce(Reduction kind, const Local<T>& dst, const Local<T>& src, const Extent& e,
                 int32_t dst_stride, Strides strides, const char* api, Loc at) {
  RequireType<T>(kFloats, api, at);
  CheckExtent(e, sizeof(T), api, at);
  if (e.Empty()) return;
  constexpr uint32_t per_block = kBlockBytes / sizeof(T);
  Core& core = This();
  const Operand<T> operand{src, strides};
  core.Issue(kPipeV);
  CountVector(e, sizeof(T), api);
  TouchRead(e, operand, api, at);
  for (int64_t r = 0; r < e.repeat; ++r) {
    for (uint32_t b = 0; b < 8; ++b) {
      const Reduced<T> result = ReduceLanes<T>(
          kind, per_block, [&](uint32_t i) { return operand.At(r, b * per_block + i); },
          [&](uint32_t i) { return e.Has(b * per_block + i); });
      if (!result.any) continue;
      NoteMixed(result.good, at);
      PutResult(dst.place, (r * dst_stride * 8 + b) * sizeof(T), &result.value, sizeof(T),
                result.good, api, at);
    }
  }
}

// Scratch elements of the count forms of ReduceMax and ReduceMin.
template <class T>
uint64_t ExtremeScratch(int64_t count, bool with_index) {
  constexpr int64_t lanes = kRepeatBytes / sizeof(T), block = kBlockBytes / sizeof(T);
  uint64_t total = 0;
  int64_t n = count;
  do {
    n = (n + lanes - 1) / lanes * 2;
    total += static_cast<uint64_t>((n + block - 1) / block * block);
  } while (with_index && n > 2);
  return total;
}

// The result comes from the scalar unit, which orders it for all pipes itself.
template <class T>
void ReduceCount(Reduction kind, const Local<T>& dst, const Local<T>& src, const Local<T>& scratch,
                 int64_t count, bool with_index, const char* api, Loc at) {
  RequireType<T>(kFloats, api, at);
  if (count <= 0) return;
  Core& core = This();
  const Extent e = Extent::Count(count);
  if (kind != Reduction::kSum) {
    core.CheckPlace(scratch.place, ExtremeScratch<T>(count, with_index) * sizeof(T), kBlockBytes,
                    at, api);
  }
  core.Issue(kPipeV);
  CountVector(e, sizeof(T), api);
  TouchRead(e, Operand<T>{src, {1, 8}}, api, at);
  constexpr uint32_t lanes = kRepeatBytes / sizeof(T);
  Reduced<T> total;
  for (int64_t begin = 0; begin < count; begin += lanes) {
    const uint32_t n = static_cast<uint32_t>(std::min<int64_t>(lanes, count - begin));
    const Reduced<T> part = ReduceLanes<T>(
        kind, n,
        [&](uint32_t i) {
          return static_cast<uint32_t>(src.place.address + (begin + i) * sizeof(T));
        },
        [](uint32_t) { return true; });
    total.good = total.good && part.good;
    const bool number = Wide(total.value) == Wide(total.value);
    if (kind == Reduction::kSum) {
      total.value = begin == 0 ? part.value : AddOf(total.value, part.value);
    } else if (begin == 0 ||
               (number && (Wide(part.value) != Wide(part.value) ||
                           (kind == Reduction::kMax ? Wide(part.value) > Wide(total.value)
                                                    : Wide(part.value) < Wide(total.value))))) {
      total.value = part.value;
      total.index = static_cast<uint32_t>(begin + part.index);
    }
  }
  NoteMixed(total.good, at);
  if (with_index) {
    PutExtreme(dst, 0, total, ReduceOrder::ORDER_VALUE_INDEX, api, at);
  } else {
    PutResult(dst.place, 0, &total.value, sizeof(T), total.good, api, at);
  }
  const Clock done = core.Snapshot(kPipeV);
  for (uint32_t pipe_of : {kPipeS, kPipeV, kPipeMte3}) core.Learn(pipe_of, done);
}

}  // namespace ascendc_twin

namespace AscendC {

template <typename T, bool isSetMask = true>
void WholeReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t mask,
                    const int32_t repeatTime, const int32_t dstRepStride,
                    const int32_t srcBlkStride, const int32_t srcRepStride,
                    ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {
  ascendc_twin::WholeReduce<T>(
      ascendc_twin::Reduction::kSum, ascendc_twin::Extent::Mask(mask, repeatTime), src,
      {uint32_t(srcBlkStride), uint32_t(srcRepStride)}, "WholeReduceSum", at,
      [&](int64_t r, const ascendc_twin::Reduced<T>& result) {
        ascendc_twin::PutResult(dst.place, r * dstRepStride * sizeof(T), &result.value, sizeof(T),
                                result.good, "WholeReduceSum", at);
      });
}

#define ASCENDC_TWIN_EXTREME(Suffix)                                                             \
  template <typename T, bool isSetMask = true>                                                   \
  void WholeReduce##Suffix(                                                                      \
      const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t mask,                  \
      const int32_t repeatTime, const int32_t dstRepStride, const int32_t srcBlkStride,          \
      const int32_t srcRepStride, ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX,            \
      ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {                                        \
    ascendc_twin::WholeReduce<T>(                                                                \
        ascendc_twin::Reduction::k##Suffix, ascendc_twin::Extent::Mask(mask, repeatTime), src,   \
        {uint32_t(srcBlkStride), uint32_t(srcRepStride)}, "WholeReduce" #Suffix, at,             \
        [&](int64_t r, const ascendc_twin::Reduced<T>& result) {                                 \
          ascendc_twin::PutExtreme(dst, r * dstRepStride, result, order, "WholeReduce" #Suffix,  \
                                   at);                                                          \
        });                                                                                      \
  }                                                                                              \
  template <typename T>                                                                          \
  void Reduce##Suffix(const LocalTensor<T>& dst, const LocalTensor<T>& src,                      \
                      const LocalTensor<T>& sharedTmpBuffer, const int32_t count,                \
                      bool calIndex = false, ascendc_twin::Loc at = ascendc_twin::Loc::Here()) { \
    ascendc_twin::ReduceCount(ascendc_twin::Reduction::k##Suffix, dst, src, sharedTmpBuffer,     \
                              count, calIndex, "Reduce" #Suffix, at);                            \
  }
ASCENDC_TWIN_EXTREME(Max)
ASCENDC_TWIN_EXTREME(Min)
#undef ASCENDC_TWIN_EXTREME

template <typename T, bool isSetMask = true>
void ReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src,
               const LocalTensor<T>& sharedTmpBuffer, const int32_t count,
               ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {
  ascendc_twin::ReduceCount(ascendc_twin::Reduction::kSum, dst, src, sharedTmpBuffer, count, false,
                            "ReduceSum", at);
}

// The order of mask and repeat is the other way round here than in WholeReduce.
#define ASCENDC_TWIN_BLOCK(Suffix)                                                           \
  template <typename T, bool isSetMask = true>                                               \
  void BlockReduce##Suffix(                                                                  \
      const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t repeatTime,        \
      const int32_t mask, const int32_t dstRepStride, const int32_t srcBlkStride,            \
      const int32_t srcRepStride, ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {        \
    ascendc_twin::BlockReduce<T>(ascendc_twin::Reduction::k##Suffix, dst, src,               \
                                 ascendc_twin::Extent::Mask(mask, repeatTime), dstRepStride, \
                                 {uint32_t(srcBlkStride), uint32_t(srcRepStride)},           \
                                 "BlockReduce" #Suffix, at);                                 \
  }
ASCENDC_TWIN_BLOCK(Sum)
ASCENDC_TWIN_BLOCK(Max)
ASCENDC_TWIN_BLOCK(Min)
#undef ASCENDC_TWIN_BLOCK

}  // namespace AscendC

#endif  // ASCENDC_TWIN_REDUCE_H_
