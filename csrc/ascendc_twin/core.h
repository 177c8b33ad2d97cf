// One vector core: its UB, and what is known about the order of its pipes.
//
// Instructions act at once, in program order; whether the hardware would have been made to keep
// that order is checked apart from it. Every instruction takes a number on its pipe. A pipe knows,
// per pipe, up to which instruction all have ended (a vector clock); flags, queues and barriers
// hand this knowledge over. UB remembers the last writer and the last readers of every 2 bytes: an
// access whose predecessor is not known to have ended is a missing wait.
#ifndef ASCENDC_TWIN_CORE_H_
#define ASCENDC_TWIN_CORE_H_

#include "device.h"

namespace ascendc_twin {

enum class BufferState : uint8_t { kFree, kAllocated, kQueued, kDequeued };

// A piece of UB handed out by InitBuffer.
struct Buffer {
  uint32_t start = 0, bytes = 0;
  bool queued_kind = false;  // belongs to a queue, not to a TBuf
  BufferState state = BufferState::kFree;
  uint32_t generation = 0;  // raised by every AllocTensor: tensors of an older one are dead
  Clock full{}, freed{};
  int line = 0;  // of the last AllocTensor
};

// Where a LocalTensor lies.
struct Place {
  uint32_t address = 0, bytes = 0;
  int32_t buffer = -1;
  uint32_t generation = 0;
};

class ASCENDC_TWIN_CORE Core {
 public:
  Core(Device& owner, int64_t number);

  Device& device;
  const int64_t index;
  const bool check;
  const uint32_t ub_size;
  Zeroed<uint8_t> ub;
  Zeroed<uint8_t> valid;  // per byte, the bits that were written
  std::unique_lock<std::mutex> turn;

  std::vector<Buffer> buffers;
  uint32_t ub_used = 0;
  int32_t in_buffers = 0, out_buffers = 0;
  uint32_t resets = 0;
  int32_t reset_at = 0;           // buffers before this one were given back by TPipe::Reset
  void* pipe = nullptr;           // the TPipe alive
  int mixed_line = 0;             // where unwritten lanes first entered a reduction
  bool hard_sync_allowed = true;  // false under KERNEL_TYPE_AIV_ONLY
  bool deq_scale_set = false;
  float deq_scale = 1.0f;

  // Begins an instruction: it may rely on what its pipe knows, and on what the scalar unit, which
  // issues it, knew when it did.
  void Issue(uint32_t pipe_of);
  Clock Snapshot(uint32_t pipe_of) const;
  void Learn(uint32_t pipe_of, const Clock& what);
  void Barrier(uint32_t pipe_of);
  void BarrierAll();

  // The instruction last issued on a pipe, as global memory sees it.
  GmUse Use(uint32_t pipe_of, bool atomic, Loc at, const char* api) const;
  // Writes the scalar unit's cache back and empties it.
  void RefreshCache();

  void ReadUb(uint32_t pipe_of, uint32_t begin, uint32_t bytes, Loc at, const char* api);

  void WriteUb(uint32_t pipe_of, uint32_t begin, uint32_t bytes, Loc at, const char* api);

  // Whether all bits of a range were written; true when nothing is checked.
  bool Valid(uint32_t begin, uint32_t bytes) const;
  void SetValid(uint32_t begin, uint32_t bytes, bool good);
  void RequireValid(uint32_t begin, uint32_t bytes, Loc at, const char* api) const;

  // A tensor operand: alive, inside its buffer, and aligned as the instruction demands.
  void CheckPlace(const Place& place, uint64_t bytes, uint32_t alignment, Loc at,
                  const char* api) const;

  // --- flags ---------------------------------------------------------------------------------
  struct Flag {
    bool set = false;
    Clock clock{};
    int line = 0;
  };
  std::array<std::array<Flag, 8>, static_cast<size_t>(AscendC::HardEvent::MAX)> flags{};
  // Per event the ids that AllocEventID holds, and those that Fetch or Alloc ever gave out.
  std::array<uint8_t, static_cast<size_t>(AscendC::HardEvent::MAX)> ids_taken{}, ids_given{};

  // Event ids that queue buffers take for an event, the lowest first.
  int32_t QueueIds(AscendC::HardEvent event) const;

  // --- atomics -------------------------------------------------------------------------------
  enum class Atomic : uint8_t { kNone, kAdd, kMax, kMin };
  Atomic atomic = Atomic::kNone;
  uint32_t atomic_type = 0;
  int atomic_line = 0;

  // What must hold when the kernel has returned.
  void CheckEnd() const;

 private:
  void Order(uint32_t pipe_of, const char* verb, uint32_t begin, uint32_t bytes, Loc at,
             const char* api) const;

  Clock seq_{};
  std::array<Clock, kPipes> known_{};
  Zeroed<uint32_t> writer_;  // number * 4 + pipe
  Zeroed<uint16_t> writer_line_;
  std::array<Zeroed<uint32_t>, kPipes> reader_;
};

// The core that runs in this thread.
ASCENDC_TWIN_CORE Core& This();

}  // namespace ascendc_twin

#endif  // ASCENDC_TWIN_CORE_H_
