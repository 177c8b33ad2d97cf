// Runs a kernel entry on the twin. A library is the kernel text followed by this header and
// ASCENDC_TWIN_ENTRY(name); the structures are mirrored by the Python runner.
#ifndef ASCENDC_TWIN_DRIVER_H_
#define ASCENDC_TWIN_DRIVER_H_

#include <thread>
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
class Arguments {
 public:
  explicit Arguments(const AscendcTwinRun& run) : run_(run) {}

  template <class T>
  T Next() {
    if constexpr (std::is_pointer<T>::value) {
      const int32_t i = pointer_++;
      if (i < run_.buffers) {
        const int64_t front = run_.kinds[i] == kWorkspace ? kSystemWorkspace : 0;
        return reinterpret_cast<T>(run_.pointers[i] - front);
      }
      return reinterpret_cast<T>(const_cast<uint8_t*>(run_.tiling));
    } else {
      T value{};
      if (byte_ + static_cast<int64_t>(sizeof(T)) > run_.tiling_bytes) {
        Refuse(Loc{0}, "entry", "tiling", "the by-value arguments need more than %lld bytes",
               static_cast<long long>(run_.tiling_bytes));
      }
      std::memcpy(&value, run_.tiling + byte_, sizeof(T));
      byte_ += sizeof(T);
      return value;
    }
  }
  void CheckPointers(int32_t count) const {
    if (count >= run_.buffers && count <= run_.buffers + 1) return;
    Refuse(Loc{0}, "entry", "arguments", "the entry takes %d addresses, %d were given", count,
           run_.buffers + 1);
  }

 private:
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

inline void Describe(AscendcTwinReport& report, int64_t core, const Violation& v) {
  report.core = core;
  report.line = v.line;
  std::snprintf(report.api, sizeof(report.api), "%s", v.api.c_str());
  std::snprintf(report.rule, sizeof(report.rule), "%s", v.rule.c_str());
  std::snprintf(report.text, sizeof(report.text), "%s", v.text.c_str());
}

// The life of one core; the first failure of a run is the one reported.
template <class Entry>
void RunCore(Entry entry, const AscendcTwinRun& run, Device& device, int64_t index,
             AscendcTwinReport& report) {
  std::unique_lock<std::mutex> turn;
  try {
    device.Enter(turn, index);
    Core core(device, index);
    core.turn = std::move(turn);
    t_core = &core;
    try {
      CallEntry(entry, run);
      core.CheckEnd();
      device.Leave(index);
    } catch (const Violation& v) {
      Describe(report, index, v);
      device.Fail();
    }
    turn = std::move(core.turn);
  } catch (const Stopped&) {
  } catch (const std::exception& e) {
    Describe(report, index, Violation(0, "twin", "internal", e.what()));
    device.Fail();
  }
  t_core = nullptr;
}

inline void SetChip(Device& device, const AscendcTwinRun& run) {
  device.chip = run.chip;
  device.npu_arch = static_cast<uint32_t>(run.npu_arch);
  std::string name;
  for (const char* p = run.lacks; *p != '\0'; ++p) {
    if (*p != ' ') {
      name += *p;
      continue;
    }
    device.lacks.push_back(name);
    name.clear();
  }
  const int64_t* most = run.limits;
  device.limits = {most[0], most[1], most[2], most[3], most[4]};
}

inline void Count(const Device& device, AscendcTwinReport& report) {
  report.vector_instructions = device.vector_instructions;
  report.vector_repeats = device.vector_repeats;
  for (uint32_t pipe = 0; pipe < kPipes; ++pipe) {
    report.pipe_bytes[pipe] = device.gm.bytes_of[pipe];
    report.pipe_copies[pipe] = device.gm.copies_of[pipe];
  }
  const size_t most = sizeof(report.calls) / sizeof(report.calls[0]);
  report.call_count = static_cast<int64_t>(std::min(device.calls.size(), most));
  for (int64_t i = 0; i < report.call_count; ++i) {
    const CallCount& count = device.calls[i];
    AscendcTwinCall& call = report.calls[i];
    std::snprintf(call.api, sizeof(call.api), "%s", count.api);
    call.item = count.item;
    call.calls = count.calls;
    call.repeats = count.repeats;
  }
}

template <class Entry>
int32_t RunKernel(Entry entry, const AscendcTwinRun& run, AscendcTwinReport& report) {
  Device device;
  for (int32_t i = 0; i < run.buffers; ++i) {
    GlobalBuffer buffer;
    buffer.data = run.pointers[i];
    buffer.bytes = run.bytes[i];
    buffer.kind = static_cast<BufferKind>(run.kinds[i]);
    device.gm.buffers.push_back(std::move(buffer));
  }
  device.tiling = run.tiling;
  device.tiling_bytes = run.tiling_bytes;
  device.tiling_key = run.tiling_key;
  device.block_dim = run.block_dim;
  device.vector_cores = run.vector_cores;
  device.ub_bytes = static_cast<uint32_t>(run.ub_bytes);
  device.check = run.check != 0;
  SetChip(device, run);
  device.Start();
  std::vector<std::thread> cores;
  for (int32_t i = 0; i < run.block_dim; ++i) {
    cores.emplace_back([&, i] { RunCore(entry, run, device, i, report); });
  }
  for (std::thread& core : cores) core.join();
  for (int32_t i = 0; i < run.buffers; ++i) {
    const GlobalBuffer& buffer = device.gm.buffers[i];
    run.read[i] = buffer.read;
    run.fetched[i] = buffer.bytes <= run.l2_bytes ? buffer.requests.Fetched() : buffer.read;
    run.written[i] = buffer.written;
  }
  Count(device, report);
  return report.rule[0] == '\0' ? 0 : 1;
}

}  // namespace ascendc_twin

#define ASCENDC_TWIN_ENTRY_AS(symbol, name)                                                     \
  extern "C" __attribute__((visibility("default"))) int32_t symbol(const AscendcTwinRun* run,   \
                                                                   AscendcTwinReport* report) { \
    return ascendc_twin::RunKernel(&name, *run, *report);                                       \
  }
#define ASCENDC_TWIN_ENTRY(name) ASCENDC_TWIN_ENTRY_AS(ascendc_twin_run, name)

#endif  // ASCENDC_TWIN_DRIVER_H_
