#include "twin_driver.h"

#include <thread>

namespace ascendc_twin {

namespace {

thread_local Core* t_core = nullptr;

void Describe(AscendcTwinReport& report, int64_t core, const Violation& v) {
  report.core = core;
  report.line = v.line;
  std::snprintf(report.api, sizeof(report.api), "%s", v.api.c_str());
  std::snprintf(report.rule, sizeof(report.rule), "%s", v.rule.c_str());
  std::snprintf(report.text, sizeof(report.text), "%s", v.text.c_str());
}

// The life of one core; the first failure of a run is the one reported.
void RunCore(Call call, const AscendcTwinRun& run, Device& device, int64_t index,
             AscendcTwinReport& report) {
  std::unique_lock<std::mutex> turn;
  try {
    device.Enter(turn, index);
    Core core(device, index);
    core.turn = std::move(turn);
    t_core = &core;
    try {
      call(run);
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

void SetChip(Device& device, const AscendcTwinRun& run) {
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

void Count(const Device& device, AscendcTwinReport& report) {
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

}  // namespace

Core& This() { return *t_core; }

void Arguments::CheckPointers(int32_t count) const {
  if (count >= run_.buffers && count <= run_.buffers + 1) return;
  Refuse(Loc{0}, "entry", "arguments", "the entry takes %d addresses, %d were given", count,
         run_.buffers + 1);
}

uint8_t* Arguments::Address() {
  const int32_t i = pointer_++;
  if (i >= run_.buffers) return const_cast<uint8_t*>(run_.tiling);
  return run_.pointers[i] - (run_.kinds[i] == kWorkspace ? kSystemWorkspace : 0);
}

void Arguments::Copy(void* value, int64_t bytes) {
  if (byte_ + bytes > run_.tiling_bytes) {
    Refuse(Loc{0}, "entry", "tiling", "the by-value arguments need more than %lld bytes",
           static_cast<long long>(run_.tiling_bytes));
  }
  std::memcpy(value, run_.tiling + byte_, static_cast<size_t>(bytes));
  byte_ += bytes;
}

int32_t RunKernel(Call call, const AscendcTwinRun& run, AscendcTwinReport& report) {
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
    cores.emplace_back([&, i] { RunCore(call, run, device, i, report); });
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
