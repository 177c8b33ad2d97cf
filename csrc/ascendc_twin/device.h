// The device of one run: global memory buffers, the turn-taking of cores, and what a rule says when
// it is broken. Cores are threads of which one runs at a time, in a fixed order, so that every run
// of a kernel is the same.
#ifndef ASCENDC_TWIN_DEVICE_H_
#define ASCENDC_TWIN_DEVICE_H_

#include <condition_variable>
#include <cstring>
#include <mutex>

#include "global_memory.h"

namespace ascendc_twin {

constexpr uint32_t kBlockBytes = 32;
constexpr uint32_t kRepeatBytes = 256;
constexpr uint32_t kSelectScratch = 8192;   // above the UB a kernel may use
constexpr int64_t kSystemWorkspace = 4096;  // stands for the 16 MiB the system keeps in front

// Thrown in the other cores when one has failed.
struct Stopped {};

// Vector instructions of one call on elements of `item` bytes.
struct CallCount {
  const char* api;
  uint32_t item;
  int64_t calls, repeats;
};

struct ChipLimits {
  int64_t repeat = 255, queue_buffers = 8, buffers = 64, copy_blocks = 4095, copy_bytes = 2097151;
};

class ASCENDC_TWIN_CORE Device {
 public:
  GlobalMemory gm;
  const uint8_t* tiling = nullptr;
  int64_t tiling_bytes = 0, tiling_key = 0;
  int32_t block_dim = 1, vector_cores = 1;
  uint32_t ub_bytes = 0;
  bool check = true;
  int64_t vector_instructions = 0, vector_repeats = 0;
  std::vector<CallCount> calls;
  const char* chip = "";
  uint32_t npu_arch = 0;
  std::vector<std::string> lacks;  // calls that the chip does not have
  ChipLimits limits;

  void CountVector(const char* api, uint32_t item, int64_t repeats);

  // Cores take turns, the lowest number first: one runs from Enter until it waits in Barrier or has
  // called Leave.
  void Start();
  void Enter(std::unique_lock<std::mutex>& lock, int64_t core);
  void Leave(int64_t core);
  void Fail();

  void Barrier(std::unique_lock<std::mutex>& lock, int64_t core, Loc at);

 private:
  static constexpr uint32_t kEnded = ~0u;

  void AwaitTurn(std::unique_lock<std::mutex>& lock, int64_t core);

  // To the next core that can go on. When none can, some wait for cores that have ended.
  void PassTurn(int64_t from);

  std::mutex mutex_;
  std::condition_variable changed_;
  bool failed_ = false;
  int32_t arrived_ = 0;
  int64_t turn_ = 0;
  std::vector<uint32_t> waits_for_;  // per core the epoch it waits for
  Loc barrier_at_{0};
};

}  // namespace ascendc_twin

#endif  // ASCENDC_TWIN_DEVICE_H_
