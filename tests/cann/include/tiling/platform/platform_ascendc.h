// Stand-in for tests: what tiling asks of the chip.
#ifndef STANDIN_TILING_PLATFORM_PLATFORM_ASCENDC_H_
#define STANDIN_TILING_PLATFORM_PLATFORM_ASCENDC_H_

#include <cstdint>

namespace platform_ascendc {

class PlatformAscendC {
 public:
  explicit PlatformAscendC(void*) {}
  uint32_t GetCoreNumAiv() const { return 20; }
};

}  // namespace platform_ascendc

#endif  // STANDIN_TILING_PLATFORM_PLATFORM_ASCENDC_H_
