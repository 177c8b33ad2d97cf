#include "core.h"

namespace ascendc_twin {

[[noreturn]] void Refuse(Loc at, const char* api, const char* rule, const char* format, ...) {
  char text[512];
  va_list list;
  va_start(list, format);
  std::vsnprintf(text, sizeof(text), format, list);
  va_end(list);
  throw Violation(at.line, api, rule, text);
}

Core::Core(Device& owner, int64_t number)
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

void Core::Issue(uint32_t pipe_of) {
  ++seq_[pipe_of];
  Clock issuer = known_[kPipeS];
  issuer[kPipeS] = 0;
  Raise(known_[pipe_of], issuer);
  if (pipe_of == kPipeS) known_[kPipeS][kPipeS] = seq_[kPipeS];
}

Clock Core::Snapshot(uint32_t pipe_of) const {
  Clock now = known_[pipe_of];
  now[pipe_of] = seq_[pipe_of];
  return now;
}

void Core::Learn(uint32_t pipe_of, const Clock& what) { Raise(known_[pipe_of], what); }

void Core::Barrier(uint32_t pipe_of) { known_[pipe_of][pipe_of] = seq_[pipe_of]; }

void Core::BarrierAll() {
  for (Clock& clock : known_) clock = seq_;
}

GmUse Core::Use(uint32_t pipe_of, bool atomic, Loc at, const char* api) const {
  return {index, resets, pipe_of, seq_[pipe_of], &known_[pipe_of], atomic, at, api};
}

void Core::RefreshCache() {
  device.gm.caches[index] = {known_[kPipeS], seq_[kPipeS], device.gm.epoch};
}

void Core::ReadUb(uint32_t pipe_of, uint32_t begin, uint32_t bytes, Loc at, const char* api) {
  if (!check || bytes == 0) return;
  Order(pipe_of, "reads", begin, bytes, at, api);
  std::fill(reader_[pipe_of].get() + begin / 2, reader_[pipe_of].get() + (begin + bytes + 1) / 2,
            seq_[pipe_of]);
}

void Core::WriteUb(uint32_t pipe_of, uint32_t begin, uint32_t bytes, Loc at, const char* api) {
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

bool Core::Valid(uint32_t begin, uint32_t bytes) const {
  if (!check) return true;
  uint8_t all = 0xff;
  for (uint32_t i = begin; i < begin + bytes; ++i) all &= valid[i];
  return all == 0xff;
}

void Core::SetValid(uint32_t begin, uint32_t bytes, bool good) {
  if (check) std::memset(valid.get() + begin, good ? 0xff : 0, bytes);
}

void Core::RequireValid(uint32_t begin, uint32_t bytes, Loc at, const char* api) const {
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

void Core::CheckPlace(const Place& place, uint64_t bytes, uint32_t alignment, Loc at,
                      const char* api) const {
  if (place.buffer < 0) Refuse(at, api, "tensor", "the tensor was never allocated");
  const Buffer& b = buffers[place.buffer];
  const uint64_t begin = place.address, end = begin + bytes;
  if (begin < b.start || end > b.start + b.bytes) {
    Refuse(at, api, "UB bounds", "touches bytes [%lld, %lld) of a buffer of %u bytes",
           static_cast<long long>(begin) - b.start, static_cast<long long>(end) - b.start, b.bytes);
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

int32_t Core::QueueIds(AscendC::HardEvent event) const {
  using AscendC::HardEvent;
  if (event == HardEvent::MTE2_V || event == HardEvent::V_MTE2) return in_buffers;
  if (event == HardEvent::V_MTE3 || event == HardEvent::MTE3_V) return out_buffers;
  return 0;
}

void Core::CheckEnd() const {
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

void Core::Order(uint32_t pipe_of, const char* verb, uint32_t begin, uint32_t bytes, Loc at,
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

}  // namespace ascendc_twin
