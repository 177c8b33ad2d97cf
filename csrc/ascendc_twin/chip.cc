#include "chip.h"

namespace ascendc_twin {

// Element types of a call on 3510: of its count form and of its mask form.
struct Types3510 {
  const char* api;
  uint32_t counted, masked;
};
constexpr Types3510 kTypes3510[] = {
    {"Add", kEverything, kAllFloats | kInts16And32},
    {"Sub", kEverything, kAllFloats | kInts16And32},
    {"Mul", kEverything, kAllFloats | kInts16And32},
    {"Max", kEverything, kAllFloats | kInts16And32},
    {"Min", kEverything, kAllFloats | kInts16And32},
    {"Div", kFloats | kInts16And32 | kI64 | kU64, kFloats | kInts16And32},
    {"And", kInts, kInts16And32},
    {"Or", kInts, kInts16And32},
    {"Not", kInts | kFloats, kI16 | kU16},
    {"Adds", kEverything & ~(kU16 | kU32), kAllFloats | kI16 | kI32},
    {"Muls", kAllFloats | kI16 | kI32 | kI64 | kU64, kAllFloats | kI16 | kI32},
    {"Maxs", kEverything & ~(kU16 | kU32), kAllFloats | kI16 | kI32},
    {"Mins", kEverything & ~(kU16 | kU32), kAllFloats | kI16 | kI32},
    {"ShiftLeft", kInts, kInts16And32},
    {"ShiftRight", kInts, kInts16And32},
    {"Abs", kFloats | kI8 | kI16 | kI32 | kI64, kFloats | kI16 | kI32},
    {"Relu", kFloats | kI32 | kI64, kFloats | kI32},
    {"Compare", kEverything, kAllFloats | kInts16And32},
    {"Compares", kEverything, kAllFloats | kInts16And32},
    {"CompareScalar", kEverything, kAllFloats | kInts16And32},
    {"Select", kAllFloats | kInts16And32, kAllFloats | kInts16And32},
    {"Duplicate", kEverything, kAllFloats | kInts16And32},
    {"CreateVecIndex", kFloats | kI8 | kI16 | kI32 | kI64, kFloats | kI16 | kI32},
    {"ReduceSum", kFloats | kI32 | kU32 | kI64 | kU64, kFloats},
    {"ReduceMax", kFloats | kInts16And32 | kI64 | kU64, kFloats},
    {"ReduceMin", kFloats | kInts16And32 | kI64 | kU64, kFloats},
    {"WholeReduceSum", kFloats, kFloats | kI32 | kU32},
    {"WholeReduceMax", kFloats, kFloats | kInts16And32},
    {"WholeReduceMin", kFloats, kFloats | kInts16And32},
};

uint32_t TypesOf(const char* api, uint32_t types, bool counted) {
  const uint32_t arch = This().device.npu_arch;
  if (arch == kArch2002) return std::strncmp(api, "Shift", 5) == 0 ? 0 : types & ~kBf16;
  if (arch != kArch3510) return types;
  for (const Types3510& row : kTypes3510) {
    if (std::strcmp(row.api, api) == 0) return counted ? row.counted : row.masked;
  }
  return types;
}

// Calls that 2002 has not got.
constexpr const char* kLacks2002[] = {"DataCopyPad", "Copy", "SetAtomicMax", "SetAtomicMin"};

void RequireCall(const char* api, Loc at) {
  for (const char* name : kLacks2002) {
    if (This().device.npu_arch != kArch2002 || std::strcmp(name, api) != 0) continue;
    Refuse(at, api, "chip", "%s has no %s", This().device.chip, api);
  }
  for (const std::string& name : This().device.lacks) {
    if (name == api) Refuse(at, api, "chip", "%s has no %s", This().device.chip, api);
  }
}

void Require3510(const char* api, Loc at) {
  if (This().device.npu_arch == kArch3510) return;
  Refuse(at, api, "chip", "%s has no %s", This().device.chip, api);
}

}  // namespace ascendc_twin
