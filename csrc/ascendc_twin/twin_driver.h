// Runs a kernel entry on the twin. A library is the kernel text followed by this header and
// ASCENDC_TWIN_ENTRY(name); the structures are mirrored by the Python runner.
#ifndef ASCENDC_TWIN_DRIVER_H_
#define ASCENDC_TWIN_DRIVER_H_

#include <tuple>
#include <utility>

#include "kernel_operator.h"

extern "C" {

struct AscendcTwinRun {
  uint8_t* const* pointers;  // inputs, outputs, workspace
  const int64_t* bytes;
  const int32_t* kinds;  // 0 input, 1 output, 2 workspace
  int64_t* read;         // filled: bytes of each, as requested
  int64_t* fetched;      // what of these L2 does not serve
  int64_t* written;
  const uint8_t* tiling;
  int64_t tiling_bytes;
  int64_t tiling_key;
  int32_t buffers;
  int32_t block_dim;
  int32_t vector_cores;
  int32_t ub_bytes;
  int32_t check;
  const char* chip;
  const char* lacks;  // names of calls, each with a blank behind it
  int32_t npu_arch;
  int64_t limits[5];  // repeat, buffers of queues per direction, buffers, copy blocks, copy bytes
  int64_t l2_bytes;   // largest buffer that stays in L2
};

struct AscendcTwinCall {
  char api[32];
  int64_t item, calls, repeats;
};

struct AscendcTwinReport {
  int64_t vector_instructions, vector_repeats;
  int64_t pipe_bytes[4], pipe_copies[4];  // S, V, MTE2, MTE3
  AscendcTwinCall calls[64];
  int64_t call_count;
  int64_t core;
  int32_t line;
  char api[64], rule[64], text[512];
};

}  // extern "C"

namespace ascendc_twin {

// Arguments of an entry in order: GM addresses, then plain values taken from the tiling bytes.
class ASCENDC_TWIN_CORE Arguments {
 public:
  explicit Arguments(const AscendcTwinRun& run) : run_(run) {}

  template <class T>
  T Next() {
    if constexpr (std::is_pointer<T>::value) {
      return reinterpret_cast<T>(Address());
    } else {
      T value{};
      Copy(&value, sizeof(T));
      return value;
    }
  }
  void CheckPointers(int32_t count) const;

 private:
  uint8_t* Address();
  void Copy(void* value, int64_t bytes);

  const AscendcTwinRun& run_;
  int32_t pointer_ = 0;
  int64_t byte_ = 0;
};

template <class... A>
void CallEntry(void (*entry)(A...), const AscendcTwinRun& run) {
  Arguments arguments(run);
  arguments.CheckPointers((0 + ... + int(std::is_pointer<A>::value)));
  // Braces keep the order of evaluation.
  std::tuple<A...> values{arguments.Next<A>()...};
  std::apply(entry, values);
}

// Calls the entry of a kernel with the arguments of a run.
using Call = void (*)(const AscendcTwinRun& run);

// Runs a kernel on the cores of a device; 0, or 1 and what is wrong in the report.
ASCENDC_TWIN_CORE int32_t RunKernel(Call call, const AscendcTwinRun& run,
                                    AscendcTwinReport& report);

}  // namespace ascendc_twin

#define ASCENDC_TWIN_ENTRY_AS(symbol, name)                                                     \
  extern "C" __attribute__((visibility("default"))) int32_t symbol(const AscendcTwinRun* run,   \
                                                                   AscendcTwinReport* report) { \
    return ascendc_twin::RunKernel(                                                             \
        [](const AscendcTwinRun& given) { ascendc_twin::CallEntry(&name, given); }, *run,       \
        *report);                                                                               \
  }
#define ASCENDC_TWIN_ENTRY(name) ASCENDC_TWIN_ENTRY_AS(ascendc_twin_run, name)

#endif  // ASCENDC_TWIN_DRIVER_H_
