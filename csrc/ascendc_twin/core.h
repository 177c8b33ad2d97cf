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

class Core {
 public:
  Core(Device& owner, int64_t number)
      : device(owner),
        index(number),
        check(owner.check),
        ub_size(owner.ub_bytes + kSelectScratch),
        ub(MakeZeroed<uint8_t>(ub_size)) {
    if (!check) return;
    valid = MakeZeroed<uint8_t>(ub_size);
    writer_ = MakeZeroed<uint32_t>(ub_size / 2);
    writer_line_ = MakeZeroed<uint16_t>(ub_size / 2);
    for (auto& reader : reader_) reader = MakeZeroed<uint32_t>(ub_size / 2);
  }

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
  void Issue(uint32_t pipe_of) {
    ++seq_[pipe_of];
    Clock issuer = known_[kPipeS];
    issuer[kPipeS] = 0;
    Raise(known_[pipe_of], issuer);
    if (pipe_of == kPipeS) known_[kPipeS][kPipeS] = seq_[kPipeS];
  }
  Clock Snapshot(uint32_t pipe_of) const {
    Clock now = known_[pipe_of];
    now[pipe_of] = seq_[pipe_of];
    return now;
  }
  void Learn(uint32_t pipe_of, const Clock& what) { Raise(known_[pipe_of], what); }
  void Barrier(uint32_t pipe_of) { known_[pipe_of][pipe_of] = seq_[pipe_of]; }
  void BarrierAll() {
    for (Clock& clock : known_) clock = seq_;
  }

  // The instruction last issued on a pipe, as global memory sees it.
  GmUse Use(uint32_t pipe_of, bool atomic, Loc at, const char* api) const {
    return {index, resets, pipe_of, seq_[pipe_of], &known_[pipe_of], atomic, at, api};
  }
  // Writes the scalar unit's cache back and empties it.
  void RefreshCache() { device.gm.caches[index] = {known_[kPipeS], seq_[kPipeS], device.gm.epoch}; }

  void ReadUb(uint32_t pipe_of, uint32_t begin, uint32_t bytes, Loc at, const char* api) {
    if (!check || bytes == 0) return;
    Order(pipe_of, "reads", begin, bytes, at, api);
    std::fill(reader_[pipe_of].get() + begin / 2, reader_[pipe_of].get() + (begin + bytes + 1) / 2,
              seq_[pipe_of]);
  }

  void WriteUb(uint32_t pipe_of, uint32_t begin, uint32_t bytes, Loc at, const char* api) {
    if (!check || bytes == 0) return;
    Order(pipe_of, "writes", begin, bytes, at, api);
    for (uint32_t q = 0; q < kPipes; ++q) {
      const uint32_t own = q == pipe_of ? seq_[q] : 0;  // an instruction may work in place
      for (uint32_t g = begin / 2; g < (begin + bytes + 1) / 2; ++g) {
        if (reader_[q][g] <= known_[pipe_of][q] || reader_[q][g] == own) continue;
        Refuse(at, api, "missing wait", "%s writes UB bytes [%u, %u) that %s may still be reading",
               PipeName(pipe_of), begin, begin + bytes, PipeName(q));
      }
    }
    std::fill(writer_.get() + begin / 2, writer_.get() + (begin + bytes + 1) / 2,
              seq_[pipe_of] << 2 | pipe_of);
    std::fill(writer_line_.get() + begin / 2, writer_line_.get() + (begin + bytes + 1) / 2,
              static_cast<uint16_t>(at.line));
  }

  // Whether all bits of a range were written; true when nothing is checked.
  bool Valid(uint32_t begin, uint32_t bytes) const {
    if (!check) return true;
    uint8_t all = 0xff;
    for (uint32_t i = begin; i < begin + bytes; ++i) all &= valid[i];
    return all == 0xff;
  }
  void SetValid(uint32_t begin, uint32_t bytes, bool good) {
    if (check) std::memset(valid.get() + begin, good ? 0xff : 0, bytes);
  }
  void RequireValid(uint32_t begin, uint32_t bytes, Loc at, const char* api) const {
    if (Valid(begin, bytes)) return;
    uint32_t i = begin;
    while (valid[i] == 0xff) ++i;
    char note[64] = "";
    if (mixed_line != 0) {
      std::snprintf(note, sizeof(note), " (unwritten lanes entered a reduction at line %d)",
                    mixed_line);
    }
    Refuse(at, api, "unwritten UB", "uses UB bytes [%u, %u), of which byte %u was never written%s",
           begin, begin + bytes, i - begin, note);
  }

