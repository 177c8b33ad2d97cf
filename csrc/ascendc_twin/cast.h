// Cast: the pairs and rounding modes of each chip.
#ifndef ASCENDC_TWIN_CAST_H_
#define ASCENDC_TWIN_CAST_H_

#include <limits>

#include "vector_math.h"

namespace ascendc_twin {

using AscendC::RoundMode;

constexpr uint32_t ModeBit(RoundMode mode) { return 1u << static_cast<int>(mode); }
constexpr uint32_t kNone = ModeBit(RoundMode::CAST_NONE);
constexpr uint32_t kFive = ModeBit(RoundMode::CAST_RINT) | ModeBit(RoundMode::CAST_FLOOR) |
                           ModeBit(RoundMode::CAST_CEIL) | ModeBit(RoundMode::CAST_ROUND) |
                           ModeBit(RoundMode::CAST_TRUNC);
constexpr uint32_t kOdd = ModeBit(RoundMode::CAST_ODD);
constexpr uint32_t kAnyMode = ~0u;  // the mode is not looked at

struct CastRow {
  uint32_t from, to, modes;
};
constexpr CastRow kCasts2201[] = {
    {kF16, kF32, kNone},
    {kBf16, kF32, kNone},
    {kF16, kI8 | kU8, kFive | kNone},
    {kF16, kI16 | kI32, kFive},
    {kBf16, kI32, kFive},
    {kF32, kF16, kFive | kOdd | kNone},
    {kF32, kBf16, kFive},
    {kF32, kI16 | kI32 | kI64 | kF32, kFive},
    {kI8 | kU8, kF16, kNone},
    {kI16, kF16, kFive | kNone},
    {kI16, kF32, kNone},
    {kI32, kF32, kFive | kNone},
    {kI32, kI16 | kI64, kNone},
    {kI32, kF16, kAnyMode},
    {kI64, kI32, kNone},
    {kI64, kF32, kFive},
};
// What 3510 has besides; it takes no scale for int32 to half.
constexpr CastRow kCasts3510[] = {
    {kF16, kBf16, kFive},
    {kBf16, kF16, kFive},
    {kU8, kU16 | kU32, kNone},
    {kI8, kI16 | kI32, kNone},
    {kU16, kU8 | kU32, kNone},
    {kI16, kU8 | kU32 | kI32, kNone},
    {kU32, kU8 | kU16 | kI16, kNone},
    {kI32, kU8 | kU16, kNone},
};
constexpr CastRow kCasts2002[] = {
    {kF16, kF32, kNone},
    {kF16, kI8 | kU8, (kFive | kNone) & ~ModeBit(RoundMode::CAST_RINT)},
    {kF16, kI16, ModeBit(RoundMode::CAST_RINT)},
    {kF16, kI32, kFive},
    {kF32, kF16, kOdd | kNone},
    {kF32, kI32, kFive},
    {kI8 | kU8 | kI16, kF16, kNone},
    {kI32, kF32 | kI16, kNone},
    {kI32, kF16, kAnyMode},
};

template <size_t n>
constexpr uint32_t ModesIn(const CastRow (&rows)[n], uint32_t from, uint32_t to) {
  for (const CastRow& row : rows) {
    if ((row.from & from) && (row.to & to)) return row.modes;
  }
  return 0;
}

// The rounding modes a pair takes on a chip; 0 when there is no such instruction.
constexpr uint32_t CastModes(uint32_t arch, uint32_t from, uint32_t to) {
  if (arch == kArch2002) return ModesIn(kCasts2002, from, to);
  const uint32_t modes = ModesIn(kCasts2201, from, to);
  return modes == 0 && arch == kArch3510 ? ModesIn(kCasts3510, from, to) : modes;
}

inline double RoundIntegral(double x, RoundMode mode) {
  switch (mode) {
    case RoundMode::CAST_FLOOR:
      return std::floor(x);
    case RoundMode::CAST_CEIL:
      return std::ceil(x);
    case RoundMode::CAST_ROUND:
      return std::round(x);
    case RoundMode::CAST_TRUNC:
      return std::trunc(x);
    default:
      return std::nearbyint(x);
  }
}

// The neighbour of x in a narrower float type that a directed mode asks for. `nearest` is the
// nearest value and `bits` its representation; one step in the bits is one neighbour.
template <class To, class V>
To Directed(V x, RoundMode mode) {
  To nearest = Narrow<To>::From(x);
  const double exact = static_cast<double>(x), got = static_cast<double>(Wide(nearest));
  if (got == exact || exact != exact) return nearest;
  const bool too_high = got > exact;
  const bool negative = std::signbit(exact);
  bool step_down, step_up;  // towards minus or plus infinity
  switch (mode) {
    case RoundMode::CAST_FLOOR:
      step_down = too_high, step_up = false;
      break;
    case RoundMode::CAST_CEIL:
      step_down = false, step_up = !too_high;
      break;
    case RoundMode::CAST_TRUNC:
      step_down = too_high && !negative, step_up = !too_high && negative;
      break;
    case RoundMode::CAST_ODD:
      step_down = too_high && !(nearest.bits & 1), step_up = !too_high && !(nearest.bits & 1);
      break;
    default:
      return nearest;
  }
  if (step_down || step_up) {
    const bool zero = (nearest.bits & 0x7fffu) == 0;
    if (zero) {
      nearest.bits = static_cast<uint16_t>(step_down ? 0x8001u : 0x0001u);
    } else {
      const bool grows = step_up != ((nearest.bits & 0x8000u) != 0);
      nearest.bits = static_cast<uint16_t>(nearest.bits + (grows ? 1 : -1));
    }
  }
  return nearest;
}

// Ties away from zero, in a 16-bit float.
template <class To>
To RoundAway(float x) {
  To down = Directed<To>(x, RoundMode::CAST_TRUNC), up = down;
  if (static_cast<double>(Wide(down)) == x || x != x) return Narrow<To>::From(x);
  up.bits = static_cast<uint16_t>(down.bits + 1);
  const double low = std::fabs(double(x) - Wide(down)), high = std::fabs(double(Wide(up)) - x);
  return low < high ? down : up;
}

template <class To, class From>
To CastLane(From value, RoundMode mode) {
  const auto x = Wide(value);
  if constexpr (std::is_integral<To>::value) {
    if constexpr (std::is_integral<From>::value) {
      using Limits = std::numeric_limits<To>;
      const int64_t wide = static_cast<int64_t>(x);
      const int64_t low = std::max<int64_t>(Limits::min(), std::min<int64_t>(Limits::max(), wide));
      return static_cast<To>(low);
    } else {
      const double rounded = RoundIntegral(static_cast<double>(x), mode);
      if (rounded != rounded) return To{0};
      if (rounded <= static_cast<double>(std::numeric_limits<To>::min())) {
        return std::numeric_limits<To>::min();
      }
      if (rounded >= static_cast<double>(std::numeric_limits<To>::max())) {
        return std::numeric_limits<To>::max();
      }
      return static_cast<To>(rounded);
    }
  } else if constexpr (std::is_same<To, float>::value && std::is_same<From, float>::value) {
    return static_cast<float>(RoundIntegral(x, mode));
  } else if constexpr (std::is_same<To, float>::value) {
    return static_cast<float>(x);
  } else {
    const float f = static_cast<float>(x);
    if (mode == RoundMode::CAST_ROUND) return RoundAway<To>(f);
    return Directed<To>(f, mode);
  }
}

template <class To, class From>
void CastOp(const Extent& e, const AscendC::UnaryRepeatParams& p, const Local<To>& dst,
            const Local<From>& src, RoundMode mode, Loc at) {
  const Device& device = This().device;
  const uint32_t modes = CastModes(device.npu_arch, TypeInfo<From>::kBit, TypeInfo<To>::kBit);
  const char* from = TypeInfo<From>::kName;
  const char* to = TypeInfo<To>::kName;
  if (modes == 0) {
    Refuse(at, "Cast", "dtype", "no instruction of %s casts %s to %s", device.chip, from, to);
  }
  if (!(modes & ModeBit(mode))) {
    Refuse(at, "Cast", "RoundMode", "mode %d does not go with %s to %s on %s",
           static_cast<int>(mode), from, to, device.chip);
  }
  float scale = 1.0f;
  if (std::is_same<From, int32_t>::value && std::is_same<To, half>::value &&
      device.npu_arch != kArch3510) {
    if (!This().deq_scale_set) Refuse(at, "Cast", "deq scale", "int32 to half needs SetDeqScale");
    scale = This().deq_scale;
    mode = RoundMode::CAST_NONE;  // whatever was said
  }
  Lanewise(
      "Cast", at, e, Operand<To>{dst, {p.dstBlkStride, p.dstRepStride}},
      [mode, scale](From x) {
        if constexpr (std::is_same<From, int32_t>::value && std::is_same<To, half>::value) {
          return CastLane<half>(static_cast<float>(x) * scale, mode);
        } else {
          return CastLane<To>(x, mode);
        }
      },
      Operand<From>{src, {p.srcBlkStride, p.srcRepStride}});
}

}  // namespace ascendc_twin

