// Names of the Ascend C API that carry no behaviour: qualifiers, enumerations, parameter
// structures.
#ifndef ASCENDC_TWIN_API_TYPES_H_
#define ASCENDC_TWIN_API_TYPES_H_

#include "scalar_types.h"
#include "violation.h"

#define __aicore__
#define __global__
#define __vector__
#define __gm__
#define __ubuf__
#define __mix__(cube, vector)
#define GM_ADDR __gm__ uint8_t*

enum pipe_t {
  PIPE_S = 0,
  PIPE_V,
  PIPE_M,
  PIPE_MTE1,
  PIPE_MTE2,
  PIPE_MTE3,
  PIPE_ALL,
  PIPE_FIX = 10
};
enum event_t {
  EVENT_ID0 = 0,
  EVENT_ID1,
  EVENT_ID2,
  EVENT_ID3,
  EVENT_ID4,
  EVENT_ID5,
  EVENT_ID6,
  EVENT_ID7
};

namespace AscendC {

using TEventID = int8_t;

enum class TPosition : uint8_t { GM, VECIN, VECOUT, VECCALC, LCM };
using QuePosition = TPosition;

enum class HardEvent : uint8_t {
  MTE2_V,
  V_MTE2,
  V_MTE3,
  MTE3_V,
  MTE2_S,
  S_MTE2,
  MTE3_S,
  S_MTE3,
  MTE2_MTE3,
  MTE3_MTE2,
  V_S,
  S_V,
  MAX
};

enum class RoundMode {
  CAST_NONE = 0,
  CAST_RINT,
  CAST_FLOOR,
  CAST_CEIL,
  CAST_ROUND,
  CAST_TRUNC,
  CAST_ODD
};

enum class CacheLine : uint64_t { SINGLE_CACHE_LINE = 0, ENTIRE_DATA_CACHE };
enum class DcciDst : uint64_t { CACHELINE_ALL = 0, CACHELINE_UB, CACHELINE_OUT, CACHELINE_ATOMIC };

enum class CMPMODE : uint8_t { LT = 0, GT, EQ, LE, GE, NE };
enum class SELMODE : uint8_t {
  VSEL_CMPMASK_SPR = 0,
  VSEL_TENSOR_SCALAR_MODE,
  VSEL_TENSOR_TENSOR_MODE
};
enum class ReduceOrder : uint8_t {
  ORDER_VALUE_INDEX = 0,
  ORDER_INDEX_VALUE,
  ORDER_ONLY_VALUE,
  ORDER_ONLY_INDEX
};

namespace Pattern {
namespace Reduce {
struct AR {};
struct RA {};
}  // namespace Reduce
}  // namespace Pattern

struct DataCopyParams {
  uint16_t blockCount = 1;
  uint16_t blockLen = 0;   // 32-byte blocks
  uint16_t srcStride = 0;  // gap, 32-byte blocks
  uint16_t dstStride = 0;
  DataCopyParams() = default;
  DataCopyParams(uint16_t count, uint16_t len, uint16_t src, uint16_t dst)
      : blockCount(count), blockLen(len), srcStride(src), dstStride(dst) {}
};

struct DataCopyExtParams {
  uint16_t blockCount = 1;
  uint32_t blockLen = 0;   // bytes
  uint32_t srcStride = 0;  // gap: bytes on the GM side, 32-byte blocks on the UB side
  uint32_t dstStride = 0;
  uint32_t rsv = 0;
  DataCopyExtParams() = default;
  DataCopyExtParams(uint16_t count, uint32_t len, uint32_t src, uint32_t dst, uint32_t reserved)
      : blockCount(count), blockLen(len), srcStride(src), dstStride(dst), rsv(reserved) {}
};

template <typename T>
struct DataCopyPadExtParams {
  bool isPad = false;
  uint8_t leftPadding = 0;  // elements
  uint8_t rightPadding = 0;
  T paddingValue{};
  DataCopyPadExtParams() = default;
  DataCopyPadExtParams(bool pad, uint8_t left, uint8_t right, T value)
      : isPad(pad), leftPadding(left), rightPadding(right), paddingValue(value) {}
};

struct UnaryRepeatParams {
  uint16_t dstBlkStride = 1;
  uint16_t srcBlkStride = 1;
  uint8_t dstRepStride = 8;
  uint8_t srcRepStride = 8;
  UnaryRepeatParams() = default;
  UnaryRepeatParams(int64_t dst_blk, int64_t src_blk, int64_t dst_rep, int64_t src_rep,
                    ascendc_twin::Loc at = ascendc_twin::Loc::Here())
      : dstBlkStride(ascendc_twin::Stride<uint16_t>(dst_blk, "UnaryRepeatParams", at)),
        srcBlkStride(ascendc_twin::Stride<uint16_t>(src_blk, "UnaryRepeatParams", at)),
        dstRepStride(ascendc_twin::Stride<uint8_t>(dst_rep, "UnaryRepeatParams", at)),
        srcRepStride(ascendc_twin::Stride<uint8_t>(src_rep, "UnaryRepeatParams", at)) {}
};

struct BinaryRepeatParams {
  uint8_t dstBlkStride = 1;
  uint8_t src0BlkStride = 1;
  uint8_t src1BlkStride = 1;
  uint8_t dstRepStride = 8;
  uint8_t src0RepStride = 8;
  uint8_t src1RepStride = 8;
  BinaryRepeatParams() = default;
  BinaryRepeatParams(int64_t dst_blk, int64_t src0_blk, int64_t src1_blk, int64_t dst_rep,
                     int64_t src0_rep, int64_t src1_rep,
                     ascendc_twin::Loc at = ascendc_twin::Loc::Here())
      : dstBlkStride(ascendc_twin::Stride<uint8_t>(dst_blk, "BinaryRepeatParams", at)),
        src0BlkStride(ascendc_twin::Stride<uint8_t>(src0_blk, "BinaryRepeatParams", at)),
        src1BlkStride(ascendc_twin::Stride<uint8_t>(src1_blk, "BinaryRepeatParams", at)),
        dstRepStride(ascendc_twin::Stride<uint8_t>(dst_rep, "BinaryRepeatParams", at)),
        src0RepStride(ascendc_twin::Stride<uint8_t>(src0_rep, "BinaryRepeatParams", at)),
        src1RepStride(ascendc_twin::Stride<uint8_t>(src1_rep, "BinaryRepeatParams", at)) {}
};

struct GatherMaskParams {
  uint8_t src0BlockStride = 1;
  uint16_t repeatTimes = 0;
  uint16_t src0RepeatStride = 0;
  uint8_t src1RepeatStride = 0;
  GatherMaskParams() = default;
  GatherMaskParams(uint8_t block, uint16_t times, uint16_t src0_repeat, uint8_t src1_repeat)
      : src0BlockStride(block),
        repeatTimes(times),
        src0RepeatStride(src0_repeat),
        src1RepeatStride(src1_repeat) {}
};

struct TransDataTo5HDParams {
  bool dstHighHalf = false;  // for one-byte elements
  bool srcHighHalf = false;
  uint8_t repeatTimes = 1;
  uint16_t dstRepStride = 0;
  uint16_t srcRepStride = 0;
  TransDataTo5HDParams() = default;
  TransDataTo5HDParams(bool dst_high, bool src_high, uint8_t times, uint16_t dst_rep,
                       uint16_t src_rep)
      : dstHighHalf(dst_high),
        srcHighHalf(src_high),
        repeatTimes(times),
        dstRepStride(dst_rep),
        srcRepStride(src_rep) {}
};

struct BrcbRepeatParams {
  uint16_t dstBlkStride = 1;
  uint16_t dstRepStride = 8;
  BrcbRepeatParams() = default;
  BrcbRepeatParams(int64_t blk, int64_t rep, ascendc_twin::Loc at = ascendc_twin::Loc::Here())
      : dstBlkStride(ascendc_twin::Stride<uint16_t>(blk, "BrcbRepeatParams", at)),
        dstRepStride(ascendc_twin::Stride<uint16_t>(rep, "BrcbRepeatParams", at)) {}
};

struct CopyRepeatParams {
  uint16_t dstStride = 1;
  uint16_t srcStride = 1;
  uint16_t dstRepeatSize = 8;
  uint16_t srcRepeatSize = 8;
  CopyRepeatParams() = default;
  CopyRepeatParams(int64_t dst, int64_t src, int64_t dst_repeat, int64_t src_repeat,
                   ascendc_twin::Loc at = ascendc_twin::Loc::Here())
      : dstStride(ascendc_twin::Stride<uint16_t>(dst, "CopyRepeatParams", at)),
        srcStride(ascendc_twin::Stride<uint16_t>(src, "CopyRepeatParams", at)),
        dstRepeatSize(ascendc_twin::Stride<uint16_t>(dst_repeat, "CopyRepeatParams", at)),
        srcRepeatSize(ascendc_twin::Stride<uint16_t>(src_repeat, "CopyRepeatParams", at)) {}
};

inline float ToFloat(const bfloat16_t& value) { return ascendc_twin::Wide(value); }
inline bfloat16_t ToBfloat16(const float& value) {
  return ascendc_twin::Narrow<bfloat16_t>::From(value);
}

}  // namespace AscendC

#endif  // ASCENDC_TWIN_API_TYPES_H_
