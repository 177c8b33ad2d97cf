#include "pipe.h"

namespace ascendc_twin {

int32_t TakeUb(int32_t count, uint32_t bytes, bool queue, Loc at) {
  Core& core = This();
  const uint32_t rounded = (bytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
  const uint64_t wanted = core.ub_used + static_cast<uint64_t>(rounded) * count;
  if (wanted > core.device.ub_bytes) {
    Refuse(at, "InitBuffer", "UB budget", "%llu bytes in use with this one, %u to hand out",
           static_cast<unsigned long long>(wanted), core.device.ub_bytes);
  }
  const int32_t first = static_cast<int32_t>(core.buffers.size());
  const int64_t now = first + count - core.reset_at, most = core.device.limits.buffers;
  if (core.check && now > most) {
    Refuse(at, "InitBuffer", "buffer count", "%lld buffers, at most %lld",
           static_cast<long long>(now), static_cast<long long>(most));
  }
  for (int32_t i = 0; i < count; ++i) {
    Buffer buffer;
    buffer.start = core.ub_used;
    buffer.bytes = rounded;
    buffer.queued_kind = queue;
    core.ub_used += rounded;
    core.buffers.push_back(buffer);
  }
  return first;
}

}  // namespace ascendc_twin

namespace AscendC {

TPipe::TPipe(Loc at) {
  ascendc_twin::Core& core = ascendc_twin::This();
  if (core.pipe != nullptr) {
    ascendc_twin::Refuse(at, "TPipe", "one TPipe", "a kernel has one TPipe at a time");
  }
  core.pipe = this;
}

TPipe::~TPipe() { ascendc_twin::This().pipe = nullptr; }

void TPipe::Reset(Loc at) {
  ascendc_twin::Core& core = ascendc_twin::This();
  for (const ascendc_twin::Buffer& buffer : core.buffers) {
    if (buffer.queued_kind && buffer.state != ascendc_twin::BufferState::kFree) {
      ascendc_twin::Refuse(at, "Reset", "queue", "a tensor of line %d was not freed", buffer.line);
    }
  }
  core.SetValid(0, core.ub_used, false);
  core.ub_used = 0;
  core.in_buffers = core.out_buffers = 0;
  core.reset_at = static_cast<int32_t>(core.buffers.size());
  ++core.resets;
}

TEventID TPipe::Pick(HardEvent event, bool take, Loc at) {
  ascendc_twin::Core& core = ascendc_twin::This();
  uint8_t& taken = core.ids_taken[static_cast<size_t>(event)];
  const int32_t queues = core.QueueIds(event);
  for (int32_t id = 0; id < core.device.limits.queue_buffers - queues; ++id) {
    if (taken >> id & 1) continue;
    core.ids_given[static_cast<size_t>(event)] |= static_cast<uint8_t>(1u << id);
    if (take) taken = static_cast<uint8_t>(taken | 1u << id);
    return static_cast<TEventID>(id);
  }
  ascendc_twin::Refuse(at, take ? "AllocEventID" : "FetchEventID", "event ids",
                       "all 8 event ids are taken, %d of them by queue buffers", queues);
}

}  // namespace AscendC