namespace AscendC {

template <typename T, typename U>
void Cast(const LocalTensor<T>& dst, const LocalTensor<U>& src, const RoundMode& roundMode,
          const uint32_t count, ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {
  ascendc_twin::CastOp(ascendc_twin::Extent::Count(count), {}, dst, src, roundMode, at);
}

template <typename T, typename U, bool isSetMask = true>
void Cast(const LocalTensor<T>& dst, const LocalTensor<U>& src, const RoundMode& roundMode,
          const uint64_t mask, const int64_t repeatTime, const UnaryRepeatParams& repeatParams,
          ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {
  ascendc_twin::CastOp(ascendc_twin::Extent::Mask(mask, repeatTime), repeatParams, dst, src,
                       roundMode, at);
}

template <typename T, typename U, bool isSetMask = true>
void Cast(const LocalTensor<T>& dst, const LocalTensor<U>& src, const RoundMode& roundMode,
          const uint64_t mask[], const int64_t repeatTime, const UnaryRepeatParams& repeatParams,
          ascendc_twin::Loc at = ascendc_twin::Loc::Here()) {
  constexpr bool second = sizeof(T) <= 2 && sizeof(U) <= 2;
  ascendc_twin::CastOp(ascendc_twin::Extent::Bits(mask, second, repeatTime), repeatParams, dst, src,
                       roundMode, at);
}

}  // namespace AscendC

#endif  // ASCENDC_TWIN_CAST_H_