  // A tensor operand: alive, inside its buffer, and aligned as the instruction demands.
  void CheckPlace(const Place& place, uint64_t bytes, uint32_t alignment, Loc at,
                  const char* api) const {
    if (place.buffer < 0) Refuse(at, api, "tensor", "the tensor was never allocated");
    const Buffer& b = buffers[place.buffer];
    const uint64_t begin = place.address, end = begin + bytes;
    if (begin < b.start || end > b.start + b.bytes) {
      Refuse(at, api, "UB bounds", "touches bytes [%lld, %lld) of a buffer of %u bytes",
             static_cast<long long>(begin) - b.start, static_cast<long long>(end) - b.start,
             b.bytes);
    }
    if (!check) return;
    if (b.queued_kind && (b.state == BufferState::kFree || b.generation != place.generation)) {
      Refuse(at, api, "queue", "uses a tensor after FreeTensor");
    }
    if (begin % alignment != 0) {
      Refuse(at, api, "alignment", "operand at UB address %u is not aligned to %u bytes",
             place.address, alignment);
    }
  }

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
  int32_t QueueIds(AscendC::HardEvent event) const {
    using AscendC::HardEvent;
    if (event == HardEvent::MTE2_V || event == HardEvent::V_MTE2) return in_buffers;
    if (event == HardEvent::V_MTE3 || event == HardEvent::MTE3_V) return out_buffers;
    return 0;
  }

  // --- atomics -------------------------------------------------------------------------------
  enum class Atomic : uint8_t { kNone, kAdd, kMax, kMin };
  Atomic atomic = Atomic::kNone;
  uint32_t atomic_type = 0;
  int atomic_line = 0;

  // What must hold when the kernel has returned.
  void CheckEnd() const {
    if (!check) return;
    for (const Buffer& b : buffers) {
      if (b.queued_kind && b.state != BufferState::kFree) {
        Refuse(Loc{b.line}, "AllocTensor", "queue", "this tensor was never freed");
      }
    }
    for (const auto& event : flags) {
      for (const Flag& flag : event) {
        if (flag.set) Refuse(Loc{flag.line}, "SetFlag", "flag", "this flag was left set");
      }
    }
    if (atomic != Atomic::kNone) {
      Refuse(Loc{atomic_line}, "SetAtomic", "atomic", "atomics were left on; call SetAtomicNone");
    }
  }

 private:
  void Order(uint32_t pipe_of, const char* verb, uint32_t begin, uint32_t bytes, Loc at,
             const char* api) const {
    const uint32_t own = seq_[pipe_of] << 2 | pipe_of;
    for (uint32_t g = begin / 2; g < (begin + bytes + 1) / 2; ++g) {
      const uint32_t w = writer_[g];
      if (w >> 2 <= known_[pipe_of][w & 3u] || w == own) continue;
      Refuse(at, api, "missing wait",
             "%s %s UB bytes [%u, %u) that %s wrote at line %u: no %s "
             "between",
             PipeName(pipe_of), verb, begin, begin + bytes, PipeName(w & 3u), writer_line_[g],
             (w & 3u) == pipe_of ? "PipeBarrier" : "flag or queue");
    }
  }

  Clock seq_{};
  std::array<Clock, kPipes> known_{};
  Zeroed<uint32_t> writer_;  // number * 4 + pipe
  Zeroed<uint16_t> writer_line_;
  std::array<Zeroed<uint32_t>, kPipes> reader_;
};

inline thread_local Core* t_core = nullptr;
inline Core& This() { return *t_core; }

}  // namespace ascendc_twin

#endif  // ASCENDC_TWIN_CORE_H_
