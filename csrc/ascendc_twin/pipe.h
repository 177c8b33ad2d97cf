// TPipe, TQue, TQueBind and TBuf: UB buffers and the queues that order the pipes.
#ifndef ASCENDC_TWIN_PIPE_H_
#define ASCENDC_TWIN_PIPE_H_

#include "tensor.h"

namespace ascendc_twin {

// Takes `count` buffers of `bytes` from UB; the index of the first.
ASCENDC_TWIN_CORE int32_t TakeUb(int32_t count, uint32_t bytes, bool queue, Loc at);

// Source or destination of the queue that TQue<pos> is.
constexpr AscendC::TPosition QueueEnd(AscendC::TPosition pos, bool source) {
  using AscendC::TPosition;
  if (pos == TPosition::VECIN) return source ? TPosition::GM : TPosition::VECIN;
  if (pos == TPosition::VECCALC) return TPosition::VECCALC;
  return source ? TPosition::VECOUT : TPosition::GM;
}

}  // namespace ascendc_twin

namespace AscendC {

// The pipes that fill and empty the tensors of a queue from position src to position dst.
template <TPosition src, TPosition dst, int32_t depth, int32_t mask = 0>
class TQueBind {
  static_assert(depth >= 0, "a depth is not negative");
  using Core = ascendc_twin::Core;
  using State = ascendc_twin::BufferState;
  using Loc = ascendc_twin::Loc;
  static constexpr uint32_t kProducer =
      src == TPosition::GM ? ascendc_twin::kPipeMte2 : ascendc_twin::kPipeV;
  static constexpr uint32_t kConsumer =
      dst == TPosition::GM ? ascendc_twin::kPipeMte3 : ascendc_twin::kPipeV;
  // A queue of depth 0 works in place: one tensor waits, and the caller's variable is the tensor.
  static constexpr int32_t kWaiting = depth == 0 ? 1 : depth;

 public:
  template <typename T>
  LocalTensor<T> AllocTensor(Loc at = Loc::Here()) {
    Core& core = ascendc_twin::This();
    for (int32_t i = 0; i < count_; ++i) {
      const int32_t id = first_ + (next_ + i) % count_;
      ascendc_twin::Buffer& buffer = core.buffers[id];
      if (buffer.state != State::kFree) continue;
      next_ = (next_ + i + 1) % count_;
      buffer.state = State::kAllocated;
      buffer.line = at.line;
      ++buffer.generation;
      core.Learn(kProducer, buffer.freed);
      core.SetValid(buffer.start, buffer.bytes, false);
      return Tensor<T>(id);
    }
    ascendc_twin::Refuse(at, "AllocTensor", "queue", "all %d buffers of the queue are in use",
                         count_);
  }

  template <typename T>
  void AllocTensor(LocalTensor<T>& tensor, Loc at = Loc::Here()) {
    static_assert(depth == 0, "AllocTensor(tensor) is for queues of depth 0");
    tensor = AllocTensor<T>(at);
  }

  template <typename T>
  bool EnQue(const LocalTensor<T>& tensor, Loc at = Loc::Here()) {
    Core& core = ascendc_twin::This();
    ascendc_twin::Buffer& buffer = Owned(tensor.place, "EnQue", at);
    if (buffer.state != State::kAllocated && buffer.state != State::kDequeued) {
      ascendc_twin::Refuse(at, "EnQue", "queue", "the tensor is not allocated");
    }
    if (queued_ == kWaiting) {
      ascendc_twin::Refuse(at, "EnQue", "queue", "%d tensors wait already: the depth of the queue",
                           kWaiting);
    }
    buffer.state = State::kQueued;
    buffer.full = core.Snapshot(kProducer);
    waiting_[(head_ + queued_++) % kWaiting] = tensor.place.buffer;
    return true;
  }

  template <typename T>
  LocalTensor<T> DeQue(Loc at = Loc::Here()) {
    if (queued_ == 0) ascendc_twin::Refuse(at, "DeQue", "queue", "the queue is empty");
    Core& core = ascendc_twin::This();
    const int32_t id = waiting_[head_];
    head_ = (head_ + 1) % kWaiting;
    --queued_;
    ascendc_twin::Buffer& buffer = core.buffers[id];
    buffer.state = State::kDequeued;
    core.Learn(kConsumer, buffer.full);
    return Tensor<T>(id);
  }

  template <typename T>
  void DeQue(LocalTensor<T>& tensor, Loc at = Loc::Here()) {
    static_assert(depth == 0, "DeQue(tensor) is for queues of depth 0");
    tensor = DeQue<T>(at);
  }

  template <typename T>
  void FreeTensor(LocalTensor<T>& tensor, Loc at = Loc::Here()) {
    ascendc_twin::Buffer& buffer = Owned(tensor.place, "FreeTensor", at);
    if (buffer.state == State::kFree) {
      ascendc_twin::Refuse(at, "FreeTensor", "queue", "the tensor is free already");
    }
    if (buffer.state == State::kQueued) {
      ascendc_twin::Refuse(at, "FreeTensor", "queue", "the tensor still waits in the queue");
    }
    buffer.state = State::kFree;
    buffer.freed = ascendc_twin::This().Snapshot(kConsumer);
  }

  bool HasTensorInQue() { return queued_ > 0; }
  bool VacantInQue() { return queued_ < kWaiting; }
  int32_t GetTensorCountInQue() { return queued_; }
  bool HasIdleBuffer() {
    const auto& buffers = ascendc_twin::This().buffers;
    for (int32_t i = 0; i < count_; ++i) {
      if (buffers[first_ + i].state == State::kFree) return true;
    }
    return false;
  }

