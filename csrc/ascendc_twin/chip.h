// What the chips differ in: element types of the calls, and calls that some lack. The tables of the
// calls themselves are those of 2201; here stands where 3510 and 2002 depart from them, as the
// type checks of the public headers have it.
#ifndef ASCENDC_TWIN_CHIP_H_
#define ASCENDC_TWIN_CHIP_H_

#include "core.h"

namespace ascendc_twin {

constexpr uint32_t kArch2201 = 2201, kArch3510 = 3510, kArch2002 = 2002;

constexpr uint32_t kFloats = kF16 | kF32;
constexpr uint32_t kAllFloats = kFloats | kBf16;
constexpr uint32_t kInts16And32 = kI16 | kU16 | kI32 | kU32;
constexpr uint32_t kInts = kInts16And32 | kI8 | kU8 | kI64 | kU64;
constexpr uint32_t kEverything = kAllFloats | kInts;
constexpr uint32_t kArithmetic = kFloats | kI16 | kI32;
constexpr uint32_t kShiftable = kInts16And32;

// Element types of a call on this run's chip; `types` are those of 2201.
ASCENDC_TWIN_CORE uint32_t TypesOf(const char* api, uint32_t types, bool counted);

template <class T>
void RequireType(uint32_t types, const char* api, Loc at, bool counted = true) {
  if (TypeInfo<T>::kBit & TypesOf(api, types, counted)) return;
  Refuse(at, api, "dtype", "%s does not take %s%s", This().device.chip, TypeInfo<T>::kName,
         counted ? "" : " in the mask form");
}

// Refuses a call that the chip lacks, or is said to.
ASCENDC_TWIN_CORE void RequireCall(const char* api, Loc at);

// Refuses a call that only 3510 has.
ASCENDC_TWIN_CORE void Require3510(const char* api, Loc at);

}  // namespace ascendc_twin

#endif  // ASCENDC_TWIN_CHIP_H_