 private:
  friend class TPipe;

  template <typename T>
  LocalTensor<T> Tensor(int32_t id) const {
    const ascendc_twin::Buffer& buffer = ascendc_twin::This().buffers[id];
    LocalTensor<T> tensor;
    tensor.place = {buffer.start, buffer.bytes, id, buffer.generation};
    return tensor;
  }

  ascendc_twin::Buffer& Owned(const ascendc_twin::Place& place, const char* api, Loc at) {
    if (place.buffer < first_ || place.buffer >= first_ + count_) {
      ascendc_twin::Refuse(at, api, "queue", "the tensor is not of this queue");
    }
    ascendc_twin::Buffer& buffer = ascendc_twin::This().buffers[place.buffer];
    if (buffer.generation != place.generation) {
      ascendc_twin::Refuse(at, api, "queue", "the tensor was freed and allocated anew since");
    }
    return buffer;
  }

  void Attach(int32_t count, uint32_t bytes, Loc at) {
    Core& core = ascendc_twin::This();
    const bool in = kProducer == ascendc_twin::kPipeMte2, crosses = kProducer != kConsumer;
    int32_t& used = in ? core.in_buffers : core.out_buffers;
    used += crosses ? count : 0;  // a queue within the vector unit takes no event ids
    const int64_t most = core.device.limits.queue_buffers;
    if (core.check && used > most) {
      ascendc_twin::Refuse(at, "InitBuffer", "event ids", "%d buffers in %s queues, at most %lld",
                           used, in ? "VECIN" : "VECOUT", static_cast<long long>(most));
    }
    first_ = ascendc_twin::TakeUb(count, bytes, true, at);
    count_ = count;
    next_ = head_ = queued_ = 0;
  }

  int32_t first_ = 0, count_ = 0, next_ = 0, head_ = 0, queued_ = 0;
  int32_t waiting_[kWaiting] = {};
};

template <TPosition pos, int32_t depth, int32_t mask = 0>
class TQue : public TQueBind<ascendc_twin::QueueEnd(pos, true), ascendc_twin::QueueEnd(pos, false),
                             depth, mask> {
  static_assert(pos == TPosition::VECIN || pos == TPosition::VECOUT || pos == TPosition::VECCALC,
                "queues are VECIN, VECOUT or VECCALC");
};

template <TPosition pos = TPosition::LCM>
class TBuf {
 public:
  template <typename T>
  LocalTensor<T> Get() {
    return Part<T>(bytes_ / sizeof(T), 0);
  }
  template <typename T>
  LocalTensor<T> Get(uint32_t len) {
    return Part<T>(len, 0);
  }
  template <typename T>
  LocalTensor<T> GetWithOffset(uint32_t size, uint32_t bufOffset) {
    return Part<T>(size, bufOffset);
  }

 private:
  friend class TPipe;
  template <typename T>
  LocalTensor<T> Part(uint64_t elements, uint32_t offset) const {
    LocalTensor<T> tensor;
    if (id_ < 0) return tensor;
    const ascendc_twin::Buffer& buffer = ascendc_twin::This().buffers[id_];
    tensor.place = {buffer.start + offset, static_cast<uint32_t>(elements * sizeof(T)), id_, 0};
    return tensor;
  }
  int32_t id_ = -1;
  uint32_t bytes_ = 0;
};

class ASCENDC_TWIN_CORE TPipe {
  using Loc = ascendc_twin::Loc;

 public:
  TPipe(Loc at = Loc::Here());
  ~TPipe();
  TPipe(const TPipe&) = delete;
  TPipe& operator=(const TPipe&) = delete;

  template <TPosition src, TPosition dst, int32_t depth, int32_t mask>
  bool InitBuffer(TQueBind<src, dst, depth, mask>& que, uint8_t num, uint32_t len,
                  Loc at = Loc::Here()) {
    que.Attach(num, len, at);
    return true;
  }
  template <TPosition pos>
  bool InitBuffer(TBuf<pos>& buf, uint32_t len, Loc at = Loc::Here()) {
    buf.id_ = ascendc_twin::TakeUb(1, len, false, at);
    buf.bytes_ = ascendc_twin::This().buffers[buf.id_].bytes;
    return true;
  }

  // Gives all buffers back; PipeBarrier<PIPE_ALL> must have come before.
  void Reset(Loc at = Loc::Here());

  TEventID FetchEventID(HardEvent event, Loc at = Loc::Here()) { return Pick(event, false, at); }
  template <HardEvent event>
  TEventID FetchEventID(Loc at = Loc::Here()) {
    return Pick(event, false, at);
  }
  template <HardEvent event>
  TEventID AllocEventID(Loc at = Loc::Here()) {
    return Pick(event, true, at);
  }
  template <HardEvent event>
  void ReleaseEventID(TEventID id, Loc at = Loc::Here()) {
    uint8_t& taken = ascendc_twin::This().ids_taken[static_cast<size_t>(event)];
    if (id < 0 || id > 7 || !(taken >> id & 1)) {
      ascendc_twin::Refuse(at, "ReleaseEventID", "flag", "event id %d is not allocated", id);
    }
    taken = static_cast<uint8_t>(taken & ~(1u << id));
  }

 private:
  // The lowest id that is free; those of queue buffers count from the other end.
  static TEventID Pick(HardEvent event, bool take, Loc at);
};

}  // namespace AscendC

// Outside the namespace, as in the public headers.
inline AscendC::TPipe* GetTPipePtr() {
  return static_cast<AscendC::TPipe*>(ascendc_twin::This().pipe);
}

#endif  // ASCENDC_TWIN_PIPE_H_
